"""Numbers of two factors and of their product, and what they are for random factors."""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from presage.checkpoints.nulls.noise_table import noise_table
from presage.laws.spectral_law import Floats

FEWEST_APART = 8  # values that a density is counted over
CEILING_LEVEL = 0.99


class MeanAndDeviation(NamedTuple):
    """What noise has of a number."""

    mean: float
    deviation: float


def singular_values(W_Q: Floats, W_K: Floats) -> Floats:
    """Singular values of ``W_Q W_K'``, decreasing, by its triangular factors: the product itself is never made.

        s = svd(R_Q R_K'),   W = Q R

    Equation: derived: the orthogonal factors leave singular values as they are.
    Checked: tests/checkpoints/test_measures.py::test_values_are_those_of_the_product
    """
    return np.asarray(np.linalg.svd(_triangle(W_Q) @ _triangle(W_K).T, compute_uv=False))


def _triangle(W: Floats) -> Floats:
    return np.asarray(np.linalg.qr(W, mode="r"))


def balance(W_Q: Floats, W_K: Floats) -> float:
    """How alike the two factors are: one at any minimum with weight decay on both.

        b = <A_0, B_0>/(|A_0| |B_0|),   X_0 = X - tr(X)/h,   A = W_Q' W_Q,   B = W_K' W_K

    Equation: derived: random factors have mean 0 and variance 1/(h (h+1)/2 - 1), traceless matrices being irreducible.
    Checked: tests/checkpoints/test_measures.py::test_balance_and_symmetry_of_random_factors
    """
    A, B = W_Q.T @ W_Q, W_K.T @ W_K
    h = len(A)
    A, B = A - np.trace(A) / h * np.eye(h), B - np.trace(B) / h * np.eye(h)
    size = float(np.linalg.norm(A) * np.linalg.norm(B))
    return float(np.sum(A * B)) / size if size > 0.0 else float("nan")


def balance_of_noise(h: int) -> MeanAndDeviation:
    """Balance of random factors of width h, exact for Gaussian ones; its docstring has the equation."""
    return MeanAndDeviation(0.0, 1.0 / sqrt(h * (h + 1) / 2.0 - 1.0))


def symmetry(W_Q: Floats, W_K: Floats) -> float:
    """How symmetric the product is, between -1 and 1.

        y = tr(M^2)/tr(M M')

    Equation: derived: random factors have mean 1/d and standard deviation sqrt(2)/d.
    Checked: tests/checkpoints/test_measures.py::test_balance_and_symmetry_of_random_factors
    """
    C = W_K.T @ W_Q
    size = float(np.sum((W_Q.T @ W_Q) * (W_K.T @ W_K)))
    return float(np.sum(C * C.T)) / size if size > 0.0 else float("nan")


def symmetry_of_noise(d: int) -> MeanAndDeviation:
    """Symmetry of random factors of height d."""
    return MeanAndDeviation(1.0 / d, sqrt(2.0) / d)


def stable_rank(values: Floats) -> Floats:
    """``|M|_F^2/s_1^2``, along the last axis."""
    return np.asarray(np.sum(values**2, axis=-1) / values[..., 0] ** 2)


def effective_rank(values: Floats) -> Floats:
    """The exponential of the entropy of the squares, along the last axis."""
    share = values**2 / np.sum(values**2, axis=-1, keepdims=True)
    logs = np.log(np.where(share > 0.0, share, 1.0))
    return np.asarray(np.exp(-np.sum(share * logs, axis=-1)))


def ranks_of_noise(law: str, n: int, rows: int, columns: int) -> tuple[MeanAndDeviation, MeanAndDeviation]:
    """Stable and effective rank of noise of a law: mean and standard deviation over its table."""
    samples = noise_table(law, n, rows, columns).samples
    found = (stable_rank(samples), effective_rank(samples))
    stable, effective = (MeanAndDeviation(float(x.mean()), float(x.std(ddof=1))) for x in found)
    return stable, effective


