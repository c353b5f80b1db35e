"""What the caption of the figure on tuned widths claims, read from the data that ships; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, scaling_width
from presage.figures.catalogue import Parts

ERROR = "estimation_error"


@functools.cache
def shipped() -> Parts:
    return catalogue.load("scaling-width")


def test_it_is_drawn_and_its_details_say_how_it_was_made():
    parts = shipped()
    file = io.BytesIO()
    figure = scaling_width.draw(parts)
    figure.savefig(file, format="png", dpi=50)
    assert file.getvalue().startswith(b"\x89PNG")
    assert len(figure.axes) == 2
    details = scaling_width.details(parts)
    assert f"{int(parts['trained'].seeds)} data sets of d = {int(parts['trained'].d)}" in details
    for part in parts.values():
        assert not [words for words in part["outcome"].values.ravel() if str(words).startswith("failed")]


def test_a_few_units_do_better_than_a_wide_network_at_its_best_weight_decay():
    best = shipped()["best"]
    assert bool((best[ERROR] < best["tuned_error"]).all())
    assert bool((best["both_error"] <= best[ERROR] * (1 + 1e-9)).all())
    assert bool((best["bayes_error"] < best["both_error"]).all())
    assert bool((best["best_width"] <= 6).all())


def test_best_widths_are_where_the_lines_are_lowest():
    parts = shipped()
    for strength in parts["best"].weight_decay.values:
        line, here = parts["theory"][ERROR].sel(weight_decay=strength), parts["best"].sel(weight_decay=strength)
        lowest = line.isel(kappa=int(np.argmin(line.values)))
        assert round(float(lowest.kappa) * scaling_width.D) == int(here["best_width"])
        assert float(lowest) == pytest.approx(float(here[ERROR]), rel=1e-7)
        assert float(line[-1]) == pytest.approx(float(here["wide_error"]), rel=1e-7)


def test_weak_weight_decay_passes_a_peak():
    line = shipped()["theory"][ERROR].isel(weight_decay=0)
    assert float(line.max()) > 1.3 * float(line[-1])


def test_networks_are_as_predicted():
    """Up to what the details say: a part of order 1/d, narrow and wide networks alike, as n/d = 24 is not large."""
    parts = shipped()
    away = scaling_width.departures(parts)
    assert np.abs(away).max() < 20.0 / scaling_width.D
    assert f"{np.median(np.abs(away)):.0%} in the median, {np.abs(away).max():.0%} at most" in scaling_width.details(
        parts
    )
    trained = parts["trained"][ERROR]
    units = np.round(trained.kappa.values * scaling_width.D).astype(int)
    for k, strength in enumerate(trained.weight_decay.values):
        assert units[int(np.argmin(trained.values[k]))] == int(parts["best"]["best_width"].sel(weight_decay=strength))
    assert units[int(np.argmax(trained.values[0]))] == 23  # the peak
    wide = trained.values[:, units >= 60]
    assert wide[:, 0] == pytest.approx(wide[:, 1], rel=1e-3)  # nothing changes there
    # Control: without the truncation a narrow network would have the error of a wide one.
    assert (parts["best"]["wide_error"].values[:2] > 2.5 * trained.values[:2, units == 3].ravel()).all()


def test_ratios_are_near_their_limits():
    table = shipped()["ratios"]
    ratio = {kind: (table[name] / table["bayes_error"]).values for kind, name in scaling_width.KINDS.items()}
    middle = len(table.alpha) // 2
    for kind, limit in scaling_width.LIMITS.items():
        assert ratio[kind][middle] == pytest.approx(limit, rel=0.15), kind
    assert bool((ratio["both"] < ratio["weight_decay"]).all())
    assert bool((ratio["both"] <= ratio["width"] * (1 + 1e-9)).all())


def test_a_cell_computed_again_is_the_same():
    parts = shipped()
    problem = scaling_width.PROBLEM.replace(kappa=9 / scaling_width.D, weight_decay=0.02)
    again = scaling_width.predicted(problem).estimation_error
    held = parts["theory"][ERROR].sel(weight_decay=0.02).sel(kappa=9 / scaling_width.D, method="nearest")
    assert float(held) == pytest.approx(again, rel=1e-7)
    best = ps.best_width(scaling_width.PROBLEM.replace(weight_decay=0.5))
    assert best.both_error == pytest.approx(float(parts["best"]["both_error"].sel(weight_decay=0.5)), rel=1e-7)
