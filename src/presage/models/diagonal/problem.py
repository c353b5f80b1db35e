"""A vector, seen through Gaussian samples of its entries, and learned by a diagonal linear network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

from presage.laws.spectral_law import SpectralLaw
from presage.models.diagonal.declaration import ALPHA, DRAW, MODEL, NOISE, TARGET, WEIGHT_DECAY
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem

Draw = Literal["fixed", "gaussian"]


@final
@dataclass(frozen=True)
class DiagonalProblem(LearningProblem):
    """A target vector theta_0 of d entries, the amount of data, the noise, and the weight decay.

    A sample is ``y = x . theta_0/sqrt(d) + sqrt(noise) xi`` with x and xi standard Gaussian, and there are
    ``n = alpha d`` of them: alpha is n/d here, since a vector has d entries. `target` is the law of the entries of
    theta_0 where `draw` is "fixed". Where it is "gaussian" the law is of their standard deviations: entry i is normal
    with variance s_i^2. Entries ``sqrt(d/Z) i^-gamma`` with ``Z = sum_i i^-2gamma``, of second moment one, are
    ``PowerLaw(gamma, d)``, and ``sqrt(d) i^-gamma`` are ``PointMasses(sqrt(d) * i**-gamma)``.

    The network is ``f = sum_i u_i v_i x_i/sqrt(d)``, so ``theta = u * v``, and the loss is the sum of the squared
    errors plus ``weight_decay (|u|^2 + |v|^2)``. Given the product, ``u_i^2 + v_i^2`` is least, ``2 |theta_i|``, at
    ``|u_i| = |v_i|``, so the minimum of the loss is twice that of the LASSO with the same lambda:

        2 [ (1/2) |y - A theta|^2 + lambda |theta|_1 ],   A = X/sqrt(d)

    In scikit-learn this is ``Lasso(alpha=weight_decay/n, fit_intercept=False)``. A weight decay of 0 means the limit
    0+: of all minima of the loss, the one of least l1 norm.
    """

    target: SpectralLaw = field(metadata=declared(TARGET))
    alpha: float = field(metadata=declared(ALPHA))
    weight_decay: float = field(metadata=declared(WEIGHT_DECAY))
    noise: float = field(default=NOISE.default, metadata=declared(NOISE))
    draw: Draw = field(default=DRAW.default, metadata=declared(DRAW))

    model = MODEL
    parts = ("target",)

    def check_together(self) -> None:
        if not 0.0 < self.target.second_moment + self.noise < 1e12:
            raise checks.complaint(
                "target",
                "have a positive second moment, below 1e12",
                "entries of order one are meant, and without noise a zero target leaves nothing to learn",
                self.target,
                "Scale the entries, or set <noise> > 0.",
            )

    def samples_at_one(self, d: int) -> int:
        return d

    @property
    def Q_0(self) -> float:
        """Size of the target: the variance of a clean label."""
        return self.target.second_moment


def diagonal_network(
    target: SpectralLaw, *, alpha: float, weight_decay: float, noise: float = NOISE.default, draw: Draw = DRAW.default
) -> DiagonalProblem:
    """A diagonal linear network, ``f = sum_i u_i v_i x_i/sqrt(d)`` with weight decay on u and v: ``alpha = n/d``."""
    return DiagonalProblem(target, alpha, weight_decay, noise, draw)
