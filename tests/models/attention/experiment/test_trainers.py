"""Trainers find one minimum, say how near it they are, and say in words when they have not reached it."""

from __future__ import annotations

import pickle
from dataclasses import replace
from math import inf, nan, sqrt
from typing import Any

import numpy as np
import pytest

from presage import (
    AMP,
    LBFGS,
    Adam,
    Frobenius,
    Gaussian,
    Linear,
    MarchenkoPastur,
    NuclearPSD,
    Problem,
    ProximalGradient,
    Softmax,
    Tokens,
    TrainError,
    attention,
    linear_attention,
    quadratic_network,
    unfactorized_attention,
)
from presage.laws.random_frame import random_frame
from presage.models.attention.experiment.amp import shrink_matrix
from presage.models.attention.experiment.data import sample, sample_target
from presage.models.attention.experiment.fit import certify
from presage.models.attention.experiment.gradient import lbfgs_from, whole
from presage.models.attention.experiment.objective import Objective
from presage.protocol.trainer import Trainer
from presage.training.adam import AdamState

TARGET = MarchenkoPastur(0.5)
NETWORK = quadratic_network(TARGET, alpha=0.5, weight_decay=0.1, noise=0.2)
ATTENTION = attention(TARGET, alpha=0.5, weight_decay=0.01, noise=0.5)
RIDGE = Problem(TARGET, Linear(2), Frobenius(0.1), alpha=0.4, noise=0.3)
CONVEX = {
    "quadratic network": NETWORK,
    "linear attention": linear_attention(TARGET, alpha=0.3, weight_decay=0.2, noise=0.5, n_tokens=3),
    "ridge": RIDGE,
}
convex = pytest.mark.parametrize("problem", CONVEX.values(), ids=CONVEX)


def untyped(value: object) -> Any:
    """The value, as something that the type checker lets through."""
    return value


def build(problem: Problem, d=20, seed=0, **options) -> Objective:
    rng = np.random.default_rng([seed, d])
    chosen: dict[str, Any] = {"tokens": Gaussian(), "noise": problem.noise} | options
    S_0 = sample_target(problem.target, d, rng)
    samples = sample(S_0, problem.channel, round(problem.alpha * d**2), rng, **chosen)
    return Objective(samples, problem.channel, problem.penalty, max(1, round(problem.kappa * d)))


def train(trainer: Trainer, objective, seed=7):
    return trainer.fit(objective, np.random.default_rng(seed))


def whole_loss(objective, S):
    return objective.at_S(S).value + objective.penalty_at(S)


def random_psd(d, rank, size, seed):
    A = np.random.default_rng(seed).standard_normal((d, rank))
    return size * A @ A.T / sqrt(rank * d)


def optimality(objective, S):
    """Smallest eigenvalue of D = grad/d + lambda~ I, and the size of D S, both over lambda~ (0 at a minimum)."""
    scale = objective.penalty.lambda_tilde(objective.kappa)
    D = objective.at_S(S).gradient / objective.d + scale * np.eye(objective.d)
    return np.linalg.eigvalsh(D)[0] / scale, np.linalg.norm(D @ S) / np.linalg.norm(S) / scale


# --- all trainers, one minimum


@convex
def test_all_trainers_of_a_convex_problem_reach_one_loss(problem):
    objective = build(problem)
    fits = [train(trainer, objective) for trainer in (LBFGS(), ProximalGradient(), AMP())]
    assert all(fit.converged and not fit.caveats for fit in fits)
    lowest = min(fit.loss for fit in fits)
    for fit in fits:
        # tol = 1e-5 on a gradient and 1e-6 on a gap: the loss is off by the square of the first, at most the second.
        assert fit.loss == pytest.approx(lowest, rel=1e-6)
        assert fit.loss == pytest.approx(whole_loss(objective, fit.S), rel=1e-12)
        assert fit.train_error == pytest.approx(objective.at_S(fit.S).value / objective.n, rel=1e-12)
        # A relative gap g bounds the distance by sqrt(g): the ranks and matrices agree much better than that.
        np.testing.assert_allclose(fit.S, fits[0].S, rtol=0, atol=2e-3)
        assert fit.certificate.rank == fits[0].certificate.rank
        np.testing.assert_allclose(fit.S, fit.S.T, rtol=0, atol=1e-12)


