"""What the best readout leaves, and how well quadratic functions of features are known."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.lofi.experiment.simulate import Known, best_readout_error, second_level_r2
from presage.models.lofi.theory.floor import deep_overlap, floor

THREE = ps.SquaresLink([1.0, -0.7, 0.5])


def test_floor_of_nested_labels():
    for overlap, seen in ((0.954, 0.185), (0.892, 0.368)):
        value, bar = floor(ps.NestedLink(), np.full(8, overlap))
        assert value == pytest.approx(seen, abs=2e-3)
        assert bar < 4e-3


@pytest.mark.parametrize("link", [THREE, ps.NestedLink(2), ps.SquaresLink([1.0])])
def test_floor_is_one_without_features_and_zero_with_all(link):
    assert floor(link, np.zeros(link.features)) == (1.0, 0.0)
    assert floor(link, np.ones(link.features))[0] == pytest.approx(0.0, abs=1e-12)
    assert floor(link, np.full(link.features, 1e-3))[0] == pytest.approx(1.0, abs=0.02)
    some = [floor(link, np.full(link.features, c))[0] for c in (0.3, 0.6, 0.9)]
    assert some == sorted(some, reverse=True)


def test_floor_of_a_square_is_known_in_closed_form():
    """y = (h^2 - 1)/sqrt(2) up to a bound that hardly any sample passes: the floor is 1 - c^2."""
    for c in (0.3, 0.8):
        value, bar = floor(ps.OwnFeatureLink(hardly_bounded, 1), np.array([c]))
        assert value == pytest.approx(1.0 - c**2, abs=bar + 2e-3)


def hardly_bounded(h):
    return np.clip((h[:, 0] ** 2 - 1.0) / np.sqrt(2.0), -40.0, 40.0)


def test_squares_of_features_are_known_to_the_square_of_their_overlap():
    """By hand, from features with noise of their own, in a regression on products."""
    c = np.array([0.9, 0.6, 0.3])
    rng = np.random.default_rng(0)
    s = rng.standard_normal((200_000, 3))
    h = np.sqrt(c) * s + np.sqrt(1.0 - c) * rng.standard_normal(s.shape)
    r2 = [np.corrcoef(h[:, k] ** 2, s[:, k] ** 2)[0, 1] ** 2 for k in range(3)]
    assert deep_overlap(THREE, c) == pytest.approx(np.mean(r2), abs=5e-3)
    nested = deep_overlap(ps.NestedLink(2), np.array([0.9, 0.6, 0.5, 0.5]))
    assert nested == pytest.approx(np.mean([(0.9**2 + 0.6**2) / 2, 0.25]), rel=1e-12)


def test_experiment_and_theory_have_the_same_floor():
    """Directions at known angles to the features, which the experiment measures by draws of its own."""
    c, d = np.array([0.8, 0.5, 0.2]), 10
    A = np.eye(d, 3)
    V = np.zeros((d, 3))
    V[:3], V[3:6] = np.diag(np.sqrt(c)), np.diag(np.sqrt(1.0 - c))
    known, rng = Known.of(A, V), np.random.default_rng(3)
    assert known.overlaps == pytest.approx(c, rel=1e-12)
    value, bar = floor(THREE, c)
    assert best_readout_error(THREE, known, 400_000, rng) == pytest.approx(value, abs=bar + 5e-3)
    assert second_level_r2(THREE, known) == pytest.approx(deep_overlap(THREE, c), rel=1e-9)
