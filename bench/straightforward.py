"""The straightforward method, as a baseline for bench/theory.py and bench/core.py; imports nothing from presage.

What the code of a paper would do, done carefully: the spectral density by np.roots of a cubic, one x at a
time; J by scipy.integrate.quad and its derivatives by central differences; the sample side by Monte Carlo,
with one scipy.optimize.minimize for each sample; then iterate state evolution, [BETKZ25] (43) and (55).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize, root

Vector = NDArray[np.float64]


def density(x: float, delta: float, kappa_0: float) -> tuple[float, float]:
    """Density and Hilbert part at x of MP(kappa_0) [+] semicircle(delta), from g = h - i pi rho.

    g solves x = 1/g + kappa_0/(s - g) + delta^2 g with s = sqrt(kappa_0). Where all three roots are real, x
    is outside the support: the density is 0 and the physical root is the one where x decreases with g.
    """
    s, t = np.sqrt(kappa_0), delta**2
    g = np.roots([-t, t * s + x, kappa_0 - 1.0 - x * s, s])
    lowest = g[np.argmin(g.imag)]
    if lowest.imag < 0.0:
        return -lowest.imag / np.pi, lowest.real
    slope = -1.0 / g.real**2 + kappa_0 / (s - g.real) ** 2 + t
    return 0.0, g.real[np.argmin(slope)]


def edges(delta: float, kappa_0: float) -> Vector:
    """Band edges in increasing order: the x(g) at the real g with x'(g) = 0."""
    s, t = np.sqrt(kappa_0), delta**2
    g = np.roots([t, -2.0 * s * t, s**2 * t + kappa_0 - 1.0, 2.0 * s, -(s**2)])
    g = g.real[np.abs(g.imag) < 1e-8 * np.abs(g)]
    return np.sort(1.0 / g + kappa_0 / (s - g) + t * g)


def integral_above(power: int, delta: float, c: float, kappa_0: float) -> float:
    """The integral of (x-c)^power over the part of the spectrum above c."""
    band = edges(delta, kappa_0)
    total = 0.0
    for low, high in zip(band[::2], band[1::2], strict=True):
        if high > c:
            total += quad(
                lambda x: (x - c) ** power * density(x, delta, kappa_0)[0],
                max(low, c),
                high,
                epsabs=1e-10,
                epsrel=1e-10,
                limit=200,
            )[0]
    return total


def J(delta: float, c: float, kappa_0: float) -> float:
    """J(delta, c), the integral of (x-c)^2 above c."""
    return integral_above(2, delta, c, kappa_0)


def dJ_ddelta(delta: float, c: float, kappa_0: float, step: float = 1e-3) -> float:
    """Central difference of J in delta, with a relative step."""
    h = step * delta
    return (J(delta + h, c, kappa_0) - J(delta - h, c, kappa_0)) / (2.0 * h)


def dJ_dc(delta: float, c: float, kappa_0: float, step: float = 1e-3) -> float:
    """Central difference of J in c, with a step relative to delta."""
    h = step * delta
    return (J(delta, c + h, kappa_0) - J(delta, c - h, kappa_0)) / (2.0 * h)


def I(delta: float, c: float, kappa_0: float) -> float:
    """I(delta, c), from dJ/ddelta = 4 delta I."""
    return dJ_ddelta(delta, c, kappa_0) / (4.0 * delta)


@dataclass(frozen=True)
class Overlaps:
    """What the learner shares with the target (m), with itself (q), and its susceptibility (Sigma)."""

    m: float
    q: float
    Sigma: float

    def mixed(self, other: Overlaps, weight: float) -> Overlaps:
        """(1 - weight) self + weight other."""
        old, new = np.array([self.m, self.q, self.Sigma]), np.array([other.m, other.q, other.Sigma])
        return Overlaps(*((1.0 - weight) * old + weight * new).tolist())


@dataclass(frozen=True)
class Conjugates:
    """The conjugates of the overlaps."""

    m_hat: float
    q_hat: float
    Sigma_hat: float


