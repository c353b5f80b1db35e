"""What a problem, a function or a value is, as JSON: the same thing gives the same text on every machine and day.

A store is tied to one problem and one function by this text, and a cell of it to one point of the grid.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from presage import _check

Memo = dict[int, tuple[Any, Any]]
SHORT = 16  # arrays longer than this are named by a checksum of their numbers


def canonical(value: Any) -> str:
    """The one text of `value`: JSON with sorted names and no spaces."""
    return json.dumps(identity(value), sort_keys=True, separators=(",", ":"))


def identity(value: Any, memo: Memo | None = None) -> Any:
    """`value` as JSON: numbers and words as they are, frozen things by their class and fields, functions by source.

    `memo` remembers the parts that many problems share, such as a target of many eigenvalues.
    """
    if memo is None or not dataclasses.is_dataclass(value):
        return _identity(value, memo)
    if id(value) not in memo:
        memo[id(value)] = (value, _identity(value, memo))  # the value itself too, so that its id stays its own
    return memo[id(value)][1]


def _identity(value: Any, memo: Memo | None) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | np.number | np.bool_):
        return float(value)  # 1, 1.0 and np.float64(1) are one point of a grid
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping):
        return {str(name): identity(entry, memo) for name, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: identity(getattr(value, field.name), memo) for field in dataclasses.fields(value)}
        return {"class": _name(type(value)), **fields}
    if isinstance(value, list | tuple | range):
        return [identity(entry, memo) for entry in value]
    if isinstance(value, functools.partial):
        options = {"arguments": identity(value.args, memo), "options": identity(value.keywords, memo)}
        return {"function": identity(value.func, memo), **options}
    if callable(value) and hasattr(value, "__qualname__"):
        return _function(value)
    if hasattr(value, "__dict__"):
        kind = type(value)
        remembered = {name for name in vars(value) if isinstance(getattr(kind, name, None), functools.cached_property)}
        fields = {name: identity(entry, memo) for name, entry in vars(value).items() if name not in remembered}
        return {"class": _name(kind), **fields}
    raise _check.complaint(
        "problem",
        "be made of numbers, words, arrays, dataclasses and functions",
        "a store has to know again what it holds, and this has no description that stays the same",
        value,
        "Make it a dataclass, or sweep without a store.",
    )


def without(described: Any, names: set[str]) -> Any:
    """A description with the entries called `names` left out, wherever they stand."""
    if isinstance(described, dict):
        return {name: without(entry, names) for name, entry in described.items() if name not in names}
    return described


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _array(values: np.ndarray[Any, Any]) -> Any:
    if values.size <= SHORT and values.dtype.kind in "biuf":
        return [identity(entry) for entry in values.tolist()]
    text = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return {"array": list(values.shape), "kind": values.dtype.str, "sha256": text}


def _function(function: Any) -> Any:
    """By name for functions of presage, whose version is in the store; by source for all others."""
    name = f"{function.__module__}.{function.__qualname__}"
    if function.__module__.split(".")[0] == "presage":
        return {"function": name}
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt, or compiled
        code = getattr(function, "__code__", None)
        source = name if code is None else code.co_code.hex() + repr(code.co_names)
    # A lambda or an inner function also depends on what it remembers of its surroundings.
    cells = [identity(cell.cell_contents) for cell in getattr(function, "__closure__", None) or ()]
    return {"function": name, "sha256": hashlib.sha256(source.encode()).hexdigest(), "remembers": cells}
