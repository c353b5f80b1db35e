"""The verbs: answers come from the model's own folder, and what a model does not take is refused by name."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.bilinear.experiment import simulate as bilinear_experiment
from presage.models.bilinear.theory import explicit_map
from presage.protocol.model import found, models

MATRIX = ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.6, weight_decay=0.1, noise=0.3)
NETWORK = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, noise=0.2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokens", ps.Rademacher()),
        ("task", "sequence"),
        ("centring", "mean"),
        ("dtype", "float32"),
        ("storage", "disk"),
        ("d_", 10),
    ],
)
def test_an_option_that_training_does_not_take_is_refused_by_name(name, value):
    with pytest.raises(ps.InputError, match=f"`{name}` must be left out here.*takes d, seeds, trainer, n_test"):
        ps.simulate(MATRIX, d=6, seeds=2, **{name: value})


@pytest.mark.parametrize(("verb", "name"), [(ps.solve, "solver"), (ps.solve, "init"), (ps.thresholds, "tol")])
def test_an_option_that_theory_does_not_take_is_refused_by_name(verb, name):
    with pytest.raises(ps.InputError, match=f"`{name}` must be left out here") as refused:
        verb(MATRIX, **{name: None})
    assert (refused.value.name, refused.value.value) == (name, None)


def test_a_matrix_without_symmetry_takes_a_tolerance_and_may_not_throw():
    target = ps.SingularValueMasses([0.0, 0.23, 0.8], [0.5, 0.32, 0.18])
    hard = ps.bilinear_regression(target, alpha=3.3, weight_decay=1e-8)
    with pytest.raises(ps.SolveError, match="left with a residual"):
        ps.solve(hard)
    partial = ps.solve(hard, throw=False)
    assert partial.residual > 1e-6
    assert any("left with a residual" in line for line in partial.caveats)
    with pytest.raises(ps.SolveError):
        ps.solve(MATRIX, tol=1e-300)
    with pytest.raises(ValueError, match="`tol` must be"):
        ps.solve(MATRIX, tol=0.0)


def test_what_a_model_has_no_answer_to_is_said():
    with pytest.raises(ps.InputError, match=r"has no answer to ridgeless\..*It answers solve, simulate, thresholds"):
        ps.ridgeless(MATRIX)
    with pytest.raises(
        ps.InputError, match=r"`problem` must be a LearningProblem.*Make one with for example attention\("
    ):
        ps.solve("a network")  # type: ignore[arg-type]


def test_seeds_of_any_model_are_trained_in_parallel_with_the_same_numbers():
    one, two = (ps.simulate(MATRIX, d=8, seeds=4, n_test=50, processes=n) for n in (1, 2))
    for name in ("test_error", "train_loss", "estimation_error", "rank", "singular_values", "gap"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


def test_a_seed_that_fails_does_not_end_the_others(monkeypatch):
    train = bilinear_experiment._train
    calls: list[int] = []

    def failing(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise ps.TrainError("It went wrong.", "Try again.")
        return train(*arguments)

    monkeypatch.setattr(bilinear_experiment, "_train", failing)
    found = ps.simulate(MATRIX, d=6, seeds=3, n_test=20, processes=1)
    assert found.failures == {1: "It went wrong. Try again."}
    assert np.isnan(found.test_error[1])
    assert np.isfinite(found.values("test_error")).all()
    assert len(found.values("rank")) == 2
    assert "seed 1 failed: It went wrong." in str(found)


def test_every_seed_failing_is_an_error_with_the_ensemble(monkeypatch):
    def failing(*arguments: Any) -> Any:
        raise ps.TrainError("It went wrong.", "Try again.")

    monkeypatch.setattr(bilinear_experiment, "_train", failing)
    with pytest.raises(ps.TrainError, match="None of the 2 matrices could be trained; seed 0: It went wrong") as error:
        ps.simulate(MATRIX, d=6, seeds=2, n_test=20, processes=1)
    assert error.value.partial.failures.keys() == {0, 1}
    assert np.isnan(error.value.partial.test_error).all()


def test_a_sweep_of_matrices_computes_each_cell_once(monkeypatch):
    asked: list[float] = []
    point = explicit_map.solve_bilinear_point

    def counting(target: Any, noise: float, alpha: float, decay: float) -> Any:
        asked.append(alpha)
        return point(target, noise, alpha, decay)

    monkeypatch.setattr("presage.models.bilinear.theory.solution.solve_bilinear_point", counting)
    table = ps.sweep(MATRIX, ps.solve, alpha=[0.3, 0.4, 0.5], processes=1, progress=False)
    assert asked == [0.3, 0.4, 0.5]
    assert set(table.outcome.values) == {"done"}


def test_a_sweep_of_trained_matrices_hands_its_processes_on(monkeypatch):
    given: list[Any] = []
    train = ps.train_ensemble

    def watching(setting: Any, seeds: Any, *, processes: Any, **options: Any) -> Any:
        given.append(processes)
        return train(setting, seeds, processes=processes, **options)

    monkeypatch.setattr(bilinear_experiment, "train_ensemble", watching)
    ps.sweep(MATRIX, ps.simulate, alpha=[0.4, 0.5], d=6, seeds=2, n_test=20, processes=2, progress=False)
    assert given == [2, 2]


@pytest.mark.slow
def test_the_posterior_mean_of_a_matrix_is_compared_with_the_bayes_optimal_error():
    best = ps.bayes_optimal(MATRIX)
    trainer = ps.BayesAMP(best.denoiser, steps=25)
    found = ps.compare(best, *(ps.simulate(MATRIX, d=d, seeds=5, trainer=trainer, n_test=50) for d in (16, 32)))
    assert [row.name for row in found.rows] == ["estimation_error"]
    assert found.agrees, str(found)
    with pytest.raises(ps.InputError, match="be trained for the prediction"):
        ps.compare(ps.solve(MATRIX), ps.simulate(MATRIX, d=6, seeds=2, trainer=trainer, n_test=20))


def test_a_curve_is_its_points_also_where_a_model_has_none_of_its_own():
    curve = ps.bayes_curve(MATRIX, alpha=[0.3, 0.6])
    assert [point.mmse for point in curve] == [ps.bayes_optimal(MATRIX.replace(alpha=a)).mmse for a in (0.3, 0.6)]


def test_a_sweep_over_what_a_model_has_no_answer_to_is_refused_at_once():
    with pytest.raises(ps.InputError, match="has no answer to ridgeless"):
        ps.sweep(MATRIX, ps.ridgeless, alpha=[0.1, 0.2], progress=False)
    with pytest.raises(ps.InputError, match="`alpha` must be a list"):
        ps.bayes_curve(MATRIX, alpha=0.3)


VECTOR = ps.diagonal_network(ps.PointMasses([0.0, 1.0], [0.8, 0.2]), alpha=0.8, weight_decay=0.05, noise=0.2)


@pytest.mark.parametrize("problem", [MATRIX, VECTOR], ids=lambda problem: problem.model.name)
def test_every_field_of_a_trainer_counts(problem):
    """The steps of L-BFGS depend on its memory, and so do the last digits of where it stops."""
    one, many = (
        ps.simulate(problem, d=10, seeds=2, n_test=20, processes=1, trainer=ps.LBFGS(memory=memory))
        for memory in (1, 20)
    )
    assert not np.array_equal(one.train_loss, many.train_loss)


def test_message_passing_says_whether_it_settled():
    trainer = ps.BayesAMP(ps.bayes_optimal(MATRIX).denoiser, steps=1)
    found = ps.simulate(MATRIX, d=10, seeds=2, n_test=20, processes=1, trainer=trainer)
    assert not found.converged.any()
    assert "still moves" in found.caveats[0]


def test_options_are_those_of_the_model():
    assert ps.option_names(ps.solve, NETWORK) == ["solver", "init", "tol", "throw", "accuracy"]
    assert ps.option_names(ps.solve, MATRIX) == ["accuracy", "tol", "throw"]
    assert "tokens" in ps.option_names(ps.simulate, NETWORK)
    assert {"processes", "progress"} <= {*ps.option_names(ps.simulate, MATRIX)}
    assert ps.option_names(lambda problem, shift=0.0: shift, NETWORK) == ["shift"]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_a_declaration_leads_to_what_it_names(model):
    for verb in model.verbs:
        assert callable(model.answer(verb)), verb
    for place in model.trainers.values():
        assert issubclass(found(place), ps.Trainer)
    for named in model.named:
        assert set(named.fields) <= set(inspect.signature(found(named.make)).parameters)
        assert all(declaration.words for declaration in named.fields.values())
