"""Scrambled Sobol points for any number of active directions."""

from __future__ import annotations

from dataclasses import dataclass
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
from presage.models.attention.channels.softmax import Softmax, blind_direction
from presage.models.attention.channels.tokens_prox import tokens_prox
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.numeric_sums import sums
from presage.models.attention.theory.rules.pair_sums import pair_points
from presage.models.attention.theory.rules.rule import Averages, Gaussian, Rule, averages_of_sums, gaussian_of, stein
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

    def __str__(self) -> str:
        return f"{self.replicates} scrambles of {self.nodes} Sobol points"

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        gaussian = gaussian_of(rho_0, overlaps, sigma)
        seeds = np.random.SeedSequence(self.seed).generate_state(self.replicates)
        scattered = [scattered_points(2 * channel.n_active, self.nodes, seed) for seed in seeds]
        if not isinstance(channel, Softmax):
            k, weight = channel.n_active, np.full(self.nodes, 1.0 / self.nodes)
            own = (sums(channel, *gaussian, overlaps.Sigma, x[:, :k], x[:, k:], weight) for x in scattered)
            return averages_of_sums(gaussian, list(own))
        columns = [_sobol_sums(channel, gaussian, overlaps.Sigma, points) for points in scattered]
        report, square, f_a, f_b = (np.array(column) for column in zip(*columns, strict=True))
        stein_z, stein_z_0 = stein(gaussian, f_a, f_b)
        return Averages(
            slope_z=report[:, TRACE_Z],
            slope_z_0=report[:, TRACE_ANCHOR] * channel.beta_ratio,
            stein_z=stein_z,
            stein_z_0=stein_z_0,
            square=square,
            square_slope=report[:, SQUARE_Z],
            train_error=report[:, LOSS_AT_P],
            test_error=report[:, LOSS_AT_Z],
            jumps=float(report[:, OTHER_MINIMUM].mean()),
        )


@cache
def scattered_points(dimension: int, nodes: int, seed: int) -> Floats:
    """Scrambled Sobol points of a standard Gaussian, nodes x dimension."""
    from scipy.special import ndtri
    from scipy.stats import qmc  # slow to load, and not needed for two tokens

    uniform = qmc.Sobol(dimension, scramble=True, rng=int(seed)).random(nodes)
    return np.asarray(ndtri(np.clip(uniform, 1e-15, 1.0 - 1e-15)))


@cache
def _active_basis(n_tokens: int) -> Floats:
    """Orthonormal basis (columns) of the components orthogonal to the shift that softmax cannot see."""
    blind = blind_direction(n_tokens)
    basis, _ = np.linalg.qr(np.column_stack([blind, np.eye(blind.size)[:, :-1]]))
    return np.ascontiguousarray(basis[:, 1:])


def _sobol_sums(
    channel: Softmax, gaussian: Gaussian, Sigma: float, points: Floats
) -> tuple[Floats, float, float, float]:
    """Mean report, ``|f|^2``, ``f.a`` and ``f.b`` over one set of points."""
    ratio = channel.beta_ratio
    if channel.n_tokens == 2:
        total = pair_points(points, *gaussian, Sigma, channel.beta, ratio) / len(points)
        return total[:REPORTED], total[-3], total[-2], total[-1]
    basis = _active_basis(channel.n_tokens)
    a, b = points[:, : channel.n_active], points[:, channel.n_active :]
    anchor = (ratio * gaussian.root_rho) * (a @ basis.T)
    z = (gaussian.mean * a + gaussian.sigma * b) @ basis.T
    f, report = np.empty_like(z), np.empty((len(z), REPORTED))
    tokens_prox(anchor, z, Sigma, channel.beta, channel.n_tokens, f, report)
    active = f @ basis
    sums = (np.sum(f * f), np.sum(active * a), np.sum(active * b))
    square, f_a, f_b = (float(value) / len(points) for value in sums)
    return report.mean(axis=0), square, f_a, f_b
