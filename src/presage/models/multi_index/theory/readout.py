"""What a readout of the recovered coordinates has left of the labels."""

from __future__ import annotations

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.multi_index.gaussian_means import HIGHEST, moments
from presage.models.multi_index.problem import MultiIndexProblem


def excess_risk(problem: MultiIndexProblem, overlap: Floats) -> float:
    """Squared error on a clean label, of the best readout of coordinates that see feature k by ``q_k = |P w_k|^2``.

        R = sum_k lambda a_k^2 [Var f - sum_{l=1}^D f_l^2 h_l q_k^l]

    A coordinate of overlap q is worth ``E[h_l(z)|s] = q^(l/2) h_l(s)`` for each Hermite polynomial. D is the degree of
    the readout, and ``h_l = 1`` but for the separate readout of equal features, `mixing`. The error of the fit itself,
    of order p D/n, is not in it.

    Equation: derived: scores and coordinates are jointly Gaussian, and Hermite polynomials of one degree mix only.
    Checked: tests/models/multi_index/test_theory.py::test_excess_risk_of_gaussian_coordinates
    """
    known = moments(problem.link)
    degree = np.arange(1, min(problem.readout_degree, HIGHEST) + 1)
    energy = known.coefficients[degree] ** 2 * np.array([mixing(problem, int(one)) for one in degree])
    captured = np.zeros(len(overlap))
    for one, part in zip(degree, energy, strict=True):
        captured += part * overlap**one
    return float(np.sum(problem.weights**2 * (known.variance - captured)))


def floor(problem: MultiIndexProblem) -> float:
    """The excess risk of a readout of the very features: what has a higher degree than it."""
    return excess_risk(problem, np.ones(problem.features))


def mixing(problem: MultiIndexProblem, degree: int) -> float:
    """Part of the energy of a degree that separate polynomials have of p equal features, in the mean over turns.

        h_l = p E u_1^{2l} + p (p-1) E u_1^l u_2^l,   u uniform on the unit sphere of p dimensions

    Equal features share an eigenvalue, so that their eigenvectors are turned at random; features of different sizes are
    not, and neither does it matter to polynomials of all coordinates together.

    Equation: derived: moments of the square of ``sum_k u_k^l``.
    Checked: tests/models/multi_index/test_theory.py::test_mixing_of_turned_coordinates
    """
    p = problem.features
    if problem.decay > 0.0 or p == 1 or problem.readout == "joint" or degree % 2:
        return 1.0

    def moment(first: float, second: float) -> float:
        log = scipy.special.gammaln
        one = log(0.5 * p) - log(0.5 * (p + first + second))
        return float(np.exp(one + log(0.5 * (first + 1)) + log(0.5 * (second + 1)) - 2.0 * log(0.5)))

    return p * moment(2.0 * degree, 0.0) + p * (p - 1) * moment(degree, degree)
