"""What networks show only if they kept enough of themselves, beside the prediction."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import presage as ps
from presage.protocol.feature_comparison import Beside

PARTS = ("overfitting", "not_learned", "approximation")
NETWORK = ps.quadratic_network(ps.PowerLaw(1.25, 16), alpha=4.0, weight_decay=0.5, noise=0.5)


@cache
def prediction() -> ps.Solution:
    return ps.solve(NETWORK)


@cache
def networks(d: int = 16, seeds: int = 4, **options: str) -> ps.Networks:
    return ps.simulate(NETWORK, d=d, seeds=seeds, processes=1, n_test=50, **options)


def test_parts_are_compared_where_they_were_kept():
    found = ps.compare(prediction(), networks(keep="features"))
    assert [row.name for row in found.rows][-3:] == list(PARTS)
    for name in PARTS:
        assert found[name].prediction == getattr(prediction().decomposition, name)
    whole = sum(found[name].a for name in PARTS)
    assert whole == pytest.approx(found["estimation_error"].a, rel=1e-9)
    assert "approximation: predicted" in str(found)
    assert found.to_dataframe().loc["overfitting", "z"] == found["overfitting"].z
    assert {row["name"] for row in found.as_dict()["rows"]} >= {*PARTS}
    assert "overfitting" in found._repr_html_()


def test_parts_of_kept_weights_are_compared_too():
    by_features, by_weights = (ps.compare(prediction(), networks(keep=word)) for word in ("features", "weights"))
    assert by_weights["overfitting"].a == pytest.approx(by_features["overfitting"].a, rel=1e-8)


def test_nothing_is_compared_that_was_not_kept():
    found = ps.compare(prediction(), networks())
    assert [row.name for row in found.rows] == list(prediction().compared)
    with pytest.raises(ps.InputError, match=r'have kept the features of their targets: .*own d with keep="features"'):
        _ = found.features


def test_parts_that_some_networks_lack_are_told_of():
    found = ps.compare(prediction(), networks(keep="features"), networks(d=20))
    assert not {row.name for row in found.rows} & {*PARTS}
    assert any("overfitting is left out: not all of the networks" in line for line in found.caveats)


def test_features_are_compared_one_by_one():
    found = ps.compare(prediction(), networks(keep="features"), networks(d=20, keep="features")).features
    assert found.d == 16  # those of d = 20 have eigenvalues of their own
    assert found.column("F_predicted") == pytest.approx(prediction().features.F)
    along = networks(keep="features").feature_values()[0]
    assert found.column("F_trained") == pytest.approx(along.mean(axis=0))
    assert found.column("F_z")[0] == pytest.approx(
        (along[:, 0].mean() - prediction().features.F[0]) / (along[:, 0].std(ddof=1) / 2.0)
    )
    assert list(found.to_dataframe().columns)[:4] == ["F_predicted", "F_trained", "F_error", "F_z"]
    assert str(found).startswith("16 features of 4 networks of d = 16 beside the prediction")


def test_features_of_ensembles_of_one_size_are_one_mean():
    others = ps.simulate(NETWORK, d=16, seeds=[7, 8], processes=1, n_test=50, keep="features")
    both = ps.compare(prediction(), networks(keep="features"), others)
    assert both.features.networks == 6


def test_eigenvalues_that_repeat_are_one_feature():
    law = ps.PointMasses([0.0, 0.0, 1.0, 3.0])
    problem = NETWORK.replace(target=law)
    trained = ps.simulate(problem, d=16, seeds=3, processes=1, n_test=50, keep="features")
    found = ps.compare(ps.solve(problem), trained).features
    assert len(found) == 3
    assert found.column("F_trained")[0] == pytest.approx(trained.features[:, 1, :4].mean())


def test_a_prediction_has_no_counterparts_by_default():
    diagonal = ps.diagonal_network(ps.PointMasses([0.0, 1.0], [0.8, 0.2]), alpha=1.0, weight_decay=0.1, noise=0.5)
    found = ps.solve(diagonal)
    assert found.counterparts == ()
    assert found.features_beside(None) is None
    ridge = ps.solve(ps.unfactorized_attention(ps.PowerLaw(1.25, 16), alpha=0.5, ridge=0.1))
    assert ridge.counterparts == ()


def test_means_and_errors_of_a_table():
    rng = np.random.default_rng(0)
    values = rng.normal(2.0, 0.5, (400, 3))
    found = ps.FeatureComparison.of(3, {"F": Beside("what is learned", np.full(3, 2.0), values)})
    assert found.column("F_error") == pytest.approx(0.5 / 20, rel=0.15)
    assert np.abs(found.z).max() < 4.0
