"""Where state evolution comes to rest: the overlaps of a minimum of the training loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.hidden import spread
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.theory.sample_means import SampleMeans, sample_means
from presage.models.boltzmann.theory.state_evolution import begin, price, step, usual_mixing
from presage.protocol.errors import SolveError
from presage.solving.vector_state_evolution import Conjugates, Overlaps, overlaps_of

FIRST, MORE = 10, 2000  # iterations before Newton is tried, and again after twice as many; and the most
NEAR = 1e-4  # change of an iteration, over their number, below which Newton is tried
CAUTIOUS = 0.1  # part of the new price of the weights that enters, where the usual one does not settle
SETTLED = 1e-10


class FixedPoint(NamedTuple):
    """Overlaps that an iteration leaves as they are."""

    overlaps: Overlaps
    means: SampleMeans
    residual: float  # largest change of an entry by one more iteration
    steps: int  # iterations and evaluations that it took


def fixed_point(problem: BoltzmannProblem, tol: float = SETTLED) -> FixedPoint:
    """The fixed point of least training loss among those that are reached from a few starts.

    Raises:
        SolveError: where none of them comes to rest; its `partial` is the last point of the best.
    """
    found = [_patiently(problem, start, tol) for start in starts(problem)]
    there = [one for one in found if one is not None and one.residual <= tol]
    if there:
        return max(there, key=lambda one: trained_likelihood(problem, one))
    nearest = min((one for one in found if one is not None), key=lambda one: one.residual, default=None)
    raise SolveError(
        "State evolution does not come to rest"
        + (f": an iteration still moves overlaps by {nearest.residual:.1e}." if nearest else "."),
        "Replica symmetry is broken far below the stability line: use more <alpha> or <signal>.",
        nearest,
    )


def trained_likelihood(problem: BoltzmannProblem, found: FixedPoint) -> float:
    """Log-likelihood a training sample, over that of noise; the training loss is ``f = -alpha`` times it.

        -f/alpha = E phi(p) - psi(Q)

    Equation: derived: training fields have the law of p.
    Checked: tests/models/boltzmann/test_solution.py::test_likelihoods
    """
    return found.means.phi - problem.hidden.psi(found.overlaps.q)


def starts(problem: BoltzmannProblem) -> Iterator[Overlaps]:
    """Overlaps to begin with: each unit with a direction of its own, and where there is none left all with all."""
    k, k_0 = problem.units, len(problem.signals)
    size = 1.0 / spread(problem.hidden, k)
    q, v = 1.5 * size**2 * np.eye(k), 0.1 * size**2 * np.eye(k)
    yield Overlaps(size * np.eye(k, k_0), q, v)
    if k == 2 and k_0 > 1:
        mixed = np.zeros((k, k_0))
        mixed[:, :2] = [[0.8, -0.6], [0.7, 0.7]]
        yield Overlaps(0.9 * size * mixed, q, v)


def _patiently(problem: BoltzmannProblem, start: Overlaps, tol: float) -> FixedPoint | None:
    """Where the iteration goes from a start; in smaller steps of the price where it does not come to rest."""
    for mixing in (usual_mixing(problem), CAUTIOUS):
        found = reached(problem, start, mixing, tol)
        if found is not None and found.residual <= tol:
            break
    return found


def reached(problem: BoltzmannProblem, start: Overlaps, mixing: float, tol: float) -> FixedPoint | None:
    """Where the iteration goes from a start: some steps of it, then Newton's; None where it leaves what is possible."""
    now, change, most = begin(problem, start), np.inf, MORE if problem.units == 1 else MORE // 10
    tries = {FIRST * 2**again for again in range(20)}
    for count in range(1, most + 1):
        try:
            new = step(problem, now, mixing)
        except np.linalg.LinAlgError:
            return None
        change, now = _change(now.overlaps, new.overlaps), new
        if not np.isfinite(change):
            return None
        if change <= tol or (count in tries and change < NEAR * count):
            near = nearby(problem, now.overlaps)
            if near is not None and near.residual <= tol:
                return near._replace(steps=count + near.steps)
    return nearby(problem, now.overlaps)


def nearby(problem: BoltzmannProblem, start: Overlaps, coarser: float = 1.0) -> FixedPoint | None:
    """The fixed point next to overlaps, by Newton's method (Powell's hybrid); None where it leaves what is possible."""
    evaluations = 0

    def residual(x: Floats) -> Floats:
        nonlocal evaluations
        evaluations += 1
        here = _unpacked(x, start)
        return _packed(_mapped(problem, here, sample_means(problem, here, coarser))) - x

    try:
        found = _root(residual, _packed(start))
        overlaps = _unpacked(found, start)
        means = sample_means(problem, overlaps, coarser)
        change = _change(overlaps, _mapped(problem, overlaps, means))
    except np.linalg.LinAlgError:
        return None
    return FixedPoint(overlaps, means, change, evaluations) if np.isfinite(change) else None


def _root(residual: Callable[[Floats], Floats], start: Floats) -> Floats:
    found: Any = scipy.optimize.root(residual, start, method="hybr", options={"xtol": 1e-13})
    return np.asarray(found.x)


def _mapped(problem: BoltzmannProblem, here: Overlaps, means: SampleMeans) -> Overlaps:
    """What one iteration makes of overlaps, with the price of the weights that these have."""
    conjugates = Conjugates(means.m_hat, means.q_hat, -means.D, price(problem, here.q))
    return overlaps_of(conjugates, np.eye(len(problem.signals)))


def _packed(overlaps: Overlaps) -> Floats:
    """The numbers of overlaps, of symmetric matrices each once."""
    half = np.tril_indices(len(overlaps.q))
    return np.concatenate([overlaps.m.ravel(), overlaps.q[half], overlaps.v[half]])


def _unpacked(x: Floats, like: Overlaps) -> Overlaps:
    k, size = len(like.q), like.m.size
    half = np.tril_indices(k)
    matrices = []
    for part in np.split(x[size:], 2):
        matrix = np.zeros((k, k))
        matrix[half] = part
        matrices.append(matrix + np.tril(matrix, -1).T)
    return Overlaps(x[:size].reshape(like.m.shape), *matrices)


def _change(old: Overlaps, new: Overlaps) -> float:
    """Largest difference of an entry, relative where entries are above one."""
    return float(np.max([np.max(np.abs(b - a)) / max(1.0, np.max(np.abs(b))) for a, b in zip(old, new, strict=True)]))