def zero_up_to(top: float, dtype: str, d: int) -> float:
    """Up to this size singular values are zero: rounding of what they were computed from.

    2 eps sqrt(d) s_1,   eps of double precision where that was stored, and of single precision for all else
    """
    eps = 2.0**-52 if dtype == "F64" else 2.0**-23
    return 2.0 * eps * sqrt(d) * top


def rounding_floor(W_Q: Floats, W_K: Floats, error_Q: float, error_K: float) -> float:
    """Up to this size singular values of the product may be the rounding of the stored numbers.

        |W_Q| |E_K| + |E_Q| |W_K|,   |E| = error (sqrt(d) + sqrt(h))

    Equation: derived: Weyl's inequality; the rounding is as good as independent.
    Checked: tests/checkpoints/test_measures.py::test_rounding_moves_no_value_by_more_than_the_floor
    """
    (d_q, h), d_k = W_Q.shape, len(W_K)
    of_Q, of_K = error_Q * (sqrt(d_q) + sqrt(h)), error_K * (sqrt(d_k) + sqrt(h))
    return float(np.linalg.norm(W_Q, 2)) * of_K + of_Q * float(np.linalg.norm(W_K, 2))


def bias_share(W_Q: Floats, W_K: Floats, b_Q: Floats) -> float:
    """Size of the key vector that the bias of the queries adds, beside that of a row of the product.

        |W_K b_Q|/(|M|_F/sqrt(d_q))

    Equation: derived: the logits are ``(W_Q' x + b_Q)' W_K' y``; the bias of the keys drops out of a softmax.
    Checked: tests/checkpoints/test_measures.py::test_the_bias_of_the_queries
    """
    size = sqrt(max(float(np.sum((W_Q.T @ W_Q) * (W_K.T @ W_K))), 0.0) / len(W_Q))
    return float(np.linalg.norm(W_K @ b_Q)) / size if size > 0.0 else float("nan")


def plane_shares(W_Q: Floats, W_K: Floats, rotary: str) -> Floats:
    """Share of each plane of rotary positions in the product, fast ones first; they sum to one.

        |W_Q[:, pair] W_K[:, pair]'|_F^2/sum,   pair = (j, j + h/2), or (2j, 2j + 1) where planes are interleaved

    Equation: derived: a rotation turns the two coordinates of a pair only.
    Checked: tests/checkpoints/test_measures.py::test_shares_of_planes
    """
    half = W_Q.shape[1] // 2
    pairs = [(2 * j, 2 * j + 1) if rotary == "interleaved" else (j, j + half) for j in range(half)]
    sizes = np.array([np.sum((W_Q[:, p].T @ W_Q[:, p]) * (W_K[:, p].T @ W_K[:, p])) for p in map(list, pairs)])
    return np.asarray(sizes / sizes.sum()) if sizes.any() else np.full(half, np.nan)


def noise_ceiling(values: Floats, law: str, rows: int, columns: int) -> float:
    """The most noise that shrunk values can hold, by how dense they are at their densest: a bound of ``a delta``.

        a delta <= 2/(pi f_max),   f = k/(d (s_i - s_{i+k})),   k = max(8, n/8)

    The density of a free convolution with a semicircle is at most 1/(pi delta). The estimate is too low on noise, and
    is multiplied by the 99 % point of what it is there.

    Equation: derived: ``v <= delta`` on the curve of the free convolution.
    Checked: tests/checkpoints/test_measures.py::test_the_ceiling_is_above_the_noise
    """
    table = noise_table(law, len(values), rows, columns)
    factor = float(np.quantile(1.0 / _densest(table.samples, rows, columns), CEILING_LEVEL))
    return factor * float(_densest(values[None], rows, columns)[0])


def _densest(values: Floats, rows: int, columns: int) -> Floats:
    """``2/(pi f_max)`` of each row of decreasing values."""
    n = values.shape[1]
    k = min(max(FEWEST_APART, n // 8), n - 1)
    closest = np.min(values[:, :-k] - values[:, k:], axis=1)
    return np.asarray(2.0 / pi * sqrt(rows * columns) * closest / k)
