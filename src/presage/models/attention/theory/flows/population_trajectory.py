"""What a quadratic network shows on its way, on the loss of infinitely many samples: predicted at every time."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.laws.discrete_law import DiscreteLaw
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.declaration import (
    DESCENDED,
    ESTIMATION_ERROR,
    FLOWED,
    LEARNED,
    LOCAL_EXPONENT,
    TEST_ERROR,
)
from presage.models.attention.flow_checks import check_population
from presage.models.attention.population_descent import PopulationDescent
from presage.models.attention.population_flow import PopulationFlow
from presage.models.attention.problem import Problem
from presage.models.attention.theory.flows.features_learned import learned_fraction
from presage.models.attention.theory.flows.gaussian_weights import DrawnStarts, drawn_starts, strengths
from presage.models.attention.theory.flows.nodes import MANY, nodes
from presage.models.attention.theory.flows.population import flow_of_eigenvalues, half_times, step_of_eigenvalues
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.trajectory import Trajectory
from presage.solving.vector_state_evolution import means_and_bars

POINTS = (128, 4096)  # of a continuous law: to begin with, and at most
FINE = 2048  # of one whose descent is followed
CLOSE = 1e-9  # relative, of two grids
ROUNDING = 1e-8  # relative, of an error; and of S itself, as a solver of the flow of a network has it:
OF_S = 1e-10
AT_ONCE = 2_000_000  # numbers in memory
POPULATION = (
    "the closed form of training on infinitely many samples, exact at every d and width: alpha and the weight decay "
    "play no part, and the noise only in the test error."
)
STEPS = (
    "training on infinitely many samples, step by step, exact at every d and width: alpha and the weight decay "
    "play no part, and the noise only in the test error."
)
FAR_APART = (
    "half_times are those of features far apart, ln(s_i/eps_i)/(2 s_i) with eps_i = w^2 (m - i + 1)/sqrt(m d): within "
    "3 % for separated features, in the mean over starts; near ones come together, the last of a square W later."
)
COARSE = "rate times the largest eigenvalue of the target, {product:.3g}, is not below 1: this descent does not settle."


def population_flow(problem: Problem, trainer: PopulationFlow, d: Any, runs: Any, seed: Any) -> Trajectory:
    """The way of gradient flow: from eps 1 by its eigenvalues, from Gaussian weights by the Riccati equation."""
    check_population(problem, trainer)
    if trainer.eps is None:
        return _from_gaussian_weights(problem, trainer, drawn_starts(problem, trainer, d, runs, seed))
    for name, value in {"d": d, "runs": runs, "seed": seed}.items():
        if value is not None:
            reason = "nothing is drawn: a flow from eps 1 depends on the eigenvalues of the target alone"
            raise checks.complaint(name, "be left out here", reason, value, "Leave it out.")
    theta, eps, law = trainer.times, trainer.eps, problem.target
    moments, bars = _converged(law, theta, eps)
    error, dissipated = moments
    values = {
        ESTIMATION_ERROR.name: error,
        LEARNED.name: learned_fraction(law, eps, theta),
        LOCAL_EXPONENT.name: -4.0 * theta * dissipated / np.maximum(error, np.finfo(float).tiny),
    }
    rounding = _rounding(problem, error)
    relative = (bars[0] + rounding) / np.maximum(error, np.finfo(float).tiny) + bars[1] / np.maximum(dissipated, 1e-300)
    error_bars = {
        ESTIMATION_ERROR.name: bars[0] + rounding,
        LEARNED.name: np.full(len(theta), 0.0 if isinstance(law, DiscreteLaw) else CLOSE),
        LOCAL_EXPONENT.name: np.abs(values[LOCAL_EXPONENT.name]) * np.minimum(relative, 1e3),
    }
    s = strengths(law)
    halves = None if s is None else half_times(s, eps)
    return _trajectory(problem, trainer, FLOWED, values, error_bars, (POPULATION,), half_times=halves)


def population_descent(problem: Problem, trainer: PopulationDescent) -> Trajectory:
    """The way of gradient descent from eps 1, by its eigenvalues."""
    check_population(problem, trainer)
    steps, law, eps = trainer.times.astype(int), problem.target, float(trainer.eps or 0.0)
    fine, coarse = (_descended(law, steps, eps, trainer.rate, points) for points in (FINE, FINE // 2))
    highest = float(law.support[-1, 1])
    if not np.isfinite(fine).all():
        lost = int(steps[np.argmin(np.isfinite(fine).all(axis=0))])
        raise SolveError(
            f"Descent has left the finite numbers by step {lost}: rate times the largest eigenvalue of the target is "
            f"{trainer.rate * highest:.3g}.",
            f"Use a smaller <rate>, below {1.0 / highest:.3g}.",
        )
    values = {ESTIMATION_ERROR.name: fine[0], LEARNED.name: fine[1]}
    s, mass = nodes(law, FINE)
    whole = isinstance(law, DiscreteLaw) and len(law.atoms.masses) <= MANY  # every feature is followed by itself
    counted = 0.0 if whole or not (s > 0.0).any() else float(np.max(mass[s > 0.0]) / np.sum(mass[s > 0.0]))
    error_bars = {
        ESTIMATION_ERROR.name: 2.0 * np.abs(fine[0] - coarse[0]) + _rounding(problem, fine[0]),
        LEARNED.name: np.full(len(steps), counted),
    }
    notes = (STEPS, *((COARSE.format(product=trainer.rate * highest),) if trainer.rate * highest >= 1.0 else ()))
    return _trajectory(problem, trainer, DESCENDED, values, error_bars, notes)


def _converged(law: SpectralLaw, theta: Floats, eps: float) -> tuple[Floats, Floats]:
    """Mean squares of what is left, plain and times what is learned, and bars from two grids."""
    points, before = POINTS[0], None
    while True:
        found = _flowed(law, theta, eps, points)
        if isinstance(law, DiscreteLaw):
            return found, np.zeros_like(found)
        apart = np.inf if before is None else np.abs(found - before)
        if np.all(apart <= CLOSE * np.abs(found)) or points >= POINTS[1]:
            return found, 2.0 * np.asarray(apart)
        points, before = 2 * points, found


def _flowed(law: SpectralLaw, theta: Floats, eps: float, points: int) -> Floats:
    """``int (s - s(theta))^2 mu`` and ``int s(theta) (s - s(theta))^2 mu``, whose slope in theta is -4 times this."""
    s, mass = nodes(law, points)
    found = np.empty((2, len(theta)))
    block = max(1, AT_ONCE // len(s))
    for start in range(0, len(theta), block):
        part = slice(start, start + block)
        learned, left = flow_of_eigenvalues(s, eps, theta[part, None])
        found[:, part] = left**2 @ mass, (learned * left**2) @ mass
    return found


def _descended(law: SpectralLaw, steps: Any, eps: float, rate: float, points: int) -> Floats:
    """Mean square of what is left after each of these steps, and part of the features of which half is learned."""
    s, mass = nodes(law, points)
    positive = s > 0.0
    whole = max(float(mass[positive].sum()), np.finfo(float).tiny)
    found, learned, done = np.empty((2, len(steps))), np.full(len(s), eps), 0
    with np.errstate(over="ignore", invalid="ignore"):
        for row, step in enumerate(steps):
            for _ in range(done, step):
                learned = step_of_eigenvalues(s, learned, rate)
            done = step
            found[:, row] = (s - learned) ** 2 @ mass, mass[positive & (learned >= 0.5 * s)].sum() / whole
    return found


def _from_gaussian_weights(problem: Problem, trainer: PopulationFlow, starts: DrawnStarts) -> Trajectory:
    """Means over Gaussian starts of networks of one dimension, and what their spread says."""
    values, error_bars = {}, {}
    for one, columns in zip((ESTIMATION_ERROR, LEARNED, LOCAL_EXPONENT), np.moveaxis(starts.tables, 1, 0), strict=True):
        mean, bar = means_and_bars(columns)
        values[one.name], error_bars[one.name] = mean, bar + ROUNDING * np.abs(mean)
    error = values[ESTIMATION_ERROR.name]
    rounding = _rounding(problem, error)
    error_bars[ESTIMATION_ERROR.name] += rounding
    relative = np.minimum(rounding / np.maximum(error, np.finfo(float).tiny), 1e3)
    error_bars[LOCAL_EXPONENT.name] += np.abs(values[LOCAL_EXPONENT.name]) * relative
    drawn = (
        f"the flow is exact for any start; these are means over {len(starts.tables)} Gaussian starts of networks of "
        f"d = {starts.d} and a width of {starts.width}, and bars are their spread."
    )
    notes = (POPULATION, drawn, *(() if starts.half_times is None else (FAR_APART,)))
    return _trajectory(problem, trainer, FLOWED, values, error_bars, notes, starts.d, starts.half_times)


def _rounding(problem: Problem, error: Floats) -> Floats:
    """What rounding adds to an error: of itself, and of the S of a network, all that is left when all is learned."""
    return ROUNDING * error + 2.0 * OF_S * np.sqrt(problem.Q_0 * error) + OF_S**2 * problem.Q_0


def _trajectory(
    problem: Problem,
    trainer: Any,
    observables: Any,
    values: dict[str, Floats],
    bars: dict[str, Floats],
    notes: tuple[str, ...],
    d: int | None = None,
    half_times: Floats | None = None,
) -> Trajectory:
    """With the test error, that of outputs which are linear in S: ``T (T + 1) (error + Delta/2)``."""
    T = problem.channel.n_tokens
    seen = T * (T + 1)
    values[TEST_ERROR.name] = seen * (values[ESTIMATION_ERROR.name] + 0.5 * problem.noise)
    bars[TEST_ERROR.name] = seen * bars[ESTIMATION_ERROR.name]
    return Trajectory(problem, trainer, observables, trainer.times, values, bars, notes, d, half_times)
