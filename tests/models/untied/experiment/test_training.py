"""Training of queries and keys: its minimum against plain optimisers, other models and other trainers."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from math import inf, sqrt

import numpy as np
import pytest
from scipy.optimize import minimize

import presage as ps
from presage.models.untied.experiment.fit import certify
from presage.models.untied.experiment.objective import Objective
from presage.models.untied.experiment.sequences import draw
from presage.models.untied.experiment.training import lbfgs, proximal, start

MASKS = [("cross", 2), ("causal", 3), ("off-diagonal", 3), ("self", 2)]
simulate = partial(ps.simulate, processes=1)  # heads as small as these are trained before a process has started
EXACT = ps.LBFGS(tol=1e-6)


def build(mask, T, *, beta=1.0, weight_decay=0.05, ridge=0.0, d=4, n=30, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    S_0 = rng.standard_normal((d, d)) / sqrt(d)
    return Objective(draw(S_0, mask, T, T, beta, noise, n, rng), beta, weight_decay, ridge)


@pytest.mark.parametrize(("mask", "T"), MASKS)
@pytest.mark.parametrize("beta", [None, 1.0])
def test_the_minimum_is_that_of_a_plain_optimiser(mask, T, beta):
    """BFGS on the entries of S with differences for a gradient, and the nuclear norm smoothed.

    A nuclear norm smoothed by ``sqrt(s^2 + eps^2)`` is at most ``d eps`` above it.
    """
    objective, eps = build(mask, T, beta=beta), 1e-4
    found = lbfgs(EXACT, objective, start(objective, np.random.default_rng(1)))

    def smoothed(flat):
        S = flat.reshape(4, 4)
        values = np.linalg.svd(S, compute_uv=False)
        return objective.loss_at(S) + objective.threshold * float(np.sum(np.sqrt(values**2 + eps**2)))

    plain = min(minimize(smoothed, x, method="BFGS", tol=1e-5).fun for x in (np.zeros(16), found.S.ravel() + 0.01))
    assert found.certificate.residual < 1e-5
    assert found.loss <= plain + 1e-7
    assert found.loss >= plain - 4 * eps * objective.threshold - 1e-6


@pytest.mark.parametrize(("mask", "T"), MASKS)
@pytest.mark.parametrize("beta", [None, 1.0])
def test_the_minimum_under_a_ridge_is_that_of_a_plain_optimiser(mask, T, beta):
    objective = build(mask, T, beta=beta, weight_decay=None, ridge=0.03)
    found = lbfgs(EXACT, objective, start(objective, np.random.default_rng(1)))

    def whole(flat):
        S = flat.reshape(4, 4)
        return objective.loss_at(S) + 4 * 0.03 * float(np.sum(S**2))

    plain = minimize(whole, np.zeros(16), method="BFGS", tol=1e-5)
    assert found.loss == pytest.approx(plain.fun, rel=1e-8)
    np.testing.assert_allclose(found.S.ravel(), plain.x, atol=1e-4)
    assert found.certificate.rank == 1.0


@pytest.mark.parametrize(("mask", "T"), MASKS)
@pytest.mark.parametrize("penalty", [{"weight_decay": 0.05}, {"weight_decay": None, "ridge": 0.03}])
def test_a_trained_gain_is_the_best_for_its_matrix(mask, T, penalty):
    """The loss is a parabola in the gain, and its lowest point is where training ends."""
    rng = np.random.default_rng(0)
    sequences = draw(0.5 * rng.standard_normal((4, 4)), mask, T, T, 1.0, 0.2, 30, rng, target_gain=1.5)
    objective = Objective(sequences, 1.0, **penalty, learns_gain=True)
    found = lbfgs(EXACT, objective, start(objective, rng))
    below, here, above = (objective.loss_at(found.S, found.gain + step) for step in (-0.1, 0.0, 0.1))
    assert found.converged
    assert found.certificate.residual < 1e-5
    assert abs(above - below) < 1e-5 * (above + below - 2.0 * here)
    assert found.gain != pytest.approx(1.5, abs=1e-3)
    assert found.loss == pytest.approx(here + objective.penalty_at(found.S))


@pytest.mark.parametrize(
    ("mask", "pairs", "T"), [("cross", "cross", 2), ("off-diagonal", "distinct", 3), ("self", "all", 2)]
)
def test_linear_outputs_are_those_of_bilinear_regression(mask, pairs, T):
    """The other model draws the same tokens, target and noise of a seed, and minimises the same loss by other code."""
    shared = {"alpha": 0.3, "noise": 0.1, "weight_decay": 0.1, "n_tokens": T}
    here = ps.untied_attention(ps.GaussianProduct(0.3), mask=mask, output="linear", **shared)
    there = ps.untied_linear_attention(ps.GaussianProduct(0.3), pairs=pairs, **shared)
    mine = simulate(here, d=20, seeds=2, n_test=4000, trainer=EXACT)
    other = simulate(there, d=20, seeds=2, n_test=4000, trainer=ps.ProximalGradient(tol=1e-9))
    for name in ("train_loss", "train_error", "estimation_error", "singular_values"):
        np.testing.assert_allclose(getattr(mine, name), getattr(other, name), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(mine.rank, other.rank)
    np.testing.assert_allclose(mine.test_error, other.test_error, rtol=0.05)


@pytest.mark.parametrize("penalty", ["weight-decay", "frobenius"])
@pytest.mark.parametrize("mask", ["cross", "self"])
def test_both_trainers_reach_the_same_minimum(mask, penalty):
    problem = ps.untied_attention(
        ps.GaussianProduct(0.3), alpha=0.3, noise=0.1, weight_decay=0.1, mask=mask, output="linear", penalty=penalty
    )
    factors = simulate(problem, d=20, seeds=2, n_test=100, trainer=EXACT)
    matrix = simulate(problem, d=20, seeds=2, n_test=100, trainer=ps.ProximalGradient(tol=1e-9))
    np.testing.assert_allclose(factors.train_loss, matrix.train_loss, rtol=1e-8)
    np.testing.assert_allclose(factors.estimation_error, matrix.estimation_error, rtol=1e-3)
    np.testing.assert_array_equal(factors.rank, matrix.rank)
    assert (matrix.gap <= 1e-9).all()
    assert (factors.gap <= 1e-5).all()
    assert matrix.converged.all()
    assert factors.converged.all()
    assert matrix.caveats == factors.caveats == ()


@pytest.mark.parametrize("penalty", [{"weight_decay": 0.2}, {"weight_decay": None, "ridge": 0.1}])
def test_the_duality_gap_bounds_the_loss(penalty):
    objective = build("cross", 2, beta=None, d=12, n=60, **penalty)
    rough, fine = (proximal(ps.ProximalGradient(tol=tol), objective, np.random.default_rng(0)) for tol in (1e-1, 1e-10))
    assert 0 < rough.loss - fine.loss <= rough.certificate.gap * rough.loss


@pytest.mark.parametrize(("mask", "T"), MASKS)
def test_the_certificate_knows_a_minimum(mask, T):
    objective = build(mask, T, d=10, n=120, weight_decay=0.02)
    found = lbfgs(EXACT, objective, start(objective, np.random.default_rng(1)))
    assert found.certificate.residual < 1e-5
    assert found.certificate.gap == inf  # no bound is known for a softmax
    away = found.S + 0.02 * np.random.default_rng(2).standard_normal(found.S.shape)
    assert certify(objective, away, objective.at_S(away)).residual > 1e-2
    other = replace(objective, weight_decay=0.03)  # the minimum of another loss is none of this one
    assert certify(other, found.S, other.at_S(found.S)).residual > 1e-2


def test_a_saddle_point_is_left():
    """Factors that have lost directions are stationary at a minimum of lower rank; the certificate sees it."""
    objective = build("cross", 2, d=12, n=300, weight_decay=0.01)
    whole = start(objective, np.random.default_rng(1))
    narrow = whole.copy()
    narrow[:, :, 2:] = 0.0
    left, best = lbfgs(EXACT, objective, narrow), lbfgs(EXACT, objective, whole)
    assert left.loss == pytest.approx(best.loss, rel=1e-7)
    assert left.converged
    assert left.certificate.rank > 2 / 12


def test_too_much_decay_leaves_nothing():
    problem = ps.untied_attention(ps.GaussianProduct(0.3), alpha=0.5, weight_decay=50.0)
    ensemble = simulate(problem, d=15, seeds=2, n_test=100)
    assert (ensemble.rank == 0.0).all()
    assert (ensemble.q < 1e-6).all()
    assert ensemble.converged.all()


def test_parts_of_the_error_add_up_and_are_told_where_a_token_looks_at_itself():
    for mask in ("self", "cross"):
        problem = ps.untied_attention(ps.GaussianProduct(0.5), alpha=0.5, weight_decay=0.02, mask=mask)
        ensemble = simulate(problem, d=15, seeds=2, n_test=100, keep="weights")
        total = ensemble.symmetric_error + ensemble.antisymmetric_error
        np.testing.assert_allclose(total, ensemble.estimation_error, rtol=1e-12)
        assert ("symmetric_error" in str(ensemble)) == (mask == "self")
        S, S_0 = ensemble.weights, ensemble.targets
        np.testing.assert_allclose(ensemble.m, np.sum(S * S_0, axis=(1, 2)) / 15)
        values = np.linalg.svd(S, compute_uv=False)
        np.testing.assert_allclose(values, ensemble.singular_values, atol=1e-12)


def test_an_antisymmetric_part_is_learned_of_a_symmetric_target():
    """The price of untying: nothing to find there, and noise is found."""
    problem = ps.untied_attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.2, mask="self")
    ensemble = simulate(problem, d=20, seeds=2, n_test=100, keep="weights")
    np.testing.assert_allclose(ensemble.targets, np.swapaxes(ensemble.targets, 1, 2), atol=1e-12)
    assert (ensemble.antisymmetric_error > 0.01).all()


def test_an_early_stop_is_said():
    problem = ps.untied_attention(ps.GaussianProduct(0.5), alpha=0.5, weight_decay=0.01)
    ensemble = simulate(problem, d=10, seeds=1, trainer=ps.LBFGS(steps=3), n_test=10)
    assert "seed 0: L-BFGS stopped after 3 steps with a relative gradient of" in ensemble.caveats[0]
    linear = problem.replace(output="linear")
    ensemble = simulate(linear, d=10, seeds=1, trainer=ps.ProximalGradient(steps=3), n_test=10)
    assert "seed 0: ProximalGradient stopped after 3 steps with a duality gap of" in ensemble.caveats[0]


def test_a_width_that_is_no_whole_number_is_said():
    problem = ps.untied_attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, mask="self")
    ensemble = simulate(problem, d=11, seeds=1, n_test=10)
    assert "kappa_0 d = 5.5 is not a whole number: the targets have 6." in ensemble.caveats


PROBLEM = ps.untied_attention(ps.GaussianProduct(0.5), alpha=0.5, weight_decay=0.01)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"trainer": ps.Adam()}, "`trainer` must be a LBFGS or a ProximalGradient: these know heads with separate"),
        ({"trainer": ps.ProximalGradient()}, "`trainer` must be LBFGS for a softmax: the loss of a softmax is not"),
        ({"d": 1}, "`d` must be a whole number >= 2: it is the dimension of a token"),
        ({"n_test": 0}, "`n_test` must be a whole number >= 1: the test error is a mean over them"),
        ({"problem": PROBLEM.replace(weight_decay=0.0)}, "`weight_decay` must be positive: training minimises a loss"),
        ({"problem": PROBLEM.replace(weight_decay=None)}, "`weight_decay` must be positive: training minimises a loss"),
        (
            {"problem": PROBLEM.replace(alpha=1e-5)},
            "`alpha` must be above 0.005 at d = 10: alpha times 100",
        ),
    ],
)
def test_bad_input_is_said_in_words(options, text):
    problem = options.pop("problem", PROBLEM)
    with pytest.raises(ValueError, match=re.escape(text)):
        simulate(problem, **{"d": 10, "seeds": 1, **options})


@pytest.mark.parametrize("mask", ["cross", "self"])
def test_threads_do_not_change_a_bit(mask, monkeypatch):
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    problem, found = PROBLEM.replace(mask=mask), []
    for cores in (1, 2, 3):
        monkeypatch.setattr("presage.protocol.ensemble.available_cores", lambda cores=cores: cores)
        found.append(simulate(problem, d=12, seeds=1, trainer=ps.LBFGS(tol=1e-2), n_test=300, progress=False))
    for name in ("train_loss", "test_error", "estimation_error", "singular_values", "residual"):
        for other in found[1:]:
            np.testing.assert_array_equal(getattr(other, name), getattr(found[0], name))


@pytest.mark.parametrize(
    ("law", "d", "said"),
    [
        (ps.GaussianProduct(0.3), 11, ("rank d = 3.3 is not a whole number: the targets have 3.",)),
        (ps.SingularValueMasses([0.0, 1.0]), 11, ("rank d = 5.5 is not a whole number: the targets have 5 or 6.",)),
        (ps.SingularValueMasses([0.0, 1.0]), 10, ()),
        (ps.SingularValueMasses([2.0, 1.0]), 11, ()),
    ],
)
def test_a_rank_that_a_dimension_cannot_have_is_told(law, d, said):
    problem = ps.untied_attention(law, alpha=0.3, weight_decay=0.1, noise=0.1, output="linear")
    assert simulate(problem, d=d, seeds=1, n_test=10).caveats == said
