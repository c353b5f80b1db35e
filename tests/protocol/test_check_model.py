"""A model of one's own that has a mistake is told so in a sentence; one without is not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import presage as ps
from tests.page_blocks import ROOT, blocks

PAGE = blocks((ROOT / "docs" / "add-a-model.md").read_text(encoding="utf-8"))
NAMES: dict[str, Any] = {"__name__": "ridge_of_the_page"}
exec(compile(PAGE[0].body, "add-a-model.md", "exec", dont_inherit=True), NAMES)
Ridge, solve, simulate = NAMES["RidgeRegression"], NAMES["solve"], NAMES["simulate"]


def variant(**changes: Any) -> Any:
    """The problem of the page with other answers."""
    verbs = {"solve": solve, "simulate": simulate, **changes}
    verbs = {name: answer for name, answer in verbs.items() if answer is not None}
    kind = type("Variant", (Ridge,), {"model": ps.Model("variant", "ridge regression", verbs)})
    return kind(alpha=2.0, ridge=0.1)


def noiseless(problem: Any) -> Any:
    right = solve(problem)
    return type(right)(problem, right.estimation_error, right.train_error, right.estimation_error)


def barless(problem: Any) -> Any:
    found = solve(problem)
    return type("Barless", (type(found),), {"error_bars": {}})(*vars(found).values())


def unseeded(problem: Any, *, d: int, seeds: Any = 8, trainer: Any = None, processes: Any = None, progress: Any = None):
    found = simulate(problem, d=d, seeds=seeds, trainer=trainer, processes=1, progress=False)
    object.__setattr__(found, "test_error", found.test_error + 1e-3 * np.random.default_rng().random(len(found.seeds)))
    return found


def careless(problem: Any, *, d: int, seeds: Any = 8, trainer: Any = None, processes: Any = None, progress: Any = None):
    return simulate(problem, d=d, seeds=seeds, processes=1, progress=False)


def test_the_model_of_the_page_is_right():
    report = ps.check_model(variant(), d=(20, 40))
    assert report.ok, str(report)
    assert "nothing found" in str(report)


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        ("a network", "it is a str, not a problem: derive its class from presage.LearningProblem"),
        (variant(simulate=None), "does not say where simulate is answered"),
        (variant(predict=solve), "answers 'predict', which is no verb"),
        (variant(solve=lambda problem: 0.5), "solve returns a float"),
        (variant(solve=barless), "the observable test_error has no error bar"),
        (variant(solve=noiseless), "theory and training differ in test_error"),
        (variant(simulate=unseeded), "test_error of one seed is another number when it is trained alone"),
        (variant(simulate=lambda problem, d, seeds: None), "simulate does not take trainer"),
        (variant(simulate=careless), "simulate takes a trainer that it does not know"),
        (variant(solve=lambda problem: 1 / 0), "the model raised ZeroDivisionError"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(problem, text):
    report = ps.check_model(problem, d=(20, 40))
    assert not report.ok
    assert re.search(re.escape(text), str(report)), str(report)


def test_a_field_that_is_not_declared_is_found():
    @dataclass(frozen=True)
    class Undeclared(Ridge):  # type: ignore[misc, valid-type]
        extra: float = 1.0

    assert "the field extra is not declared" in str(ps.check_model(Undeclared(alpha=1.0, ridge=0.1)))


def test_a_field_without_words_is_found():
    @dataclass(frozen=True)
    class Wordless(Ridge):  # type: ignore[misc, valid-type]
        extra: float = field(default=1.0, metadata=ps.declared(ps.Number("", example=1.0)))

    assert "the declaration of extra has no words" in str(ps.check_model(Wordless(alpha=1.0, ridge=0.1)))


@pytest.mark.parametrize(
    "problem",
    [
        ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.6, weight_decay=0.3, noise=0.2),
        ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.8, weight_decay=0.3, noise=0.2),
        ps.diagonal_network(ps.PointMasses([0.0, 1.0], [0.8, 0.2]), alpha=0.8, weight_decay=0.3, noise=0.2),
    ],
    ids=lambda problem: problem.model.name,
)
def test_the_models_of_presage_pass(problem):
    report = ps.check_model(problem, d=(20, 40))
    assert report.ok, str(report)


def test_a_field_that_has_another_default_than_it_declares():
    @dataclass(frozen=True)
    class Twofold(Ridge):  # type: ignore[misc, valid-type]
        extra: float = field(default=0.0, metadata=ps.declared(ps.Number("one more", default=0.5)))

    report = str(ps.check_model(Twofold(alpha=1.0, ridge=0.1)))
    assert "the declaration of extra has the default 0.5, and the field has another or none" in report
