"""Train machines of finite size on sampled data, and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.declaration import FOLLOWED
from presage.models.boltzmann.descent import BoltzmannDescent
from presage.models.boltzmann.experiment.ensemble import BoltzmannEnsemble
from presage.models.boltzmann.experiment.measured import Seen, followed, principal_alignment
from presage.models.boltzmann.experiment.samples import draw_directions, draw_fresh, draw_samples
from presage.models.boltzmann.experiment.training import Fit, descended, minimised, passed
from presage.models.boltzmann.hidden import UnitsWithStates
from presage.models.boltzmann.message_passing import BoltzmannAMP
from presage.models.boltzmann.order_of_units import order_of_units
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.start import check_response, start_matrices
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.fields import Choice
from presage.protocol.trainer import Trainer
from presage.training.lbfgs import LBFGS
from presage.training.ordered_sums import one_blas_thread

START = Choice(
    "where L-BFGS begins", options=("random", "target"), reason="it begins at random weights or at the directions"
)


def simulate(
    problem: BoltzmannProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    start: Literal["random", "target"] = "random",
    n_test: int = 20_000,
    keep: str | Sequence[str] = (),
    processes: int | None = None,
    progress: bool | None = None,
) -> BoltzmannEnsemble:
    """Draw directions and data, train a machine, and measure, one a seed.

    Args:
        problem: the machine and the data; the number of samples is ``round(alpha d)``.
        d: number of visible units.
        seeds: how many machines (seeds 0, 1, ...), or the seeds themselves.
        trainer: `LBFGS` (the default) finds a minimum of the training loss; `BoltzmannAMP` passes messages, and
            `BoltzmannDescent` descends along the gradient, both from weights of given overlaps.
        start: where L-BFGS begins: at "random" weights, or at the directions of the data, "target".
        n_test: fresh samples for the test likelihood, of which what the weights see is drawn.
        keep: "weights" keeps W and the directions, "history" the loss against the time, "trajectory" the observables
            after every step of message passing or descent; a list several.
        processes: how many machines are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `BoltzmannSolution`, one entry a seed. A seed that fails is in `failures` with the reason.
    """
    setting = _setting(problem, d, LBFGS(tol=1e-6) if trainer is None else trainer, start, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress, keep=keep)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class MachineSetting(Setting):
    """Everything about a run but its seed."""

    problem: BoltzmannProblem
    d: int
    trainer: Trainer
    start: Literal["random", "target"]
    n_test: int

    kind = BoltzmannEnsemble

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.problem.samples(self.d)

    @property
    def memory(self) -> float:
        """Bytes of the samples, of their covariance, and of what the hidden units make of them."""
        units, hidden = self.problem.units, self.problem.hidden
        count = len(hidden.states(units).chances) if isinstance(hidden, UnitsWithStates) else 1
        # A weight and its exponent for every state, and pairs of units.
        states = 4.0 + 3.0 * count + 2.0 * units**2
        return 8.0 * (self.n * self.d + min(self.n, self.d) ** 2 + (self.n + self.n_test) * states)

    @property
    def kept_bytes(self) -> dict[str, float]:
        """W with the directions, a row of two numbers a step, and the observables after every step."""
        steps = float(getattr(self.trainer, "steps", 0))
        kept = {
            "weights": 8.0 * self.d * (self.problem.units + len(self.problem.signals)),
            "history": 16.0 * steps,
        }
        if not isinstance(self.trainer, LBFGS):
            kept["trajectory"] = 8.0 * (steps + 1.0) * (1 + len(FOLLOWED))
        return kept

    @property
    def size(self) -> str:
        return f"{self.n} samples of {self.d} visible units"

    @property
    def notes(self) -> tuple[str, ...]:
        if abs(self.problem.alpha * self.d - self.n) > 1e-9 * self.d:
            return (f"alpha d = {self.problem.alpha * self.d:g} is not a whole number: {self.n} samples are used.",)
        return ()

    def described(self) -> dict[str, Any]:
        return {"start": self.start, "n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw, train, measure; matrix products are on one thread each."""
        problem = self.problem
        with one_blas_thread():
            for_target, for_data, for_trainer, for_test = streams(seed, self.d)
            directions = draw_directions(self.d, len(problem.signals), for_target)
            samples = draw_samples(problem, directions, self.n, for_data)
            seen = Seen(problem, samples, draw_fresh(problem, self.n_test, for_test))
            fit = self._fit(seen, for_trainer)
            M, Q = directions.T @ fit.W / self.d, fit.W.T @ fit.W / self.d
            places, signs = order_of_units(problem, M)
            values = {
                **followed(seen, fit.W),
                "pca_alignment": principal_alignment(samples),
                "M": signs * M[:, places],
                "Q": signs[:, None] * signs * Q[np.ix_(places, places)],
                "slope": fit.slope,
                "converged": fit.converged,
            }
        stopped = f"training stopped where the loss still has a relative slope of {fit.slope:.1e}."
        kept = {"weights": fit.W, "targets": directions, "history": fit.history, "trajectory": fit.trajectory}
        return Outcome(seed, values, () if fit.converged else (stopped,), kept)

    def _fit(self, seen: Seen, rng: np.random.Generator) -> Fit:
        trainer = self.trainer

        def follow(W: Floats) -> list[float]:
            return list(followed(seen, W).values())

        if isinstance(trainer, BoltzmannAMP):
            return passed(trainer, self.problem, seen.samples, follow, rng)
        if isinstance(trainer, BoltzmannDescent):
            return descended(trainer, self.problem, seen.samples, follow, rng)
        assert isinstance(trainer, LBFGS)
        return minimised(trainer, self.problem, seen.samples, self.start == "target", rng)


def _setting(problem: BoltzmannProblem, d: Any, trainer: Any, start: Any, n_test: Any) -> MachineSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        (LBFGS, BoltzmannAMP, BoltzmannDescent),
        reason="these train a Boltzmann machine",
        remedy="Leave it out, or use <trainer=BoltzmannAMP()>.",
    )
    START.checked("start", start)
    if start == "target" and not isinstance(trainer, LBFGS):
        reason, remedy = "message passing and descent begin at overlaps of their own", "Give <m_0> to the trainer."
        raise checks.complaint("start", "be left out here", reason, start, remedy)
    if not isinstance(trainer, LBFGS):
        start_matrices(problem, trainer.m_0, trainer.q_0)
    if isinstance(trainer, BoltzmannAMP):
        check_response(problem, trainer.v_0)
    least = 2 * (problem.units + len(problem.signals))
    reason = "it is the number of visible units, and weights and directions must find room"
    d = checks.integer("d", d, at_least=least, reason=reason, remedy="Use <d=200>.")
    n_test = checks.integer(
        "n_test", n_test, at_least=1, reason="the test likelihood is their mean", remedy="Use <n_test=20000>."
    )
    setting = MachineSetting(problem, d, trainer, start, n_test)
    if setting.n < 2:
        reason, remedy = "alpha d is the number of samples, and there must be two", "Use a larger <d> or <alpha>."
        raise checks.complaint("alpha", f"be larger at d = {d}", reason, problem.alpha, remedy)
    return setting
