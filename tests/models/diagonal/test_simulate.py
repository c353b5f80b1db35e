"""Trained vectors: optimality, the network against the LASSO, and both against the theory."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.diagonal.experiment.simulate import draw_samples, draw_target
from presage.models.diagonal.experiment.training import Data, train_coordinates, train_factors, train_proximal
from presage.protocol import extras

SPARSE = ps.PointMasses([-2.0, 0.0, 1.0], [0.1, 0.8, 0.1])
PROBLEM = ps.diagonal_network(SPARSE, alpha=0.5, weight_decay=0.1, noise=0.1)
OBSERVABLES = ("test_error", "train_loss", "train_error", "estimation_error", "nonzero")


def some_data(seed: int, *, d: int = 120, alpha: float = 0.6, decay: float = 0.2) -> Data:
    rng = np.random.default_rng(seed)
    theta_0 = draw_target(PROBLEM, d, rng)
    return Data(*draw_samples(theta_0, 0.1, round(alpha * d), rng), decay)


# Data


def test_a_vector_has_each_atom_once():
    law = ps.PowerLaw(1.25, 60)
    problem = ps.diagonal_network(law, alpha=1.0, weight_decay=0.1)
    theta = draw_target(problem, 60, np.random.default_rng(0))
    assert np.array_equal(np.sort(theta), law.atoms.positions)
    assert not np.array_equal(theta, np.sort(theta))
    drawn = draw_target(problem.replace(draw="gaussian"), 60, np.random.default_rng(0))
    assert np.array_equal(np.abs(drawn) > 0, theta > 0)
    counts = np.unique(draw_target(PROBLEM, 50, np.random.default_rng(1)), return_counts=True)[1]
    assert counts.tolist() == [5, 40, 5]


def test_gaussian_entries_have_the_variances_of_the_law():
    problem = ps.diagonal_network(ps.PointMasses([0.5, 2.0]), alpha=1.0, weight_decay=0.1, draw="gaussian")
    theta = draw_target(problem, 40_000, np.random.default_rng(0))
    assert np.mean(theta) == pytest.approx(0.0, abs=0.03)
    assert np.mean(theta**2) == pytest.approx(problem.Q_0, rel=0.03)
    assert np.mean(theta**4) == pytest.approx(3 * (0.5**4 + 2.0**4) / 2, rel=0.1)


def test_labels_have_the_size_of_the_target():
    theta = draw_target(PROBLEM, 200, np.random.default_rng(0))
    A, labels = draw_samples(theta, 0.3, 20_000, np.random.default_rng(1))
    assert np.mean(labels**2) == pytest.approx(PROBLEM.Q_0 + 0.3, rel=0.04)
    assert np.mean((labels - A @ theta) ** 2) == pytest.approx(0.3, rel=0.04)
    assert np.mean(A**2) == pytest.approx(1 / 200, rel=0.01)


# Training


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("alpha", "decay"), [(0.6, 0.2), (2.0, 0.05)])
def test_coordinate_descent_ends_where_no_subgradient_is_left(seed, alpha, decay):
    """The gradient of the square error is ``-2 lambda sign(theta)`` where theta is not zero, and smaller elsewhere."""
    data = some_data(seed, alpha=alpha, decay=decay)
    fit = train_coordinates(data, tol=1e-12, steps=100_000)
    slope = data.square_error(fit.theta).gradient / (2 * decay)
    kept = fit.theta != 0
    assert fit.converged
    assert 0 < kept.sum() < len(kept)
    assert slope[kept] == pytest.approx(-np.sign(fit.theta[kept]), abs=1e-5)
    assert np.abs(slope[~kept]).max() < 1
    assert fit.loss == pytest.approx(data.square_error(fit.theta).value + 2 * decay * np.abs(fit.theta).sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("alpha", "decay"), [(0.6, 0.2), (2.0, 0.05), (0.3, 1.0)])
def test_the_network_reaches_the_minimum_of_the_lasso(seed, alpha, decay):
    """L-BFGS on u and v, from a random start: the loss of the LASSO, twice, and the same entries."""
    data = some_data(seed, alpha=alpha, decay=decay)
    exact = train_coordinates(data, tol=1e-12, steps=100_000)
    network = train_factors(data, np.random.default_rng(seed), tol=1e-6, steps=20_000)
    assert network.gap < 1e-5
    assert abs(network.loss / exact.loss - 1) < 1e-6
    assert np.array_equal(network.support, exact.theta != 0)
    assert network.theta == pytest.approx(exact.theta, abs=1e-3)
    proximal = train_proximal(data, np.random.default_rng(seed), tol=1e-8, steps=20_000)
    assert abs(proximal.loss / exact.loss - 1) < 1e-7
    assert np.array_equal(proximal.support, exact.theta != 0)


def test_the_duality_gap_bounds_the_loss():
    data = some_data(5)
    exact = train_coordinates(data, tol=1e-13, steps=100_000)
    for tol in (1e-1, 1e-2, 1e-3):
        rough = train_proximal(data, np.random.default_rng(0), tol=tol, steps=20_000)
        assert -1e-12 < rough.loss - exact.loss <= rough.gap * rough.loss


def test_everything_is_cut_by_a_large_weight_decay():
    for train in (train_proximal, train_factors):
        fit = train(some_data(0, decay=100.0), np.random.default_rng(0), tol=1e-6, steps=1000)
        assert fit.converged
        assert not fit.support.any()
    assert not train_coordinates(some_data(0, decay=100.0), tol=1e-6, steps=1000).theta.any()


def test_an_early_stop_is_said():
    for trainer in (ps.ProximalGradient(steps=3), ps.Lasso(steps=1), ps.LBFGS(steps=3)):
        ensemble = ps.simulate(PROBLEM, d=40, seeds=1, trainer=trainer, n_test=10, processes=1)
        assert not ensemble.converged[0]
        assert "seed 0: the training stopped with a duality gap of" in ensemble.caveats[0]


# Witnesses


@pytest.fixture(scope="module")
def trained() -> list[ps.DiagonalEnsemble]:
    return [ps.simulate(PROBLEM, d=d, seeds=30, n_test=4000, processes=1) for d in (100, 300)]


def test_trained_vectors_are_on_the_curve(trained):
    comparison = ps.compare(ps.solve(PROBLEM), *trained)
    assert [row.name for row in comparison.rows] == [*OBSERVABLES]
    assert all(abs(row.z) < 3.5 for row in comparison.rows), str(comparison)
    assert all(e.converged.all() and (e.gap <= 1e-6).all() for e in trained)


@pytest.mark.parametrize("change", [{"weight_decay": 0.1 * sqrt(2)}, {"weight_decay": 0.1 / sqrt(2)}, {"alpha": 0.6}])
def test_a_wrong_factor_is_found_out(trained, change):
    wrong = ps.solve(PROBLEM.replace(**change))
    larger = trained[1]
    away = {n: (larger.mean(n) - getattr(wrong, n)) / larger.standard_error(n) for n in OBSERVABLES}
    assert max(map(abs, away.values())) > 6, away


def test_entries_of_the_fit_have_the_predicted_law(trained):
    larger, entries = trained[1], ps.solve(PROBLEM).entries
    for level in (-1.5, -0.5, 0.0, 0.3, 0.8):
        below = np.mean(larger.entries <= level, axis=1)
        assert below.mean() == pytest.approx(entries.cdf(level), abs=4 * below.std() / sqrt(30) + 1 / larger.d)


@pytest.mark.parametrize("draw", ["fixed", "gaussian"])
def test_power_laws_of_the_size_of_the_vector(draw):
    problem = ps.diagonal_network(ps.PowerLaw(0.75, 300), alpha=0.5, weight_decay=0.5, noise=0.5, draw=draw)
    ensemble, solution = ps.simulate(problem, d=300, seeds=30, n_test=2000, processes=1), ps.solve(problem)
    for name in OBSERVABLES:
        tolerance = 3.5 * ensemble.standard_error(name) + 1 / 300
        assert ensemble.mean(name) == pytest.approx(getattr(solution, name), abs=tolerance)


def test_the_network_itself_is_on_the_curve():
    ensemble = ps.simulate(PROBLEM, d=200, seeds=16, trainer=ps.LBFGS(), n_test=2000, processes=1)
    solution = ps.solve(PROBLEM)
    for name in OBSERVABLES:
        tolerance = 3.5 * ensemble.standard_error(name) + 1 / 200
        assert ensemble.mean(name) == pytest.approx(getattr(solution, name), abs=tolerance)


def test_numbers_depend_on_the_seed_alone():
    three = ps.simulate(PROBLEM, d=40, seeds=3, n_test=50, processes=1)
    again = ps.simulate(PROBLEM, d=40, seeds=[2], n_test=50, processes=1)
    assert [getattr(three, n)[2] for n in OBSERVABLES] == [getattr(again, n)[0] for n in OBSERVABLES]
    assert "3 vectors of d = 40, trained by ProximalGradient(tol=1e-06, steps=20000)" in str(three)


def test_what_differs_from_the_limit_is_said():
    problem = ps.diagonal_network(ps.PowerLaw(1.0, 30), alpha=0.55, weight_decay=0.1, noise=0.1)
    notes = ps.simulate(problem, d=41, seeds=1, n_test=10, processes=1).notes
    assert "alpha d = 22.55 is not a whole number: 23 samples are used." in notes
    assert any("the target has 30 different entries" in note for note in notes)


# Views


def test_sweeps_of_both_witnesses():
    predicted = ps.sweep(PROBLEM, ps.solve, alpha=[0.3, 0.6], weight_decay=[0.05, 0.5])
    assert predicted.test_error.shape == (2, 2)
    assert float(predicted.test_error.sel(alpha=0.3, weight_decay=0.5)) == pytest.approx(
        ps.solve(PROBLEM.replace(alpha=0.3, weight_decay=0.5)).test_error, rel=1e-9
    )
    shown = ps.sweep(PROBLEM, ps.simulate, alpha=[0.3, 0.6], d=[40], seeds=2, n_test=50, processes=1)
    assert np.isfinite(shown.nonzero).all()
    assert shown.entries.shape[-1] == 40


WRONG: Any = "none"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: ps.diagonal_network(WRONG, alpha=1.0, weight_decay=0.1),
            "`target` must be a SpectralLaw: a vector has",
        ),
        (lambda: ps.diagonal_network(SPARSE, alpha=0.0, weight_decay=0.1), r"`alpha` must be .* n/d and not n/d\^2"),
        (lambda: PROBLEM.replace(noise=-1.0), "`noise` must be a finite number >= 0"),
        (lambda: PROBLEM.replace(weight_decay=None), "`weight_decay` must be a finite number >= 0"),
        (lambda: PROBLEM.replace(draw=WRONG), '`draw` must be "fixed" or "gaussian": it says how the entries'),
        (lambda: PROBLEM.replace(kappa=1.0), "This problem has target, alpha, weight_decay, noise, draw, values"),
        (
            lambda: PROBLEM.replace(target=ps.PointMasses([0.0]), noise=0.0),
            "`target` must have a positive second moment",
        ),
        (lambda: ps.solve(PROBLEM, tol=0.0), "`tol` must be a finite number > 0"),
        (lambda: ps.solve(PROBLEM, init=WRONG), "`init` must be a DiagonalSolution"),
        (lambda: ps.solve(PROBLEM, solver=None), "`solver` must be left out here: solve of this model takes init, tol"),
        (
            lambda: ps.simulate(PROBLEM, d=10, task="label"),
            "`task` must be left out here: simulate of this model takes d",
        ),
        (lambda: ps.bayes_optimal(PROBLEM), "`problem` must be of a model that answers bayes_optimal"),
        (lambda: ps.simulate(PROBLEM.replace(weight_decay=0.0), d=10), "`weight_decay` must be positive: training"),
        (lambda: ps.simulate(PROBLEM.replace(alpha=1e-3), d=10), "`alpha` must be above 0.05 at d = 10: alpha times"),
        (
            lambda: ps.simulate(PROBLEM, d=10, trainer=ps.Adam()),
            "`trainer` must be a Lasso or a ProximalGradient or a LBFGS",
        ),
        (lambda: ps.simulate(PROBLEM, d=1), "`d` must be a whole number >= 2: it is the number of entries"),
        (lambda: ps.simulate(PROBLEM, d=10, n_test=0), "`n_test` must be a whole number >= 1"),
        (lambda: ps.simulate(PROBLEM, d=10_000_000), "`d` must be such that one network needs less than"),
        (lambda: ps.Lasso(tol=0.0), "`tol` must be a finite number > 0"),
        (lambda: ps.Lasso(steps=0), "`steps` must be a whole number >= 1"),
    ],
)
def test_bad_input_is_said_in_words(make, text):
    with pytest.raises(ps.InputError, match=text):
        make()


def test_a_missing_extra_is_said(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    text = r"Run: pip install scikit-learn \(.*\), or use trainer=ProximalGradient\(\)"
    with pytest.raises(ps.InputError, match=text):
        ps.simulate(PROBLEM, d=10, trainer=ps.Lasso())
    assert ps.simulate(PROBLEM, d=20, seeds=1, n_test=10, trainer=ps.ProximalGradient(), processes=1).converged.all()


@pytest.mark.parametrize(("d", "held"), [(4, True), (8, True), (6, False)])
def test_a_target_with_repeated_entries_is_held_by_a_vector_of_its_size(d, held):
    problem = ps.diagonal_network(ps.Empirical([0.0, 0.0, 1.0, 2.0]), alpha=1.0, weight_decay=0.1, noise=0.5)
    said = ps.simulate(problem, d=d, seeds=1, n_test=10, processes=1).caveats
    assert any("draws its own" in line for line in said) is not held
