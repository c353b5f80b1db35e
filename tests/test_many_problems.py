"""Random problems through `solve`: an answer that obeys what holds of every answer, or a sentence.

A sample in every run; ten thousand, with `make long`, in batches that go on where they were interrupted.
"""

from __future__ import annotations

import json
import signal
import warnings
from collections import Counter
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

import presage as ps
from tests import many_problems
from tests.any_problem import CHANCES, COUNT, Question, any_problem
from tests.many_problems import FILE, ask, counts, known, run
from tests.theorems import (
    broken,
    broken_between,
    broken_bounds,
    loss_at_multiple,
    neighbours,
    noise_floor,
    penalty_at_multiple,
)

BATCH = 500
MOST_UNSOLVED = 0.005  # a `SolveError` is an honest answer, but a rare one
CHEAP = ("quadratic network", "linear attention", "bilinear", "ridge, linear", "not a problem")


def violations(rows: list[dict[str, Any]]) -> dict[int, list[str]]:
    return {row["index"]: row["broken"] for row in rows if row["outcome"] == "violation"}


def test_a_sample_of_the_cheap_kinds() -> None:
    rows = [ask(index) for index in range(40) if any_problem(index).kind in CHEAP]
    assert not violations(rows), counts(rows)
    assert sum(row["outcome"] == "solved" for row in rows) > 20


@pytest.mark.slow
def test_a_sample_of_every_kind() -> None:
    wanted = Counter({kind: 2 for kind in CHANCES if kind != "softmax of five"})
    rows = []
    for index in range(COUNT):
        kind = any_problem(index).kind
        if wanted[kind] > 0:
            wanted[kind] -= 1
            rows.append(ask(index))
        if not wanted.total():
            break
    assert not violations(rows), counts(rows)


@pytest.mark.slow
def test_a_sample_of_all_pairs_of_tokens() -> None:
    """Of which the weights are solved at a finite size: some seconds each, too long for every bilinear problem."""
    problems = [question.make() for question in map(any_problem, range(1200)) if question.kind == "bilinear"]
    tokens = [one for one in problems if isinstance(one, ps.BilinearProblem) and one.n_tokens and one.weight_decay]
    mild = [one for one in tokens if 0.1 < one.alpha < 3.0 and 0.01 < (one.weight_decay or 0.0) < 3.0]
    answers = [ps.solve(one.replace(pairs="all")) for one in mild[:5]]
    assert [broken(answer) for answer in answers] == [[]] * 5
    wrong = [replace(answer, train_loss=20.0 * answer.train_loss) for answer in answers]
    assert all(broken(answer) for answer in wrong)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_ten_thousand_problems(first: int) -> None:
    rows = run(first, first + BATCH, FILE)
    assert not violations(rows), counts(rows)


@pytest.mark.long
def test_few_of_ten_thousand_are_left_unsolved() -> None:
    rows = run(0, COUNT, FILE)
    unsolved = [row for row in rows if row["outcome"] == "unsolved"]
    assert len(unsolved) <= MOST_UNSOLVED * COUNT, "\n".join(f"{row['index']}: {row['said']}" for row in unsolved)


def test_problems_are_fixed_by_their_number() -> None:
    for index in range(200):
        question, again = any_problem(index), any_problem(index)
        assert question.kind == again.kind
        if not question.must_be_refused:
            assert question.make() == again.make()


def test_every_kind_is_asked() -> None:
    seen = Counter(any_problem(index).kind for index in range(COUNT))
    assert seen.keys() == CHANCES.keys()
    assert all(abs(seen[kind] - COUNT * chance) < 6.0 * (COUNT * chance) ** 0.5 for kind, chance in CHANCES.items())


# Negative controls: a fault is planted, and has to be found.

