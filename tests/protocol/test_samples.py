"""Numbers of samples: a model says what its alpha counts by, and trains on just so many."""

from __future__ import annotations

from typing import Any

import pytest

import presage as ps
from presage.models.attention.experiment import setting as attention
from presage.models.bilinear.experiment import simulate as bilinear
from presage.models.diagonal.experiment import simulate as diagonal
from presage.protocol.model import models
from presage.protocol.problem import LearningProblem

SQUARE = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.37, weight_decay=0.1, noise=0.5)
WIDE = ps.bilinear_regression(ps.GaussianProduct(0.5, 1.6), alpha=1.37, noise=0.5, weight_decay=0.1)
VECTOR = ps.diagonal_network(ps.PointMasses([0.0, 1.0]), alpha=1.37, noise=0.5, weight_decay=0.1)


@pytest.mark.parametrize(
    ("problem", "n", "module", "draw"),
    [
        (SQUARE, round(1.37 * 7 * 7), attention, "sample"),
        (WIDE, round(1.37 * 7 * 11), bilinear, "draw_measurements"),
        (VECTOR, round(1.37 * 7), diagonal, "draw_samples"),
    ],
    ids=["matrix", "matrix without symmetry", "vector"],
)
def test_networks_are_trained_on_as_many_samples_as_the_problem_says(problem, n, module, draw, monkeypatch):
    assert problem.samples(7) == n
    drawn: list[int] = []
    original = getattr(module, draw)

    def counting(*arguments: Any, **options: Any) -> Any:
        drawn.append(arguments[2])
        return original(*arguments, **options)

    monkeypatch.setattr(module, draw, counting)
    ps.simulate(problem, d=7, seeds=1, n_test=10, processes=1, progress=False)
    assert n in drawn


@pytest.mark.parametrize("problem", [SQUARE, WIDE, VECTOR], ids=["matrix", "matrix without symmetry", "vector"])
@pytest.mark.parametrize(("n", "d"), [(1, 3), (20_000, 400), (12_345, 67)])
def test_a_number_of_samples_comes_back(problem, n, d):
    found = problem.with_samples(n, d=d)
    assert found.samples(d) == n
    assert found == problem.replace(alpha=found.alpha)


def test_every_model_says_how_it_counts():
    for model in models():
        for named in model.named:
            parts = {name: law(part) for name, part in named.fields.items() if isinstance(part, ps.Part)}
            kind = type(named(**parts, **told(named)))
            assert kind.samples_at_one is not LearningProblem.samples_at_one


def law(part: ps.Part) -> Any:
    return eval(f"ps.{part.example}")


def told(named: Any) -> dict[str, float]:
    return {
        name: field.example
        for name, field in named.fields.items()
        if isinstance(field, ps.Number) and field.default is None and field.example is not None
    }


def test_bad_counts_are_refused():
    with pytest.raises(ps.InputError, match="`n` must be a whole number >= 1"):
        SQUARE.with_samples(0, d=10)
    with pytest.raises(ps.InputError, match="`d` must be a whole number >= 1"):
        SQUARE.samples(0)

    class Silent(LearningProblem):
        alpha = 1.0

    with pytest.raises(ps.InputError, match="Define samples_at_one"):
        Silent().samples(10)


def test_a_unit_that_looks_wrong_gets_a_hint_and_is_computed():
    odd = ps.quadratic_network(ps.MarchenkoPastur(30.0), alpha=5000.0, weight_decay=0.1, noise=0.5, kappa=100.0)
    said = odd.hints
    assert [text.partition("=")[0] for text in said] == ["alpha", "kappa", "kappa_0"]
    assert "n=20000 and d=400" in said[0]
    assert f"hint: {said[0]}" in str(ps.solve(odd))
    assert SQUARE.hints == ()
    assert "hint" not in str(ps.solve(SQUARE))
