"""Values as JSON, such that every bit comes back: floats, arrays, tuples, dicts, dataclasses by name and fields.

A value that JSON has no word for is an object with one tag:

    {"bits": "7ff0000000000000"}                   a float that is not finite
    {"number": "<f4", "bits": "0000c03f"}          a number of NumPy
    {"array": "<f8", "shape": [2], "data": ...}    an array, its bytes in base 64
    {"tuple": [...]}, {"set": [...]}, {"dict": [[key, value], ...]}
    {"class": "presage.Solution", "fields": {...}} a dataclass or a named tuple

Reading runs no code of the file: an object is made of its fields without its constructor, and only classes that are
dataclasses or named tuples are made. The module of a class is imported.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import importlib
import re
import struct
from math import isfinite
from typing import Any

import numpy as np

import presage
from presage.protocol import checks

KINDS = "biufcSU"  # of arrays that are kept
PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
SETS = {"set": set, "frozenset": frozenset}


class DamagedError(ValueError):
    """What is wrong with a text that should be a value, as the end of a sentence."""


def encoded(value: Any, where: str = "result") -> Any:
    """A value as JSON; complain about one that cannot be kept, and say where it is."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if isfinite(value) else {"bits": struct.pack(">d", value).hex()}
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return {"number": value.dtype.str, "bits": value.tobytes().hex()}
    if kind is np.ndarray:
        return _array(value, where)
    if kind is list:
        return [encoded(inner, f"{where}[{k}]") for k, inner in enumerate(value)]
    if kind is tuple:
        return {"tuple": [encoded(inner, f"{where}[{k}]") for k, inner in enumerate(value)]}
    if kind in (set, frozenset):
        return {kind.__name__: [encoded(inner, where) for inner in value]}
    if kind is dict:
        return {"dict": [[encoded(key, where), encoded(inner, f"{where}[{key!r}]")] for key, inner in value.items()]}
    names = field_names(kind)
    if names is None:
        raise checks.complaint(
            where,
            "be made of numbers, words, arrays, lists, dicts, dataclasses and named tuples",
            "nothing else can be written to a file and read back as it is",
            f"a {kind.__name__}",
            "Make its class a dataclass.",
        )
    fields = {name: encoded(getattr(value, name), f"{where}.{name}") for name in names}
    return {"class": class_name(kind, where), "fields": fields}


def _array(value: Any, where: str) -> dict[str, Any]:
    if value.dtype.hasobject:
        items = [encoded(inner, f"{where}[{k}]") for k, inner in enumerate(value.ravel().tolist())]
        return {"array": "O", "shape": list(value.shape), "items": items}
    if value.dtype.kind not in KINDS or value.dtype.names:
        reason, remedy = "arrays of numbers and words are kept", "Give plain columns."
        raise checks.complaint(where, "be an array of numbers or words", reason, str(value.dtype), remedy)
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
    return {"array": value.dtype.str, "shape": list(value.shape), "data": data}


