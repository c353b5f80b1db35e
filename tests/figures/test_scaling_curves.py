"""What the caption of the figure on error against samples claims, read from shipped data; some computed again."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
import pytest

from presage.figures import catalogue, scaling_curves
from presage.figures.catalogue import Parts
from presage.models.attention.theory.scaling.phase import PHASES

NETWORKS = ("trained", "larger", "largest")


@functools.cache
def shipped() -> Parts:
    return catalogue.load("scaling-curves")


def line(strength: float) -> Any:
    return shipped()["theory"].sel(weight_decay=strength)


def test_it_is_drawn_and_its_details_say_how_it_was_made():
    figure = scaling_curves.draw(shipped())
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    details = scaling_curves.details(shipped())
    for part in NETWORKS:
        table = shipped()[part]
        assert f"{int(table.seeds)} data sets of d = {int(table.d)}" in details
    for found in shipped().values():
        assert not [words for words in found["outcome"].values.ravel() if str(words).startswith("failed")]


@pytest.mark.parametrize("part", NETWORKS)
def test_networks_are_above_the_theory_by_what_few_samples_make(part):
    """Within 5 % from n/d = 40 on away from the peak, which is at d/4; at n/d = 10 up to a third above."""
    ratios, samples = scaling_curves._ratios(shipped(), part), shipped()[part].samples.values
    d = int(shipped()[part].d)
    bars = (shipped()[part]["estimation_error_bar"] / shipped()[part]["estimation_error"]).values
    enough = (samples >= 40.0) & (samples >= 0.3 * d)
    assert (np.abs(ratios - 1.0) < 0.05 + 3.0 * bars)[:, enough].all()
    first = ratios[:, 0] - 1.0
    assert (first < 0.35).all()
    weak = shipped()[part].weight_decay.values < 1.0
    assert (first[weak] > 0.08).all()


def test_more_dimensions_do_not_take_that_away():
    """At n/d = 10 networks of every d are above the theory by more than their bars, and by amounts that agree."""
    above, bars = [], []
    for part in NETWORKS:
        row = list(shipped()[part].weight_decay.values).index(scaling_curves.STRENGTH)
        first = shipped()[part].isel(weight_decay=row, samples=0)
        above.append(float(scaling_curves._ratios(shipped(), part)[row, 0]) - 1.0)
        bars.append(float(first["estimation_error_bar"] / first["estimation_error"]))
    assert all(off > 2.0 * bar for off, bar in zip(above, bars, strict=True))
    assert above[-1] > 0.05
    assert abs(above[1] - above[0]) < 3.0 * np.hypot(bars[0], bars[1])


def test_weak_weight_decay_passes_the_peak():
    late = line(0.01).where(line(0.01).samples > 8.0, drop=True)
    top = float(late.samples[int(np.argmax(late["error"].values))])
    assert top == pytest.approx(scaling_curves.D / 4.0, rel=0.35)
    assert "peak" in scaling_curves._passed(line(0.01))
    strong = line(5.0)["error"].values
    assert (np.diff(strong) <= 1e-9).all()


def test_laws_are_near_where_they_are_exact_or_deep_in_a_phase():
    theory = line(5.0)
    nothing = theory["phase_number"].values == PHASES.index("Ib")
    assert theory["law_value"].values[nothing] == pytest.approx(theory["error"].values[nothing], rel=1e-9)
    second = theory["phase_number"].values == PHASES.index("II")
    assert second.sum() >= 5
    ratio = (theory["error"] / theory["law_value"]).values[second]
    assert 0.5 < ratio.min() <= ratio.max() < 2.0


def test_a_cell_computed_again_is_the_same():
    cell = shipped()["sizes"].sel(size=200).isel(samples=40)
    found = scaling_curves.of_size(scaling_curves.PROBLEM, size=200, samples=float(cell.samples))
    assert found.error == pytest.approx(float(cell["error"]), rel=1e-7)
    assert found.law_value == pytest.approx(float(cell["law_value"]), rel=1e-7)
