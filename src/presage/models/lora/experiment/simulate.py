"""Pre-train a layer, freeze it, train an adapter on it, and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.amp import AMP
from presage.models.attention.experiment.data import Samples, sample, stream, target_and_frame
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.tokens import Gaussian
from presage.models.lora.experiment.adapter_training import AdapterFit, train_adapter
from presage.models.lora.experiment.ensemble import AdapterEnsemble
from presage.models.lora.experiment.posterior_amp import PosteriorAMP, posterior_mean
from presage.models.lora.experiment.sequences import Sequences, adapter_scores, components, labels_of, scores
from presage.models.lora.problem import LoraProblem
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.trainer import Trainer
from presage.training.lbfgs import LBFGS
from presage.training.ordered_sums import one_blas_thread

STARTS = 4  # of an adapter, unless it is asked for others
HOVERING = 0.05  # relative steps of message passing below this are the fluctuations of a finite size


def simulate(
    problem: LoraProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    pretrainer: Trainer | None = None,
    starts: int | None = None,
    n_test: int = 20_000,
    keep: str | Sequence[str] = (),
    processes: int | None = None,
    progress: bool | None = None,
) -> AdapterEnsemble:
    """Train both stages for real, one pair a seed, and measure what the adapter learned.

    Args:
        problem: the two stages; there are ``round(alpha d^2)`` samples of the first and ``round(alpha d)`` of the
            second, each by the alpha of its own.
        d: dimension of a token.
        seeds: how many adapters (seeds 0, 1, ...), or the seeds themselves; each has a layer of its own.
        trainer: of the adapter: `LBFGS` (the default), or `PosteriorAMP`, which finds the posterior mean.
        pretrainer: of the layer, any that its model takes: `AMP` (the default), `LBFGS`, `Adam` ...
        starts: from how many places the adapter is trained (4), a spectral one and random ones; the lowest loss is
            kept. Message passing has one start of its own, and takes none.
        n_test: fresh samples for the errors, drawn in blocks.
        keep: "weights" keeps the w of every adapter and the new target, "history" the loss against the time.
        processes: how many pairs are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `LoraSolution`, one entry a seed. A seed that fails is in `failures` with the reason.
    """
    setting = _setting(problem, d, trainer, pretrainer, starts, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress, keep=keep)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class AdapterSetting(Setting):
    """Everything about a run but its seed."""

    problem: LoraProblem
    d: int
    trainer: Trainer
    pretrainer: Trainer
    starts: int
    n_test: int

    kind = AdapterEnsemble
    too_large = "Use a smaller <d> or <pretraining_alpha>."

    @property
    def n(self) -> int:
        """Samples of the fine-tuning."""
        return self.problem.samples(self.d)

    @property
    def n_before(self) -> int:
        """Samples of the pre-training."""
        return self.problem.pretraining.samples(self.d)

    @property
    def pool(self) -> int:
        """Sequences of which the samples of the fine-tuning are selected."""
        return ceil(self.n / self.problem.selection - 1e-9)

    @property
    def memory(self) -> float:
        """Bytes of the sequences of both stages and of what is computed of them."""
        T, L = self.problem.n_tokens, self.problem.pretraining.channel.n_in
        return 8.0 * ((self.n_before + 2.0 * self.pool) * (T * self.d + 3.0 * T * T + 9.0 * L) + 60.0 * self.d**2)

    @property
    def kept_bytes(self) -> dict[str, float]:
        """W and the new target; and a row of two numbers for each step, where a loss is minimised."""
        columns = self.problem.rank + self.problem.target_rank
        kept = {"weights": 8.0 * self.d * columns, "history": 16.0 * getattr(self.trainer, "steps", 0)}
        return kept if self.trainer.minimises else {"weights": kept["weights"]}

    @property
    def size(self) -> str:
        return f"{self.n_before} samples of the pre-training and a pool of {self.pool} of the fine-tuning"

    def described(self) -> dict[str, Any]:
        return {"n_test": self.n_test, "starts": self.starts}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw targets and data, train both stages, measure; matrix products are on one thread each."""
        problem, before, d = self.problem, self.problem.pretraining, self.d
        with one_blas_thread():
            for_target, for_data, for_trainer, for_test, for_new = streams(seed, d, 5)
            S_0, _ = target_and_frame(before.target, d, for_target)
            samples = self._draw(S_0, self.n_before, for_data, threads)
            width = max(1, round(before.kappa * d))
            objective = Objective(samples, before.channel, before.penalty, width, None, threads)
            layer = self.pretrainer.fit(objective, for_trainer)
            w_0 = new_target(d, problem.target_rank, problem.strength, for_target)
            b = self.trainer.posterior.slope if isinstance(self.trainer, PosteriorAMP) else problem.recalibration
            sequences = self._sequences(S_0, layer.S, w_0, samples, for_new, threads)
            fit = self._fit(sequences, for_new)
            error, frozen, oracle = self._errors(S_0, b * layer.S, w_0, fit.w, for_test, threads)
            values = {
                "overlap": overlap(fit.w, w_0),
                "test_error": error,
                "frozen_error": frozen,
                "oracle_error": oracle,
                "gain": (frozen - error) / (frozen - oracle),
                "norm": float(np.sum(fit.w**2)) / d,
                "train_loss": fit.loss / d,
                "Q": float(np.sum(layer.S**2)) / d,
                "M": float(np.sum(layer.S * S_0)) / d,
                "start": fit.start,
                "converged": fit.converged,
            }
        caveats = [f"pre-training: {line}" for line in layer.caveats]
        if not fit.converged:
            slow = "message passing still moves at its last step: use more damping or steps."
            stopped = "the training of the adapter stopped before its gradient was small: use more steps."
            caveats.append(stopped if self.trainer.minimises else slow)
        kept = {"weights": fit.w, "targets": w_0, "history": fit.history / (1.0, float(d))}
        return Outcome(seed, values, tuple(caveats), kept)

    def _draw(self, S_0: Floats, n: int, rng: np.random.Generator, threads: int) -> Samples:
        noise, channel = self.problem.noise, self.problem.pretraining.channel
        return sample(S_0, channel, n, rng, tokens=Gaussian(), noise=noise, threads=threads)

    def _sequences(
        self, S_0: Floats, S: Floats, w_0: Floats, before: Samples, rng: np.random.Generator, threads: int
    ) -> Sequences:
        """The samples of the fine-tuning: new ones, selected ones, or those of the pre-training.

        Frozen scores are recalibrated, but for message passing, which knows the best factor itself.
        """
        problem, T = self.problem, self.problem.n_tokens
        channel, b = problem.pretraining.channel, problem.recalibration
        if isinstance(self.trainer, PosteriorAMP):
            b = 1.0
        if problem.reuse == "nothing":
            drawn = self._draw(S_0, self.pool, rng, threads)
            tokens, z_0 = doubles(drawn.tokens), drawn.z_0
        else:
            tokens, z_0 = doubles(before.tokens[: self.n * T]), before.z_0[: self.n]
            if problem.reuse == "sequences":
                z_0 = components(scores(tokens, S_0, T))
                z_0 = z_0 + sqrt(0.5 * problem.noise) * rng.standard_normal(z_0.shape)
        frozen = scores(tokens, S, T)
        if problem.selection < 1.0:
            kept = np.sort(np.argsort(np.sum(frozen**2, axis=(1, 2)), kind="stable")[: self.n])
            tokens = tokens.reshape(-1, T, self.d)[kept].reshape(-1, self.d)
            frozen, z_0 = frozen[kept], z_0[kept]
        return Sequences(tokens, b * frozen, labels_of(channel, z_0, adapter_scores(tokens, w_0, T)), channel)

    def _fit(self, sequences: Sequences, rng: np.random.Generator) -> AdapterFit:
        problem = self.problem
        if isinstance(self.trainer, PosteriorAMP):
            found = posterior_mean(self.trainer, sequences, rng)
            done = found.moved <= max(self.trainer.tol, HOVERING)
            return AdapterFit(found.w[:, None], np.nan, done, 0, np.empty((0, 2)))
        assert isinstance(self.trainer, LBFGS)  # `_setting` lets no other in
        return train_adapter(
            sequences, problem.weight_decay, problem.rank, problem.strength, self.trainer, self.starts, rng
        )

    def _errors(
        self, S_0: Floats, S: Floats, w_0: Floats, w: Floats, rng: np.random.Generator, threads: int
    ) -> tuple[float, float, float]:
        """Loss of fresh samples with the adapter, without it, and with the new target in its place."""
        channel, T, totals = self.problem.pretraining.channel, self.problem.n_tokens, np.zeros(3)
        options: dict[str, Any] = {"tokens": Gaussian(), "noise": self.problem.noise, "threads": threads}
        for block in stream(S_0, channel, self.n_test, rng, **options):
            tokens = doubles(block.tokens)
            frozen, new = scores(tokens, S, T), adapter_scores(tokens, w_0, T)
            y = labels_of(channel, block.z_0, new)
            for k, added in enumerate((adapter_scores(tokens, w, T), np.zeros_like(new), new)):
                totals[k] += float(np.sum(channel.loss(y, channel.output(components(frozen + added)))))
        error, frozen_error, oracle = (totals / self.n_test).tolist()
        return error, frozen_error, oracle


