"""How many copies there are follows from how far they spread and from the accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from presage.solving.copies import averaged, enough_copies, largest, not_reached
from presage.solving.jumps import notes_of, surely


def normal(seed):
    return {"x": 1.0 + 0.05 * np.random.default_rng(seed).standard_normal(), "zero": 0.0}


def worst(copies):
    return largest(*averaged(copies), {"zero": 1.0})


@pytest.mark.parametrize("accuracy", [0.05, 0.02, 0.01])
def test_copies_are_enough(accuracy):
    found = enough_copies(normal, worst, accuracy, first=6, most=1000)
    assert worst(found) <= accuracy
    wanted = (1.96 * 0.05 / accuracy) ** 2
    assert 0.5 * wanted < len(found) < max(6, 3.0 * wanted) + 1
    assert found == [normal(seed) for seed in range(len(found))]


def test_there_is_an_end_to_it():
    found = enough_copies(normal, worst, 1e-4, first=4, most=20)
    assert len(found) == 20
    assert "0.02" in not_reached(0.02, 1e-4)[0]
    assert not_reached(0.02, 0.02) == ()


def test_jumps_are_told_where_they_are_more_than_noise():
    rng = np.random.default_rng(0)
    noise = [0.02 * rng.standard_normal((2, 2)) for _ in range(16)]
    assert notes_of(surely(noise)) == ()
    assert surely([copy + 0.06 for copy in noise]) == pytest.approx(0.06, abs=0.015)
    assert "0.05" in notes_of(0.05)[0]
