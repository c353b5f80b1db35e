"""Weights of tokens, correlations of their classes, and what is wrong with some."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.pooling.experiment.tokens import attended, draw_table
from presage.models.pooling.theory.transitions import gain_of


def problem(pooling, classes, n_tokens, **changes):
    options = {"alpha": 2.0, "vocabulary": 2.0, "signal": 1.0, **changes}
    return ps.attention_pooling(pooling, classes=classes, n_tokens=n_tokens, **options)


def test_causal_weights_are_those_of_a_softmax():
    """Scores tau with itself and zero with others, row by row."""
    for tau in (0.0, 1.0, -0.5):
        T = 7
        scores = tau * np.eye(T)
        scores[np.triu_indices(T, 1)] = -np.inf
        attention = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        w = ps.CausalPooling(tau).weights(np.eye(T))
        np.testing.assert_allclose(w, attention.mean(axis=0), rtol=1e-13)
        assert w.sum() == pytest.approx(1.0)


def test_no_scores_are_harmonic_weights():
    T = 9
    harmonic = [sum(1.0 / t for t in range(s, T + 1)) / T for s in range(1, T + 1)]
    np.testing.assert_allclose(ps.CausalPooling(0.0).weights(np.eye(T)), harmonic, rtol=1e-13)


def test_softmax_of_real_scores():
    """Tokens of d = 2000: what they attend to is the limit, up to some 1e-4 in the mean over many sequences."""
    rng = np.random.default_rng(0)
    table = draw_table(1.0, 2000, 500, rng)
    sequences = np.array([rng.permutation(500)[:16] for _ in range(400)])
    found = attended(1.0, table.tokens, sequences).mean(axis=0)
    limit = ps.CausalPooling(1.0).weights(np.eye(16))
    np.testing.assert_allclose(found, limit, atol=3e-4)
    assert np.abs(found - ps.CausalPooling(1.2).weights(np.eye(16))).max() > 2e-3  # another tau is seen


SEEN = {ps.MeanPooling(): 2.30, ps.CausalPooling(0.0): 3.14, ps.CausalPooling(1.0): 3.19, ps.BestPooling(): 3.21}


@pytest.mark.parametrize("pooling", SEEN)
def test_gains_of_falling_agreement(pooling):
    """T = 16, r_t = .8^(t-1): a/kappa to the digits at which it was seen."""
    assert gain_of(problem(pooling, ps.AlignedTokens(1.0, 0.8), 16)) == pytest.approx(SEEN[pooling], abs=6e-3)


def test_no_weights_beat_the_best():
    rng, classes = np.random.default_rng(2), ps.AlignedTokens(0.9, 0.7)
    best = gain_of(problem(ps.BestPooling(), classes, 12))
    assert best == pytest.approx(np.linalg.eigvalsh(classes.correlation(12))[-1])
    for _ in range(50):
        own = gain_of(problem(ps.GivenPooling(rng.standard_normal(12)), classes, 12))
        assert own < best
    near = ps.BestPooling().weights(classes.correlation(12)) + 1e-4 * rng.standard_normal(12)
    assert gain_of(problem(ps.GivenPooling(near), classes, 12)) < best


FALLING = 0.6 ** np.abs(np.subtract.outer(range(6), range(6)))


@pytest.mark.parametrize("classes", [ps.AlignedTokens(0.8, 0.9), ps.CorrelatedTokens(FALLING)])
def test_drawn_classes_have_their_correlation(classes):
    drawn = classes.draw(40_000, 6, np.random.default_rng(1))
    assert set(np.unique(drawn)) == {-1, 1}
    # Standard error of a correlation of so many: 1/200.
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), classes.correlation(6), atol=0.025)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.0, atol=0.025)


def test_a_problem_is_changed_through_its_parts():
    first = problem(ps.CausalPooling(1.0), ps.AlignedTokens(0.5), 8)
    other = first.replace(tau=2.0, r=0.3, decay=0.9)
    assert (other.pooling, other.classes) == (ps.CausalPooling(2.0), ps.AlignedTokens(0.3, 0.9))
    table = ps.sweep(first, ps.solve, tau=[0.0, 1.0], r=[0.2, 0.8])
    assert float(table.alignment.sel(tau=1.0, r=0.8)) == ps.solve(first.replace(r=0.8)).alignment


class Silent(ps.Pooling):
    """Gives no token any weight."""

    def weights(self, correlation):
        return np.zeros(len(correlation))


def test_two_matrices_are_told_apart():
    first, second = ps.CorrelatedTokens(FALLING), ps.CorrelatedTokens(0.5 * FALLING + 0.5 * np.eye(6))
    assert repr(first).startswith("CorrelatedTokens(6 x 6, ")
    assert repr(first) != repr(second)
    assert first == ps.CorrelatedTokens(FALLING)


MEAN, HALF = ps.MeanPooling(), ps.AlignedTokens(0.5)
BAD = {
    "`signal` must be a finite number >= 0": lambda: problem(MEAN, HALF, 8, signal=-1.0),
    "`vocabulary` must be a finite number": lambda: problem(MEAN, HALF, 8, vocabulary=0.0),
    "`n_tokens` must be 3 here: there is a weight": lambda: problem(ps.GivenPooling([1, 2, 3]), HALF, 8),
    "`weights` must be a list of numbers, not all": lambda: ps.GivenPooling([0.0, 0.0]),
    "`weights` must be a list of numbers, not all of them zero: each is the weight of a token. Got weights='an": (
        lambda: ps.GivenPooling([])
    ),
    "`weights` must be between 1e-100 and 1e+100 in size": lambda: ps.GivenPooling([1e154, 1.0]),
    "`pooling` must give 8 numbers, not all zero": lambda: ps.solve(problem(Silent(), HALF, 8)),
    "`matrix` must have ones on its diagonal": lambda: ps.CorrelatedTokens(0.5 * np.ones((3, 3))),
    "`matrix` must be a symmetric matrix": lambda: ps.CorrelatedTokens([[1.0, 0.5], [0.2, 1.0]]),
    "`matrix` must be a correlation matrix: its eigenvalues must not be negative": lambda: ps.CorrelatedTokens(
        [[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]
    ),
    "`matrix` must be one that signs can have": lambda: ps.CorrelatedTokens(
        [[1.0, -0.49, -0.49], [-0.49, 1.0, -0.49], [-0.49, -0.49, 1.0]]
    ),
    "`n_tokens` must be 2 here: the matrix has a row": lambda: problem(MEAN, ps.CorrelatedTokens(np.eye(2)), 8),
    "`r` must be a finite number >= -1 and <= 1": lambda: ps.AlignedTokens(1.5),
    "`pooling` must be a Pooling": lambda: problem("mean", HALF, 8),
    "`alpha` must be larger at d = 3": lambda: ps.simulate(problem(MEAN, HALF, 8, alpha=0.1), d=3),
    "`vocabulary` must be larger at d = 3: vocabulary d is the number of tokens": lambda: ps.simulate(
        problem(MEAN, HALF, 8, vocabulary=0.1), d=3
    ),
    "`trainer` must be a PrincipalDirection": lambda: ps.simulate(problem(MEAN, HALF, 8), d=20, trainer=ps.LBFGS()),
    "`centred` must be a bool": lambda: ps.simulate(problem(MEAN, HALF, 8), d=20, centred=2),
}


@pytest.mark.parametrize("said", BAD)
def test_what_is_wrong_is_said(said):
    with pytest.raises(ps.InputError) as error:
        BAD[said]()
    assert str(error.value).startswith(said)
