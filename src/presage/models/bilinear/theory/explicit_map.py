"""Nuclear norm on a matrix without symmetry: an explicit map ``(delta, c) -> (alpha, lambda)``, nothing to iterate.

The minimiser has the singular values ``(x - c)_+`` of ``M_0 + delta Z``. In this file `alpha` counts measurements over
the entries of the matrix, and `decay` is lambda of ``lambda (|W_1|^2 + |W_2|^2) = 2 lambda sqrt(p N) |M|_*``.
"""

from __future__ import annotations

from functools import partial
from math import sqrt

from presage.laws.rectangular_law import RectangularLaw
from presage.solving.penalized_equations import PenalizedEquations
from presage.solving.two_equations import Point
from presage.spectra.rectangular.convolution import (
    RectangularConvolution,
    RectangularFunctionals,
    rectangular_functionals,
)


def bilinear_map(target: RectangularLaw, noise: float, delta: float, c: float) -> tuple[float, float]:
    """Return ``(alpha, lambda)`` of the point ``(delta, c)``.

    ``alpha delta^2 = Delta + risk(delta, c)``, ``lambda = c (alpha - I)``.

    Equation: derived, as for the LASSO: the noise of the effective observation is that of the labels plus the error of
    the fit, and the threshold is the penalty over one minus the divergence a measurement.
    Checked: tests/models/bilinear/test_bilinear.py::test_explicit_map_inverts_solve
    """
    f = rectangular_functionals(target, delta, c)
    alpha = (f.risk + noise) / delta**2
    return alpha, c * (alpha - f.I)


def solve_bilinear_point(
    target: RectangularLaw, noise: float, alpha: float, decay: float, *, tol: float = 1e-12
) -> Point[RectangularFunctionals]:
    """Find ``(delta, c)`` for a given ``(alpha, lambda)``: Newton on the logarithms, from a bracket if need be.

    ``lambda = 0`` is the limit 0+ and needs ``alpha < 1``: there c > 0 and the fit interpolates.

    Equation: derived, the two equations of `bilinear_map`.
    Checked: tests/models/bilinear/test_bilinear.py::test_explicit_map_inverts_solve
    """
    delta, c = sqrt((target.second_moment + noise) / alpha), decay / alpha
    if c >= RectangularConvolution(target, delta).support[-1, 1]:
        return Point(delta, c, rectangular_functionals(target, delta, c), 0.0, 1)  # everything is cut
    integrals = partial(rectangular_functionals, target)
    equations = PenalizedEquations(integrals, noise, alpha, decay, unit=1.0)
    return equations.solve(delta, equations.cutoff(delta, max(c, 0.1 * delta)).c, tol)
