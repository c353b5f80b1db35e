"""The second witness: its gradient, its starts, its data."""

from __future__ import annotations

import re

import numpy as np
import pytest

import presage as ps
from presage.models.attention.experiment.amp import AMP
from presage.models.lora.experiment.adapter_loss import AdapterLoss
from presage.models.lora.experiment.adapter_training import seen_scores, spectral_start
from presage.models.lora.experiment.sequences import Sequences, adapter_scores, components, labels_of, scores
from presage.models.lora.experiment.simulate import AdapterSetting, overlap

LAW = ps.MarchenkoPastur(0.5)


def problem_of(make=ps.linear_attention, **options):
    before = make(LAW, alpha=0.3, weight_decay=0.3 if make is ps.linear_attention else 0.01, noise=0.5)
    return ps.lora(before, **({"alpha": 4.0, "weight_decay": 0.1} | options))


def some_sequences(channel, n=40, d=12, r_0=1, seed=0):
    rng = np.random.default_rng(seed)
    T = channel.n_tokens
    tokens, w_0 = rng.standard_normal((n * T, d)), rng.standard_normal((d, r_0))
    S = rng.standard_normal((d, d))
    z_0 = rng.standard_normal((n, channel.n_in))
    labels = labels_of(channel, z_0, adapter_scores(tokens, w_0, T))
    return Sequences(tokens, scores(tokens, 0.5 * (S + S.T), T), labels, channel), z_0, w_0


@pytest.mark.parametrize("channel", [ps.Linear(2), ps.Linear(3), ps.Softmax(2, 1.3, 0.8), ps.Softmax(3)], ids=str)
@pytest.mark.parametrize("r", [1, 2])
def test_gradient_is_that_of_differences(channel, r):
    sequences, _, _ = some_sequences(channel)
    loss, rng = AdapterLoss(sequences, 0.3), np.random.default_rng(1)
    w, direction = rng.standard_normal((2, 12, r))
    value, gradient = loss(w)
    h = 1e-5
    by_differences = (loss(w + h * direction)[0] - loss(w - h * direction)[0]) / (2.0 * h)
    assert np.sum(gradient * direction) == pytest.approx(by_differences, rel=1e-6)
    R = sequences.frozen + adapter_scores(sequences.tokens, w, channel.n_tokens)
    whole = np.sum(channel.loss(sequences.labels, channel.output(components(R)))) + 0.3 * np.sum(w**2)
    assert value == pytest.approx(whole, rel=1e-12)


def test_scores_of_a_softmax_are_read_off_its_labels():
    channel = ps.Softmax(3, 1.0, 0.7)
    sequences, z_0, w_0 = some_sequences(channel)
    R = channel.matrix(z_0) + adapter_scores(sequences.tokens, w_0, 3)
    assert seen_scores(sequences) == pytest.approx(R - R.mean(axis=(1, 2), keepdims=True), abs=1e-9)


def test_the_spectral_start_sees_the_new_task():
    sequences, _, w_0 = some_sequences(ps.Linear(2), n=3000, d=30)
    start = spectral_start(sequences, 1, 1.0)
    assert overlap(start, w_0) > 0.7
    assert np.sum(start**2) / 30 == pytest.approx(1.0)


def test_overlap_does_not_see_a_rotation_of_the_columns():
    rng = np.random.default_rng(0)
    w, w_0 = rng.standard_normal((2, 20, 2))
    turn, _ = np.linalg.qr(rng.standard_normal((2, 2)))
    assert overlap(w @ turn, w_0) == pytest.approx(overlap(w, w_0))
    assert overlap(w_0 @ turn, w_0) == pytest.approx(1.0)
    assert overlap(0.0 * w, w_0) == 0.0


def _data(problem, d=30):
    """What a setting hands to the fine-tuning, with a frozen layer that is the target itself."""
    rng = np.random.default_rng(4)
    setting = AdapterSetting(problem, d, ps.LBFGS(), AMP(), 1, 100)
    S_0 = np.diag(rng.standard_normal(d))
    before = setting._draw(S_0, setting.n_before, rng, 1)
    w_0 = rng.standard_normal((d, 1))
    return setting, before, S_0, setting._sequences(S_0, S_0, w_0, before, rng, 1), w_0


