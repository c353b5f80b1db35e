"""Bayes-optimal message passing: its settings, and what it needs of the theory, a denoiser, which is handed in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final, runtime_checkable

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import DAMPING as DAMPING_OF_MESSAGES
from presage.protocol.trainer import STEPS, TOL, Trainer

HOVERING = 0.05  # relative steps below this are the fluctuations of a finite matrix about its limit
REMEDY = "Use for example BayesAMP(Denoiser(problem.target), noise=problem.noise, damping=0.2)."
NOISE = Number("variance of the labels", at_least=0.0, optional=True, remedy=REMEDY)
DAMPING = replace(DAMPING_OF_MESSAGES, remedy=REMEDY)


@runtime_checkable
class MatrixDenoiser(Protocol):
    """Posterior mean of the eigenvalues (or singular values) of a matrix of known law, seen with noise."""

    @property
    def law(self) -> Any:
        """Law of the eigenvalues (or singular values) of the matrix that is looked for."""

    def __call__(self, x: Floats, delta: float) -> Floats:
        """Eigenvalues of the estimate, from those of the noisy matrix."""

    def mmse(self, delta: float) -> float:
        """Mean squared error of the estimate."""


@final
@dataclass(frozen=True)
class BayesAMP(Trainer):
    """Message passing with the score of the labels and a denoiser of matrices: it finds the posterior mean.

    For example ``BayesAMP(Denoiser(problem.target))``, or ``BayesAMP(bayes_optimal(problem).denoiser)``; `noise`, the
    variance of the labels, is that of the problem unless it is given. It is done when an iteration moves the estimate
    by less than `tol` of its size, or hovers about a point, as small matrices do; `damping` is the part of the old
    messages that is kept.
    """

    denoiser: MatrixDenoiser
    noise: float | None = field(default=None, metadata=declared(NOISE))
    tol: float = field(default=1e-3, metadata=declared(TOL))
    steps: int = field(default=200, metadata=declared(STEPS))
    damping: float = field(default=0.2, metadata=declared(DAMPING))

    minimises = False

    def check_together(self) -> None:
        checks.instance(
            "denoiser",
            self.denoiser,
            MatrixDenoiser,
            reason="it knows the law of the target's eigenvalues",
            remedy="Use for example denoiser=Denoiser(problem.target).",
        )

    def for_problem(self, noise: float, law: type) -> BayesAMP:
        """The same with the noise of a problem, unless it has its own; complain about a denoiser of other matrices."""
        checks.instance(
            "denoiser.law",
            self.denoiser.law,
            law,
            reason="it must know the kind of matrix that is looked for",
            remedy="Use Denoiser(target) for symmetric matrices, SingularValueDenoiser(target) for others.",
        )
        return replace(self, noise=noise) if self.noise is None else self
