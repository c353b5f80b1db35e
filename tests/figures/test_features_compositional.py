"""What the caption of the figure on features one by one claims, read from the data; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, features_compositional
from presage.figures.catalogue import Parts


@functools.cache
def shipped() -> Parts:
    return catalogue.read(catalogue.shipped("features-compositional"))


def test_it_is_drawn_and_its_details_say_how_it_was_made():
    parts = shipped()
    figure = features_compositional.draw(parts)
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    assert len(figure.axes) == 2
    networks = parts["networks"]
    assert f"{int(networks.seeds)} networks of d = {int(networks.d)}" in features_compositional.details(parts)
    for part in parts.values():
        assert not [words for words in part["outcome"].values.ravel() if str(words) != "done"]


def test_features_are_learned_one_after_the_other():
    """Overlaps are zero below a threshold, grow above it, and keep their order but for labels of one sign."""
    for feature in range(features_compositional.FEATURES):
        values = features_compositional._of(shipped()["theory"], "overlaps", feature)
        assert values[0] == 0.0
        assert np.all(np.diff(values) >= -1e-9)
        assert values[-1] > 0.95


def test_networks_of_gaussian_coordinates_are_on_the_lines():
    """Away from thresholds, n/D of at least 12: within four standard errors and 0.02 of a finite D."""
    networks = shipped()["networks"]
    late = networks.alpha.values >= 12.0
    for feature in range(features_compositional.FEATURES):
        line = [
            ps.solve(features_compositional.PROBLEM.replace(alpha=float(a))).overlaps[feature] for a in networks.alpha
        ]
        away = np.abs(features_compositional._of(networks, "overlaps", feature) - line)
        room = 4 * features_compositional._of(networks, "overlaps_bar", feature) + 0.02
        assert np.all(away[late] < room[late]), feature


def test_outliers_are_beside_the_bulk_where_they_are_predicted():
    theory, measured = (shipped()[name].isel(alpha=0) for name in ("spectrum", "eigenvalues"))
    predicted = np.sort(theory["outliers"].values)
    assert np.abs(predicted).min() > theory["x"].values.max() * 0.98
    assert measured["outliers"].values == pytest.approx(predicted, abs=0.03)
    assert np.sum(measured["height"].values) * float(measured["width"]) == pytest.approx(1.0, abs=0.02)


def test_a_cell_of_each_part_is_computed_again():
    rng = np.random.default_rng(0)
    theory, networks = shipped()["theory"], shipped()["networks"]
    at = int(rng.integers(theory.sizes["alpha"]))
    again = features_compositional.overlaps(features_compositional.PROBLEM.replace(alpha=float(theory.alpha[at])))
    for feature in range(features_compositional.FEATURES):
        known = features_compositional._of(theory, "overlaps", feature)[at]
        assert again["overlaps"][feature] == pytest.approx(known, abs=1e-9)
    problem = features_compositional.PROBLEM.replace(alpha=float(networks.alpha[1]))
    size = {"d": int(networks.d), "seeds": int(networks.seeds)}
    measured = features_compositional.measured_overlaps(problem, **size, processes=1)
    for feature in range(features_compositional.FEATURES):
        known = features_compositional._of(networks, "overlaps", feature)[1]
        assert measured["overlaps"][feature] == pytest.approx(known, abs=1e-3)


def test_every_problem_can_be_solved():
    for words, problem in features_compositional.problems().items():
        assert ps.solve(problem).test_error < 1.0, words
