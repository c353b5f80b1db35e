"""Errors carry their fields as data, and texts that name an argument are spelled by who shows them."""

from __future__ import annotations

import pickle

import pytest

import presage as ps
from presage.protocol.errors import InputError, Mark, in_python, in_words


def test_bad_input_is_told_in_words_and_as_data():
    with pytest.raises(ps.InputError) as told:
        ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=-1.0, weight_decay=0.1)
    error = told.value
    assert isinstance(error, ValueError)
    assert (error.name, error.value) == ("alpha", -1.0)
    assert str(error) == (
        "`alpha` must be a finite number > 0 and <= 1e+18: it is the number of samples over the squared dimension, "
        "n/d^2. Got alpha=-1.0. Use for example alpha=0.5."
    )
    assert error.remedy == "Use for example alpha=0.5."
    assert error.marked["remedy"] == "Use for example <alpha=0.5>."


@pytest.mark.parametrize(
    "error",
    [
        InputError("alpha", "be positive", "it counts", -1.0, "Use <alpha=0.5>."),
        ps.SolveError("It failed.", "Use a larger <noise>.", {"partial": 1}),
        ps.TrainError("It failed.", "Use <trainer=LBFGS()>."),
    ],
)
def test_errors_travel_between_processes_whole(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_marks_are_spelled_by_who_shows_them():
    text = "Use <alpha=0.5>, a larger <weight_decay> or <ridgeless()>; 1 <= i <= n stays."
    assert in_python(text) == "Use alpha=0.5, a larger weight_decay or ridgeless(problem); 1 <= i <= n stays."
    marks: list[Mark] = []
    in_words(text, lambda mark: marks.append(mark) or "")  # type: ignore[func-returns-value]
    assert marks == [Mark("alpha", "0.5", False), Mark("weight_decay", None, False), Mark("ridgeless", None, True)]


def test_a_value_with_angle_brackets_is_shown_as_it_is():
    error = InputError("target", "be a law", "it is one", "<alpha>", "Use a law.")
    assert "Got target='<alpha>'" in str(error)
