"""Train matrices without symmetry at finite size and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan, sqrt
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.bayes_amp import BayesAMP
from presage.models.attention.experiment.fit import Trainer
from presage.models.attention.experiment.gradient import LBFGS
from presage.models.attention.experiment.proximal_gradient import ProximalGradient
from presage.models.attention.experiment.seed import seed_numbers
from presage.models.bilinear.experiment.bayes_amp import bayes_message_passing
from presage.models.bilinear.experiment.measurements import Measurements, draw_labels, draw_measurements
from presage.models.bilinear.experiment.training import BilinearFit, train_factors, train_proximal
from presage.models.bilinear.problem import BilinearProblem
from presage.protocol import checks
from presage.protocol.machine import available_memory
from presage.training.ordered_sums import one_blas_thread

BLOCK_BYTES = 64e6  # test samples are drawn in blocks of about this size


@final
@dataclass(frozen=True, eq=False)
class BilinearEnsemble:
    """Fits of one problem and one size on independent data, one entry a seed."""

    problem: BilinearProblem
    d: int
    seeds: tuple[int, ...]
    trainer: Trainer
    estimation_error: Floats = field(repr=False)  # |S_fit - S_0|_F^2/(d L)
    test_error: Floats = field(repr=False)  # loss a fresh, noisy sample
    train_loss: Floats = field(repr=False)  # the whole loss reached, penalty included, over d L
    train_error: Floats = field(repr=False)  # loss a sample
    rank: Floats = field(repr=False)  # fraction of non-zero singular values
    singular_values: Floats = field(repr=False)  # of M_fit, decreasing, one row a seed
    gap: Floats = field(repr=False)  # relative duality gap
    converged: NDArray[np.bool_] = field(repr=False)

    def mean(self, name: str) -> float:
        """Mean of an observable over the seeds."""
        return float(np.mean(getattr(self, name)))

    def values(self, name: str) -> Floats:
        """An observable, one entry a seed."""
        values: Any = getattr(self, name)
        return np.asarray(values)

    def standard_error(self, name: str) -> float:
        """Standard error of that mean; NaN with fewer than two seeds."""
        values = self.values(name)
        return float(np.std(values, ddof=1) / sqrt(len(values))) if len(values) > 1 else float("nan")

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: seeds whose training stopped early."""
        return tuple(
            f"seed {seed}: the training stopped with a duality gap of {gap:.1e}."
            for seed, gap, done in zip(self.seeds, self.gap, self.converged, strict=True)
            if not done
        )

    def __str__(self) -> str:
        names = ("test_error", "train_loss", "train_error", "estimation_error", "rank")
        lines = [f"{name:<17} {self.mean(name):.6g} +- {self.standard_error(name):.1e}" for name in names]
        head = f"{len(self.seeds)} matrices of shorter side d = {self.d}, trained by {self.trainer}"
        return "\n".join([head, *lines, *(f"caveat: {line}" for line in self.caveats)])


def simulate_bilinear(
    problem: BilinearProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 4,
    trainer: Trainer | None = None,
    n_test: int = 2_000,
) -> BilinearEnsemble:
    """Draw targets and data, train, and measure, one fit a seed.

    Args:
        problem: what is learned; the number of samples is ``round(alpha p N)``.
        d: shorter side of the matrix; the longer one is ``round(aspect d)``.
        seeds: how many fits (seeds 0, 1, ...), or the seeds themselves.
        trainer: `ProximalGradient` (the default) trains the matrix, which is convex; `LBFGS` its two factors; their
            `tol` is the relative duality gap at which training stops. `BayesAMP` finds the posterior mean.
        n_test: fresh samples for the test error, drawn in blocks.

    Returns:
        The observables of `BilinearSolution`, one entry a seed.
    """
    trainer = ProximalGradient() if trainer is None else trainer
    d, n_test, numbers = _check_request(problem, d, seeds, trainer, n_test)
    if isinstance(trainer, BayesAMP):
        trainer = trainer.for_problem(problem.noise, RectangularLaw)
    rows: list[tuple[float, ...]] = []
    fits: list[BilinearFit] = []
    with one_blas_thread():
        for seed in numbers:
            streams = np.random.SeedSequence([seed, d]).spawn(4)
            for_target, for_data, for_trainer, for_test = (np.random.default_rng(stream) for stream in streams)
            n = round(problem.alpha * d * round(problem.target.aspect * d))
            measurements = draw_measurements(problem, d, n, for_data)
            M_0 = problem.target.sample(*measurements.shape, for_target)
            labels = draw_labels(measurements, M_0, problem.noise, for_data)
            fit = _train(trainer, problem, measurements, labels, for_trainer)
            apart = float(np.sum((fit.M - M_0) ** 2)) / sqrt(measurements.entries)
            fresh = _test_error(problem, d, M_0, fit.M, n_test, for_test)
            rows.append((apart, fresh, fit.loss / measurements.entries, fit.error / n, fit.rank))
            fits.append(fit)
    distance, test, loss, error, rank = (np.array(column) for column in zip(*rows, strict=True))
    return BilinearEnsemble(
        problem=problem,
        d=d,
        seeds=numbers,
        trainer=trainer,
        estimation_error=distance,
        test_error=test,
        train_loss=loss,
        train_error=error,
        rank=rank,
        singular_values=np.array([np.linalg.svd(fit.M, compute_uv=False) for fit in fits]),
        gap=np.array([fit.gap for fit in fits]),
        converged=np.array([fit.converged for fit in fits]),
    )


