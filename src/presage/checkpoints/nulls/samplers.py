"""Singular values and eigenvalues of Gaussian matrices of any size, drawn exactly and without the matrices.

Each draw costs as much as a small triangular or tridiagonal matrix, whatever the longer side. Values decrease.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dsterf

from presage.laws.spectral_law import Floats

AT_ONCE = 64  # products of triangles that are decomposed in one call
# p^(1/3) times this: entries of a chain that the values at its local edge still feel. A vector falls beyond its turning
# point as an Airy function of 1.6 times that argument, by e^-19 here, and its value moves by the square of it.
EDGE_WIDTHS = 6.0


def product_values(h: int, d_q: int, d_k: int, size: int, rng: np.random.Generator) -> Floats:
    """Singular values of ``W_Q W_K'``, factors d_q x h and d_k x h with entries of variance one; a row a draw.

        s = svd(R_Q R_K'),   R upper triangular,   R_ii^2 ~ chi^2(d - i),   R_ij ~ N(0, 1)

    There are h of them, and fewer where a factor is wider than high, which is then drawn itself.

    Equation: derived: Bartlett's decomposition of the two Wishart matrices.
    Checked: tests/checkpoints/nulls/test_samplers.py::test_values_have_the_law_of_whole_matrices
    """
    rows = []
    for first in range(0, size, AT_ONCE):
        count = min(AT_ONCE, size - first)
        R_Q, R_K = (_bartlett(h, d, count, rng) for d in (d_q, d_k))
        rows.append(np.linalg.svd(R_Q @ R_K.transpose(0, 2, 1), compute_uv=False))
    return np.concatenate(rows)


def _bartlett(h: int, d: int, count: int, rng: np.random.Generator) -> Floats:
    if d < h:
        return rng.standard_normal((count, d, h))
    R = np.triu(rng.standard_normal((count, h, h)), 1)
    R[:, np.arange(h), np.arange(h)] = np.sqrt(rng.chisquare(d - np.arange(h), (count, h)))
    return R


def gaussian_values(p: int, q: int, most: int, size: int, rng: np.random.Generator) -> Floats:
    """The `most` largest singular values of a p x q Gaussian matrix with entries of variance one; a row a draw.

        bidiagonal, the diagonal chi(q - i), beside it chi(p - 1 - i),   i = 0, 1, ...,   p <= q

    Only as much of the chain is drawn as the largest values feel: up to where its local edge
    ``sqrt(q - i) + sqrt(p - i)`` has fallen below the last of them, and some more.

    Equation: [DE02], Theorem 3.1.
    Checked: tests/checkpoints/nulls/test_samplers.py::test_values_have_the_law_of_whole_matrices
    Checked: tests/checkpoints/nulls/test_samplers.py::test_a_chain_that_is_cut_has_the_same_largest_values
    """
    p, q = min(p, q), max(p, q)
    i = np.arange(p)
    edge = (np.sqrt(q - i) + np.sqrt(p - i)) ** 2
    length = p if most >= p else _cut(edge, _wishart(p, q, p, p, 1, np.random.default_rng(0))[0, most - 1], p)
    return np.asarray(np.sqrt(np.maximum(_wishart(p, q, length, most, size, rng), 0.0)))


def _wishart(p: int, q: int, length: int, most: int, size: int, rng: np.random.Generator) -> Floats:
    """Largest eigenvalues of the first part of the chain times its transpose; a row a draw."""
    i = np.arange(length)
    along = rng.chisquare(q - i, (size, length))
    beside = rng.chisquare(p - 1 - i[:-1], (size, length - 1))
    coupled = np.sqrt(along[:, :-1] * beside)
    along[:, 1:] += beside
    return _tridiagonal(along, coupled, most)


def symmetric_values(d: int, most: int, size: int, rng: np.random.Generator) -> Floats:
    """The `most` largest eigenvalues of a d x d matrix of the GOE, whose bulk is [-2, 2]; a row a draw.

        tridiagonal, the diagonal N(0, 2)/sqrt(d), beside it chi(d - 1 - i)/sqrt(d),   i = 0, 1, ...

    Equation: [DE02], Theorem 2.1.
    Checked: tests/checkpoints/nulls/test_samplers.py::test_values_have_the_law_of_whole_matrices
    Checked: tests/checkpoints/nulls/test_samplers.py::test_a_chain_that_is_cut_has_the_same_largest_values
    """
    edge = 2.0 * np.sqrt(1.0 - np.arange(d) / d)
    length = d if most >= d else _cut(edge, _goe(d, d, d, 1, np.random.default_rng(0))[0, most - 1], d)
    return _goe(d, length, most, size, rng)


def _goe(d: int, length: int, most: int, size: int, rng: np.random.Generator) -> Floats:
    diagonal = rng.normal(0.0, np.sqrt(2.0 / d), (size, length))
    beside = np.sqrt(rng.chisquare(d - 1 - np.arange(length - 1), (size, length - 1)) / d)
    return _tridiagonal(diagonal, beside, most)


def _cut(edge: Floats, last: float, size: int) -> int:
    """How many entries of a chain the values down to `last` feel."""
    return min(size, int(np.sum(edge >= last)) + int(np.ceil(EDGE_WIDTHS * size ** (1.0 / 3.0))))


def _tridiagonal(diagonal: Floats, beside: Floats, most: int) -> Floats:
    """The `most` largest eigenvalues, decreasing, of a matrix a row."""
    found = np.empty((len(diagonal), min(most, diagonal.shape[1])))
    for values, along, next_to in zip(found, diagonal, beside, strict=True):
        every, failed = dsterf(along, next_to if len(next_to) else np.zeros(1))
        if failed:
            raise ArithmeticError("The eigenvalues of a tridiagonal matrix were not found. Use another seed.")
        values[:] = every[::-1][:most]
    return found
