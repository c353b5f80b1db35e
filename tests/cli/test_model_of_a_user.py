"""A model outside the package, `--model module:name`, has every command that its verbs answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from presage.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
MODULE = '''"""The mean of a normal variable, shrunk towards zero: a model of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import presage as ps
from presage.protocol.ensemble import Ensemble, Outcome, Setting, streams, train_ensemble
from presage.protocol.trainer import Trainer

ERROR = ps.Observable("estimation_error", "squared error of the mean", "squared error")
MODEL = ps.Model(
    name="shrinking",
    words="the mean of normal variables, shrunk towards zero",
    verbs={"solve": "shrink:solve", "simulate": "shrink:simulate"},
    measured=(ERROR,),
)


@dataclass(frozen=True)
class Mean(ps.LearningProblem):
    """The mean of normal variables, shrunk towards zero."""

    alpha: float = field(metadata=ps.declared(ps.Number("samples over the dimension, n/d", above=0.0, example=2.0)))
    shrinkage: float = field(
        default=0.5, metadata=ps.declared(ps.Number("weight of the zero", symbol="s", at_least=0.0, example=0.1))
    )

    model = MODEL


@dataclass(frozen=True)
class Predicted(ps.Prediction):
    problem: Mean
    estimation_error: float

    observables = (ERROR,)
    compared = ("estimation_error",)

    @property
    def error_bars(self):
        return {"estimation_error": 1e-12}


def solve(problem):
    if problem.shrinkage > 100:
        raise ps.SolveError("Nothing is left.", "Use a smaller <shrinkage>.")
    kept = 1 / (1 + problem.shrinkage)
    return Predicted(problem, (1 - kept) ** 2 + kept**2 / problem.alpha)


@dataclass(frozen=True, eq=False, kw_only=True)
class Means(Ensemble):
    estimation_error: np.ndarray = field(repr=False)
    observables = (ERROR,)


@dataclass(frozen=True)
class MeanSetting(Setting):
    problem: Mean
    d: int
    trainer: Trainer
    kind = Means
    memory = 1e4
    size = "a few samples"

    def train(self, seed, threads):
        n = round(self.problem.alpha * 10)
        truth, noise, *_ = streams(seed, self.d)
        mean = truth.standard_normal(self.d)
        data = mean + noise.standard_normal((n, self.d)) * np.sqrt(10)
        fit = data.mean(0) / (1 + self.problem.shrinkage)
        return Outcome(seed, {"estimation_error": float(np.mean((fit - mean) ** 2))})


def simulate(problem, *, d, seeds=8, processes=None, progress=None):
    return train_ensemble(MeanSetting(problem, d, Trainer()), seeds, processes=processes, progress=progress)
