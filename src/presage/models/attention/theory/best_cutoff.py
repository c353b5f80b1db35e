"""The best weight decay of a linear channel, by an equation in place of a search.

As in `explicit_map`, `alpha` is the product with the number of components of a sample.
"""

from __future__ import annotations

from typing import NamedTuple

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.theory.one_equation import one_equation
from presage.solving.newton import NoConvergenceError
from presage.spectra.symmetric.functionals import Functionals, functionals

STEPS = 30
SETTLED = 1e-7  # of the cutoff: the risk is flat there, and knows it far better
ASIDE = 1.02  # factor on the cutoff at which the risk has to be larger


class BestPoint(NamedTuple):
    """Noise level, cutoff and error at the best penalty, and that penalty."""

    functionals: Functionals
    lambda_tilde: float
    evaluations: int


def solve_best_point(target: SpectralLaw, noise: float, alpha: float, *, delta: float, c: float) -> BestPoint:
    """Find ``(delta, c)`` at the penalty of least estimation error, from a start nearby.

    ``c int_c mu = 2 delta^2 int_c h mu`` and ``2 alpha delta^2 = risk + Delta/2``; then ``lambda~ = 4 c (alpha - I)``.

    Raises:
        NoConvergenceError: where it is not found: no positive penalty may be best.

    Equation: derived: at fixed alpha the error depends on the penalty by the cutoff only, since the noise level follows
        from the error, and the derivative of the risk in the cutoff is ``2 c int mu - 4 delta^2 int h mu``.
    Checked: tests/models/attention/theory/test_best_cutoff.py::test_no_search_does_better
    """
    chi = c / delta
    count = 0

    def at(noise_level: float, ratio: float) -> Functionals:
        nonlocal count
        count += 1
        return functionals(target, noise_level, ratio * noise_level)

    def least(noise_level: float) -> Functionals:
        """Integrals at the best cutoff of a noise level: secants on what the derivative asks the cutoff to be."""
        nonlocal chi
        ratio, last = chi, (0.0, 0.0)
        for step in range(STEPS):
            f = at(noise_level, ratio)
            if not f.rank > 0.0:
                break
            asked = 2.0 * noise_level * f.hilbert / f.rank - ratio
            if abs(asked) < SETTLED * ratio:
                chi = ratio
                return f
            slope = (asked - last[1]) / (ratio - last[0]) if step else 0.0
            last = (ratio, asked)
            moved = ratio - asked / slope if slope < 0.0 else ratio + 0.5 * asked
            ratio = min(max(moved, 0.7 * ratio), 1.4 * ratio)
        raise NoConvergenceError(None)

    f = one_equation(least, noise, alpha, start=delta).functionals
    lambda_tilde = 4.0 * f.c * (alpha - f.I)
    beside = (at(f.delta, factor * f.c / f.delta).risk for factor in (ASIDE, 1.0 / ASIDE))
    if not lambda_tilde > 0.0 or min(beside) < f.risk:
        raise NoConvergenceError(None)
    return BestPoint(f, lambda_tilde, count)
