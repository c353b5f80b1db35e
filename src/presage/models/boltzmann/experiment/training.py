"""Ways to the weights of greatest likelihood: L-BFGS, gradient descent and message passing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.descent import BoltzmannDescent
from presage.models.boltzmann.experiment.amp import message_passing
from presage.models.boltzmann.experiment.objective import Unbounded, is_gaussian, loss
from presage.models.boltzmann.experiment.samples import Samples, weights_with_overlaps
from presage.models.boltzmann.hidden import spread
from presage.models.boltzmann.message_passing import BoltzmannAMP
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.start import start_matrices
from presage.protocol.errors import TrainError
from presage.training.history import History
from presage.training.lbfgs import LBFGS
from presage.training.quasi_newton import quasi_newton

SMALL = 0.3  # size of random weights to start from, over that of a unit
STATIONARY = 1e-3  # slope of the loss, relative, below which descent is at rest

Follow = Callable[[Floats], list[float]]


class Fit(NamedTuple):
    """Weights that training ended in."""

    W: Floats
    slope: float  # of the loss there, relative
    converged: bool
    history: Floats  # rows (seconds, loss)
    trajectory: Floats  # rows (step, observables), of trainers that are followed


def minimised(
    trainer: LBFGS, problem: BoltzmannProblem, samples: Samples, at_target: bool, rng: np.random.Generator
) -> Fit:
    """L-BFGS on the weights, from small random ones or from the directions themselves."""
    A, directions = samples
    size = 1.0 / spread(problem.hidden, problem.units)
    start = SMALL * size * rng.standard_normal((len(directions), problem.units))
    if at_target:
        known = directions[:, : problem.units]
        start *= SMALL
        start[:, : known.shape[1]] += SMALL * 2.0 * size * known
    history, last = History(), np.inf
    bounded = is_gaussian(problem.hidden)

    def value_and_gradient(B: Floats) -> tuple[float, Floats]:
        nonlocal last
        inside = Unbounded.of(B) if bounded else None
        here = loss(A, B if inside is None else inside.W, problem.hidden)
        last = here.slope
        return here.value, here.gradient if inside is None else inside.gradient(B, here.gradient)

    def done(value: float) -> bool:
        history.record(value)
        return last <= trainer.tol

    found = quasi_newton(
        value_and_gradient,
        start,
        steps=trainer.steps,
        evaluations=2 * trainer.steps,
        memory=trainer.memory,
        done=done,
    )
    W = Unbounded.of(found.X).W if bounded else found.X
    slope = loss(A, W, problem.hidden).slope
    return Fit(W, slope, slope <= 10.0 * trainer.tol, history.rows, np.zeros((0, 0)))


def descended(
    trainer: BoltzmannDescent, problem: BoltzmannProblem, samples: Samples, follow: Follow, rng: np.random.Generator
) -> Fit:
    """Gradient descent from weights of given overlaps, every step followed."""
    W = start = _start(trainer, problem, samples, rng)
    rows, history = [[0.0, *follow(start)]], History()
    for count, W in enumerate(steps_of_descent(samples.A, start, trainer.rate, problem), start=1):
        rows.append([float(count), *follow(W)])
        history.record(rows[-1][-1])
        if count == trainer.steps:
            break
    slope = loss(samples.A, W, problem.hidden).slope
    return Fit(W, slope, slope <= STATIONARY, _losses(problem, samples, history), np.array(rows))


def steps_of_descent(A: Floats, W: Floats, rate: float, problem: BoltzmannProblem) -> Iterator[Floats]:
    """The weights after every step.

        W' = W (1 - rate S(Q)) + (rate/alpha) A'g(A W)

    Equation: derived: ascent along the gradient of the log-likelihood, with the step rate/alpha.
    Checked: tests/models/boltzmann/test_experiment.py::test_descent_follows_the_gradient
    """
    n, d = A.shape
    while True:
        W = W - rate * d * d / n * loss(A, W, problem.hidden).gradient
        if not np.isfinite(W).all() or not np.isfinite(problem.hidden.psi(W.T @ W / d)):
            raise TrainError("Gradient descent left the possible weights.", "Use a smaller <rate>.")
        yield W


def passed(
    trainer: BoltzmannAMP, problem: BoltzmannProblem, samples: Samples, follow: Follow, rng: np.random.Generator
) -> Fit:
    """Message passing from weights of given overlaps, every iteration followed."""
    W, V = _start(trainer, problem, samples, rng), trainer.v_0 * np.eye(problem.units)
    mixing, history = trainer.mixing_of(problem), History()
    rows: list[list[float]] = []
    before, moved = W, np.inf
    for count, state in enumerate(message_passing(samples.A, W, V, problem.hidden, mixing)):
        W = state.W
        rows.append([float(count), *follow(W)])
        if count:
            history.record(rows[-1][-1])
            moved = float(np.linalg.norm(W - before)) / max(float(np.linalg.norm(W)), 1e-300)
        before = W
        if count == trainer.steps or moved <= trainer.tol:
            break
    rows += [[float(count), *rows[-1][1:]] for count in range(len(rows), trainer.steps + 1)]  # at rest from here
    slope = loss(samples.A, W, problem.hidden).slope
    return Fit(W, slope, moved <= trainer.tol, _losses(problem, samples, history), np.array(rows))


def _start(
    trainer: BoltzmannDescent | BoltzmannAMP, problem: BoltzmannProblem, samples: Samples, rng: np.random.Generator
) -> Floats:
    M, Q = start_matrices(problem, trainer.m_0, trainer.q_0)
    return weights_with_overlaps(samples.directions, M, Q, rng)


def _losses(problem: BoltzmannProblem, samples: Samples, history: History) -> Floats:
    """Rows (seconds, loss) of training likelihoods that were recorded: ``f = -alpha`` times these."""
    n, d = samples.A.shape
    return history.rows * (1.0, -n / d)
