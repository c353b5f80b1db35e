"""A product rule for two active directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.prox_report import (
    LOSS_AT_P,
    LOSS_AT_Z,
    OTHER_MINIMUM,
    REPORTED,
    SQUARE_Z,
    TRACE_ANCHOR,
    TRACE_Z,
)
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.numeric_sums import MOST_PRODUCT, product_nodes, sums
from presage.models.attention.theory.rules.pair_sums import pair_sums
from presage.models.attention.theory.rules.rule import Averages, Rule, averages_of_sums, gaussian_of, stein
from presage.protocol import checks


@final
@dataclass(frozen=True)
class GaussHermite(Rule):
    """Product rule for two active directions (two tokens, with their symmetries); light nodes are left out.

    Each of the two active directions has a plane ``(a, b)`` in which the nodes may be turned by `angle`: turned
    rules are equally exact for polynomials, so that their spread shows the error.
    """

    nodes: int = 24  # a dimension; even, so that no node lies on the line by which the plane is halved
    angle: float = np.pi / 4
    dropped: float = 1e-9  # total weight of the nodes left out

    def __post_init__(self) -> None:
        remedy = "Use for example GaussHermite(24)."
        reason = "the rule is a product of half planes with a few nodes a dimension at least"
        nodes = checks.integer("nodes", self.nodes, at_least=4, at_most=200, reason=reason, remedy=remedy)
        if nodes % 2:
            raise checks.complaint("nodes", "be even", "half of each plane is used, by symmetry", nodes, remedy)

    def __str__(self) -> str:
        return f"Gauss-Hermite with {self.nodes} nodes a dimension"

    def companions(self) -> list[Rule]:
        fewer = min(6, 2 * (self.nodes // 8))
        return [replace(self, nodes=self.nodes - fewer), replace(self, nodes=self.nodes - 2, angle=-0.6)]

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
        plane, lightest = _plane(self.nodes, self.angle, self.dropped)
        ratio = channel.beta_ratio
        total: Floats = pair_sums(plane, lightest, *gaussian, overlaps.Sigma, channel.beta, ratio)
        total = total[:-1] / total[-1]
        report, square, f_a, f_b = total[:REPORTED], total[[-3]], total[[-2]], total[[-1]]
        stein_z, stein_z_0 = stein(gaussian, f_a, f_b)
        return Averages(
            slope_z=report[[TRACE_Z]],
            slope_z_0=report[[TRACE_ANCHOR]] * ratio,
            stein_z=stein_z,
            stein_z_0=stein_z_0,
            square=square,
            square_slope=report[[SQUARE_Z]],
            train_error=report[[LOSS_AT_P]],
            test_error=report[[LOSS_AT_Z]],
            jumps=float(report[OTHER_MINIMUM]),
        )


@cache
def _plane(nodes: int, angle: float, dropped: float) -> tuple[Floats, float]:
    """Nodes ``(a, b, weight)`` of half a plane, heaviest first, and the product weight below which pairs are left out.

    Each plane may be reflected by itself (swap the tokens; flip all signs and swap them), so half of it is enough.
    """
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    first, second = np.meshgrid(x, x, indexing="ij")
    weight = np.outer(w, w) / w.sum() ** 2
    half = first > 0
    first, second, weight = first[half], second[half], 2.0 * weight[half]
    cosine, sine = np.cos(angle), np.sin(angle)
    plane = np.column_stack([cosine * first - sine * second, sine * first + cosine * second, weight])
    plane = plane[np.argsort(-weight)]
    products = np.sort(np.outer(weight, weight).ravel())
    lightest = products[np.searchsorted(np.cumsum(products), dropped)]
    return np.ascontiguousarray(plane), float(lightest)
