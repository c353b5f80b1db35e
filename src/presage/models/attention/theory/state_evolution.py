"""State evolution: the channel turns overlaps into conjugates, the penalty turns conjugates into overlaps."""

from __future__ import annotations

from functools import singledispatch
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.penalties.penalty import Penalty
from presage.models.attention.problem import Problem
from presage.models.attention.theory.order_parameters import Conjugates, Overlaps
from presage.models.attention.theory.rules.rule import Averages
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.functionals import Functionals, functionals
from presage.spectra.symmetric.shrunk import Shrunk


class WeightSide(NamedTuple):
    """What the penalty makes of the conjugates."""

    overlaps: Overlaps
    free_energy: float  # (2/d) E min [R(T)/d + (Sigma_hat/4) sum T^2 - (1/2) sum T D], Psi of the theory
    penalty: float  # E r(T): what the penalty adds to the loss, over d^2
    rank: float
    estimation_error: float  # |S - S_0|_F^2/d = Q_0 - 2m + q
    deficit: float  # Q_0 - m


def delta(conjugates: Conjugates) -> float:
    """Noise level ``delta = sqrt(q_hat)/m_hat`` of the matrix that the learner sees, in units of the target."""
    return sqrt(conjugates.q_hat) / conjugates.m_hat


@singledispatch
def weight_side(penalty: Penalty, target: SpectralLaw, kappa: float, conjugates: Conjugates) -> WeightSide:
    """Overlaps of the matrix that the penalty makes of ``m_hat S_0 + sqrt(q_hat) GOE``, whose spectrum is D.

    Its eigenvalues are ``argmin_T R(T)/d + (Sigma_hat/4) sum T_i^2 - (1/2) sum T_i D_i``, that is ``s(x)`` for ``x``
    from ``mu_delta``, and with ``h`` its Hilbert part

    ``q = int s^2 mu``, ``m = int s (x - 2 delta^2 h) mu``, ``Sigma = (2/m_hat) int s h mu``.

    The conditional mean of the target's eigenvalue is ``x - 2 delta^2 h``; the third is the derivative of Psi in
    q_hat by the free Burgers equation, and holds where s jumps as well.

    Equation: [BETKZ25] (43)-(44), the integrals derived.
    Departs: R(T) is divided by d, not by d^2 as printed, or the penalty would not act. Erratum 2.
    Checked: tests/models/attention/penalties/test_penalties_of_users.py::test_the_fixed_point_is_stationary
    """
    m_hat, _, Sigma_hat = conjugates
    image = shrunk(penalty, target, kappa, conjugates)
    t = image.free.t
    nodes = image.nodes()
    x, s, mass, hilbert = nodes.x, nodes.s, nodes.mass, nodes.hilbert
    q, along = float(mass @ s**2), float(mass @ (s * x))
    overlaps = Overlaps(m=along - 2.0 * t * hilbert, q=q, Sigma=2.0 / m_hat * hilbert)
    paid = float(mass @ penalty.value(s, kappa))
    psi = 2.0 * (paid + 0.25 * Sigma_hat * q - 0.5 * m_hat * along)
    rank = min(float(mass[s != 0.0].sum()), 1.0)
    # Q_0 = int x^2 mu - delta^2 turns both distances into forms that do not cancel near perfect recovery.
    estimation_error = float(mass @ (x - s) ** 2) + t * (4.0 * hilbert - 1.0)
    deficit = float(mass @ (x * (x - s))) + t * (2.0 * hilbert - 1.0)
    return WeightSide(overlaps, psi, paid, rank, estimation_error, deficit)


def shrunk(penalty: Penalty, target: SpectralLaw, kappa: float, conjugates: Conjugates) -> Shrunk:
    """The shrinkage ``s(x)`` of the eigenvalues of ``S_0 + delta GOE``, ``s(x) = shrink(m_hat x, Sigma_hat)``."""
    m_hat, _, Sigma_hat = conjugates

    def s(x: Floats) -> Floats:
        return np.asarray(penalty.shrink(m_hat * x, Sigma_hat, kappa))

    corners = {float(k) for k in (0.0, *penalty.kinks, penalty.lowest) if isfinite(k) and k >= penalty.lowest}
    return Shrunk(FreeConvolution(target, delta(conjugates)), s, tuple(sorted(corners)))


@weight_side.register
def nuclear_psd(penalty: NuclearPSD, target: SpectralLaw, kappa: float, conjugates: Conjugates) -> WeightSide:
    """Soft thresholding on the positive side: ``S = (M - 2 lambda~)_+/Sigma_hat``, of rank kappa at most.

    ``q = (m_hat/Sigma_hat)^2 J``, ``m = (m_hat/Sigma_hat)[int_c x(x-c) mu - 2 delta^2 I]``, ``Sigma Sigma_hat = 2 I``.
    A student narrower than that rank keeps the largest eigenvalues, a fraction kappa of all: the best S of its rank.
    The same integrals, begun where these begin, are still the derivatives of Psi (the boundary adds nothing, since the
    mass above it is fixed), but the minimum is no longer one of a convex problem: a heuristic.

    Equation: [BETKZ25] (55), first three lines; [GTXEKZ26] for the truncation.
    Checked: tests/models/attention/theory/test_state_evolution.py::test_overlaps_are_those_of_a_sampled_matrix
    Checked: tests/models/attention/theory/test_rank_limited.py::test_the_fixed_point_is_stationary
    """
    m_hat, _, Sigma_hat = conjugates
    noise = delta(conjugates)
    lambda_tilde = penalty.lambda_tilde(kappa)
    f = functionals(target, noise, 2.0 * lambda_tilde / m_hat, most=kappa)
    scale = m_hat / Sigma_hat
    psi, penalty_paid = -0.5 * m_hat * scale * f.J, lambda_tilde * scale * f.first
    return thresholded(f, scale, 2.0 * f.I / Sigma_hat)._replace(free_energy=psi, penalty=penalty_paid)


