"""A product rule for two tokens whose last dimension is walked along, and cut where samples jump."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.prox_report import TRACE_ANCHOR, TRACE_Z
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.pair_jumps import JUMP_ANCHOR, JUMP_DERIVATIVES, JUMP_SLOPE, JUMP_SQUARE
from presage.models.attention.theory.rules.pair_lines import END, pair_lines
from presage.models.attention.theory.rules.pair_places import Setting
from presage.models.attention.theory.rules.rule import PER_DROPPED, Averages, Rule, gaussian_of, lightest_of
from presage.models.attention.theory.rules.sample_sums import WEIGHT, averages_of_samples, derivatives
from presage.protocol import checks

LADDER = (8, 16, 28, 40, 56, 80, 112, 160, 224, 320)  # nodes of rules that are tried one after the other
COARSEST, FINEST = 4, 360  # beyond, weights of Gauss-Hermite rules are no numbers
LONGEST = 96  # nodes of a piece of a line at most
DROPPED = 1e-8  # total weight of the samples left out


@final
@dataclass(frozen=True)
class CutLines(Rule):
    """For a softmax of two tokens: Gauss-Hermite in three dimensions, lines cut at jumps in the fourth.

    `nodes` are those of each of the two dimensions of the label, where a sharp softmax makes averages vary most; the
    other two, given the label, have fewer.
    """

    nodes: int = 24

    def __post_init__(self) -> None:
        remedy = "Use for example CutLines(24)."
        reason = "half of the nodes of each dimension of the label are used, by symmetry"
        nodes = checks.integer("nodes", self.nodes, at_least=COARSEST, at_most=FINEST, reason=reason, remedy=remedy)
        if nodes % 2:
            raise checks.complaint("nodes", "be even", reason, nodes, remedy)

    def __str__(self) -> str:
        return f"lines cut at jumps, with {self.nodes} nodes a dimension of the label"

    @property
    def samples(self) -> int:
        """How many samples it averages over where none of them jump, at most."""
        lines = _lines(self.nodes)
        return len(lines.outer) * len(lines.nodes)

    @property
    def rounding(self) -> float:
        return PER_DROPPED * DROPPED

    @property
    def has_error_bar(self) -> bool:
        """Whether there is a coarser one."""
        return self.nodes > COARSEST

    def coarser(self) -> list[Rule]:
        below = [nodes for nodes in LADDER if nodes < self.nodes] or [COARSEST]
        return [CutLines(nodes) for nodes in below[-2:]]

    def companions(self) -> list[Rule]:
        return self.coarser()

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        if not (isinstance(channel, Softmax) and channel.n_tokens == 2):
            raise checks.complaint(
                "rule",
                "fit the channel",
                "lines are cut at the jumps of a softmax of two tokens",
                self,
                "Use Sobol() for more tokens, GaussHermite() for a channel of your own, or leave the rule out.",
            )
        gaussian = gaussian_of(rho_0, overlaps, sigma)
        ratio, Sigma = channel.beta_ratio, overlaps.Sigma
        setting = Setting(ratio * gaussian.root_rho, gaussian.mean, gaussian.sigma, Sigma, channel.beta, 0.0, 1.0)
        total, jumped = pair_lines(*_lines(self.nodes), setting)
        mean, jumped = total / total[WEIGHT], jumped / total[WEIGHT]
        slopes = derivatives(mean, Sigma)
        slopes[:5] += jumped[JUMP_DERIVATIVES:].reshape(5, 3)
        mean[TRACE_Z] += jumped[JUMP_SLOPE]
        mean[TRACE_ANCHOR] += jumped[JUMP_ANCHOR]
        return averages_of_samples(gaussian, mean[None], ratio, slopes)._replace(jump_square=float(jumped[JUMP_SQUARE]))


class Lines(NamedTuple):
    """What `pair_lines` wants to know of a rule, in its order."""

    outer: Floats
    lightest: float
    nodes: Floats
    weights: Floats
    legendre: Floats
    density: float


@cache
def _lines(nodes: int) -> Lines:
    """Lines ``(a1, b1, a2, b2, weight)`` and the rules along them.

    Each plane ``(a, b)`` may be reflected by itself (swap the tokens; flip all signs and swap them), so that a quarter
    of the labels is enough.
    """
    given_label = 2 * ((nodes + 12) // 6)
    label, label_weight = _hermite(nodes)
    across, across_weight = _hermite(given_label)
    along, along_weight = _hermite(given_label + 2)
    half = label > 0.0
    label, label_weight = label[half], 2.0 * label_weight[half]
    a1, b1, a2 = np.meshgrid(label, across, label, indexing="ij")
    weight = np.einsum("i,j,k->ijk", label_weight, across_weight, label_weight)
    outer = np.column_stack([a1.ravel(), b1.ravel(), a2.ravel(), np.zeros(a1.size), weight.ravel()])
    lightest = lightest_of(outer[:, 4], along_weight, DROPPED)
    kept = outer[outer[:, 4] * along_weight.max() >= lightest]
    inside = np.abs(along) < END
    return Lines(
        np.ascontiguousarray(kept),
        lightest,
        along[inside],
        along_weight[inside],
        _legendre(),
        len(along) / 6.0,
    )


def _hermite(nodes: int) -> tuple[Floats, Floats]:
    x, weight = np.polynomial.hermite_e.hermegauss(nodes)
    return x, weight / weight.sum()


@cache
def _legendre() -> Floats:
    """Gauss-Legendre nodes and weights on the unit interval, by their number."""
    rules = np.zeros((2, LONGEST + 1, LONGEST))
    for m in range(1, LONGEST + 1):
        x, weight = np.polynomial.legendre.leggauss(m)
        rules[0, m, :m], rules[1, m, :m] = 0.5 * (1.0 + x), 0.5 * weight
    return rules
