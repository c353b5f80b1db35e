"""Vanishing regularisation: solve at a small penalty converges to it, on both sides of interpolation."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.interpolation import interpolation_threshold

MP = ps.MarchenkoPastur(0.5)
THRESHOLD = interpolation_threshold(MP, 0.5)
NAMES = ("test_error", "train_error", "estimation_error", "rank", "delta")


def close(limit, small, rel, bars=0.0):
    for name in NAMES:
        if name == "rank" and limit.delta == 0.0:
            continue  # eigenvalues that vanish with the weight decay count until they are zero
        a, b = getattr(limit, name), getattr(small, name)
        slack = bars * (limit.error_bars.get(name, 0.0) + small.error_bars.get(name, 0.0))
        assert abs(a - b) < rel * max(abs(a), 0.02) + slack, name


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.29, 0.33, 0.6, 3.0])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_small_weight_decay_approaches_the_limit(alpha, noise):
    problem = ps.quadratic_network(MP, alpha=alpha, weight_decay=1e-8, noise=noise)
    close(ps.ridgeless(problem), ps.solve(problem), 1e-4)


@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_small_weight_decay_of_a_target_with_negative_eigenvalues(alpha):
    problem = ps.quadratic_network(ps.Semicircle(1.0, centre=1.0), alpha=alpha, weight_decay=1e-8)
    assert ps.ridgeless(problem).interpolates == (alpha == 0.2)
    close(ps.ridgeless(problem), ps.solve(problem), 1e-4)


@pytest.mark.parametrize("alpha", [0.05, 0.12])
def test_small_weight_decay_of_a_softmax_below_interpolation(alpha):
    """The penalty acts as its power 0.4 or so: three decades more of it are needed than of a linear channel's."""
    gaps = []
    limit = ps.ridgeless(ps.attention(MP, alpha=alpha, weight_decay=0.0, noise=0.5))
    assert limit.interpolates
    for weight_decay in (1e-4, 1e-5, 1e-6):
        small = ps.solve(ps.attention(MP, alpha=alpha, weight_decay=weight_decay, noise=0.5))
        gaps.append(abs(small.test_error - limit.test_error))
    assert gaps[0] > 1.5 * gaps[1] > 2.25 * gaps[2]
    assert gaps[2] < 0.01 * limit.test_error


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_small_weight_decay_of_a_softmax_above_interpolation(alpha):
    limit = ps.ridgeless(ps.attention(MP, alpha=alpha, weight_decay=0.0, noise=0.5))
    small = ps.solve(ps.attention(MP, alpha=alpha, weight_decay=1e-7, noise=0.5))
    assert not limit.interpolates
    close(limit, small, 1e-4, bars=2.0)


@pytest.mark.parametrize(("alpha", "rel"), [(0.05, 5e-3), (0.1, 5e-3), (1.0, 1e-4)])
def test_small_ridge_approaches_the_limit(alpha, rel):
    problem = ps.unfactorized_attention(MP, alpha=alpha, ridge=1e-6, noise=0.5)
    close(ps.ridgeless(problem), ps.solve(problem), rel)
    if alpha < 0.25:
        error = 1.5 * (1 - 4 * alpha) + 0.5 * 2 * alpha / (1 - 4 * alpha)
        assert ps.ridgeless(problem).estimation_error == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("n_tokens", [2, 3])
def test_a_fitted_softmax_is_linear_with_one_component_less(n_tokens):
    components = n_tokens * (n_tokens + 1) // 2 - 1
    softmax = ps.ridgeless(ps.attention(MP, alpha=0.2 / components, weight_decay=0.0, noise=0.5, n_tokens=n_tokens))
    network = ps.ridgeless(ps.quadratic_network(MP, alpha=0.2, weight_decay=0.0, noise=0.5))
    for name in ("estimation_error", "rank", "delta", "cutoff", "train_error"):
        assert getattr(softmax, name) == pytest.approx(getattr(network, name), rel=1e-12)


@pytest.mark.parametrize("penalty", [ps.NuclearPSD(0.0), ps.Frobenius(0.0)], ids=["weight decay", "ridge"])
def test_another_temperature_scales_the_fit(penalty):
    """A learner of another beta fits ``(beta_0/beta) z_0``: the same matrix, times the ratio."""
    same, other = (
        ps.ridgeless(ps.Problem(MP, ps.Softmax(2, beta, 1.0), penalty, alpha=0.1, noise=0.5)) for beta in (1.0, 0.5)
    )
    assert other.scale == 2.0 * same.scale
    assert (other.delta, other.rank) == (same.delta, same.rank)
    assert other.test_error == pytest.approx(same.test_error, rel=1e-6)
    moments = [solution.spectrum.moment(2) for solution in (same, other)]
    assert moments[1] == pytest.approx(4 * moments[0], rel=1e-9)
    for limit, moment in zip((same, other), moments, strict=True):
        assert limit.estimation_error == pytest.approx(MP.second_moment - 2 * overlap(limit) + moment, rel=1e-6)


