"""What the browser is told of the models, and how a problem is asked about: letters, sliders, texts, bounds."""

from __future__ import annotations

import json

import pytest

import presage as ps
from presage.cli import models
from presage.cli.options import Given
from presage.page.asked import Asked, FieldError
from presage.page.bounds import BOUNDS, within
from presage.page.described import described
from presage.page.grids import coarse_to_fine, coarse_to_fine_cells, side
from presage.page.symbols import in_letters
from presage.protocol.errors import InputError
from presage.protocol.fields import Number

TOLD = described()
BY_NAME = {model["name"]: model for model in TOLD["models"]}
BEGINS = {
    name: {field["name"]: field["begin"] for field in model["fields"] if field["begin"] is not None}
    for name, model in BY_NAME.items()
}


@pytest.mark.parametrize(
    ("tex", "letters"),
    [
        (r"\alpha", "\N{GREEK SMALL LETTER ALPHA}"),
        (r"\lambda", "λ"),
        (r"\Delta", "Δ"),
        (r"\kappa_0", "κ₀"),
        ("samples  $\\alpha = n/d^2$", "samples  \N{GREEK SMALL LETTER ALPHA} = n/d²"),
        ("weight decay", "weight decay"),
        (r"d^x", "d^x"),
        (r"x^{-12}", "x⁻¹²"),
        (r"\mathcal L", "mathcal L"),
        ("", ""),
    ],
)
def test_a_formula_becomes_letters(tex, letters):
    assert in_letters(tex) == letters


def test_every_problem_that_answers_is_in_the_menu():
    answering = {
        name
        for name, chosen in models.known().items()
        if None in (chosen.lacks("solve"), chosen.lacks("bayes_optimal"))
    }
    assert BY_NAME.keys() == answering
    assert TOLD["default"] == models.default()
    assert json.loads(json.dumps(TOLD)) == TOLD


@pytest.mark.parametrize("name", BY_NAME)
def test_a_slider_begins_within_its_ends_and_the_problem_as_the_command_line_has_it(name):
    for field in BY_NAME[name]["fields"]:
        if field["kind"] == "number":
            assert field["low"] < field["high"]
            assert field["scale"] == "linear" or field["low"] > 0.0
            if field["begin"] is not None:
                assert field["low"] <= float(field["begin"]) <= field["high"]
            for end in (field["low"], field["high"]):  # both ends of a slider can be asked for
                Asked(name, {**BEGINS[name], field["name"]: str(end)}).problem()
        for form in field.get("forms", ()):
            begins = [number["begin"] for number in form["numbers"]]
            law = f"{form['kind']}:{','.join(begins)}" if begins else form["example"]
            assert law.startswith(form["example"])
            Asked(name, {**BEGINS[name], field["name"]: law}).problem()
    chosen = models.known()[name]
    assert Asked(name, BEGINS[name]).problem() == Asked(name, {}).problem() == Given(chosen, {}).problem()


def test_without_declared_ends_a_slider_is_about_its_value():
    assert Number("x", scale="logarithmic", example=2.0).span_about(0.5) == (0.02, 200.0)
    assert Number("x", scale="logarithmic", above=0.0, at_most=3.0, example=1.0).span_about(1.0) == (0.01, 3.0)
    assert Number("x", at_least=0.5).span_about(1.0) == (0.5, 4.0)
    assert Number("x").span_about(-2.0) == (-2.0, 8.0)
    assert Number("x", span=(1.0, 2.0)).span_about(7.0) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"alpha": "-1"}, "alpha", "must be a finite number > 0"),
        ({"alpha": "many"}, "alpha", "must be a number"),
        ({"alpha": "1_0"}, "alpha", "must be a number"),
        ({"alpha": "nan"}, "alpha", "must be a number"),
        ({"n_tokens": "2.5"}, "n_tokens", "must be"),
        ({"target": "mp:-1"}, "target", "makes no law"),
        ({"target": "normal:1"}, "target", "must be mp:KAPPA_0"),
        ({"target": "/etc/passwd.npy"}, "target", "cannot name a file here"),
        ({"target": "masses:" + "1," * 20_000}, "values", "at most 10,000"),
        ({"target": "power:1.25,1000000"}, "values", "at most 10,000"),
        ({"target": "masses:" + "x," * 5000}, "target", "makes no law"),
        ({"size": "3"}, None, "is no field of attention"),
    ],
)
def test_what_is_wrong_is_said_of_its_field(fields, field, words):
    with pytest.raises((FieldError, InputError)) as caught:
        Asked("attention", fields).problem()
    wrong = caught.value
    assert field == (wrong.field if isinstance(wrong, FieldError) else getattr(wrong, "name", ""))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 500  # also about a very long text


def test_an_unknown_model_is_refused():
    with pytest.raises(FieldError, match="must be one of"):
        Asked("perceptron", {}).problem()


def test_a_place_replaces_a_number_exactly():
    alpha = 0.1 + 0.2
    assert Asked("attention", {"noise": "0.5"}).problem({"alpha": alpha}).alpha == alpha


def test_places_are_those_of_numpy_and_whole_where_the_field_is():
    import numpy as np

    asked = Asked("attention", {})
    assert side(asked, "alpha", 0.02, 40.0, 7).places == tuple(np.geomspace(0.02, 40.0, 7))
    assert side(asked, "noise", 0.0, 2.0, 5).places == (0.0, 0.5, 1.0, 1.5, 2.0)
    assert side(asked, "n_tokens", 2.0, 5.0, 30).places == (2.0, 3.0, 4.0, 5.0)
    assert side(asked, "alpha", 0.02, 40.0, 7).label == "samples  \N{GREEK SMALL LETTER ALPHA} = n/d²"
    for wrong in ((1.0, 1.0), (2.0, 1.0), (0.0, 1.0)):
        with pytest.raises(FieldError, match="A range of alpha must"):
            side(asked, "alpha", *wrong, 5)
    with pytest.raises(FieldError, match="is no number of attention"):
        side(asked, "target", 0.0, 1.0, 5)


@pytest.mark.parametrize("count", [2, 3, 8, 30, 41])
def test_coarse_to_fine_has_every_place_once_and_the_ends_early(count):
    order = coarse_to_fine(count)
    assert sorted(order) == list(range(count))
    assert {0, count - 1} <= set(order[: -(-count // 8) + 1])
    cells = coarse_to_fine_cells(count, count + 1)
    assert sorted(cells) == sorted((i, j) for i in range(count) for j in range(count + 1))
    early = cells[: (-(-count // 8) + 1) * (-(-(count + 1) // 8) + 1)]
    assert {(0, 0), (count - 1, count), (0, count), (count - 1, 0)} <= set(early)


def test_bounds_are_said_in_words():
    assert within("seeds", 64) == 64
    for name, value in (("d", 1001), ("seeds", 65), ("points", 201), ("side", 61)):
        with pytest.raises(InputError, match=f"`{name}` must be at most {BOUNDS[name].most:,}: it is .*Got {name}="):
            within(name, value)
    with pytest.raises(InputError, match="Use at least 1"):
        within("d", 0)


def test_what_can_be_trained_is_declared():
    assert BY_NAME["attention"]["trainers"][0] == "amp"
    assert BY_NAME["hardmax"]["trainers"] == ["bayes-amp"]  # which looks for no minimum, where there is none
    assert BY_NAME["hardmax"]["verb"] == "bayes_optimal"
    assert all(model["untrainable"] is None for model in BY_NAME.values() if model["trainers"])


def test_the_version_is_that_of_the_package():
    assert TOLD["version"] == ps.__version__
