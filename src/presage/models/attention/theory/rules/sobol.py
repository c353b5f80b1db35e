"""Scrambled Sobol points for any number of active directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.numeric_sums import sums
from presage.models.attention.theory.rules.pair_points import pair_points
from presage.models.attention.theory.rules.rule import Averages, Gaussian, Rule, averages_of_sums, gaussian_of
from presage.models.attention.theory.rules.sample_sums import averages_of_samples
from presage.models.attention.theory.rules.token_sums import points_needed, token_sums
from presage.protocol import checks


@final
@dataclass(frozen=True)
class Sobol(Rule):
    """Independent scrambles of a Sobol sequence: one estimate each, so that their spread is the standard error."""

    nodes: int = 1024
    replicates: int = 16
    seed: int = 0

    regular = False

    def __post_init__(self) -> None:
        remedy = "Use for example Sobol(nodes=4096, replicates=16, seed=0)."
        checks.integer("nodes", self.nodes, at_least=16, reason="an average needs points", remedy=remedy)
        checks.integer("replicates", self.replicates, at_least=1, reason="each is one estimate", remedy=remedy)
        checks.integer("seed", self.seed, at_least=0, reason="it seeds the scrambles", remedy=remedy)

    @property
    def has_error_bar(self) -> bool:
        """The spread of independent estimates is the error bar."""
        return self.replicates > 1

    def resolution(self, jumps: float) -> float:
        """Half of the noise of counting those that do."""
        return 0.5 * sqrt(jumps / (self.nodes * self.replicates))

    def __str__(self) -> str:
        return f"{self.replicates} scrambles of {self.nodes} Sobol points"

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        gaussian = gaussian_of(rho_0, overlaps, sigma)
        if isinstance(channel, Softmax) and channel.n_tokens > 2:
            return self.of_tokens(channel, gaussian, overlaps.Sigma)
        scattered = [scattered_points(2 * channel.n_active, self.nodes, seed) for seed in self._seeds]
        if isinstance(channel, Softmax):
            beta, ratio = channel.beta, channel.beta_ratio
            sums_of_pairs = [pair_points(x, *gaussian, overlaps.Sigma, beta, ratio) for x in scattered]
            return averages_of_samples(gaussian, np.array(sums_of_pairs) / self.nodes, ratio)
        k, weight = channel.n_active, np.full(self.nodes, 1.0 / self.nodes)
        own = (sums(channel, *gaussian, overlaps.Sigma, x[:, :k], x[:, k:], weight) for x in scattered)
        return averages_of_sums(gaussian, list(own))

    @property
    def _seeds(self) -> list[int]:
        return [int(seed) for seed in np.random.SeedSequence(self.seed).generate_state(self.replicates)]

    def of_tokens(self, channel: Softmax, gaussian: Gaussian, Sigma: float, starts: int = 0) -> Averages:
        """Averages of three and more tokens; minima are looked for from `starts` at random beside the usual ones."""
        guessed, single = points_needed(channel.n_tokens, self.nodes)
        points = [scattered_points(2 * channel.n_active, guessed, seed) for seed in self._seeds]
        rows = [scattered_points(2 * (channel.n_tokens - 1), single, seed) for seed in self._seeds]
        means = token_sums(channel, gaussian, Sigma, self.nodes, points, rows, starts)
        return averages_of_samples(gaussian, means, channel.beta_ratio)


@cache
def scattered_points(dimension: int, nodes: int, seed: int) -> Floats:
    """Scrambled Sobol points of a standard Gaussian, nodes x dimension."""
    from scipy.special import ndtri
    from scipy.stats import qmc  # slow to load, and not needed for two tokens

    uniform = qmc.Sobol(dimension, scramble=True, rng=seed).random(nodes)
    return np.asarray(ndtri(np.clip(uniform, 1e-15, 1.0 - 1e-15)))
