"""Every figure hands problems over, at points that it shows: they have a name, and a few words each."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.cli import models
from presage.cli.options import Given
from presage.cli.written import in_python, written
from presage.figures import (
    attention_3,
    attention_6,
    bayes_erm,
    catalogue,
    quadratic_width,
    scaling_phases,
    scaling_spectra,
    scaling_width,
)

LONGEST, MOST = 60, 6  # characters of a label, and problems of a figure


@pytest.mark.parametrize("name", catalogue.names())
def test_every_figure_hands_problems_over(name):
    problems = catalogue.figure(name).problems()
    assert 1 <= len(problems) <= MOST
    assert len({repr(problem) for problem in problems.values()}) == len(problems)
    for label, problem in problems.items():
        assert 0 < len(label) <= LONGEST
        assert "\n" not in label
        found = written(problem)
        given = Given(models.choose(found.model), found.fields)
        assert given.problem() == problem
        room = {"ps": ps}
        exec(in_python(given), room)
        assert room["problem"] == problem


def test_labels_are_unique_beside_the_name_of_their_figure():
    labels = [(name, label) for name in catalogue.names() for label in catalogue.figure(name).problems()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("module", "parts"),
    [(attention_3, ("factorised", "nonfactorised")), (bayes_erm, ("best", "free"))],
    ids=["attention-3", "bayes-erm"],
)
def test_rounded_best_penalties_are_those_of_the_figure(module, parts):
    tables = catalogue.load(module.__name__.rpartition(".")[2].replace("_", "-"))
    for part, penalty in zip(parts, ("weight_decay", "ridge"), strict=True):
        there = np.interp(np.log(module.BEST["alpha"]), np.log(tables[part]["alpha"]), tables[part]["strength"])
        assert module.BEST[penalty] == pytest.approx(there, rel=catalogue.SEARCHED["strength"])
        assert any(
            penalty in p.names() and p.penalty.scaling == module.BEST[penalty] for p in module.problems().values()
        )


def test_places_are_in_the_phases_of_their_labels():
    for label, problem in scaling_phases.problems().items():
        assert ps.scaling(problem, factor=None).phase == label.partition(":")[0]


def test_tokens_are_handed_over_at_one_place_of_the_axis():
    axis = {problem.alpha * attention_6.units(problem.channel.n_tokens) for problem in attention_6.problems().values()}
    assert all(place == pytest.approx(1.4) for place in axis)
    assert 1.4 in attention_6.TRAINED["full"]["axis"]


def test_widths_have_the_price_and_the_sides_of_their_labels():
    parts = catalogue.load("quadratic-width")
    for label, problem in quadratic_width.problems().items():
        assert problem.penalty.lambda_tilde(problem.kappa) == pytest.approx(quadratic_width.LAMBDA_TILDE)
        assert label.startswith("narrow") == (problem.kappa < quadratic_width.enough(parts, problem.alpha))
    tables = catalogue.load("scaling-width")
    line = tables["theory"]["estimation_error"].sel(weight_decay=scaling_width.PROBLEM.penalty.scaling)
    best, peak, *_ = scaling_width.problems().values()
    assert best.kappa == pytest.approx(float(line.idxmin()))
    assert peak.kappa == pytest.approx(float(line.idxmax()))


def test_spectra_are_those_of_their_types():
    assert set(scaling_spectra.problems()) == set(map(str, catalogue.load("scaling-spectra")["sampled"]["kind"].values))