def overlaps_from_conjugates(hat: Conjugates, lam_tilde: float, kappa_0: float) -> Overlaps:
    """The weight side, first three lines of [BETKZ25] (55)."""
    delta, c = np.sqrt(hat.q_hat) / hat.m_hat, 2.0 * lam_tilde / hat.m_hat
    j, j_delta, j_c = J(delta, c, kappa_0), dJ_ddelta(delta, c, kappa_0), dJ_dc(delta, c, kappa_0)
    scale = hat.m_hat / hat.Sigma_hat
    return Overlaps(
        m=scale * (j - 0.5 * c * j_c - 0.5 * delta * j_delta),
        q=scale**2 * j,
        Sigma=j_delta / (2.0 * delta * hat.Sigma_hat),
    )


# ------------------------------------------------------------------------------------ softmax attention


def _softmax(logits: Vector) -> Vector:
    exponential = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponential / exponential.sum(axis=-1, keepdims=True))


class _Activation:
    """sigma~_beta: from the L_in components z_ab, a <= b, to the softmax of sqrt(1 + delta_ab) z_ab."""

    def __init__(self, n_tokens: int, beta: float) -> None:
        rows, columns = np.triu_indices(n_tokens)
        self.n_in = rows.size
        self.place = np.empty((n_tokens, n_tokens), dtype=np.intp)
        self.place[rows, columns] = self.place[columns, rows] = np.arange(self.n_in)
        self.weight = beta * np.sqrt(1.0 + np.eye(n_tokens))

    def __call__(self, z: Vector) -> Vector:
        return _softmax(self.weight * z[..., self.place])


def _prox(z: Vector, label: Vector, start: Vector, Sigma: float, activation: _Activation) -> Vector:
    """argmin over h of |h - z|^2/(2 Sigma) + |label - sigma~(h)|^2, [BETKZ25] (11), by BFGS."""

    def objective(h: Vector) -> float:
        return float(((h - z) ** 2).sum() / (2.0 * Sigma) + ((label - activation(h)) ** 2).sum())

    return np.asarray(minimize(objective, start).x)


def conjugates_from_overlaps(
    overlaps: Overlaps,
    rho_0: float,
    alpha: float,
    activation: _Activation,
    samples: int,
    rng: np.random.Generator,
) -> tuple[Conjugates, dict[str, float]]:
    """The sample side, last three lines of [BETKZ25] (55), by Monte Carlo: conjugates, and sample errors.

    Stein form, applied to p - z in place of p: that changes no expectation (p = z gives L_in and 0), and with
    1000 samples at (kappa_0, noise, alpha, lambda) = (.5, .5, .5, .01) it lowers the standard error of
    Sigma_hat from 17 % to 4 % and that of m_hat from 14 % to 4 %.
    """
    m, q, Sigma = overlaps.m, overlaps.q, overlaps.Sigma
    determinant = rho_0 * q - m**2
    z_0 = np.sqrt(rho_0) * rng.standard_normal((samples, activation.n_in))
    z = (m / rho_0) * z_0 + np.sqrt(determinant / rho_0) * rng.standard_normal(z_0.shape)
    labels = activation(z_0)  # the noise is part of z_0
    starts = z_0 + 1e-2 * rng.standard_normal(z_0.shape)
    p = np.array([_prox(*arguments, Sigma, activation) for arguments in zip(z, labels, starts, strict=True)])
    step = p - z
    m_hat = 2.0 * alpha / Sigma * np.mean(np.sum((q * z_0 - m * z) * step, axis=1)) / determinant
    q_hat = 2.0 * alpha / Sigma**2 * np.mean(np.sum(step**2, axis=1))
    Sigma_hat = -2.0 * alpha / Sigma * np.mean(np.sum((rho_0 * z - m * z_0) * step, axis=1)) / determinant
    if m_hat <= 0.0 or Sigma_hat <= 0.0:
        raise ArithmeticError(f"Monte Carlo noise: {m_hat=}, {Sigma_hat=} must be > 0. Use more samples.")
    conjugates = Conjugates(float(m_hat), float(q_hat), float(Sigma_hat))
    errors = {
        "test_error": float(np.mean(np.sum((labels - activation(z)) ** 2, axis=(1, 2)))),
        "train_error": float(np.mean(np.sum((labels - activation(p)) ** 2, axis=(1, 2)))),
    }
    return conjugates, errors


