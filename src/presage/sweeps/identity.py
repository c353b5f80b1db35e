"""What a problem, a function or a value is, as JSON: the same thing gives the same text on every machine and day.

A store is tied to one problem and one function by this text, and a cell of it to one point of the grid. Of a function
that is not of presage it is the source, the defaults and what an inner function remembers; what the function reads
from its module, and other functions that it calls, are not seen.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

import presage
from presage.protocol import checks

Memo = dict[int, tuple[Any, Any]]
SHORT = 16  # arrays longer than this are named by a checksum of their numbers
LAST_WHOLE = 2**53  # up to here a float keeps every digit of a whole number


def text(described: Any) -> str:
    """The one text of a description: JSON with sorted names and no spaces."""
    return json.dumps(described, sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> str:
    """The one text of `value`."""
    return text(identity(value))


def identity(value: Any, memo: Memo | None = None) -> Any:
    """`value` as JSON: numbers and words as they are, frozen things by their class and fields, functions by source.

    `memo` remembers the parts that many problems share, such as a target of many eigenvalues.
    """
    memo = {} if memo is None else memo
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | np.number | np.bool_):
        return _number(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping):
        return {str(name): identity(entry, memo) for name, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [identity(entry, memo) for entry in value]
    if isinstance(value, set | frozenset):
        return sorted((identity(entry, memo) for entry in value), key=text)
    if isinstance(value, ModuleType):
        return {"module": value.__name__}
    if id(value) not in memo:
        memo[id(value)] = (value, "itself")  # a function that calls itself remembers itself
        memo[id(value)] = (value, _described(value, memo))  # the value too, so that its id stays its own
    return memo[id(value)][1]


def _described(value: Any, memo: Memo) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: identity(getattr(value, field.name), memo) for field in dataclasses.fields(value)}
        return {**_class(type(value)), **fields}
    if isinstance(value, functools.partial):
        options = {"arguments": identity(value.args, memo), "options": identity(value.keywords, memo)}
        return {"function": identity(value.func, memo), **options}
    if callable(value) and hasattr(value, "__qualname__"):
        return _function(value, memo)
    if hasattr(value, "__dict__"):
        kind = type(value)
        remembered = {name for name in vars(value) if isinstance(getattr(kind, name, None), functools.cached_property)}
        fields = {name: identity(entry, memo) for name, entry in vars(value).items() if name not in remembered}
        return {**_class(kind), **fields}
    raise checks.complaint(
        "problem",
        "be made of numbers, words, arrays, dataclasses and functions",
        "a sweep has to know its cells again, and this has no description that stays the same",
        value,
        "Make it a dataclass.",
    )


def without(described: Any, names: set[str]) -> Any:
    """A description with the entries called `names` left out, wherever they stand."""
    if isinstance(described, dict):
        return {name: without(entry, names) for name, entry in described.items() if name not in names}
    return described


def _number(value: Any) -> Any:
    """As a float, so that 1, 1.0 and np.float64(1) are one point of a grid; long whole numbers keep their digits."""
    if isinstance(value, int | np.integer) and abs(int(value)) > LAST_WHOLE:
        return int(value)
    return float(value)


def _array(values: np.ndarray[Any, Any]) -> Any:
    if values.size <= SHORT and values.dtype.kind in "biuf":
        return identity(values.tolist())
    if values.dtype.hasobject:
        return identity(values.tolist())
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return {"array": list(values.shape), "kind": values.dtype.str, "sha256": digest}


def _is_ours(thing: Any) -> bool:
    """Whether it is a part of presage, whose version is in the store: then its name says all."""
    return str(thing.__module__).split(".")[0] == "presage"


def _name(thing: Any) -> str:
    """The public name of a part of presage, which says nothing about the file it is in; of all else, its place."""
    if _is_ours(thing) and thing.__qualname__ in presage.__all__:
        return f"presage.{thing.__qualname__}"
    return f"{thing.__module__}.{thing.__qualname__}"


def _class(kind: type) -> dict[str, Any]:
    """By name for classes of presage, by name and source for all others: an edited channel is another channel."""
    name = _name(kind)
    if _is_ours(kind):
        return {"class": name}
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return {"class": name}
    return {"class": name, "source": _sha256(source)}


def _function(function: Any, memo: Memo) -> Any:
    """By name for functions of presage; by source, and what they remember of their surroundings, for all others."""
    name = _name(function)
    of = {"of": identity(function.__self__, memo)} if inspect.ismethod(function) else {}
    if _is_ours(function):
        return {"function": name, **of}
    code = getattr(function, "__code__", None)
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt, or compiled
        source = name if code is None else repr(_compiled(code))
    if code is not None and code.co_name == "<lambda>":  # two of them can stand in one line, which is their source
        source += repr(_compiled(code))
    remembered = [
        identity(cell.cell_contents, memo) for cell in getattr(function, "__closure__", None) or () if _full(cell)
    ]
    defaults = [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    described = {"function": name, "sha256": _sha256(source), "remembers": remembered, **of}
    return {**described, "defaults": identity(defaults, memo)} if any(defaults) else described


def _full(cell: Any) -> bool:
    """Whether a variable of the surroundings has a value yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _compiled(code: Any) -> list[Any]:
    """What compiled code does: its instructions, names and constants, of inner functions too."""
    constants = [
        _compiled(c) if hasattr(c, "co_code") else repr(sorted(map(repr, c)) if isinstance(c, frozenset) else c)
        for c in code.co_consts
    ]
    return [code.co_code.hex(), code.co_names, constants]


def _sha256(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()