def test_the_limit_is_continuous_at_interpolation():
    """From below by the fit of least weight, from above by the softmax' own equations: one number, 0.5011."""
    alpha = THRESHOLD / 2
    below, above = (
        ps.ridgeless(ps.attention(MP, alpha=alpha * (1 + gap), weight_decay=0.0, noise=0.5)) for gap in (-1e-6, 1e-4)
    )
    assert below.interpolates
    assert not above.interpolates
    assert above.train_error < 1e-9
    for name, value in (("test_error", 0.5011), ("estimation_error", 2.9774), ("rank", 0.5834)):
        assert getattr(below, name) == pytest.approx(value, rel=0.02)
        assert getattr(above, name) == pytest.approx(value, rel=2e-3)
    at_it = ps.ridgeless(ps.attention(MP, alpha=alpha * (1 - 1e-11), weight_decay=0.0, noise=0.5))
    assert at_it.test_error == pytest.approx(0.50110, abs=1e-5)
    assert abs(at_it.test_error - 0.5089) > 5e-3  # as printed


@pytest.mark.parametrize("alpha", [0.8 * THRESHOLD, 1.3 * THRESHOLD, 5.0])
def test_the_limit_of_a_network_is_continuous_and_known_to_be(alpha):
    for law in (MP, ps.PointMasses([0.0, 1.0], [0.6, 0.4]), ps.PowerLaw(1.3, 60)):
        problem = ps.quadratic_network(law, alpha=alpha, weight_decay=0.3, noise=0.5)
        limit = ps.ridgeless(problem)
        assert limit.problem.penalty == ps.NuclearPSD(0.0)
        assert limit.spectrum.moment(2) == pytest.approx(
            limit.estimation_error - law.second_moment + 2 * overlap(limit), rel=1e-6
        )


def overlap(limit: ps.RidgelessSolution) -> float:
    """``m = Tr(S S_0)/d`` from the denoiser: the target's part of each eigenvalue that is kept."""
    x, mass = ps.FreeConvolution(limit.problem.target, limit.delta).nodes_above(limit.cutoff)
    kept = limit.scale * (x - max(limit.cutoff, 0.0))
    return float(np.sum(mass * kept * ps.Denoiser(limit.problem.target)(x, limit.delta)))


def test_clean_labels_are_recovered():
    found = ps.thresholds(ps.quadratic_network(MP, alpha=1.0, weight_decay=0.0))
    below, above = (
        ps.ridgeless(ps.quadratic_network(MP, alpha=f * found.perfect_recovery, weight_decay=0.0)) for f in (0.99, 1.01)
    )
    assert 0.0 < below.estimation_error < 0.01
    assert above.estimation_error == 0.0
    assert above.rank == 0.5
    assert "the rank is that of the target" in str(above)
    assert above.spectrum == MP


def test_clean_labels_are_recovered_without_factors():
    semicircle = ps.Semicircle(2.0, 0.5)  # has negative eigenvalues, which no product of a matrix with itself has
    for n_tokens in (2, 3):
        threshold = 0.5 / ps.Softmax(n_tokens).n_active
        below, above = (
            ps.ridgeless(ps.unfactorized_attention(semicircle, alpha=f * threshold, ridge=0.0, n_tokens=n_tokens))
            for f in (0.999, 1.0)
        )
        assert 0.0 < below.estimation_error < 0.01
        assert above.estimation_error == above.test_error == 0.0
        assert above.spectrum == semicircle
    sharper = ps.ridgeless(ps.unfactorized_attention(semicircle, alpha=0.3, ridge=0.0, beta=2.0, beta_0=1.0))
    assert sharper.spectrum.moment(1) == pytest.approx(0.25, rel=1e-6)


def test_jumping_samples_above_interpolation():
    """Between points of the curve that could always be solved, where Gauss-Hermite's staircase led nowhere."""
    known = {0.2: 0.4736, 0.2272: 0.4547, 0.26: 0.4147}
    limits = [ps.ridgeless(ps.attention(MP, alpha=alpha, weight_decay=0.0, noise=0.5)) for alpha in (0.22, 0.24)]
    first, second = (limit.test_error for limit in limits)
    assert known[0.2] > first > known[0.2272] > second > known[0.26]
    assert all(limit.error_bars["test_error"] < 3e-3 * limit.test_error for limit in limits)


@pytest.mark.slow
def test_weights_that_grow_without_bound_are_a_sentence():
    with pytest.raises(ps.SolveError, match=r"ever larger weights.*small penalty"):
        ps.ridgeless(ps.unfactorized_attention(MP, alpha=0.3, ridge=0.0, noise=0.5))


def test_no_penalty_is_refused_where_the_minimum_is_not_unique():
    problem = ps.attention(MP, alpha=0.5, weight_decay=0.0)
    for call in (lambda: ps.solve(problem), lambda: ps.simulate(problem, d=10)):
        with pytest.raises(ValueError, match=r"`weight_decay` must be above 0 here.*ridgeless"):
            call()
    with pytest.raises(ValueError, match="`ridge` must be above 0 here"):
        ps.solve(ps.unfactorized_attention(MP, alpha=0.5, ridge=0.0))
    with pytest.raises(ValueError, match="`channel` must be a Linear or a Softmax"):
        ps.ridgeless(ps.hardmax_attention(MP, alpha=0.5))
    with pytest.raises(ValueError, match="`problem` must be a LearningProblem"):
        ps.ridgeless(MP)  # type: ignore[arg-type]


def test_narrow_students_get_a_caveat():
    limit = ps.ridgeless(ps.quadratic_network(MP, alpha=0.2, weight_decay=0.0, noise=0.5, kappa=0.1))
    assert "kappa = 0.1 is below the rank" in str(limit)