def test_every_start_and_message_passing_reach_one_loss_of_a_softmax():
    objective = build(ATTENTION, d=25)
    fits = [train(LBFGS(), objective, seed) for seed in range(4)] + [train(AMP(), objective)]
    assert all(fit.converged for fit in fits)
    for fit in fits:
        assert fit.loss == pytest.approx(fits[0].loss, rel=1e-5)
        assert fit.certificate.rank == fits[0].certificate.rank
        assert fit.certificate.residual < 1e-4
        assert fit.certificate.gap == inf  # not convex: no bound is known
    start = np.random.default_rng(0).standard_normal((25, 25))
    assert objective.at_W(start).value > 2 * fits[0].loss  # negative control: the starts are nowhere near


@pytest.mark.parametrize("n_tokens", [2, 3])
def test_an_attention_without_factors_is_trained_alike_by_gradients_and_messages(n_tokens):
    problem = unfactorized_attention(TARGET, alpha=0.6, ridge=0.02, noise=0.3, n_tokens=n_tokens)
    objective = build(problem)
    by_gradient, by_messages = train(LBFGS(), objective), train(AMP(), objective)
    assert by_gradient.converged
    assert by_messages.converged
    assert by_messages.loss == pytest.approx(by_gradient.loss, rel=1e-6)
    for fit in (by_gradient, by_messages):
        np.testing.assert_allclose(fit.S, fit.S.T, rtol=0, atol=1e-12)
        pull = 2 * 20 * 0.02 * fit.S
        gradient = objective.at_S(fit.S).gradient + pull
        assert np.linalg.norm(gradient) < 1e-4 * np.linalg.norm(pull)
        assert fit.certificate.rank == 1.0


def test_adam_reaches_the_minimum_to_its_looser_tolerance():
    objective = build(NETWORK)
    adam, best = train(Adam(), objective), train(LBFGS(), objective)
    assert adam.converged
    # The loss is off by about the square of the relative gradient, 1e-3.
    assert best.loss * (1 - 1e-9) <= adam.loss < best.loss * (1 + 1e-4)


def test_a_fit_is_the_same_from_the_same_random_numbers():
    objective = build(ATTENTION)
    for trainer in (LBFGS(), AMP(), Adam(steps=20)):
        one, again = train(trainer, objective), train(trainer, objective)
        np.testing.assert_array_equal(one.S, again.S)
        assert (one.loss, one.certificate, one.evaluations) == (again.loss, again.certificate, again.evaluations)
    other = train(LBFGS(), objective, seed=8)
    assert np.abs(other.S - train(LBFGS(), objective).S).max() > 0  # negative control: the start is random


def test_the_history_is_that_of_the_whole_loss():
    objective = build(NETWORK)
    for trainer in (LBFGS(), ProximalGradient(), AMP(), Adam(steps=30)):
        fit = train(trainer, objective)
        seconds, loss = fit.history.T
        assert (np.diff(seconds) >= 0).all()
        assert fit.evaluations >= len(loss) > 0
        assert loss[0] > loss[-1]
        if fit.converged:
            # AMP writes down the loss before each step, and ends when a step is 1e-6 of S.
            assert loss[-1] == pytest.approx(fit.loss, rel=1e-5)


# --- certificates


@pytest.mark.parametrize("trainer", [LBFGS(), ProximalGradient(), AMP()], ids=lambda trainer: type(trainer).__name__)
@pytest.mark.parametrize("name", ["quadratic network", "linear attention"])
def test_the_matrix_found_satisfies_the_conditions_of_a_minimum(trainer, name):
    """grad/d + lambda~ I is positive semidefinite and vanishes on S."""
    objective = build(CONVEX[name])
    lowest, along = optimality(objective, train(trainer, objective).S)
    # Accuracy of the gradients: a tolerance of 1e-5, or a gap of 1e-6 whose square root it is.
    assert lowest > -1e-3
    assert along < 1e-3
    lowest, along = optimality(objective, random_psd(20, 20, 1.0, seed=1))
    assert lowest < -0.1  # negative control
    assert along > 0.1


