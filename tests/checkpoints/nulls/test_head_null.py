from __future__ import annotations

import numpy as np
import pytest

import presage as ps


def test_the_null_of_a_head_is_that_of_its_draws():
    null = ps.HeadNull(64, 512)
    assert null.edges == pytest.approx((274.29922, 782.21732), rel=1e-7)
    top = null.sample(3000, np.random.default_rng(0))[:, 0]
    assert null.top_mean == pytest.approx(top.mean(), rel=1e-3)
    assert null.top_sd == pytest.approx(top.std(), rel=0.06)
    assert np.mean(top > null.quantile(0.95)) == pytest.approx(0.05, abs=0.012)
    assert ps.HeadNull(32, 256, 512).edges == ps.HeadNull(32, 512, 256).edges


def test_sizes_are_whole_numbers():
    with pytest.raises(ValueError, match=r"`h` must be a whole number >= 1: it is the width of a head"):
        ps.HeadNull(0, 512)
    with pytest.raises(ValueError, match="`size` must be"):
        ps.HeadNull(8, 16).sample(0, np.random.default_rng(0))
