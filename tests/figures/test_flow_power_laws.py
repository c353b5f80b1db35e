"""What the figure on the time of training shows, read from the data that ships; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue
from presage.figures import flow_power_laws as figure


@functools.cache
def shipped() -> catalogue.Parts:
    return catalogue.load("flow-power-laws")


def test_it_is_drawn():
    figure.draw(shipped()).savefig(io.BytesIO(), format="png", dpi=50)
    for part in shipped().values():
        assert {str(words) for words in part["outcome"].values.ravel()} == {"done"}
    assert "networks of d = 100" in figure.details(shipped())
    assert "10,000,000 features" in figure.caption(shipped())


@pytest.mark.parametrize("gamma", figure.GAMMAS)
def test_networks_are_on_their_line(gamma):
    dots = shipped()["networks"].sel(gamma=gamma)
    problem = ps.quadratic_network(ps.PowerLaw(gamma, 100, normalized=False), alpha=1.0, weight_decay=0.1)
    flow = ps.PopulationFlow(eps=figure.EPS, first=3.0, until=figure.UNTIL["few"])
    way = ps.trajectory(problem, steps=len(dots["times"]), trainer=flow)
    np.testing.assert_allclose(dots["times"], way.times[1:], rtol=1e-12)
    seen = way.estimation_error[1:] > 1e-12  # the rest is rounding
    np.testing.assert_allclose(dots["error"].values[seen], 100 * way.estimation_error[1:][seen], rtol=1e-5)
    line = shipped()["few"].sel(gamma=gamma)
    assert float(line["error"][-1]) == pytest.approx(100 * way.estimation_error[-1], rel=1e-6, abs=1e-25)


@pytest.mark.parametrize("gamma", figure.GAMMAS)
def test_the_front_moves_as_its_law_says(gamma):
    line = shipped()["many"].sel(gamma=gamma)
    late = line["times"].values > 2e3
    ratio = line["error"].values[late] / line["front_error"].values[late]
    assert np.all((ratio > 0.9) & (ratio < 0.98))
    np.testing.assert_allclose(line["local_exponent"].values[late], line["front_exponent"].values[late], atol=0.03)
    # Before, single features are learned one by one, and no law holds.
    early = line["times"].values < 40.0
    assert np.ptp(line["local_exponent"].values[early]) > 0.5


@pytest.mark.parametrize("part", ["few", pytest.param("many", marks=pytest.mark.slow)])
def test_a_point_of_it_is_computed_again(part):
    features = {"few": figure.FEW, "many": figure.MANY}[part]
    found = figure.theory(figure.PROBLEM.replace(gamma=1.5), features=features, steps=3, until=figure.UNTIL[part])
    line = shipped()[part].sel(gamma=1.5)
    for name in ("error", "local_exponent", "front_error", "front_exponent"):
        assert found[name][-1] == pytest.approx(float(line[name][-1]), rel=1e-9)
