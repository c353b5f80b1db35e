"""A third evaluation of softmax attention with two tokens: NumPy and SciPy alone, nothing of presage.

Density by the cubic of MP(kappa_0) [+] semicircle, slopes by Stein's lemma, the proximal problem by Newton from four
starts for each node of a product of Gauss-Hermite rules, the fixed point by scipy.optimize.root; beta = beta_0 = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

Array = NDArray[Any]
ROOT_2 = np.sqrt(2.0)


def density_and_hilbert(x: Array, t: float, kappa_0: float) -> tuple[Array, Array]:
    """From g = h - i pi rho, which solves x = 1/g + kappa_0/(s - g) + t g with s = sqrt(kappa_0)."""
    s = np.sqrt(kappa_0)
    cubic = np.stack([np.full_like(x, -t), t * s + x, kappa_0 - 1 - x * s, np.full_like(x, s)])
    companion = np.zeros((x.size, 3, 3))
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    companion[:, :, 2] = (-cubic[:0:-1] / cubic[0]).T
    roots = np.linalg.eigvals(companion)
    g = roots[np.arange(x.size), np.argmin(roots.imag, axis=1)]
    return -g.imag / np.pi, g.real


def weight_side(conjugates: Array, lambda_tilde: float, kappa_0: float) -> dict[str, float]:
    """Overlaps, rank and penalty from the conjugates: [BETKZ25] (55), first three lines."""
    m_hat, q_hat, Sigma_hat = conjugates
    t, c, scale, s = q_hat / m_hat**2, 2 * lambda_tilde / m_hat, m_hat / Sigma_hat, np.sqrt(kappa_0)
    g = np.roots([t, -2 * s * t, s**2 * t + kappa_0 - 1, 2 * s, -(s**2)])
    g = g.real[np.abs(g.imag) < 1e-9 * np.abs(g)]
    edges = np.sort(1 / g + kappa_0 / (s - g) + t * g)
    abscissae, weights = np.polynomial.legendre.leggauss(300)
    rank = first = J = I = 0.0
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        if high <= c:
            continue
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        start = np.arcsin(max((c - middle) / half, -1.0))
        stretch = 0.5 * (np.pi / 2 - start)
        angle = start + stretch * (1 + abscissae)
        x = middle + half * np.sin(angle)
        rho, h = density_and_hilbert(x, t, kappa_0)
        mass, y = stretch * weights * half * np.cos(angle) * rho, x - c
        rank, first, J, I = rank + mass.sum(), first + mass @ y, J + mass @ y**2, I + mass @ (y * h)
    m = scale * (J + c * first - 2 * t * I)
    return {
        "rank": rank,
        "m": m,
        "q": scale**2 * J,
        "Sigma": 2 * I / Sigma_hat,
        "penalty": lambda_tilde * scale * first,
    }


def rows(e: Array) -> Array:
    """Arguments of the two sigmoids, from the two active directions."""
    return np.stack([ROOT_2 * e[1] + e[0], ROOT_2 * e[1] - e[0]])


def value_slope_curvature(e: Array, z: Array, label: Array, Sigma: float) -> tuple[Array, Array, Array]:
    """|e - z|^2/(2 Sigma) + 2 |sigmoid(u) - label|^2, its gradient and its Hessian (11, 12, 22)."""
    p = 1 / (1 + np.exp(-rows(e)))
    r, w = p - label, p * (1 - p)
    value = np.sum((e - z) ** 2, axis=0) / (2 * Sigma) + 2 * np.sum(r**2, axis=0)
    k, c = 4 * r * w, 4 * w * (w + r * (1 - 2 * p))
    gradient = (e - z) / Sigma + np.stack([k[0] - k[1], ROOT_2 * (k[0] + k[1])])
    total = c[0] + c[1]
    return value, gradient, np.stack([1 / Sigma + total, ROOT_2 * (c[0] - c[1]), 1 / Sigma + 2 * total])


def newton(e: Array, z: Array, label: Array, Sigma: float) -> tuple[Array, Array]:
    """Damped Newton with a shifted Hessian, all nodes at once."""
    for _ in range(60):
        value, gradient, (h11, h12, h22) = value_slope_curvature(e, z, label, Sigma)
        lowest = 0.5 * (h11 + h22) - np.hypot(0.5 * (h11 - h22), h12)
        shift = np.where(lowest < 0.01, 0.1 - lowest + np.maximum(-lowest, 0.0), 0.0)
        a, b = h11 + shift, h22 + shift
        determinant = a * b - h12**2
        step = np.stack([h12 * gradient[1] - b * gradient[0], h12 * gradient[0] - a * gradient[1]]) / determinant
        length = np.ones(value.size)
        for _ in range(20):
            worse = value_slope_curvature(e + length * step, z, label, Sigma)[0] > value + 1e-15
            if not worse.any():
                break
            length = np.where(worse, 0.5 * length, length)
        e = e + length * step
        if np.abs(step).max() < 1e-11:
            break
    return e, value_slope_curvature(e, z, label, Sigma)[0]


def sample_side(m: float, q: float, Sigma: float, *, rho_0: float, alpha: float, nodes: int) -> dict[str, Any]:
    """Conjugates by Stein's lemma, test and training error, over a quarter of the product rule (its symmetries)."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(x, x, x, x, indexing="ij")])
    weights = np.prod(np.meshgrid(w, w, w, w, indexing="ij"), axis=0).ravel()
    kept = (grid[0] > 0) & (grid[1] > 0) & (weights > 1e-12 * weights.max())
    grid, weights = grid[:, kept], weights[kept] / weights[kept].sum()
    a, b = (grid[:2] - grid[2:]) / ROOT_2, (grid[:2] + grid[2:]) / ROOT_2
    mean, sigma = m / np.sqrt(rho_0), np.sqrt(q - m**2 / rho_0)
    z_0, z = np.sqrt(rho_0) * a, mean * a + sigma * b
    label = 1 / (1 + np.exp(-rows(z_0)))
    best, p = np.full(weights.size, np.inf), z
    for first, second in ((z, z), (z_0, z_0), (z, z_0), (z_0, z)):
        u = rows(first)[0], rows(second)[1]
        e, value = newton(np.stack([0.5 * (u[0] - u[1]), (u[0] + u[1]) / (2 * ROOT_2)]), z, label, Sigma)
        p, best = np.where(value < best, e, p), np.minimum(value, best)
    f = (p - z) / Sigma
    slope_z = weights @ np.sum(f * b, axis=0) / sigma
    slope_z_0 = (weights @ np.sum(f * a, axis=0) - mean * slope_z) / np.sqrt(rho_0)
    square = weights @ np.sum(f**2, axis=0)
    losses = [weights @ np.sum(2 * (1 / (1 + np.exp(-rows(e))) - label) ** 2, axis=0) for e in (p, z)]
    conjugates = 2 * alpha * np.array([slope_z_0, square, -slope_z])
    return {"conjugates": conjugates, "train_error": losses[0], "test_error": losses[1]}


def attention_point(
    kappa_0: float, noise: float, alpha: float, lambda_tilde: float, *, start: Array, nodes: int = 12
) -> dict[str, float]:
    """Solve for the conjugates from `start`; return the observables."""
    rho_0 = 1 + kappa_0 + noise / 2

    def both(y: Array) -> tuple[dict[str, float], dict[str, Any]]:
        side = weight_side(np.exp(y), lambda_tilde, kappa_0)
        return side, sample_side(side["m"], side["q"], side["Sigma"], rho_0=rho_0, alpha=alpha, nodes=nodes)

    def residual(y: Array) -> Array:
        return np.asarray(np.log(both(y)[1]["conjugates"]) - y)

    options: Any = {"eps": 1e-5}
    found = root(residual, np.log(start), tol=1e-9, options=options)
    side, sample = both(found.x)
    return {
        **side,
        "residual": float(np.abs(found.fun).max()),
        "test_error": sample["test_error"],
        "train_error": sample["train_error"],
        "train_loss": alpha * sample["train_error"] + side["penalty"],
    }