def attention_point(
    kappa_0: float,
    noise: float,
    alpha: float,
    weight_decay: float,
    kappa: float = 1.0,
    beta: float = 1.0,
    n_tokens: int = 2,
    samples: int = 1000,
    max_iterations: int = 200,
    tol: float = 1e-2,
    seed: int = 0,
    damping: float = 0.0,
    window: int = 10,
) -> dict[str, Any]:
    """Softmax attention with a Marchenko-Pastur target, beta_0 = beta, by Monte Carlo state evolution.

    Stops when the averages of test error, m, q and Sigma over the last `window` iterations differ by less
    than `tol` (relative) from those over the `window` before; returns the averages over the last `window`:
    with 1000 samples the test error of one iteration is uncertain by 3 to 4 %.
    """
    began = time.process_time()
    rng = np.random.default_rng(seed)
    activation = _Activation(n_tokens, beta)
    Q_0 = 1.0 + kappa_0
    rho_0, lam_tilde = Q_0 + noise / 2.0, np.sqrt(kappa) * weight_decay
    overlaps = Overlaps(m=0.5 * Q_0, q=Q_0, Sigma=1.0)
    history: list[list[float]] = []
    train_errors: list[float] = []
    converged = False
    while len(history) < max_iterations and not converged:
        hat, errors = conjugates_from_overlaps(overlaps, rho_0, alpha, activation, samples, rng)
        history.append([errors["test_error"], overlaps.m, overlaps.q, overlaps.Sigma])
        train_errors.append(errors["train_error"])
        overlaps = overlaps.mixed(overlaps_from_conjugates(hat, lam_tilde, kappa_0), 1.0 - damping)
        if len(history) >= 2 * window:
            last = np.mean(history[-window:], axis=0)
            before = np.mean(history[-2 * window : -window], axis=0)
            converged = bool(np.all(np.abs(last - before) < tol * np.abs(last)))
    tail = np.array(history[-window:])
    test_error, m, q, Sigma = tail.mean(axis=0).tolist()
    seconds = time.process_time() - began
    return {
        "test_error": test_error,
        "test_error_sem": float(tail[:, 0].std() / np.sqrt(max(len(tail) - 1, 1))),
        "train_error": float(np.mean(train_errors[-window:])),
        "overlaps": Overlaps(m, q, Sigma),
        "conjugates": hat,
        "converged": converged,
        "iterations": len(history),
        "cpu_seconds": seconds,
        "cpu_seconds_per_iteration": seconds / len(history),
        "history": np.array(history),  # test error, m, q, Sigma at each iteration
    }


# ------------------------------------------------------------------------------------ quadratic network


