"""Linear channels without a penalty: networks that fit their labels exactly, and from where on they cannot.

As in `quadratic`, `alpha` is the number of observed components over d^2: ``L_in alpha`` for linear attention,
``(L_in - 1) alpha`` for the softmax, whose labels hold one direction less.
"""

from __future__ import annotations

from functools import partial
from math import exp, log, sqrt

from presage.laws.spectral_law import SpectralLaw
from presage.protocol.errors import SolveError
from presage.solving.falling_root import falling_root
from presage.solving.interpolating_equations import InterpolatingEquations
from presage.solving.two_equations import Point
from presage.spectra.symmetric.functionals import Functionals, functionals


def interpolating_point(target: SpectralLaw, noise: float, alpha: float) -> Point[Functionals]:
    """Network of least weight among those that fit every label: the limit of vanishing weight decay.

    ``2 alpha delta^2 = risk + Delta/2`` and ``alpha = I(delta, c)``, for alpha below the threshold of interpolation
    (clean labels: below that of perfect recovery), where ``c > 0``.

    Equation: [BETKZ25] (64), (65).
    Departs: "- lambda~ dJ/dc" in print is "- dJ/dc" after the rescaling by lambda~. Erratum 3.
    Checked: tests/models/attention/theory/test_ridgeless.py::test_small_weight_decay_approaches_the_limit
    """
    # In the units of the two equations the noise is that of one component.
    equations = InterpolatingEquations(partial(functionals, target), 0.5 * noise, alpha, unit=2.0)
    point = equations.solve(sqrt((target.second_moment + 0.5 * noise) / (2.0 * alpha)))
    if point.residual > 1e-8:
        raise SolveError(
            f"The equations of an interpolating network are met only to {point.residual:.1e}.",
            "Use a larger <noise>, or an <alpha> further from the threshold.",
        )
    return point


def unpenalized_point(target: SpectralLaw, noise: float, alpha: float) -> Point[Functionals]:
    """Minimum of the loss over all ``S >= 0`` once there are more labels than a network can fit: a cutoff of zero.

    ``2 alpha delta^2 = risk(delta, 0) + Delta/2``.

    Equation: [ETZK25], its first equation at lambda = 0.
    Checked: tests/models/attention/theory/test_ridgeless.py::test_small_weight_decay_approaches_the_limit
    """
    tried: list[Functionals] = []

    def excess(log_delta: float) -> float:
        tried.append(functionals(target, exp(log_delta), 0.0))
        return (tried[-1].risk + 0.5 * noise) / (2.0 * alpha * tried[-1].delta ** 2) - 1.0

    high = 0.5 * log((target.second_moment + 0.5 * noise) / (2.0 * alpha))
    root = falling_root(excess, high, "The noise level of an unpenalised network was not found.")
    residual = abs(excess(root))
    return Point(tried[-1].delta, 0.0, tried[-1], residual, len(tried))


def interpolation_threshold(target: SpectralLaw, noise: float) -> float:
    """Most labels that a positive semidefinite S can fit, over d^2.

    ``alpha = I(delta, 0)`` with ``Q_0 + Delta/2 = J - (delta/2) dJ/ddelta`` at ``c = 0``. Without noise it is the
    limit of vanishing noise: for a target that is itself positive semidefinite delta goes to zero there. Where no
    delta is large enough (a target of mean zero or below), the weights diverge at 1/4 as for labels without a signal.

    Equation: [BETKZ25], section on interpolation, at c = 0.
    Checked: tests/models/attention/theory/test_thresholds.py::test_interpolation_without_noise_in_closed_form
    Checked: tests/models/attention/theory/test_thresholds.py::test_interpolation_without_a_signal_is_ellipsoid_fitting
    """
    if noise == 0.0 and target.support[0, 0] >= 0.0:
        zero = 1.0 - target.nonzero
        return 0.5 * (1.0 - zero**2) + 0.25 * zero**2
    edge = interpolating_limit(target, noise)
    return 0.25 if edge is None else edge.I


def interpolating_limit(target: SpectralLaw, noise: float) -> Functionals | None:
    """The integrals where a network just fits its labels, at a cutoff of zero; None where no delta is large enough.

    ``Q_0 + Delta/2 = J - (delta/2) dJ/ddelta`` at ``c = 0``; there ``alpha = I``, and the risk is the ridgeless error.

    Equation: [BETKZ25], section on interpolation, at c = 0.
    Checked: tests/models/attention/theory/scaling/test_peak.py::test_the_peak_saturates
    """
    rho_0 = target.second_moment + 0.5 * noise

    def excess(log_delta: float) -> float:
        f = functionals(target, exp(log_delta), 0.0)
        return (f.missing + 0.5 * noise + 2.0 * f.delta**2 * f.I) / rho_0

    start = 0.5 * log(rho_0)
    if excess(start + 10.0) > 0.0:
        return None
    root = falling_root(excess, start, "The interpolation threshold was not found.")
    return functionals(target, exp(root), 0.0)
