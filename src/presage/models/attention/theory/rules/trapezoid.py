"""The trapezoidal rule for channels of one active direction, whose average has two dimensions.

For smooth integrands it converges as fast as Gauss-Hermite, and its nodes are where the weight is: at 40 nodes a
dimension a logistic loss is good to seven digits where Gauss-Hermite has three.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.gaussian_ball import gaussian_ball
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.numeric_sums import sums
from presage.models.attention.theory.rules.rule import Averages, Rule, averages_of_sums, gaussian_of
from presage.protocol import checks

LEAST_SIGMA = 1e-3  # deviation of z given z_0, relative, below which Stein's lemma divides by too small a number


@final
@dataclass(frozen=True)
class Trapezoid(Rule):
    """Equidistant nodes in the plane (a, b), turned by `angle`, so that no kink of a loss runs along them.

    Slopes are taken by Stein's lemma: a loss whose curvature has steps, such as Huber's, costs digits in their Hessian
    form and none here.
    """

    nodes: int = 80  # across the disc
    angle: float = -0.6

    def __post_init__(self) -> None:
        reason, remedy = "they are the nodes across the plane", "Use for example Trapezoid(80)."
        checks.integer("nodes", self.nodes, at_least=8, at_most=2000, reason=reason, remedy=remedy)

    def __str__(self) -> str:
        return f"a trapezoidal rule with {self.nodes} nodes a dimension"

    def companions(self) -> list[Rule]:
        return [Trapezoid(self.nodes * 3 // 4), Trapezoid(self.nodes * 7 // 8, 0.4)]

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        if channel.n_active != 1 or channel.linear:
            raise checks.complaint(
                "rule",
                "fit the channel",
                "the trapezoidal rule is for channels of one's own with a single active direction",
                self,
                "Leave the rule out, or use Sobol().",
            )
        gaussian = gaussian_of(rho_0, overlaps, sigma)
        found = averages_of_sums(gaussian, [sums(channel, *gaussian, overlaps.Sigma, *_disc(self.nodes, self.angle))])
        if gaussian.sigma < LEAST_SIGMA * gaussian.root_rho:
            return found
        return found._replace(slope_z=found.stein_z, slope_z_0=found.stein_z_0)


@cache
def _disc(nodes: int, angle: float) -> tuple[Floats, Floats, Floats]:
    """Nodes a, b (n x 1) and their weights."""
    points, weights = gaussian_ball(2, nodes)
    first, second = points[:, :1], points[:, 1:]
    cosine, sine = np.cos(angle), np.sin(angle)
    return cosine * first - sine * second, sine * first + cosine * second, weights