def quadratic_point(
    kappa_0: float,
    noise: float,
    alpha: float,
    lam_tilde: float,
    max_iterations: int = 2000,
    tol: float = 1e-8,
    damping: float = 0.0,
) -> dict[str, Any]:
    """Quadratic network with a Marchenko-Pastur target: the same with the linear channel in closed form."""
    began = time.process_time()
    Q_0 = 1.0 + kappa_0
    overlaps = Overlaps(m=0.5 * Q_0, q=Q_0, Sigma=1.0)
    iterations, converged = 0, False
    while iterations < max_iterations and not converged:
        Sigma_hat = 8.0 * alpha / (1.0 + 4.0 * overlaps.Sigma)
        excess = Q_0 + noise / 2.0 - 2.0 * overlaps.m + overlaps.q
        hat = Conjugates(m_hat=Sigma_hat, q_hat=Sigma_hat**2 * excess / (2.0 * alpha), Sigma_hat=Sigma_hat)
        previous, update = overlaps, overlaps_from_conjugates(hat, lam_tilde, kappa_0)
        overlaps = previous.mixed(update, 1.0 - damping)
        moved = max(abs(overlaps.m - previous.m), abs(overlaps.q - previous.q))
        converged = max(moved, abs(overlaps.Sigma / previous.Sigma - 1.0)) < tol
        iterations += 1
    delta, c = float(np.sqrt(hat.q_hat) / hat.m_hat), 2.0 * lam_tilde / hat.m_hat
    first = integral_above(1, delta, c, kappa_0)
    train_loss = (delta * lam_tilde / (2.0 * c)) ** 2 + lam_tilde * first
    seconds = time.process_time() - began
    return {
        "estimation_error": Q_0 - 2.0 * overlaps.m + overlaps.q,
        "rank": integral_above(0, delta, c, kappa_0),
        "train_loss": train_loss,
        "overlaps": overlaps,
        "conjugates": hat,
        "delta": delta,
        "cutoff": c,
        "converged": converged,
        "iterations": iterations,
        "cpu_seconds": seconds,
        "cpu_seconds_per_iteration": seconds / iterations,
    }


# ---------------------------------------------------------------------------- quadratic network, Bayes-optimal


@dataclass
class BayesEquation:
    """delta^2 = (MMSE(delta^2) + noise/2)/(2 alpha) for a Marchenko-Pastur target; counts its integrals.

    `accuracy` is the relative one that is wanted of the MMSE. The integrals and the stopping are a tenth of it: the
    MMSE is a difference of terms up to ten times larger, and the last step of an iteration is not all that is left.
    """

    kappa_0: float
    noise: float
    alpha: float
    accuracy: float = 1e-6
    evaluations: int = 0

    def mmse(self, t: float) -> float:
        """t - (4 pi^2/3) t^2 times the integral of the cube of the density, band by band."""
        delta = float(np.sqrt(t))
        band = edges(delta, self.kappa_0)
        cube = 0.0
        for low, high in zip(band[::2], band[1::2], strict=True):
            cube += quad(
                lambda x: density(x, delta, self.kappa_0)[0] ** 3,
                low,
                high,
                epsabs=0.0,
                epsrel=0.1 * self.accuracy,
                limit=200,
            )[0]
        self.evaluations += 1
        return t - 4.0 * np.pi**2 / 3.0 * t**2 * cube

    def update(self, t: float) -> float:
        return (self.mmse(t) + 0.5 * self.noise) / (2.0 * self.alpha)

    def error_at(self, t: float) -> float:
        """The MMSE of a solution t, which needs no integral any more."""
        return 2.0 * self.alpha * t - 0.5 * self.noise

    def start(self) -> float:
        """The least informative t, at which nothing but the law of the target is known; its variance is 1."""
        return (1.0 + 0.5 * self.noise) / (2.0 * self.alpha)

    def by_iteration(self, t: float, damping: float = 0.0, most: int = 10_000) -> float:
        """Iterate from t; `damping` is the part of the old t that is kept."""
        for _ in range(most):
            step = self.update(t) - t
            t += (1.0 - damping) * step
            if abs(step) < 0.1 * self.accuracy * t:
                return self.error_at(t)
        raise RuntimeError(f"no fixed point in {most} iterations at alpha = {self.alpha:g}")

    def by_root(self, t: float) -> float:
        """scipy.optimize.root in log t, from t."""

        def excess(y: Vector) -> Vector:
            return np.array([np.log(self.update(float(np.exp(y[0])))) - y[0]])

        found = root(excess, np.array([np.log(t)]), tol=0.1 * self.accuracy)
        if not found.success:
            raise RuntimeError(f"no root at alpha = {self.alpha:g}: {found.message}")
        return self.error_at(float(np.exp(found.x[0])))
