"""Parts of a problem that declare how they are written: read, written back, refused in a sentence, in every view."""

from __future__ import annotations

import json
from typing import Any

import pytest

import presage as ps
from presage.cli import models, targets
from presage.cli.errors import CommandError
from presage.cli.options import Given
from presage.cli.problem_options import begins
from presage.cli.written import in_python, law_as_text, written
from presage.page.described import described
from presage.protocol.fields import Form, Part
from tests.cli.test_cli import run

FIELDS: Any = models.known()["pooling"].problem.fields
POOLING, CLASSES = FIELDS["pooling"], FIELDS["classes"]

READ = {
    "mean": ps.MeanPooling(),
    "best": ps.BestPooling(),
    "causal:0.5": ps.CausalPooling(0.5),
    "weights:1,0.5,-2": ps.GivenPooling([1.0, 0.5, -2.0]),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_written_is_read_and_written_back(text):
    assert targets.law("--pooling", text, POOLING) == READ[text]
    assert law_as_text(READ[text], POOLING) == text


def test_every_declared_form_is_read_and_written():
    """Of every model: the example of a form makes an object that is written as a text of that form."""
    parts = [
        field for one in models.known().values() for field in one.problem.fields.values() if isinstance(field, Part)
    ]
    with_forms = [part for part in parts if part.forms]
    assert with_forms
    for part in with_forms:
        for kind, form in part.forms.items():
            made = targets.law("--it", form.example, part)
            text = law_as_text(made, part)
            assert text is not None
            assert text.partition(":")[0] == kind
            assert targets.law("--it", text, part) == made
            assert form.pattern.startswith(kind)


def test_optional_numbers_are_left_out():
    assert law_as_text(ps.AlignedTokens(0.5), CLASSES) == "aligned:0.5"
    assert law_as_text(ps.AlignedTokens(0.5, 0.9), CLASSES) == "aligned:0.5,0.9"
    assert law_as_text(ps.CorrelatedTokens([[1.0]]), CLASSES) is None


SAID = {
    "foo": "must be mean, causal:TAU, best or weights:W_1,...,W_T",
    "causal": "makes no pooling: it has 0 numbers. Write causal:TAU, for example causal:1.",
    "causal:1,2": "makes no pooling: it has 2 numbers.",
    "causal:x": "makes no pooling: its numbers cannot be read.",
    "causal:99": "makes no pooling: TAU must be a finite number >= -20 and <= 20",
    "mean:1": "makes no pooling: it has 1 number. Write mean.",
    "weights:0,0": "makes no pooling: WEIGHTS must be a list of numbers, not all of them zero",
    "file.npy": "must be mean, causal:TAU, best or",
}


@pytest.mark.parametrize("text", SAID)
def test_what_is_none_gets_a_sentence(text):
    with pytest.raises(CommandError) as error:
        targets.law("--pooling", text, POOLING)
    assert SAID[text] in str(error.value)


def test_problems_are_written_and_made_again():
    problem = ps.attention_pooling(
        ps.GivenPooling([1.0, 0.5]),
        alpha=2.0,
        vocabulary=3.0,
        signal=1.0,
        classes=ps.AlignedTokens(0.3, 0.9),
        n_tokens=2,
    )
    found = written(problem)
    assert (found.model, found.fields["pooling"], found.fields["classes"]) == (
        "pooling",
        "weights:1,0.5",
        "aligned:0.3,0.9",
    )
    room: dict[str, Any] = {"ps": ps}
    lines = in_python(Given(models.choose("pooling"), found.fields))
    exec(lines, room)
    assert room["problem"] == problem
    assert "ps.GivenPooling([1.0, 0.5])" in lines


def test_a_command_takes_them_and_its_help_lists_them():
    answer = run("solve", "--model", "pooling", "--pooling", "best", "--classes", "aligned:1,0.8", "--json")
    found = json.loads(answer.stdout)
    problem = ps.attention_pooling(
        ps.BestPooling(), alpha=2.0, vocabulary=2.0, signal=1.0, classes=ps.AlignedTokens(1.0, 0.8)
    )
    assert found["alignment"] == pytest.approx(ps.solve(problem).alignment)
    assert found["problem"]["pooling"] == "best"
    told = " ".join(run("solve", "--model", "pooling", "--help").stdout.split())
    assert "--pooling POOLING" in told
    assert "causal:TAU" in told


def test_the_page_is_told_of_forms_without_numbers_and_of_lists():
    page = next(model for model in described()["models"] if model["name"] == "pooling")
    pooling = next(field for field in page["fields"] if field["name"] == "pooling")
    forms = {form["kind"]: form for form in pooling["forms"]}
    assert (pooling["kind"], pooling["begin"]) == ("law", "mean")
    assert forms["mean"]["numbers"] == []
    assert [number["name"] for number in forms["causal"]["numbers"]] == ["tau"]
    assert (forms["weights"]["listed"], forms["weights"]["numbers"]) == (True, [])
    assert begins(models.choose("pooling"), "classes") == "aligned:0.5"


def test_an_example_in_python_is_told_as_a_text():
    assert targets.in_words("MeanPooling()") == "mean"
    assert targets.in_words("CausalPooling(0.5)") == "causal:0.5"
    assert targets.in_words("GivenPooling([1, 2])") == "weights:1,2"
    assert targets.in_words("MarchenkoPastur(0.5)") == "mp:0.5"
    assert Form("a", "a", "a").least == 1


def test_a_problem_with_a_dimension_of_its_own_is_trained_at_it():
    grammar = ("--model", "random-hierarchy", "--alpha", "4", "--depth", "2")
    found = json.loads(run("simulate", *grammar, "--seeds", "2", "--json").stdout)
    assert found["d"] == ps.random_hierarchy(alpha=4.0, symbols=8, synonyms=4, depth=2).own_dimension == 4
    said = run("simulate", *grammar, "--d", "50", "--seeds", "2", code=2).stderr
    assert "`--d` must be 4 here, or left out" in said
    rows = json.loads(run("sweep", "simulate", *grammar[:4], "--depth", "2,3", "--seeds", "2", "--json").stdout)["rows"]
    assert [row["depth"] for row in rows] == [2, 3]
    assert all(row["outcome"] == "done" for row in rows)


def test_one_dimension_of_its_own_is_no_lack_of_another():
    problem = ps.random_hierarchy(alpha=4.0, symbols=8, synonyms=4, depth=2)
    found = ps.compare(ps.solve(problem), ps.simulate(problem, seeds=4, processes=1, progress=False))
    assert "finite-size" not in str(found)
    assert not any("a single d cannot tell" in line for line in found.caveats)


def test_samples_of_a_problem_with_its_own_dimension_need_no_d():
    grammar = ("solve", "--model", "random-hierarchy", "--depth", "2", "--n", "512", "--json")
    assert json.loads(run(*grammar).stdout)["problem"]["alpha"] == 512 / (8 * 4**2)
    assert "`--d` must be 4 here: the problem says it. Got --d 16." in run(*grammar, "--d", "16", code=2).stderr
