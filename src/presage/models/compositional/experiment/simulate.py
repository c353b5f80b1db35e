"""Learn compositional targets at finite size and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from presage.models.compositional.experiment.coordinates import BLOCK_BYTES, Coordinates, QuadraticForms, coordinates_of
from presage.models.compositional.experiment.ensemble import CompositionalEnsemble, ShallowEnsemble
from presage.models.compositional.experiment.layers import first_layer, predicted, upper_layers, used_labels
from presage.models.compositional.experiment.samples import KEPT_BYTES, Samples
from presage.models.compositional.experiment.shallow import fit_kernel, fit_random_features
from presage.models.compositional.experiment.target import draw_target
from presage.models.compositional.experiment.trainers import KernelRidge, LayerWise, RandomFeatures
from presage.models.compositional.problem import CompositionalProblem, coordinates
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.extras import must_be_installed
from presage.protocol.trainer import Trainer
from presage.training.ordered_sums import one_blas_thread

LARGEST = 12_000  # coordinates up to which C is formed
TRUE_FROM = 120  # dimension from which on true Hermite coordinates are near Gaussian ones


def simulate(
    problem: CompositionalProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    n_test: int = 20_000,
    processes: int | None = None,
    progress: bool | None = None,
) -> CompositionalEnsemble:
    """Draw targets and data, learn layer by layer, and measure, one network a seed.

    Args:
        problem: what is learned; there are ``round(alpha D)`` samples for the first layer, and as many fresh ones for
            the second and the last.
        d: dimension of the inputs; the number of coordinates is ``D = C(d + q - 1, q)``.
        seeds: how many networks (seeds 0, 1, ...), or the seeds themselves.
        trainer: `LayerWise`, the only one; `shallow_learners` has those without layers.
        n_test: fresh samples for the test error.
        processes: how many networks are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `CompositionalSolution`, one entry a seed; a seed that fails is in `failures`, with why.
    """
    trainer = LayerWise() if trainer is None else trainer
    reason, remedy = "layers are learned one by one", "Leave it out; <shallow_learners()> has those without layers."
    checks.instance("trainer", trainer, LayerWise, reason=reason, remedy=remedy)
    assert isinstance(trainer, LayerWise)
    setting = _layers(problem, *_checked(problem, d, n_test), trainer)
    return train_ensemble(setting, seeds, processes=processes, progress=progress)  # type: ignore[return-value]


def shallow_learners(
    problem: CompositionalProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    n_test: int = 20_000,
    processes: int | None = None,
    progress: bool | None = None,
) -> ShallowEnsemble:
    """Learn the same targets without layers, from the inputs and as many samples as all layers have, ``2n``.

    `trainer` is `KernelRidge` (the default, polynomial) or `RandomFeatures`. What comes out is the test error, for
    which there is no prediction: it is there to be set beside that of the layers.
    """
    trainer = KernelRidge() if trainer is None else trainer
    reason, remedy = "these have no layers", "Leave it out, or use <trainer=RandomFeatures()>."
    checks.instance("trainer", trainer, (KernelRidge, RandomFeatures), reason=reason, remedy=remedy)
    setting = _shallow(problem, *_checked(problem, d, n_test), trainer)
    return train_ensemble(setting, seeds, processes=processes, progress=progress)  # type: ignore[return-value]


@dataclass(frozen=True)
class _LearningSetting(Setting):
    """Everything about a run but its seed, whoever learns."""

    problem: CompositionalProblem
    d: int
    trainer: Trainer
    n_test: int

    too_large = "Use a smaller <d> or <alpha>."

    @property
    def n(self) -> int:
        """Number of samples of the first layer."""
        return self.problem.samples(self.d)

    @property
    def size(self) -> str:
        """What makes it large."""
        return f"{self.n} samples of {coordinates(self.d, self.problem.degree)} coordinates"

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the problem as the theory has it, in plain sentences."""
        if self.problem.inputs == "surrogate" or self.d >= TRUE_FROM:
            return ()
        clip = "" if self.problem.clip is not None else " and clip the labels"
        return (
            f"Hermite coordinates of d = {self.d} inputs have heavy tails: features are learned less well than "
            f"Gaussian coordinates say, by a part of about 1/d. Use d of at least {TRUE_FROM}{clip}.",
        )

    def described(self) -> dict[str, Any]:
        """The size of the test."""
        return {"n_test": self.n_test}


