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
from presage.models.boltzmann.start import check_response, start_matrices
from presage.models.boltzmann.theory.linear_regime import linear_overlaps
from presage.models.boltzmann.theory.sample_means import SUPPORTED, mean_phi, sample_means
from presage.models.boltzmann.theory.solution import COARSER, alignments, must_be_supported
from presage.models.boltzmann.theory.state_evolution import iterates
from presage.models.boltzmann.theory.two_time import Way, descend
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.machine import available_memory
from presage.protocol.observables import Observable
from presage.protocol.trajectory import Trajectory
from presage.solving.vector_state_evolution import Overlaps, mean_and_bar

ROUNDING = 1e-9
POWERS = 1e-12  # relative, of a power of a step
MOST_STEPS = 1000
MOST_RUNS = 1000  # so many seeds of runs belong to a seed
SAMPLES, RUNS = 8192, 12  # unless they are given
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
    samples: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
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
        samples: sampled fields of a run, 8192 unless they are given, rounded up to a power of two. This and the next
            two are for descent alone, and not for its linear law.
        runs: independent runs behind an error bar, 12 unless they are given.
        seed: of the first run, 0 unless it is given.
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
    if isinstance(trainer, BoltzmannAMP) and linear:
        raise checks.complaint("linear", "be left out here", "it is for gradient descent", linear, "Leave it out.")
    if isinstance(trainer, BoltzmannAMP) or linear:
        for name, value in {"samples": samples, "runs": runs, "seed": seed}.items():
            if value is not None:
                reason = "nothing is sampled for message passing, nor for the linear law of descent"
                raise checks.complaint(name, "be left out here", reason, value, "Leave it out.")
    if isinstance(trainer, BoltzmannAMP):
        check_response(problem, trainer.v_0)
        return _messages(problem, trainer, M_0, Q_0)
    if linear:
        return _linear(problem, trainer, M_0, Q_0)
    return _descent(problem, trainer, M_0, Q_0, *_checked(problem, steps, samples, runs, seed))


def _checked(problem: BoltzmannProblem, steps: int, samples: Any, runs: Any, seed: Any) -> tuple[int, int, int]:
    """Sizes of the runs, or a complaint."""
    least = 2 * (steps + 1) * problem.units
    samples = checks.integer(
        "samples",
        SAMPLES if samples is None else samples,
        at_least=least,
        at_most=2**20,
        reason="sampled fields are made uncorrelated at different steps, for which there must be more of them",
        remedy=f"Use for example <samples={max(SAMPLES, 2 ** ceil(log2(least)))}>.",
    )
    reason, remedy = "an error bar is the spread of independent runs", f"Use for example <runs={RUNS}>."
    runs = RUNS if runs is None else runs
    runs = checks.integer("runs", runs, at_least=2, at_most=MOST_RUNS, reason=reason, remedy=remedy)
    seed = 0 if seed is None else seed
    seed = checks.integer("seed", seed, at_least=0, reason="it begins random numbers", remedy="Use <seed=0>.")
    samples = 2 ** ceil(log2(samples))
    needed, free = _bytes(problem, steps, samples, runs), available_memory()
    if needed > free:
        reason = f"the fields of {steps} steps take {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free"
        remedy = "Use fewer <samples> or <steps>."
        raise checks.complaint("samples", "leave room for sampled fields at all steps", reason, samples, remedy)
    return samples, runs, seed


def _bytes(problem: BoltzmannProblem, steps: int, samples: int, runs: int) -> float:
    """Memory of a run, and of what is kept of all: normals, which are made of two copies, fields, and responses."""
    times, k = steps + 1.0, problem.units
    patterns = 1.0 if problem.latents == "gaussian" else 2.0 ** len(problem.signals)
    fields = samples * times * k * (3.0 * 8.0 + patterns * (8.0 + 4.0 * k))
    return fields + 8.0 * (times * k) ** 2 * (6.0 + 3.0 * runs)


def _descent(
    problem: BoltzmannProblem, trainer: BoltzmannDescent, M_0: Floats, Q_0: Floats, samples: int, runs: int, seed: int
) -> Trajectory:
    """Means over independent runs of the two-time equations, and what their spread says."""
    ways = [
        descend(problem, M_0, Q_0, trainer.rate, trainer.steps, samples, seed * MOST_RUNS + run) for run in range(runs)
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
    way = _iterated(problem, trainer, start, 1.0)
    shown = _shown(problem, tuple(one for one in FOLLOWED if one != TRAIN_LIKELIHOOD))
    values = _messages_observed(problem, way, 1.0)
    beside = _messages_observed(problem, _iterated(problem, trainer, start, COARSER), COARSER)
    bars = {
        one.name: np.abs(values[one.name] - beside[one.name]) + ROUNDING * np.maximum(np.abs(values[one.name]), 1.0)
        for one in shown
    }
    times = np.arange(trainer.steps + 1.0)
    wild = any(sample_means(problem, one).least_slope <= 0.0 or np.linalg.eigvalsh(one.v)[0] < 0.0 for one in way)
    notes = (JUMPS,) if wild else ()
    return Trajectory(problem, trainer, shown, times, {one.name: values[one.name] for one in shown}, bars, notes)


def _iterated(problem: BoltzmannProblem, trainer: BoltzmannAMP, start: Overlaps, coarser: float) -> list[Overlaps]:
    """Overlaps after every iteration, on a grid that may be coarser than usual."""
    way = islice(iterates(problem, start, trainer.mixing_of(problem), coarser), trainer.steps + 1)
    try:
        found = [one.overlaps for one in way]
    except np.linalg.LinAlgError:
        found = []
    if not found or not all(np.isfinite(problem.hidden.psi(one.q)) for one in found):
        remedy = "Start at other <m_0>, <q_0> and <v_0>, or use a smaller <mixing>."
        raise SolveError("State evolution leaves the possible overlaps.", remedy)
    return found


def _messages_observed(problem: BoltzmannProblem, way: list[Overlaps], coarser: float) -> dict[str, Floats]:
    """Observables of overlaps after every iteration, with means over fresh samples on the same grid."""
    found = _overlaps_observed(np.array([one.m.T for one in way]), np.array([one.q for one in way]))
    fresh = [mean_phi(problem, one.m, one.q, coarser) - problem.hidden.psi(one.q) for one in way]
    return {**found, "test_likelihood": np.array(fresh)}


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
