"""Singular values of a product of two random factors: where their bulk ends, and how far the largest one goes.

The factors are W_Q (d_q x h) and W_K (d_k x h) with independent entries of variance one; the product is
``M = W_Q W_K'``, of rank h.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from presage.laws.gaussian_product import GaussianProduct
from presage.laws.spectral_law import Floats
from presage.spectra.bulks.tracy_widom import SCALE, SHAPE, SHIFT

TW_MEAN, TW_DEVIATION = SHAPE * SCALE - SHIFT, SCALE * sqrt(SHAPE)  # of the gamma law that stands for Tracy and Widom's
FARTHEST = 1e6  # of k, in which an edge is looked for


class Top(NamedTuple):
    """The largest value of noise: mean and standard deviation."""

    mean: float
    deviation: float


def product_edges(h: int, d_q: int, d_k: int) -> tuple[float, float]:
    """Edges of the bulk of the h singular values of ``W_Q W_K'``.

        s^2 = h sqrt(d_q d_k) w,   w the edges of the squares of `GaussianProduct(h/p, N/p)`, p <= N the two sides

    Equation: derived: `ProductSquares` in units of the entries; S-transforms of free Wishart matrices multiply.
    Checked: tests/spectra/test_random_products.py::test_edges_are_those_of_the_check_values
    """
    p, N = sorted((d_q, d_k))
    low, high = GaussianProduct(h / p, N / p).squared.support[-1]
    return sqrt(max(h * sqrt(p * N) * low, 0.0)), sqrt(h * sqrt(p * N) * high)


def product_top(h: int, d_q: int, d_k: int) -> Top:
    """Square of the largest singular value of ``W_Q W_K'``, by Tracy and Widom.

        s_1^2 = d_q d_k [w_+ + (h a)^(-2/3) TW_1],   a = sqrt(2/w''(k_+))/w_+,   w'' = 2/k^3 + 2 c_q c_k
        w(k) = (1 + k)(1 + c_q k)(1 + c_k k)/k,   2 c_q c_k k^3 + (c_q + c_k + c_q c_k) k^2 = 1,   c_i = h/d_i

    with h - 1/2 and d_i - 1/2 for h and d_i, which is right to the next order.

    Equation: derived: the moment series of `ProductSquares` beside its square-root edge.
    Checked: tests/spectra/test_random_products.py::test_the_largest_value_of_sampled_products
    """
    h_, q, k_ = h - 0.5, d_q - 0.5, d_k - 0.5
    c_q, c_k = h_ / q, h_ / k_
    k = float(
        brentq(lambda k: 2.0 * c_q * c_k * k**3 + (c_q + c_k + c_q * c_k) * k * k - 1.0, 0.0, 1.0 + sqrt(1 / c_q))
    )
    w = (1.0 + k) * (1.0 + c_q * k) * (1.0 + c_k * k) / k
    a = sqrt(2.0 / (2.0 / k**3 + 2.0 * c_q * c_k)) / w
    unit = (h_ * a) ** (-2.0 / 3.0)
    return Top(q * k_ * (w + unit * TW_MEAN), q * k_ * unit * TW_DEVIATION)


def symmetric_edge(h: int, d: int) -> float:
    """Edge of the bulk of the eigenvalues of the symmetric part ``(M + M')/2``, both factors d x h.

        z(g) = 1/g + 2 c g/(4 - g^2) in units of d,   largest at g^2 = 4/(1 + c + sqrt(c^2 + 4c)),   c = h/d

    Equation: derived: (M + M')/2 = (U U' - V V')/2 with U, V of entries of variance one, a free difference.
    Checked: tests/spectra/test_random_products.py::test_edges_are_those_of_the_check_values
    """
    c = h / d
    g = sqrt(4.0 / (1.0 + c + sqrt(c * c + 4.0 * c)))
    return d * (1.0 / g + 2.0 * c * g / (4.0 - g * g))


def symmetric_top(h: int, d: int) -> Top:
    """Largest eigenvalue of the symmetric part, by Tracy and Widom.

        z_1 = d [z(g) + (d A)^(-2/3) TW_1],   A = sqrt(2/z''),   z'' = 2/g^3 + 4 c g (12 + g^2)/(4 - g^2)^3

    Equation: derived: the square-root edge of `symmetric_edge`.
    Checked: tests/spectra/test_random_products.py::test_the_largest_value_of_sampled_products
    """
    c = h / d
    g = sqrt(4.0 / (1.0 + c + sqrt(c * c + 4.0 * c)))
    bend = 2.0 / g**3 + 4.0 * c * g * (12.0 + g * g) / (4.0 - g * g) ** 3
    unit = d * (d * sqrt(2.0 / bend)) ** (-2.0 / 3.0)
    return Top(symmetric_edge(h, d) + unit * TW_MEAN, unit * TW_DEVIATION)


def uneven_edge(h: int, rows_q: Floats, rows_k: Floats) -> float:
    """Upper edge of the singular values where rows have unequal variances: ``W = diag(sqrt(t)) Z``.

        k = E[t g/(1 - c t g)] gives g(k);   w(k) = k (1 + k)/(g_q(k) g_k(k)),   s_+^2 = d_q d_k min over k > 0 of w

    It is where the bulk ends for many rows of each variance; a few huge rows make outliers of their own beyond it.

    Args:
        h: width of the factors.
        rows_q: the variance of each row of W_Q.
        rows_k: the variance of each row of W_K.

    Equation: derived: S-transform of a Wishart matrix with a population covariance.
    Checked: tests/spectra/test_random_products.py::test_edges_are_those_of_the_check_values
    """
    t_q, t_k = np.asarray(rows_q, dtype=np.float64), np.asarray(rows_k, dtype=np.float64)

    def w(log_k: float) -> float:
        k = float(np.exp(log_k))
        return k * (1.0 + k) / (_transform(k, h, t_q) * _transform(k, h, t_k))

    found = minimize_scalar(
        w, bounds=(np.log(1.0 / FARTHEST), np.log(FARTHEST)), method="bounded", options={"xatol": 1e-10}
    )
    return sqrt(len(t_q) * len(t_k) * float(found.fun))


def _transform(k: float, h: int, t: Floats) -> float:
    """``g`` with ``k = E[t g/(1 - c t g)]``: the mean rises from zero to infinity before its first pole."""
    c = h / len(t)
    pole = 1.0 / (c * float(t.max()))
    return pole * float(
        brentq(lambda x: float(np.mean(t * pole * x / (1.0 - c * t * pole * x))) - k, 0.0, 1.0 - 1e-14, xtol=1e-15)
    )
