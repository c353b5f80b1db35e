"""What the caption of the map of phases claims, read from the data that ships; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, scaling_phases
from presage.figures.catalogue import Parts
from presage.models.attention.theory.scaling.phase import PHASES
from presage.models.attention.theory.scaling.phase_map import phase_map


@functools.cache
def shipped() -> Parts:
    return catalogue.load("scaling-phases")


def test_it_is_drawn_with_the_names_of_the_phases():
    figure = scaling_phases.draw(shipped())
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    whole, near = ({text.get_text() for text in axis.texts} for axis in figure.axes[:2])
    assert whole == set(PHASES) - {"peak"}
    assert near == {"II", "IV", "V", "peak", "VIa"}
    for part in shipped().values():
        assert not [words for words in part["outcome"].values.ravel() if str(words) != "done"]


def test_every_phase_has_points():
    numbers = np.concatenate([shipped()[view]["phase_number"].values.ravel() for view in scaling_phases.VIEWS])
    assert {PHASES[int(number)] for number in numbers} == set(PHASES)


@pytest.mark.parametrize("view", scaling_phases.VIEWS)
def test_lines_are_where_the_exact_phase_changes(view):
    """Few points are across a line, and those next to it: with the numbers of their neighbours nothing is left."""
    off = scaling_phases.unlike(shipped(), view)
    assert 0 < off.sum() <= 0.01 * off.size
    assert f"{int(off.sum())} of {off.size}" in scaling_phases.details(shipped())
    number = np.pad(shipped()[view]["phase_number"].values, 1, mode="edge")
    rows, columns = off.shape
    around = [number[1 + i : 1 + i + rows, 1 + j : 1 + j + columns] for i in (-1, 0, 1) for j in (-1, 0, 1)]
    at_an_edge = np.any([side != around[4] for side in around], axis=0)
    assert (~off | at_an_edge).all()


def test_the_error_is_what_the_phases_say():
    table = shipped()["whole"]
    error, number = table["error"].values, table["phase_number"].values
    assert error[number == PHASES.index("Ib")] == pytest.approx(1.0, abs=1e-12)
    assert (error[number == PHASES.index("VIb")] < 1e-4).all()
    learned = table["learned"].values
    for phase, count in (("Ia", 0), ("Ib", 0), ("III", scaling_phases.D), ("VIb", scaling_phases.D)):
        assert (learned[number == PHASES.index(phase)] == count).all(), phase


def test_the_peak_is_the_highest_error_near_it():
    table = shipped()["near"]
    weak = table["error"].sel(weight_decay=table.weight_decay < 1e-2)
    highest = table.alpha.values[weak.argmax("alpha").values] * scaling_phases.D
    assert np.abs(highest / scaling_phases.PEAK - 1.0).max() < 0.05


def test_cells_computed_again_are_as_shipped():
    table = shipped()["whole"]
    for i, j in ((5, 3), (14, 20), (31, 27)):
        cell = table.isel(alpha=i, weight_decay=j)
        here = scaling_phases.PROBLEM.replace(alpha=float(cell.alpha), weight_decay=float(cell.weight_decay))
        found = ps.scaling(here, factor=None)
        assert found.error == pytest.approx(float(cell["error"]), rel=1e-7)
        assert found.phase_number == int(cell["phase_number"])
    lines = shipped()["boundaries"].sel(view="near")
    x, y, number = (lines[name].values for name in ("samples", "decay", "number"))
    some = np.array([10, 70, 100, 150])
    again = phase_map(scaling_phases.PROBLEM, n=scaling_phases.D * x[some], weight_decay=y[some])
    assert np.array_equal(again.number, number[np.ix_(some, some)])
