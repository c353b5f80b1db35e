"""A product rule for two active directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.numeric_sums import MOST_PRODUCT, product_nodes, sums
from presage.models.attention.theory.rules.pair_lines import pair_lines
from presage.models.attention.theory.rules.pair_places import Setting
from presage.models.attention.theory.rules.rule import (
    PER_DROPPED,
    ROUNDING,
    Averages,
    Rule,
    averages_of_sums,
    gaussian_of,
    lightest_of,
)
from presage.models.attention.theory.rules.sample_sums import WEIGHT, averages_of_samples, derivatives
from presage.protocol import checks

COARSEST = 4  # nodes a dimension


@final
@dataclass(frozen=True)
class GaussHermite(Rule):
    """Product rule for two active directions (two tokens, with their symmetries); light nodes are left out.

    Each of the two active directions has a plane ``(a, b)`` in which the nodes may be turned by `angle`: turned
    rules are equally exact for polynomials, so that for a channel without derivatives their spread shows the error.
    """

    nodes: int = 24  # a dimension; even, so that no node lies on the line by which the plane is halved
    angle: float = np.pi / 4
    dropped: float = 1e-8  # total weight of the nodes left out

    def __post_init__(self) -> None:
        remedy = "Use for example GaussHermite(24)."
        reason = "the rule is a product of half planes with a few nodes a dimension at least"
        nodes = checks.integer("nodes", self.nodes, at_least=COARSEST, at_most=200, reason=reason, remedy=remedy)
        if nodes % 2:
            raise checks.complaint("nodes", "be even", "half of each plane is used, by symmetry", nodes, remedy)

    def __str__(self) -> str:
        return f"Gauss-Hermite with {self.nodes} nodes a dimension"

    @property
    def has_error_bar(self) -> bool:
        """Whether there are coarser ones."""
        return self.nodes > COARSEST

    @property
    def rounding(self) -> float:
        return max(ROUNDING, PER_DROPPED * self.dropped)

    def companions(self) -> list[Rule]:
        fewer = min(6, 2 * (self.nodes // 8))
        return [replace(self, nodes=self.nodes - fewer), replace(self, nodes=self.nodes - 2, angle=-0.6)]

    def coarser(self) -> list[Rule]:
        return [
            replace(self, nodes=max(nodes, COARSEST)) for nodes in (2 * (self.nodes // 3), 2 * (5 * self.nodes // 12))
        ]

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        if channel.n_active > MOST_PRODUCT:
            raise checks.complaint(
                "rule",
                "fit the number of tokens",
                "product rules are for two active directions (two tokens of a softmax), which make four dimensions",
                self,
                "Use Sobol() for more tokens, or leave the rule out.",
            )
        gaussian = gaussian_of(rho_0, overlaps, sigma)
        if not isinstance(channel, Softmax):
            folds = channel.traits.folds
            nodes = product_nodes(channel.n_active, self.nodes, self.angle, self.dropped, folds)
            return averages_of_sums(gaussian, [sums(channel, *gaussian, overlaps.Sigma, *nodes)])
        ratio, turned = channel.beta_ratio, (-float(np.sin(self.angle)), float(np.cos(self.angle)))
        setting = Setting(
            ratio * gaussian.root_rho, gaussian.mean, gaussian.sigma, overlaps.Sigma, channel.beta, *turned
        )
        total, _ = pair_lines(*_lines(self.nodes, self.angle, self.dropped), _UNCUT, 0.0, setting)
        mean = total / total[WEIGHT]
        return averages_of_samples(gaussian, mean[None], ratio, derivatives(mean, overlaps.Sigma))


_UNCUT = np.zeros((2, 0, 0))  # no rules for pieces of lines


@cache
def _lines(nodes: int, angle: float, dropped: float) -> tuple[Floats, float, Floats, Floats]:
    """Lines ``(a1, b1, a2, b2, weight)``, the product weight below which samples are left out, and the rule along them.

    Each plane may be reflected by itself (swap the tokens; flip all signs and swap them), so half of it is enough.
    """
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    w = w / w.sum()
    cosine, sine = np.cos(angle), np.sin(angle)
    half, doubled = x[x > 0], 2.0 * w[x > 0]
    first, second, third = np.meshgrid(half, x, half, indexing="ij")
    weight = np.einsum("i,j,k->ijk", doubled, w, doubled)
    turned = (cosine * first - sine * second, sine * first + cosine * second, cosine * third, sine * third, weight)
    outer = np.column_stack([column.ravel() for column in turned])
    lightest = lightest_of(outer[:, 4], w, dropped) if dropped > 0.0 else 0.0
    return np.ascontiguousarray(outer[outer[:, 4] * w.max() >= lightest]), lightest, x, w
