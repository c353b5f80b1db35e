"""One head: strengths beside many directions, heads of odd shapes and sizes, and what is not said of them."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from tests.checkpoints.planted import noise, planted


@pytest.mark.slow
def test_strengths_beside_many_directions():
    """Twelve directions of 128 take a tenth of the noise's dimensions; in units of what is left, 3 is read as 3.3."""
    rng = np.random.default_rng(1)
    found = [ps.read_head(*planted(64, 128, 12, 3.0, rng)) for _ in range(8)]
    read = [one.strengths.mean() for one in found if one.law == "random" and one.spikes == 12]
    assert len(read) >= 5
    assert np.mean(read) == pytest.approx(3.0, rel=0.03)


def test_no_law_of_a_head_that_is_random():
    """A law with its noise and cutoff is there where a verdict names it; how far the nearest is, always."""
    rng = np.random.default_rng(2)
    for _ in range(8):
        one = ps.read_head(*noise(32, 256, rng), flips=0)
        if one.verdict == "random":
            assert (one.law, one.spikes, len(one.strengths)) == ("", None, 0)
            assert np.isnan([one.delta, one.cutoff]).all()
        assert one.distance < one.placebo


def test_heads_wider_than_their_input():
    """Width 96 over an input of 48: the null is that of such factors, and no law of a bulk is looked for."""
    rng = np.random.default_rng(3)
    found = [ps.read_head(*rng.standard_normal((2, 48, 96)), flips=0) for _ in range(60)]
    assert np.mean([one.p_random < 0.05 for one in found]) < 0.2
    assert np.mean([one.p_spectrum < 0.5 for one in found]) == pytest.approx(0.5, abs=0.25)
    assert found[0].stable_rank == pytest.approx(found[0].ranks_of_noise[0].mean, rel=0.2)
    structured = ps.read_head(*rng.standard_normal((2, 48, 96)) ** 3 + 0.8)
    assert structured.verdict == "cannot tell"
    assert "wider (96) than its input (48)" in structured.sentence


def test_dead_heads_do_not_end_a_file():
    """A layer whose weights have decayed to 1e-25 stands beside one that has not."""
    rng = np.random.default_rng(4)
    names = [f"encoder.layer.{n}.attention.self.{one}.weight" for n in range(2) for one in ("query", "key")]
    weights = {name: rng.standard_normal((64, 80)) * (1e-25 if "layer.1" in name else 1.0) for name in names}
    report = ps.read_weights(weights, heads=2)
    assert [one.verdict for one in report.every_head] == ["random"] * 4
    assert all(len(one.measured.flips) == 19 for one in report.every_head)


def test_a_head_of_zeros():
    one = ps.read_head(np.zeros((60, 24)), np.ones((60, 24)))
    assert one.verdict == "too few values"
    assert one.tail is None
    assert one.at_least is None


def test_a_tied_head_has_no_null_of_two_factors():
    rng = np.random.default_rng(5)
    assert ps.read_head(rng.standard_normal((60, 24)), flips=0).null is None
    null = ps.read_head(*noise(24, 60, rng), flips=0).null
    assert null == ps.HeadNull(24, 60)


def test_an_orthogonal_head_is_no_noise():
    frame = np.linalg.qr(np.random.default_rng(6).standard_normal((48, 48)))[0]
    for factors in ((np.eye(48), np.eye(48)), (frame, frame)):
        assert ps.read_head(*factors).verdict == "no noise bulk"
