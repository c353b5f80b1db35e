"""Scattered points whose proximal maps are looked for longer, to see what the usual search misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.rule import Averages, Rule, gaussian_of
from presage.models.attention.theory.rules.sobol import Sobol


@final
@dataclass(frozen=True)
class MoreStarts(Rule):
    """For a softmax of three and more tokens: `points`, each with so many `starts` at random beside the usual ones."""

    points: Sobol
    starts: int

    regular = False

    def __str__(self) -> str:
        return f"{self.points}, {self.starts} more starts each"

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        assert isinstance(channel, Softmax)
        return self.points.of_tokens(channel, gaussian_of(rho_0, overlaps, sigma), overlaps.Sigma, self.starts)
