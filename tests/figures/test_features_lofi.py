"""What the figures on selected features show, read from the data that ships; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, features_depth, features_emergence, features_gradient
from presage.figures.catalogue import Parts

FIGURES = {
    "features-emergence": features_emergence,
    "features-depth": features_depth,
    "features-gradient": features_gradient,
}


@functools.cache
def shipped(name: str) -> Parts:
    return catalogue.load(name)


@pytest.mark.parametrize("name", FIGURES)
def test_they_are_drawn(name):
    parts = shipped(name)
    figure = FIGURES[name].draw(parts)
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    for part in parts.values():
        assert {str(words) for words in part["outcome"].values.ravel()} == {"done"}
    assert FIGURES[name].caption(parts)
    assert "draws" in FIGURES[name].details(parts) or "two standard errors" in FIGURES[name].details(parts)
    assert len(FIGURES[name].problems()) >= 2


def test_dots_lie_on_their_lines_away_from_the_thresholds():
    seen = shipped("features-emergence")["selections"]
    for feature in range(3):
        values, bars = (features_emergence._of(seen, f"overlaps{end}", feature) for end in ("", "_bar"))
        for alpha, value, bar in zip(seen.alpha.values, values, bars, strict=True):
            if alpha >= 5.0:
                line = ps.solve(features_emergence.PROBLEM.replace(alpha=float(alpha))).overlaps[feature]
                assert value == pytest.approx(line, abs=4 * bar + 0.015)
    weak, sharp = (features_emergence._of(shipped("features-emergence")["theory"], n, 0) for n in ("weak", "overlaps"))
    assert np.max(weak - sharp) > 0.15  # the formula of weak features is too good


def test_edges_of_shuffled_labels_are_those_of_the_bulk():
    seen = shipped("features-emergence")["selections"]
    for side in (0, 1):
        values = features_emergence._of(seen, "edges", side)
        for alpha, value in zip(seen.alpha.values, values, strict=True):
            found = ps.solve(features_emergence.PROBLEM.replace(alpha=float(alpha)))
            assert value == pytest.approx((found.lower_edge, found.upper_edge)[side], rel=0.06)


def test_a_second_layer_gains_late_and_overlaps_follow_the_theory():
    seen = shipped("features-depth")["learners"]
    assert np.all(seen["lazy"].values > 0.98)
    late = seen.isel(alpha=-1)
    assert float(late["two_layers"]) < 0.6 * float(late["one_layer"])
    assert float(seen.isel(alpha=1)["two_layers"]) > float(seen.isel(alpha=1)["one_layer"])
    for alpha in seen.alpha.values[1:]:
        theory, dot = ps.solve(features_depth.PROBLEM.replace(alpha=float(alpha))), seen.sel(alpha=alpha)
        assert float(dot["overlap"]) == pytest.approx(theory.mean_overlap, abs=4 * float(dot["overlap_bar"]) + 0.02)
        assert float(dot["two_layers"]) > theory.floor - 0.03


def test_gradient_descent_is_there_before_its_loss_moves():
    units, networks = shipped("features-gradient")["units"], shipped("features-gradient")["networks"]
    steps = features_gradient._rows(units, "step")[0]
    aligned, residual = (features_gradient._rows(units, name).mean(axis=0) for name in ("alignment", "residual"))
    at = int(np.flatnonzero(steps == 50.0)[0])
    assert aligned[at] > 0.9
    assert residual[at] > 0.98
    assert aligned[-1] < 0.6
    selected, others = (features_gradient._rows(networks, name)[:, -1] for name in ("selected", "unselected"))
    assert np.all(selected > 25.0 * others)


def test_a_cell_is_computed_again():
    theory = shipped("features-emergence")["theory"].isel(alpha=40)
    again = features_emergence.predicted(features_emergence.PROBLEM.replace(alpha=float(theory.alpha)))
    for name in ("overlaps", "weak", "eigenvalues", "edges"):
        assert again[name] == pytest.approx(theory[name].values, rel=1e-7, abs=1e-9)
    line = shipped("features-depth")["theory"].isel(alpha=30)
    found = ps.solve(features_depth.PROBLEM.replace(alpha=float(line.alpha)))
    assert float(line["floor"]) == pytest.approx(found.floor, rel=1e-6)
