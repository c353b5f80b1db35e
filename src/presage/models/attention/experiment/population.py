"""One network that sees infinitely many samples: it flows or descends along their mean loss, of which no noise is left.

``dW/dtheta = (S_0 - S) W`` is integrated as it stands, step by step; what it is worth is measured on fresh samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, nan, sqrt
from time import perf_counter
from typing import Any, final

import numpy as np
from scipy.integrate import DOP853

from presage.laws.numerical_zeros import with_numerical_zeros
from presage.laws.random_frame import random_frame
from presage.laws.spectral_law import Floats
from presage.models.attention.declaration import FLOWED
from presage.models.attention.experiment.data import Samples, stream, target_and_frame
from presage.models.attention.experiment.ensemble import Networks
from presage.models.attention.experiment.followed import followed
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.tokens import Gaussian
from presage.models.attention.population_descent import PopulationDescent
from presage.models.attention.population_flow import PopulationFlow
from presage.models.attention.problem import Problem
from presage.protocol.ensemble import Outcome, Setting, streams
from presage.protocol.errors import TrainError
from presage.training.ordered_sums import one_blas_thread

RTOL, ATOL = 1e-11, 1e-14  # of the solver of the flow
SETTLED = 1e-6  # relative, of what is left of the flow


@final
@dataclass(frozen=True)
class PopulationSetting(Setting):
    """Everything about a run but its seed."""

    problem: Problem
    d: int
    trainer: PopulationFlow | PopulationDescent
    n_test: int

    kind = Networks

    @property
    def width(self) -> int:
        """Number of columns of W."""
        return max(1, round(self.problem.kappa * self.d))

    @property
    def memory(self) -> float:
        """Bytes of the weights, of those inside of a step of the solver, and of the matrices of the way."""
        return 8.0 * self.d * (40.0 * max(self.d, self.width) + self.d * (self.trainer.steps + 1))

    @property
    def kept_bytes(self) -> dict[str, float]:
        """S and its target, and a row of numbers for each time."""
        return {"weights": 16.0 * self.d**2, "trajectory": 8.0 * (self.trainer.steps + 1) * (1 + len(FLOWED))}

    @property
    def size(self) -> str:
        """What makes the network large."""
        return f"a width of {self.width} and {self.trainer.steps} times"

    def described(self) -> dict[str, Any]:
        """The size of the test."""
        return {"n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw a target and a start, follow the flow, measure; matrix products are on one thread each."""
        problem, d, began = self.problem, self.d, perf_counter()
        for_target, _, for_trainer, for_test, for_way = streams(seed, d, 5)
        options: dict[str, Any] = {"tokens": Gaussian(), "noise": problem.noise, "threads": threads}

        def objective(samples: Samples) -> Objective:
            return Objective(samples, problem.channel, problem.penalty, self.width, None, threads)

        def tests(rng: np.random.Generator) -> Iterator[Samples]:
            return stream(S_0, problem.channel, self.n_test, rng, **options)

        with one_blas_thread():
            S_0, _ = target_and_frame(problem.target, d, for_target)
            way = [W @ W.T / sqrt(self.width * d) for W in self._way(S_0, for_trainer)]
            S = way[-1]
            total = sum(objective(block).loss_at(S) for block in tests(for_test))
            left = float(np.linalg.norm((S_0 - S) @ S)) / max(float(np.linalg.norm(S_0 @ S)), 1e-300)
            s = with_numerical_zeros(np.linalg.eigvalsh(S), d)
        values = {
            "test_error": total / self.n_test,
            "train_loss": nan,
            "train_error": nan,
            "estimation_error": float(np.sum((S - S_0) ** 2)) / d,
            "rank": float(np.count_nonzero(s)) / d,
            "m": float(np.sum(S * S_0)) / d,
            "q": float(np.sum(S**2)) / d,
            "eigenvalues": s,
            "residual": left,
            "gap": inf,
            "converged": left <= SETTLED,
            "fitted": nan,
            "evaluations": 0,
            "seconds": perf_counter() - began,
        }

        def rows() -> Floats:
            return followed(self.trainer, way, S_0, objective, tests(for_way), self.n_test)

        return Outcome(seed, values, (), {"weights": S, "targets": S_0, "trajectory": rows})

    def _way(self, S_0: Floats, rng: np.random.Generator) -> Iterator[Floats]:
        """The weights at every time of the trainer."""
        d, m, trainer = self.d, self.width, self.trainer
        if isinstance(trainer, PopulationFlow) and trainer.deviation is not None:
            W = trainer.deviation * rng.standard_normal((d, m))
        else:
            W = sqrt(trainer.eps or 0.0) * (m * d) ** 0.25 * random_frame(m, d, rng).T

        def velocity(W: Floats) -> Floats:
            return np.asarray((S_0 - W @ W.T / sqrt(m * d)) @ W)

        if isinstance(trainer, PopulationDescent):
            return _steps(W, velocity, trainer)
        return _flow(W, velocity, trainer.times)


def _steps(W: Floats, velocity: Any, trainer: PopulationDescent) -> Iterator[Floats]:
    done = 0
    for step in trainer.times.astype(int):
        for number in range(done, step):
            with np.errstate(over="ignore", invalid="ignore"):
                W = W + trainer.rate * velocity(W)
            if not np.isfinite(W).all():
                raise TrainError(f"Gradient descent left the finite numbers at step {number}.", "Use a smaller <rate>.")
        done = step
        yield W


def _flow(W: Floats, velocity: Any, times: Floats) -> Iterator[Floats]:
    """By a Runge-Kutta rule of order eight, which chooses its own steps."""
    shape, size = W.shape, float(np.abs(W).max())
    solver = DOP853(
        lambda _, flat: velocity(flat.reshape(shape)).ravel(),
        0.0,
        W.ravel(),
        float(times[-1]),
        rtol=RTOL,
        atol=ATOL * max(1.0, size),
    )
    yield W
    between = None
    for time in times[1:]:
        while solver.t < time:
            solver.step()
            if solver.status == "failed":
                raise TrainError("The flow could not be followed.", "Use an earlier <until>.")
            between = None
        between = between or solver.dense_output()
        yield np.asarray(between(time)).reshape(shape)
