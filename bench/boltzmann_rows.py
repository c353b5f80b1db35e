"""Boltzmann machines beside a straightforward NumPy version, in the same run: rows for a table."""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from typing import Any

import numpy as np

import presage as ps
from presage.solving.vector_state_evolution import mean_and_bar
from report import clocked

ONE = ps.boltzmann(alpha=8.0, signal=1.0)
TWO = ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2)
WAY = ps.boltzmann(alpha=4.0, signal=1.0)
STEPS, FIELDS, RUNS = 100, 8192, 12
PLAIN_FIELDS = 2048  # of a run of the plain version, whose memory is as the square of the steps


def rows(*, quick: bool = False) -> list[dict[str, Any]]:
    """State evolution of one and of two units, and a hundred steps of descent."""
    return [one_unit(), two_units(quick=quick), descent(steps=20 if quick else STEPS)]


def one_unit() -> dict[str, Any]:
    """The fixed point with its error bars, beside an iteration that solves for every field."""
    ps.solve(ONE)
    ours, found = clocked(lambda: ps.solve(ONE), 5)
    plain, m = clocked(lambda: straightforward_one(8.0, 1.0))
    return {
        "work": "Boltzmann machine, state evolution of one unit",
        "reach": 0.02,
        "seconds": ours,
        "plain_seconds": plain,
        "note": "plain: 4001 places of the field, each solved by Newton, iterated to 1e-10, no likelihoods, no error "
        f"bars; overlaps differ by {abs(found.overlap - m):.0e}",
    }


def straightforward_one(alpha: float, lam: float) -> float:
    """The overlap of one binary unit, as one would write it."""
    m, q, v = 1.0, 1.5, 0.1
    for _ in range(1000):
        sigma = np.sqrt(q + lam * m * m)
        om = np.linspace(-8.5 * sigma, 8.5 * sigma, 4001)
        w = np.exp(-0.5 * (om / sigma) ** 2)
        w /= w.sum()
        p = om.copy()
        for _ in range(50):
            g = np.tanh(p)
            step = (p - om - v * g) / (1.0 - v * (1.0 - g * g))
            p -= step
            if np.abs(step).max() < 1e-13:
                break
        g = np.tanh(p)
        H = 1.0 - g * g
        D = alpha * w @ (H / (1.0 - v * H))
        before, m_hat = m, D * lam * m
        v = 1.0 / (alpha - D)
        m, q = v * m_hat, v * v * (m_hat**2 + alpha * w @ (g * g))
        if abs(m - before) < 1e-10:
            break
    return float(m)


def two_units(*, quick: bool) -> dict[str, Any]:
    """The fixed point of two units from two starts, beside the plain iteration from one."""
    ps.solve(TWO)
    ours, found = clocked(lambda: ps.solve(TWO), 1 if quick else 3)
    plain, M = clocked(lambda: straightforward_two(8.0, (2.0, 1.0), 20 if quick else 1000))
    off = np.abs(np.sort(np.abs(M), axis=None) - np.sort(np.abs(found.M), axis=None)).max()
    return {
        "work": "Boltzmann machine, state evolution of two units",
        "reach": 2.0,
        "seconds": ours,
        "plain_seconds": plain,
        "note": "plain: a grid of 121 x 121, matrices by einsum, iterated to 1e-8 from one start; overlaps differ by "
        f"{off:.0e}",
    }


def straightforward_two(alpha: float, signals: tuple[float, float], most: int) -> Any:
    """The overlaps of two binary units, as one would write it; the price of the weights is mixed."""
    lam = np.array(signals)
    M, Q, V = np.array([[0.5, 0.2], [-0.1, 0.4]]), np.array([[0.8, 0.1], [0.1, 0.8]]), 0.1 * np.eye(2)
    ridge = alpha * np.array([[1.0, np.tanh(Q[0, 1])], [np.tanh(Q[0, 1]), 1.0]])
    for _ in range(most):
        Sigma = Q + M.T @ np.diag(lam) @ M
        wide = 8.5 * np.sqrt(np.linalg.eigvalsh(Sigma)[-1]) + np.abs(V).sum()
        line = np.linspace(-wide, wide, 121)
        p = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
        g = np.tanh(p)
        H = np.einsum("ni,ij->nij", 1.0 - g * g, np.eye(2))
        slope = np.eye(2) - V @ H
        x = p - g @ V
        density = np.exp(-0.5 * np.einsum("ni,ij,nj->n", x, np.linalg.inv(Sigma), x))
        weight = density * np.linalg.det(slope)
        weight /= weight.sum()
        dg = H @ np.linalg.inv(slope)
        D = alpha * np.einsum("n,nij->ij", weight, dg)
        m_hat, q_hat = np.diag(lam) @ M @ D, alpha * np.einsum("n,ni,nj->ij", weight, g, g)
        before = M
        V = np.linalg.inv(ridge - D)
        M, Q = m_hat @ V, V @ (m_hat.T @ m_hat + q_hat) @ V
        t = np.tanh(Q[0, 1])
        ridge = 0.7 * ridge + 0.3 * alpha * np.array([[1.0, t], [t, 1.0]])
        if np.abs(M - before).max() < 1e-8:
            break
    return M