def field_names(kind: type) -> list[str] | None:
    """Names of the fields of a dataclass or a named tuple; None for other classes."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    names = getattr(kind, "_fields", None) if issubclass(kind, tuple) else None
    return list(names) if isinstance(names, tuple) else None


def class_name(kind: type, where: str) -> str:
    """The public name of a class of presage; of all others "module:name"; complain about one that cannot be found."""
    if kind.__qualname__ in presage.__all__ and getattr(presage, kind.__qualname__) is kind:
        return f"presage.{kind.__qualname__}"
    name = f"{kind.__module__}:{kind.__qualname__}"
    if not PLACE.fullmatch(name):
        reason = "a class inside a function cannot be found again"
        raise checks.complaint(where, "be of a class of a module", reason, name, "Define the class in a module.")
    return name


def decoded(text: Any) -> Any:
    """The value of some JSON; `DamagedError` says what is wrong with it."""
    if text is None or isinstance(text, bool | int | str | float):
        return text
    if isinstance(text, list):
        return [decoded(inner) for inner in text]
    try:
        return _tagged(text)
    except (KeyError, TypeError, ValueError, binascii.Error, struct.error) as error:
        if isinstance(error, DamagedError):
            raise
        raise DamagedError(f"a value in it cannot be read ({type(error).__name__}: {error})") from error


def _tagged(text: dict[str, Any]) -> Any:
    tags = {*text}
    if tags == {"bits"}:
        return struct.unpack(">d", bytes.fromhex(text["bits"]))[0]
    if tags == {"number", "bits"}:
        return np.frombuffer(bytes.fromhex(text["bits"]), _dtype(text["number"]))[0]
    if tags == {"array", "shape", "data"}:
        data = base64.b64decode(text["data"], validate=True)
        return np.frombuffer(data, _dtype(text["array"])).reshape(text["shape"]).copy()
    if tags == {"array", "shape", "items"}:
        items = np.empty(len(text["items"]), dtype=object)
        items[:] = [decoded(inner) for inner in text["items"]]
        return items.reshape(text["shape"])
    if tags == {"tuple"}:
        return tuple(decoded(inner) for inner in text["tuple"])
    if len(tags) == 1 and tags <= SETS.keys():
        name = tags.pop()
        return SETS[name](decoded(inner) for inner in text[name])
    if tags == {"dict"}:
        return {decoded(key): decoded(inner) for key, inner in text["dict"]}
    if tags == {"class", "fields"}:
        return _object(found_class(text["class"]), text["fields"])
    raise DamagedError(f"it has an entry of an unknown kind: {', '.join(sorted(tags)) or 'nothing'}")


def _dtype(name: str) -> np.dtype[Any]:
    kind = np.dtype(name)
    if kind.hasobject or kind.kind not in KINDS:
        raise DamagedError(f"it has an array of {name}")
    return kind


def found_class(name: Any) -> type:
    """The class of a name, if it is one that can be made of its fields."""
    room, _, noun = str(name).partition(".")
    if room == "presage" and noun in presage.__all__:
        kind: Any = getattr(presage, noun)
    elif isinstance(name, str) and PLACE.fullmatch(name):
        kind = _placed(name)
    else:
        raise DamagedError(f"presage has no class {name!r}: was it written by another version?")
    if not isinstance(kind, type) or field_names(kind) is None:
        raise DamagedError(f"{name} is neither a dataclass nor a named tuple, and is not made")
    return kind


def _placed(name: str) -> Any:
    module, _, noun = name.partition(":")
    try:
        thing: Any = importlib.import_module(module)
    except ImportError as error:
        said = f"its class {noun} is in the module {module}, which cannot be imported ({error})"
        raise DamagedError(f"{said}: go to the folder of that module, or install it") from error
    for part in noun.split("."):
        if not hasattr(thing, part):
            raise DamagedError(f"the module {module} has no {noun}: define that class before")
        thing = getattr(thing, part)
    return thing


def _object(kind: Any, fields: dict[str, Any]) -> Any:
    """An object of its fields, without its constructor: what was checked and computed then is not done again."""
    names = field_names(kind) or []
    strange = [name for name in fields if name not in names]
    if strange:
        raise DamagedError(f"its {kind.__name__} has {', '.join(strange)}, which this version does not know")
    values = {name: decoded(inner) for name, inner in fields.items()}
    for name in names:
        if name not in values:
            values[name] = _default(kind, name)
    if issubclass(kind, tuple):
        return tuple.__new__(kind, [values[name] for name in names])
    thing = object.__new__(kind)
    for name in names:
        object.__setattr__(thing, name, values[name])
    return thing


def _default(kind: Any, name: str) -> Any:
    """What a field is that an older file does not have."""
    if not dataclasses.is_dataclass(kind):
        defaults = kind._field_defaults
        if name in defaults:
            return defaults[name]
    else:
        field = next(field for field in dataclasses.fields(kind) if field.name == name)
        if field.default is not dataclasses.MISSING:
            return field.default
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
    raise DamagedError(f"its {kind.__name__} has no {name}")