def doubles(tokens: Any) -> Floats:
    """Tokens as they are here, in double precision."""
    return np.asarray(tokens, dtype=np.float64)


def new_target(d: int, rank: int, strength: float, rng: np.random.Generator) -> Floats:
    """Orthogonal columns of squared length ``strength d``, uniform over all directions."""
    Q, _ = np.linalg.qr(rng.standard_normal((d, rank)))
    return np.asarray(sqrt(strength * d) * Q)


def overlap(w: Floats, w_0: Floats) -> float:
    """``(|w'w_0|_F^2/(|w'w|_F |w_0'w_0|_F))^(1/2)``: the same for every rotation of the columns."""
    size = np.linalg.norm(w.T @ w) * np.linalg.norm(w_0.T @ w_0)
    return sqrt(float(np.sum((w.T @ w_0) ** 2)) / float(size)) if size > 0.0 else 0.0


def _setting(problem: LoraProblem, d: Any, trainer: Any, pretrainer: Any, starts: Any, n_test: Any) -> AdapterSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    trainer = LBFGS() if trainer is None else trainer
    pretrainer = AMP() if pretrainer is None else pretrainer
    checks.instance(
        "trainer",
        trainer,
        (LBFGS, PosteriorAMP),
        reason="these know adapters",
        remedy="Leave it out, or use <trainer=LBFGS()>.",
    )
    checks.instance(
        "pretrainer", pretrainer, Trainer, reason="it trains the layer that is frozen", remedy="Leave it out."
    )
    if not pretrainer.minimises:
        raise checks.complaint(
            "pretrainer", "minimise a loss", "the layer is one with weight decay", pretrainer, "Leave it out."
        )
    if isinstance(trainer, PosteriorAMP) and (problem.rank, problem.target_rank, problem.linear) != (1, 1, True):
        raise checks.complaint(
            "trainer",
            "be LBFGS here",
            "message passing is known for one column and a linear output",
            trainer,
            "Use <trainer=LBFGS()>.",
        )
    if isinstance(trainer, PosteriorAMP) and starts is not None:
        reason = "message passing has one small random start of its own, and no loss to choose between several by"
        raise checks.complaint("starts", "be left out here", reason, starts, "Leave it out.")
    if starts is None:
        starts = 1 if isinstance(trainer, PosteriorAMP) else STARTS
    counts = {
        "starts": (starts, "adapters are trained from so many places"),
        "n_test": (n_test, "errors are means over them"),
    }
    starts, n_test = (
        checks.integer(name, value, at_least=1, reason=reason, remedy=f"Use for example <{name}=4>.")
        for name, (value, reason) in counts.items()
    )
    least = max(2, problem.rank, problem.target_rank)
    d = checks.integer("d", d, at_least=least, reason="it is the dimension of a token", remedy="Use <d=100>.")
    setting = AdapterSetting(problem, d, trainer, pretrainer, starts, n_test)
    for name, count in (("alpha", setting.n), ("pretraining_alpha", setting.n_before)):
        if count < 1:
            reason = "it is the number of samples over the dimension or its square, and there must be one"
            remedy = f"Use a larger <d> or <{name}>."
            raise checks.complaint(name, f"be larger at d = {d}", reason, problem.value(name), remedy)
    if problem.reuse != "nothing" and setting.n > setting.n_before:
        reason = f"the pre-training has {setting.n_before} sequences at d = {d}, and {setting.n} are to be reused"
        remedy = "Use a larger <d> or <pretraining_alpha>."
        raise checks.complaint("alpha", f"be smaller at d = {d}", reason, problem.alpha, remedy)
    return setting
