"""Signs of the entries flipped at random: the largest values of a head whose entries know nothing of each other.

It holds for entries of any variances, so that uneven rows and heavy tails are no signal here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats

FLIPS, MOST = (
    19,
    32,
)  # flips by default, for a level of 1/20, and the most: one random word of 32 bits an entry is drawn
SIGN = np.uint32(1 << 31)
RIDGE = 1e-6  # relative, so that factors that lack a rank have a Cholesky factor


def flipped_tops(W_Q: Floats, W_K: Floats | None, flips: int, rng: np.random.Generator) -> Floats:
    """Largest singular value of ``W_Q W_K'`` with every entry's sign flipped at random, once a flip.

        t = sqrt(lambda_max(L' B L)),   A = W_Q' W_Q = L L',   B = W_K' W_K

    Without a W_K the head is tied, ``W_Q W_Q'``, and both factors are flipped alike.

    Equation: [HSD20]; derived: for a product of two factors.
    Checked: tests/checkpoints/test_flips.py::test_flips_are_those_of_whole_matrices
    Checked: tests/checkpoints/test_flips.py::test_uneven_rows_are_no_signal
    """
    factors = [W_Q] if W_K is None else [W_Q, W_K]
    stored = [np.ascontiguousarray(W, dtype=np.float32) for W in factors]
    bits = [rng.integers(0, 1 << 32, W.shape, dtype=np.uint32) for W in stored]
    tops = np.empty(flips)
    for j in range(flips):
        grams = [_gram(_flipped(W, draws, j)) for W, draws in zip(stored, bits, strict=True)]
        tops[j] = _largest(grams)
    return tops


def _flipped(W: NDArray[np.float32], bits: NDArray[np.uint32], j: int) -> NDArray[np.float32]:
    """The factor with the signs of its entries changed where the j-th random bit is set."""
    return ((bits << np.uint32(j) & SIGN) ^ W.view(np.uint32)).view(np.float32)


def _gram(W: NDArray[np.float32]) -> NDArray[np.float32]:
    return W.T @ W


def _largest(grams: Sequence[NDArray[np.float32]]) -> float:
    A = grams[0]
    if len(grams) == 1:
        return float(np.linalg.eigvalsh(A)[-1])
    h = len(A)
    L = np.linalg.cholesky(A + np.float32(RIDGE * float(np.trace(A)) / h) * np.eye(h, dtype=np.float32))
    return float(np.sqrt(max(np.linalg.eigvalsh(L.T @ grams[1] @ L)[-1], 0.0)))


def at_least(values: Floats, tops: Floats) -> int:
    """How many values are above those of every flip: none with probability 19/20 where there is no structure."""
    return int(np.sum(values > tops.max()))


def own_p(top: float, tops: Floats) -> float:
    """Rank of a value among those of its own flips: at the least 1/20."""
    return float((1 + np.sum(tops >= top)) / (1 + len(tops)))


def pooled_p(top: Floats, tops: Floats) -> Floats:
    """Rank of the largest value of each head among the flips of all heads of its shape, each in units of its own flips.

        z = (s_1 - mean t)/sd t,   z_j = (t_j - mean of the others)/sd of the others,   p = rank of z among all z_j

    Args:
        top: the largest value of each head.
        tops: the flips of each, a row a head.

    Equation: derived: leave one out, so that a flip is judged as the head is; the resolution is 1/(19 H).
    Checked: tests/checkpoints/test_calibration.py::test_levels_on_noise
    """
    count = tops.shape[1]
    z = (top - tops.mean(axis=1)) / tops.std(axis=1, ddof=1)
    others = np.array([np.delete(tops, j, axis=1) for j in range(count)])
    pool = np.sort(((tops.T - others.mean(axis=2)) / others.std(axis=2, ddof=1)).ravel())
    above = len(pool) - np.searchsorted(pool, z, side="left")
    return np.asarray((1 + above) / (1 + len(pool)))