def descent(*, steps: int) -> dict[str, Any]:
    """Steps of descent with error bars of a percent, beside as many plain runs, which keep every response."""
    ps.trajectory(WAY, steps=3, samples=64, runs=2)
    ours, found = clocked(lambda: ps.trajectory(WAY, steps=steps, samples=FIELDS, runs=RUNS))
    plain, ends = clocked(
        lambda: [straightforward_descent(4.0, 1.0, 0.1, 0.25, 0.2, steps, PLAIN_FIELDS, seed) for seed in range(RUNS)]
    )
    bar = float((found.error_bars["overlap"] / found.overlap).max())
    mean, rough = mean_and_bar(ends)
    return {
        "work": f"Boltzmann machine, {steps} steps of descent by two-time equations, one unit",
        "reach": 5.0,
        "seconds": ours,
        "plain_seconds": plain,
        "note": f"ours: {RUNS} runs of {FIELDS} fields, error bars of the overlap at most {bar:.1%}; plain: {RUNS} "
        f"runs of {PLAIN_FIELDS} independent fields, the last overlap with a bar of {rough / mean:.1%}, "
        f"{abs(mean / found.overlap[-1] - 1.0):.1%} from ours",
    }


def straightforward_descent(
    alpha: float, lam: float, m_0: float, q_0: float, rate: float, steps: int, count: int, seed: int
) -> float:
    """The last overlap of one binary unit by one run, as one would write it: every response is kept."""
    rng = np.random.default_rng(seed)
    times = steps + 1
    xi = rng.standard_normal((times, count))
    g, H, E = np.zeros((times, count)), np.zeros((times, count)), np.zeros((times, times, count), dtype=np.float32)
    L, C, Cg, Gam = (np.zeros((times, times)) for _ in range(4))
    a, c, M = np.zeros(times), np.zeros(times), np.zeros(times)
    a[0] = 1.0
    for t in range(times):
        M[t] = m_0 * a[t] + c[t]
        for s in range(t + 1):
            C[t, s] = q_0 * a[t] * a[s] + m_0 * (a[t] * c[s] + c[t] * a[s]) + c[t] * c[s]
            C[t, s] += L[t, :t] @ Cg[:t, :s] @ L[s, :s]
            C[s, t] = C[t, s]
        seen = C[: t + 1, : t + 1] + lam * np.outer(M[: t + 1], M[: t + 1])
        root = np.linalg.cholesky(seen + 1e-9 * np.diag(np.diag(seen)))
        u = root[t] @ xi[: t + 1] + L[t, :t] @ g[:t]
        g[t] = np.tanh(u)
        H[t] = 1.0 - g[t] ** 2
        for r in range(t):
            E[t, r] = H[t] * np.einsum("s,sn->n", L[t, r:t], E[r:t, r])
        E[t, t] = H[t]
        Gam[t, : t + 1] = alpha * E[t, : t + 1].mean(axis=1)
        Cg[t, : t + 1] = Cg[: t + 1, t] = alpha * g[: t + 1] @ g[t] / count
        if t < steps:
            P = 1.0 - rate
            Mh = lam * M[: t + 1] @ Gam[t, : t + 1]
            a[t + 1] = a[t] * P + rate / alpha * a[: t + 1] @ Gam[t, : t + 1]
            c[t + 1] = c[t] * P + rate / alpha * (Mh + c[: t + 1] @ Gam[t, : t + 1])
            for q in range(t + 1):
                L[t + 1, q] = L[t, q] * P + rate / alpha * ((q == t) + L[q + 1 : t + 1, q] @ Gam[t, q + 1 : t + 1])
    return float(M[-1])


if __name__ == "__main__":
    for row in rows():
        print(row)
