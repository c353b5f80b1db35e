"""Linear channels whose cutoff is known at every noise level: one equation is left."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import NamedTuple

from presage.solving.newton import NoConvergenceError
from presage.spectra.symmetric.functionals import Functionals

STEPS = 60
LOST = 30.0  # e-folds of the noise level squared from the start: there is no root on that way
FLAT = -0.02  # a slope above this is that of no stable root: a step of message passing instead


class OnePoint(NamedTuple):
    """A root: its integrals, which know noise level and cutoff, and what is left of the equation."""

    functionals: Functionals
    residual: float
    relative_error: float  # of the noise level squared that it leaves: large where the equation is flat
    evaluations: int


def one_equation(
    integrals: Callable[[float], Functionals], noise: float, alpha: float, *, start: float, tol: float = 1e-11
) -> OnePoint:
    """Solve ``2 alpha delta^2 = risk(delta, c(delta)) + Delta/2`` from the noise level `start`.

    Secants in ``log delta^2``; where they would lead to a root that state evolution runs away from, its steps instead.

    Raises:
        NoConvergenceError: where they do not end.

    Equation: [ETZK25], its first equation.
    Checked: tests/models/attention/theory/test_rank_limited.py::test_one_equation_gives_what_the_fixed_point_does
    Checked: tests/models/attention/theory/test_best_cutoff.py::test_no_search_does_better
    """
    begin = y = 2.0 * log(start)
    last, slope = (0.0, 0.0), -1.0
    for count in range(1, STEPS + 1):
        f = integrals(exp(0.5 * y))
        gap = log((f.risk + 0.5 * noise) / (2.0 * alpha)) - y
        if count > 1 and y != last[0]:
            slope = (gap - last[1]) / (y - last[0])
        if abs(gap) < tol:
            return OnePoint(f, abs(gap), abs(gap) / min(abs(slope), 1.0), count)
        last = (y, gap)
        y += max(min(-gap / slope if slope < FLAT else gap, 1.0), -1.0)
        if abs(y - begin) > LOST:
            break
    raise NoConvergenceError(None)
