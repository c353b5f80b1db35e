"""What the captions of the figures on multi-index targets claim, read from the data; some of it computed again."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, features_risk, features_sensitivity, features_staircase
from presage.figures.catalogue import Parts

FIGURES: dict[str, Any] = {
    "features-staircase": features_staircase,
    "features-risk": features_risk,
    "features-sensitivity": features_sensitivity,
}


@functools.cache
def shipped(name: str) -> Parts:
    return catalogue.read(catalogue.shipped(name))


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_drawn_and_its_details_say_how_it_was_made(name):
    parts, module = shipped(name), FIGURES[name]
    figure = module.draw(parts)
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    assert len(figure.axes) == 2
    trained = parts["trained"]
    assert f"{int(trained.seeds)} data sets of d = {int(trained.d)}" in module.details(parts)
    for part in parts.values():
        assert not [words for words in part["outcome"].values.ravel() if str(words) != "done"]


# Staircase


def test_overlaps_of_matrices_are_on_the_curves():
    """Away from thresholds, where a curve is above .5: within .05 of it."""
    parts = shipped("features-staircase")
    mean, _ = features_staircase.measured(parts)
    count = 0
    for row, alpha in enumerate(parts["trained"].alpha.values):
        curve = ps.solve(features_staircase.PROBLEM.replace(alpha=float(alpha))).overlaps
        clear = curve > 0.5
        assert mean[row][clear] == pytest.approx(curve[clear], abs=0.05)
        assert mean[row][curve == 0.0] == pytest.approx(0.0, abs=0.15)
        count += int(clear.sum())
    assert count > 25


def test_steps_of_the_staircase_are_where_overlaps_begin():
    parts = shipped("features-staircase")
    theory, steps = parts["theory"], parts["possible"]["alpha_of_last"].values
    assert (np.diff(steps) > 0.0).all()
    for k, step in enumerate(steps, 1):
        overlap, alpha = theory[f"overlap_{k}"].values, theory.alpha.values
        assert (overlap[alpha < step] == 0.0).all()
        assert (overlap[alpha > step] > 0.0).all()
    assert (parts["possible"]["best_of_last"].values < steps).all()


# Risk


def test_estimators_have_the_risk_that_is_predicted():
    """Within 15 %, the error of the readout included, where features are not mostly at their threshold."""
    parts = shipped("features-risk")
    trained = parts["trained"]
    for decay in features_risk.DECAYS:
        for alpha in trained.alpha.values[1:]:
            problem = features_risk.PROBLEM.replace(decay=decay, alpha=float(alpha))
            found = float(trained["excess_risk"].sel(decay=decay, alpha=alpha))
            assert found == pytest.approx(ps.solve(problem).excess_risk, rel=0.15), (decay, alpha)


def test_slopes_are_those_of_the_law():
    """Over the last two decades within .05: .05 of the exponent itself, not a part of it."""
    parts = shipped("features-risk")
    for decay in features_risk.DECAYS:
        table = parts["many"].sel(decay=decay)
        assert features_risk.fitted(table) == pytest.approx(-(1.0 - 1.0 / (2.0 * decay)), abs=0.05)
        assert float(table["law"][-1] / table["risk"][-1]) == pytest.approx(1.0, abs=0.1)
    assert features_risk.fitted(parts["squares"]) == pytest.approx(-0.25, abs=0.05)


# Sensitivity


def test_thresholds_of_weak_signals_are_the_formula():
    parts = shipped("features-sensitivity")
    for name, link, _, _ in features_sensitivity.LINKS:
        table = parts[name]
        ratio = table["exact"].values / table["formula"].values
        assert ratio[0] == pytest.approx(1.0, abs=6e-4)
        assert np.abs(ratio[-1] - 1.0) > 0.1  # strong signals are not weak: a control
        slope = np.polyfit(np.log(table.signal.values[:20]), np.log(table["exact"].values[:20]), 1)[0]
        assert slope == pytest.approx(-ps.noise_sensitivity(link).exponent, abs=0.02)


def test_estimators_see_the_feature_above_the_threshold_only():
    parts = shipped("features-sensitivity")
    trained, theory = parts["trained"], parts["theory"]
    for second in trained.second.values:
        for ratio in trained.ratio.values:
            found = float(trained["overlap"].sel(second=second, ratio=ratio))
            curve = float(np.interp(ratio, theory.ratio.values, theory["overlap"].sel(second=second).values))
            if ratio < 1.0:
                assert found < 0.1
            elif curve > 0.45:
                assert found == pytest.approx(curve, abs=0.06)


@pytest.mark.parametrize(("name", "part"), [("features-staircase", "theory"), ("features-sensitivity", "balanced")])
def test_a_cell_computed_again_is_the_same(name, part):
    module, table = FIGURES[name], shipped(name)[part]
    if part == "theory":
        cell = table.isel(alpha=70)
        again = module.overlaps(module.PROBLEM.replace(alpha=float(cell.alpha)))
    else:
        cell = table.isel(signal=30)
        again = module.both(module.PROBLEM.replace(signal=float(cell.signal)))
    for name_of_number, value in again.items():
        assert float(cell[name_of_number]) == pytest.approx(value, rel=1e-6, abs=1e-9)
