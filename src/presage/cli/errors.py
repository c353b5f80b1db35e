"""What went wrong, in one sentence on standard error, and the exit code that says whose fault it is.

The library says what is wrong as data: which argument, why, what was given, and a remedy whose arguments and verbs are
marked. Here they are spelled as one writes them in a command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from presage.protocol.errors import ComputationError, InputError, Mark, in_python, in_words
from presage.protocol.model import models

DONE, FAILED, MISTAKE, INTERRUPTED, NOBODY_READS = 0, 1, 2, 130, 141
TRACEBACK = "PRESAGE_TRACEBACK"  # set it to 1 to see where an error comes from

COMMANDS = {  # where a verb of the library is asked for
    "solve": "presage solve",
    "ridgeless": "presage solve --ridgeless",
    "optimal_regularization": "presage solve --optimal",
    "bayes_optimal": "presage bayes",
    "thresholds": "presage thresholds",
    "scaling": "presage scaling",
    "trajectory": "presage trajectory",
    "simulate": "presage simulate",
}
OPTIONS = {"n_tokens": "--tokens", "processes": "--workers", "executor": "--dask"}  # that are not named as the argument

# What the running command can be told, by the names of the library, each with what was written for it.
_written: ContextVar[Mapping[str, Any]] = ContextVar("written", default={})  # noqa: B039 - it is only ever replaced

# What it is told by place, each with the word that the help has for it.
_places: ContextVar[Mapping[str, str]] = ContextVar("places", default={})  # noqa: B039 - likewise


class CommandError(Exception):
    """A command that makes no sense: one sentence that says what to write instead."""


class FailedError(Exception):
    """A computation that did not succeed, with what to try."""


class UnwritableError(FailedError):
    """Standard output cannot be written, as on a full disk."""


class NobodyReadsError(Exception):
    """The reader of a pipe has left: nothing went wrong, and nothing is left to say."""


class InterruptionError(Exception):
    """Ctrl-C, with what is left of the work."""


def option(name: str) -> str:
    """The option for an argument of the library."""
    return OPTIONS.get(name, f"--{name.replace('_', '-')}")


@contextmanager
def told(written: Mapping[str, Any], places: Mapping[str, str] | None = None) -> Iterator[None]:
    """Inside this block a command runs that has these options, and these arguments; messages speak of them."""
    options, arguments = _written.set(written), _places.set(places or {})
    try:
        yield
    finally:
        _written.reset(options)
        _places.reset(arguments)


def in_options(error: BaseException) -> str:
    """A message of the library with its arguments as the options of the running command."""
    if isinstance(error, InputError):
        must, reason, remedy = (spelled(text) for text in error.marked.values())
        name, got = error.name, f"{error.name}={error.value!r}"
        if error.name in _written.get():
            name = option(error.name)
            got = name if error.value is True else f"{name} {_given(error.name, error.value)}"  # a flag has no value
        elif error.name in _places.get():
            name, got = _places.get()[error.name], str(error.value)
        return f"`{name}` must {must}: {reason}. Got {got}. {remedy}"
    if isinstance(error, ComputationError):
        return " ".join(spelled(text) for text in error.marked.values())
    return spelled(getattr(error, "text", str(error)))


def spelled(text: str) -> str:
    """A marked text of the library with its arguments as the options of the running command."""
    return in_words(text, _spell)


def _spell(mark: Mark) -> str:
    if mark.is_verb and mark.name in COMMANDS:
        return f"`{COMMANDS[mark.name]}`"
    if mark.name in _written.get():
        return option(mark.name) if mark.value in (None, "True") else f"{option(mark.name)} {_value(str(mark.value))}"
    if mark.name in _places.get():
        return _places.get()[mark.name] if mark.value is None else _value(mark.value)
    named = [problem.name for model in models() for problem in model.named if problem.make.endswith(f":{mark.name}")]
    if named and mark.value is None:  # a function that makes a problem
        return f"--model {named[0]}"
    return in_python(f"<{mark.name}{'()' if mark.is_verb else '' if mark.value is None else f'={mark.value}'}>")


def _value(python: str) -> str:
    """A value as one writes it in a command: a list without its brackets, a word without its quotes, a law by name."""
    from presage.cli import targets  # here: a target that makes no sense is a `CommandError` too

    if python[:1] + python[-1:] in ("[]", "()"):
        between = "," if python.startswith("[") else "/"  # the third of ten parts is 3/10
        return between.join(part.strip() for part in python[1:-1].split(","))
    if python[:1] + python[-1:] in ("''", '""'):
        return python[1:-1]
    made_by, bracket, _ = python.partition("(")
    if bracket:
        places = [item for model in models() for item in model.trainers.items()]
        named = [name for name, place in places if place.endswith(f":{made_by}")]
        return named[0] if named else targets.in_words(python)
    return python


def _given(name: str, value: Any) -> str:
    """What was given for an option: a number as it is, anything larger as it was written."""
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, list | tuple):
        return ("," if isinstance(value, list) else "/").join(_given(name, part) for part in value)
    if isinstance(value, str):
        return value or "''"
    written = _written.get()[name]
    return str(value) if isinstance(value, int) or not isinstance(written, str) else written


def explain(error: BaseException) -> tuple[str, int]:
    """The sentence and the exit code of an error."""
    if isinstance(error, CommandError):
        return str(error), MISTAKE
    if isinstance(error, FailedError):
        return str(error), FAILED
    if isinstance(error, InterruptionError):
        return str(error), INTERRUPTED
    if isinstance(error, InputError):
        return in_options(error), MISTAKE
    if isinstance(error, ArithmeticError):
        return f"The computation failed: {in_options(error)}", FAILED
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Use a smaller --d, --alpha or number of --workers.", FAILED
    if isinstance(error, OSError):
        where = f"`{error.filename}`: " if error.filename else ""
        return f"{where}{error.strerror or error}. Name a file or folder that can be used.", MISTAKE
    if isinstance(error, ImportError) and error.name:
        return f"This needs the package {error.name}, which is not installed. Install it with pip.", FAILED
    if type(error) is RuntimeError:  # a process that was killed, say
        return str(error), FAILED
    said = f"{type(error).__name__}: {error}"
    return f"This is a fault of presage itself ({said}). Run it again with {TRACEBACK}=1 and report it.", FAILED


def wants_traceback() -> bool:
    """Whether the user asked to see where errors come from."""
    return os.environ.get(TRACEBACK, "") not in ("", "0")
