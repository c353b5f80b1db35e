"""Train an ensemble of finite networks and measure the observables that the theory predicts."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.score import score
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.experiment.amp import AMP
from presage.models.attention.experiment.bayes_amp import BayesAMP
from presage.models.attention.experiment.data import Centring, Storage, Task
from presage.models.attention.experiment.ensemble import Ensemble
from presage.models.attention.experiment.fit import Trainer, TrainError
from presage.models.attention.experiment.seed import Failure, Outcome, Setting, run, seed_numbers
from presage.models.attention.experiment.tokens import Gaussian, Tokens
from presage.models.attention.problem import Problem
from presage.models.bilinear.experiment.ensemble import BilinearEnsemble, simulate_bilinear
from presage.models.bilinear.problem import BilinearProblem
from presage.protocol import checks
from presage.protocol.machine import available_cores, available_memory

GIGABYTE = 1e9
NOT_RUN = "it was not run"


class TrainInterrupted(KeyboardInterrupt):
    """Training was interrupted. ``partial`` is the ensemble of the seeds that had ended (or None)."""

    def __init__(self, message: str, partial: Ensemble | None = None) -> None:
        super().__init__(message)
        self.partial = partial


@overload
def simulate(
    problem: Problem,
    *,
    d: int,
    seeds: int | Sequence[int] = ...,
    trainer: Trainer | None = ...,
    task: Task = ...,
    tokens: Tokens | None = ...,
    centring: Centring = ...,
    n_test: int = ...,
    dtype: str = ...,
    storage: Storage = ...,
    processes: int | None = ...,
    progress: bool | None = ...,
) -> Ensemble: ...


@overload
def simulate(
    problem: BilinearProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = ...,
    trainer: Trainer | None = ...,
    n_test: int = ...,
) -> BilinearEnsemble: ...


def simulate(
    problem: Problem | BilinearProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    task: Task = "label",
    tokens: Tokens | None = None,
    centring: Centring = "trace",
    n_test: int = 20_000,
    dtype: str = "float64",
    storage: Storage = "memory",
    processes: int | None = None,
    progress: bool | None = None,
) -> Ensemble | BilinearEnsemble:
    """Train networks of dimension `d` on independent data, one a seed, and measure what they learned.

    Args:
        problem: what is learned; the number of samples is ``round(alpha d^2)``. Matrices without symmetry (a
            `BilinearProblem`) take `d`, `seeds`, `n_test`, and `ProximalGradient` or `LBFGS` as the trainer.
        d: dimension of a token.
        seeds: how many networks (seeds 0, 1, ...), or the seeds themselves.
        trainer: how the loss is minimised: `AMP` (the default, and the fastest; it ends with `LBFGS` where it has to),
            `LBFGS`, `Adam`, or `ProximalGradient`. Penalties of one's own need `AMP` or `ProximalGradient`.
        task: "label" learns the attention matrix, "sequence" the output tokens.
        tokens: `Gaussian` (the default), `Rademacher` or `Embeddings`.
        centring: "trace" subtracts the mean score that Gaussian tokens have, "mean" the mean over the training set.
        n_test: number of fresh samples for the test error, drawn in blocks.
        dtype: "float64", or "float32" for half the memory and twice the speed, and an S good to 1e-3 or so.
        storage: "disk" keeps the tokens in a temporary file, for data larger than memory.
        processes: how many networks are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `Solution`, one entry a seed. A seed that fails is in `Ensemble.failures` with the reason.

    Raises:
        TrainError: when every seed fails.
        TrainInterrupted: on Ctrl-C, with the seeds that had ended.
    """
    if isinstance(problem, BilinearProblem):
        return simulate_bilinear(problem, d=d, seeds=seeds, trainer=trainer, n_test=n_test)
    setting = _setting(problem, d, trainer, task, tokens, centring, n_test, dtype, storage)
    numbers = seed_numbers(seeds)
    workers = _processes(setting, len(numbers), processes)
    from joblib.externals.loky.process_executor import TerminatedWorkerError  # imported late, as joblib is

    show = sys.stderr.isatty() if progress is None else progress
    outcomes: dict[int, Outcome | Failure] = {seed: Failure(seed, NOT_RUN) for seed in numbers}
    try:
        for outcome in _with_bar(_run_all(setting, numbers, workers), len(numbers), show):
            outcomes[outcome.seed] = outcome
    except TerminatedWorkerError:
        lost = Failure(-1, "its process was killed, most often for lack of memory: use fewer `processes`")
        outcomes = {s: lost if isinstance(o, Failure) and o.reason == NOT_RUN else o for s, o in outcomes.items()}
    except KeyboardInterrupt:
        ended = sum(isinstance(outcome, Outcome) for outcome in outcomes.values())
        partial = _gather(setting, numbers, outcomes) if ended else None
        message = f"simulate was interrupted after {ended} of {len(numbers)} seeds."
        if ended:
            message += " They are in the `partial` of this exception; pass the others as `seeds=[...]` to go on."
        raise TrainInterrupted(message, partial) from None
    ensemble = _gather(setting, numbers, outcomes)
    if len(ensemble.failures) == len(numbers):
        raise TrainError(
            f"None of the {len(numbers)} networks could be trained; seed {numbers[0]}: {ensemble.failures[numbers[0]]}",
            "Try another trainer, for example LBFGS(), or a smaller d.",
            ensemble,
        )
    return ensemble


def _run_all(setting: Setting, seeds: tuple[int, ...], workers: int) -> Iterator[Outcome | Failure]:
    """Outcomes as they come."""
    from joblib import Parallel, delayed

    threads = max(1, available_cores() // workers)
    if workers == 1:
        return (run(setting, seed, threads) for seed in seeds)
    # Processes of loky import presage, not the caller's script: no `if __name__ == "__main__"` is needed there.
    parallel = Parallel(n_jobs=workers, backend="loky", return_as="generator_unordered", pre_dispatch="all")
    outcomes: Iterator[Outcome | Failure] = parallel(delayed(run)(setting, seed, threads) for seed in seeds)
    return outcomes


def _with_bar(outcomes: Iterator[Outcome | Failure], count: int, show: bool) -> Iterable[Outcome | Failure]:
    if not show:
        return outcomes
    from rich.console import Console
    from rich.progress import track

    return track(outcomes, description="training", total=count, console=Console(stderr=True), transient=True)


def _gather(setting: Setting, seeds: tuple[int, ...], outcomes: dict[int, Outcome | Failure]) -> Ensemble:
    """Put the outcomes side by side, in the order of the seeds."""
    inorder = [outcomes[seed] for seed in seeds]
    done = [outcome for outcome in inorder if isinstance(outcome, Outcome)]

    def column(name: str) -> Floats:
        return np.array([getattr(o, name) if isinstance(o, Outcome) else np.nan for o in inorder], dtype=np.float64)

    def certified(name: str) -> Floats:
        return np.array([getattr(o.certificate, name) if isinstance(o, Outcome) else np.nan for o in inorder])

    blank = np.full(setting.d, np.nan)
    notes = [f"seed {outcome.seed}: {line}" for outcome in done for line in outcome.caveats]
    return Ensemble(
        problem=setting.problem,
        d=setting.d,
        seeds=seeds,
        trainer=setting.trainer,
        task=setting.task,
        **{name: column(name) for name in ("test_error", "train_loss", "train_error", "estimation_error")},
        **{name: column(name) for name in ("rank", "m", "q", "seconds")},
        eigenvalues=np.array([o.eigenvalues if isinstance(o, Outcome) else blank for o in inorder]),
        residual=certified("residual"),
        gap=certified("gap"),
        converged=np.array([isinstance(o, Outcome) and o.converged for o in inorder]),
        evaluations=np.array([o.evaluations if isinstance(o, Outcome) else 0 for o in inorder]),
        failures={seed: o.reason for seed, o in zip(seeds, inorder, strict=True) if isinstance(o, Failure)},
        tokens=setting.tokens,
        centring=setting.centring,
        dtype=setting.dtype,
        n_test=setting.n_test,
        notes=(*setting.notes, *notes),
    )


def _setting(
    problem: Any, d: Any, trainer: Any, task: Any, tokens: Any, centring: Any, n_test: Any, dtype: Any, storage: Any
) -> Setting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "problem", problem, Problem, reason="it says what is learned", remedy="Use for example attention(...)."
    )
    d = checks.integer("d", d, at_least=2, reason="it is the dimension of a token", remedy="Use for example d=100.")
    trainer = AMP() if trainer is None else trainer
    checks.instance(
        "trainer", trainer, Trainer, reason="it learns from the samples", remedy="Use for example trainer=LBFGS()."
    )
    if isinstance(trainer, BayesAMP):
        trainer = trainer.for_problem(problem.noise, SpectralLaw)
    if trainer.minimises:
        problem.must_have_a_penalty()
    else:
        nothing = np.zeros((1, problem.channel.n_in))
        score(problem.channel, nothing, problem.channel.draw_labels(nothing, np.random.default_rng(0)), nothing, 1.0)
    tokens = Gaussian() if tokens is None else tokens
    checks.instance("tokens", tokens, Tokens, reason="it draws the data", remedy="Use for example tokens=Gaussian().")
    tokens.check(d)
    n_test = checks.integer(
        "n_test", n_test, at_least=1, reason="the test error is a mean over them", remedy="Use for example 20000."
    )
    choices = {
        "task": (task, ("label", "sequence")),
        "centring": (centring, ("trace", "mean")),
        "dtype": (dtype, ("float64", "float32")),
        "storage": (storage, ("memory", "disk")),
    }
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            words = " or ".join(f'"{choice}"' for choice in allowed)
            raise checks.complaint(
                name, f"be {words}", "there is no other", value, f'Use for example {name}="{allowed[0]}".'
            )
    if not isinstance(problem.channel, Linear | Softmax):
        if trainer.minimises:
            problem.channel.anatomy  # noqa: B018 - complains here, in words, about a channel that cannot be trained
        if task == "sequence":
            raise checks.complaint(
                "task",
                'be "label" for a channel of your own',
                "output tokens are weighted sums of the tokens, and this channel has no weights to sum them with",
                task,
                'Use task="label", or Softmax or Linear as the channel.',
            )
    setting = Setting(problem, d, trainer, task, tokens, centring, n_test, dtype, storage)
    if setting.n < 1:
        least = 0.5 / d**2
        raise checks.complaint(
            "alpha",
            f"be above {least:.2g} at d = {d}",
            "alpha d^2 is the number of samples, and there must be one",
            problem.alpha,
            "Use a larger d or alpha.",
        )
    return setting


def _processes(setting: Setting, seeds: int, processes: Any) -> int:
    """How many networks to train at a time: what the cores and the memory allow."""
    if processes is not None:
        reason, remedy = "it is how many networks are trained at a time", "Leave it out to use all cores."
        processes = checks.integer("processes", processes, at_least=1, reason=reason, remedy=remedy)
    available = available_memory()
    fit = int(available // setting.memory)
    if fit < 1:
        raise checks.complaint(
            "d",
            f"be such that one network needs less than the {available / GIGABYTE:.3g} GB of memory that are free",
            f"{setting.n} samples and a width of {setting.width} make {setting.memory / GIGABYTE:.3g} GB",
            setting.d,
            'Use a smaller d, alpha or kappa, dtype="float32", or storage="disk".',
        )
    workers: int = min(processes or available_cores(), seeds, fit)
    room = shutil.disk_usage(tempfile.gettempdir()).free
    if setting.storage == "disk" and workers * setting.token_bytes > room:
        raise checks.complaint(
            "storage",
            "be a disk with room for the tokens",
            f"{workers} x {setting.token_bytes / GIGABYTE:.3g} GB are needed, {room / GIGABYTE:.3g} GB are free",
            setting.storage,
            "Free some space, set TMPDIR to a larger disk, or use fewer processes.",
        )
    return workers
