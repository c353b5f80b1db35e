"""What is left of the means of networks as their dimension grows, and how far it is from a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.protocol.ensemble import Floats


class Limit(NamedTuple):
    """What is left of a mean as d grows."""

    a: float
    a_error: float
    b: float
    freedom: float  # degrees of freedom behind the standard error
    misfit: float  # probability of means so far off the line, 1 with fewer than three dimensions


def over(power: float) -> str:
    """One over a power of d, in words."""
    return "1/d" if power == 1.0 else f"1/d^{power:.3g}"


def fit_limit(
    d: Floats,
    values: Sequence[Floats],
    grain: Floats | float = 0.0,
    *,
    correction: float = 1.0,
    fluctuation: float = 1.0,
) -> Limit:
    """Least squares of ``mean = a + b/d^c`` over the networks of each dimension; with one dimension the mean itself.

    c is the `correction` of the observable. Fluctuations are of order ``1/d^f``, f its `fluctuation`, so a dimension
    with n networks has the weight ``n d^2f``: given, not measured, or a spread that a few seeds make small by chance
    would draw the line. The standard error of ``a`` is from the measured spreads, with the degrees of freedom of Welch
    and Satterthwaite; of an observable that comes in steps of `grain` the spread is at least that of the rounding.
    """
    count = np.array([len(value) for value in values], dtype=np.float64)
    mean = np.array([value.mean() for value in values])
    variance = np.maximum([value.var(ddof=1) for value in values], np.square(grain) / 12.0) / count
    coefficients = np.eye(1, len(d))  # of each mean in a, and in b
    if len(d) > 1:
        root = np.sqrt(count) * d**fluctuation
        coefficients = np.linalg.pinv(np.column_stack([root, root / d**correction])) * root
    parts = coefficients[0] ** 2 * variance
    total = float(parts.sum())
    freedom = total**2 / float(np.sum(parts**2 / (count - 1))) if total > 0 else float(np.sum(count - 1))
    b = float(coefficients[1] @ mean) if len(d) > 1 else 0.0
    a, misfit = float(coefficients[0] @ mean), 1.0
    if len(d) > 2 and np.all(variance > 0):
        misfit = float(scipy.special.chdtrc(len(d) - 2, np.sum((mean - a - b / d**correction) ** 2 / variance)))
    return Limit(a, sqrt(total), b, freedom, misfit)


def normal_score(t: float, freedom: float) -> float:
    """The z that is as unlikely for a normal variable as `t` is for Student's with so many degrees of freedom."""
    tail = float(scipy.special.stdtr(freedom, -abs(t)))
    return copysign(-float(scipy.special.ndtri(tail)), t) if tail > 0 else t
