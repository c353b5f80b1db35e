"""Linear channels: the two equations are an explicit map ``(delta, c) -> (alpha, lambda~)``, with nothing to iterate.

The quadratic network is one token; linear attention is the same at ``alpha L_in``. In this file `alpha` is that
product.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from math import asin, exp, log, pi, sin, sqrt

from presage.laws.spectral_law import SpectralLaw
from presage.solving.penalized_equations import PenalizedEquations
from presage.solving.two_equations import Point
from presage.spectra.symmetric.functionals import Functionals, functionals


def explicit_map(target: SpectralLaw, noise: float, delta: float, c: float) -> tuple[float, float]:
    """Return ``(alpha, lambda~)`` of the point ``(delta, c)``.

    ``2 alpha delta^2 = Q_0 + Delta/2 + 4 delta^2 I - int_c (x^2 - c^2) mu_delta``, ``lambda~ = 4 c (alpha - I)``.

    Equation: [ETZK25], its two equations with J differentiated.
    Checked: tests/models/attention/theory/test_quadratic.py::test_explicit_map_inverts_solve
    """
    f = functionals(target, delta, c)
    alpha = (f.risk + 0.5 * noise) / (2.0 * delta**2)
    return alpha, 4.0 * c * (alpha - f.I)


def solve_point(
    target: SpectralLaw,
    noise: float,
    alpha: float,
    lambda_tilde: float,
    *,
    tol: float = 1e-12,
    start: tuple[float, float] | None = None,
) -> Point[Functionals]:
    """Find ``(delta, c)`` for a given ``(alpha, lambda~)``: Newton on the logarithms, from a bracket if need be.

    It starts from `start`, or from labels without a signal. The minimum of the convex loss is unique, and so is the
    root. At fixed delta the second equation is monotone in c (``int_c h mu > 0``), which makes the search by brackets
    safe.

    Equation: [ETZK25], its two equations.
    Checked: tests/models/attention/theory/test_quadratic.py::test_check_values
    Checked: tests/models/attention/theory/test_quadratic.py::test_strong_weight_decay_cuts_everything
    Checked: tests/models/attention/theory/test_quadratic.py::test_explicit_map_inverts_solve
    """
    rho_0 = target.second_moment + 0.5 * noise
    delta, c = sqrt(rho_0 / (2.0 * alpha)), lambda_tilde / (4.0 * alpha)
    everything_cut = functionals(target, delta, c)
    if everything_cut.rank == 0.0:
        return Point(delta, c, everything_cut, 0.0, 1)
    # In the units of the two equations the penalty is lambda~/4 and the noise that of one component.
    equations = PenalizedEquations(partial(functionals, target), 0.5 * noise, alpha, 0.25 * lambda_tilde, unit=2.0)
    if start is None:
        start = delta, delta * _cutoff_without_signal(alpha, lambda_tilde / delta)
    return equations.solve(*start, tol)


def _cutoff_without_signal(alpha: float, lambda_tilde: float) -> float:
    """Solve ``alpha = I(c) + lambda~/(4c)`` for a unit semicircle alone: where the search for the cutoff starts."""

    def excess(log_c: float) -> float:
        c = exp(log_c)
        angle = asin(min(0.5 * c, 1.0))
        first: float = max(4.0 - c * c, 0.0) ** 1.5 / (6.0 * pi)
        second = (0.5 * pi - angle + 0.25 * sin(4.0 * angle)) / pi
        return 0.5 * (second - c * first) + lambda_tilde / (4.0 * c) - alpha

    low = high = log(lambda_tilde / (4.0 * alpha))
    while excess(high) > 0.0:
        high += 1.0
    # scipy.optimize takes longer to load than a point to solve. With few samples the cutoff is near the edge: digits
    # are needed, or the start would be beyond it, where nothing depends on anything.
    step = 1e-7
    return exp(low + step * bisect_left(range(round((high - low) / step)), 0.0, key=lambda k: -excess(low + step * k)))
