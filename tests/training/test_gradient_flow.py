"""Gradient flow of a quadratic loss by Krylov spaces, beside the exponential of its matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import presage as ps
from presage.training.gradient_flow import quadratic_flow

TIMES = np.array([0.0, 0.1, 3.0, 400.0])


@pytest.mark.parametrize("rank", [12, 5])
def test_it_is_the_exponential_of_the_curvature(rank):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((rank, 12))
    H, b = A.T @ A / 12, A.T @ rng.standard_normal(rank)
    found = quadratic_flow(lambda X: (H @ X.ravel()).reshape(3, 4), b.reshape(3, 4), TIMES)
    for time, X in zip(TIMES, found, strict=True):
        h, U = np.linalg.eigh(H)
        whole = U @ (np.where(h > 1e-10, -np.expm1(-h * time) / np.maximum(h, 1e-10), time) * (U.T @ b))
        np.testing.assert_allclose(X.ravel(), whole, rtol=1e-7, atol=1e-9)
    ode = scipy.integrate.solve_ivp(lambda _, x: b - H @ x, (0.0, 3.0), np.zeros(12), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[2].ravel(), ode.y[:, -1], rtol=1e-6, atol=1e-8)


def test_nothing_pulls_nowhere_and_too_long_is_told():
    assert not quadratic_flow(lambda X: X, np.zeros(3), TIMES).any()
    rng = np.random.default_rng(1)
    slow = np.geomspace(1e-9, 1.0, 400)
    with pytest.raises(ps.TrainError, match=r"has not settled after 10 passes over the data\. Use an earlier"):
        quadratic_flow(lambda X: slow * X, rng.standard_normal(400), np.array([1e6]), most=10)
