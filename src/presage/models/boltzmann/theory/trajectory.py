"""The way of a training, predicted step by step: of gradient descent, and of message passing."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from math import ceil, log2
from typing import Any

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.declaration import (
    ALIGNMENT,
    FOLLOWED,
    LAST_ALIGNMENT,
    OVERLAP,
    SIZE,
    TEST_LIKELIHOOD,
    TRAIN_LIKELIHOOD,
)
from presage.models.boltzmann.descent import BoltzmannDescent
from presage.models.boltzmann.message_passing import BoltzmannAMP
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.start import start_matrices
from presage.models.boltzmann.theory.linear_regime import linear_overlaps
from presage.models.boltzmann.theory.sample_means import SUPPORTED, mean_phi, sample_means
from presage.models.boltzmann.theory.solution import COARSER, alignments, must_be_supported
from presage.models.boltzmann.theory.state_evolution import iterates
from presage.models.boltzmann.theory.two_time import Way, descend
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.observables import Observable
from presage.protocol.trajectory import Trajectory
from presage.solving.vector_state_evolution import Overlaps, mean_and_bar

ROUNDING = 1e-9
POWERS = 1e-12  # relative, of a power of a step
MOST_STEPS = 1000
STEPS_REASON = "what sampled fields remember grows as the cube of the steps"
UNSEEN = (
    "the start has no overlap with the directions, and none appears in the limit: real machines begin at one of order "
    "d^-1/2, and take log d steps to leave it."
)
SMALL = (
    "these are the equations of small weights, where units are linear: weights that have grown to order one leave them."
)
JUMPS = "fields of samples jump on the way, where state evolution is a heuristic, and messages of machines may fail."


def trajectory(
    problem: BoltzmannProblem,
    *,
    steps: int = 60,
    trainer: BoltzmannDescent | BoltzmannAMP | None = None,
    samples: int = 8192,
    runs: int = 12,
    seed: int = 0,
    linear: bool = False,
) -> Trajectory:
    """Predict what gradient descent, or message passing, shows after each of its first `steps` steps.

    Descent is followed by exact equations for overlaps at two times, in which means over fields of samples are taken
    over sampled ones: `runs` independent sets, whose spread is the error bar. Message passing is followed by state
    evolution.

    Args:
        problem: what is learned.
        steps: how many steps are followed; the start counts as step 0.
        trainer: `BoltzmannDescent` (the default) or `BoltzmannAMP`, with the overlaps that it starts from.
        samples: sampled fields of a run, rounded up to a power of two.
        runs: independent runs behind an error bar.
        seed: of the first run.
        linear: whether weights are taken to be so small that units are linear: then descent is power iteration, and
            known in closed form.
    """
    trainer = BoltzmannDescent() if trainer is None else trainer
    remedy = "Leave it out, or use <trainer=BoltzmannAMP()>."
    reason = "these are the ways that are known step by step"
    checks.instance("trainer", trainer, (BoltzmannDescent, BoltzmannAMP), reason=reason, remedy=remedy)
    steps = checks.integer(
        "steps", steps, at_least=1, at_most=MOST_STEPS, reason=STEPS_REASON, remedy="Use for example <steps=60>."
    )
    checks.instance("linear", linear, bool, reason="it says whether weights are small", remedy="Leave it out.")
    trainer = replace(trainer, steps=steps)
    M_0, Q_0 = start_matrices(problem, trainer.m_0, trainer.q_0)
    if isinstance(trainer, BoltzmannAMP):
        if linear:
            raise checks.complaint("linear", "be left out here", "it is for gradient descent", linear, "Leave it out.")
        return _messages(problem, trainer, M_0, Q_0)
    if linear:
        return _linear(problem, trainer, M_0, Q_0)
    return _descent(problem, trainer, M_0, Q_0, *_checked(problem, steps, samples, runs, seed))


def _checked(problem: BoltzmannProblem, steps: int, samples: Any, runs: Any, seed: Any) -> tuple[int, int, int]:
    """Sizes of the runs, or a complaint."""
    least = 2 * (steps + 1) * problem.units
    samples = checks.integer(
        "samples",
        samples,
        at_least=least,
        at_most=2**20,
        reason="sampled fields are made uncorrelated at different steps, for which there must be more of them",
        remedy=f"Use for example <samples={max(8192, 2 ** ceil(log2(least)))}>.",
    )
    reason, remedy = "an error bar is the spread of independent runs", "Use for example <runs=12>."
    runs = checks.integer("runs", runs, at_least=2, at_most=1000, reason=reason, remedy=remedy)
    seed = checks.integer("seed", seed, at_least=0, reason="it begins random numbers", remedy="Use <seed=0>.")
    return 2 ** ceil(log2(samples)), runs, seed


def _descent(
    problem: BoltzmannProblem, trainer: BoltzmannDescent, M_0: Floats, Q_0: Floats, samples: int, runs: int, seed: int
) -> Trajectory:
    """Means over independent runs of the two-time equations, and what their spread says."""
    ways = [
        descend(problem, M_0, Q_0, trainer.rate, trainer.steps, samples, seed * MOST_STEPS + run) for run in range(runs)
    ]
    tables = [_observed_of(problem, way) for way in ways]
    shown = _shown(problem, FOLLOWED if problem.units <= SUPPORTED else _without_grid())
    values, bars = {}, {}
    for one in shown:
        mean, bar = np.array([mean_and_bar(column) for column in np.array([each[one.name] for each in tables]).T]).T
        values[one.name], bars[one.name] = mean, bar + ROUNDING * np.maximum(np.abs(mean), 1.0)
    notes = (UNSEEN,) if not np.any(M_0) else ()
    return Trajectory(problem, trainer, shown, np.arange(trainer.steps + 1.0), values, bars, notes)


def _observed_of(problem: BoltzmannProblem, way: Way) -> dict[str, Floats]:
    """Observables of overlaps at every time."""
    found = _overlaps_observed(way.M, way.Q)
    cost = np.array([problem.hidden.psi(Q) for Q in way.Q])
    if not np.isfinite(cost).all():
        raise SolveError("Gradient descent leaves the possible weights.", "Use a smaller <rate>.")
    found["train_likelihood"] = way.train_phi - cost
    if problem.units <= SUPPORTED:
        fresh = [mean_phi(problem, M.T, Q) for M, Q in zip(way.M, way.Q, strict=True)]
        found["test_likelihood"] = np.array(fresh) - cost
    return found


def _overlaps_observed(M: Floats, Q: Floats) -> dict[str, Floats]:
    aligned = np.array([alignments(Overlaps(m.T, q, q)) for m, q in zip(M, Q, strict=True)])
    return {
        "alignment": aligned[:, 0],
        "overlap": np.linalg.norm(M[:, 0], axis=1),
        "last_alignment": aligned[:, -1],
        "size": np.trace(Q, axis1=1, axis2=2) / Q.shape[1],
    }


def _messages(problem: BoltzmannProblem, trainer: BoltzmannAMP, M_0: Floats, Q_0: Floats) -> Trajectory:
    """State evolution, iteration by iteration; the training likelihood on the way would need overlaps at two times."""
    must_be_supported(problem)
    start = Overlaps(M_0.T, Q_0, trainer.v_0 * np.eye(problem.units))
    try:
        way = [one.overlaps for one in islice(iterates(problem, start, trainer.mixing_of(problem)), trainer.steps + 1)]
    except np.linalg.LinAlgError:
        remedy = "Start at other <m_0> and <q_0>, or use a smaller <mixing>."
        raise SolveError("State evolution leaves the possible overlaps.", remedy) from None
    M, Q = np.array([one.m.T for one in way]), np.array([one.q for one in way])
    shown = _shown(problem, tuple(one for one in FOLLOWED if one != TRAIN_LIKELIHOOD))
    values = _overlaps_observed(M, Q)
    cost = np.array([problem.hidden.psi(q) for q in Q])
    fine, coarse = (
        np.array([mean_phi(problem, m.T, q, coarser) for m, q in zip(M, Q, strict=True)]) for coarser in (1.0, COARSER)
    )
    values["test_likelihood"] = fine - cost
    off = float(np.abs(fine - coarse).max()) + ROUNDING
    bars = {one.name: off * np.maximum(np.abs(values[one.name]), 1.0) for one in shown}
    times = np.arange(trainer.steps + 1.0)
    wild = any(sample_means(problem, one).least_slope <= 0.0 or np.linalg.eigvalsh(one.v)[0] < 0.0 for one in way)
    notes = (JUMPS,) if wild else ()
    return Trajectory(problem, trainer, shown, times, {one.name: values[one.name] for one in shown}, bars, notes)


def _linear(problem: BoltzmannProblem, trainer: BoltzmannDescent, M_0: Floats, Q_0: Floats) -> Trajectory:
    """Power iteration, in closed form."""
    second, mean = problem.hidden.second_moment(problem.units), problem.hidden.mean(problem.units)
    if not np.allclose(second, np.eye(problem.units)) or np.any(np.abs(mean) > ROUNDING):
        reason = "small weights are power iteration for independent units of mean zero and variance one"
        remedy = "Use for example <hidden=BinaryUnits()>."
        raise checks.complaint("hidden", "be units of mean zero and variance one", reason, problem.hidden, remedy)
    M, Q = linear_overlaps(problem.alpha, problem.signals, trainer.rate, M_0, Q_0, trainer.steps)
    rough = linear_overlaps(problem.alpha, problem.signals, trainer.rate, M_0, Q_0, trainer.steps, rough=True)
    shown = _shown(problem, (ALIGNMENT, OVERLAP, LAST_ALIGNMENT, SIZE))
    found, beside = _overlaps_observed(M, Q), _overlaps_observed(*rough)
    values = {one.name: found[one.name] for one in shown}
    # One direction outgrows the others, and what the weights have of these is lost in its rounding.
    lost = POWERS * np.linalg.cond(Q)
    bars = {
        name: np.abs(value - beside[name])
        + ROUNDING * np.abs(value)
        + (lost if name in {"alignment", "last_alignment"} else 0.0)
        for name, value in values.items()
    }
    notes = (SMALL, *((UNSEEN,) if not np.any(M_0) else ()))
    return Trajectory(problem, trainer, shown, np.arange(trainer.steps + 1.0), values, bars, notes)


def _shown(problem: BoltzmannProblem, known: tuple[Observable, ...]) -> tuple[Observable, ...]:
    """What is followed: of a single direction the weakest is the strongest."""
    return tuple(one for one in known if one != LAST_ALIGNMENT or problem.spikes.count > 1)


def _without_grid() -> tuple[Observable, ...]:
    """What is followed of more units than a grid is made for: the likelihood of fresh samples is left out."""
    return tuple(one for one in FOLLOWED if one != TEST_LIKELIHOOD)