'''
NAMED = """
EASY = ps.NamedProblem(
    "easy", "the mean, hardly shrunk", "shrink:easy", {"alpha": ps.Number("samples over the dimension", example=3.0)}
)


def easy(alpha, shrinkage=0.25):
    return Mean(alpha, shrinkage)


@dataclass(frozen=True)
class Undeclared(ps.LearningProblem):
    depth: int

    model = MODEL


@dataclass(frozen=True)
class Homeless(ps.LearningProblem):
    alpha: float = 1.0


@dataclass(frozen=True)
class Clash(ps.LearningProblem):
    seeds: float = field(default=1.0, metadata=ps.declared(ps.Number("what is sown", example=1.0)))

    model = MODEL


@dataclass(frozen=True)
class Built(ps.LearningProblem):
    engine: Trainer = field(
        metadata=ps.declared(ps.Part("engine", kind="presage.protocol.trainer.Trainer", example="Trainer()"))
    )

    model = MODEL
"""
MEAN = ["--model", "shrink:Mean"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the user, with the module in it; nothing of it is left behind."""
    (tmp_path / "shrink.py").write_text(MODULE + NAMED, encoding="utf-8")
    (tmp_path / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    (tmp_path / "needy.py").write_text("import no_such_package\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("shrink", "broken", "needy"):
        sys.modules.pop(name, None)


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(arguments), prog_name="presage")
    assert result.exit_code == code, (arguments, result.output, result.exception)
    return result


def error(alpha: float, shrinkage: float) -> float:
    kept = 1 / (1 + shrinkage)
    return (1 - kept) ** 2 + kept**2 / alpha


def test_solve():
    found = json.loads(run("solve", *MEAN, "--shrinkage", "0.3", "--json").stdout)
    assert found["problem"] == {"model": "shrink:Mean", "alpha": 2.0, "shrinkage": 0.3}
    assert found["estimation_error"] == pytest.approx(error(2.0, 0.3))
    out = run("solve", *MEAN).stdout
    assert out.startswith("shrink:Mean, alpha 2, shrinkage 0.5\n")
    assert "squared error of the mean" in out
    assert "Weight of the zero. Default 0.5." in run("solve", *MEAN, "--help").stdout


def test_curve(folder):
    options = ["--shrinkage", "0:2:5", "--plot", "curve.svg"]
    rows = json.loads(run("curve", *MEAN, *options, "--json").stdout)["rows"]
    assert [row["estimation_error"] for row in rows] == pytest.approx([error(2.0, row["shrinkage"]) for row in rows])
    words = (folder / "curve.svg").read_text(encoding="utf-8")
    assert "<!-- weight of the zero -->" in words
    assert "<!-- squared error -->" in words
    out = run("curve", *MEAN, "--shrinkage", "1,200").stdout
    assert "at shrinkage = 200: failed: Nothing is left. Use a smaller --shrinkage." in " ".join(out.split())


def test_simulate_and_compare(folder):
    training = ["--seeds", "3", "--workers", "1"]
    found = json.loads(run("simulate", *MEAN, *training, "--d", "200", "--json").stdout)
    assert found["estimation_error"] == pytest.approx(error(2.0, 0.5), rel=0.2)
    assert "3 networks of d = 200" in run("simulate", *MEAN, *training, "--d", "200", "--plot", "s.png").stdout
    out = run("compare", *MEAN, *training, "--d", "200,400", "--plot", "compare.svg").stdout
    assert "estimation_error" in out
    assert "squared error" in (folder / "compare.svg").read_text(encoding="utf-8")


def test_sweep(folder):
    options = ["--alpha", "1,2", "--shrinkage", "0:2:3", "--workers", "1", "--plot", "sweep.svg"]
    rows = json.loads(run("sweep", "solve", *MEAN, *options, "--json").stdout)["rows"]
    assert [row["estimation_error"] for row in rows] == pytest.approx(
        [error(row["alpha"], row["shrinkage"]) for row in rows]
    )
    assert "<!-- alpha 2 -->" in (folder / "sweep.svg").read_text(encoding="utf-8")
    assert "6 cells: 6 done." in run("sweep", "solve", *MEAN, *options).stdout
    assert (
        "2 cells: 2 done." in run("sweep", "simulate", *MEAN, "--d", "20,40", "--seeds", "2", "--workers", "1").stdout
    )


def test_other_processes_find_the_module(folder):
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = ["sweep", "solve", *MEAN, "--alpha", "1:2:4", "--shrinkage", "0:2:6", "--workers", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "presage", *words],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert "24 cells: 24 done." in done.stdout


def test_a_problem_with_a_name():
    found = json.loads(run("solve", "--model", "shrink:EASY", "--json").stdout)
    assert found["problem"] == {"model": "shrink:EASY", "alpha": 3.0}
    assert found["estimation_error"] == pytest.approx(error(3.0, 0.25))


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["solve", *MEAN, "--shrinkage", "-1"], "Got --shrinkage -1. Use for example --shrinkage 0.1."),
        (["solve", *MEAN, "--noise", "1"], "is no option of --model shrink:Mean, which has --alpha, --shrinkage."),
        (["solve", *MEAN, "--shrinkge", "1"], "--shrinkage"),
        (["solve", "--shrinkage", "1"], "No such option: --shrinkage"),
        (["curve", *MEAN], "Use for example --alpha 0.05:40:60log."),
        (
            ["curve", *MEAN, "--alpha", "1,2", "--show", "beauty", "--plot", "x.png"],
            "`--show` must name observables: estimation_error.",
        ),
        (["simulate", *MEAN, "--task", "label"], "which takes --d, --seeds, --workers."),
        (["simulate", *MEAN, "--trainer", "amp"], "this model has one way to train"),
        (["spectrum", *MEAN], "has no spectrum. Use `presage solve`"),
        (["bayes", *MEAN], "has no `presage bayes`"),
        (["curve", *MEAN, "--alpha", "1,2", "--bayes"], "has no `presage bayes`"),
        (["sweep", "thresholds", *MEAN, "--alpha", "1,2"], "has no `presage thresholds`"),
        (["solve", "--model", "shrink:Nothing"], "The module shrink has Mean, EASY"),
        (["solve", "--model", "shrink:MODEL"], "which is of Model."),
        (["solve", "--model", "nowhere:Mean"], "names the module nowhere, which is neither in this folder"),
        (["solve", "--model", "broken:Mean"], "importing broken ends in ZeroDivisionError"),
        (["solve", "--model", "needy:Mean"], "importing needy ends in: No module named 'no_such_package'."),
        (["solve", "--model", "shrink:"], "or module:name for a problem of your own."),
        (["solve", "--model", "shrink:Undeclared"], "must declare its field depth"),
        (["solve", "--model", "shrink:Homeless"], "must say of which model it is"),
        (["simulate", "--model", "shrink:Clash"], "`presage simulate` has an option of that name"),
        (["solve", "--model", "shrink:Built"], "`--engine` cannot be written in a command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_gets_one_sentence_and_the_remedy(arguments, remedy):
    result = run(*arguments, code=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert remedy in line


STEPS = """

@dataclass(frozen=True)
class Stepped(Predicted):
    @property
    def spectrum(self):
        return ps.PointMasses(list(range(self.problem.levels + 1)))


@dataclass(frozen=True)
class Steps(Mean):
    levels: int = field(default=2, metadata=ps.declared(ps.Number("values there are", at_least=1, whole=True)))

    model = ps.Model(
        name="steps", words="a law of steps", verbs={"solve": "shrink:stepped"}, measured=(ERROR,)
    )


def stepped(problem):
    return Stepped(problem, 1.0)
"""


BARE = """

@dataclass(frozen=True)
class Bare(ps.LearningProblem):
    shrinkage: float = field(default=0.5, metadata=ps.declared(ps.Number("weight of the zero", example=0.1)))

    model = ps.Model(name="bare", words="no samples", verbs={"solve": "shrink:bare"}, measured=(ERROR,))


def bare(problem):
    return Predicted(problem, problem.shrinkage**2)
"""


def test_a_dimension_beside_a_problem_that_counts_no_samples(folder):
    (folder / "shrink.py").write_text(MODULE + BARE, encoding="utf-8")
    found = json.loads(run("curve", "--model", "shrink:Bare", "--shrinkage", "1,2", "--d", "400", "--json").stdout)
    assert [row["estimation_error"] for row in found["rows"]] == [1.0, 4.0]
    assert not any("n" in row for row in found["rows"])


@pytest.mark.parametrize("levels", [2, 20])
def test_repeated_values_are_in_the_table_and_in_json(levels, folder):
    (folder / "shrink.py").write_text(MODULE + STEPS, encoding="utf-8")
    arguments = ["spectrum", "--model", "shrink:Steps", "--levels", str(levels)]
    found = json.loads(run(*arguments, "--json").stdout)
    assert [atom["at"] for atom in found["atoms"]] == list(range(1, levels + 1))
    fractions = [found["zero"], *(bulk["mass"] for bulk in found["bulks"]), *(atom["mass"] for atom in found["atoms"])]
    assert sum(fractions) == pytest.approx(1.0)
    said = run(*arguments).stdout
    assert said.count("repeated ") == min(levels, 12) + (levels > 12)
    assert ("20 repeated values in all; --json has every one." in said) == (levels == 20)
