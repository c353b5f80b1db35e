"""Recover features at finite size by the spectral method, read them out, and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, final

import numpy as np

from presage.models.multi_index.experiment import readout
from presage.models.multi_index.experiment.ensemble import MultiIndexEnsemble
from presage.models.multi_index.experiment.outside import Directions, directions
from presage.models.multi_index.experiment.samples import draw_features, draw_labels, weighted_covariance
from presage.models.multi_index.experiment.spectral_estimator import SpectralEstimator
from presage.models.multi_index.preprocessing import centred, preprocessing
from presage.models.multi_index.problem import MultiIndexProblem
from presage.protocol import checks
from presage.protocol.ensemble import Floats, Outcome, Setting, streams, train_ensemble
from presage.protocol.trainer import Trainer
from presage.training.ordered_sums import PARTS, one_blas_thread


def simulate(
    problem: MultiIndexProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    n_readout: int | None = None,
    n_test: int = 100_000,
    processes: int | None = None,
    progress: bool | None = None,
) -> MultiIndexEnsemble:
    """Draw features and samples, diagonalise, read out, and measure, one estimator a seed.

    Args:
        problem: what is learned; the number of samples is ``round(alpha d)``.
        d: dimension of a sample.
        seeds: how many estimators (seeds 0, 1, ...), or the seeds themselves.
        trainer: `SpectralEstimator`, which is the default.
        n_readout: fresh samples that the readout is fitted to; by default as many as the directions were found by.
            Those of the directions know the noise that these fit, and a readout of them would believe it.
        n_test: fresh samples for the excess risk.
        processes: how many estimators are made at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `MultiIndexSolution`, one entry a seed, and `overlaps`, one row a seed.
    """
    setting = _setting(problem, d, SpectralEstimator() if trainer is None else trainer, n_readout, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class SpectralSetting(Setting):
    """Everything about a run but its seed."""

    problem: MultiIndexProblem
    d: int
    trainer: SpectralEstimator
    n_readout: int
    n_test: int

    kind = MultiIndexEnsemble

    @property
    def n(self) -> int:
        """Number of samples that directions are found by."""
        return self.problem.samples(self.d)

    @property
    def memory(self) -> float:
        """Bytes of the scores and labels, of the parts of the matrix, and of blocks of samples."""
        return 8.0 * (self.n * (2.0 * self.problem.features + 4.0) + (PARTS + 4.0) * self.d**2) + 3e8

    @property
    def size(self) -> str:
        """What makes it large."""
        return f"{self.n} samples of {self.d} dimensions"

    def described(self) -> dict[str, Any]:
        """The sizes of the readout and of the test."""
        return {"n_readout": self.n_readout, "n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw features, labels and samples, diagonalise, read out, measure."""
        problem = self.problem
        with one_blas_thread():
            for_target, for_data, for_readout, for_test = streams(seed, self.d)
            W = draw_features(problem.features, self.d, for_target)
            scores, labels = draw_labels(problem, self.n, for_data)
            T = weights(problem, labels)
            C = weighted_covariance(T, scores, W, for_data, threads)
            found = directions(C, T, above_only=problem.preprocessing == "best", equal=problem.largest)
            V = kept(problem, found)
            overlaps = np.sum((W.T @ V) ** 2, axis=1)
            seen, width = readout.Coordinates(W, V), readout.column_count(V.shape[1], problem)
            fitted = readout.fit(problem, seen, width, self.n_readout, self.trainer.ridge, for_readout)
            energy, size = problem.sizes**2, sqrt(float(np.mean(T**2)))
            values = {
                "excess_risk": readout.risk(problem, seen, fitted, self.n_test, for_test),
                "unlearned": float(energy @ (1.0 - overlaps) / energy.sum()),
                "top_eigenvalue": found.furthest / size,
                "recovered": float(len(found.values)),
                "overlaps": overlaps,
                "edge": found.edge / size,
            }
        return Outcome(seed, values)


def weights(problem: MultiIndexProblem, labels: Floats) -> Floats:
    """Weights T of samples by their labels, which are standardised by their own mean and deviation."""
    T = preprocessing(problem)((labels - labels.mean()) / labels.std())
    return np.asarray(T - T.mean() if centred(problem) else T)


def kept(problem: MultiIndexProblem, found: Directions) -> Floats:
    """Eigenvectors that are read out: all outside; of a joint readout at most as many as there are features."""
    return found.vectors if problem.readout == "separate" else found.vectors[:, : problem.features]


def _setting(problem: MultiIndexProblem, d: Any, trainer: Any, n_readout: Any, n_test: Any) -> SpectralSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        SpectralEstimator,
        reason="features are recovered by a spectral method here",
        remedy="Leave it out, or use <trainer=SpectralEstimator()>.",
    )
    d = checks.integer("d", d, at_least=2, reason="it is the dimension of a sample", remedy="Use <d=300>.")
    if d <= problem.features:
        reason = f"{problem.features} orthonormal directions, and noise beside them, need as many dimensions"
        raise checks.complaint("d", f"be larger than {problem.features}", reason, d, "Use a larger <d>.")
    n = problem.samples(d)
    if n <= problem.features + 1:
        raise checks.complaint(
            "alpha",
            f"be larger at d = {d}",
            f"alpha d = {n} samples are not enough to look for {problem.features} directions",
            problem.alpha,
            "Use a larger <d> or <alpha>.",
        )
    width = readout.column_count(problem.features, problem)
    if width > readout.MOST_COLUMNS:
        raise checks.complaint(
            "readout",
            'be "separate" here',
            f"{problem.features} coordinates have {width} polynomials of degree {problem.readout_degree}",
            problem.readout,
            "Use <readout=separate>, or a smaller <readout_degree>.",
        )
    reason = f"a readout of all features has {width} polynomials, and as many numbers to fit"
    remedy = "Use more, for example <n_readout=100000>, or a larger <alpha>."
    n_readout = n if n_readout is None else n_readout
    n_readout = checks.integer("n_readout", n_readout, at_least=2 * width, reason=reason, remedy=remedy)
    reason, remedy = "the excess risk is their mean", "Use <n_test=100000>."
    n_test = checks.integer("n_test", n_test, at_least=1, reason=reason, remedy=remedy)
    return SpectralSetting(problem, d, trainer, n_readout, n_test)