def _train(
    trainer: Trainer, problem: BilinearProblem, measurements: Measurements, labels: Floats, rng: np.random.Generator
) -> BilinearFit:
    if isinstance(trainer, BayesAMP):
        *_, state = bayes_message_passing(
            measurements, labels, trainer.noise or 0.0, trainer.denoiser, steps=trainer.steps, damping=trainer.damping
        )
        error = float(np.sum((measurements.forward(state.M) - labels) ** 2))
        rank = float(np.mean(np.linalg.svd(state.M, compute_uv=False) > 0))
        return BilinearFit(state.M, error, error, nan, rank, trainer.steps, True)
    train = train_proximal if isinstance(trainer, ProximalGradient) else train_factors
    assert isinstance(trainer, ProximalGradient | LBFGS)
    return train(measurements, labels, _decay(problem), rng, tol=trainer.tol, steps=trainer.steps)


def _test_error(
    problem: BilinearProblem, d: int, M_0: Floats, M: Floats, n_test: int, rng: np.random.Generator
) -> float:
    numbers = M_0.size if problem.n_tokens is None else 2 * problem.n_tokens * d
    block = max(1, int(BLOCK_BYTES / (8 * numbers)))
    total = 0.0
    for start in range(0, n_test, block):
        fresh = draw_measurements(problem, d, min(block, n_test - start), rng)
        total += float(np.sum((draw_labels(fresh, M_0, problem.noise, rng) - fresh.forward(M)) ** 2))
    return total / n_test


def _decay(problem: BilinearProblem) -> float:
    if not problem.weight_decay:
        raise checks.complaint(
            "weight_decay",
            "be positive",
            "training minimises a loss with weight decay",
            problem.weight_decay,
            "Use problem.replace(weight_decay=0.1); a small value comes near the limit 0+.",
        )
    return problem.weight_decay


def _check_request(problem: Any, d: Any, seeds: Any, trainer: Any, n_test: Any) -> tuple[int, int, tuple[int, ...]]:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "problem",
        problem,
        BilinearProblem,
        reason="it says what is learned",
        remedy="Use for example bilinear_regression(GaussianProduct(0.5), alpha=0.5, weight_decay=0.1).",
    )
    checks.instance(
        "trainer",
        trainer,
        (ProximalGradient, LBFGS, BayesAMP),
        reason="these know matrices without symmetry",
        remedy="Leave it out, or use trainer=ProximalGradient().",
    )
    if trainer.minimises:
        _decay(problem)
    d = checks.integer("d", d, at_least=2, reason="it is the shorter side of the matrix", remedy="Use d=40.")
    n_test = checks.integer("n_test", n_test, at_least=1, reason="the test error is their mean", remedy="Use 2000.")
    entries = d * round(problem.target.aspect * d)
    n = round(problem.alpha * entries)
    if n < 1:
        raise checks.complaint(
            "alpha",
            f"be larger at d = {d}",
            "alpha d L is the number of samples, and there must be one",
            problem.alpha,
            "Use a larger d or alpha.",
        )
    needed = 8 * n * (entries if problem.n_tokens is None else 2 * problem.n_tokens * (d + problem.n_tokens))
    if needed > available_memory():
        raise checks.complaint(
            "d",
            f"be such that the data fit the {available_memory() / 1e9:.3g} GB of memory that are free",
            f"{n} samples make {needed / 1e9:.3g} GB",
            d,
            "Use a smaller d or alpha.",
        )
    return d, n_test, seed_numbers(seeds)
