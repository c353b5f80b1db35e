"""Pictures of trajectories: the prediction as a line, the networks of each size as dots."""

from __future__ import annotations

from functools import cache

import matplotlib as mpl
import pytest

import presage as ps

mpl.use("Agg")
PROBLEM = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5)


@cache
def found():
    return ps.trajectory(PROBLEM, steps=5)


@cache
def compared():
    options = {"trainer": found().trainer, "keep": "trajectory", "n_test": 50, "processes": 1}
    return ps.compare(found(), *(ps.simulate(PROBLEM, d=d, seeds=2, **options) for d in (8, 12)))


def drawn(result, **options):
    import matplotlib.pyplot as plt

    axes = ps.plot(result, **options)
    plt.close("all")
    return axes


def test_every_observable_has_a_panel_along_the_steps():
    axes = drawn(found())
    assert [one.get_ylabel() for one in axes] == ["test error", "estimation error", "rank / d"]
    assert axes[0].get_xlabel() == "steps of the training"
    assert axes[0].lines[0].get_ydata() == pytest.approx(found().test_error)
    assert drawn(found(), show="rank").get_ylim() == (0.0, 1.02)


def test_networks_are_dots_over_it():
    axes = drawn(compared(), show="estimation_error")
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["predicted", "networks of d = 8", "networks of d = 12"]
    dots = axes.containers[0].lines[0]
    assert dots.get_ydata() == pytest.approx([row.mean[0] for row in compared().rows["estimation_error"]])


def test_a_notebook_shows_them():
    for result in (found(), compared()):
        text = result._repr_html_()
        assert "<img" in text
        assert "estimation_error" in text
    with pytest.raises(ps.InputError, match="`show` must be among test_error, estimation_error, rank"):
        ps.plot(found(), show="loss")


def test_a_flow_is_drawn_along_the_logarithm_of_its_time():
    flow = ps.trajectory(
        ps.quadratic_network(ps.PowerLaw(1.0, 10), alpha=1.0, weight_decay=0.1),
        steps=5,
        trainer=ps.PopulationFlow(until=30.0),
    )
    axes = drawn(flow)
    assert [one.get_ylabel() for one in axes] == [
        "test error",
        "estimation error",
        "features learned",
        "local exponent",
    ]
    for one in axes:
        assert one.get_xscale() == "log"
        assert one.get_xlabel() == "time of the flow, theta"
        assert one.lines[0].get_xdata() == pytest.approx(flow.times[1:])  # the start has no place there
    options = {"trainer": flow.trainer, "keep": "trajectory", "n_test": 50, "processes": 1}
    beside = ps.compare(flow, ps.simulate(flow.problem, d=10, seeds=2, **options))
    dots = drawn(beside, show="estimation_error").containers[0].lines[0]
    assert dots.get_xdata() == pytest.approx(flow.times[1:])
    # Every step of a descent is drawn evenly, unless they are looked at by their logarithm.
    for until, scale in ((None, "linear"), (500, "log")):
        steps = ps.trajectory(flow.problem, steps=5, trainer=ps.PopulationDescent(until=until))
        assert drawn(steps, show="learned").get_xscale() == scale
