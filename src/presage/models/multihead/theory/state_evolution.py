"""State evolution of several softmax heads that are averaged, and of a gain that is learned with them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multihead.problem import MultiheadProblem
from presage.models.multihead.theory.mean_loss import MeanOfHeads, products_of_heads
from presage.models.multihead.theory.weights import SampledHeads, Weights
from presage.solving.block_channel import BlockAverages, BlockChannel, BlockState
from presage.solving.straightened import Careful, Slopes, directions_of, settled_by_newton, settled_with_care

MOST = 100  # steps of an iteration
LARGEST = 1e8  # of an overlap or a response that an iteration may try; the inverse of the least
ALIKE = 1e-9  # relative: heads of a target closer than this are the same matrix


@dataclass(frozen=True, eq=False)
class Point:
    """Where the iteration came to rest on one rule, and what is seen there."""

    state: BlockState
    averages: BlockAverages
    values: dict[str, float]
    specialised: float  # (m_hh - m_hk)/(Q_0hh - Q_0hk): 0 where a head knows all heads of the target alike
    residual: float
    steps: int
    slopes: Slopes | None = None
    jumps: Floats = field(
        default_factory=lambda: np.zeros(1)
    )  # relative differences of hats from those without derivatives


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


def specialised_start(problem: MultiheadProblem, Q_0: Floats) -> BlockState:
    """Heads that are nearly those of the target."""
    return BlockState(0.9 * Q_0, 0.95 * Q_0, 2.0 * np.eye(problem.n_heads), np.array([problem.v_0]))


def equal_start(problem: MultiheadProblem, Q_0: Floats) -> BlockState:
    """Heads that are nearly the same, and know all heads of the target nearly alike."""
    mean, one = np.full_like(Q_0, Q_0.mean()), np.eye(problem.n_heads)
    m = 0.9 * mean + 0.01 * (Q_0 - mean)
    return BlockState(m, 0.9 * mean + 0.05 * np.diag(Q_0).mean() * one, 2.0 * one, np.array([problem.v_0]))


def directions(problem: MultiheadProblem) -> Floats:
    """What overlaps of heads can differ by: nothing that tells heads of one law apart."""
    channel = channel_of(problem, 1, 0)
    units = [np.outer(row, column) for row in np.eye(problem.n_heads) for column in np.eye(problem.n_heads)]
    full = [channel.averaged(unit) for unit in units]
    symmetric = [unit + unit.T for unit in full]
    return directions_of([full, symmetric, symmetric, [np.array([float(problem.target_gain is not None)])]])


def settled_on(
    problem: MultiheadProblem,
    weights: Weights,
    channel: BlockChannel,
    start: BlockState,
    *,
    tol: float,
    plain: int = 0,
    slopes: Slopes | None = None,
) -> Point:
    """Go between samples and weights until nothing moves, by so many `plain` half steps first.

    Plain steps leave a fixed point that is not stable, where faster ones may end in it. Slopes of another fixed point
    that is near take the place of those that are found on the way.

        v = v_0 E<sigma(p), sigma_0>/E|sigma(p)|_F^2 at the proximal points p, where a gain is learned

    Equation: derived: the loss is stationary in v at fixed overlaps.
    Checked: tests/models/multihead/test_check_values.py::test_a_learned_gain
    """
    Q_0 = channel.averaged(weights.Q_0)
    rho_0 = Q_0 + 0.5 * problem.noise * np.eye(problem.n_heads)
    outputs = MeanOfHeads(problem.beta, problem.target_beta, target_gain=problem.v_0)
    seen: dict[bool, tuple[BlockState, BlockAverages]] = {}  # the last with care, and the last without

    def averages(state: BlockState, careful: bool) -> BlockAverages:
        gain = float(state.gain[0])
        found = channel.averages(replace(outputs, gain=gain), rho_0, state.overlaps, careful=careful)
        seen[careful] = (state, found)
        return found

    def step(state: BlockState, careful: bool) -> BlockState:
        found = averages(state, careful)
        m, q, Sigma = (channel.averaged(part) for part in weights.overlaps(found.hats))
        gain = state.gain
        if problem.target_gain is not None:
            gain = np.array([outputs.best_gain(found.u0, found.points.p)])
        return BlockState(m, q, Sigma, gain)

    here = start
    for _ in range(plain):
        new = step(here, False)
        here = BlockState(*(0.5 * (a + b) for a, b in zip(here, new, strict=True)))
    careful = Careful(step, lambda state: allowed(state, rho_0), directions(problem))
    if slopes is None:
        found, slopes = settled_by_newton(here, careful, tol=tol, most=MOST)
    else:
        found = settled_with_care(here, careful, tol=tol, most=MOST, slopes=slopes)
    at, last = seen[True]
    if at is not found.overlaps:
        last = averages(found.overlaps, True)
    if isinstance(weights, SampledHeads):
        weights.count_rank()
    point = measured(problem, weights, matched(found.overlaps), last, Q_0, found.residual, plain + found.steps)
    return replace(point, slopes=slopes, jumps=channel.jumps(last))


def all_cut(problem: MultiheadProblem, weights: SampledHeads, channel: BlockChannel) -> Point | None:
    """Heads of zeros, where weight decay leaves nothing else.

    Nothing is known of any head there, and so none is known before another: that is no doubt about the equations.
    """
    Q_0 = channel.averaged(weights.Q_0)
    rho_0 = Q_0 + 0.5 * problem.noise * np.eye(problem.n_heads)
    zeros = np.zeros_like(Q_0)
    nothing = BlockState(zeros, zeros, zeros, np.array([problem.v_0]))
    outputs = MeanOfHeads(problem.beta, problem.target_beta, problem.v_0, problem.v_0)
    averages = channel.averages(outputs, rho_0, nothing.overlaps)
    if not weights.sampled.are_all_cut(averages.hats):
        return None
    weights.paid = weights.rank = 0.0
    return replace(measured(problem, weights, nothing, averages, Q_0, 0.0, 1), specialised=1.0)


def allowed(state: BlockState, rho_0: Floats) -> bool:
    """Whether these can be overlaps: a covariance, and a response that is one."""
    whole = np.block([[rho_0, state.m.T], [state.m, state.q]])
    if not max(float(np.max(np.abs(part))) for part in (whole, *state)) < LARGEST:
        return False
    lowest = min(float(np.linalg.eigvalsh(part)[0]) for part in (whole, state.Sigma))
    return lowest > 1.0 / LARGEST and float(state.gain[0]) > 0.0


def matched(state: BlockState) -> BlockState:
    """Heads numbered as those of the target, by the permutation with the largest sum of overlaps."""
    rows = range(len(state.m))
    best = max(permutations(rows), key=lambda order: sum(state.m[h, k] for k, h in enumerate(order)))
    order = np.array(best)
    both = np.ix_(order, order)
    return BlockState(state.m[order], state.q[both], state.Sigma[both], state.gain)


def measured(
    problem: MultiheadProblem,
    weights: Weights,
    state: BlockState,
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
