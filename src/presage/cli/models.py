"""The problems that one can name: those that every model declares, and one's own as module:name."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from presage.cli.errors import CommandError, wants_traceback
from presage.protocol.fields import KEY, declarations
from presage.protocol.model import Model, NamedProblem, found, models

OWN = "module:name"
WHAT = "a class derived from LearningProblem or a NamedProblem"


class Chosen(NamedTuple):
    """A problem that was named, and the model that it is of; None where that is known of the problem only."""

    problem: NamedProblem
    model: Model | None

    @property
    def name(self) -> str:
        """As one types it."""
        return self.problem.name

    def lacks(self, verb: str) -> str | None:
        """Why there is no answer to a verb; None where there is one."""
        if verb in self.problem.lacks:
            return self.problem.lacks[verb]
        if self.model is not None and verb not in self.model.verbs:
            return f"its model, {self.model.words}, has no answer to that"
        return None


def known() -> dict[str, Chosen]:
    """Every problem that a model of the package names, by name."""
    return {problem.name: Chosen(problem, model) for model in models() for problem in model.named}


def default() -> str:
    """The name of the problem that is meant where none is named."""
    problems = [chosen.problem for chosen in known().values()]
    return next((problem.name for problem in problems if problem.default), problems[0].name)


def complete(incomplete: str) -> list[str]:
    """Names for the shell."""
    return [name for name in known() if name.startswith(incomplete)]


def choose(name: str) -> Chosen:
    """The problem of a name, or the sentence that lists the names."""
    problems = known()
    if name in problems:
        return problems[name]
    module, colon, noun = name.partition(":")
    if colon and module and noun:
        return _own(name, module, noun)
    near = get_close_matches(name, problems, n=1)
    guess = near[0] if near else default()
    raise CommandError(
        f"`--model` must be one of {', '.join(problems)}, or {OWN} for a problem of your own. Got --model {name!r}. "
        f"{'Did you mean' if near else 'Use for example'} --model {guess}{'?' if near else '.'}"
    )


def _own(name: str, module: str, noun: str) -> Chosen:
    """A problem outside the package: a class of its own, or one that is given a name."""
    room = _imported(name, module)
    thing: Any = getattr(room, noun, None)
    if isinstance(thing, NamedProblem):
        made = found(thing.make)
        begin = {key: value for key, value in _defaults(made).items() if key in thing.fields}
        problem = dataclasses.replace(thing, name=name, begin={**begin, **thing.begin})
        return Chosen(problem, getattr(made, "model", None))
    if not _is_problem(thing):
        there = [key for key, value in vars(room).items() if isinstance(value, NamedProblem) or _is_problem(value)]
        what = f"which is of {type(thing).__name__}" if hasattr(room, noun) else "which is not there"
        raise CommandError(
            f"`--model {OWN}` must name {WHAT}. Got --model {name}, {what}. "
            f"The module {module} has {', '.join(there) if there else 'none'}."
        )
    model = getattr(thing, "model", None)
    if not isinstance(model, Model):
        raise CommandError(
            f"`--model {name}` must say of which model it is: its verbs are found there. "
            f"Give the class {noun} an attribute model = Model(...)."
        )
    for field in dataclasses.fields(thing):
        if KEY not in field.metadata and field.init and field.name not in _defaults(thing):
            raise CommandError(
                f"`--model {name}` must declare its field {field.name}, which has no default: it has no option. "
                "Write for example field(metadata=declared(Number(...))), or give it a default."
            )
    words = (inspect.getdoc(thing) or noun).splitlines()[0]
    return Chosen(NamedProblem(name, words, name, declarations(thing), begin=_defaults(thing)), model)


def _imported(name: str, module: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:  # as `python -m` does
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if wants_traceback():
            raise
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise CommandError(
                f"`--model {name}` names the module {module}, which is neither in this folder ({here}) nor installed. "
                f"Go to the folder of {module.partition('.')[0]}.py, or install it."
            ) from None
        raise CommandError(f"`--model {name}` cannot be had: importing {module} ends in: {error}.") from None
    except Exception as error:  # whatever the code of somebody else may raise
        if wants_traceback():
            raise
        said = f"{type(error).__name__}: {error}"
        raise CommandError(
            f"`--model {name}` cannot be had: importing {module} ends in {said}. Run `python -c 'import {module}'`."
        ) from None


def _is_problem(thing: Any) -> bool:
    from presage.protocol.problem import LearningProblem

    derived = isinstance(thing, type) and issubclass(thing, LearningProblem) and thing is not LearningProblem
    return derived and dataclasses.is_dataclass(thing)


def _defaults(made_by: Any) -> Mapping[str, Any]:
    """What the fields of a dataclass, or the arguments of a function, are where they are left out."""
    if dataclasses.is_dataclass(made_by):
        fields = dataclasses.fields(made_by)
        found = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
        made = {f.name: f.default_factory() for f in fields if f.default_factory is not dataclasses.MISSING}
        return {**found, **made}
    parameters = inspect.signature(made_by).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}
