"""Fine-tuning by adapters beside straightforward NumPy versions, in the same run: rows for a table."""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from typing import Any

import numpy as np

import presage as ps
from report import clocked

LAW = ps.MarchenkoPastur(0.5)
LINEAR = ps.linear_lora(
    LAW, pretraining_alpha=0.2, pretraining_weight_decay=0.4, noise=0.5, n_tokens=2, alpha=3.0, weight_decay=0.5
)
SOFTMAX = ps.softmax_lora(
    LAW, pretraining_alpha=0.5, pretraining_weight_decay=0.01, noise=0.5, n_tokens=2, alpha=6.0, weight_decay=0.05
)
ITERATIONS = 30  # of a damped iteration, as one would write it


def rows(*, quick: bool = False) -> list[dict[str, Any]]:
    """What a user waits for: a linear point, a softmax point; and a trained pair, a point of Bayes."""
    short = [linear_point(), softmax_point()]
    return short if quick else [*short, bayes_point(), trained_pair()]


def linear_point() -> dict[str, Any]:
    """One prediction with its error bars, the pre-training known, beside one rule of as many samples in NumPy."""
    ps.solve(LINEAR)  # the pre-training is solved, and what is compiled is loaded
    ours, found = clocked(lambda: ps.solve(LINEAR), 5)
    noise = found.before.rho_0 - 2.0 * found.before.M + found.before.Q
    plain, overlap = clocked(lambda: straightforward_linear(noise, 8 * found.nodes))
    return {
        "work": "adapter, linear output, T = 2: one prediction",
        "reach": 0.2,
        "seconds": ours,
        "plain_seconds": plain,
        "note": f"error bar of the overlap {found.error_bars['overlap']:.1e} ({8 * found.nodes} samples); plain: as "
        f"many samples, roots by bisection, {ITERATIONS} damped steps, no error bar; they differ by "
        f"{abs(found.overlap - overlap):.1e}",
    }


def straightforward_linear(noise: float, n: int) -> float:
    """The overlap, as one would write it: eigenvalues of every sample at every step, roots by bisection."""
    rng, T, alpha, decay = np.random.default_rng(0), 2, LINEAR.alpha, LINEAR.weight_decay
    chi, xi, raw = rng.standard_normal((n, T)), rng.standard_normal((n, T)), rng.standard_normal((n, T, T))
    B = chi[:, :, None] * chi[:, None, :] - np.eye(T) + np.sqrt(0.5 * noise) * (raw + raw.transpose(0, 2, 1))
    m, q, v = 0.9, 1.0, 0.05
    for _ in range(ITERATIONS):
        a, U = np.linalg.eigh(B + q * np.eye(T))
        omega = m * chi + np.sqrt(q - m * m) * xi
        w = np.einsum("nij,ni->nj", U, omega)
        low, high = np.maximum(0.0, a[:, -1] - 0.25 / v), np.maximum(a[:, -1], 0.0) + np.sum(w * w, axis=1)
        for _ in range(50):
            s = 0.5 * (low + high)
            above = np.sum((w / (1.0 + 4.0 * v * (s[:, None] - a))) ** 2, axis=1) > s
            low, high = np.where(above, s, low), np.where(above, high, s)
        p = np.einsum("nij,nj->ni", U, w / (1.0 + 4.0 * v * (s[:, None] - a)))
        g = (p - omega) / v
        H = 4.0 * (s[:, None, None] * np.eye(T) - B - q * np.eye(T)) + 8.0 * p[:, :, None] * p[:, None, :]
        inverse = np.linalg.inv(H + np.eye(T) / v)
        with_target = np.sum(chi * p, axis=1)[:, None, None] * np.eye(T) + chi[:, :, None] * p[:, None, :]
        d_1 = np.mean(4.0 * np.einsum("nij,nji->n", inverse, with_target)) / v
        d_2 = np.mean(np.einsum("nii->n", inverse) / v - T) / v
        ridge = decay - alpha * np.mean(2.0 * (np.sum(p * p, axis=1) - np.einsum("nii->n", B) - T * q))
        new_v = 1.0 / (2.0 * ridge - alpha * d_2)
        new_m = alpha * d_1 * new_v
        new_q = ((alpha * d_1) ** 2 + alpha * np.mean(np.sum(g * g, axis=1))) * new_v**2
        m, q, v = 0.5 * (m + new_m), 0.5 * (q + new_q), 0.5 * (v + new_v)
    return float(m / np.sqrt(q))


def softmax_point() -> dict[str, Any]:
    """One prediction with its error bars, the pre-training known, beside one rule of an eighth of the samples."""
    ps.solve(SOFTMAX)
    ours, found = clocked(lambda: ps.solve(SOFTMAX), 2)
    plain, overlap = clocked(lambda: straightforward_softmax(found.before, found.nodes))
    return {
        "work": "adapter, softmax, T = 2: one prediction",
        "reach": 3.0,
        "seconds": ours,
        "plain_seconds": plain,
        "note": f"error bar of the overlap {found.error_bars['overlap']:.1e} ({8 * found.nodes} samples); plain: an "
        f"eighth of the samples, Newton steps over all of them, one start each, {ITERATIONS} damped steps, no error "
        f"bar; they differ by {abs(found.overlap - overlap):.1e}",
    }


