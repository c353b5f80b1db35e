"""Proximal maps against brute force, and their derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from presage.models.lora.theory.adapter_newton import adapter_prox, adapter_slopes
from presage.models.lora.theory.averages import softmax
from presage.models.lora.theory.secular_prox import SUMS, linear_sums, secular_root


def whole_of(P, R_0, y, omega, v, t, beta, linear):
    """The minimised function, written down once more."""
    P = P.reshape(omega.shape)
    R = R_0 + P @ P.T - t * np.eye(len(R_0))
    output = R if linear else softmax(beta * R)
    return np.sum((output - y) ** 2) + np.sum((P - omega) ** 2 / (2.0 * v))


def a_sample(rng, T, r, linear):
    chi, omega = rng.standard_normal((T, r)), rng.standard_normal((T, r))
    raw = rng.standard_normal((2, T, T))
    R_0, noise = (raw + raw.transpose(0, 2, 1)) / 2.0
    target = R_0 + 0.7 * noise + chi @ chi.T - r * np.eye(T)
    return R_0, (target if linear else softmax(1.3 * target)), chi, omega


@pytest.mark.parametrize("T", [1, 2, 3, 5])
def test_the_secular_root_is_the_global_minimum(T):
    rng = np.random.default_rng(T)
    for _ in range(20):
        a, omega, v = 2.0 * rng.standard_normal(T), rng.standard_normal(T), float(rng.uniform(0.02, 1.0))
        s = secular_root(omega, a, v, 0.0)
        p = omega / (1.0 + 4.0 * v * (s - a))
        assert p @ p == pytest.approx(s, rel=1e-10)

        def whole(p, a=a, omega=omega, v=v):
            return np.sum((np.diag(a) - np.outer(p, p)) ** 2) + np.sum((p - omega) ** 2) / (2.0 * v)

        starts = [*(2.0 * rng.standard_normal((12, T))), omega]
        lowest = min(scipy.optimize.minimize(whole, start).fun for start in starts)
        assert whole(p) <= lowest + 1e-7


@pytest.mark.parametrize(
    ("T", "r", "linear"), [(2, 1, True), (2, 1, False), (3, 1, False), (2, 2, False), (3, 2, True)]
)
def test_newton_finds_the_lowest_minimum(T, r, linear):
    rng = np.random.default_rng(10 * T + r)
    beta, t = (1.0 if linear else 0.9), 0.8 * r
    v = np.array([0.3, 0.5])[:r]
    for _ in range(8):
        R_0, y, chi, omega = a_sample(rng, T, r, linear)
        P = omega[None].copy()
        losses, traces = np.empty(1), np.empty(1)
        adapter_prox(R_0[None], y[None], chi[None], omega[None], 1.0 / v, t, beta, linear, True, P, losses, traces)
        arguments = (R_0, y, omega, v, t, beta, linear)
        starts = [*(1.5 * rng.standard_normal((12, T * r))), omega.ravel()]
        lowest = min(scipy.optimize.minimize(whole_of, start, args=arguments).fun for start in starts)
        assert whole_of(P[0], *arguments) <= lowest + 1e-6 * (1.0 + abs(lowest))
        at = whole_of(P[0], R_0, y, omega, np.full(r, np.inf), t, beta, linear)
        assert losses[0] == pytest.approx(at, rel=1e-10)
        shift = 1e-5
        sides = [
            whole_of(P[0], R_0 + sign * shift * np.eye(T), y, omega, np.full(r, np.inf), t, beta, linear)
            for sign in (1.0, -1.0)
        ]
        assert traces[0] == pytest.approx((sides[0] - sides[1]) / (2.0 * shift), rel=1e-5, abs=1e-6)


def test_the_two_maps_of_a_linear_output_agree():
    """The secular equation and Newton's steps are two ways to one place."""
    rng, T, v = np.random.default_rng(3), 3, 0.1
    for _ in range(10):
        R_0, y, chi, omega = a_sample(rng, T, 1, True)
        P, t = omega[None].copy(), 0.9
        adapter_prox(
            R_0[None],
            y[None],
            chi[None],
            omega[None],
            np.array([1.0 / v]),
            t,
            1.0,
            True,
            True,
            P,
            np.empty(1),
            np.empty(1),
        )
        values, vectors = np.linalg.eigh(y - R_0 + t * np.eye(T))
        field = vectors.T @ omega[:, 0]
        p = vectors @ (field / (1.0 + 4.0 * v * (secular_root(field, values, v, 0.0) - values)))
        assert P[0, :, 0] == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize(("T", "r", "linear"), [(2, 1, True), (2, 1, False), (3, 2, False), (3, 2, True)])
