"""Approximate message passing of a machine: fields of the samples and weights in turn, with memory of one step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.experiment.objective import is_gaussian
from presage.models.boltzmann.hidden import HiddenUnits
from presage.protocol.errors import TrainError

NEWTON, DONE = 60, 1e-12  # steps of Newton's method for a field, and the residual at which it ends
LONGEST = 2.0  # step of a field, in units of one over the largest value of h
LEFT = 1e-8  # of an equation that is solved, relative
WANDERED = "Message passing left the possible weights."
NO_SIZE = "Message passing finds no size of the weights of Gaussian units after an iteration."
REMEDY = "Use a smaller <mixing>, or more <alpha> or <signal>: where replica symmetry is broken it does not settle."


class State(NamedTuple):
    """Weights after an iteration."""

    W: Floats  # d x k
    V: Floats  # k x k: their response
    Lam: Floats  # k x k: the price of the weights that the next iteration uses


def message_passing(
    A: Floats, W: Floats, V: Floats, hidden: HiddenUnits, mixing: float, *, onsager: float = 1.0
) -> Iterator[State]:
    """The start, and every iteration; `onsager` is for controls, which show that it must be one.

        Om = A W - G V,   (p, G, dg) = prox(Om, V),   D = (1/d) sum_mu dg_mu,   B = A'G - W D
        V' = (Lam - D)^-1,   W' = B V',   Lam' = (1 - r) Lam + r alpha S(W'^T W'/d)

    Equation: derived: approximate message passing for `objective.loss`; its fixed points are stationary points of it.
    Checked: tests/models/boltzmann/test_experiment.py::test_message_passing_ends_in_a_stationary_point
    Checked: tests/models/boltzmann/test_witnesses.py::test_message_passing_follows_state_evolution
    """
    n, d = A.shape
    alpha = n / d
    G: Floats = np.zeros((n, W.shape[1]))
    Lam = alpha * hidden.S(W.T @ W / d)
    yield State(W, V, Lam)
    while True:
        Om = A @ W - onsager * G @ V
        G, dg = prox(Om, V, hidden)
        D = dg.sum(axis=0) / d
        B = A.T @ G - onsager * W @ D
        V, Lam = _response(B.T @ B / d, 0.5 * (D + D.T), Lam, alpha, hidden)
        W = B @ V
        if not np.isfinite(W).all() or not np.isfinite(hidden.psi(W.T @ W / d)):
            raise TrainError(WANDERED, REMEDY)
        Lam = (1.0 - mixing) * Lam + mixing * alpha * hidden.S(W.T @ W / d)
        yield State(W, V, Lam)


def prox(Om: Floats, V: Floats, hidden: HiddenUnits) -> tuple[Floats, Floats]:
    """``g(p)`` and its derivative in Om at the p that solves ``p = Om + g(p) V``, for every sample.

        dg = H (1 - V H)^-1

    Equation: derived: the stationary point of ``phi(p) - (p - Om) V^-1 (p - Om)'/2``.
    Checked: tests/models/boltzmann/test_experiment.py::test_prox_against_brute_force
    """
    one = np.eye(len(V))
    if is_gaussian(hidden):
        dg = np.asarray(np.linalg.inv(one - V), dtype=np.float64)
        return Om @ dg, np.broadcast_to(dg, (len(Om), *dg.shape))
    p, longest = Om.copy(), LONGEST / hidden.largest
    for _ in range(NEWTON):
        _, g, H = hidden.moments(p)
        off = p - g @ V - Om
        if not np.abs(off).max(initial=0.0) > DONE * (1.0 + np.abs(p).max(initial=0.0)):
            break
        step = np.linalg.solve(one - V @ H, off[:, :, None])[:, :, 0]  # the transpose of 1 - H V
        p -= np.clip(step, -longest, longest)
    else:
        raise TrainError("A field of message passing was not found: training makes it jump.", REMEDY)
    return g, H @ np.linalg.inv(one - V @ H)


def _response(b: Floats, D: Floats, Lam: Floats, alpha: float, hidden: HiddenUnits) -> tuple[Floats, Floats]:
    """The new response of the weights, and the price that it was made with; of Gaussian units that of the new ones."""
    if is_gaussian(hidden):
        Lam = np.asarray(alpha * np.linalg.inv(np.eye(len(D)) - _new_size(alpha, D, b)), dtype=np.float64)
    V = np.linalg.inv(Lam - D)
    return 0.5 * (V + V.T), Lam


def _new_size(alpha: float, D: Floats, b: Floats) -> Floats:
    """The Q of the new weights of Gaussian units: ``Q = V b V`` with ``V = (alpha (1 - Q)^-1 - D)^-1``.

    One unit has one root below one at which V is positive. Of several it is searched for from the roots that the
    eigenvectors of b would have if D were a multiple of the identity; where none is found message passing has failed.
    """
    k = len(D)
    middle = float(np.trace(D)) / k
    least = max(0.0, 1.0 - alpha / middle) if middle > 0.0 else 0.0

    def alone(size: float) -> float:
        def excess(q: float) -> float:
            return size - q * (alpha / (1.0 - q) - middle) ** 2

        return float(scipy.optimize.brentq(excess, least, 1.0 - 1e-12, xtol=1e-15))

    sizes, vectors = np.linalg.eigh(b)
    try:
        roots = [alone(max(float(size), 0.0)) for size in sizes]
    except ValueError:
        raise TrainError(WANDERED, REMEDY) from None
    if k == 1:
        return np.array([roots])
    half = np.tril_indices(k)

    def whole(x: Floats) -> Floats:
        Q = np.zeros((k, k))
        Q[half] = x
        return np.asarray(np.tril(Q) + np.tril(Q, -1).T)

    def residual(x: Floats) -> Floats:
        rest = alpha * np.linalg.inv(np.eye(k) - whole(x)) - D
        return np.asarray((rest @ whole(x) @ rest - b)[half])

    try:
        found = scipy.optimize.root(residual, ((vectors * np.array(roots)) @ vectors.T)[half], tol=1e-13)
        left = float(np.abs(residual(found.x)).max())
        inverse = np.linalg.eigvalsh(alpha * np.linalg.inv(np.eye(k) - whole(found.x)) - D)
    except np.linalg.LinAlgError:
        raise TrainError(NO_SIZE, REMEDY) from None
    # A search that ends at rounding may say that it makes no progress: what is left of the equation decides. Where V
    # is not positive it has found another root.
    if not left <= LEFT * float(np.abs(b).max()) or not inverse[0] > 0.0:
        raise TrainError(NO_SIZE, REMEDY)
    return whole(found.x)
