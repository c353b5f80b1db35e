"""What the caption of the figure on types of spectra claims, read from the data that ships; some computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, scaling_spectra
from presage.figures.catalogue import Parts
from presage.spectra.spectrum_type import KINDS, UNKNOWN


@functools.cache
def shipped() -> Parts:
    return catalogue.load("scaling-spectra")


def test_it_is_drawn_with_the_types_as_titles():
    figure = scaling_spectra.draw(shipped())
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == [*scaling_spectra.PREDICTED, *scaling_spectra.TRAINED]
    details = scaling_spectra.details(shipped())
    assert f"{int(shipped()['trained'].seeds)} data sets" in details
    for part in shipped().values():
        assert not [words for words in part["outcome"].values.ravel() if str(words) != "done"]


def test_one_law_shows_every_type():
    """As `classify` says of most draws, which the settings are named after."""
    table = shipped()["sampled"]
    assert set(map(str, table["kind"].values)) == set(KINDS) - {UNKNOWN}
    assert list(map(str, table["kind"].values)) == list(map(str, table.view.values))
    assert bool((table["agreeing"] >= 0.75 * table["spectra"]).all())
    trained = shipped()["trained"]
    assert list(map(str, trained["kind"].values)) == list(map(str, trained.view.values))


@pytest.mark.parametrize("part", ["sampled", "trained"])
def test_bars_are_as_the_theory_has_them(part):
    """All that is above zero is in the bins, and the distribution functions are within a few eigenvalues."""
    table, settings = shipped()[part], vars(scaling_spectra)[{"sampled": "PREDICTED", "trained": "TRAINED"}[part]]
    for view in map(str, table.view.values):
        here, at = table.sel(view=view), settings[view]
        assert abs(float(here["rank_seen"] - here["rank"])) * at.d < 0.03 * at.d
        off = np.abs(np.cumsum((here["seen"].values - here["expected"].values)[::-1])).max()
        assert off < (2.5 if part == "sampled" else 0.02 * at.d), view


def test_a_panel_computed_again_is_the_same():
    table = shipped()["sampled"].sel(view="bulk+spikes")
    at = scaling_spectra.PREDICTED["bulk+spikes"]
    solution = ps.solve(scaling_spectra.located(scaling_spectra.PROBLEM, at))
    expected = at.d * np.diff(solution.spectrum.cdf(table["edges"].values))
    assert table["expected"].values == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert ps.classify(solution.spectrum.sample(at.d, np.random.default_rng(0))).kind == "bulk+spikes"
