"""One network from one seed: draw target and data, train, measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from presage.laws.empirical import Empirical
from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.power_law import PowerLaw
from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.data import Centring, Storage, Task, sample, sample_target, stream, token_means
from presage.models.attention.experiment.fit import Certificate, Trainer, TrainError
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.tokens import Tokens
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.protocol import checks
from presage.training.ordered_sums import one_blas_thread


@final
@dataclass(frozen=True)
class Setting:
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

    @property
    def n(self) -> int:
        """Number of training samples."""
        return round(self.problem.alpha * self.d**2)

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
        """Bytes that one network needs: tokens, labels and messages of each sample, matrices of the trainer."""
        T, n_in = self.problem.channel.n_tokens, self.problem.channel.n_in
        samples = 8 * self.n * (3 * T * T + 5 * n_in)
        means = T * T * self.d if self.centring == "mean" else 0
        matrices = 8 * self.d * (60 * max(self.d, self.width) + means)
        return (self.token_bytes if self.storage == "memory" else 0) + samples + matrices

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the problem as the theory has it, in plain sentences."""
        said, target, d = [], self.problem.target, self.d
        widths = {"kappa": self.problem.kappa} if isinstance(self.problem.penalty, NuclearPSD) else {}
        if isinstance(target, MarchenkoPastur):
            widths["kappa_0"] = target.kappa_0
        for name, ratio in widths.items():
            whole = max(1, round(ratio * d))
            if abs(whole - ratio * d) > 1e-9 * d:
                said.append(f"{name} d = {ratio * d:g} is not a whole number: the networks have {whole}.")
        if isinstance(target, PowerLaw | Empirical) and d % len(target.atoms.positions):
            said.append(
                f"the target has {len(target.atoms.positions)} different eigenvalues, and a matrix of d = {d} cannot "
                "hold each equally often: every network draws its own. Use a target of d eigenvalues."
            )
        if self.dtype == "float32":
            said.append("float32: gradients are known to about 4e-3 of their parts, and stopping rules go no further.")
        return tuple(said)


class Outcome(NamedTuple):
    """What one seed gave."""

    seed: int
    test_error: float
    train_loss: float
    train_error: float
    estimation_error: float
    rank: float
    m: float
    q: float
    eigenvalues: Floats
    certificate: Certificate
    converged: bool
    evaluations: int
    seconds: float
    caveats: tuple[str, ...]


class Failure(NamedTuple):
    """Why one seed gave nothing."""

    seed: int
    reason: str


def run(setting: Setting, seed: int, threads: int) -> Outcome | Failure:
    """Train and measure the network of one seed; a computation that fails is a result, with its reason."""
    try:
        with one_blas_thread():
            return _run(setting, seed, threads)
    except (TrainError, np.linalg.LinAlgError, MemoryError) as error:
        return Failure(seed, str(error) or "the machine has not enough memory")


def _run(setting: Setting, seed: int, threads: int) -> Outcome:
    problem, channel, d = setting.problem, setting.problem.channel, setting.d
    streams = np.random.SeedSequence([seed, d]).spawn(4)
    for_target, for_data, for_trainer, for_test = (np.random.default_rng(stream) for stream in streams)
    options = {"tokens": setting.tokens, "noise": problem.noise, "task": setting.task, "dtype": setting.dtype}
    S_0 = sample_target(problem.target, d, for_target)
    samples = sample(S_0, channel, setting.n, for_data, storage=setting.storage, threads=threads, **options)
    means = token_means(samples) if setting.centring == "mean" else None
    objective = Objective(samples, channel, problem.penalty, setting.width, means, threads)
    fit = setting.trainer.fit(objective, for_trainer)
    total = 0.0
    for block in stream(S_0, channel, setting.n_test, for_test, threads=threads, **options):
        total += objective.with_samples(block).loss_at(fit.S)
    return Outcome(
        seed=seed,
        test_error=total / setting.n_test,
        train_loss=fit.loss / d**2,
        train_error=fit.train_error,
        estimation_error=float(np.sum((fit.S - S_0) ** 2)) / d,
        rank=fit.certificate.rank,
        m=float(np.sum(fit.S * S_0)) / d,
        q=float(np.sum(fit.S**2)) / d,
        eigenvalues=np.asarray(np.linalg.eigvalsh(fit.S), dtype=np.float64),
        certificate=fit.certificate,
        converged=fit.converged,
        evaluations=fit.evaluations,
        seconds=fit.seconds,
        caveats=fit.caveats,
    )


def seed_numbers(seeds: Any) -> tuple[int, ...]:
    """The seeds themselves, of a number of them or a list; complain about one that is there twice."""
    reason, remedy = "each network has its own random numbers", "Use for example seeds=8, or seeds=[0, 1, 2]."
    if isinstance(seeds, Sequence | np.ndarray | range) and not isinstance(seeds, str):
        numbers = tuple(
            checks.integer("seeds", s, at_least=0, at_most=2**53, reason=reason, remedy=remedy) for s in seeds
        )
        if not numbers or len(set(numbers)) < len(numbers):
            raise checks.complaint("seeds", "be different numbers, at least one", reason, seeds, remedy)
        return numbers
    return tuple(range(checks.integer("seeds", seeds, at_least=1, reason=reason, remedy=remedy)))
