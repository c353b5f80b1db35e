"""What the caption of the figure on the parts of the error claims, read from the data; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, scaling_decomposition
from presage.figures.catalogue import Parts

NAMES = scaling_decomposition.NAMES


@functools.cache
def shipped() -> Parts:
    return catalogue.load("scaling-decomposition")


def test_it_is_drawn_and_its_details_say_how_it_was_made():
    parts = shipped()
    figure = scaling_decomposition.draw(parts)
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    assert len(figure.axes) == 2
    assert f"{int(parts['trained'].seeds)} data sets of d = {int(parts['trained'].d)}" in scaling_decomposition.details(
        parts
    )
    for part in parts.values():
        assert not [words for words in part["outcome"].values.ravel() if str(words) != "done"]


@pytest.mark.parametrize("part", ["theory", "trained"])
def test_the_parts_sum_to_the_error(part):
    table = shipped()[part]
    assert np.sum([table[name].values for name in NAMES], axis=0) == pytest.approx(table["error"].values, rel=1e-9)


def test_networks_have_the_parts_that_are_predicted():
    """The error within 5 %, as all dots have n/d >= 40; the parts, which a cut divides, within 10 % of it."""
    away = scaling_decomposition.departures(shipped())
    assert (scaling_decomposition.D * shipped()["trained"].alpha.values >= 39.999).all()
    assert np.abs(away["error"]).max() < 0.05
    for name in ("overfitting", "approximation"):
        assert np.abs(away[name]).max() < 0.1, name
        assert np.abs(away[name][1:]).max() < 0.05, name  # but for the dot next to the peak
    assert np.abs(away["not_learned"]).max() < 1e-9
    # Control: at many samples the parts are far from each other, so that one taken for another would be seen.
    theory = shipped()["theory"].sel(alpha=shipped()["trained"].alpha, method="nearest")
    assert (np.abs(theory["overfitting"] - theory["approximation"]) / theory["error"]).max() > 0.5


def test_the_peak_is_fitted_noise():
    theory = shipped()["theory"]
    peak = theory.sel(alpha=scaling_decomposition._peak(shipped()) / scaling_decomposition.D, method="nearest")
    assert float(peak["overfitting"]) > 0.5 * float(peak["error"])
    assert float(peak["error"]) == pytest.approx(float(theory["error"].max()))


def test_overfitting_is_negative_beyond_and_its_caveat_is_printed():
    theory = shipped()["theory"]
    late = scaling_decomposition.D * theory.alpha > 700.0
    assert bool((theory["overfitting"].where(late, -1.0) < 0.0).all())
    last = shipped()["trained"].isel(alpha=-1)
    there = theory.sel(alpha=last.alpha, method="nearest")
    assert float(last["overfitting"]) < -3.0 * float(last["overfitting_bar"])
    assert float(last["overfitting"]) == pytest.approx(float(there["overfitting"]), rel=0.3)
    words = [str(word) for word in theory["caveats"].values.ravel()]
    assert all(
        ("overfitting is negative" in word) == bool(x < 0) for word, x in zip(words, theory["overfitting"], strict=True)
    )


def test_features_are_forgotten_and_learned_again_where_weight_decay_is_weak():
    lost = {}
    for strength in shipped()["stairs"].weight_decay.values:
        here = shipped()["stairs"].sel(weight_decay=strength)
        lost[float(strength)] = {int(k) for k in here["feature"].values[here["step"].values < 0.0]}
    assert lost == {1e-4: set(range(4, 11)), 1e-2: {9, 10}, 1.0: set()}
    at, count = scaling_decomposition._lowest(shipped()["stairs"].sel(weight_decay=1e-4))
    assert count == 3
    assert at == pytest.approx(252.0, rel=0.02)


def test_cells_computed_again_are_as_shipped():
    theory = shipped()["theory"]
    for k in (3, 40, 80):
        cell = theory.isel(alpha=k)
        found = ps.solve(scaling_decomposition.PROBLEM.replace(alpha=float(cell.alpha))).decomposition
        for name in NAMES:
            assert getattr(found, name) == pytest.approx(float(cell[name]), rel=1e-6, abs=1e-12)
    again = scaling_decomposition.staircase(scaling_decomposition.STAIRS.replace(weight_decay=1e-2))
    held = shipped()["stairs"].sel(weight_decay=1e-2)
    assert again["at"] == pytest.approx(held["at"].values[: len(again["at"])], rel=1e-6)