TARGET = ps.MarchenkoPastur(0.5)
NETWORK = ps.quadratic_network(TARGET, alpha=0.7, weight_decay=0.05, noise=0.5)
ATTENTION = ps.attention(TARGET, alpha=0.7, weight_decay=0.05, noise=0.5)
RIDGE = ps.Problem(TARGET, ps.Linear(2), ps.Frobenius(0.1), 0.4, 0.5)
BILINEAR = ps.bilinear_regression(ps.GaussianProduct(0.5, 2.0), alpha=0.7, weight_decay=0.05, noise=0.1)


@pytest.mark.parametrize("problem", [NETWORK, ATTENTION, RIDGE], ids=["network", "attention", "ridge"])
@pytest.mark.parametrize(
    ("name", "factor", "sentence"),
    [
        ("test_error", nan, "test_error is nan"),
        ("train_loss", -1.0, "below zero"),
        ("train_error", 50.0, "above test_error"),
        ("rank", 20.0, "rank = "),
        ("estimation_error", 1.01, "but Q_0 - 2m + q"),
        ("train_loss", 1.01, "stationary under a common factor"),
        ("square_slope", -1.0, "replicon = "),
    ],
)
def test_a_wrong_number_is_found(problem: ps.Problem, name: str, factor: float, sentence: str) -> None:
    solution = ps.solve(problem)
    assert not broken(solution)
    wrong = replace(solution, **{name: factor * getattr(solution, name)})
    assert sentence in "; ".join(broken(wrong))


@pytest.mark.parametrize("problem", [NETWORK, ATTENTION], ids=["network", "attention"])
def test_wrong_overlaps_are_found(problem: ps.Problem) -> None:
    solution = ps.solve(problem)
    m, q, Sigma = solution.overlaps
    beyond = (1.001 * q * problem.Q_0) ** 0.5
    wrong = replace(solution, overlaps=ps.Overlaps(beyond, q, Sigma))
    assert "above sqrt(q Q_0)" in "; ".join(broken(wrong))
    wrong = replace(solution, overlaps=ps.Overlaps(-m, q, Sigma))
    assert "negative for two positive matrices" in "; ".join(broken(wrong))
    hats = solution.conjugates
    wrong = replace(solution, conjugates=hats._replace(Sigma_hat=1.01 * hats.Sigma_hat))
    assert "stationary under a common factor" in "; ".join(broken(wrong))
    wrong = replace(solution, rank=0.99 * solution.rank)
    assert "the rank is" in "; ".join(broken(wrong))


def test_wrong_error_bars_are_found() -> None:
    solution = ps.solve(NETWORK)
    for bar in (nan, inf, -1e-3):
        wrong = replace(solution, bars={**solution.bars, "rank": bar})
        assert "the error bar of rank" in "; ".join(broken(wrong))


@pytest.mark.parametrize("problem", [NETWORK, ATTENTION], ids=["network", "attention"])
def test_a_loss_above_that_of_another_matrix_is_found(problem: ps.Problem) -> None:
    clean = ps.solve(problem.replace(noise=0.0, alpha=3.0))
    assert list(broken_bounds(clean)) == []
    at_target = penalty_at_multiple(clean.problem, 1.0)  # the target fits clean labels, and pays for its weights
    assert "1 times the target" in "; ".join(broken_bounds(replace(clean, train_loss=1.01 * at_target)))
    noisy = ps.solve(problem.replace(alpha=0.1, kappa=0.3, weight_decay=1.0))  # too narrow for the target
    assert list(broken_bounds(noisy)) == []
    at_zero = noisy.problem.alpha * loss_at_multiple(noisy.problem, 0.0).mean
    assert "0 times the target" in "; ".join(broken_bounds(replace(noisy, train_loss=1.05 * at_zero)))
    floor = noise_floor(problem).mean
    assert "below the noise" in "; ".join(broken_bounds(replace(noisy, test_error=0.8 * floor)))


