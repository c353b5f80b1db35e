"""Laws and other parts of a problem as one writes them: ``mp:0.5``, ``masses:0@0.5,1@0.5``, a file.npy ...

Which can be written for a field follows from the class that it declares, or stands in its declaration.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from presage.cli.arrays import npy_file
from presage.cli.errors import CommandError
from presage.protocol.errors import InputError
from presage.protocol.fields import Form, Part
from presage.protocol.model import NamedProblem, models


class UnreadableError(Exception):
    """What was written for a law is none."""


class Family(NamedTuple):
    """The laws of one kind of number, or what a field declares for itself."""

    of: str  # what they are laws of
    matrix: str  # that has such numbers; "" where it is no law
    forms: Mapping[str, Form]


MANY = 200_000  # values of a law from which on it is said how long an answer takes
SECONDS_A_MILLION = (15.0, 150.0)  # rough: one run each on a busy machine, a million values (linear), 100,000 (softmax)
MASSES = Form("masses:VALUE@WEIGHT,...", "masses:0@0.5,1@0.5", "point masses")
SINGULAR_VALUES = "singular values"
BY_MASSES = ("PointMasses", "SingularValueMasses")  # classes that values and weights make
FAMILIES = {  # by the class that a field declares
    "presage.laws.spectral_law.SpectralLaw": Family(
        "eigenvalues",
        "a symmetric matrix",
        {
            "mp": Form("mp:KAPPA_0", "mp:0.5", "Marchenko-Pastur", "MarchenkoPastur"),
            "power": Form("power:GAMMA,D", "power:1.25,400", "power law", "PowerLaw", 2, 2),
            "masses": MASSES,
            "semicircle": Form("semicircle:VARIANCE,CENTRE", "semicircle:1,3", "semicircle", "Semicircle", 1, 2),
        },
    ),
    "presage.laws.rectangular_law.RectangularLaw": Family(
        SINGULAR_VALUES,
        "a matrix without symmetry",
        {
            "product": Form(
                "product:RANK,ASPECT", "product:0.5,2", "product of Gaussian factors", "GaussianProduct", 1, 2
            ),
            "masses": MASSES,
        },
    ),
}


def family(part: Part) -> Family | None:
    """What can be written for a field: what it declares itself, else the laws of its class; None where nothing can."""
    return Family(part.words, "", part.forms) if part.forms else FAMILIES.get(part.kind)


def syntax(part: Part) -> str:
    """The ways to write a value of a field; "" where there is none."""
    known = family(part)
    if known is None:
        return ""
    patterns = [form.pattern for form in known.forms.values()] + (["a file.npy"] if known.matrix else [])
    return " or ".join(filter(None, [", ".join(patterns[:-1]) + ("," if known.matrix else ""), patterns[-1]]))


def in_words(python: str) -> str:
    """A law as one writes it here, of the Python that makes it; what is no such law stays as it is."""
    made_by, _, rest = python.partition("(")
    if made_by in BY_MASSES:
        values, weights = ast.literal_eval(f"({rest}")
        return "masses:" + ",".join(f"{value:g}@{weight:g}" for value, weight in zip(values, weights, strict=True))
    for kind, form in _every_form():
        if form.made_by == made_by:
            numbers = rest.removesuffix(")").replace(" ", "").strip("[]")
            return f"{kind}:{numbers}" if numbers else kind
    return python


def _every_form() -> Iterator[tuple[str, Form]]:
    """All that can be written, of laws and of fields that declare their own."""
    for laws in FAMILIES.values():
        yield from laws.forms.items()
    for named in (named for model in models() for named in model.named):
        for field in named.fields.values():
            yield from field.forms.items() if isinstance(field, Part) else ()


def law(option: str, text: str, part: Part) -> Any:
    """Read the law, or the value of another kind, that was written for a field."""
    known = family(part)
    if known is None:
        raise CommandError(
            f"`{option}` cannot be written in a command: it is the {part.words}, made in Python by for example "
            f"{part.example}. Leave it out, or name a problem that has it: --model module:name."
        )
    if known.matrix and text.endswith(".npy"):
        return _from_file(option, text, known)
    kind, _, rest = text.partition(":")
    if kind not in known.forms:
        raise CommandError(_unknown(option, text, known, part))
    form = known.forms[kind]
    try:
        return _made(rest, form) if form.made_by else _masses(rest, known)
    except UnreadableError as error:
        said = str(error)
    except InputError as error:
        said = _in_the_pattern(error)
    raise CommandError(
        f"`{option} {text}` makes no {part.noun}: {said} Write {form.pattern}"
        + (f", for example {form.example}." if form.example != form.pattern else ".")
    )


def _in_the_pattern(error: InputError) -> str:
    """What is wrong with a number of a law, by the name that the pattern has for it; what to write follows there."""
    value = f"{error.value:g}" if isinstance(error.value, float) else str(error.value)
    return f"{error.name.upper()} must {error.must}: {error.reason}. Got {value}."


def how_long(law: Any) -> str | None:
    """What to expect of a law of very many eigenvalues; None of any other, whose answers take seconds."""
    count = len(getattr(getattr(law, "atoms", None), "positions", ()))
    if count < MANY:
        return None
    quick, slow = (f"{seconds * count / 1e6:.2g}" for seconds in SECONDS_A_MILLION)
    return f"This law has {count:,} different values: it takes about {quick} s (linear) to {slow} s (softmax)."


def _unknown(option: str, text: str, known: Family, part: Part) -> str:
    ways = syntax(part)
    for kind, other in FAMILIES.items():
        if known.matrix and text.partition(":")[0] in other.forms:
            has = [named.name for model in models() for named in model.named if _takes(named, kind)]
            return (
                f"`{option}` must be a law of {known.of} here: this model learns {known.matrix}. "
                f"Got {option} {text}. Use {ways}{f', or --model {has[0]}' if has else ''}."
            )
    return f"`{option}` must be {ways}. Got {option} {text!r}. Use for example {option} {in_words(part.example)}."


def _takes(named: NamedProblem, kind: str) -> bool:
    return any(isinstance(field, Part) and field.kind == kind for field in named.fields.values())


def _made(text: str, form: Form) -> Any:
    import presage as ps

    numbers = [_number(part) for part in text.split(",")] if text else []
    if not form.least <= len(numbers) <= form.most:
        raise UnreadableError(f"it has {len(numbers)} number{'' if len(numbers) == 1 else 's'}.")
    make = getattr(ps, form.made_by)
    return make(numbers) if form.listed else make(*numbers)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UnreadableError("its numbers cannot be read.") from None


def _masses(text: str, family: Family) -> Any:
    import presage as ps

    pairs = [part.partition("@") for part in text.split(",")]
    values = [_number(value) for value, _, _ in pairs]
    marked = [weight for _, at, weight in pairs if at]
    if marked and len(marked) != len(values):
        raise UnreadableError("some values have a weight and some have none.")
    weights = [_number(weight) for weight in marked] if marked else None
    return ps.SingularValueMasses(values, weights) if family.of == SINGULAR_VALUES else ps.PointMasses(values, weights)


def _from_file(option: str, name: str, family: Family) -> Any:
    """Eigenvalues (singular values) from a list, or those of a matrix."""
    import numpy as np

    import presage as ps

    array = npy_file(option, name)
    try:
        if family.of != SINGULAR_VALUES:
            return ps.Empirical(array)
        if getattr(array, "ndim", 0) != 2:
            return ps.SingularValueMasses(array)
        return ps.SingularValueMasses.of_matrix(array)
    except (ValueError, TypeError, np.linalg.LinAlgError) as error:
        raise CommandError(f"`{option} {name}` makes no law: {error}") from None
