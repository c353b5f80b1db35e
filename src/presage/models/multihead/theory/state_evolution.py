"""State evolution of several softmax heads that are averaged, and of a gain that is learned with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multihead.problem import MultiheadProblem
from presage.models.multihead.theory.mean_loss import MeanOfHeads, products_of_heads
from presage.models.multihead.theory.weights import SampledHeads, Weights
from presage.solving.block_channel import BlockAverages, BlockChannel, BlockOverlaps
from presage.solving.vector_state_evolution import settled

MOST = 100  # steps of an iteration
ROUNDS = 3  # of it, until proximal points that were looked for with care say the same
LARGEST = 1e8  # of an overlap or a response that an iteration may try; the inverse of the least
ALIKE = 1e-9  # relative: heads of a target closer than this are the same matrix
SAME = 10.0  # over the tolerance: hats with and without care


class HeadsState(NamedTuple):
    """Overlaps of the heads, and the gain as an array of one."""

    m: Floats
    q: Floats
    Sigma: Floats
    gain: Floats

    @property
    def overlaps(self) -> BlockOverlaps:
        """Without the gain."""
        return BlockOverlaps(self.m, self.q, self.Sigma)


@dataclass(frozen=True, eq=False)
class Point:
    """Where the iteration came to rest on one rule, and what is seen there."""

    state: HeadsState
    averages: BlockAverages
    values: dict[str, float]
    specialised: float  # (m_hh - m_hk)/(Q_0hh - Q_0hk): 0 where a head knows all heads of the target alike
    residual: float
    steps: int


def channel_of(problem: MultiheadProblem, nodes: int, seed: int) -> BlockChannel:
    """The rule for a problem: heads of one law are averaged over their order."""
    return BlockChannel(
        products_of_heads(problem.n_heads),
        scale=2.0 * problem.alpha,
        nodes=nodes,
        seed=seed,
        permutations=orders(problem),
    )


def orders(problem: MultiheadProblem) -> list[tuple[int, ...]]:
    """Permutations of the heads that leave the laws of the target where they are."""
    laws = problem.targets
    return [
        order for order in permutations(range(problem.n_heads)) if all(laws[h] == laws[k] for h, k in enumerate(order))
    ]


def specialised_start(problem: MultiheadProblem, Q_0: Floats) -> HeadsState:
    """Heads that are nearly those of the target."""
    return HeadsState(0.9 * Q_0, 0.95 * Q_0, 2.0 * np.eye(problem.n_heads), np.array([problem.v_0]))


def equal_start(problem: MultiheadProblem, Q_0: Floats) -> HeadsState:
    """Heads that are nearly the same, and know all heads of the target nearly alike."""
    mean, one = np.full_like(Q_0, Q_0.mean()), np.eye(problem.n_heads)
    m = 0.9 * mean + 0.01 * (Q_0 - mean)
    return HeadsState(m, 0.9 * mean + 0.05 * np.diag(Q_0).mean() * one, 2.0 * one, np.array([problem.v_0]))


def settled_on(
    problem: MultiheadProblem,
    weights: Weights,
    channel: BlockChannel,
    start: HeadsState,
    *,
    tol: float,
    plain: int = 0,
    rounds: int = ROUNDS,
) -> Point:
    """Go between samples and weights until nothing moves, by so many `plain` half steps first.

    Plain steps leave a fixed point that is not stable, where faster ones may end in it.

        v = v_0 E<sigma(p), sigma_0>/E|sigma(p)|_F^2 at the proximal points p, where a gain is learned

    Equation: derived: the loss is stationary in v at fixed overlaps.
    Checked: tests/models/multihead/test_check_values.py::test_a_learned_gain
    """
    Q_0 = channel.averaged(weights.Q_0)
    rho_0 = Q_0 + 0.5 * problem.noise * np.eye(problem.n_heads)
    outputs = MeanOfHeads(problem.beta, problem.target_beta, target_gain=problem.v_0)
    careful = True
    last: BlockAverages | None = None

    def averages(state: HeadsState) -> BlockAverages:
        return channel.averages(replace(outputs, gain=float(state.gain[0])), rho_0, state.overlaps, careful=careful)

    def step(state: HeadsState) -> HeadsState:
        nonlocal careful, last
        last = averages(state)
        careful = False
        m, q, Sigma = (channel.averaged(part) for part in weights.overlaps(last.hats))
        gain = state.gain
        if problem.target_gain is not None:
            gain = np.array([outputs.best_gain(last.u0, last.points.p)])
        return HeadsState(m, q, Sigma, gain)

    here, steps, residual = start, plain, np.inf
    for _ in range(plain):
        new = step(here)
        here = HeadsState(*(0.5 * (a + b) for a, b in zip(here, new, strict=True)))
    for _ in range(rounds):
        found = settled(here, step, lambda state: allowed(state, rho_0), tol=tol, most=MOST)
        here, residual, steps = found.overlaps, found.residual, steps + found.steps
        careful, before = True, last
        seen = averages(here)
        assert before is not None, "an iteration makes a step at least"
        off = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(before.hats, seen.hats, strict=True))
        if off <= SAME * tol:
            break
    if isinstance(weights, SampledHeads):
        weights.count_rank()
    return measured(problem, weights, matched(here), seen, Q_0, residual, steps)


def allowed(state: HeadsState, rho_0: Floats) -> bool:
    """Whether these can be overlaps: a covariance, and a response that is one."""
    whole = np.block([[rho_0, state.m.T], [state.m, state.q]])
    if not max(float(np.max(np.abs(part))) for part in (whole, *state)) < LARGEST:
        return False
    lowest = min(float(np.linalg.eigvalsh(part)[0]) for part in (whole, state.Sigma))
    return lowest > 1.0 / LARGEST and float(state.gain[0]) > 0.0


def matched(state: HeadsState) -> HeadsState:
    """Heads numbered as those of the target, by the permutation with the largest sum of overlaps."""
    rows = range(len(state.m))
    best = max(permutations(rows), key=lambda order: sum(state.m[h, k] for k, h in enumerate(order)))
    order = np.array(best)
    both = np.ix_(order, order)
    return HeadsState(state.m[order], state.q[both], state.Sigma[both], state.gain)


def measured(
    problem: MultiheadProblem,
    weights: Weights,
    state: HeadsState,
    averages: BlockAverages,
    Q_0: Floats,
    residual: float,
    steps: int,
) -> Point:
    """The numbers of a fixed point.

        loss/d^2 = alpha E l(p) + penalty/d^2,   |S_h - S_0h|_F^2/d = Q_0hh - 2 m_hh + q_hh

    Equation: derived: the definitions, in overlaps.
    Checked: tests/models/multihead/test_check_values.py::test_heads_with_a_ridge
    """
    m, q, H = state.m, state.q, problem.n_heads
    values = {
        "test_error": averages.test_error,
        "train_error": averages.train_error,
        "train_loss": problem.alpha * averages.train_error + weights.paid,
        "estimation_error": float(np.trace(Q_0 - 2.0 * m + q)) / H,
        "rank": weights.rank,
        "overlap": float(np.trace(m)) / H,
    }
    specialised = 1.0
    if H > 1:
        cross, own = off_diagonal(m), values["overlap"]
        values["cross_target_overlap"], values["cross_overlap"] = cross, off_diagonal(q)
        apart = float(np.trace(Q_0)) / H - off_diagonal(Q_0)  # none between multiples of the identity
        specialised = (own - cross) / apart if apart > ALIKE * float(Q_0.max()) else 1.0
    if problem.target_gain is not None:
        values["gain"] = float(state.gain[0])
    return Point(state, averages, values, specialised, residual, steps)


def off_diagonal(matrix: Floats) -> float:
    """Mean of the entries between different heads."""
    H = len(matrix)
    return float(np.sum(matrix) - np.trace(matrix)) / (H * (H - 1))
