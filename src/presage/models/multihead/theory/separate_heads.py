"""Heads whose outputs lie side by side, and heads whose scores are summed: problems of one head."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from presage.laws.empirical import Empirical
from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory.solution import Solution
from presage.models.attention.theory.solve import solve as solve_one
from presage.models.multihead.problem import MultiheadProblem
from presage.models.multihead.theory.averaged_heads import Found, solve_averaged
from presage.solving.sampled_weights import in_random_frame
from presage.solving.vector_state_evolution import mean_and_bar

SIDE_BY_SIDE = "exact: outputs side by side make each head a problem of its own, of tied attention with one head."
SUMMED = "exact: of a sum of linear heads the sum of their matrices is learned, a problem of one head."
SUM_DRAWN = (
    "the law of the sum of the target's heads is that of {copies} sums drawn at size {size}: their spread is in the "
    "error bars."
)
SUM_SIZE, SUM_COPIES = 800, 4
ROUNDING = 1e-12


def solve_side_by_side(problem: MultiheadProblem, accuracy: float, throw: bool = True) -> Found:
    """H problems of one head: errors add up, and a head is free of every other.

        Tr S_h S_0k/d = (Tr S_h/d)(Tr S_0k/d),   Tr S_h S_k/d = (Tr S_h/d)(Tr S_k/d)   for different heads

    Equation: derived: the loss is a sum over heads, and matrices in independent frames are free of each other.
    Checked: tests/models/multihead/test_reductions.py::test_heads_side_by_side_are_problems_of_one_head
    """
    laws = problem.targets
    solved = {law: solve_head(problem, law, accuracy, throw) for law in dict.fromkeys(laws)}
    heads = [solved[law] for law in laws]
    H = len(heads)
    values = {name: sum(head.values[name] for head in heads) for name in heads[0].values}
    bars = {name: sum(head.bars[name] for head in heads) for name in heads[0].bars}
    for name in ("estimation_error", "rank", "overlap", "gain"):
        if name in values:
            values[name], bars[name] = values[name] / H, bars[name] / H
    means, spreads = np.array([h.values["mean"] for h in heads]), np.array([h.bars["mean"] for h in heads])
    del values["mean"], bars["mean"]
    if H > 1:
        targets = np.array([law.mean for law in laws])
        off = ~np.eye(H, dtype=bool)
        values["cross_target_overlap"] = float(np.outer(means, targets)[off].mean())
        values["cross_overlap"] = float(np.outer(means, means)[off].mean())
        bars["cross_target_overlap"] = float(np.outer(spreads, np.abs(targets))[off].mean())
        bars["cross_overlap"] = 2.0 * float(np.outer(spreads, np.abs(means))[off].mean())
    said = tuple(dict.fromkeys(line for head in heads for line in head.said))
    states = tuple(state for head in heads for state in head.states)  # of gains: whether they settled is looked at
    residual, enough = max(head.residual for head in heads), max(head.settled for head in heads)
    return Found(values, bars, (SIDE_BY_SIDE, *said), residual, states, enough)


def solve_head(problem: MultiheadProblem, law: SpectralLaw, accuracy: float, throw: bool = True) -> Found:
    """One head alone, with ``Tr S_h/d`` as "mean"."""
    if problem.target_gain is not None:
        alone = problem.replace(target=law, n_heads=1, other_targets=())
        found = solve_averaged(alone, accuracy)
        paid = found.values["train_loss"] - problem.alpha * found.values["train_error"]
        relative = found.bars["overlap"] / abs(found.values["overlap"])
        if problem.penalty == "weight-decay":
            mean = paid / problem.lambda_tilde
        else:  # S is linear in the target and in noise without a trace
            mean = found.values["overlap"] / law.second_moment * law.mean
        return found._replace(values={**found.values, "mean": mean}, bars={**found.bars, "mean": relative * abs(mean)})
    return of_one_head(solve_one(one_head(problem, law), throw=throw))


def one_head(problem: MultiheadProblem, law: SpectralLaw) -> Problem:
    """A head alone, as a problem of tied attention."""
    price = problem.weight_decay
    penalty = NuclearPSD(price) if problem.penalty == "weight-decay" else Frobenius(price)
    channel = Softmax(problem.n_tokens, problem.beta, problem.target_beta)
    return Problem(law, channel, penalty, problem.alpha, problem.noise, problem.kappa)


def of_one_head(solution: Solution) -> Found:
    """The numbers of a head, with ``Tr S/d`` as "mean"."""
    names = ("test_error", "train_error", "train_loss", "estimation_error", "rank")
    bars = solution.error_bars
    values = {name: float(getattr(solution, name)) for name in names}
    spreads = {name: float(bars[name]) for name in names}
    values["overlap"], spreads["overlap"] = solution.m, float(bars["m"])
    problem = solution.problem
    if isinstance(problem.penalty, NuclearPSD):
        paid = solution.train_loss - problem.alpha * solution.train_error
        mean = paid / problem.penalty.lambda_tilde(problem.kappa)
    else:
        mean = solution.scale * problem.target.mean
    relative = float(bars["q"]) / max(solution.q, 1e-300) + ROUNDING
    values["mean"], spreads["mean"] = mean, relative * abs(mean)
    return Found(values, spreads, solution.caveats, solution.residual, ())


def solve_summed(problem: MultiheadProblem, throw: bool = True) -> Found:
    """Linear heads whose scores are summed: one head with ``S = sum_h S_h``, of H times the width.

    A price ``d lambda~ sum_h Tr S_h`` is one of the sum, ``d tau sum_h |S_h|_F^2`` is least, for a given sum, where
    every head is its part: ``d (tau/H) |S|_F^2``. In units in which the target is a law that is known, ``S = u S'``,
    the noise is ``Delta/u^2``, the penalty ``lambda~/u`` (or tau), and errors and losses are those times ``u^2``.

    Equation: derived: the loss of a linear channel is a square.
    Checked: tests/models/multihead/test_reductions.py::test_summed_heads_are_one_head
    """
    if problem.penalty == "frobenius" or is_closed(problem.targets):
        law, unit = sum_of_laws(problem.targets)
        found = in_units(of_one_head(solve_one(summed(problem, law, unit), throw=throw)), unit)
        said: tuple[str, ...] = (SUMMED,)
    else:
        laws = [drawn_sum(problem.targets, SUM_SIZE, seed) for seed in range(SUM_COPIES)]
        answers = [of_one_head(solve_one(summed(problem, law, 1.0), throw=throw)) for law in laws]
        found, said = averaged(answers), (SUMMED, SUM_DRAWN.format(copies=SUM_COPIES, size=SUM_SIZE))
    values = {name: value for name, value in found.values.items() if name != "mean"}
    bars = {name: found.bars[name] for name in values}
    return found._replace(values=values, bars=bars, said=tuple(dict.fromkeys((*said, *found.said))))


def summed(problem: MultiheadProblem, law: SpectralLaw, unit: float) -> Problem:
    """The sum of the heads as a problem of one head, measured in a unit."""
    H = problem.n_heads
    if problem.penalty == "frobenius":
        penalty: NuclearPSD | Frobenius = Frobenius(problem.weight_decay / H)
    else:  # sqrt(H kappa) times this is lambda~/unit
        penalty = NuclearPSD(problem.weight_decay / (sqrt(H) * unit))
    kappa = problem.kappa if problem.penalty == "frobenius" else H * problem.kappa
    return Problem(law, Linear(problem.n_tokens), penalty, problem.alpha, problem.noise / unit**2, kappa)


def is_closed(laws: Sequence[SpectralLaw]) -> bool:
    """Whether the law of the sum is known: of one law, and of Marchenko-Pastur laws that are all the same."""
    return len(laws) == 1 or (isinstance(laws[0], MarchenkoPastur) and all(law == laws[0] for law in laws))


def sum_of_laws(laws: Sequence[SpectralLaw]) -> tuple[SpectralLaw, float]:
    """Law of the sum of free matrices in a unit, and the unit; for a ridge any law with its mean and second moment.

    ``sum_h W_h W_h'/sqrt(m_0 d)`` is ``sqrt(H) W W'/sqrt(H m_0 d)`` with the columns of all heads in W.
    """
    H = len(laws)
    if is_closed(laws):
        first = laws[0]
        if isinstance(first, MarchenkoPastur) and H > 1:
            return MarchenkoPastur(H * first.kappa_0), sqrt(H)
        return first, 1.0
    means = np.array([law.mean for law in laws])
    mean = float(means.sum())
    spread = sqrt(sum(law.second_moment - law.mean**2 for law in laws))
    return Empirical((mean - spread, mean + spread)), 1.0


def drawn_sum(laws: Sequence[SpectralLaw], size: int, seed: int) -> SpectralLaw:
    """Eigenvalues of a sum of matrices of these laws in random frames."""
    rng = np.random.default_rng([seed, size])
    levels = (np.arange(size) + 0.5) / size
    whole = sum(in_random_frame(law.quantile(levels), rng) for law in laws)
    return Empirical(np.linalg.eigvalsh(whole))


def in_units(found: Found, unit: float) -> Found:
    """Numbers of a linear problem in the unit of its scores."""
    powers = {"rank": 0, "mean": 1}
    factors = {name: unit ** powers.get(name, 2) for name in found.values}
    values = {name: factors[name] * value for name, value in found.values.items()}
    return found._replace(values=values, bars={name: factors[name] * bar for name, bar in found.bars.items()})


def averaged(answers: Sequence[Found]) -> Found:
    """Means over drawn laws; their spread adds to the error bars."""
    values, bars = {}, {}
    for name in answers[0].values:
        mean, spread = mean_and_bar([found.values[name] for found in answers])
        values[name], bars[name] = mean, spread + max(found.bars[name] for found in answers)
    said = tuple(dict.fromkeys(line for found in answers for line in found.said))
    return Found(values, bars, said, max(found.residual for found in answers), ())
