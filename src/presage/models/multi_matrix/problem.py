"""Labels that are a function of a few quadratic forms of their samples, each of a matrix of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.multi_matrix.declaration import (
    ALPHA,
    LINK,
    MODEL,
    MOST_MATRICES,
    NOISE,
    OTHERS,
    TARGET,
    WEIGHT_DECAY,
)
from presage.models.multi_matrix.links import MatrixLink, as_link
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem

REMEDY = "Use for example <target=Semicircle()>, or a list of one law a matrix."


@final
@dataclass(frozen=True)
class MultiMatrixProblem(LearningProblem):
    """The matrices of the target, the function of their quadratic forms, the amount of data and the noise.

    A label is ``y = g(z_1, ..., z_L) + sqrt(noise) xi``, ``z_h = (x'S_h x - Tr S_h)/sqrt(2d)`` with x and xi standard
    Gaussian, and there are ``n = alpha d^2`` of them. The eigenvectors of the matrices of the target know nothing of
    each other. The learner knows g, has matrices ``S_h = (W+ W+' - W- W-')/d`` of factors as wide as they need, and
    minimises

        sum_mu (y_mu - g(z_mu))^2 + weight_decay sum_h (|W+_h|^2 + |W-_h|^2)

    of which the second part is ``d weight_decay`` times the sum of the absolute eigenvalues.
    """

    target: SpectralLaw = field(metadata=declared(TARGET))
    link: MatrixLink = field(metadata=declared(LINK))
    alpha: float = field(metadata=declared(ALPHA))
    weight_decay: float = field(metadata=declared(WEIGHT_DECAY))
    noise: float = field(default=NOISE.default, metadata=declared(NOISE))
    others: tuple[SpectralLaw, ...] = field(default=(), metadata=declared(OTHERS))

    model = MODEL
    parts = ("target", "link")

    def check_together(self) -> None:
        count = self.link.matrices
        for law in (self.target, *self.others):
            TARGET.checked("target", law)
            if not law.second_moment > 0.0:
                raise checks.complaint("target", "not be zero", "there is nothing to learn of it", law, REMEDY)
        if self.others and len(self.others) != count - 1:
            raise checks.complaint(
                "target",
                f"be one law, or a list of {count} here",
                f"the function has {count} number{'s' if count > 1 else ''}, one a matrix",
                f"{1 + len(self.others)} laws",
                "Give a law for each, or a function of as many numbers.",
            )

    def samples_at_one(self, d: int) -> int:
        return d * d

    @property
    def matrices(self) -> int:
        """Number L of matrices."""
        return self.link.matrices

    @property
    def laws(self) -> tuple[SpectralLaw, ...]:
        """Law of the eigenvalues of every matrix."""
        return (self.target, *self.others) if self.others else (self.target,) * self.matrices

    @property
    def sizes(self) -> Floats:
        """``Q_0 = |S_0|_F^2/d`` of every matrix."""
        return np.array([law.second_moment for law in self.laws])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the laws have to say."""
        return tuple(dict.fromkeys(line for law in self.laws for line in law.notes))


def multi_matrix(
    target: SpectralLaw | Sequence[SpectralLaw],
    link: MatrixLink | Callable[..., Any],
    *,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
) -> MultiMatrixProblem:
    """A function of several quadratic forms, ``y = g(z_1, ..., z_L) + sqrt(noise) xi``: ``alpha = n/d^2``.

    `target` is a law of eigenvalues for each matrix, or one for all; `link` is a `MatrixLink`, or a function that is
    called with an array a matrix, as many as there are laws.
    """
    laws: Any = target if isinstance(target, list | tuple) else (target,)
    if not 1 <= len(laws) <= MOST_MATRICES:
        must = f"be a law or a list of 1 to {MOST_MATRICES} laws"
        raise checks.complaint("target", must, "each matrix has a law of eigenvalues", target, REMEDY)
    return MultiMatrixProblem(laws[0], as_link(link, len(laws)), alpha, weight_decay, noise, tuple(laws[1:]))
