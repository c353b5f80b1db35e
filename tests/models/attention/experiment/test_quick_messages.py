"""Message passing by mixing and single precision ends where the damped one in double precision does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import presage as ps
from presage.models.attention.experiment import amp
from presage.models.attention.experiment.data import sample, sample_target
from presage.models.attention.experiment.fit import certify
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.tokens import Gaussian
from presage.training.ordered_sums import one_blas_thread

MP = ps.MarchenkoPastur(0.5)
PROBLEMS = {
    "few samples": ps.attention(MP, alpha=0.5, weight_decay=0.01, noise=0.5),
    "many samples": ps.attention(MP, alpha=4.0, weight_decay=0.01, noise=0.5),
    "large weight decay": ps.attention(MP, alpha=0.3, weight_decay=0.5, noise=0.5),
    "two temperatures": ps.attention(MP, alpha=1.0, weight_decay=0.02, noise=0.1, beta=1.5, beta_0=1.0),
    "three tokens": ps.attention(MP, alpha=0.4, weight_decay=0.01, noise=0.5, n_tokens=3),
    "ridge": ps.unfactorized_attention(MP, alpha=0.5, ridge=0.01, noise=0.5),
    "linear": ps.linear_attention(MP, alpha=0.5, weight_decay=0.1, noise=0.5, n_tokens=2),
    "quadratic": ps.quadratic_network(MP, alpha=0.6, weight_decay=0.05, noise=0.5),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def build(problem: ps.Problem, d=24, seed=0, threads=1) -> Objective:
    rng = np.random.default_rng([seed, d])
    S_0 = sample_target(problem.target, d, rng)
    samples = sample(
        S_0, problem.channel, round(problem.alpha * d**2), rng, tokens=Gaussian(), noise=problem.noise, threads=threads
    )
    return Objective(samples, problem.channel, problem.penalty, max(1, round(problem.kappa * d)), None, threads)


def ended(objective: Objective, *, mixed: bool, tol=1e-8):
    """Where the iteration ends, and how many passes it took; None where it does not settle."""
    for count, (state, step) in enumerate(ps.AMP().states(objective, mixed=mixed), start=1):
        if step <= tol:
            return state.S, count
    return None, count


@every_problem
def test_both_ways_end_in_one_point_and_the_quick_one_takes_fewer_passes(problem):
    objective = build(problem)
    (quick, few), (damped, many) = (ended(objective, mixed=mixed) for mixed in (True, False))
    assert quick is not None and damped is not None  # noqa: PT018 - for the type checker
    assert few < many
    assert np.linalg.norm(quick - damped) < 1e-5 * max(float(np.linalg.norm(damped)), 1.0)
    assert certify(objective, quick, objective.at_S(quick)).residual < 1e-5


@every_problem
def test_a_pass_in_single_precision_differs_by_its_rounding_alone(problem):
    objective = build(problem)
    state = amp.AMP().begin(objective)
    for _ in range(3):
        state = amp.iterate(objective, state, 0.3)
    double, single = (amp.propose(objective, state, 0.0, single=single) for single in (False, True))
    assert single.loss == pytest.approx(double.loss, rel=1e-5)
    assert single.Lambda == pytest.approx(double.Lambda, rel=1e-4)
    assert 0.0 < np.linalg.norm(single.Theta - double.Theta) < 1e-4 * np.linalg.norm(double.Theta)
    assert single.f.dtype == single.Theta.dtype == np.float64


def test_it_is_done_in_double_precision_only():
    """No step of a pass in single precision is reported as shorter than the one at which these end."""
    objective, passes = build(PROBLEMS["many samples"]), []
    pass_over = Objective.pass_over

    def watched(self, S, slope, *, dtype=None):
        passes.append(dtype)
        return pass_over(self, S, slope, dtype=dtype)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Objective, "pass_over", watched)
        fit = ps.AMP().fit(objective, np.random.default_rng(0))
        double = passes.copy()
        passes.clear()
        # Data that are in single precision already are taken as they are.
        data = replace(objective.samples, tokens=objective.samples.tokens.astype(np.float32))
        ps.AMP().fit(objective.with_samples(data), np.random.default_rng(0))
    assert set(passes) == {None}
    passes = double
    switch = passes.index(None)
    assert passes == [np.float32] * switch + [None] * (len(passes) - switch)
    assert 2 < switch < len(passes) - 2
    assert fit.converged


def test_what_is_too_large_for_single_precision_goes_the_damped_way():
    objective = build(PROBLEMS["few samples"], d=6)
    tokens = objective.samples.tokens.copy()
    tokens[0] = 1e20  # its square is no number in single precision
    huge = objective.with_samples(replace(objective.samples, tokens=tokens))
    with np.errstate(over="ignore", invalid="ignore"):
        assert list(ps.AMP().states(huge, mixed=True)) == []
        fit = ps.AMP().fit(huge, np.random.default_rng(0))
    assert np.isfinite(fit.loss)


@pytest.mark.parametrize("name", ["few samples", "many samples", "two temperatures", "ridge", "linear", "quadratic"])
def test_threads_and_repetition_do_not_change_a_bit(name, monkeypatch):
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    trainer, problem = ps.AMP(), PROBLEMS[name]
    with one_blas_thread():
        fits = [trainer.fit(build(problem, d=12, threads=n), np.random.default_rng(0)) for n in (1, 1, 3)]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.S, fits[0].S)
        assert (fit.loss, fit.evaluations) == (fits[0].loss, fits[0].evaluations)
        np.testing.assert_array_equal(fit.history[:, 1], fits[0].history[:, 1])


def test_where_mixing_does_not_settle_the_damped_way_is_as_if_it_had_not_been():
    """Samples whose proximal points jump: the end is that of the damped way, to the bit."""
    problem = ps.attention(MP, alpha=0.3, weight_decay=0.002, noise=0.5, beta=3.0)
    objective = build(problem, d=20)
    assert ended(objective, mixed=True, tol=1e-6)[0] is None
    trainer = ps.AMP(finish=ps.LBFGS(steps=5))
    whole = trainer.fit(objective, np.random.default_rng(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ps.AMP, "_mixed_states", lambda self, objective: iter(()))
        damped = trainer.fit(objective, np.random.default_rng(0))
    np.testing.assert_array_equal(whole.S, damped.S)
    assert whole.evaluations > damped.evaluations


def test_steps_bound_both_ways_together():
    objective = build(PROBLEMS["few samples"])
    fit = ps.AMP(steps=7, finish=ps.LBFGS(steps=1)).fit(objective, np.random.default_rng(0))
    messages = fit.history[:7, 1]
    assert len(np.unique(messages)) == 7  # one way, of seven passes: the second would begin with the same loss again


@pytest.mark.slow
def test_the_quick_way_settles_at_least_as_often_and_in_the_same_minima():
    rng = np.random.default_rng(3)
    settled = {True: 0, False: 0}
    for seed in range(60):
        alpha, weight_decay, beta = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-4, 0), 2 ** rng.uniform(-1, 2)
        numbers = {"alpha": alpha, "noise": float(rng.choice([0.0, 0.1, 0.5]))}
        if seed % 4 == 0:
            problem = ps.quadratic_network(MP, weight_decay=weight_decay, **numbers)
        else:
            tokens = 3 if seed % 4 == 1 and alpha < 2 else 2
            problem = ps.attention(MP, weight_decay=weight_decay, beta=beta, n_tokens=tokens, **numbers)
        objective = build(problem, d=16, seed=seed)
        losses = []
        for mixed in (True, False):
            S, _ = ended(objective, mixed=mixed, tol=1e-6)
            if S is None:
                continue
            data = objective.at_S(S)
            # Short steps alone are no proof: the damped way may stand still at zero, far from a minimum.
            if certify(objective, S, data).residual <= 1e-4:
                settled[mixed] += 1
                losses.append(data.value + objective.penalty_at(S))
        if len(losses) == 2:
            assert losses[0] == pytest.approx(losses[1], rel=1e-7)
    assert settled[True] >= settled[False] >= 30
