"""The limit of vanishing weight decay while a head can fit every label: of all that do, the cheapest matrix.

A label ``softmax(beta_0 (R_0 + noise))`` is fitted iff the differences of scores in each row are ``beta_0/beta`` times
those of its noisy scores: K - 1 linear measurements a row, and so bilinear regression with ``alpha_eff`` measurements
an entry, scaled by ``beta_0/beta``.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from presage.models.bilinear.theory.explicit_map import solve_bilinear_point
from presage.models.bilinear.thresholds import minimal_nuclear_norm
from presage.models.untied.problem import UntiedProblem
from presage.models.untied.theory.channel import Overlaps

SHORT_OF = 1e-9  # relative distance of alpha_eff from 1 at which the peak is too near


class Interpolator(NamedTuple):
    """The cheapest matrix that fits every label."""

    overlaps: Overlaps
    delta: float
    cutoff: float
    scale: float
    rank: float
    estimation_error: float
    relative_error: float


def interpolator(problem: UntiedProblem) -> Interpolator | None:
    """The interpolator of least price, or the target where clean labels give it away; None where not all labels fit.

    For a ridge, ``m = alpha Q_0``, ``q = alpha Q_0 + Delta alpha/(1 - alpha)`` at ``alpha = alpha_eff < 1``.

    Equation: derived: bilinear regression at alpha_eff (weight decay), ridgeless regression with random inputs (ridge).
    Checked: tests/models/untied/theory/test_limits.py::test_vanishing_weight_decay_is_bilinear_regression
    Checked: tests/models/untied/theory/test_limits.py::test_a_small_ridge_tends_to_the_interpolator
    """
    target, alpha, noise, Q_0 = problem.singular_values, problem.alpha_eff, problem.noise, problem.Q_0
    ratio = problem.target_beta / problem.beta
    by_decay = problem.penalty == "weight-decay"
    enough = minimal_nuclear_norm(target.nonzero, target.aspect) if by_decay else 1.0
    if noise == 0.0 and alpha >= enough:
        overlaps = Overlaps(ratio * Q_0, ratio**2 * Q_0, float("inf"), 0.0)
        return Interpolator(overlaps, 0.0, 0.0, ratio, target.nonzero, (1.0 - ratio) ** 2 * Q_0, 0.0)
    if alpha >= 1.0 - SHORT_OF:
        return None
    if not by_decay:
        m, q = alpha * Q_0, alpha * Q_0 + noise * alpha / (1.0 - alpha)
        delta = sqrt(q - m * m / Q_0) * Q_0 / m  # S has the singular values of (m/Q_0) (S_0 + delta Z)
        return _scaled(Q_0, m, q, ratio, delta, 0.0, m / Q_0, 1.0, 0.0)
    point = solve_bilinear_point(target, noise, alpha, 0.0)
    f = point.functionals
    m = f.J + f.c * f.first - f.delta**2 * f.I
    return _scaled(Q_0, m, f.J, ratio, f.delta, f.c, 1.0, f.rank, point.residual + f.relative_error)


def _scaled(
    Q_0: float, m: float, q: float, ratio: float, delta: float, cutoff: float, scale: float, rank: float, error: float
) -> Interpolator:
    m, q = ratio * m, ratio**2 * q
    overlaps = Overlaps(m, q, float("inf"), Q_0 - m * m / q)
    return Interpolator(overlaps, delta, cutoff, ratio * scale, rank, Q_0 - 2.0 * m + q, error)
