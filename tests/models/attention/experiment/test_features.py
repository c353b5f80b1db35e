"""What networks learn along the eigenvectors of their targets, measured of the matrices themselves."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.attention.experiment import setting as training
from presage.models.attention.experiment.data import target_and_frame

LAW = ps.PowerLaw(1.25, 12)
NETWORK = ps.quadratic_network(LAW, alpha=2.0, weight_decay=0.1, noise=0.5)


@cache
def trained(*keep: str, target: ps.SpectralLaw = LAW) -> Any:
    problem = NETWORK.replace(target=target)
    return ps.simulate(problem, d=12, seeds=3, processes=1, n_test=50, keep=keep)


@pytest.mark.parametrize("target", [LAW, ps.MarchenkoPastur(0.5), ps.PointMasses([-1.0, 0.0, 2.0])])
@pytest.mark.parametrize("scale", [1.0, 0.7])
@pytest.mark.parametrize(("split", "threshold"), [(0.0, 0.1), (0.5, 1.0), (-1.0, 5.0), (100.0, -9.0)])
def test_parts_sum_to_the_error_at_any_cut(target, scale, split, threshold):
    networks = trained("weights", "features", target=target)
    parts = networks.parts(split=split, threshold=threshold, scale=scale)
    error = np.sum((networks.weights / scale - networks.targets) ** 2, axis=(1, 2)) / 12
    assert sum(parts) == pytest.approx(error, rel=1e-10)
    if scale == 1.0:
        assert error == pytest.approx(networks.estimation_error, rel=1e-12)


def test_overfitting_is_what_deleting_the_bulk_gains():
    networks = trained("weights", "features")
    split = 0.5
    parts = networks.parts(split=split, threshold=1.0)
    for S, S_0, gain in zip(networks.weights, networks.targets, parts.overfitting, strict=True):
        f, w = np.linalg.eigh(S)
        without = (w * np.where(f <= split, 0.0, f)) @ w.T
        deleted = np.sum((S - S_0) ** 2) - np.sum((without - S_0) ** 2)
        assert gain == pytest.approx(deleted / 12, rel=1e-9)
        assert gain != pytest.approx((np.sum(S**2) - np.sum(without**2)) / 12, rel=1e-2)


def test_features_are_those_of_the_matrices():
    networks = trained("weights", "features")
    along, error = networks.feature_values(scale=0.9)
    for k, (S, S_0) in enumerate(zip(networks.weights, networks.targets, strict=True)):
        s, v = np.linalg.eigh(S_0)
        s, v = s[::-1], v[:, ::-1]
        assert networks.features[k, 0] == pytest.approx(s, rel=1e-10)
        assert along[k] == pytest.approx(np.diag(v.T @ S @ v), abs=1e-9)
        assert error[k] == pytest.approx(np.sum((S @ v / 0.9 - s * v) ** 2, axis=0), abs=1e-9)
    assert np.mean(networks.feature_values()[1], axis=1) == pytest.approx(networks.estimation_error, rel=1e-10)


def test_kept_weights_have_the_features_too():
    kept, weights = trained("features"), trained("weights")
    at = {"split": 0.4, "threshold": 0.5}
    for one, other in zip(kept.parts(**at), weights.parts(**at), strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
    assert kept.feature_values()[0] == pytest.approx(weights.feature_values()[0], abs=1e-9)


def test_nothing_is_measured_along_features_unless_it_is_asked_for(monkeypatch):
    """Eigenvectors take as long as several eigenvalue problems: a run that keeps nothing computes none."""
    kept = trained("features")

    def fail(*_: object) -> None:
        raise AssertionError("eigenvectors were computed")

    monkeypatch.setattr(training, "features", fail)
    monkeypatch.setattr(training, "directions", fail)
    plain = ps.simulate(NETWORK, d=12, seeds=3, processes=1, n_test=50)
    assert plain.features is plain.directions is None
    assert not plain.has_features
    for observable in plain.measured:
        assert np.array_equal(getattr(plain, observable.name), getattr(kept, observable.name))
    assert np.array_equal(plain.eigenvalues, kept.eigenvalues)
    with pytest.raises(ps.InputError, match=r'`networks` must have kept their features: .* Train with keep="features"'):
        plain.parts(split=0.1, threshold=0.1)


def test_the_frame_of_a_target_is_that_it_was_drawn_by():
    S_0, frame = target_and_frame(LAW, 12, np.random.default_rng(3))
    assert frame is not None
    assert (frame.vectors * frame.values) @ frame.vectors.T == pytest.approx(S_0, abs=1e-14)
    assert np.all(np.diff(frame.values) < 0.0)
    assert target_and_frame(ps.MarchenkoPastur(0.5), 12, np.random.default_rng(3))[1] is None


def test_features_survive_a_file(tmp_path):
    kept = trained("features")
    kept.save(tmp_path / "networks.json")
    again = ps.load(tmp_path / "networks.json")
    assert np.array_equal(again.features, kept.features)
    assert np.array_equal(again.directions, kept.directions)


def test_a_failed_seed_has_no_parts():
    networks = trained("features")
    failed = replace(networks, failures={1: "lost"})
    assert len(failed.parts(split=0.1, threshold=0.1).overfitting) == 2
