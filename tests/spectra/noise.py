"""Eigenvalues of matrices of noise, and of noise with directions planted in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigvalsh_tridiagonal


def wigner(n: int, rng: np.random.Generator, planted: ArrayLike = ()) -> Any:
    """A symmetric Gaussian matrix whose semicircle ends at 2, with directions of these strengths."""
    gaussian = rng.standard_normal((n, n))
    matrix = (gaussian + gaussian.T) / np.sqrt(2 * n)
    rows = np.arange(np.size(planted))
    matrix[rows, rows] += np.asarray(planted)
    return np.linalg.eigvalsh(matrix)


def wishart(n: int, columns: int, rng: np.random.Generator, planted: ArrayLike = ()) -> Any:
    """W W'/columns of a Gaussian factor of n rows, some of which have the variance 1 + ell; zeros where it is thin."""
    factor = rng.standard_normal((n, columns))
    factor[: np.size(planted)] *= np.sqrt(1.0 + np.asarray(planted))[:, None]
    values = np.linalg.svd(factor, compute_uv=False) ** 2 / columns
    return np.sort(np.concatenate([values, np.zeros(n - len(values))]))


def cut(n: int, rng: np.random.Generator, cutoff: float = 0.7) -> Any:
    """What is left of a semicircle above a cutoff, and zeros."""
    return np.maximum(wigner(n, rng) - cutoff, 0.0)


def quick_wigner(n: int, rng: np.random.Generator, planted: float = 0.0) -> Any:
    """Eigenvalues of the same law as those of `wigner`, with at most one direction, of a matrix with three bands.

    Householder's reflections bring a symmetric Gaussian matrix to it and leave its first entry (Dumitriu, Edelman).
    """
    middle = np.sqrt(2.0) * rng.standard_normal(n)
    middle[0] += planted * np.sqrt(n)
    beside = np.sqrt(rng.chisquare(np.arange(n - 1, 0, -1)))
    return eigvalsh_tridiagonal(middle, beside) / np.sqrt(n)


def quick_wishart(n: int, columns: int, rng: np.random.Generator, planted: float = 0.0) -> Any:
    """Eigenvalues of the same law as those of `wishart`, with at most one direction, of a matrix with three bands."""
    p, m = min(n, columns), max(n, columns)
    on = np.sqrt(rng.chisquare(np.arange(m, m - p, -1)))
    off = np.sqrt(rng.chisquare(np.arange(p - 1, 0, -1)))
    on[0] *= np.sqrt(1.0 + planted)  # the first row of the factor is its first entry
    values = eigvalsh_tridiagonal(on**2 + np.append(0.0, off**2), on[:-1] * off) / columns
    return np.sort(np.concatenate([values, np.zeros(n - p)]))


NOISE = {
    "Wigner": wigner,
    "Wishart, ratio 1/4": lambda n, rng: wishart(n, 4 * n, rng),
    "Wishart, ratio 0.8": lambda n, rng: wishart(n, round(n / 0.8), rng),
    "Wishart, ratio 1": lambda n, rng: wishart(n, n, rng),
    "rank deficient": lambda n, rng: wishart(n, round(0.6 * n), rng),
    "cut semicircle": cut,
}


def least_strength(n: int) -> float:
    """Strength above which a direction stands out of the noise of a symmetric matrix in 95 of 100 cases.

    u + 1/u = 2 + 2.9 n^(-2/3) + 1.65 sqrt(2 (1 - 1/u^2)/n): the mean of its eigenvalue is so far beyond the edge.
    """
    u = np.linspace(1.01, 4.0, 100_000)
    enough = u + 1 / u >= 2 + 2.9 * n ** (-2 / 3) + 1.65 * np.sqrt(2 * (1 - 1 / u**2) / n)
    return float(u[np.argmax(enough)])
