"""Signs of the entries flipped at random: the largest values of a head whose entries know nothing of each other.

It holds for entries of any variances, so that uneven rows and heavy tails are no signal here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats

FLIPS = 19  # by default, for a level of 1/20
MOST = 32  # one random word of 32 bits an entry is drawn
SIGN = np.uint32(1 << 31)
ALIKE = 1e-5  # relative spread of flips below which it is rounding
RIDGE = 1e-6  # of the trace: the rounding of a Gram matrix in single precision must leave it a Cholesky factor


def flipped_tops(W_Q: Floats, W_K: Floats | None, flips: int, rng: np.random.Generator) -> Floats:
    """Largest singular value of ``W_Q W_K'`` with every entry's sign flipped at random, once a flip.

        t = sqrt(lambda_max(L' B L)),   A = W_Q' W_Q = L L',   B = W_K' W_K

    Without a W_K the head is tied, ``W_Q W_Q'``, and both factors are flipped alike.

    Equation: [HSD20]; derived: for a product of two factors.
    Checked: tests/checkpoints/test_flips.py::test_flips_are_those_of_whole_matrices
    Checked: tests/checkpoints/test_flips.py::test_uneven_rows_are_no_signal
    """
    factors = [W_Q] if W_K is None else [W_Q, W_K]
    sizes = [float(np.abs(W).max()) or 1.0 for W in factors]  # so that no square leaves single precision
    stored = [np.ascontiguousarray(W / size, dtype=np.float32) for W, size in zip(factors, sizes, strict=True)]
    bits = [rng.integers(0, 1 << 32, W.shape, dtype=np.uint32) for W in stored]
    grams = [
        np.array([_gram(_flipped(W, draws, j)) for j in range(flips)], dtype=np.float64)
        for W, draws in zip(stored, bits, strict=True)
    ]
    return sizes[0] * sizes[-1] * _largest(grams)


def _flipped(W: NDArray[np.float32], bits: NDArray[np.uint32], j: int) -> NDArray[np.float32]:
    """The factor with the signs of its entries changed where the j-th random bit is set."""
    return ((bits << np.uint32(j) & SIGN) ^ W.view(np.uint32)).view(np.float32)


def _gram(W: NDArray[np.float32]) -> NDArray[np.float32]:
    return W.T @ W


def _largest(grams: Sequence[Floats]) -> Floats:
    """Largest values of the heads with these Gram matrices of their factors, a head a flip."""
    A = grams[0]
    if len(grams) == 1:
        return np.asarray(np.linalg.eigvalsh(A)[:, -1])
    h = A.shape[1]
    ridge = RIDGE * np.trace(A, axis1=1, axis2=2)
    L = np.linalg.cholesky(A + ridge[:, None, None] * np.eye(h))
    top = np.linalg.eigvalsh(L.transpose(0, 2, 1) @ grams[1] @ L)[:, -1]
    return np.asarray(np.sqrt(np.maximum(top, 0.0)))


def at_least(values: Floats, tops: Floats) -> int:
    """How many values are above those of every flip: none with probability 19/20 where there is no structure."""
    return int(np.sum(values > tops.max()))


def own_p(top: float, tops: Floats) -> float:
    """Rank of a value among those of its own flips: at the least 1/20."""
    return float((1 + np.sum(tops >= top)) / (1 + len(tops)))


def pooled_p(top: Floats, tops: Floats) -> Floats:
    """Rank of the largest value of each head among the flips of all heads of its shape, each in units of its own flips.

        z = (s_1 - mean t)/sd t,   z_j = (t_j - mean of the others)/sd of the others,   p = rank of z among all z_j

    A head whose flips are all alike (a diagonal factor) has no units: its p is the rank among its own flips, and the
    pool is made of the others.

    Args:
        top: the largest value of each head.
        tops: the flips of each, a row a head.

    Equation: derived: leave one out, so that a flip is judged as the head is; the resolution is 1/(19 H).
    Checked: tests/checkpoints/test_calibration.py::test_levels_on_noise
    Checked: tests/checkpoints/test_flips.py::test_flips_without_spread_have_no_say
    """
    count = tops.shape[1]
    others = np.array([np.delete(tops, j, axis=1) for j in range(count)])
    spread = others.std(axis=2, ddof=1)
    has_units = spread.min(axis=0) > ALIKE * tops.max(axis=1)
    p = np.array([own_p(one, of) for one, of in zip(top, tops, strict=True)])
    if not has_units.any():
        return p
    top, tops, others, spread = top[has_units], tops[has_units], others[:, has_units], spread[:, has_units]
    z = (top - tops.mean(axis=1)) / tops.std(axis=1, ddof=1)
    pool = np.sort(((tops.T - others.mean(axis=2)) / spread).ravel())
    above = len(pool) - np.searchsorted(pool, z, side="left")
    p[has_units] = (1 + above) / (1 + len(pool))
    return p
