"""Train an ensemble of finite networks and measure the observables that the theory predicts."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.channels.score import score
from presage.models.attention.experiment.amp import AMP
from presage.models.attention.experiment.data import Centring, Storage, Task
from presage.models.attention.experiment.ensemble import Networks
from presage.models.attention.experiment.followed import OF_A_MATRIX, WITHOUT_SAMPLES
from presage.models.attention.experiment.population import PopulationSetting
from presage.models.attention.experiment.setting import NetworkSetting
from presage.models.attention.experiment.tokens import Gaussian, Tokens
from presage.models.attention.flow_checks import check_matrix, check_population
from presage.models.attention.problem import Problem
from presage.protocol import checks
from presage.protocol.ensemble import Setting, train_ensemble
from presage.protocol.trainer import Trainer
from presage.training.bayes_amp import BayesAMP


def simulate(
    problem: Problem,
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
    keep: str | Sequence[str] = (),
    processes: int | None = None,
    progress: bool | None = None,
) -> Networks:
    """Train networks of dimension `d` on independent data, one a seed, and measure what they learned.

    Args:
        problem: what is learned; the number of samples is ``round(alpha d^2)``.
        d: dimension of a token.
        seeds: how many networks (seeds 0, 1, ...), or the seeds themselves.
        trainer: how the loss is minimised: `AMP` (the default, and the fastest; it ends with `LBFGS` where it has to),
            `LBFGS`, `Adam`, or `ProximalGradient`. Penalties of one's own need `AMP` or `ProximalGradient`. `PlainAMP`
            takes steps that can be followed, and ends after them; so do `MatrixFlow` and `MatrixDescent` of a matrix
            that is trained itself, and `PopulationFlow` and `PopulationDescent`, which see infinitely many samples.
        task: "label" learns the attention matrix, "sequence" the output tokens.
        tokens: `Gaussian` (the default), `Rademacher` or `Embeddings`.
        centring: "trace" subtracts the mean score that Gaussian tokens have, "mean" the mean over the training set.
        n_test: number of fresh samples for the test error, drawn in blocks.
        dtype: "float64", or "float32" for half the memory and twice the speed, and an S good to 1e-3 or so.
        storage: "disk" keeps the tokens in a temporary file, for data larger than memory.
        keep: "weights" keeps the S of every network and its target, "history" the loss against the time, "features"
            what was learned along each eigenvector of the target, for the parts of the error, "trajectory" the errors
            after every step of `PlainAMP` or at every time of a flow; a list several.
        processes: how many networks are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `Solution`, one entry a seed. A seed that fails is in `failures` with the reason.

    Raises:
        TrainError: when every seed fails.
        TrainInterrupted: on Ctrl-C, with the seeds that had ended.
    """
    options = {"task": task, "tokens": tokens, "centring": centring, "dtype": dtype, "storage": storage}
    if isinstance(trainer, WITHOUT_SAMPLES):
        setting: Setting = _without_samples(problem, d, trainer, n_test, options)
    else:
        setting = _setting(problem, d, trainer, task, tokens, centring, n_test, dtype, storage)
    return train_ensemble(setting, seeds, processes=processes, progress=progress, keep=keep)  # type: ignore[return-value]


def _without_samples(problem: Problem, d: Any, trainer: Any, n_test: Any, options: dict[str, Any]) -> PopulationSetting:
    """Check a training that sees no samples, and refuse what is about them."""
    usual = inspect.signature(simulate).parameters
    for name, value in options.items():
        if value != usual[name].default:
            reason, remedy = "this trainer sees infinitely many Gaussian samples, and none is drawn", "Leave it out."
            raise checks.complaint(name, "be left out here", reason, value, remedy)
    check_population(problem, trainer)
    d = checks.integer("d", d, at_least=2, reason="it is the dimension of a token", remedy="Use for example <d=100>.")
    reason, remedy = "the test error is a mean over them", "Use for example <n_test=20000>."
    n_test = checks.integer("n_test", n_test, at_least=1, reason=reason, remedy=remedy)
    return PopulationSetting(problem, d, trainer, n_test)


def _setting(
    problem: Any, d: Any, trainer: Any, task: Any, tokens: Any, centring: Any, n_test: Any, dtype: Any, storage: Any
) -> NetworkSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    d = checks.integer("d", d, at_least=2, reason="it is the dimension of a token", remedy="Use for example <d=100>.")
    trainer = AMP() if trainer is None else trainer
    checks.instance(
        "trainer", trainer, Trainer, reason="it learns from the samples", remedy="Use for example <trainer=LBFGS()>."
    )
    if isinstance(trainer, BayesAMP):
        trainer = trainer.for_problem(problem.noise, SpectralLaw)
    if isinstance(trainer, OF_A_MATRIX):
        check_matrix(problem)
    elif trainer.minimises:
        problem.must_have_a_penalty()
    else:
        nothing = np.zeros((1, problem.channel.n_in))
        score(problem.channel, nothing, problem.channel.draw_labels(nothing, np.random.default_rng(0)), nothing, 1.0)
    tokens = Gaussian() if tokens is None else tokens
    checks.instance("tokens", tokens, Tokens, reason="it draws the data", remedy="Use for example <tokens=Gaussian()>.")
    tokens.check(d)
    n_test = checks.integer(
        "n_test",
        n_test,
        at_least=1,
        reason="the test error is a mean over them",
        remedy="Use for example <n_test=20000>.",
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
                name, f"be {words}", "there is no other", value, f'Use for example <{name}="{allowed[0]}">.'
            )
    if not problem.channel.compiled:
        if trainer.minimises:
            problem.channel.traits  # noqa: B018 - complains here, in words, about a channel that cannot be trained
        if task == "sequence":
            raise checks.complaint(
                "task",
                'be "label" for a channel of your own',
                "output tokens are weighted sums of the tokens, and this channel has no weights to sum them with",
                task,
                'Use <task="label">, or Softmax or Linear as the channel.',
            )
    setting = NetworkSetting(problem, d, trainer, task, tokens, centring, n_test, dtype, storage)
    problem.must_have_samples(d)
    return setting
