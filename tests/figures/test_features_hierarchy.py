"""What the caption of the figure on random hierarchies claims, read from the data; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, features_hierarchy
from presage.figures.catalogue import Parts

NAME = "features-hierarchy"


@functools.cache
def shipped() -> Parts:
    return catalogue.read(catalogue.shipped(NAME))


def test_it_is_drawn_and_its_details_say_how_it_was_made():
    parts = shipped()
    figure = features_hierarchy.draw(parts)
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    assert len(figure.axes) == 2
    assert f"means of {int(parts['learned'].n_seeds.max())} learners" in features_hierarchy.details(parts)
    assert "0.2" in features_hierarchy.caption(parts)
    for part in parts.values():
        assert not [words for words in part["outcome"].values.ravel() if str(words) != "done"]


def test_learners_are_within_the_error_bar_of_the_curves():
    """Half widths of 95 % intervals, and two standard errors: of 27 dots nearly all, and none is far."""
    parts = shipped()
    scores = []
    for depth in features_hierarchy.DEPTHS:
        theory, learned = (parts[name].sel(depth=depth) for name in ("theory", "learned"))
        for alpha in learned.alpha.values:
            there = learned.sel(alpha=alpha)
            at = theory[["accuracy", "accuracy_bar"]].interp(alpha=alpha)
            error = np.hypot(float(there.accuracy_bar), float(at.accuracy_bar) / 2)
            scores.append((float(there.accuracy) - float(at.accuracy)) / error)
    assert len(scores) == 27
    assert np.mean(np.abs(scores) < 2) > 0.9
    assert max(map(abs, scores)) < 3


def test_curves_collapse_and_kernels_fall_behind():
    parts = shipped()
    learned = parts["learned"].accuracy
    for alpha in (2.0, 4.0, 8.0):
        assert float(np.ptp(learned.sel(alpha=alpha).values)) < 0.12
    assert float(learned.sel(alpha=0.5).max()) < 0.5
    kernels = [float(features_hierarchy.best(parts, depth).accuracy.sel(alpha=4.0)) for depth in (2, 3, 4)]
    assert kernels == pytest.approx([0.81, 0.45, 0.26], abs=0.07)
    assert (np.diff(kernels) < -0.1).all()
    assert float(learned.sel(alpha=4.0).min()) > 0.9


@pytest.mark.slow
def test_some_of_it_is_computed_again():
    parts = shipped()
    problem = features_hierarchy.PROBLEM
    alpha = float(parts["theory"].alpha[20])
    again = ps.solve(problem.replace(alpha=alpha, depth=2)).accuracy
    assert float(parts["theory"].accuracy.sel(alpha=alpha, depth=2)) == pytest.approx(again, rel=1e-9)
    seeds = int(parts["learned"].n_seeds.max())
    learners = ps.simulate(problem.replace(alpha=1.0, depth=2), seeds=seeds, n_test=1000, processes=1)
    assert float(parts["learned"].accuracy.sel(alpha=1.0, depth=2)) == pytest.approx(
        learners.mean("accuracy"), abs=1e-4
    )
