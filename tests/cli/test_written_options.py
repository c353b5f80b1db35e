"""What was written and has no part in an answer is said, what a model does not take is refused, reasons fit."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

import pytest
from typer.testing import CliRunner

import presage as ps
from presage.cli import targets
from presage.cli.app import app
from presage.cli.errors import in_options, told
from presage.cli.sweep import rows_of
from presage.figures import style
from presage.protocol.errors import InputError

NETWORK = ("--model", "quadratic", "--noise", "0.5")


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(arguments), prog_name="presage")
    assert result.exit_code == code, (arguments, result.output, result.exception)
    return result


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("bayes", *NETWORK, "--weight-decay", "0.1"), "--weight-decay plays no part in the Bayes-optimal answer."),
        (("thresholds", "--alpha", "1"), "--alpha plays no part in the thresholds."),
        (("thresholds", "--n", "100", "--d", "10"), "--n plays no part in the thresholds."),
        (
            ("solve", *NETWORK, "--ridgeless", "--weight-decay", "1"),
            "--weight-decay plays no part in the limit of vanishing regularisation.",
        ),
        (
            ("curve", *NETWORK, "--alpha", "1,2", "--ridgeless", "--weight-decay", "1"),
            "--weight-decay plays no part in the limit of vanishing regularisation.",
        ),
        (
            ("sweep", "bayes", *NETWORK, "--alpha", "1,2", "--kappa", "0.5", "--workers", "1"),
            "--kappa plays no part in the Bayes-optimal answer.",
        ),
        (
            ("simulate", *NETWORK, "--trainer", "bayes-amp", "--d", "8", "--seeds", "2", "--weight-decay", "1"),
            "--weight-decay plays no part in the Bayes-optimal answer.",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_is_written_and_plays_no_part_is_said(arguments, sentence):
    assert f"caveat: {sentence}" in " ".join(run(*arguments).stdout.split())
    found = json.loads(run(*arguments, "--json").stdout)
    assert sentence in json.dumps(found.get("caveats", found.get("rows")))
    if arguments[0] != "simulate":  # whose rows are networks
        rows = list(csv.DictReader(io.StringIO(run(*arguments, "--csv").stdout)))
        assert all(sentence in row["caveats"] for row in rows)


def test_what_is_left_out_is_not_said():
    for arguments in (("bayes", *NETWORK), ("thresholds",), ("solve", *NETWORK, "--ridgeless")):
        assert "plays no part" not in run(*arguments).stdout


def test_an_accuracy_reaches_the_solver():
    problem = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, n_tokens=3, noise=0.5)
    fine, rough = (ps.solve(problem, accuracy=accuracy) for accuracy in (1e-4, 5e-2))
    assert rough == ps.solve(problem, solver=ps.StateEvolution(accuracy=5e-2))
    assert rough.evaluations != fine.evaluations or rough.message != fine.message
    found = json.loads(run("solve", "--tokens", "3", "--noise", "0.5", "--accuracy", "0.05", "--json").stdout)
    assert found["test_error"] == pytest.approx(rough.test_error, rel=1e-12)
    linear = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
    assert ps.solve(linear, accuracy=1e-2) == ps.solve(linear)
    with pytest.raises(ps.InputError, match="a solver has an accuracy of its own"):
        ps.solve(problem, accuracy=1e-2, solver=ps.StateEvolution())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            "solve --model diagonal --accuracy 0.01",
            "`--accuracy` is no option of `presage solve` with --model diagonal",
        ),
        ("solve --optimal --accuracy 0.01", "`--accuracy` is no option of `presage solve --optimal`"),
        ("solve --accuracy 0", "Got --accuracy 0. Leave it out, or use for example --accuracy 1e-4."),
        ("simulate --model diagonal --dtype float32", "`--dtype` is no option of `presage simulate`"),
        ("compare --model bilinear --storage disk", "`--storage` is no option of `presage simulate`"),
        ("simulate --d 10 --dtype float16", "Use for example --dtype float64."),
        ("sweep solve --alpha 1,2 --storage disk", "`--storage` is for `presage sweep simulate`"),
        ("sweep simulate --alpha 1,2 --accuracy 0.01", "`--accuracy` is of a prediction"),
        ("solve --tokens 1", "the softmax of a single entry is 1"),
        ("solve --tokens 1000", "more than that are not supported. Got --tokens 1000. Use at most --tokens 64."),
        ("solve --model untied --tokens 1001", "Use at most --tokens 1000."),
        ("solve --model elastic --nuclear -1", "Use for example --nuclear 0.1 and --ridge 0.05."),
    ],
)
def test_a_reason_fits_and_a_remedy_can_be_typed(arguments, words):
    assert words in run(*arguments.split(), code=2).stderr


def test_precision_and_storage_reach_the_networks():
    words = ("simulate", *NETWORK, "--d", "10", "--seeds", "2", "--workers", "1")
    found = json.loads(run(*words, "--dtype", "float32", "--storage", "disk", "--json").stdout)
    problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
    known = ps.simulate(problem, d=10, seeds=2, processes=1, dtype="float32", storage="disk")
    assert found["test_error"] == pytest.approx(known.mean("test_error"), rel=1e-9)
    assert any("float32" in line for line in found["caveats"])


def test_a_flag_is_told_without_a_value():
    error = InputError("retry_failed", "be left out", "nothing failed", True, "Leave <retry_failed=True> out.")
    with told({"retry_failed": True}):
        assert in_options(error) == (
            "`--retry-failed` must be left out: nothing failed. Got --retry-failed. Leave --retry-failed out."
        )


def test_joined_caveats_are_sentences():
    @dataclass(frozen=True)
    class Doubtful:
        value: float = 1.0
        caveats: tuple[str, ...] = ("the first is small.", "|S| is no letter.", "seed 0: a third.", "seed 1: a third.")

    def doubt(problem):
        return Doubtful()

    problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1)
    found = ps.sweep(problem, doubt, alpha=[0.5], processes=1, progress=False)
    (row,) = rows_of(found)
    assert row["caveats"] == "The first is small. |S| is no letter. Seed 0: a third. Seed 1: a third."
    said = style.caveats({"sweep": found})
    assert [line.partition(": ")[2] for line in said] == [
        "the first is small.",
        "|S| is no letter.",
        f"2 of {found.attrs['seeds']} seeds: a third.",
    ]


def test_what_takes_long_is_said_before_it_begins(monkeypatch):
    monkeypatch.setattr(targets, "MANY", 400)
    assert run("solve", *NETWORK, "--target", "power:1.25,399").stderr == ""
    result = run("curve", *NETWORK, "--target", "power:1.25,400", "--alpha", "1,2", "--json")
    assert result.stderr.count("This law has 400 different values: it takes about") == 1
    assert targets.how_long(ps.MarchenkoPastur(0.5)) is None
