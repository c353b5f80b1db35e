"""One network from one seed: draw target and data, train, measure."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from presage.laws.empirical import Empirical
from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.numerical_zeros import with_numerical_zeros
from presage.laws.power_law import PowerLaw
from presage.models.attention.experiment.data import (
    Centring,
    Samples,
    Storage,
    Task,
    sample,
    stream,
    target_and_frame,
    token_means,
)
from presage.models.attention.experiment.ensemble import Networks
from presage.models.attention.experiment.face import UNKNOWN, face
from presage.models.attention.experiment.features import Frame, directions, features
from presage.models.attention.experiment.followed import OF_A_MATRIX, followed, observables_of
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.tokens import Tokens
from presage.models.attention.plain_amp import PlainAMP
from presage.models.attention.problem import Problem
from presage.protocol import checks
from presage.protocol.ensemble import GIGABYTE, Outcome, Setting, streams
from presage.protocol.trainer import Trainer
from presage.training.ordered_sums import one_blas_thread

FOLLOWED_TRAINERS = (PlainAMP, *OF_A_MATRIX)  # every matrix on their way is kept


@final
@dataclass(frozen=True)
class NetworkSetting(Setting):
    """Everything about a run but its seed."""

    problem: Problem
    d: int
    trainer: Trainer
    task: Task
    tokens: Tokens
    centring: Centring
    n_test: int
    dtype: Any
    storage: Storage

    kind = Networks
    too_large = 'Use a smaller <d>, <alpha> or <kappa>, <dtype="float32">, or <storage="disk">.'

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.problem.samples(self.d)

    @property
    def width(self) -> int:
        """Number of columns of W."""
        return max(1, round(self.problem.kappa * self.d))

    @property
    def token_bytes(self) -> int:
        """Size of the training tokens."""
        return int(self.n * self.problem.channel.n_tokens * self.d * np.dtype(self.dtype).itemsize)

    @property
    def memory(self) -> int:
        """Bytes that one network needs: tokens, labels and last messages of each sample, matrices of the trainer."""
        T, n_in = self.problem.channel.n_tokens, self.problem.channel.n_in
        samples = 8 * self.n * (3 * T * T + 9 * n_in)
        means = T * T * self.d if self.centring == "mean" else 0
        way = self.trainer.steps * self.d if isinstance(self.trainer, FOLLOWED_TRAINERS) else 0
        matrices = 8 * self.d * (60 * max(self.d, self.width) + means + way)
        return (self.token_bytes if self.storage == "memory" else 0) + samples + matrices

    @property
    def kept_bytes(self) -> dict[str, float]:
        """S and its target; a row of two numbers for each step; and five numbers for each eigenvector."""
        history = 16.0 * getattr(self.trainer, "steps", 0)
        known = {"weights": 16.0 * self.d**2, "history": history, "features": 40.0 * self.d}
        if not isinstance(self.trainer, FOLLOWED_TRAINERS):
            return known
        return {**known, "trajectory": 8.0 * (self.trainer.steps + 1) * (1 + len(observables_of(self.trainer)))}

    @property
    def size(self) -> str:
        """What makes the network large."""
        return f"{self.n} samples and a width of {self.width}"

    def check_workers(self, workers: int) -> None:
        """Complain where the tokens of so many networks do not fit the disk that is to hold them."""
        room = shutil.disk_usage(tempfile.gettempdir()).free
        if self.storage == "disk" and workers * self.token_bytes > room:
            raise checks.complaint(
                "storage",
                "be a disk with room for the tokens",
                f"{workers} x {self.token_bytes / GIGABYTE:.3g} GB are needed, {room / GIGABYTE:.3g} GB are free",
                self.storage,
                "Free some space, set TMPDIR to a larger disk, or use fewer <processes>.",
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the problem as the theory has it, in plain sentences."""
        said, target, d = [], self.problem.target, self.d
        widths = {"kappa": self.problem.kappa} if self.problem.penalty.factorized else {}
        if isinstance(target, MarchenkoPastur):
            widths["kappa_0"] = target.kappa_0
        for name, ratio in widths.items():
            whole = max(1, round(ratio * d))
            if abs(whole - ratio * d) > 1e-9 * d:
                said.append(f"{name} d = {ratio * d:g} is not a whole number: the networks have {whole}.")
        counts = d * target.atoms.masses
        if isinstance(target, PowerLaw | Empirical) and np.abs(counts - np.round(counts)).max() > 1e-9 * d:
            said.append(
                f"the target has {len(target.atoms.positions)} different eigenvalues, and a matrix of d = {d} cannot "
                "hold each as often as the law says: every network draws its own. Use a target of d eigenvalues."
            )
        if self.dtype == "float32":
            said.append("float32: gradients are known to about 4e-3 of their parts, and stopping rules go no further.")
        return tuple(said)

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw target and data, train, measure; matrix products are on one thread each."""
        with one_blas_thread():
            return self._train(seed, threads)

    def _train(self, seed: int, threads: int) -> Outcome:
        problem, channel, d = self.problem, self.problem.channel, self.d
        for_target, for_data, for_trainer, for_test = streams(seed, d)
        options = {"tokens": self.tokens, "noise": problem.noise, "task": self.task, "dtype": self.dtype}
        S_0, frame = target_and_frame(problem.target, d, for_target)
        samples = sample(S_0, channel, self.n, for_data, storage=self.storage, threads=threads, **options)
        means = token_means(samples) if self.centring == "mean" else None
        objective = Objective(samples, channel, problem.penalty, self.width, means, threads)
        fit = self.trainer.fit(objective, for_trainer)
        reached = face(objective, fit) if self.trainer.minimises else UNKNOWN

        def tests(rng: np.random.Generator) -> Iterator[Samples]:
            return stream(S_0, channel, self.n_test, rng, threads=threads, **options)

        total = sum(objective.with_samples(block).loss_at(fit.S) for block in tests(for_test))
        for_way = streams(seed, d, 5)[-1]
        certificate = fit.certificate
        return Outcome(
            seed,
            {
                "test_error": total / self.n_test,
                "train_loss": fit.loss / d**2,
                "train_error": fit.train_error,
                "estimation_error": float(np.sum((fit.S - S_0) ** 2)) / d,
                "rank": certificate.rank,
                "m": float(np.sum(fit.S * S_0)) / d,
                "q": float(np.sum(fit.S**2)) / d,
                "eigenvalues": with_numerical_zeros(np.linalg.eigvalsh(fit.S), d),
                "residual": certificate.residual,
                "gap": certificate.gap,
                "converged": fit.converged,
                "fitted": reached.fitted,
                "evaluations": fit.evaluations,
                "seconds": fit.seconds,
            },
            (*fit.caveats, *reached.caveats(self.n)),
            {
                "weights": fit.S,
                "targets": S_0,
                "history": fit.history / self._units_of_history,
                "features": lambda: features(fit.S, frame or Frame.of(S_0)),
                "directions": lambda: directions(fit.S, S_0),
                "trajectory": lambda: followed(
                    self.trainer, fit.way, S_0, objective.with_samples, tests(for_way), self.n_test, objective
                ),
            },
        )

    @property
    def _units_of_history(self) -> tuple[float, float]:
        """Seconds, and the whole loss in the units of `train_loss`; a posterior mean has an error there."""
        return (1.0, float(self.d**2) if self.trainer.minimises else 1.0)

    def described(self) -> dict[str, Any]:
        """Task, tokens, centring, precision and the size of the test."""
        return {name: getattr(self, name) for name in ("task", "tokens", "centring", "dtype", "n_test")}
