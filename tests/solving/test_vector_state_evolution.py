"""Vector state evolution: limits that are known in closed form, and what its error bars mean."""

from __future__ import annotations

import numpy as np
import pytest

from presage.solving.vector_state_evolution import (
    Conjugates,
    Overlaps,
    change,
    mean_and_bar,
    overlaps_of,
    settled,
)

ALPHA, RIDGE, NOISE = 2.0, 0.3, 0.5
Q_0 = np.array([[1.0, 0.3], [0.3, 0.5]])


def step(overlaps: Overlaps) -> Overlaps:
    """Two vectors learned side by side by least squares: ``|y - z|^2/2``, labels with noise of variance 1/2 each."""
    one = np.eye(2)
    inverse = np.asarray(np.linalg.inv(one + overlaps.v), dtype=np.float64)
    m, q = overlaps.m, overlaps.q
    residual = Q_0 - m - m.T + q + NOISE * one
    return overlaps_of(
        Conjugates(ALPHA * inverse, ALPHA * inverse @ residual @ inverse, ALPHA * inverse, RIDGE * one), Q_0
    )


def always(overlaps: Overlaps) -> bool:
    """Every combination of places is one."""
    return True


def test_ridge_regression_of_two_vectors():
    start = Overlaps(0.1 * Q_0, Q_0, 0.5 * np.eye(2))
    found = settled(start, step, always, tol=1e-13, most=2000)
    assert found.residual < 1e-13
    # Closed form: the trace of the resolvent of X'X/d at -ridge, and its slope.
    b = RIDGE + ALPHA - 1.0
    trace = (np.sqrt(b * b + 4.0 * RIDGE) - b) / (2.0 * RIDGE)
    slope = -(trace**2 + trace) / (2.0 * RIDGE * trace + b)
    error = -(RIDGE**2) * slope * Q_0 + NOISE * (trace + RIDGE * slope) * np.eye(2)
    m, q, v = found.overlaps
    assert np.allclose(v, trace * np.eye(2), atol=1e-11)
    assert np.allclose(m, (1.0 - RIDGE * trace) * Q_0, atol=1e-11)
    assert np.allclose(Q_0 - m - m.T + q, error, atol=1e-11)


def test_trained_vectors_have_these_overlaps():
    rng = np.random.default_rng(1)
    d = 800
    W_0 = rng.standard_normal((d, 2)) @ np.linalg.cholesky(Q_0).T
    X = rng.standard_normal((round(ALPHA * d), d)) / np.sqrt(d)
    Y = X @ W_0 + np.sqrt(NOISE) * rng.standard_normal((len(X), 2))
    W = np.linalg.solve(X.T @ X + RIDGE * np.eye(d), X.T @ Y)
    m, q, _ = settled(Overlaps(0.1 * Q_0, Q_0, np.eye(2)), step, always, tol=1e-12, most=2000).overlaps
    assert np.allclose(W.T @ W_0 / d, m, atol=0.1)
    assert np.allclose(W.T @ W / d, q, atol=0.1)


def test_mixing_ends_at_the_same_place_sooner():
    start = Overlaps(0.1 * Q_0, Q_0, np.eye(2))
    mixed = settled(start, step, always, tol=1e-10, most=5000)
    halved = settled(start, step, lambda state: False, tol=1e-10, most=5000)
    assert mixed.steps < 0.5 * halved.steps
    assert change(halved.overlaps, mixed.overlaps) < 1e-8


def test_what_does_not_settle_says_so():
    rng = np.random.default_rng(0)
    start = Overlaps(Q_0, Q_0, np.eye(2))
    found = settled(start, lambda now: Overlaps(rng.standard_normal((2, 2)), now.q, now.v), always, tol=1e-6, most=7)
    assert found.steps == 7
    assert found.residual > 0.1
    lost = settled(start, lambda now: Overlaps(np.nan * now.m, now.q, now.v), always, tol=1e-6, most=7)
    assert lost.steps == 1
    assert np.isnan(lost.residual)


def test_bars_hold_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(0)
    found = [mean_and_bar(rng.standard_normal(4)) for _ in range(4000)]
    held = np.mean([abs(mean) < bar for mean, bar in found])
    assert held == pytest.approx(0.95, abs=0.012)
