"""The Python and the commands that the page hands out give what it shows."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

import presage as ps
from presage.cli.models import known
from presage.page.asked import Asked
from presage.page.described import described
from presage.page.taken import take
from tests.cli.test_cli import run

FIELDS = {"target": "mp:0.5", "alpha": "0.5", "weight_decay": "0.01", "noise": "0.5"}
MODELS = [model["name"] for model in described()["models"]]
QUICK = ("attention", "quadratic", "diagonal", "bilinear")  # solved in no time


def taken(model, fields, **screen):
    told: list[list[dict[str, str]]] = []
    take(told.append, model, fields, screen)
    return {text["what"]: text for text in told[0]}


def executed(python):
    names: dict[str, object] = {}
    exec(python.replace("print(", "shown = (").replace("ps.plot(", "drawn = ("), names)
    return names


@pytest.mark.parametrize("name", MODELS)
def test_the_python_makes_the_problem_of_the_screen(name):
    text = taken(name, {})["these numbers"]["python"]
    made, _, last = text.rpartition("\n")
    names: dict[str, object] = {}
    exec(made, names)
    assert names["problem"] == Asked(name, {}).problem()
    assert last == f"print(ps.{Asked(name, {}).verb}(problem))"


@pytest.mark.parametrize("name", QUICK)
def test_the_command_prints_the_numbers_of_the_screen(name):
    command = taken(name, {"alpha": "0.7"})["these numbers"]["command"]
    done = run(*shlex.split(command)[1:], "--json")
    expected = ps.solve(Asked(name, {"alpha": "0.7"}).problem())
    assert json.loads(done.stdout)["test_error"] == pytest.approx(expected.test_error, rel=1e-8)


def test_a_curve_by_python_and_by_command():
    text = taken("quadratic", FIELDS, along="alpha", low=0.1, high=2.0, points=4, beside=["bayes_optimal", "ridgeless"])
    names = executed(text["this curve"]["python"])
    problem = Asked("quadratic", FIELDS).problem()
    for index, alpha in enumerate(np.geomspace(0.1, 2.0, 4)):
        at = problem.replace(alpha=float(alpha))
        for table, verb in (("curve", ps.solve), ("ridgeless", ps.ridgeless), ("bayes_optimal", ps.bayes_optimal)):
            value = float(names[table]["test_error"][index])
            assert value == pytest.approx(verb(at).test_error, rel=1e-6), table
    first, second = text["this curve"]["command"].splitlines()
    assert "--bayes" in first
    assert "--ridgeless" in second
    rows = json.loads(run(*shlex.split(first)[1:], "--json").stdout)["rows"]
    assert [row["test_error"] for row in rows] == pytest.approx(names["curve"]["test_error"].values.tolist(), rel=1e-6)


def test_whole_numbers_are_a_list_and_linear_ones_evenly_spaced():
    whole = taken("attention", FIELDS, along="n_tokens", low=2.0, high=4.0, points=40)["this curve"]
    assert "n_tokens=[2, 3, 4])" in whole["python"]
    assert "--tokens 2,3,4 " in whole["command"]
    even = taken("attention", FIELDS, along="noise", low=0.0, high=1.0, points=5)["this curve"]
    assert "noise=np.linspace(0, 1, 5))" in even["python"]
    assert "--noise 0:1:5 " in even["command"]


def test_a_map_by_python():
    screen = {"across": "alpha", "up": "noise", "across_range": [0.1, 2.0], "up_range": [0.0, 1.0], "side": 3}
    text = taken("quadratic", FIELDS, **screen)["this map"]
    table = executed(text["python"])["table"]
    at = Asked("quadratic", FIELDS).problem({"alpha": float(np.geomspace(0.1, 2.0, 3)[1]), "noise": 0.5})
    assert float(table["rank"].sel(noise=0.5)[1]) == pytest.approx(ps.solve(at).rank, rel=1e-6)
    rows = json.loads(run(*shlex.split(text["command"])[1:], "--json").stdout)["rows"]
    (row,) = [row for row in rows if row["noise"] == 0.5 and row["alpha"] == pytest.approx(at.alpha)]
    assert row["rank"] == pytest.approx(float(table["rank"].sel(noise=0.5)[1]), rel=1e-8)


@pytest.mark.parametrize("trainer", [None, "lbfgs", "bayes-amp"])
def test_networks_by_python_and_by_command(trainer):
    text = taken("quadratic", FIELDS, d=[16, 12], seeds=2, trainer=trainer)["these networks"]
    found = executed(text["python"])["shown"]
    assert found.rows[0].d == (12, 16)
    rows = json.loads(run(*shlex.split(text["command"])[1:], "--json").stdout)["rows"]
    assert rows[0]["limit"] == pytest.approx(found.rows[0].a, rel=1e-6)


def test_a_long_list_is_taken_as_a_file(tmp_path, monkeypatch):
    values = np.linspace(0.1, 3.0, 500)
    fields = {**FIELDS, "target": "masses:" + ",".join(map(repr, values.tolist()))}
    text = taken("quadratic", fields)["these numbers"]
    assert 'ps.PointMasses(np.load("target.npy"))' in text["python"]
    assert "--target target.npy" in text["command"]
    monkeypatch.chdir(tmp_path)
    np.save("target.npy", values)
    expected = ps.solve(Asked("quadratic", fields).problem()).test_error
    assert executed(text["python"])["shown"].test_error == pytest.approx(expected, rel=1e-12)
    done = run(*shlex.split(text["command"])[1:], "--json")
    assert json.loads(done.stdout)["test_error"] == pytest.approx(expected, rel=1e-12)


def test_every_model_is_one_that_the_command_line_knows():
    assert set(MODELS) <= known().keys()
