"""Values drawn without their matrices have the law of whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints.nulls import samplers
from presage.checkpoints.nulls.samplers import gaussian_values, product_values, symmetric_values

DRAWS = 1500


def alike(drawn, whole):
    """Means of every order statistic within 4.5 errors, spreads within a fifth."""
    error = np.sqrt((drawn.var(axis=0) + whole.var(axis=0)) / len(whole))
    assert np.all(np.abs(drawn.mean(axis=0) - whole.mean(axis=0)) < 4.5 * error)
    assert np.all(np.abs(np.log(drawn.std(axis=0) / whole.std(axis=0))) < 0.2)


@pytest.mark.parametrize("h", [6, 20])
def test_values_have_the_law_of_whole_matrices(h):
    rng = np.random.default_rng(5)
    Q, K = rng.standard_normal((DRAWS, 16, h)), rng.standard_normal((DRAWS, 12, h))
    whole = np.linalg.svd(Q @ K.transpose(0, 2, 1), compute_uv=False)[:, : min(h, 12)]
    alike(product_values(h, 16, 12, DRAWS, rng), whole)
    X = rng.standard_normal((DRAWS, 12, h))
    p = min(12, h)
    alike(gaussian_values(12, h, p, DRAWS, rng), np.linalg.svd(X, compute_uv=False))
    G = rng.standard_normal((DRAWS, h, h)) / np.sqrt(2.0 * h)
    alike(symmetric_values(h, h, DRAWS, rng), np.linalg.eigvalsh(G + G.transpose(0, 2, 1))[:, ::-1])


def test_a_chain_that_is_cut_has_the_same_largest_values():
    """The same random numbers, with and without the rest of the chain."""
    rng = np.random.default_rng(7)
    p, q, most = 400, 500, 40
    i = np.arange(p)
    edge = (np.sqrt(q - i) + np.sqrt(p - i)) ** 2
    along, beside = np.sqrt(rng.chisquare(q - i)), np.sqrt(rng.chisquare(p - 1 - i[:-1]))
    diagonal = along**2
    diagonal[1:] += beside**2
    (whole,) = samplers._tridiagonal(diagonal[None], (along[:-1] * beside)[None], most)
    length = samplers._cut(edge, whole[-1], p)
    assert most < length < p
    (part,) = samplers._tridiagonal(diagonal[None, :length], (along[:-1] * beside)[None, : length - 1], most)
    assert part == pytest.approx(whole, rel=1e-9)
    d = 400
    diagonal, beside = rng.normal(0.0, np.sqrt(2.0 / d), d), np.sqrt(rng.chisquare(d - 1 - np.arange(d - 1)) / d)
    (whole,) = samplers._tridiagonal(diagonal[None], beside[None], most)
    length = samplers._cut(2.0 * np.sqrt(1.0 - np.arange(d) / d), whole[-1], d)
    assert most < length < d
    (part,) = samplers._tridiagonal(diagonal[None, :length], beside[None, : length - 1], most)
    assert part == pytest.approx(whole, rel=1e-9)
    cut, full = (gaussian_values(300, 300, most, 400, np.random.default_rng(8)) for most in (20, 300))
    alike(cut, full[:, :20])
