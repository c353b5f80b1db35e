"""The noise sensitivity exponent of a function: how much harder its direction is to find by first-order methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, isinf, nan
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_index.gaussian_means import looked_at, second_order
from presage.models.multi_index.links import Link, as_link
from presage.protocol import checks

MOST = 8  # largest power that is looked at
ZERO = 1e-9  # error, beside the mean of the absolute value, up to which what is below it counts as zero
INSIDE = 1e-13  # relative, of what rounding inside of a function may leave: differences that nearly cancel
CLEAR = 4.0  # errors that a mean is away from zero, to be none


@final
@dataclass(frozen=True)
class NoiseSensitivity:
    """The least power b with ``E[f(z)^b (z^2 - 1)] != 0``, and how sure that is.

    The exponent is infinite where no power up to `most` has such an expectation, and nan where quadrature cannot tell.
    """

    exponent: float
    coefficient: float  # the expectation of that power
    error: float  # of it, by quadrature
    decision: str  # how sure, in a sentence
    sure: bool  # whether every lower power is zero to rounding, and this one beyond its error
    most: int  # largest power that was looked at
    values: tuple[float, ...] = field(repr=False)  # the expectations of the powers 1, 2, ... that were looked at
    errors: tuple[float, ...] = field(repr=False)

    def __str__(self) -> str:
        return f"noise sensitivity exponent {self.exponent:g}: {self.decision}"


def noise_sensitivity(f: Link | Callable[[Floats], Any], *, most: int = MOST) -> NoiseSensitivity:
    """The noise sensitivity exponent of an even function, with its expectation and how sure both are.

        beta* = least integer b >= 1 with E[f(z)^b (z^2 - 1)] != 0

    An expectation below its own error is taken for zero where that error is rounding, below 1e-9 of the mean absolute
    value; where it is larger the answer is that quadrature cannot tell. Powers are looked at up to `most`.

    Equation: [DKLM26b]
    Checked: tests/models/multi_index/test_noise_sensitivity.py::test_exponents_of_known_functions
        tests/models/multi_index/test_noise_sensitivity.py::test_what_quadrature_cannot_tell_is_said
    """
    reason, remedy = "it is the largest power of f that is looked at", "Use <most=8>."
    most = checks.integer("most", most, at_least=1, at_most=20, reason=reason, remedy=remedy)
    link = as_link(f)
    if not isinstance(link, Link):
        reason, remedy = "its exponent is asked for", "Use for example <f=HermiteLink(4)>, or a function of an array."
        raise checks.complaint("f", "be a function", reason, f, remedy)
    looked_at(link, "f")
    return _exponent(link, most)


@lru_cache(maxsize=128)
def _exponent(link: Link, most: int) -> NoiseSensitivity:
    values, errors = [], []
    for power in range(1, most + 1):
        with np.errstate(all="ignore"):
            found = second_order(link, power)
        found = found._replace(error=max(found.error, INSIDE * found.size))
        values.append(found.value)
        errors.append(found.error)
        told = f"E[f^{power} (z^2 - 1)] = {found.value:.6g} +- {found.error:.1e}"
        common = {"most": most, "values": tuple(values), "errors": tuple(errors)}
        if not np.isfinite(found.value):
            said = f"cannot tell: the mean of f^{power} is not finite."
            return NoiseSensitivity(nan, nan, inf, said, False, **common)  # type: ignore[arg-type]
        if abs(found.value) > CLEAR * found.error:
            before = "it is the first" if power == 1 else f"those of lower powers are zero to {max(errors[:-1]):.0e}"
            said = f"{told}, and {before}."
            return NoiseSensitivity(power, found.value, found.error, said, True, **common)  # type: ignore[arg-type]
        if found.error > ZERO * found.size:
            said = f"cannot tell: {told} is below its own error, which is not rounding."
            return NoiseSensitivity(nan, found.value, found.error, said, False, **common)  # type: ignore[arg-type]
    said = f"no power up to {most} has an expectation beyond rounding ({max(errors):.0e})."
    return NoiseSensitivity(inf, 0.0, max(errors), said, False, **common)  # type: ignore[arg-type]


def known_exponent(link: Link) -> int:
    """The exponent of a link as a whole number, for a preprocessing that is made of it; or a complaint."""
    found = noise_sensitivity(link)
    if not found.sure or isinf(found.exponent):
        raise checks.complaint(
            "preprocessing",
            'be "identity" or "bounded" for this function',
            f"a Hermite polynomial of the labels has the degree of the noise sensitivity exponent, and {found}",
            "hermite",
            "Use <preprocessing=bounded>, or another <link>.",
        )
    return int(found.exponent)
