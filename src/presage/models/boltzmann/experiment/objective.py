"""The training loss of a machine and its gradient; the likelihood without approximation where it can be had."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.hidden import GaussianUnits, HiddenUnits, UnitsWithStates


class Loss(NamedTuple):
    """The training loss ``f = -L/d`` at some weights."""

    value: float
    gradient: Floats  # d x k: of f
    pull: Floats  # d x k: A'G, which is alpha W S(Q) where f is stationary

    @property
    def slope(self) -> float:
        """How far from stationary it is: the length of the gradient over that of its larger part."""
        return float(np.linalg.norm(self.gradient)) * len(self.pull) / max(float(np.linalg.norm(self.pull)), 1e-300)


def loss(A: Floats, W: Floats, hidden: HiddenUnits) -> Loss:
    """Training loss and gradient.

        f = -(1/d) [sum_mu phi((AW)_mu) - n psi(Q)],   d grad f = -(A'G - alpha W S(Q)),   Q = W'W/d

    Equation: derived: the log-likelihood over P_v, exact for Gaussian visible units, up to O(1/d) a sample for signs.
    Checked: tests/models/boltzmann/test_experiment.py::test_gradient_of_the_loss
    """
    n, d = A.shape
    Q = W.T @ W / d
    phi, g, _ = hidden.moments(A @ W)
    pull = A.T @ g
    value = (n * hidden.psi(Q) - float(phi.sum())) / d
    return Loss(value, (n / d * W @ hidden.S(Q) - pull) / d, pull)


class Unbounded(NamedTuple):
    """Weights of Gaussian units by numbers without a bound: ``W = B (1 + B'B/d)^-1/2`` has Q below one always."""

    W: Floats
    vectors: Floats
    eigenvalues: Floats  # of B'B/d

    @classmethod
    def of(cls, B: Floats) -> Unbounded:
        eigenvalues, vectors = np.linalg.eigh(B.T @ B / len(B))
        return cls(B @ (vectors / np.sqrt(1.0 + eigenvalues)) @ vectors.T, vectors, eigenvalues)

    def gradient(self, B: Floats, of_W: Floats) -> Floats:
        """Gradient in B of what has the gradient `of_W` in W: the root of a matrix is differentiated in its basis."""
        c, U = self.eigenvalues, self.vectors
        r = (1.0 + c) ** -0.5
        # [r(a) - r(b)]/(a - b) with r = (1 + c)^-1/2, without a division by a - b:
        divided = -((r[:, None] * r) ** 2) / (r[:, None] + r)
        turned = U.T @ (B.T @ of_W) @ U
        inner = U @ (divided * 0.5 * (turned + turned.T)) @ U.T
        return np.asarray(of_W @ (U * r) @ U.T + 2.0 * B @ inner / len(B))


def log_partition_of_signs(W: Floats, hidden: UnitsWithStates) -> float:
    """Normalisation of a machine whose visible units are 1 or -1, without approximation.

        log Z = log E_h prod_i cosh((W h)_i/sqrt(d))

    For large d it is psi(W'W/d), with an error of O(1/d).

    Equation: derived: the sum over visible units factorises given h.
    Checked: tests/models/boltzmann/test_experiment.py::test_likelihood_of_sign_visible_units
    """
    values, chances = hidden.states(W.shape[1])
    size = np.abs(values @ W.T) / np.sqrt(len(W))
    exponent = np.sum(size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0), axis=1)
    return float(np.log(chances @ np.exp(exponent - exponent.max())) + exponent.max())


def is_gaussian(hidden: HiddenUnits) -> bool:
    """Whether the weights have a bound, beyond which the machine has no normalisation."""
    return isinstance(hidden, GaussianUnits)
