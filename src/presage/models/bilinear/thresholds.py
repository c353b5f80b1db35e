"""Where a matrix without symmetry is found: by Bayes, at all, and by the least nuclear norm."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi, sqrt
from typing import final

import numpy as np
import scipy

from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats
from presage.models.bilinear.declaration import THRESHOLDS
from presage.models.bilinear.problem import BilinearProblem
from presage.protocol.prediction import SampleSizes
from presage.spectra.legendre_panels import ABSCISSAE, WEIGHTS

LOW_RANK = 0.1  # above it there is no sharp onset of learning: a linear shrinkage of the labels gains visibly at once


@final
@dataclass(frozen=True)
class BilinearThresholds(SampleSizes):
    """Sample ratios ``alpha`` of a problem; recovery is that of clean labels, whatever the noise of the problem."""

    strong_recovery: float  # the Bayes-optimal error vanishes
    weak_recovery: float  # something is learned at all: to leading order in a small rank, 0 where it is not small
    minimal_nuclear_norm: float  # the interpolator of least nuclear norm is the target
    caveats: tuple[str, ...] = ()
    problem: BilinearProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS


def thresholds(problem: BilinearProblem) -> BilinearThresholds:
    """Collect the thresholds in ``alpha``, the number of samples over the entries of the matrix."""
    target, count = problem.target, problem.components
    caveats, weak = [*problem.notes], weak_recovery(target, problem.noise)
    if problem.n_tokens is not None and problem.pairs == "all":
        caveats.append(
            'pairs="all": symmetric and antisymmetric part are seen through T(T+1) and T(T-1) scores; the thresholds '
            "count T^2 for both, an approximation."
        )
    if problem.noise > 0.0:
        caveats.append(
            "strong_recovery and minimal_nuclear_norm are for clean labels: with this noise the error is never zero."
        )
    if target.nonzero > LOW_RANK:
        weak = 0.0
        caveats.append(
            f"weak recovery is for low rank: at rank {target.nonzero:.3g} learning begins gradually, with the first "
            "samples."
        )
    return BilinearThresholds(
        strong_recovery(target) / count,
        weak / count,
        minimal_nuclear_norm(target.nonzero, target.aspect) / count,
        tuple(caveats),
        problem,
    )


def strong_recovery(target: RectangularLaw) -> float:
    """Measurements an entry above which clean labels give the target exactly, with unlimited computation.

    ``r(1 + b - r)/b - sum_i w_i^2/(2 b)``, r the fraction of non-zero singular values and w_i the masses of atoms
    away from zero: the dimension of the set of matrices with these singular values. (A singular value that repeats
    leaves the rotations of its frame undetermined, and they need no data.)

    Equation: [ETBMZ24] for laws without atoms; the second term is derived, from ``MMSE(delta)/delta^2`` at 0.
    Checked: tests/models/bilinear/test_bilinear.py::test_strong_recovery_is_where_the_bayes_error_vanishes
    """
    r, b = target.nonzero, target.aspect
    positions, masses = target.squared.atoms
    return r * (1.0 + b - r) / b - float(np.sum(masses[positions > 0] ** 2)) / (2.0 * b)


def weak_recovery(target: RectangularLaw, noise: float) -> float:
    """Measurements an entry above which a target of small rank is seen at all, if its singular values are alike.

    ``(Q_0 + Delta) r/(sqrt(b) Q_0)``: a singular value s leaves the noise iff ``s > delta``, and
    ``alpha delta^2 = Q_0 + Delta`` as long as nothing is learned.

    Equation: [ETBMZ24], its limit of vanishing rank.
    Checked: tests/models/bilinear/test_bilinear.py::test_weak_recovery_of_a_small_rank
    """
    Q_0 = target.second_moment
    return (Q_0 + noise) * target.nonzero / (sqrt(target.aspect) * Q_0)


def minimal_nuclear_norm(r: float, b: float) -> float:
    """Measurements an entry above which the interpolator of least nuclear norm is the target, for clean labels.

    ``gamma = (1-r)/(b-r)``, ``P_k(x) = int_x t^k MP_gamma(dt)``, and l from ``P_{1/2}(l^2) - l P_0(l^2) = l r/(1-r)``:
    ``r + (r-r^2)/b + (1-r/b) [r l^2 + (1-r) (P_1 - 2 l P_{1/2} + l^2 P_0)]``. Only the rank and the aspect matter.

    Equation: [ETBMZ24], its threshold of the least nuclear norm.
    Checked: tests/models/bilinear/test_bilinear.py::test_minimal_nuclear_norm_check_values
    Checked: tests/models/bilinear/test_bilinear.py::test_minimal_nuclear_norm_of_no_rank_and_of_full_rank
    """
    if r >= 1.0:
        return 1.0
    if r <= 0.0:
        return 0.0
    gamma = (1.0 - r) / (b - r)

    def excess(l: float) -> float:
        P_0, P_half, _ = (float(P) for P in _tails(gamma, l))
        return P_half - l * P_0 - l * r / (1.0 - r)

    l = float(scipy.optimize.brentq(excess, 0.0, 1.0 + sqrt(gamma), xtol=1e-15))
    P_0, P_half, P_1 = (float(P) for P in _tails(gamma, l))
    return r + (r - r * r) / b + (1.0 - r / b) * (r * l * l + (1.0 - r) * (P_1 - 2.0 * l * P_half + l * l * P_0))


def _tails(gamma: float, l: float) -> Floats:
    """``int_{x>l} x^k 2x MP_gamma(x^2) dx`` for k = 0, 1, 2: the singular values of a unit Gaussian matrix."""
    low, high = max(l, 1.0 - sqrt(gamma)), 1.0 + sqrt(gamma)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    angle = np.concatenate([0.25 * pi * (ABSCISSAE + sign) for sign in (-1.0, 1.0)])
    x = middle + half * np.sin(angle)
    # (high^2 - x^2)(x^2 - lowest^2) by factors, since it vanishes at the ends.
    radical = np.sqrt((high**2 - x**2) * np.maximum(x**2 - (1.0 - sqrt(gamma)) ** 2, 0.0))
    weight = np.tile(WEIGHTS, 2) * 0.25 * pi * half * np.cos(angle) * radical / (pi * gamma * x)
    return np.array([weight.sum(), weight @ x, weight @ x**2])
