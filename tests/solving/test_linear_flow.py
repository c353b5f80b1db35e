"""Errors of a linear model on its way: filters that solve their equations, integrals beside a large Gaussian design."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from presage.solving.linear_flow import largest_curvature, left_of_descent, left_of_flow, linear_errors

X = np.array([0.02, 0.5, 1.3, 3.7])


@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_a_flow_solves_its_equation(ridge):
    ode = scipy.integrate.solve_ivp(
        lambda _, s: X * (1.0 - s) - ridge * s, (0.0, 7.0), np.zeros(4), t_eval=[0.3, 7.0], rtol=1e-11, atol=1e-13
    )
    for time, s in zip(ode.t, ode.y.T, strict=True):
        np.testing.assert_allclose(left_of_flow(X, np.array([[time]]), ridge)[0], 1.0 - s, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_descent_is_its_recursion(ridge):
    s = np.zeros(4)
    for step in range(6):
        np.testing.assert_allclose(
            left_of_descent(X, np.array([[step]]), 0.3, ridge)[0], 1.0 - s, rtol=1e-12, atol=1e-14
        )
        s = s + 0.3 * (X * (1.0 - s) - ridge * s)


def test_short_steps_are_a_flow():
    time, rate = 2.0, 1e-5
    steps = np.array([[time / rate]])
    np.testing.assert_allclose(left_of_descent(X, steps, rate), left_of_flow(X, np.array([[time]])), rtol=1e-3)


@pytest.mark.parametrize("phi", [0.4, 1.6])
def test_errors_are_those_of_a_large_gaussian_design(phi):
    """Measurements of variance Q_0: curvatures over their mean, of A'A p/n, have the law of ratio phi = p/n."""
    p, many, Q_0, noise, rng = 600, 24, 1.3, 0.4, np.random.default_rng(0)
    n = round(p / phi)
    A = rng.standard_normal((n, p)) / np.sqrt(p)
    s_0, xi = rng.standard_normal((p, many)) * np.sqrt(Q_0), rng.standard_normal((n, many)) * np.sqrt(noise)
    x, vectors = np.linalg.eigh(A.T @ A * (p / n))
    pull = vectors.T @ (A.T @ (A @ s_0 + xi)) * (p / n)
    times = np.array([0.3, 3.0, 20.0])
    found = linear_errors(left_of_flow, times, p / n, Q_0, noise)
    for row, time in enumerate(times):
        learned = vectors @ (np.where(x > 1e-9, -np.expm1(-x * time) / np.maximum(x, 1e-9), time)[:, None] * pull)
        assert np.mean((learned - s_0) ** 2) == pytest.approx(found.estimation_error[row], rel=0.03)
        assert np.mean((A @ (learned - s_0) - xi) ** 2) == pytest.approx(found.train_error[row], rel=0.07, abs=1e-3)


def test_limits_of_a_way():
    times = np.array([0.0, 1e7])
    under, over = (linear_errors(left_of_flow, times, phi, 1.5, 0.25) for phi in (0.5, 2.0))
    for found in (under, over):
        assert found.estimation_error[0] == pytest.approx(1.5, rel=1e-9)
        assert found.train_error[0] == pytest.approx(1.75, rel=1e-9)
    # Least squares: noise phi/(1 - phi), and n - p of n directions of noise are left; beyond, all labels are fitted.
    assert under.estimation_error[1] == pytest.approx(0.25 * 0.5 / 0.5, rel=1e-8)
    assert under.train_error[1] == pytest.approx(0.25 * 0.5, rel=1e-8)
    assert over.estimation_error[1] == pytest.approx(1.5 * 0.5 + 0.25 * 1.0, rel=1e-8)
    assert over.train_error[1] == pytest.approx(0.0, abs=1e-9)
    assert largest_curvature(0.25) == 2.25


def test_bars_hold_a_finer_integral():
    times = np.array([0.5, 40.0, 4e3])
    for phi in (0.5, 0.999):
        found = linear_errors(left_of_flow, times, phi, 1.5, 0.25)
        low, high = (1.0 - np.sqrt(phi)) ** 2, (1.0 + np.sqrt(phi)) ** 2
        for row, time in enumerate(times):
            nearby = [low + 1.0 / time * c for c in (0.1, 1.0, 10.0)]

            def density(x, time=time, phi=phi, low=low, high=high):
                rest = np.exp(-x * time)
                mass = np.sqrt((high - x) * (x - low)) / (2.0 * np.pi * phi * x)
                return (1.5 * rest**2 + 0.25 * phi * (1.0 - rest) ** 2 / x) * mass

            inside = [place for place in nearby if low < place < high]
            exact, _ = scipy.integrate.quad(density, low, high, points=inside, limit=2000, epsabs=0.0, epsrel=1e-9)
            assert found.estimation_error[row] == pytest.approx(exact, rel=1e-7)