@final
@dataclass(frozen=True)
class LayerSetting(_LearningSetting):
    """A run of layer-wise learning."""

    trainer: LayerWise

    kind = CompositionalEnsemble

    @property
    def coordinates(self) -> Coordinates:
        """How samples are drawn: as they are formed, where C is."""
        return coordinates_of(self.problem, self.d, formed=self.trainer.method == "dense")

    @property
    def memory(self) -> float:
        """Bytes of samples that are kept, of a block, of directions, and of C where it is formed."""
        count = coordinates(self.d, self.problem.degree)
        width = self.d if self.problem.inputs == "hermite" and self.problem.degree == 2 else count
        kept = min(4.0 * self.n * width, KEPT_BYTES)
        first = self.problem.features
        directions = 8.0 * count * 3 * (first + self.trainer.oversampling) * self.trainer.passes
        if self.trainer.method == "dense":
            kept, directions = min(4.0 * self.n * count, KEPT_BYTES), 32.0 * count**2
        return kept + directions + 8.0 * self.n * (2 + 2 * first) + 4.0 * BLOCK_BYTES

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw target and data, learn every layer, measure; matrix products use the threads of a network."""
        with one_blas_thread():
            return self._train(seed, threads)

    def _train(self, seed: int, threads: int) -> Outcome:
        problem, trainer, features = self.problem, self.trainer, self.problem.features
        for_target, for_data, for_trainer, for_test = streams(seed, self.d)
        source = self.coordinates
        target = draw_target(problem, source, for_target)
        width = features + trainer.oversampling
        keys = [int(key) for key in for_data.integers(2**62, size=2)]
        samples = Samples(source, self.n, keys[0], width, threads)
        used = used_labels(samples.labels(target), problem.clip)
        found, spectrum = first_layer(samples, used, features, trainer, for_trainer)
        del samples
        both = np.hstack([found.vectors, target.A])
        fresh = Samples(source, self.n, keys[1], 2 * features, threads).project(both)
        layers = upper_layers(found, fresh[:, :features], target.labels(fresh[:, features:]), spectrum)
        test = Samples(source, self.n_test, int(for_test.integers(2**62)), 2 * features, threads).project(both)
        first, y = test[:, :features], target.labels(test[:, features:])
        overlaps = np.sum((found.vectors.T @ target.principal) ** 2, axis=0)
        values: dict[str, Any] = {
            "test_error": float(np.mean((y - predicted(layers, first)) ** 2) / np.var(y)),
            "mean_overlap": float(np.mean(overlaps)),
            "first_overlap": float(overlaps[0]),
            "largest_eigenvalue": float(np.max(np.abs(found.values))),
            "curved_error": float(np.mean((y - predicted(layers, first, curved=True)) ** 2) / np.var(y)),
            "overlaps": overlaps,
            "eigenvalues": found.values,
            "passes": float(found.passes),
            "converged": found.settled,
        }
        if spectrum is not None:
            values["spectrum"] = spectrum
        said = f"the passes ended before the learned space had settled to {trainer.tol:g}: nothing may stand out."
        return Outcome(seed, values, () if found.settled else (said,))


@final
@dataclass(frozen=True)
class ShallowSetting(_LearningSetting):
    """A run of shallow learning, on the inputs and as many samples as all layers have."""

    kind = ShallowEnsemble

    @property
    def memory(self) -> float:
        """Bytes of the kernel of all samples, thrice, or of their random features."""
        rows = 2.0 * self.n
        columns = float(self.trainer.width) if isinstance(self.trainer, RandomFeatures) else 3.0 * rows
        return 8.0 * (rows + self.n_test) * (columns + self.d) + 8.0 * self.n_test * rows

    @property
    def size(self) -> str:
        """What makes it large."""
        return f"{2 * self.n} samples, those of all layers, in a shallow learner"

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw target and data, fit, measure."""
        with one_blas_thread():
            for_target, for_data, for_trainer, for_test = streams(seed, self.d)
            source = QuadraticForms(self.d)
            target = draw_target(self.problem, source, for_target)
            inputs, test = source.draw(2 * self.n, for_data), source.draw(self.n_test, for_test)
            y, y_test = (target.labels(source.project(one, target.A)) for one in (inputs, test))
            x, x_test = inputs.astype(np.float64), test.astype(np.float64)
            degree = self.problem.degree
            if isinstance(self.trainer, RandomFeatures):
                guess, ridge = fit_random_features(self.trainer, x, y - y.mean(), x_test, degree, for_trainer)
            else:
                assert isinstance(self.trainer, KernelRidge)
                guess, ridge = fit_kernel(self.trainer, x, y - y.mean(), x_test, degree)
        error = float(np.mean((y_test - y.mean() - guess) ** 2) / np.var(y_test))
        return Outcome(seed, {"test_error": error, "ridge": ridge})


