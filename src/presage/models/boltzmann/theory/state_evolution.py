"""State evolution: overlaps of the weights after every iteration of message passing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.hidden import GaussianUnits
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.theory.sample_means import SampleMeans, sample_means
from presage.protocol.errors import SolveError
from presage.solving.vector_state_evolution import Conjugates, Overlaps, overlaps_of

MIXING = 0.3  # part of the new price of the weights that enters an iteration, where the whole would not settle
TINY = 1e-12
LEFT = 1e-8  # of an equation that is solved, relative
NO_SIZE = "State evolution finds no size of the weights of Gaussian units after an iteration."
NO_SIZE_REMEDY = "Start at a smaller <v_0>, or use more <alpha> or <signal>."


class Iterate(NamedTuple):
    """Overlaps of the weights, and the price of the weights that the next iteration begins with."""

    overlaps: Overlaps
    ridge: Floats  # k x k


def price(problem: BoltzmannProblem, q: Floats) -> Floats:
    """Price of the weights, from the normalisation of the machine: ``Lam = alpha S(Q)``."""
    return problem.alpha * problem.hidden.S(q)


def usual_mixing(problem: BoltzmannProblem) -> float:
    """How much of the new price enters: all of it where it is a constant, as of one binary unit."""
    return 1.0 if problem.constant_price else MIXING


def begin(problem: BoltzmannProblem, start: Overlaps) -> Iterate:
    """A start, with its price of the weights."""
    return Iterate(start, price(problem, start.q))


def step(problem: BoltzmannProblem, now: Iterate, mixing: float, coarser: float = 1.0) -> Iterate:
    """Overlaps after one more iteration of message passing.

        v = (Lam - D)^-1,   m = v m_hat,   q = v (m_hat m_hat' + q_hat) v,   Lam' = (1 - r) Lam + r alpha S(q)

    Equation: derived: state evolution of the message passing of `presage.models.boltzmann.experiment.amp`.
    Checked: tests/models/boltzmann/test_state_evolution.py::test_iterates_of_one_unit
    Checked: tests/models/boltzmann/test_state_evolution.py::test_iterates_of_two_units
    """
    means = sample_means(problem, now.overlaps, coarser)
    if isinstance(problem.hidden, GaussianUnits):
        new = _implicit(problem, means)
        return Iterate(new, price(problem, new.q))
    identity = np.eye(len(problem.signals))
    new = overlaps_of(Conjugates(means.m_hat, means.q_hat, -means.D, now.ridge), identity)
    return Iterate(new, (1.0 - mixing) * now.ridge + mixing * price(problem, new.q))


def iterates(problem: BoltzmannProblem, start: Overlaps, mixing: float, coarser: float = 1.0) -> Iterator[Iterate]:
    """The start, and what every iteration makes of it."""
    now = begin(problem, start)
    while True:
        yield now
        now = step(problem, now, mixing, coarser)


def _implicit(problem: BoltzmannProblem, means: SampleMeans) -> Overlaps:
    """Gaussian units: the price is that of the new weights, since that of the old ones does not settle.

        q = v b v,   v = (alpha S(q) - D)^-1,   b = m_hat m_hat' + q_hat

    Equation: derived: `implicit_size` says how.
    Checked: tests/models/boltzmann/test_state_evolution.py::test_iterates_of_gaussian_units
    """
    q = implicit_size(problem.alpha, means.D, means.m_hat @ means.m_hat.T + means.q_hat)
    v = np.linalg.inv(price(problem, q) - means.D)
    return Overlaps(v @ means.m_hat, q, 0.5 * (v + v.T))


def implicit_size(alpha: float, D: Floats, b: Floats) -> Floats:
    """The q below one that solves ``q = v b v`` with ``v = (alpha (1 - q)^-1 - D)^-1`` and v positive.

    Of one unit there is one such root. Of two it is searched for from what it would be if D were a
    multiple of the identity.

    Raises:
        SolveError: where none is found.
    """
    k = len(D)
    scale = float(np.trace(D)) / k
    low = max(0.0, 1.0 - alpha / scale) if scale > 0.0 else 0.0
    values, vectors = np.linalg.eigh(b)
    try:
        alone = [
            float(
                scipy.optimize.brentq(
                    lambda q, size=size: size - q * (alpha / (1.0 - q) - scale) ** 2, low, 1.0 - TINY, xtol=1e-15
                )
            )
            for size in np.maximum(values, 0.0)
        ]
    except ValueError:
        raise SolveError(NO_SIZE, NO_SIZE_REMEDY) from None
    if k == 1:
        return np.array([alone])
    rows, columns = np.tril_indices(k)

    def unpacked(x: Floats) -> Floats:
        q = np.zeros((k, k))
        q[rows, columns] = x
        return np.asarray(np.tril(q) + np.tril(q, -1).T)

    def residual(x: Floats) -> Floats:
        q = unpacked(x)
        rest = alpha * np.linalg.inv(np.eye(k) - q) - D
        return np.asarray((rest @ q @ rest - b)[rows, columns])

    found = scipy.optimize.root(residual, ((vectors * alone) @ vectors.T)[rows, columns], tol=1e-13)
    q = unpacked(found.x)
    # A search that ends at rounding may say that it makes no progress: what is left of the equation decides.
    left = float(np.abs(residual(found.x)).max())
    if not left <= LEFT * float(np.abs(b).max()) or not np.linalg.eigvalsh(q)[-1] < 1.0:
        raise SolveError(NO_SIZE, NO_SIZE_REMEDY)
    if not np.linalg.eigvalsh(alpha * np.linalg.inv(np.eye(k) - q) - D)[0] > 0.0:  # another root than the one meant
        raise SolveError(NO_SIZE, NO_SIZE_REMEDY)
    return q
