"""Pictures, notebooks and files of results that are tables."""

from __future__ import annotations

from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import presage as ps

mpl.use("Agg")

LAW = ps.PowerLaw(1.25, 40)
NETWORK = ps.quadratic_network(LAW, alpha=0.3, weight_decay=1e-3, noise=0.5)


@cache
def tables() -> dict[str, Any]:
    found = ps.solve(NETWORK)
    networks = ps.simulate(NETWORK, d=40, seeds=3, processes=1, n_test=50, keep="features")
    return {
        "recovery": ps.recovery(NETWORK),
        "features": found.features,
        "compared": ps.compare(found, networks).features,
        "parts": found.decomposition,
    }


def drawn(result: Any, **options: Any) -> Any:
    import matplotlib.pyplot as plt

    axes = ps.plot(result, **options)
    plt.close("all")
    return axes


def test_recovery_is_drawn_as_intervals_and_as_a_staircase():
    recovery = tables()["recovery"]
    by_feature, by_number = drawn(recovery)
    assert by_feature.get_xscale() == "log"
    assert by_feature.get_xlabel() == "samples n at d = 40"
    segments = by_feature.collections[0].get_segments()
    assert len(segments) == np.count_nonzero(recovery.learned)
    steps = by_number.patches[0].get_data()
    assert steps.values[-1] == 40
    assert steps.values.tolist()[1:] == np.cumsum(np.where(recovery.learned, 1, -1)).tolist()
    assert drawn(recovery, show="number").get_ylabel() == "number of learned features"


def test_features_are_drawn_learned_and_not():
    along, error = drawn(tables()["features"])
    lines = {line.get_label(): line for line in along.lines}
    assert len(lines["learned"].get_xdata()) == tables()["features"].number_learned
    assert len(lines["not learned"].get_xdata()) == 40 - tables()["features"].number_learned
    assert error.get_ylabel() == "error of the feature, e"


def test_networks_are_drawn_over_the_prediction():
    along, _ = drawn(tables()["compared"])
    predicted = next(line for line in along.lines if line.get_label() == "predicted")
    assert predicted.get_ydata() == pytest.approx(tables()["compared"].column("F_predicted"))


def test_parts_are_drawn_as_bars():
    axes = drawn(tables()["parts"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["overfitting", "not learned", "approximation"]


def test_a_part_that_never_varies_is_no_mountain_of_rounding():
    networks = ps.simulate(NETWORK, d=40, seeds=3, processes=1, n_test=50, keep="features")
    axes = drawn(ps.compare(ps.solve(NETWORK), networks), show="not_learned")
    low, high = axes.get_ylim()
    assert high - low > 1e-3 * high


def test_a_name_that_is_not_drawn_is_refused():
    with pytest.raises(ps.InputError, match="`show` must be among features, number"):
        ps.plot(tables()["recovery"], show="rank")


@pytest.mark.parametrize("name", ["recovery", "features", "compared", "parts"])
def test_tables_are_shown_kept_and_handed_on(name, tmp_path):
    table = tables()[name]
    table.save(tmp_path / "table.json")
    again = ps.load(tmp_path / "table.json")
    assert type(again) is type(table)
    assert str(again) == str(table)
    assert "<img" in table._repr_html_()
    assert len(table.to_dataframe()) > 2
    assert table.as_dict()["kind"] == type(table).__name__
    assert len(repr(table).splitlines()) <= 2
