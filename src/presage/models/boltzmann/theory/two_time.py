"""Gradient descent in the limit of many visible units: exact equations for overlaps at two times.

A coordinate of the weights follows a linear process, whose coefficients are known; the field of a sample follows a
nonlinear one with memory, which is sampled. Each step of descent adds a time to both.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.hidden import is_symmetric
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.theory.responses import response_of_many, response_of_one
from presage.protocol.errors import SolveError

JITTER = 1e-9  # of the variance of a field, that keeps its root real
REMEDY = "Use a smaller <rate>."


class Way(NamedTuple):
    """Overlaps at every time of a descent, and what they are made of; blocks of k x k for every two times."""

    M: Floats  # times x k_0 x k
    Q: Floats  # times x k x k
    train_phi: Floats  # times: E phi(u)
    C: Floats  # times x times x k x k: covariance of the weights of two times
    L: Floats  # response of the weights
    Gam: Floats  # response of the fields: alpha E[dg^t/d om^r]


def standard_normals(count: int, width: int, seed: int) -> Floats:
    """Scrambled points of Sobol with exactly the means and covariances of independent standard normals."""
    engine = scipy.stats.qmc.Sobol(width, scramble=True, rng=seed)
    points = scipy.special.ndtri(np.clip(engine.random(count), 1e-12, 1.0 - 1e-12))
    points -= points.mean(axis=0)
    root = np.linalg.cholesky(points.T @ points / count)
    return np.asarray(scipy.linalg.solve_triangular(root, points.T, lower=True))


def descend(
    problem: BoltzmannProblem, M_0: Floats, Q_0: Floats, rate: float, steps: int, samples: int, seed: int
) -> Way:
    """Overlaps of the weights at times 0 to `steps`, by the means over so many sampled fields.

        u^t = sqrt(lam) s M^t + om^t + sum_{r<t} g^r L(t, r),   g^t = g(u^t),   cov(om^t, om^r) = C(t, r)
        Cg(t, r) = alpha E[g^t' g^r],   Gam(t, r) = alpha E[dg^t/d om^r],   Mh^t = alpha E[sqrt(lam) s' g^t]
        a(t+1) = a(t) P_t + (rate/alpha) sum_{r<=t} a(r) Gam(t, r),   P_t = 1 - rate S(Q^t),   a(0) = 1
        c(t+1) = c(t) P_t + (rate/alpha) [Mh^t + sum_{r<=t} c(r) Gam(t, r)],   c(0) = 0
        L(t+1, q) = L(t, q) P_t + (rate/alpha) [1{q=t} + sum_{q<r<=t} L(r, q) Gam(t, r)]
        M^t = M_0 a(t) + c(t),   Q^t = C(t, t)
        C(t, t') = a'Q_0 a + a'M_0'c + c'M_0 a + c'c + sum_{r,r'} L(t, r)' Cg(r, r') L(t', r')

    Gaussian latents are integrated out: fields have the covariance ``C + M' diag(lam) M``, and
    ``Mh^t = diag(lam) sum_r M^r Gam(t, r)``.

    Equation: derived: dynamical mean-field theory of `BoltzmannDescent`, for t of order one.
    Checked: tests/models/boltzmann/test_two_time.py::test_seen_ways_of_descent
    Checked: tests/models/boltzmann/test_two_time.py::test_one_step_by_quadrature
    """
    return _Descent(problem, M_0, Q_0, rate, steps, samples, seed).way()


class _Descent:
    """Arrays of one run, filled time by time: flat ones have a row for every time and unit."""

    def __init__(
        self, problem: BoltzmannProblem, M_0: Floats, Q_0: Floats, rate: float, steps: int, samples: int, seed: int
    ) -> None:
        self.problem, self.M_0, self.Q_0, self.rate, self.steps = problem, M_0, Q_0, rate, steps
        k, k_0, times = problem.units, len(problem.signals), steps + 1
        self.gaussian = problem.latents == "gaussian"
        patterns = np.array(list(product((1.0, -1.0), repeat=k_0)))
        if self.gaussian:
            patterns = np.zeros((1, k_0))
        elif is_symmetric(problem.hidden, k):
            patterns = patterns[: len(patterns) // 2]
        self.latents = np.repeat(patterns * np.sqrt(problem.signals), samples, axis=0).T  # k_0 x trajectories
        self.patterns, self.samples = len(patterns), samples
        count = samples * len(patterns)
        self.normals = standard_normals(samples, times * k, seed)  # (times k) x samples
        self.g = np.zeros((times * k, count))
        self.H = np.zeros((times, count) if k == 1 else (times, k, k, count), dtype=np.float32)
        self.root = np.zeros((times * k, times * k))  # of the covariance of the fields
        self.a, self.c = np.zeros((times, k, k)), np.zeros((times, k_0, k))
        self.L = np.zeros((times, times, k, k))
        self.L32 = np.zeros((times, times) if k == 1 else (times, times, k, k), dtype=np.float32)
        self.Gam = np.zeros((times, times, k, k))
        self.turned = np.zeros((times * k, times * k))  # L(t, r)' in the block (t, r)
        self.Cg = np.zeros((times * k, times * k))
        self.C = np.zeros((times * k, times * k))
        self.M = np.zeros((times, k_0, k))
        self.phi = np.zeros(times)
        self.a[0] = np.eye(k)

    def way(self) -> Way:
        k, times = self.problem.units, self.steps + 1
        for t in range(times):
            self._overlaps(t)
            self._fields(t)
            if t < self.steps:
                self._responses(t)
                self._move(t)
        C = self.C.reshape(times, k, times, k).transpose(0, 2, 1, 3)
        each = np.arange(times)
        return Way(self.M, C[each, each], self.phi, C, self.L, self.Gam)

    def _block(self, t: int) -> slice:
        return slice(t * self.problem.units, (t + 1) * self.problem.units)

    def _overlaps(self, t: int) -> None:
        """``M^t``, and C(t, r) for every r up to t."""
        k = self.problem.units
        self.M[t] = self.M_0 @ self.a[t] + self.c[t]
        here, upto = self._block(t), (t + 1) * k
        a = self.a[: t + 1].transpose(1, 0, 2).reshape(k, upto)
        c = self.c[: t + 1].transpose(1, 0, 2).reshape(-1, upto)
        start = self.a[t].T @ self.Q_0 @ a + self.a[t].T @ self.M_0.T @ c + self.c[t].T @ (self.M_0 @ a + c)
        moved = self.turned[here, : t * k] @ self.Cg[: t * k, : t * k] @ self.turned[:upto, : t * k].T
        row = start + moved
        if not np.isfinite(row).all():
            raise SolveError("Gradient descent leaves the possible weights.", REMEDY)
        self.C[here, :upto] = row
        self.C[:upto, here] = row.T
        self.C[here, here] = 0.5 * (row[:, t * k :] + row[:, t * k :].T)

    def _fields(self, t: int) -> None:
        """Fields of every trajectory at t, and what the hidden units make of them."""
        k = self.problem.units
        here, before = self._block(t), t * k
        covariance = self.C[here, : before + k].copy()
        if self.gaussian:
            M = self.M[: t + 1].transpose(1, 0, 2).reshape(-1, before + k)
            covariance += (self.M[t].T * self.problem.signals) @ M
        known = scipy.linalg.solve_triangular(self.root[:before, :before], covariance[:, :before].T, lower=True).T
        rest = covariance[:, before:] - known @ known.T
        values, vectors = np.linalg.eigh(0.5 * (rest + rest.T) + JITTER * np.diag(np.diag(covariance[:, before:])))
        self.root[here, :before] = known
        self.root[here, here] = np.linalg.cholesky(
            (vectors * np.maximum(values, JITTER * np.trace(covariance[:, before:]) / k)) @ vectors.T
        )
        om = self.root[here, : before + k] @ self.normals[: before + k]
        u = np.tile(om, (1, self.patterns)) + self.M[t].T @ self.latents
        u += self.turned[here, :before] @ self.g[:before]
        phi, g, H = self.problem.hidden.moments(u.T)
        self.phi[t] = phi.mean()
        self.g[here] = g.T
        self.H[t] = H[:, 0, 0] if k == 1 else H.transpose(1, 2, 0)

    def _responses(self, t: int) -> None:
        """Gam(t, r) and Cg(t, r) for every r up to t."""
        k, alpha = self.problem.units, self.problem.alpha
        count = self.g.shape[1]
        upto, here = (t + 1) * k, self._block(t)
        if k == 1:
            self.Gam[t, : t + 1, 0, 0] = alpha / count * response_of_one(self.L32, self.H, t)
        else:
            self.Gam[t, : t + 1] = alpha / count * response_of_many(self.L32, self.H, t)
        row = alpha / count * self.g[here] @ self.g[:upto].T
        self.Cg[here, :upto] = row
        self.Cg[:upto, here] = row.T

    def _move(self, t: int) -> None:
        """One step of descent."""
        problem, k = self.problem, self.problem.units
        pull = self.rate / problem.alpha
        P = np.eye(k) - self.rate * problem.hidden.S(self.C[self._block(t), self._block(t)])
        Gam = self.Gam[t, : t + 1]
        if self.gaussian:
            Mh = problem.signals[:, None] * np.einsum("rai,rij->aj", self.M[: t + 1], Gam)
        else:
            Mh = problem.alpha / self.g.shape[1] * self.latents @ self.g[self._block(t)].T
        self.a[t + 1] = self.a[t] @ P + pull * np.einsum("rij,rjk->ik", self.a[: t + 1], Gam)
        self.c[t + 1] = self.c[t] @ P + pull * (Mh + np.einsum("rai,rij->aj", self.c[: t + 1], Gam))
        new = self.L[t, : t + 1] @ P + pull * np.einsum("rqij,rjk->qik", self.L[: t + 1, : t + 1], Gam)
        new[t] += pull * np.eye(k)
        self.L[t + 1, : t + 1] = new
        self.L32[t + 1, : t + 1] = new[:, 0, 0] if k == 1 else new
        self.turned[self._block(t + 1), : (t + 1) * k] = new.transpose(2, 0, 1).reshape(k, -1)