@convex
def test_the_duality_gap_bounds_what_any_other_matrix_can_gain(problem):
    objective = build(problem)
    fit = train(ProximalGradient(tol=1e-4), objective)
    assert 0 <= fit.certificate.gap <= 1e-4
    best = train(ProximalGradient(tol=1e-9), objective)
    assert best.certificate.gap <= 1e-9
    others = [best.S, train(LBFGS(tol=1e-7), objective).S, train(AMP(tol=1e-8), objective).S]
    for S in others:
        assert whole_loss(objective, S) >= fit.loss * (1 - fit.certificate.gap) - 1e-12 * fit.loss
        assert whole_loss(objective, S) >= best.loss * (1 - 1e-9) - 1e-12 * best.loss


@pytest.mark.parametrize("task", ["label", "sequence"])
@convex
def test_the_duality_gap_is_a_bound_at_any_matrix(problem, task):
    """Far from the minimum as well, and never looser than it must be at the minimum itself."""
    objective = build(problem, task=task)
    lowest = train(ProximalGradient(tol=1e-8), objective).loss
    for seed, (size, rank) in enumerate([(0.1, 3), (1.0, 20), (1.0, 1), (5.0, 8), (30.0, 20)]):
        S = random_psd(20, rank, size, seed)
        if isinstance(problem.penalty, Frobenius):
            S = S - np.trace(S) / 20 * np.eye(20)  # negative eigenvalues are allowed there
        certificate = certify(objective, S, objective.at_S(S))
        loss = whole_loss(objective, S)
        assert loss * (1 - certificate.gap) <= lowest * (1 + 1e-12)
        assert 1 - lowest / loss <= certificate.gap <= 1.0 + 1e-12
    zero = np.zeros((20, 20))
    assert certify(objective, zero, objective.at_S(zero)).gap <= 1.0


@pytest.mark.parametrize("problem", [NETWORK, ATTENTION, RIDGE], ids=["network", "attention", "ridge"])
def test_the_residual_is_zero_at_a_minimum_and_only_there(problem):
    objective = build(problem)
    S = train(LBFGS(tol=1e-8), objective).S
    assert certify(objective, S, objective.at_S(S)).residual < 1e-6
    for elsewhere in (random_psd(20, 20, 1.0, seed=3), 1.2 * S, np.zeros((20, 20))):
        assert certify(objective, elsewhere, objective.at_S(elsewhere)).residual > 0.03


@pytest.mark.parametrize(
    ("problem", "shrinking"), [(NETWORK, ProximalGradient()), (ATTENTION, AMP())], ids=["network", "attention"]
)
def test_the_rank_is_that_of_the_shrunk_matrix(problem, shrinking):
    """Gradients leave small eigenvalues where a proximal step has zeros: these are not counted."""
    objective = build(problem, d=25)
    by_gradient, by_shrinking = train(LBFGS(), objective), train(shrinking, objective)
    s = np.linalg.eigvalsh(by_shrinking.S)
    counted = np.count_nonzero(s > 1e-12 * s[-1])
    assert by_shrinking.certificate.rank == by_gradient.certificate.rank == counted / 25
    assert 0 < counted < 25
    leftover = np.linalg.eigvalsh(by_gradient.S)
    assert np.count_nonzero(leftover > 1e-12 * leftover[-1]) > counted  # negative control: counting S is not enough


COLLAPSE = [
    (NETWORK, LBFGS()),
    (NETWORK, AMP()),
    (NETWORK, ProximalGradient()),
    (ATTENTION, LBFGS()),
    (ATTENTION, AMP()),
]