def _checked(problem: CompositionalProblem, d: Any, n_test: Any) -> tuple[int, int]:
    """Both sizes, or what is wrong with them in words."""
    d = checks.integer("d", d, at_least=2, reason="it is the dimension of the inputs", remedy="Use <d=36>.")
    n_test = checks.integer(
        "n_test", n_test, at_least=2, reason="the test error is their mean", remedy="Use <n_test=2000>."
    )
    count, n = coordinates(d, problem.degree), problem.samples(d)
    if count < 2 * problem.features:
        raise checks.complaint(
            "d",
            f"be larger for {problem.features} features",
            f"d = {d} inputs have {count} coordinates of degree {problem.degree}, and features are few of them",
            d,
            "Use a larger <d>, or fewer <features>.",
        )
    if n < 4 * problem.features:
        raise checks.complaint(
            "alpha",
            f"be larger at d = {d}",
            f"it makes {n} samples a layer, and each layer has {problem.features} features to fit",
            problem.alpha,
            "Use a larger <alpha> or <d>.",
        )
    return d, n_test


def _layers(problem: CompositionalProblem, d: int, n_test: int, trainer: LayerWise) -> LayerSetting:
    count = coordinates(d, problem.degree)
    if trainer.method == "dense" and count > LARGEST:
        raise checks.complaint(
            "trainer",
            'have <method="krylov"> here',
            f"C has {count} rows, and is formed up to {LARGEST}",
            trainer,
            "Leave the method out.",
        )
    return LayerSetting(problem, d, trainer, n_test)


def _shallow(problem: CompositionalProblem, d: int, n_test: int, trainer: Trainer) -> ShallowSetting:
    if problem.inputs != "hermite":
        reason = "shallow learners see the inputs, which Gaussian coordinates have none of"
        raise checks.complaint("inputs", 'be "hermite" here', reason, problem.inputs, 'Use <inputs="hermite">.')
    if problem.degree != 2:
        reason = "shallow learners draw their labels from quadratic forms of the inputs"
        raise checks.complaint("degree", "be 2 here", reason, problem.degree, "Use <degree=2>.")
    if isinstance(trainer, KernelRidge):
        reason, instead = "kernel regression is that of scikit-learn", "use <trainer=RandomFeatures()>"
        must_be_installed("trainer", trainer, "sklearn", "learn", reason, f"{instead}, which needs nothing else")
    return ShallowSetting(problem, d, trainer, n_test)