@pytest.mark.parametrize("problem", [NETWORK, ATTENTION], ids=["network", "attention"])
def test_bounds_are_tight_where_they_can_be(problem: ps.Problem) -> None:
    """A strong penalty leaves the loss at zero; much data leaves the noise of the labels."""
    strong = ps.solve(problem.replace(weight_decay=1e3))
    at_zero = loss_at_multiple(problem, 0.0)
    assert strong.train_loss == pytest.approx(problem.alpha * at_zero.mean, abs=problem.alpha * at_zero.slack + 1e-9)
    much = ps.solve(problem.replace(alpha=1e3))
    floor = noise_floor(problem)
    assert much.test_error == pytest.approx(floor.mean, rel=0.02, abs=floor.slack)


@pytest.mark.parametrize("problem", [NETWORK, RIDGE, BILINEAR, ATTENTION], ids=["net", "ridge", "bilinear", "softmax"])
def test_a_loss_that_is_off_its_neighbours_is_found(problem: Any) -> None:
    solution = ps.solve(problem)
    for name, neighbour in neighbours(problem).items():
        other: Any = ps.solve(neighbour)
        assert broken_between(solution, name, other) == []
        for wrong in (0.99 * solution.train_loss, 10.0 * solution.train_loss):
            found = broken_between(solution, name, replace(other, train_loss=wrong))
            assert "train_loss rises by" in "; ".join(found)


@pytest.mark.parametrize(
    ("name", "factor", "sentence"),
    [
        ("estimation_error", -1.0, "below zero"),
        ("rank", 1.01, "the rank is"),
        ("test_error", 0.01, "above test_error"),
        ("test_error", 0.1, "below the noise"),
        ("train_loss", 1.01, "the spectrum pays"),
        ("train_loss", 20.0, "the loss at 0 times the target"),
    ],
)
def test_a_wrong_bilinear_number_is_found(name: str, factor: float, sentence: str) -> None:
    solution = ps.solve(BILINEAR)
    assert not broken(solution)
    wrong = replace(solution, **{name: factor * getattr(solution, name)})
    assert sentence in "; ".join(broken(wrong))


def test_whatever_goes_wrong_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(make: Any, kind: str = "quadratic network") -> dict[str, Any]:
        monkeypatch.setattr(many_problems, "any_problem", lambda index: Question(kind, make))
        return ask(0)

    def crash() -> ps.Problem:
        raise KeyError("planted")

    def warn() -> ps.Problem:
        warnings.warn("planted", RuntimeWarning, stacklevel=1)
        return NETWORK

    def hang() -> ps.Problem:
        while True:
            pass

    def refuse() -> ps.Problem:
        raise ValueError("no")

    assert planted(lambda: NETWORK)["outcome"] == "solved"
    assert planted(crash)["broken"] == ["KeyError: 'planted'"]
    assert planted(warn)["broken"] == ["RuntimeWarning: planted"]
    assert planted(refuse)["broken"] == ["refused: no"]
    assert planted(refuse, "not a problem")["outcome"] == "violation"
    assert planted(lambda: NETWORK, "not a problem")["broken"] == ["it was solved, and should have been refused"]
    if hasattr(signal, "setitimer"):
        monkeypatch.setattr(many_problems, "SECONDS", 0.2)
        assert planted(hang)["broken"] == ["HangError: more than 0.2 seconds"]


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(index: int) -> dict[str, Any]:
        asked.append(index)
        return {"index": index, "source": many_problems.fingerprint(), "kind": "x", "outcome": "solved", "seconds": 0.0}

    monkeypatch.setattr(many_problems, "ask", noted)
    file = tmp_path / "rows.jsonl"
    run(0, 3, file)
    lines = file.read_text().splitlines()
    older = json.dumps({**json.loads(lines[1]), "source": "another"})
    file.write_text("\n".join([lines[0], older, lines[2][:20]]))  # one of other sources, one cut short
    assert [row["index"] for row in run(0, 5, file)] == [0, 1, 2, 3, 4]
    assert asked == [0, 1, 2, 1, 2, 3, 4]
    assert sorted(known(file)) == [0, 1, 2, 3, 4]