@pytest.mark.parametrize("excess", [1.02, 3.0, 100.0])
@pytest.mark.parametrize(
    ("problem", "trainer"), COLLAPSE, ids=lambda thing: type(getattr(thing, "channel", thing)).__name__
)
def test_weight_decay_that_leaves_nothing_ends_at_zero_without_complaint(problem, trainer, excess):
    """Zero is the minimum as soon as lambda~ exceeds the steepest slope there, by whatever factor."""
    zero, objective = np.zeros((20, 20)), build(problem)
    steepest = -np.linalg.eigvalsh(objective.at_S(zero).gradient)[0] / 20
    fit = train(trainer, replace(objective, penalty=NuclearPSD(excess * steepest)))
    assert np.abs(fit.S).max() < 1e-6
    assert fit.loss == pytest.approx(objective.at_S(zero).value, rel=1e-6)
    assert fit.certificate.rank == 0.0
    assert fit.certificate.residual < 1e-3
    assert fit.converged
    assert fit.caveats == ()


@pytest.mark.parametrize("trainer", [LBFGS(), AMP()], ids=lambda trainer: type(trainer).__name__)
def test_a_single_direction_that_survives_is_found(trainer):
    """Just below the weight decay at which nothing is left."""
    objective = build(ATTENTION)
    steepest = -np.linalg.eigvalsh(objective.at_S(np.zeros((20, 20))).gradient)[0] / 20
    objective = replace(objective, penalty=NuclearPSD(0.98 * steepest))
    fit = train(trainer, objective)
    assert fit.converged
    assert fit.certificate.rank == 1 / 20
    assert fit.certificate.residual < 1e-3


# --- narrow students


@pytest.mark.parametrize("problem", [NETWORK, ATTENTION], ids=["network", "attention"])
def test_a_width_above_the_rank_does_not_matter_but_for_its_weight_decay(problem):
    """lambda~ = sqrt(kappa) lambda: a narrower student with as much more weight decay has the same minimum in S."""
    wide = build(problem)
    narrow = replace(wide, width=15, penalty=NuclearPSD(problem.replace(kappa=1.0).penalty.weight_decay / sqrt(0.75)))
    full = train(LBFGS(), wide)
    assert full.certificate.rank < 0.75
    for trainer in (LBFGS(), AMP()):
        fit = train(trainer, narrow)
        assert fit.converged
        assert fit.loss == pytest.approx(full.loss, rel=1e-6)
        assert fit.certificate.rank == full.certificate.rank
        assert fit.certificate.residual < 1e-3


@pytest.mark.parametrize("trainer", [LBFGS(), AMP()], ids=lambda trainer: type(trainer).__name__)
@pytest.mark.parametrize("problem", [NETWORK, ATTENTION], ids=["network", "attention"])
def test_a_student_narrower_than_the_rank_is_a_student_of_that_width(problem, trainer):
    objective = build(problem.replace(kappa=0.2))
    m = 4
    assert train(LBFGS(), build(problem)).certificate.rank > 0.2
    fit = train(trainer, objective)
    s, vectors = np.linalg.eigh(fit.S)
    assert np.count_nonzero(np.abs(s) > 1e-9 * s[-1]) <= m
    assert fit.certificate.rank <= 0.2
    W = (20 * m) ** 0.25 * vectors[:, -m:] * np.sqrt(s[-m:])
    evaluation, scale = whole(objective, W)
    assert np.linalg.norm(evaluation.gradient) < 1e-3 * scale
    assert evaluation.value == pytest.approx(fit.loss, rel=1e-9)
    assert fit.converged
    wide = whole_loss(objective, train(AMP(), replace(objective, width=20, penalty=weaker(objective.penalty, 0.2))).S)
    assert fit.loss > 1.01 * wide  # the width is felt


def test_proximal_gradient_knows_no_width_and_says_the_rank_of_what_it_found():
    objective = build(NETWORK.replace(kappa=0.2))
    fit = train(ProximalGradient(), objective)
    s = np.linalg.eigvalsh(fit.S)
    assert np.count_nonzero(s > 1e-12 * s[-1]) / 20 > 0.2  # it is the minimum of a wider student, as it says
    assert fit.certificate.rank == np.count_nonzero(s > 1e-12 * s[-1]) / 20


