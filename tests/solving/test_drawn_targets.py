"""Targets of a finite size with the moments of the limit."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.laws.random_frame import random_frame
from presage.solving.drawn_targets import free_targets, quantiles, singular_quantiles, square_target, symmetric_target

HALF, LOW = ps.MarchenkoPastur(0.5), ps.MarchenkoPastur(0.2)


def test_parts_of_a_square_target_are_of_one_size():
    law, d = ps.GaussianProduct(0.5), 40
    S = square_target(law, d, np.random.default_rng(1))
    assert abs(np.trace(S @ S)) < 1e-9 * d
    assert np.sum((S + S.T) ** 2) == pytest.approx(np.sum((S - S.T) ** 2))
    assert np.linalg.svd(S, compute_uv=False)[::-1] == pytest.approx(singular_quantiles(law, d), abs=1e-12)
    assert np.sum(S * S) / d == pytest.approx(law.second_moment)
    # The frames as they were drawn are not that well off.
    rng = np.random.default_rng(1)
    raw = (random_frame(d, d, rng) * singular_quantiles(law, d)) @ random_frame(d, d, rng).T
    assert abs(np.trace(raw @ raw)) > 0.1
    assert np.linalg.norm(S - raw) < 0.2 * np.linalg.norm(raw)


def test_heads_have_the_overlaps_of_the_limit():
    d = 40
    targets = free_targets((HALF, LOW, HALF), d, np.random.default_rng(2))
    means = np.array([np.trace(S) / d for S in targets])
    found = np.einsum("hij,kij->hk", targets, targets) / d
    assert found[0, 1] == pytest.approx(means[0] * means[1], rel=1e-8)
    assert found[0, 2] == pytest.approx(means[0] ** 2, rel=1e-8)
    assert found[1, 2] == pytest.approx(means[1] * means[2], rel=1e-8)
    assert np.diag(found) == pytest.approx([HALF.second_moment, LOW.second_moment, HALF.second_moment])
    for S, law in zip(targets, (HALF, LOW, HALF), strict=True):
        assert np.linalg.eigvalsh(S) == pytest.approx(quantiles(law, d), abs=1e-10)


def test_heads_that_are_the_identity_stay_it():
    one = ps.PointMasses([1.0], [1.0])
    assert np.allclose(free_targets((one, one), 8, np.random.default_rng(0)), np.eye(8))


def test_a_symmetric_target_is_one():
    S = symmetric_target(HALF, 30, np.random.default_rng(3))
    assert np.allclose(S, S.T)
    assert np.sum(S * S) / 30 == pytest.approx(HALF.second_moment)