def test_derivatives_of_the_map_are_those_of_differences(T, r, linear):
    rng = np.random.default_rng(7)
    beta, beta_0, t, v = 0.9, 1.3, 0.8 * r, np.array([0.2, 0.3])[:r]
    R_0, _, chi, omega = a_sample(rng, T, r, linear)
    rest = 0.5 * np.eye(T)

    def map_of(chi, omega):
        target = R_0 + rest + chi @ chi.T - r * np.eye(T)
        y = target if linear else softmax(beta_0 * target)
        P = omega[None].copy()
        for _ in range(3):  # a step of 1e-5 ends a search: two more make it exact
            adapter_prox(
                R_0[None], y[None], chi[None], omega[None], 1.0 / v, t, beta, linear, False, P, np.empty(1), np.empty(1)
            )
        return P[0], y

    P, y = map_of(chi, omega)
    response, target, replicon = np.empty((1, r)), np.empty((1, r)), np.empty(1)
    adapter_slopes(R_0[None], y[None], chi[None], 1.0 / v, t, beta, beta_0, linear, P[None], response, target, replicon)
    step, by_field, by_target, matrix = 1e-4, np.zeros(r), np.zeros(r), []
    for a in range(T):
        for c in range(r):
            E = np.zeros((T, r))
            E[a, c] = step
            moved = (map_of(chi, omega + E)[0] - map_of(chi, omega - E)[0]) / (2.0 * step)
            by_field[c] += moved[a, c]
            matrix.append(moved.ravel())
            by_target[c] += ((map_of(chi + E, omega)[0] - map_of(chi - E, omega)[0]) / (2.0 * step))[a, c]
    assert response[0] == pytest.approx(by_field, abs=1e-4)
    assert target[0] == pytest.approx(by_target, abs=1e-4)
    assert replicon[0] == pytest.approx(np.sum((np.eye(T * r) - np.array(matrix)) ** 2), abs=1e-4)


def test_sums_of_the_linear_map_are_those_of_its_derivatives():
    """One sample in its eigenbasis: every sum against differences of the map."""
    rng, T, q_0 = np.random.default_rng(5), 3, 1.4
    values, chi, xi = rng.standard_normal(T), rng.standard_normal(T), rng.standard_normal(T)
    m, q, v = 1.1, 1.3, 0.15
    out, roots = np.empty(SUMS), np.zeros(1)
    linear_sums(values[None], chi[None], xi[None], m, q, v, q_0, roots, out)
    omega = (m / q_0) * chi + np.sqrt(q - m * m / q_0) * xi
    # what is seen as a function of chi: B = chi chi' + rest, with the eigenvalues given
    rest = np.diag(values) - np.outer(chi, chi)

    def map_of(chi, omega):
        a, U = np.linalg.eigh(rest + np.outer(chi, chi) + q * np.eye(T))
        field = U.T @ omega
        return U @ (field / (1.0 + 4.0 * v * (secular_root(field, a, v, 0.0) - a)))

    p, h = map_of(chi, omega), 1e-5
    E = h * np.eye(T)
    response = np.array([(map_of(chi, omega + e) - map_of(chi, omega - e)) / (2.0 * h) for e in E])
    target = np.array([(map_of(chi + e, omega) - map_of(chi - e, omega)) / (2.0 * h) for e in E])
    g = (p - omega) / v
    A = np.diag(values) + q * np.eye(T)
    expected = [
        g @ g,
        np.trace(target) / v,
        (np.trace(response) - T) / v,
        g @ omega,
        2.0 * np.trace(np.outer(p, p) - A),
        np.sum((A - np.outer(p, p)) ** 2),
        np.sum((np.eye(T) - response) ** 2),
        g @ chi,
    ]
    assert out == pytest.approx(expected, rel=1e-6)
