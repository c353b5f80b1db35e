"""Labels that are a function of a few quadratic forms of their samples, each of a matrix of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from presage.laws.spectral_law import SpectralLaw
from presage.models.multi_matrix.declaration import ALPHA, LINK, MODEL, NOISE, TARGETS, WEIGHT_DECAY
from presage.models.multi_matrix.links import MatrixLink, as_link
from presage.models.multi_matrix.targets import MatrixTargets, as_targets
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem


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

    target: MatrixTargets = field(metadata=declared(TARGETS))
    link: MatrixLink = field(metadata=declared(LINK))
    alpha: float = field(metadata=declared(ALPHA))
    weight_decay: float = field(metadata=declared(WEIGHT_DECAY))
    noise: float = field(default=NOISE.default, metadata=declared(NOISE))

    model = MODEL
    parts = ("link",)

    def __post_init__(self) -> None:
        count = self.link.matrices if isinstance(self.link, MatrixLink) else 1
        object.__setattr__(self, "target", as_targets(self.target, count))
        super().__post_init__()

    def check_together(self) -> None:
        if len(self.target) != self.link.matrices:
            raise checks.complaint(
                "target",
                f"be one law, or a list of {self.link.matrices} here",
                f"the function has {self.link.matrices} number{'s' if self.link.matrices > 1 else ''}, one a matrix",
                f"{len(self.target)} laws",
                "Give a law for each, or a function of as many numbers.",
            )

    def samples_at_one(self, d: int) -> int:
        return d * d

    @property
    def matrices(self) -> int:
        """Number L of matrices."""
        return self.link.matrices


def multi_matrix(
    target: SpectralLaw | Sequence[SpectralLaw] | MatrixTargets,
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
    count = len(target) if isinstance(target, list | tuple | MatrixTargets) else 1
    return MultiMatrixProblem(target, as_link(link, count), alpha, weight_decay, noise)  # type: ignore[arg-type]