def test_a_selection_keeps_the_smallest_scores():
    setting, _, _, kept, _ = _data(problem_of(selection=0.1))
    _, _, _, all_of_it, _ = _data(problem_of())
    assert setting.pool == 10 * setting.n
    assert kept.n == all_of_it.n == setting.n
    sizes = [np.sum(one.frozen**2, axis=(1, 2)) for one in (kept, all_of_it)]
    assert sizes[0].max() < np.median(sizes[1])


def test_reused_sequences_are_those_of_the_pretraining():
    for reuse in ("noise", "sequences"):
        setting, before, S_0, used, w_0 = _data(problem_of(reuse=reuse))
        assert np.array_equal(used.tokens, before.tokens[: 2 * setting.n])
        noise = components(used.labels - adapter_scores(used.tokens, w_0, 2) - scores(used.tokens, S_0, 2))
        seen = before.z_0[: setting.n] - components(scores(used.tokens, S_0, 2))
        assert np.var(noise) == pytest.approx(0.25, rel=0.15)
        assert np.allclose(noise, seen) == (reuse == "noise")


def test_the_same_seed_gives_the_same_numbers():
    problem = problem_of()
    one, two = (ps.simulate(problem, d=20, seeds=2, n_test=200, processes=p) for p in (1, 2))
    assert np.array_equal(one.test_error, two.test_error)
    assert one.converged.all()


def test_weights_and_history_are_kept():
    problem = problem_of(rank=2, target_rank=2)
    found = ps.simulate(problem, d=20, seeds=2, n_test=200, processes=1, keep=["weights", "history"])
    assert found.weights.shape == found.targets.shape == (2, 20, 2)
    assert np.sum(found.targets[0] ** 2, axis=0) == pytest.approx([20.0, 20.0])
    assert found.history[0][-1, 1] == pytest.approx(found.train_loss[0], rel=1e-6)
    assert found.overlap[0] == pytest.approx(overlap(found.weights[0], found.targets[0]))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"trainer": ps.Adam()}, "`trainer` must be a LBFGS or a PosteriorAMP: these know adapters"),
        ({"starts": 0}, "`starts` must be a whole number >= 1: adapters are trained from so many places"),
        ({"n_test": 0}, "`n_test` must be a whole number >= 1"),
        ({"d": 1}, "`d` must be a whole number >= 2"),
        ({"pretrainer": 3}, "`pretrainer` must be a Trainer: it trains the layer that is frozen"),
        ({"task": "sequence"}, "`task` must be left out here"),
    ],
)
def test_what_cannot_be_trained_is_told_why(options, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        ps.simulate(problem_of(), **({"d": 20, "seeds": 1} | options))


def test_more_sequences_than_there_were_cannot_be_reused():
    with pytest.raises(
        ValueError, match=re.escape("the pre-training has 30 sequences at d = 10, and 40 are to be reused")
    ):
        ps.simulate(problem_of(reuse="noise"), d=10, seeds=1)


def test_message_passing_is_for_one_column_of_a_linear_output():
    posterior = ps.LinearPosterior(1.0, 0.5, 1.0)
    with pytest.raises(ValueError, match="message passing is known for one column and a linear output"):
        ps.simulate(problem_of(ps.attention), d=20, seeds=1, trainer=ps.PosteriorAMP(posterior))
    with pytest.raises(ValueError, match="`starts` must be left out here: message passing has one small random start"):
        ps.simulate(problem_of(), d=20, seeds=1, starts=4, trainer=ps.PosteriorAMP(posterior))
    with pytest.raises(ValueError, match='`keep` must be "weights": that is what'):
        ps.simulate(problem_of(), d=20, seeds=1, keep="history", trainer=ps.PosteriorAMP(posterior))
    with pytest.raises(ValueError, match="`posterior` must be a SamplePosterior"):
        ps.PosteriorAMP(3)
