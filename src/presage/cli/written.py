"""A problem as one writes it: the name of its model and the texts of its fields; the Python that makes it."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from presage.cli import grids, models, targets
from presage.cli.arrays import npy_file
from presage.cli.errors import option
from presage.cli.options import Given
from presage.protocol import checks
from presage.protocol.errors import InputError
from presage.protocol.fields import Declaration, Form, Number, Part, declarations
from presage.protocol.model import NamedProblem, found
from presage.protocol.problem import LearningProblem

WIDTH = 100  # columns of a line of Python
FIRM = 15  # digits of a weight that its division by the sum of all leaves as they were
TRIES, STEP = 1000, 2.0**-48  # scales of weights that are tried, and how far apart; few are needed


class Written(NamedTuple):
    """The name of a problem, and the text of each of its fields, as the command line takes them."""

    model: str
    fields: dict[str, str]


def written(problem: LearningProblem) -> Written:
    """The first name of its model, with texts, that makes exactly this problem; one that has no name is refused.

    What is left out is not there, such as the beta of a target that is the learner's.
    """
    reason, remedy = "its model says which names there are", "Give a problem, not what makes it or answers it."
    checks.instance("problem", problem, LearningProblem, reason=reason, remedy=remedy)
    known = models.known()
    names = [named.name for named in problem.model.named if known.get(named.name) == (named, problem.model)]
    for name in names:
        fields = _texts(problem, known[name].problem)
        if fields is not None:
            # Read as a command reads it, since what is left out may begin with an example; hints were not asked for.
            given = Given(known[name], fields, hinted={"atoms", *problem.names()})
            if given.problem() == problem:
                return Written(name, fields)
    raise checks.complaint(
        "problem",
        "be one that the command line has a name for",
        f"its model names {', '.join(names) if names else 'none'}, and options can say numbers and laws of a few kinds",
        problem,
        "Keep it in Python, or take numbers and a law that can be written.",
    )


def in_python(given: Given, laws: Mapping[str, str] | None = None) -> str:
    """The lines that make the problem of what was written, after `import presage as ps`.

    Where `laws` has the Python of a field, that stands there: a long list may be in a file.
    """
    problem, texts = given.chosen.problem, given.texts()
    parameters = inspect.signature(found(problem.make)).parameters
    first = next(iter(parameters.values()), None)
    positional = None if first is None or first.kind is first.KEYWORD_ONLY else first.name
    imports, function = _function(problem.make)
    arguments: list[str] = []
    for name, field in given.fields.items():
        if isinstance(field, Part) and (name in texts or name not in problem.begin):
            there = (laws or {}).get(name)
            own, law = ([], there) if there else _law_in_python(option(name), texts.get(name, ""), field)
            imports = list(dict.fromkeys([*own, *imports]))
            if name == positional:
                arguments.insert(0, law)
            else:
                arguments.append(f"{name}={law}")
        elif name in texts:
            value = grids.number(option(name), texts[name]) if isinstance(field, Number) else texts[name]
            if name not in parameters or parameters[name].default != value:
                arguments.append(f"{name}={_literal(value, field)}")
    return "\n".join([*imports, _call(function, arguments)])


def number(value: float) -> str:
    """The shortest text of a number that is read as exactly that number."""
    return repr(float(value)).removesuffix(".0")


def law_as_text(law: Any, part: Part) -> str | None:
    """A law as one writes it, of a field that takes it; None of one that cannot be written exactly."""
    family = targets.family(part)
    forms = {} if family is None else family.forms
    texts = (text for kind, form in forms.items() for text in _candidates(law, kind, form))
    return next((text for text in texts if targets.law("law", text, part) == law), None)


def _texts(problem: LearningProblem, named: NamedProblem) -> dict[str, str] | None:
    """The text of every field of a name, where this name makes the problem; None where it does not."""
    if not set(named.fields) <= set(problem.names()):
        return None
    values = {name: problem.value(name) for name in named.fields}
    if not _makes(named, values, problem):
        return None
    for name, field in named.fields.items():
        if isinstance(field, Number) and field.optional and _makes(named, {**values, name: None}, problem):
            values[name] = None
    there = {name: value for name, value in values.items() if value is not None}
    texts = ((name, _text(value, named.fields[name])) for name, value in there.items())
    fields = {name: text for name, text in texts if text is not None}
    return fields if fields.keys() == there.keys() else None


def _makes(named: NamedProblem, values: Mapping[str, Any], problem: LearningProblem) -> bool:
    """Whether a name with these values is the problem; one that refuses them is another."""
    try:
        return bool(named(**values) == problem)
    except InputError:
        return False


def _text(value: Any, field: Declaration) -> str | None:
    if isinstance(field, Part):
        return law_as_text(value, field)
    return number(value) if isinstance(field, Number) else str(value)


def _candidates(law: Any, kind: str, form: Form) -> Iterator[str]:
    """Texts that may be read as a law: which of them are exactly it is for who reads them."""
    import presage as ps

    if form.made_by and type(law) is getattr(ps, form.made_by):
        if form.listed:
            yield f"{kind}:{','.join(number(value) for value in getattr(law, dataclasses.fields(law)[0].name))}"
            return
        numbers = [(getattr(law, field.name), field.default) for field in dataclasses.fields(law)][: form.most]
        while len(numbers) > form.least and numbers[-1][0] == numbers[-1][1]:
            numbers.pop()
        yield f"{kind}:{','.join(number(value) for value, _ in numbers)}" if numbers else kind
    elif not form.made_by and type(law) in [getattr(ps, name) for name in targets.BY_MASSES]:
        yield from (f"{kind}:{text}" for text in _masses(law.values, law.weights))


def _masses(values: Any, weights: Any) -> Iterator[str]:
    """Values with weights, the shorter texts first.

    A law divides weights by their sum, and those that it keeps may sum to one up to rounding only: divided again they
    are others. So shorter ones are tried, and others with the same ratios.
    """
    if (weights == weights[0]).all():
        yield ",".join(number(value) for value in values)
    scaled = (weights * (1.0 + step * STEP) for step in range(TRIES))
    rounded = [float(f"{weight:.{FIRM}g}") for weight in weights]
    for each in chain([rounded], scaled):
        yield ",".join(f"{number(value)}@{number(weight)}" for value, weight in zip(values, each, strict=True))


def _function(make: str) -> tuple[list[str], str]:
    """The function at a place as one calls it, and the import that it takes where it is not of the public list."""
    import presage as ps

    module, _, name = make.partition(":")
    if getattr(ps, name, None) is found(make):
        return [], f"ps.{name}"
    return [f"from {module} import {name.partition('.')[0]}"], name


def _law_in_python(name: str, text: str, part: Part) -> tuple[list[str], str]:
    """The Python of a law that was written, and the import that it takes."""
    import presage as ps

    law = targets.law(name, text, part)
    noun = f"ps.{type(law).__name__}"
    if text.endswith(".npy"):
        is_matrix = hasattr(law, "of_matrix") and npy_file(name, text).ndim == 2
        file = f"np.load({json.dumps(str(Path(text).absolute()))})"
        return ["import numpy as np"], f"{noun}{'.of_matrix' if is_matrix else ''}({file})"
    kind, _, rest = text.partition(":")
    parts = rest.split(",")
    family = targets.family(part)
    form = family.forms[kind] if family else None
    if form and form.listed:
        return [], f"{noun}([{', '.join(repr(float(each)) for each in parts)}])"
    if form and form.made_by:
        if not rest:
            return [], f"{noun}()"
        fields = declarations(getattr(ps, form.made_by)).values()  # in the order of its arguments, the last optional
        numbers = [_literal(float(each), field) for each, field in zip(parts, fields, strict=False)]
        return [], f"{noun}({', '.join(numbers)})"
    columns = zip(*(each.split("@") for each in parts), strict=True)  # of values, and of weights where there are such
    lists = [f"[{', '.join(repr(float(each)) for each in column)}]" for column in columns]
    return [], f"{noun}({', '.join(lists)})"


def _literal(value: float | str, field: Declaration) -> str:
    """A value as one writes it in Python: a number of things without its decimal point, a word in quotes."""
    if isinstance(value, str):
        return json.dumps(value)
    return number(value) if isinstance(field, Number) and field.whole else repr(value)


def _call(function: str, arguments: Sequence[str]) -> str:
    """The line, or lines where it is too long, wrapped as formatters do."""
    listed = ", ".join(arguments)
    line = f"problem = {function}({listed})"
    if len(line) <= WIDTH:
        return line
    body = f"    {listed}" if len(listed) + 4 <= WIDTH else "\n".join(f"    {each}," for each in arguments)
    return f"problem = {function}(\n{body}\n)"