def straightforward_softmax(before: Any, n: int) -> float:
    """The overlap, as one would write it: Newton steps by arrays, from the field alone, until all are done."""
    rng, T, alpha, decay = np.random.default_rng(0), 2, SOFTMAX.alpha, SOFTMAX.weight_decay
    channel = SOFTMAX.pretraining.channel
    z = np.sqrt(before.Q) * rng.standard_normal((n, 3))
    z_0 = before.slope * z + np.sqrt(before.rho_0 - before.slope * before.M) * rng.standard_normal((n, 3))
    chi, xi = rng.standard_normal((2, n, T))
    R_S, one = channel.matrix(z), np.eye(T)

    def softmax(R: Any) -> Any:
        weights = np.exp(R - R.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    y = softmax(channel.matrix(z_0) + chi[:, :, None] * chi[:, None, :] - one)
    m, q, v = 0.9, 1.0, 0.3

    def terms(p: Any) -> tuple[Any, Any, Any]:
        s = softmax(R_S + p[:, :, None] * p[:, None, :] - q * one)
        e = s - y
        mean = np.sum(s * e, axis=2, keepdims=True)
        J = s[..., None] * one - s[..., :, None] * s[..., None, :]
        h = 2.0 * s * (e - mean)
        K = 2.0 * (J @ J + (e - mean)[..., None] * J - s[..., :, None] * (0.5 * h)[..., None, :])
        return np.sum(e * e, axis=(1, 2)), h, K

    for _ in range(ITERATIONS):
        omega = m * chi + np.sqrt(q - m * m) * xi
        p = omega.copy()
        for _ in range(20):
            loss, h, K = terms(p)
            slope = np.einsum("nij,nj->ni", h + h.transpose(0, 2, 1), p) + (p - omega) / v
            H = h + h.transpose(0, 2, 1) + one / v
            for a in range(T):
                dR = np.zeros((n, T, T))
                dR[:, a, :] += p
                dR[:, :, a] += p
                dh = np.einsum("nijk,nik->nij", K, dR)
                H[:, :, a] += np.einsum("nij,nj->ni", dh + dh.transpose(0, 2, 1), p)
            values, vectors = np.linalg.eigh(H)
            turned = np.einsum("nij,ni->nj", vectors, slope) / np.maximum(np.abs(values), 0.1 / v)
            step = -np.einsum("nij,nj->ni", vectors, turned)
            whole, size = loss + np.sum((p - omega) ** 2, axis=1) / (2.0 * v), np.ones(n)
            for _ in range(8):
                tried = p + size[:, None] * step
                higher = terms(tried)[0] + np.sum((tried - omega) ** 2, axis=1) / (2.0 * v) > whole + 1e-12
                size = np.where(higher, 0.3 * size, size)
                if not higher.any():
                    break
            p = p + np.where(higher, 0.0, size)[:, None] * step
            if np.abs(size[:, None] * step).max() < 1e-6:
                break
        g = (p - omega) / v
        products = [np.mean(np.sum(g * chi, axis=1)), np.mean(np.sum(g * omega, axis=1))]
        d_1, d_2 = np.linalg.solve([[1.0, m], [m, q]], products)
        ridge = decay - alpha * np.mean(np.einsum("nii->n", terms(p)[1]))
        new_v = 1.0 / (2.0 * ridge - alpha * d_2)
        new_m = alpha * d_1 * new_v
        new_q = ((alpha * d_1) ** 2 + alpha * np.mean(np.sum(g * g, axis=1))) * new_v**2
        m, q, v = 0.5 * (m + new_m), 0.5 * (q + new_q), 0.5 * (v + new_v)
    return float(m / np.sqrt(q))


def bayes_point() -> dict[str, Any]:
    """The best of all methods for a linear output, with its threshold."""
    ps.bayes_optimal(LINEAR)
    seconds, found = clocked(lambda: ps.bayes_optimal(LINEAR))
    return {
        "work": "adapter, linear output, T = 2: the best of all methods and its threshold",
        "seconds": seconds,
        "note": f"error bar of q {found.error_bars['q']:.1e}, of the threshold {found.error_bars['weak_recovery']:.1e}",
    }


def trained_pair() -> dict[str, Any]:
    """Both stages trained for real, one seed on one core."""
    ps.simulate(SOFTMAX, d=20, seeds=1, processes=1, progress=False)
    seconds, _ = clocked(lambda: ps.simulate(SOFTMAX, d=150, seeds=1, processes=1, progress=False))
    return {
        "work": "adapter, softmax, T = 2, d = 150: both stages trained and measured, four starts",
        "seconds": seconds,
        "note": "11,250 samples of the pre-training, 900 of the fine-tuning, 20,000 of the test",
    }


if __name__ == "__main__":
    for row in rows():
        print(row)
