"""The law of the target as one writes it: ``mp:0.5``, ``power:1.25,400``, ``masses:0@0.5,1@0.5``, a file.npy ..."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from presage.cli.mistakes import CommandError


class Form(NamedTuple):
    """One way to write a law."""

    pattern: str
    example: str
    means: str


SYMMETRIC = {
    "mp": Form("mp:KAPPA_0", "mp:0.5", "Marchenko-Pastur: a Gaussian factor of width kappa_0 d"),
    "power": Form("power:GAMMA,D", "power:1.25,400", "D eigenvalues that fall as i^-gamma"),
    "masses": Form("masses:VALUE@WEIGHT,...", "masses:0@0.5,1@0.5", "given eigenvalues"),
    "semicircle": Form("semicircle:VARIANCE,CENTRE", "semicircle:1,3", "Wigner's semicircle"),
}
RECTANGULAR = {
    "product": Form("product:RANK,ASPECT", "product:0.5,2", "a product of two Gaussian factors"),
    "masses": Form("masses:VALUE@WEIGHT,...", "masses:0@0.5,1@0.5", "given singular values"),
}


def law(text: str, *, rectangular: bool = False) -> Any:
    """Read a target: eigenvalues of a symmetric matrix, or singular values of a `rectangular` one."""
    if text.endswith(".npy"):
        return _from_file(text, rectangular)
    kind, _, rest = text.partition(":")
    forms = RECTANGULAR if rectangular else SYMMETRIC
    if kind not in forms:
        raise CommandError(_unknown(text, forms, rectangular))
    try:
        made = MAKERS[kind](rest, rectangular)
    except ValueError as error:
        form = forms[kind]
        said = str(error)
        if said.startswith(("could not convert", "invalid literal", "not ")):
            said = "its numbers cannot be read."
        raise CommandError(
            f"`--target {text}` makes no law: {said} Write {form.pattern}, for example {form.example}."
        ) from None
    return made


def _unknown(text: str, forms: dict[str, Form], rectangular: bool) -> str:
    kind = text.partition(":")[0]
    ways = ", ".join(form.pattern for form in forms.values())
    if rectangular and kind in SYMMETRIC:
        return (
            f"`--target` must be a law of singular values here: this model learns a matrix without symmetry. "
            f"Got --target {text}. Use {ways} or a file.npy."
        )
    if not rectangular and kind in RECTANGULAR:
        return (
            f"`--target` must be a law of eigenvalues here: this model learns a symmetric matrix. "
            f"Got --target {text}. Use {ways} or a file.npy, or --model bilinear."
        )
    return f"`--target` must be {ways} or a file.npy. Got --target {text!r}. Use for example --target mp:0.5."


def _numbers(text: str, least: int, most: int) -> list[float]:
    numbers = [float(part) for part in text.split(",")]
    if not least <= len(numbers) <= most:
        raise ValueError(f"it has {len(numbers)} numbers.")
    return numbers


def _marchenko_pastur(text: str, rectangular: bool) -> Any:
    import presage as ps

    return ps.MarchenkoPastur(*_numbers(text, 1, 1))


def _power(text: str, rectangular: bool) -> Any:
    import presage as ps

    gamma, d = _numbers(text, 2, 2)
    return ps.PowerLaw(gamma, d)  # type: ignore[arg-type] # says what is wrong with a d that is not whole


def _semicircle(text: str, rectangular: bool) -> Any:
    import presage as ps

    return ps.Semicircle(*_numbers(text, 1, 2))


def _product(text: str, rectangular: bool) -> Any:
    import presage as ps

    return ps.GaussianProduct(*_numbers(text, 1, 2))


def _masses(text: str, rectangular: bool) -> Any:
    import presage as ps

    pairs = [part.partition("@") for part in text.split(",")]
    values = [float(value) for value, _, _ in pairs]
    marked = [weight for _, at, weight in pairs if at]
    if marked and len(marked) != len(values):
        raise ValueError("some values have a weight and some have none.")
    weights = [float(weight) for weight in marked] if marked else None
    return ps.SingularValueMasses(values, weights) if rectangular else ps.PointMasses(values, weights)


MAKERS: dict[str, Callable[[str, bool], Any]] = {
    "mp": _marchenko_pastur,
    "power": _power,
    "semicircle": _semicircle,
    "product": _product,
    "masses": _masses,
}


def _from_file(name: str, rectangular: bool) -> Any:
    """Eigenvalues (singular values) from a list, or those of a matrix."""
    import numpy as np

    import presage as ps

    path = Path(name)
    if not path.is_file():
        raise CommandError(f"`--target` names the file {name}, which does not exist. Save it with numpy.save first.")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError):
        raise CommandError(
            f"`--target` must be a .npy file of numbers: {name} is not one. Save it with numpy.save."
        ) from None
    try:
        if not rectangular:
            return ps.Empirical(array)
        if getattr(array, "ndim", 0) != 2:
            return ps.SingularValueMasses(array)
        sides = sorted(array.shape)
        return ps.SingularValueMasses(np.linalg.svd(array, compute_uv=False), aspect=sides[1] / sides[0])
    except (ValueError, TypeError, ZeroDivisionError, np.linalg.LinAlgError) as error:
        raise CommandError(f"`--target {name}` makes no law: {error}") from None