def weaker(penalty, kappa):
    """The weight decay of a student of full width that pays as much for S."""
    return NuclearPSD(penalty.weight_decay * sqrt(kappa))


# --- sequence tasks and messages


@pytest.mark.parametrize("problem", [NETWORK, ATTENTION], ids=["network", "attention"])
def test_messages_end_at_a_minimum_of_the_loss_of_sequences(problem):
    objective = build(problem, d=25, task="sequence")
    fit = train(AMP(), objective)
    assert fit.converged
    lowest, along = optimality(objective, fit.S)
    assert lowest > -1e-3
    assert along < 1e-3
    assert fit.loss == pytest.approx(train(LBFGS(), objective).loss, rel=1e-5)
    plain = train(AMP(), replace(objective, samples=replace(objective.samples, gram=objective.samples.gram[:0])))
    assert optimality(objective, plain.S)[1] > 0.01  # negative control: the loss of labels has another minimum


def symmetric_directions(d):
    """An orthonormal basis of the symmetric matrices."""
    for i in range(d):
        for j in range(i, d):
            E = np.zeros((d, d))
            E[i, j] = E[j, i] = 1.0 if i == j else 1 / sqrt(2)
            yield E


def in_random_frame(eigenvalues, seed=5):
    frame = random_frame(len(eigenvalues), len(eigenvalues), np.random.default_rng(seed))
    return (frame * eigenvalues) @ frame.T


