"""Bayes-optimal message passing for one new column; the posterior of a sample is handed in."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any, NamedTuple, Protocol, final, runtime_checkable

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.lora.experiment.adapter_training import seen_scores
from presage.models.lora.experiment.sequences import Sequences
from presage.protocol import checks
from presage.protocol.errors import TrainError
from presage.protocol.fields import declared
from presage.protocol.trainer import DAMPING, STEPS, TOL, Trainer

SMALL_START = 0.05  # size of the random start, in units of the new target
FAR = 100.0  # squared length of a mean over that of the new target, of which it is the posterior mean: it ran away


@runtime_checkable
class SamplePosterior(Protocol):
    """What one sample says about the projections of the new target, given a Gaussian belief about them."""

    slope: float  # of the target's scores on the frozen ones
    strength: float  # |w_0|^2/d

    def moments(self, seen: Floats, omega: Floats, V: float) -> tuple[Floats, Floats]:
        """Posterior means (n x T) and the traces of the posterior covariances, of ``A = chi chi' + noise``."""


@final
@dataclass(frozen=True)
class PosteriorAMP(Trainer):
    """Message passing with the posterior of a sample: it finds the posterior mean of the new column.

    For example ``PosteriorAMP(bayes_optimal(problem).posterior)``. `damping` is the part of the old messages that is
    kept.
    """

    posterior: Any
    tol: float = field(default=1e-4, metadata=declared(TOL))
    steps: int = field(default=100, metadata=declared(STEPS))
    damping: float = field(default=0.2, metadata=declared(DAMPING))

    minimises = False

    def check_together(self) -> None:
        checks.instance(
            "posterior",
            self.posterior,
            SamplePosterior,
            reason="it knows what a sample says about the new task",
            remedy="Use for example posterior=bayes_optimal(problem).posterior.",
        )


class PosteriorMean(NamedTuple):
    """What message passing ends in."""

    w: Floats
    moved: float  # relative, by the last step


def posterior_mean(trainer: PosteriorAMP, sequences: Sequences, rng: np.random.Generator) -> PosteriorMean:
    """Iterate from a small random start.

        omega = X w/sqrt(d) - V g,   g = (E chi - omega)/V,   Lambda = (1/d) sum |g|^2,
        w = (Lambda w + X'g/sqrt(d)) q_0/(1 + q_0 Lambda),   V = q_0/(1 + q_0 Lambda)

    In general ``Lambda`` is ``-(1/d) sum Tr dg/domega``, a small difference of large numbers where V is small. Of a
    posterior mean the two are equal (Nishimori), and the sum of squares is never negative.

    `sequences` have the frozen scores as they are, without recalibration.

    Equation: derived: message passing of a generalised linear model with T outputs a sample.
    Checked: tests/models/lora/test_bayes.py::test_message_passing_is_on_the_bayes_curve
    Checked: tests/models/lora/test_bayes.py::test_message_passing_with_many_samples
    """
    posterior, q_0 = trainer.posterior, trainer.posterior.strength
    T, d = sequences.labels.shape[-1], sequences.d
    seen = seen_scores(sequences) - posterior.slope * sequences.frozen + q_0 * np.eye(T)
    w, V = SMALL_START * sqrt(q_0) * rng.standard_normal(d), q_0
    g, moved = np.zeros((sequences.n, T)), np.inf
    for _ in range(trainer.steps):
        omega = (sequences.tokens @ w).reshape(-1, T) / sqrt(d) - V * g
        mean, _ = posterior.moments(seen, omega, V)
        fresh = (mean - omega) / V
        Lambda = float(np.sum(fresh**2)) / d
        g = (1.0 - trainer.damping) * fresh + trainer.damping * g
        V = q_0 / (1.0 + q_0 * Lambda)
        new = (Lambda * w + sequences.tokens.T @ g.ravel() / sqrt(d)) * V
        if not float(np.sum(new**2)) <= FAR * q_0 * d or V <= 0.0:
            raise TrainError(
                f"Message passing ran away: its mean is {sqrt(FAR):.2g} times as long as the new target, or no number.",
                "Use more <damping>, or the posterior of this very problem.",
            )
        moved = float(np.linalg.norm(new - w)) / max(float(np.linalg.norm(new)), 1e-300)
        w = new
        if moved <= trainer.tol:
            break
    return PosteriorMean(w, moved)
