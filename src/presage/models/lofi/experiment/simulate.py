"""Select features at finite size and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from presage.models.lofi.experiment.ensemble import LoFiEnsemble
from presage.models.lofi.experiment.low_degree_filter import LowDegreeFilter
from presage.models.lofi.experiment.surrogate import select
from presage.models.lofi.links import FeatureLink
from presage.models.lofi.problem import LoFiProblem
from presage.protocol import checks
from presage.protocol.ensemble import Floats, Outcome, Setting, streams, train_ensemble
from presage.protocol.trainer import Trainer
from presage.training.ordered_sums import PARTS, one_blas_thread

KNOWN = 1e-12  # variance of a feature that is left where it is known, of one


def simulate(
    problem: LoFiProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    n_test: int = 40_000,
    processes: int | None = None,
    progress: bool | None = None,
) -> LoFiEnsemble:
    """Draw Gaussian coordinates of a lift and labels, select features, and measure, one selection a seed.

    Args:
        problem: what is learned; the number of samples is ``round(alpha d)``.
        d: number D of active coordinates of the lift.
        seeds: how many selections (seeds 0, 1, ...), or the seeds themselves.
        trainer: `LowDegreeFilter`, which is the default.
        n_test: fresh samples for the floor of the error.
        processes: how many are made at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `LoFiSolution`, one entry a seed, and `overlaps`, one row a seed.
    """
    setting = _setting(problem, d, LowDegreeFilter() if trainer is None else trainer, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class SelectionSetting(Setting):
    """Everything about a run but its seed."""

    problem: LoFiProblem
    d: int
    trainer: LowDegreeFilter
    n_test: int

    kind = LoFiEnsemble

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.problem.samples(self.d)

    @property
    def memory(self) -> float:
        """Bytes of the matrices of all parts and of features; with a tail those of all samples, thrice."""
        p = self.problem.features
        matrices = 8.0 * (2.0 * PARTS + 6.0) * self.d**2
        samples = 24.0 * self.n * self.d + 8.0 * self.n * 100 if self.problem.tail > 0.0 else 0.0
        return matrices + samples + 8.0 * (self.n + self.n_test) * (p * (p + 1) + 4) + 3e8

    @property
    def size(self) -> str:
        """What makes it large."""
        return f"{self.n} samples of {self.d} coordinates"

    def described(self) -> dict[str, Any]:
        """The size of the test."""
        return {"n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw labels and samples, select, measure."""
        problem = self.problem
        with one_blas_thread():
            _, for_data, _, for_test = streams(seed, self.d)
            found = select(problem, self.d, self.trainer.pick, for_data, threads)
            A = np.eye(self.d, problem.features)  # samples were drawn with the features as their first coordinates
            known = Known.of(A, found.vectors)
            values = {
                "first_overlap": float(known.overlaps[strongest(problem.link, for_test)]),
                "mean_overlap": float(known.overlaps.mean()),
                "largest_eigenvalue": found.largest,
                "floor": best_readout_error(problem.link, known, self.n_test, for_test),
                "deep_overlap": second_level_r2(problem.link, known),
                "overlaps": known.overlaps,
                "eigenvalues": found.values,
                "edges": np.array(found.edges),
            }
        return Outcome(seed, values)


class Known(NamedTuple):
    """What selected directions tell of the features: features are ``R s`` and Gaussian numbers of a covariance beside.

    s are the selected features of a fresh sample, made independent and of variance one.
    """

    R: Floats
    rest: Floats  # root of the covariance that is left

    @classmethod
    def of(cls, A: Floats, V: Floats) -> Known:
        """From directions of the features and selected ones, columns of both."""
        Q, _ = np.linalg.qr(V)
        R = A.T @ Q
        values, vectors = np.linalg.eigh(np.eye(len(R)) - R @ R.T)
        return cls(R, vectors * np.sqrt(np.where(values > KNOWN, values, 0.0)))

    @property
    def overlaps(self) -> Floats:
        """``|P a_k|^2`` of every feature."""
        return np.asarray(np.sum(self.R**2, axis=1))

    def draw(self, s: Floats, rng: np.random.Generator) -> Floats:
        """Features of samples of which s is known."""
        return np.asarray(s @ self.R.T + rng.standard_normal((len(s), len(self.R))) @ self.rest.T)


def strongest(link: FeatureLink, rng: np.random.Generator, count: int = 400_000) -> int:
    """The feature along which labels have the largest second moment, by samples of them; the first of those alike."""
    h = rng.standard_normal((count, link.features))
    y = link(h)
    theta = np.abs((y - y.mean()) @ (h * h - 1.0) / count)
    groups = np.array(link.alike)
    means = np.array([theta[groups == group].mean() for group in groups])
    return int(np.argmax(means))


def best_readout_error(link: FeatureLink, known: Known, count: int, rng: np.random.Generator) -> float:
    """Error of the best readout over the variance of the labels: half the square by which two labels differ.

    Both labels are of features that are drawn anew given what is known of them.
    """
    s = rng.standard_normal((count, known.R.shape[1]))
    one, other = link(known.draw(s, rng)), link(known.draw(s, rng))
    variance = 0.5 * (float(np.var(one)) + float(np.var(other)))
    return 0.5 * float(np.mean((one - other) ** 2)) / variance


def second_level_r2(link: FeatureLink, known: Known) -> float:
    """Mean R^2 of the features of the second level by products of what was selected: of Gaussian features exact.

    With T = R R' squares of features are known as ``E[h_k^2 | s] = (R s)_k^2 + 1 - T_kk``, whose covariances are
    ``2 T_kl^2``.
    """
    T, q = known.R @ known.R.T, link.second_level
    return float(np.mean(np.einsum("jk,kl,jl->j", q, T**2, q)))


def _setting(problem: LoFiProblem, d: Any, trainer: Any, n_test: Any) -> SelectionSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        LowDegreeFilter,
        reason="features are selected by the signal matrix here",
        remedy="Leave it out, or use <trainer=LowDegreeFilter()>.",
    )
    d = checks.integer("d", d, at_least=2, reason="it is the number of coordinates", remedy="Use <d=400>.")
    p = problem.features
    if d <= 2 * p:
        reason = f"{p} features are directions of the coordinates, and as many are selected beside noise"
        raise checks.complaint("d", f"be larger than {2 * p}", reason, d, "Use a larger <d>, for example <d=400>.")
    n = problem.samples(d)
    if n < 4 * p:
        raise checks.complaint(
            "alpha",
            f"be larger at d = {d}",
            f"alpha d = {n} samples are not enough to select {p} directions",
            problem.alpha,
            "Use a larger <d> or <alpha>.",
        )
    reason, remedy = "the floor of the error is a mean over them", "Use <n_test=40000>."
    n_test = checks.integer("n_test", n_test, at_least=p * (p + 1) + 10, reason=reason, remedy=remedy)
    return SelectionSetting(problem, d, trainer, n_test)
