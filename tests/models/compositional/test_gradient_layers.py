"""A three-layer network trained by gradients, layer by layer."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.compositional.experiment import gradient_layers as module
from presage.protocol import extras


def test_both_layers_learn_with_more_samples():
    pytest.importorskip("torch", reason="networks are trained by torch")
    found = ps.gradient_layers(d=16, exponents=(1.2, 2.8), inner=2, seeds=2, widths=(32, 16), steps=(15, 150))
    assert found.n.tolist() == [round(16**1.2), round(16**2.8)]
    assert found.first_overlap[0] < 0.75
    assert found.first_overlap[1] > 0.9
    assert found.second_overlap[1] > found.second_overlap[0] + 0.1
    assert found.test_error[1] < 0.8 * found.test_error[0]
    assert "three-layer networks of d = 16 on 2 branches of 2 directions" in str(found)


def test_overlap_of_chance_without_steps():
    """A negative control: rows that take no step have the part d_eff k/d of a random direction in the space."""
    pytest.importorskip("torch", reason="networks are trained by torch")
    found = ps.gradient_layers(d=20, exponents=(1.0,), inner=2, seeds=4, widths=(200, 4), steps=(0, 1))
    assert found.first_overlap[0] == pytest.approx(4 / 20, abs=0.03)


def test_the_branches_have_unit_variance():
    rng = np.random.default_rng(0)
    Q = module._target(30, 2, 5, rng)
    signs = rng.choice([-1.0, 1.0], 10)
    h = module._branches(rng.standard_normal((200_000, 30)), Q, signs, 2)
    assert h.mean(axis=0) == pytest.approx([0.0, 0.0], abs=0.01)
    assert np.cov(h.T) == pytest.approx(np.eye(2), abs=0.03)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"d": 2}, "`d` must be a whole number >= 4"),
        (
            {"d": 10, "branches": 4, "inner": 3},
            "`branches` must fit the inputs: 4 branches see 12 orthogonal directions",
        ),
        ({"d": 10, "exponents": (0.1,)}, "`exponents` must be a finite number > 0.5"),
        ({"d": 10, "exponents": ()}, "`exponents` must be numbers, at least one: there are n = d"),
        ({"d": 10, "exponents": 2.0}, "`exponents` must be numbers, at least one"),
        ({"d": 1000, "exponents": (6.0,)}, "`exponents` must leave room for the samples of a layer: 1000000"),
        ({"d": 10, "inner": 0}, "`inner` must be a whole number >= 1"),
        ({"d": 10, "widths": 64}, "`widths` must be two whole numbers: they are those of the first and the second"),
        ({"d": 10, "widths": (64, 0)}, "`widths` must be a whole number >= 1"),
        ({"d": 10, "steps": (20,)}, "`steps` must be two whole numbers"),
        ({"d": 10, "steps": (20, -1)}, "`steps` must be a whole number >= 0"),
    ],
)
def test_bad_input_is_said_in_words(options, text):
    with pytest.raises(ps.InputError, match=text):
        ps.gradient_layers(**options)


def test_a_missing_extra_is_said(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(
        ps.InputError, match=r"networks are trained by torch, which is not there.*Run: pip install torch"
    ):
        ps.gradient_layers(d=10)
