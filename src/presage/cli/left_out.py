"""Options that nobody wrote: typer is not asked what nothing means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def sparing(params: list[Any]) -> list[Any]:
    """The same parameters, each read only where it is written: to read, typer loads pydantic, as slow as NumPy."""
    for param in params:
        several = param.nargs != 1 or getattr(param, "multiple", False)
        if not (several or param.required or "process_value" in vars(param)):
            param.process_value = _reader(param, param.process_value)
    return params


def _reader(param: Any, read: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def process_value(context: Any, value: Any) -> Any:
        if value is not None:
            return read(context, value)
        return None if param.callback is None else param.callback(context, param, None)

    return process_value