def thresholded(f: Functionals, scale: float, Sigma: float) -> WeightSide:
    """What ``S = scale (x - c)_+`` has in common with the target; nothing is paid for it."""
    A = f.overlap - 2.0 * f.delta**2 * f.I
    # Distances to the target without the cancellation of Q_0 - 2m + q and Q_0 - m near perfect recovery.
    estimation_error = f.risk + (1.0 - scale) * (2.0 * A - (1.0 + scale) * f.J)
    deficit = f.deficit + (1.0 - scale) * A
    overlaps = Overlaps(m=scale * A, q=scale**2 * f.J, Sigma=Sigma)
    return WeightSide(overlaps, 0.0, 0.0, f.rank, estimation_error, deficit)


@weight_side.register
def frobenius(penalty: Frobenius, target: SpectralLaw, kappa: float, conjugates: Conjugates) -> WeightSide:
    """Ridge on a symmetric matrix: a linear shrinkage.

    ``q = (m_hat^2 Q_0 + q_hat) Sigma^2``, ``m = Q_0 m_hat Sigma``, ``Sigma = 1/(Sigma_hat + 4 tau)``.

    Equation: [BETKZ25] (66)-(67).
    Departs: the penalty in the loss is d tau |S|^2; print (20) hides the factor d. Erratum 11.
    Checked: tests/models/attention/theory/test_state_evolution.py::test_overlaps_are_those_of_a_sampled_matrix
    """
    m_hat, q_hat, Sigma_hat = conjugates
    Q_0 = target.second_moment
    Sigma = 1.0 / (Sigma_hat + 4.0 * penalty.ridge)
    power = Q_0 * m_hat**2 + q_hat
    overlaps = Overlaps(m=Q_0 * m_hat * Sigma, q=power * Sigma**2, Sigma=Sigma)
    gain = m_hat * Sigma
    estimation_error = Q_0 * (1.0 - gain) ** 2 + q_hat * Sigma**2
    psi, penalty_paid = -0.5 * power * Sigma, penalty.ridge * overlaps.q
    return WeightSide(overlaps, psi, penalty_paid, 1.0, estimation_error, Q_0 * (1.0 - gain))


def deviation_given_target(problem: Problem, side: WeightSide) -> float:
    """Standard deviation of ``z`` given ``z_0``, ``sigma^2 = q - m^2/rho_0``, accurate near perfect recovery too.

    Equation: derived: with the estimation error e it is ``e + Delta/2 - (Q_0 + Delta/2 - m)^2/rho_0``.
    Checked: tests/models/attention/theory/test_attention.py::test_nearly_perfect_recovery_is_solved
    Checked:
        tests/models/attention/theory/test_state_evolution.py::test_deviation_given_target_is_what_z_does_not_share_with_z_0
    """
    half_noise = 0.5 * problem.noise
    square = side.estimation_error + half_noise - (side.deficit + half_noise) ** 2 / problem.rho_0
    return sqrt(max(square, 0.0)) if side.overlaps.q > 0.0 else 0.0


def sample_side(alpha: float, averages: Averages, *, stein: bool) -> Floats:
    """Conjugates from the averages over a sample, one row ``(m_hat, q_hat, Sigma_hat)`` for each estimate.

    ``Sigma_hat = -2 alpha E sum df/dz``, ``m_hat = 2 alpha E sum df/dz_0``, ``q_hat = 2 alpha E |f|^2`` with
    ``f = (p-z)/Sigma``.

    Equation: [BETKZ25] (43), (55), last three lines, written for f.
    Departs: no sqrt2 inside the softmax beyond the one in the components; (54) and (56) carry it twice. Erratum 1.
    Checked: tests/models/attention/theory/test_state_evolution.py::test_the_fixed_point_is_stationary
    """
    slope_z, slope_z_0 = (averages.stein_z, averages.stein_z_0) if stein else (averages.slope_z, averages.slope_z_0)
    return 2.0 * alpha * np.column_stack([slope_z_0, averages.square, -slope_z])


def free_energy(
    problem: Problem, overlaps: Overlaps, conjugates: Conjugates, side: WeightSide, envelope: float
) -> float:
    """Free energy, stationary at the solution, where it is the training loss.

    ``Phi = (q_hat Sigma + 2 m_hat m - Sigma_hat q)/4 + alpha M + Psi/2``, where `envelope` is
    ``M = E min_h |h-z|^2/(2 Sigma) + l(h)``.

    Equation: [BETKZ25] (7).
    Checked: tests/models/attention/theory/test_state_evolution.py::test_the_fixed_point_is_stationary
    """
    m, q, Sigma = overlaps
    m_hat, q_hat, Sigma_hat = conjugates
    return (q_hat * Sigma + 2.0 * m_hat * m - Sigma_hat * q) / 4.0 + problem.alpha * envelope + 0.5 * side.free_energy
