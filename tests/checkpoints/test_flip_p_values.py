from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints.flip_p_values import flip_p_values
from presage.checkpoints.flips import own_p, pooled_p


def test_heads_of_a_shape_are_pooled():
    """One of its shape is judged by its own flips, several by those of all, and one without flips not at all."""
    rng = np.random.default_rng(0)
    flips = rng.standard_normal((4, 19))
    top = [3.0, 0.5, 4.0, 1.0]
    shapes = [(8, 20, 20), (8, 20, 20), (8, 20, 30), (8, 20, 20)]
    found = flip_p_values(shapes, top, [flips[0], flips[1], flips[2], ()])
    assert found[:2] == pytest.approx(pooled_p(np.array(top[:2]), flips[:2]))
    assert found[2] == own_p(top[2], flips[2]) == 0.05
    assert np.isnan(found[3])
    assert len(flip_p_values([], [], [])) == 0
