"""What the caption of the figure on scaling laws of softmax attention claims, read from the data that ships."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

from presage.figures import catalogue
from presage.figures import scaling_attention as figure
from presage.figures.catalogue import Parts


@functools.cache
def shipped() -> Parts:
    return catalogue.load("scaling-attention")


def over_theory(name: str, gamma: float) -> np.ndarray:
    """Dots over the line, interpolated in logarithms."""
    line, dots = (shipped()[part].sel(gamma=gamma) for part in ("theory", "trained"))
    there = np.exp(np.interp(np.log(dots.alpha), np.log(line.alpha), np.log(line[name])))
    return np.asarray(dots[name].values / there)


def test_it_is_drawn_from_shipped_data():
    file = io.BytesIO()
    figure.draw(shipped()).savefig(file, format="png", dpi=50)
    assert file.getvalue().startswith(b"\x89PNG")
    for part in shipped().values():
        assert not [words for words in map(str, part["outcome"].values.ravel()) if words.startswith("failed")]


def test_what_is_said_of_it():
    said = figure.details(shipped())
    assert "Dots: 6 data sets of d = 100" in said
    assert "That of networks is another one, 0.0935 and 0.0974" in said
    assert "the learned matrix shrinks to s = 0.874" in figure.caption(shipped())


@pytest.mark.parametrize("gamma", figure.GAMMAS)
def test_errors_fall_with_the_exponent_of_a_quadratic_network(gamma):
    """R' between n/d = 100 and 1000 within .03 of the law, the estimation error far from it."""
    line = shipped()["theory"].sel(gamma=gamma)
    law = -1.0 + 0.5 / gamma
    assert figure._slope(line) == pytest.approx(law, abs=0.03)
    ends = [float(line.estimation_error.interp(alpha=n / figure.D)) for n in (100.0, 1000.0)]
    assert np.log10(ends[1] / ends[0]) > law + 0.15


@pytest.mark.parametrize("gamma", figure.GAMMAS)
def test_networks_come_to_the_lines(gamma):
    """Test error above its own floor: within a fifth from n/d = 10 on, nearer the more samples."""
    for name, first, last in (("above_floor", 0.2, 0.1), ("R_prime", 0.5, 0.08)):
        off = np.abs(over_theory(name, gamma) - 1.0)
        assert off[0] < first, name
        assert off[-1] < last, name
        assert off[0] > off[-1], name
    # The floor of networks is not that of the theory, by far more than its bar.
    trained, theory = shipped()["trained"].sel(gamma=gamma), shipped()["theory"].sel(gamma=gamma)
    assert float((trained.floor - theory.floor[0]).min()) > 10.0 * float(trained.floor_bar.max())


def test_a_cell_computed_again_is_as_shipped():
    line = shipped()["theory"].sel(gamma=2.0).isel(alpha=20)
    found = figure.predicted(figure.PROBLEM.replace(gamma=2.0, alpha=float(line.alpha)))
    assert pytest.approx(float(line.R_prime), rel=1e-5) == found.R_prime
    assert found.above_floor == pytest.approx(float(line.above_floor), abs=1e-6)
