"""The values that are not zero are the largest by size, as many as the rank says."""

from __future__ import annotations

import numpy as np
import pytest

from presage.protocol.largest_by_rank import largest_by_rank

VALUES = np.array([1e-9, -3.0, 0.5, -1e-8, 2.0])


@pytest.mark.parametrize("rank", [0.0, 0.2, 0.6, 0.59, 1.0])
def test_as_many_as_the_rank_says_and_none_left_out_is_larger(rank):
    kept = largest_by_rank(VALUES, rank)
    assert len(kept) == round(5 * rank)
    left_out = np.setdiff1d(VALUES, kept)
    assert len(left_out) == 5 - len(kept)
    assert np.abs(left_out).max(initial=0.0) <= np.abs(kept).min(initial=np.inf)


def test_negative_values_count_by_their_size():
    np.testing.assert_array_equal(largest_by_rank(VALUES, 0.6), [0.5, 2.0, -3.0])
    assert largest_by_rank(np.zeros(0), 0.5).size == 0
