"""The training loss and its gradients, against the definition written out naively and against differences."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest

from presage import Frobenius, Gaussian, Linear, NuclearPSD, Softmax, Tokens
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.data import sample, token_means
from presage.models.attention.experiment.half_product import HalfProduct
from presage.models.attention.experiment.objective import Objective

CHANNELS = [Softmax(2), Softmax(3, 0.8, 1.7), Softmax(5, 1.4, 0.6), Linear(1), Linear(3)]
TASKS = ["label", "sequence"]
CENTRINGS = ["trace", "mean"]
WEIGHT_DECAY = 0.3

every_loss = pytest.mark.parametrize("channel", CHANNELS, ids=repr)
every_task = pytest.mark.parametrize("task", TASKS)
every_centring = pytest.mark.parametrize("centring", CENTRINGS)


def build(channel, task="label", centring="trace", *, n=23, d=6, width=4, seed=0, penalty=None, **options) -> Objective:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    S_0 = A @ A.T / d
    chosen: dict[str, Any] = {"tokens": Gaussian(), "noise": 0.4, "task": task} | options
    samples = sample(S_0, channel, n, rng, **chosen)
    means = token_means(samples) if centring == "mean" else None
    return Objective(samples, channel, penalty or NuclearPSD(WEIGHT_DECAY), width, means)


def point(d, m, seed=1):
    return np.random.default_rng(seed).standard_normal((d, m))


def symmetric(d, seed=2):
    A = np.random.default_rng(seed).standard_normal((d, d))
    return (A + A.T) / sqrt(d)


def softmax(logits):
    weights = np.exp(logits)
    return weights / weights.sum(axis=-1, keepdims=True)


class Naive:
    """Section 1 of the theory, one array of size n d^2 after the other."""

    def __init__(self, objective: Objective, centring: str, task: str, *, scale_off_diagonal: float = 1.0) -> None:
        samples, channel = objective.samples, objective.channel
        self.X = np.asarray(samples.tokens, dtype=np.float64).reshape(samples.n, samples.n_tokens, samples.d)
        self.y, self.channel, self.task = samples.labels, channel, task
        self.weight_decay = getattr(objective.penalty, "weight_decay", 0.0)
        T, d = samples.n_tokens, samples.d
        outer = np.einsum("nai,nbj->nabij", self.X, self.X)
        if centring == "trace":
            outer = outer - np.einsum("ab,ij->abij", np.eye(T), np.eye(d))
        else:
            outer = outer - outer.mean(axis=0)
        wrong = np.where(np.eye(T, dtype=bool), 1.0, scale_off_diagonal)
        self.measurement = outer * wrong[:, :, None, None] / sqrt(d)

    def output(self, S):
        R = np.einsum("nabij,ij->nab", self.measurement, S)
        return softmax(self.channel.beta * R) if isinstance(self.channel, Softmax) else R

    def loss(self, S):
        """Labels are compared entry by entry; output tokens as vectors, their squared distance over d."""
        s = self.output(S)
        if self.task == "label":
            return float(np.sum((self.y - s) ** 2))
        wanted = np.einsum("nab,nbi->nai", self.y, self.X)
        given = np.einsum("nab,nbi->nai", s, self.X)
        return float(np.sum((wanted - given) ** 2)) / self.X.shape[2]

    def slope(self, S):
        """dl/dR_ab of each sample, with R_ab and R_ba as two variables."""
        s = self.output(S)
        pull = 2.0 * (s - self.y)
        if self.task == "sequence":
            pull = np.einsum("nab,nbi,nci->nac", pull, self.X, self.X) / self.X.shape[2]
        if not isinstance(self.channel, Softmax):
            return pull
        jacobian = np.einsum("nab,bc->nabc", s, np.eye(s.shape[2])) - np.einsum("nab,nac->nabc", s, s)
        return self.channel.beta * np.einsum("nab,nabc->nac", pull, jacobian)

    def gradient(self, S):
        raw = np.einsum("nab,nabij->ij", self.slope(S), self.measurement)
        return 0.5 * (raw + raw.T)

    def S_of(self, W):
        d, m = W.shape
        return W @ W.T / sqrt(m * d)

    def loss_W(self, W):
        return self.loss(self.S_of(W)) + self.weight_decay * np.sum(W**2)

    def gradient_W(self, W):
        d, m = W.shape
        return 2.0 / sqrt(m * d) * self.gradient(self.S_of(W)) @ W + 2.0 * self.weight_decay * W


def close(found, expected, rel=1e-12):
    """Within `rel` of the size of the whole: single entries of a gradient may cancel."""
    scale = np.abs(expected).max()
    assert np.abs(np.asarray(found) - expected).max() <= rel * scale


@every_centring
@every_task
@every_loss
def test_loss_and_gradient_in_s_are_those_of_the_definition(channel, task, centring):
    objective = build(channel, task, centring)
    naive, S = Naive(objective, centring, task), symmetric(6)
    found = objective.at_S(S)
    assert found.value == pytest.approx(naive.loss(S), rel=1e-12)
    close(found.gradient, naive.gradient(S))
    np.testing.assert_array_equal(found.gradient, found.gradient.T)
    assert objective.loss_at(S) == pytest.approx(found.value, rel=1e-13)


@every_centring
@every_task
@every_loss
@pytest.mark.parametrize("width", [1, 4, 9])
def test_loss_and_gradient_in_w_are_those_of_the_definition(channel, task, centring, width):
    objective = build(channel, task, centring, width=width)
    naive, W = Naive(objective, centring, task), point(6, width)
    found = objective.at_W(W)
    assert found.value == pytest.approx(naive.loss_W(W), rel=1e-12)
    close(found.gradient, naive.gradient_W(W))
    close(objective.S_of(W), naive.S_of(W))


@every_centring
@every_task
@every_loss
def test_gradients_are_differences_of_the_loss(channel, task, centring):
    """Central differences of step h are off by h^2 f''' and 1e-16 f/h: 1e-9 or so of f' at h = 1e-5."""
    objective, h = build(channel, task, centring), 1e-5
    W, S = point(6, 4), symmetric(6)
    rng = np.random.default_rng(3)
    for _ in range(4):
        along = rng.standard_normal(W.shape)
        slope = (objective.at_W(W + h * along).value - objective.at_W(W - h * along).value) / (2 * h)
        assert np.sum(objective.at_W(W).gradient * along) == pytest.approx(slope, rel=1e-6, abs=1e-6)
        along = rng.standard_normal(S.shape)
        along = along + along.T
        slope = (objective.at_S(S + h * along).value - objective.at_S(S - h * along).value) / (2 * h)
        assert np.sum(objective.at_S(S).gradient * along) == pytest.approx(slope, rel=1e-6, abs=1e-6)


@every_centring
@every_task
@every_loss
def test_the_gradient_in_w_follows_from_that_in_s(channel, task, centring):
    objective, W = build(channel, task, centring, width=5), point(6, 5)
    S = objective.S_of(W)
    in_S, in_W = objective.at_S(S), objective.at_W(W)
    assert in_W.value == pytest.approx(in_S.value + objective.penalty_at(S), rel=1e-13)
    close(in_W.gradient, 2.0 / sqrt(30) * in_S.gradient @ W + 2.0 * WEIGHT_DECAY * W)


@pytest.mark.parametrize("channel", [Softmax(2), Softmax(5, 1.4, 0.6), Linear(3)], ids=repr)
def test_a_square_root_of_two_too_many_is_seen(channel):
    """Negative control: off-diagonal scores in the units of the components are told from the right ones."""
    objective, S = build(channel), symmetric(6)
    wrong = Naive(objective, "trace", "label", scale_off_diagonal=sqrt(2))
    assert abs(wrong.loss(S) / objective.at_S(S).value - 1) > 1e-3
    assert np.abs(wrong.gradient(S) - objective.at_S(S).gradient).max() > 1e-3


@every_task
@pytest.mark.parametrize("channel", [Softmax(2), Softmax(5, 1.4, 0.6)], ids=repr)
def test_a_missing_symmetrisation_is_seen(channel, task):
    """Negative control: the slope in R is not symmetric by itself, and W feels only its symmetric part."""
    objective, W = build(channel, task), point(6, 4)
    naive = Naive(objective, "trace", task)
    raw = np.einsum("nab,nabij->ij", naive.slope(naive.S_of(W)), naive.measurement)
    wrong = 2.0 / sqrt(24) * raw @ W + 2.0 * WEIGHT_DECAY * W
    assert np.abs(objective.at_W(W).gradient - wrong).max() > 1e-3


@every_loss
def test_slopes_in_scores_and_in_components_are_one_thing(channel):
    """dl/dR of the kernel is what `from_slopes` makes of dl/dz, taken here by differences of the channel's loss."""
    rng, h = np.random.default_rng(4), 1e-6
    z_0, z = rng.standard_normal((2, 12, channel.n_in))
    slopes = np.empty_like(z)
    for k in range(channel.n_in):
        step = h * np.eye(channel.n_in)[k]
        slopes[:, k] = (channel.loss_at(z_0, z + step) - channel.loss_at(z_0, z - step)) / (2 * h)
    T = channel.n_tokens
    expected, G, R = np.empty((12, T, T)), np.empty((12, T, T)), channel.matrix(z)
    kernels.from_slopes(slopes, expected)
    loss = kernels.loss_and_slope(channel, channel.target_output(z_0), R, np.empty((0, T, T)), G)
    assert loss == pytest.approx(float(channel.loss_at(z_0, z).sum()), rel=1e-13)
    np.testing.assert_allclose(G, expected, rtol=0, atol=1e-7)  # differences of step 1e-6: 1e-10/1e-6 at worst
    back = np.empty_like(z)
    kernels.to_components(R, back)
    np.testing.assert_allclose(back, z, rtol=1e-15)


def test_a_softmax_of_large_scores_stays_finite():
    objective = build(Softmax(3, 2.0))
    for found in (objective.at_S(1e6 * symmetric(6)), objective.at_W(1e4 * point(6, 4))):
        assert np.isfinite(found.value)
        assert np.isfinite(found.gradient).all()


def test_the_penalty_is_weight_decay_or_ridge():
    W = point(6, 4)
    decay = build(Softmax(2))
    S = decay.S_of(W)
    assert decay.penalty_at(S) == pytest.approx(WEIGHT_DECAY * np.sum(W**2), rel=1e-13)
    assert (decay.factorized, decay.kappa) == (True, 4 / 6)
    ridge = build(Softmax(2), penalty=Frobenius(0.2))
    assert ridge.penalty_at(symmetric(6)) == pytest.approx(6 * 0.2 * np.sum(symmetric(6) ** 2), rel=1e-13)
    assert not ridge.factorized
    assert ridge.at_W(W).value == pytest.approx(ridge.at_S(S).value, rel=1e-13)  # no weight decay there


def test_the_mean_to_subtract_stays_that_of_the_training_samples():
    objective, S = build(Softmax(2), centring="mean"), symmetric(6)
    fresh = build(Softmax(2), seed=9).samples
    X = fresh.tokens.reshape(fresh.n, 2, 6)
    of_training = objective.samples.tokens.reshape(objective.n, 2, 6)
    R = np.einsum("nai,ij,nbj->nab", X, S, X)
    R = (R - np.einsum("nai,ij,nbj->nab", of_training, S, of_training).mean(axis=0)) / sqrt(6)
    expected = np.sum((fresh.labels - softmax(R)) ** 2)
    assert objective.with_samples(fresh).loss_at(S) == pytest.approx(expected, rel=1e-12)


@every_centring
@every_task
@every_loss
def test_small_blocks_give_the_same_sums(channel, task, centring, monkeypatch):
    objective, W, S = build(channel, task, centring, n=41), point(6, 4), symmetric(6)
    whole = objective.at_W(W), objective.at_S(S)
    monkeypatch.setattr("presage.training.ordered_sums.BLOCK", 8 * 2 * 6 * channel.n_tokens + 1)  # two samples a block
    pieces = objective.at_W(W), objective.at_S(S)
    for one, other in zip(whole, pieces, strict=True):
        assert other.value == pytest.approx(one.value, rel=1e-12)
        close(other.gradient, one.gradient)
    assert objective.loss_at(S) == pytest.approx(whole[1].value, rel=1e-12)


@pytest.mark.parametrize("m", [1, 2, 4, 6, 9])
@every_centring
@every_task
def test_students_of_any_width_have_the_same_loss_by_either_way(task, centring, m):
    """A narrow W is multiplied by itself, a wide one through S: both are the definition."""
    objective, W = build(Softmax(3), task, centring, width=m), point(6, m)
    naive = Naive(objective, centring, task)
    value, in_S = objective._at_narrow(W)
    close(2.0 / sqrt(m * 6) * in_S + 2.0 * WEIGHT_DECAY * W, naive.gradient_W(W))
    assert value == pytest.approx(naive.loss(naive.S_of(W)), rel=1e-12)
    close(objective.at_W(W).gradient, naive.gradient_W(W))


@pytest.mark.parametrize("d", [1, 7, 16, 17, 100, 300])
def test_half_a_product_gives_all_scores(d):
    rng, T = np.random.default_rng(0), 3
    x, S, shift = rng.standard_normal((5 * T, d)), symmetric(d), rng.standard_normal((T, T))
    shift, skew = shift + shift.T, rng.standard_normal((d, d))
    X, R, same = x.reshape(5, T, d), np.empty((5, T, T)), np.empty((5, T, T))
    HalfProduct(S, np.float64).scores(x, shift, np.empty_like(x), R)
    np.testing.assert_allclose(R, np.einsum("nai,ij,nbj->nab", X, S, X) / sqrt(d) - shift, rtol=0, atol=1e-12 * d)
    HalfProduct(S + skew - skew.T, np.float64).scores(x, shift, np.empty_like(x), same)
    np.testing.assert_allclose(same, R, rtol=0, atol=1e-12 * d)


@pytest.mark.parametrize("T", [1, 2, 3, 6])
def test_a_sum_of_slopes_is_a_difference_of_squares(T):
    rng = np.random.default_rng(0)
    G, x = rng.standard_normal((40, T, T)), rng.standard_normal((40 * T, 5))
    G += G.transpose(0, 2, 1)
    G[0], G[1] = 0.0, np.eye(T)
    out, weight = np.empty_like(x), np.zeros((T, T))
    top, end = kernels.signed_squares(G, x, out, weight)
    X = x.reshape(40, T, 5)
    expected = np.einsum("nab,nai,nbj->ij", G, X, X)
    np.testing.assert_allclose(out[:top].T @ out[:top] - out[end:].T @ out[end:], expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(weight, G.sum(axis=0), rtol=0, atol=1e-12)
    assert end - top == T  # the sample without a slope gives no rows


@pytest.mark.parametrize("n", [1, 3, 8, 9])
def test_fewer_samples_than_parts_are_no_trouble(n):
    objective, S = build(Softmax(2), n=n), symmetric(6)
    naive = Naive(objective, "trace", "label")
    assert objective.at_S(S).value == pytest.approx(naive.loss(S), rel=1e-12)
    close(objective.at_S(S).gradient, naive.gradient(S))


@every_task
def test_threads_do_not_change_a_bit(task, monkeypatch):
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    monkeypatch.setattr("presage.training.ordered_sums.BLOCK", 16_000)
    one = build(Softmax(3), task, n=997, d=20)
    two = replace(one, threads=2)
    W, S = point(20, 4), symmetric(20)
    for _ in range(5):
        for a, b in ((one.at_W(W), two.at_W(W)), (one.at_S(S), two.at_S(S))):
            assert a.value == b.value
            np.testing.assert_array_equal(a.gradient, b.gradient)
        assert one.loss_at(S) == two.loss_at(S)


@every_centring
@every_task
def test_single_precision_is_within_1e5_of_double(task, centring):
    double = build(Softmax(3), task, centring, n=400, d=30)
    # The same tokens, rounded: what is left is the arithmetic and the rounding of the tokens, 6e-8 each.
    samples = double.samples
    single = double.with_samples(replace(samples, tokens=samples.tokens.astype(np.float32)))
    W, S = point(30, 4), symmetric(30)
    for a, b in ((double.at_W(W), single.at_W(W)), (double.at_S(S), single.at_S(S))):
        assert b.value == pytest.approx(a.value, rel=1e-5)
        assert b.gradient.dtype == np.float64
        close(b.gradient, a.gradient, rel=1e-5)
        assert a.value != b.value  # it is single precision indeed


def test_no_array_of_n_times_d_times_d_is_ever_made():
    n, d = 2000, 60
    objective, W, S = build(Softmax(2), n=n, d=d, width=d), point(d, d), symmetric(d)
    objective.at_W(W)  # compiled before it is measured
    for evaluate in (lambda: objective.at_W(W), lambda: objective.at_S(S), lambda: objective.loss_at(S)):
        tracemalloc.start()
        evaluate()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 0 < peak < 0.1 * n * d * d * 8  # the blocks take 3 % of it


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_is_not_finite_is_refused(bad):
    samples = build(Softmax(2)).samples
    z_0, labels = samples.z_0.copy(), samples.labels.copy()
    z_0[3, 1] = labels[2, 0, 1] = bad
    for change in ({"z_0": z_0}, {"labels": labels}):
        holed = replace(samples, **change)
        with pytest.raises(ValueError, match=r"`samples` must be finite: a NaN would end in every weight"):
            Objective(holed, Softmax(2), NuclearPSD(0.1), 3)


class Broken(Tokens):
    """Tokens with a hole in one of them."""

    def fill(self, out, rng):
        rng.standard_normal(out=out)
        out[0, 0] = np.nan


def test_a_source_of_tokens_that_are_not_finite_is_refused():
    with pytest.raises(ValueError, match=r"`samples` must be finite"):
        build(Softmax(2), tokens=Broken())