@pytest.mark.parametrize("penalty", [NuclearPSD(0.4), Frobenius(0.3)], ids=repr)
@pytest.mark.parametrize(
    "eigenvalues",
    [
        [3.0, 2.2, 1.5, 0.5, 0.1, -0.7, -2.0],
        [2.0, 2.0, 2.0, 1.3, 0.2, 0.2, -1.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [0.3, 0.2, 0.1, 0.0, -0.1, -0.2, -0.3],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ],
    ids=["apart", "repeated", "all equal", "nothing left", "zero"],
)
def test_the_divergence_of_shrinking_is_that_of_its_differences(penalty, eigenvalues):
    """Sum over an orthonormal basis of the symmetric matrices, at a distance 1e-3 and more from the kink at 0.8."""
    Theta, Lambda, h = in_random_frame(np.array(eigenvalues)), 1.7, 1e-5
    S, divergence = shrink_matrix(penalty, Theta, Lambda, 1.0)
    expected = in_random_frame(penalty.shrink(np.array(eigenvalues), Lambda, 1.0))
    np.testing.assert_allclose(S, expected, rtol=0, atol=1e-13)
    total = 0.0
    for E in symmetric_directions(7):
        ahead, behind = (shrink_matrix(penalty, Theta + t * E, Lambda, 1.0)[0] for t in (h, -h))
        total += float(np.sum(E * (ahead - behind))) / (2 * h)
    assert divergence == pytest.approx(total, rel=1e-6, abs=1e-6)


def test_the_divergence_counts_each_pair_once():
    """Negative control: over all matrices and not only the symmetric ones, d(d+1)/2 would be d^2."""
    _, divergence = shrink_matrix(Frobenius(0.25), in_random_frame(np.arange(5.0)), 1.0, 1.0)
    assert divergence == pytest.approx(0.5 * 15, rel=1e-6)


def test_messages_settle_in_few_passes_over_gaussian_data():
    fit = train(AMP(), build(ATTENTION, d=40))
    assert fit.converged
    assert fit.evaluations < 100  # [BETKZ25]: tens of iterations; L-BFGS needs a few hundred passes


# --- Adam


def test_adam_takes_the_steps_of_pytorch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(11)
    for lr, betas, eps in ((0.1, (0.9, 0.999), 1e-8), (0.003, (0.5, 0.9), 1e-3), (0.02, (0.0, 0.99), 1e-8)):
        A = rng.standard_normal((4, 3))
        theirs = torch.tensor(A.copy(), dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([theirs], lr=lr, betas=betas, eps=eps)
        adam, state = Adam(lr=lr, betas=betas, eps=eps), AdamState(np.zeros((4, 3)), np.zeros((4, 3)), 0)
        for step in range(50):
            gradient = rng.standard_normal((4, 3)) * 10.0 ** rng.uniform(-4, 2)
            theirs.grad = torch.tensor(gradient)
            optimizer.step()
            A, state = adam.update(A, gradient, state)
            np.testing.assert_allclose(A, theirs.detach().numpy(), rtol=0, atol=1e-12)
            assert state.step == step + 1


def test_adam_takes_the_steps_of_the_paper_by_hand():
    """Algorithm 1 of [KB15] for one number, with the bias corrections spelt out."""
    adam = Adam(lr=0.3, betas=(0.8, 0.95), eps=1e-3)
    A, state = np.array([[1.5]]), AdamState(np.zeros((1, 1)), np.zeros((1, 1)), 0)
    x, gradients, m, v = 1.5, [2.0, -1.0, 0.5, 0.5, -3.0], 0.0, 0.0
    for t, g in enumerate(gradients, start=1):
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
        x -= 0.3 * (m / (1 - 0.8**t)) / (sqrt(v / (1 - 0.95**t)) + 1e-3)
        A, state = adam.update(A, np.array([[g]]), state)
        assert A[0, 0] == pytest.approx(x, rel=1e-14)
    first, _ = adam.update(np.array([[0.0]]), np.array([[1e6]]), AdamState(np.zeros((1, 1)), np.zeros((1, 1)), 0))
    assert first[0, 0] == pytest.approx(-0.3, rel=1e-8)  # a first step has the length lr whatever the gradient


def test_adam_that_is_given_few_steps_lowers_the_loss_and_says_that_it_is_not_done():
    objective = build(ATTENTION)
    fit = train(Adam(steps=15), objective)
    assert fit.history[-1, 1] < 0.8 * fit.history[0, 1]
    assert not fit.converged
    assert len(fit.caveats) == 1
    assert "Adam stopped after 15 steps with a relative gradient of" in fit.caveats[0]
    assert "above its tolerance 0.001" in fit.caveats[0]
    assert fit.certificate.residual > 1e-3


# --- what goes wrong, in words


def test_lbfgs_that_is_given_few_steps_says_that_it_is_not_done():
    fit = train(LBFGS(steps=3), build(ATTENTION))
    assert not fit.converged
    assert "L-BFGS stopped after 3 steps with a relative gradient of" in fit.caveats[0]
    assert fit.certificate.residual > 1e-2


def test_proximal_gradient_that_is_given_few_steps_says_that_it_is_not_done():
    fit = train(ProximalGradient(steps=3), build(NETWORK))
    assert not fit.converged
    assert "ProximalGradient stopped after 3 steps with a duality gap of" in fit.caveats[0]
    assert fit.certificate.gap > 1e-6


def test_messages_that_are_given_few_steps_are_ended_by_lbfgs():
    objective = build(ATTENTION)
    fit, best = train(AMP(steps=3), objective), train(LBFGS(), objective)
    assert fit.converged
    assert fit.loss == pytest.approx(best.loss, rel=1e-5)
    stopped = train(AMP(steps=3, finish=LBFGS(steps=2)), objective)
    assert not stopped.converged
    assert "L-BFGS stopped after 2 steps" in stopped.caveats[0]


def test_proximal_gradient_refuses_a_softmax():
    message = (
        r"`trainer` must be LBFGS, Adam or AMP for this channel: the loss is not convex in S.*Use trainer=LBFGS\(\)"
    )
    with pytest.raises(ValueError, match=message):
        train(ProximalGradient(), build(ATTENTION, d=6))


class Holed(Tokens):
    """Gaussian tokens, one of them not a number."""

    def fill(self, out, rng):
        rng.standard_normal(out=out)
        out[-1, -1] = nan


def test_data_that_is_not_finite_is_refused_before_training():
    with pytest.raises(ValueError, match=r"`samples` must be finite.*Clean the data before\."):
        build(NETWORK, d=6, tokens=Holed())


@pytest.mark.parametrize(
    ("trainer", "name"),
    [(LBFGS(), "L-BFGS"), (Adam(), "Adam"), (AMP(), "AMP"), (ProximalGradient(), "ProximalGradient")],
    ids=["LBFGS", "Adam", "AMP", "ProximalGradient"],
)
@pytest.mark.parametrize("n_tokens", [1, 2, 3])
def test_training_that_leaves_the_finite_numbers_is_an_error(trainer, name, n_tokens):
    """A softmax of what is no number is none either."""
    if n_tokens > 1 and name == "ProximalGradient":
        pytest.skip("it is for convex problems")
    problem = NETWORK if n_tokens == 1 else attention(TARGET, alpha=1.0, weight_decay=0.1, n_tokens=n_tokens)
    objective = build(problem, d=6)
    tokens = objective.samples.tokens.copy()
    tokens[0] = 1e200  # finite, and its square is not
    huge = objective.with_samples(replace(objective.samples, tokens=tokens))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(TrainError, match=f"{name} left the finite numbers at iteration \\d+\\. Use a smaller learning"),
    ):
        train(trainer, huge)


def test_a_learning_rate_that_is_far_too_large_is_an_error():
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(TrainError, match=r"Adam left the finite numbers at iteration 2\. Use a smaller learning rate"),
    ):
        train(Adam(lr=1e200), build(NETWORK, d=6))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LBFGS(tol=0.0), r"`tol` must be a finite number > 0"),
        (lambda: LBFGS(tol=nan), r"`tol` must be a finite number > 0"),
        (lambda: AMP(tol=2.0), r"`tol` must be .* <= 1"),
        (lambda: ProximalGradient(tol=untyped("small")), r"`tol` must be a finite number"),
        (lambda: LBFGS(steps=0), r"`steps` must be a whole number >= 1"),
        (lambda: Adam(steps=untyped(2.5)), r"`steps` must be a whole number >= 1"),
        (lambda: AMP(steps=-1), r"`steps` must be a whole number >= 1"),
        (lambda: ProximalGradient(steps=0), r"`steps` must be a whole number >= 1"),
        (lambda: LBFGS(memory=0), r"`memory` must be a whole number >= 1"),
        (lambda: LBFGS(memory=untyped(2.5)), r"`memory` must be a whole number >= 1"),
        (lambda: Adam(lr=-1.0), r"`lr` must be a finite number > 0.*length of a step"),
        (lambda: Adam(lr=inf), r"`lr` must be a finite number > 0"),
        (lambda: Adam(eps=0.0), r"`eps` must be a finite number > 0"),
        (lambda: Adam(betas=(0.9, 1.0)), r"`betas` must be two numbers in \[0, 1\)"),
        (lambda: Adam(betas=(-0.1, 0.9)), r"`betas` must be two numbers in \[0, 1\)"),
        (lambda: Adam(betas=untyped((0.9,))), r"`betas` must be two numbers in \[0, 1\)"),
        (lambda: Adam(betas=untyped((0.9, 0.9, 0.9))), r"`betas` must be two numbers in \[0, 1\)"),
        (lambda: Adam(betas=untyped(())), r"`betas` must be two numbers in \[0, 1\)"),
        (lambda: Adam(betas=untyped(0.9)), r"`betas` must be two numbers in \[0, 1\)"),
        (lambda: Adam(betas=untyped(("a", 0.9))), r"`betas` must be"),
        (lambda: AMP(damping=2.0), r"`damping` must be a finite number >= 0 and <= 0.99"),
        (lambda: AMP(damping=-0.1), r"`damping` must be a finite number >= 0 and <= 0.99"),
        (lambda: AMP(finish=untyped("lbfgs")), r"`finish` must be a LBFGS"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kind", [LBFGS, Adam, AMP, ProximalGradient])
def test_a_whole_number_of_steps_written_as_a_float_is_one(kind):
    fit = train(kind(steps=5.0), build(NETWORK, d=6))
    assert fit.evaluations >= 5


@pytest.mark.parametrize("trainer", [LBFGS(), Adam(), AMP(), ProximalGradient()], ids=lambda t: type(t).__name__)
def test_trainers_are_values(trainer):
    assert pickle.loads(pickle.dumps(trainer)) == trainer
    assert trainer == type(trainer)()
    assert trainer != replace(trainer, tol=0.5)
    assert hash(trainer) == hash(type(trainer)())


def test_an_error_of_training_survives_a_pickle():
    error = pickle.loads(pickle.dumps(TrainError("It broke.", "Mend it.", partial=[1, 2])))
    assert isinstance(error, TrainError)
    assert isinstance(error, ArithmeticError)
    assert (str(error), error.what, error.remedy, error.partial) == (
        "It broke. Mend it.",
        "It broke.",
        "Mend it.",
        [1, 2],
    )


@pytest.mark.parametrize("trainer", [LBFGS(), AMP()], ids=lambda trainer: type(trainer).__name__)
def test_smallest_networks_train(trainer):
    for d, n_tokens in ((1, 2), (2, 3), (3, 2)):
        objective = build(ATTENTION.replace(alpha=3.0, n_tokens=n_tokens), d=d)
        fit = train(trainer, objective)
        assert np.isfinite(fit.S).all()
        assert fit.loss <= objective.at_S(np.zeros((d, d))).value * (1 + 1e-12)


def test_softmax_and_linear_students_of_one_target_differ():
    """Negative control for the whole file: the channel is not ignored."""
    soft = build(ATTENTION, d=10)
    linear = replace(soft, channel=Linear(2))
    assert isinstance(soft.channel, Softmax)
    assert abs(train(AMP(), soft).loss - train(AMP(), linear).loss) > 0.1


@pytest.mark.parametrize("trainer", [LBFGS(), AMP()], ids=lambda trainer: type(trainer).__name__)
@pytest.mark.parametrize("problem", [NETWORK, ATTENTION], ids=["network", "attention"])
def test_single_precision_ends_near_the_same_minimum(problem, trainer):
    """The same tokens, rounded: simulate promises 1e-4 or so of accuracy, ten times that is allowed here."""
    double = build(problem)
    samples = double.samples
    single = double.with_samples(replace(samples, tokens=samples.tokens.astype(np.float32)))
    one, other = train(trainer, double), train(trainer, single)
    assert other.S.dtype == np.float64
    assert other.loss == pytest.approx(one.loss, rel=1e-5)
    assert np.linalg.norm(other.S - one.S) < 1e-3 * np.linalg.norm(one.S)
    assert other.certificate.rank == one.certificate.rank


# --- saddle points


def test_a_start_at_zero_is_left():
    """W = 0 is stationary whatever the data; L-BFGS leaves it along the directions in which the loss falls."""
    problem = attention(MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
    loss = build(problem, 20)
    found = lbfgs_from(LBFGS(), loss, np.zeros((20, 20)))
    assert found.converged
    assert found.certificate.residual < 1e-4
    assert found.loss == pytest.approx(AMP().fit(loss, np.random.default_rng(0)).loss, rel=1e-5)


@pytest.mark.parametrize("weight_decay", [1e-4, 1e-6])
def test_small_weight_decay_is_no_failure(weight_decay):
    problem = quadratic_network(MarchenkoPastur(0.5), alpha=0.7, weight_decay=weight_decay, noise=0.5)
    loss = build(problem, 20)
    found = LBFGS().fit(loss, np.random.default_rng(0))
    assert found.converged
    assert found.caveats == ()
    assert found.loss == pytest.approx(ProximalGradient().fit(loss, np.random.default_rng(0)).loss, rel=1e-5)
