from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints.nulls.noise_table import noise_table
from presage.checkpoints.tail import tail_of
from presage.spectra.tails.power_tail import power_tail


def test_noise_is_no_power_law():
    """Exponents of noise are anywhere from 2 to 20, and none is called a power law; most are inside the band."""
    table = noise_table("gaussian", 128, 128, 128)
    found = [one for row in table.samples[100:160] if (one := tail_of(row, table.samples[:100])) is not None]
    assert not any(one.power_law for one in found)
    inside = [one.band[0] <= one.exponent <= one.band[1] for one in found]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.09)
    assert "cannot tell: exponent" in found[0].words


def test_the_exponent_is_that_of_the_package():
    rng = np.random.default_rng(0)
    squares = (1.0 - rng.random(600)) ** (-1.0 / 1.5)  # density x^-2.5
    values = np.sort(np.sqrt(squares))[::-1]
    found = tail_of(values, noise_table("gaussian", 128, 128, 128).samples)
    same = power_tail(squares, bootstrap=0, rng=rng)
    assert found is not None
    assert same is not None
    assert found.exponent == pytest.approx(same.exponent)
    assert found.exponent == pytest.approx(2.5, abs=4 * found.error)
    assert found.error == pytest.approx((found.exponent - 1.0) / np.sqrt(found.size))
    assert found.against_exponential == pytest.approx(same.vuong_exponential)
    assert found.against_lognormal == pytest.approx(same.vuong_lognormal)
