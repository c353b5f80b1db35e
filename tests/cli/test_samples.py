"""A number of samples and a dimension in place of alpha, on every command of a problem."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

import presage as ps
from presage.cli.app import app

MODEL = ("--model", "quadratic", "--noise", "0.5")


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(arguments), prog_name="presage")
    assert result.exit_code == code, (arguments, result.output, result.exception)
    return result


def from_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


@pytest.mark.parametrize("command", ["solve", "bayes", "spectrum"])
def test_n_and_d_are_the_alpha_of_the_library(command):
    one, other = (from_json(command, *MODEL, *words) for words in (("--n", "800", "--d", "40"), ("--alpha", "0.5")))
    described = one.pop("problem"), other.pop("problem")
    assert one == other
    assert described[0] == {**described[1], "n": 800, "d": 40}


def test_the_dimension_of_a_matrix_without_symmetry_is_its_shorter_side():
    found = from_json("solve", "--model", "bilinear", "--target", "product:0.5,2", "--n", "800", "--d", "20")
    assert found["problem"]["alpha"] == 1.0
    assert from_json("solve", "--model", "diagonal", "--n", "30", "--d", "20")["problem"]["alpha"] == 1.5


def test_a_curve_along_n():
    found = from_json("curve", *MODEL, "--n", "1000:4000:3log", "--d", "50")
    assert [row["n"] for row in found["rows"]] == [1000, 2000, 4000]
    assert [row["alpha"] for row in found["rows"]] == [0.4, 0.8, 1.6]
    assert found["problem"]["n"] == "1000:4000:3log"
    assert "alpha" not in found["problem"]
    out = run("curve", *MODEL, "--n", "1000:4000:3log", "--d", "50").stdout
    assert [line.split()[:2] for line in out.splitlines()[-3:]] == [["0.4", "1000"], ["0.8", "2000"], ["1.6", "4000"]]


def test_thresholds_in_samples():
    found = from_json("thresholds", "--target", "mp:0.2", "--d", "400")
    known = ps.thresholds(ps.attention(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.01))
    assert found["perfect_recovery_n"] == round(known.perfect_recovery * 400**2)
    assert str(found["perfect_recovery_n"]) in run("thresholds", "--target", "mp:0.2", "--d", "400").stdout
    assert from_json("thresholds", "--target", "semicircle:1", "--d", "400")["perfect_recovery_n"] is None
    assert not [name for name in from_json("thresholds") if name.endswith("_n")]


def test_networks_are_trained_on_n_samples():
    words = ("--seeds", "2", "--workers", "1", "--d", "10")
    one, other = (from_json("simulate", *MODEL, *how, *words) for how in (("--n", "150"), ("--alpha", "1.5")))
    assert one["seeds"] == other["seeds"]
    assert one["problem"]["n"] == 150
    compared = from_json("compare", *MODEL, "--n", "150", *words)
    assert compared["problem"]["alpha"] == 1.5


@pytest.mark.parametrize("verb", ["solve", "simulate"])
def test_a_sweep_along_n(verb):
    more = ("--seeds", "2") if verb == "simulate" else ()
    found = from_json("sweep", verb, *MODEL, "--n", "100,200", "--d", "10", "--weight-decay", "0.1,1", *more)
    assert [row["alpha"] for row in found["rows"]] == [1.0, 1.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("solve --n 800", "`--n` needs --d: how much 800 samples teach depends on the dimension"),
        ("simulate --n 800", "`--n` needs --d"),
        ("compare --n 800", "`--n` needs --d"),
        ("solve --n 800 --d 40 --alpha 1", "`--n` and `--alpha` exclude each other"),
        ("compare --n 800 --d 10,20", "`--d` must be one whole number >= 1 here"),
        ("solve --n 800 --d 4.5", "`--d` must be one whole number >= 1 here"),
        ("solve --n 0.2 --d 40", "`--n` must be at least 1"),
        ("solve --n 100.5 --d 40", "`--n` must be a whole number: it counts samples. Got --n 100.5. Use --n 100."),
        ("curve --n 100.2,100.4 --d 40", "`--n` must be a whole number"),
        ("solve --n many --d 40", "`--n` must be a finite number or a grid"),
    ],
)
def test_half_of_it_is_refused_in_a_sentence(arguments, words):
    said = run(*arguments.split(), code=2).stderr
    assert words in said
    assert said.count("\n") == 1


def test_a_hint_is_told_once_and_the_output_stays_clean():
    result = run("curve", "--model", "quadratic", "--alpha", "2000,5000", "--target", "mp:30", "--csv")
    assert result.stderr.count("hint: --alpha 2000") == 1
    assert "--n 20000 and --d 400" in result.stderr
    assert result.stderr.count("hint:") == 2
    assert "hint" not in result.stdout
    assert run("solve", *MODEL).stderr == ""
