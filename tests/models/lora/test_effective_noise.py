"""What a frozen layer leaves of the labels, and two whole pipelines of a linear output."""

from __future__ import annotations

import pytest

import presage as ps
from presage.models.lora.theory.effective_noise import fresh_noise, known_noise, reused_noise, selected_noise
from presage.models.lora.theory.pretrained import Pretrained, pretrained

# T: kappa_0, alpha, lambda; Q, M, Sigma; then of fresh, recalibrated, reused, relabelled: noise left, overlap, error
PIPELINES = {
    3: (
        (1.0, 0.1, 0.9),
        (1.26769, 1.41107, 0.22133),
        (0.69555, 0.67933, 0.19569, 0.43048),
        (0.98804, 0.98832, 0.99665, 0.99261),
        (8.929, 8.720, 8.507, 8.702),
    ),
    2: (
        (0.5, 0.2, 0.04),
        (1.78777, 1.49011, 0.36893),
        (0.55754, 0.50798, 0.09097, 0.38900),
        (0.97748, 0.97951, 0.99634, 0.98436),
        (3.896, 3.546, 3.433, 3.722),
    ),
}


def problem_of(T):
    (kappa_0, alpha, weight_decay), *_ = PIPELINES[T]
    law = ps.MarchenkoPastur(kappa_0)
    before = ps.linear_attention(law, alpha=alpha, weight_decay=weight_decay, noise=0.5, n_tokens=T)
    return ps.lora(before, alpha=3.0, weight_decay=0.5)


@pytest.mark.parametrize("T", PIPELINES)
def test_check_values_of_two_pipelines(T):
    problem = problem_of(T)
    _, overlaps, noises, found_overlaps, errors = PIPELINES[T]
    before = pretrained(problem.pretraining).numbers
    assert before[:3] == pytest.approx(overlaps, abs=1e-5)
    left = (
        fresh_noise(before),
        known_noise(before),
        reused_noise(before, same_noise=True),
        reused_noise(before, same_noise=False),
    )
    assert left == pytest.approx(noises, abs=1e-5)
    answers = (
        ps.solve(problem, accuracy=3e-4),
        ps.best_recalibration(problem, accuracy=3e-4),
        ps.solve(problem.replace(reuse="noise"), accuracy=3e-4),
        ps.solve(problem.replace(reuse="sequences"), accuracy=3e-4),
    )
    for answer, overlap, error in zip(answers, found_overlaps, errors, strict=True):
        assert answer.overlap == pytest.approx(overlap, abs=answer.error_bars["overlap"] + 1e-5)
        assert answer.test_error == pytest.approx(error, abs=answer.error_bars["test_error"] + 1e-3)
        gained, whole = answer.frozen_error - answer.test_error, answer.frozen_error - answer.oracle_error
        assert answer.gain == pytest.approx(gained / whole, abs=1e-9)


def test_the_error_of_reused_data_is_that_of_new_sequences():
    """Negative control: with the noise of the training sequences in its place the test error is far off."""
    problem = problem_of(2).replace(reuse="noise")
    answer = ps.solve(problem)
    T = 2
    wrong = answer.test_error + T * (T + 1) * (
        reused_noise(answer.before, same_noise=True) - fresh_noise(answer.before)
    )
    assert answer.test_error == pytest.approx(3.433, abs=5e-3)
    assert abs(wrong - 3.433) > 2.0


def test_check_values_of_a_selection():
    before = Pretrained(0.5, 0.75, 0.0, 2.0, 0.5)
    assert selected_noise(before, 0.5, 3) == pytest.approx(1.17587, abs=1e-5)
    assert selected_noise(before, 0.1, 3) == pytest.approx(1.13912, abs=1e-5)
    assert selected_noise(before, 0.01, 3) == pytest.approx(1.12785, abs=1e-5)


@pytest.mark.parametrize("b", [0.4, 1.0, 1.7])
def test_limits_of_a_selection(b):
    """All of the pool is a fresh sample; the smallest scores are as good as the best recalibration."""
    before = Pretrained(0.5, 0.75, 0.1, 2.0, 0.5)
    assert selected_noise(before, 1.0, 3, b) == pytest.approx(fresh_noise(before, b), rel=1e-12)
    assert selected_noise(before, 1e-9, 3, b) == pytest.approx(known_noise(before), rel=1e-4)
    assert fresh_noise(before, before.slope) == pytest.approx(known_noise(before), rel=1e-12)


def test_reused_noise_without_a_response_is_that_of_new_sequences():
    before = Pretrained(0.5, 0.6, 0.0, 1.5, 0.5)
    for same in (True, False):
        assert reused_noise(before, same_noise=same, b=0.7) == pytest.approx(fresh_noise(before, 0.7), rel=1e-12)


@pytest.mark.parametrize("same_noise", [True, False])
def test_reused_noise_is_the_variance_of_what_is_left(same_noise):
    """By drawing: the layer moved towards the label that it saw."""
    import numpy as np

    before, b = Pretrained(1.3, 1.1, 0.4, 1.5, 0.8), 0.8
    rng = np.random.default_rng(1)
    z, rest, first, second = rng.standard_normal((4, 400_000))
    z = np.sqrt(before.Q) * z
    clean = before.slope * z + np.sqrt(before.Q_0 - before.slope * before.M) * rest
    seen = clean + np.sqrt(0.4) * first
    layer = (z + 4.0 * before.Sigma * seen) / (1.0 + 4.0 * before.Sigma)
    label = seen if same_noise else clean + np.sqrt(0.4) * second
    assert np.var(label - b * layer) == pytest.approx(reused_noise(before, same_noise=same_noise, b=b), rel=0.01)


def test_the_optimum_of_a_recalibrated_layer_is_elsewhere():
    """kappa_0 = 1, alpha = .1, T = 3: the best weight decay is .179 after recalibration and .270 without."""

    def left(weight_decay):
        law = ps.MarchenkoPastur(1.0)
        before = ps.linear_attention(law, alpha=0.1, weight_decay=weight_decay, noise=0.5, n_tokens=3)
        return pretrained(before).numbers

    assert known_noise(left(0.179)) - 0.25 == pytest.approx(0.3270, abs=1e-4)
    assert known_noise(left(0.270)) - 0.25 == pytest.approx(0.3308, abs=1e-4)
    for noise_of, best in ((known_noise, 0.179), (fresh_noise, 0.270)):
        middle = noise_of(left(best))
        assert middle < noise_of(left(0.85 * best))
        assert middle < noise_of(left(1.18 * best))
