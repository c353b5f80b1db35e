"""Averages over the Gaussian pre-activations of one sample: Gauss-Hermite for two tokens, Sobol points for any.

Write ``z_0 = sqrt(rho_0) a`` and ``z = (m/sqrt(rho_0)) a + sigma b`` with ``a``, ``b`` standard and
``sigma^2 = q - m^2/rho_0``. Softmax is blind to a common shift, so only the active directions are averaged over:
two for two tokens, ``L_in - 1`` in general.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import NamedTuple, final

import numpy as np
from numba import njit

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.pair_prox import pair_prox, scan_space
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
from presage.models.attention.theory.numeric_averages import MOST_PRODUCT, Sums, product_nodes, sums
from presage.models.attention.theory.order_parameters import Overlaps
from presage.protocol import checks


class Averages(NamedTuple):
    """Averages of ``f = (p - z)/Sigma`` and of the loss, one entry for each independent estimate of them."""

    slope_z: Floats  # E sum_a df_a/dz_a from the Hessian at p
    slope_z_0: Floats  # E sum_a df_a/dz_0a from the Hessian at p
    stein_z: Floats  # the same two by Stein's lemma: right also where p jumps
    stein_z_0: Floats
    square: Floats  # E |f|^2
    square_slope: Floats  # E |df/dz|_F^2, jumps left out
    train_error: Floats  # E l(p)
    test_error: Floats  # E l(z)
    jumps: float  # fraction of samples near which p jumps


class Rule(ABC):
    """A way to average over the pre-activations."""

    @abstractmethod
    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        """Average everything that state evolution needs, at the given overlaps.

        `sigma` is the deviation of ``z`` given ``z_0``, where it is known better than from the overlaps.
        """


class _Gaussian(NamedTuple):
    """Coefficients that make ``(z_0, z)`` from ``(a, b)``."""

    root_rho: float
    mean: float
    sigma: float


def gaussian_of(rho_0: float, overlaps: Overlaps, sigma: float | None) -> _Gaussian:
    """Coefficients at given overlaps; `sigma` where it is known better than from them."""
    root = sqrt(rho_0)
    mean = overlaps.m / root
    return _Gaussian(root, mean, sqrt(max(overlaps.q - mean * mean, 0.0)) if sigma is None else sigma)


def _stein(gaussian: _Gaussian, f_a: Floats, f_b: Floats) -> tuple[Floats, Floats]:
    """Slopes in ``z`` and ``z_0`` from ``E f.a`` and ``E f.b`` (zero where z has no variance of its own).

    Equation: [BETKZ25] (43), (55), applied to p - z.
    Checked: tests/models/attention/theory/test_expectations.py::test_stein_and_hessian_forms_agree
    """
    if gaussian.sigma == 0.0:
        return np.zeros_like(f_a), np.zeros_like(f_a)
    slope_z = f_b / gaussian.sigma
    return slope_z, (f_a - gaussian.mean * slope_z) / gaussian.root_rho


def own_averages(gaussian: _Gaussian, found: Sequence[Sums]) -> Averages:
    """Averages of a channel of the user's own, one estimate for each of the sums."""
    column = dict(zip(Sums._fields, np.array(found).T, strict=True))
    stein_z, stein_z_0 = _stein(gaussian, column.pop("f_a"), column.pop("f_b"))
    jumps = float(column.pop("jumps").mean())
    return Averages(**column, stein_z=stein_z, stein_z_0=stein_z_0, jumps=jumps)


@final
@dataclass(frozen=True)
class Exact(Rule):
    """Linear channels: ``f = (z_0 - z) 4/(1 + 4 Sigma)``, and every average is in closed form.

    Equation: [BETKZ25] Appendix C.
    Checked: tests/models/attention/theory/test_state_evolution.py::test_linear_averages_give_the_explicit_map
    """

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        checks.instance(
            "channel",
            channel,
            Linear,
            reason="only the averages of a linear channel are in closed form",
            remedy="Use GaussHermite() or Sobol().",
        )
        root_rho, mean, own = gaussian_of(rho_0, overlaps, sigma)
        distance = (root_rho - mean) ** 2 + own**2  # E (z_0 - z)^2 of a component
        L, shrunk = channel.n_in, 1.0 / (1.0 + 4.0 * overlaps.Sigma)
        slope = np.array([4.0 * L * shrunk])
        test_error = np.array([2.0 * L * distance])
        return Averages(
            slope_z=-slope,
            slope_z_0=slope,
            stein_z=-slope,
            stein_z_0=slope,
            square=np.array([16.0 * L * shrunk**2 * distance]),
            square_slope=np.array([16.0 * L * shrunk**2]),
            train_error=test_error * shrunk**2,
            test_error=test_error,
            jumps=0.0,
        )


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
            folds = channel.anatomy.folds
            nodes = product_nodes(channel.n_active, self.nodes, self.angle, self.dropped, folds)
            return own_averages(gaussian, [sums(channel, *gaussian, overlaps.Sigma, *nodes)])
        plane, lightest = _plane(self.nodes, self.angle, self.dropped)
        ratio = channel.beta_ratio
        total: Floats = _pair_sums(plane, lightest, *gaussian, overlaps.Sigma, channel.beta, ratio)
        total = total[:-1] / total[-1]
        report, square, f_a, f_b = total[:REPORTED], total[[-3]], total[[-2]], total[[-1]]
        stein_z, stein_z_0 = _stein(gaussian, f_a, f_b)
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


@njit(cache=True, error_model="numpy")
def _pair_sums(plane, lightest, root_rho, mean, sigma, Sigma, beta, ratio):  # type: ignore[no-untyped-def]
    """Sum the reports, ``|f|^2``, ``f.a``, ``f.b`` and the weights over pairs of nodes of the two planes."""
    total = np.zeros(REPORTED + 4)
    report = np.empty(REPORTED)
    scan = scan_space()
    for i in range(plane.shape[0]):
        a1, b1, weight_1 = plane[i]
        for j in range(plane.shape[0]):
            a2, b2, weight_2 = plane[j]
            weight = weight_1 * weight_2
            if weight < lightest:
                break
            point = (a1, a2, b1, b2)
            _add_pair(total, report, scan, weight, point, root_rho, mean, sigma, Sigma, beta, ratio)
            total[REPORTED + 3] += weight
    return total


@final
@dataclass(frozen=True)
class Sobol(Rule):
    """Independent scrambles of a Sobol sequence: one estimate each, so that their spread is the standard error."""

    nodes: int = 1024
    replicates: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        remedy = "Use for example Sobol(nodes=4096, replicates=16, seed=0)."
        checks.integer("nodes", self.nodes, at_least=16, reason="an average needs points", remedy=remedy)
        checks.integer("replicates", self.replicates, at_least=1, reason="each is one estimate", remedy=remedy)
        checks.integer("seed", self.seed, at_least=0, reason="it seeds the scrambles", remedy=remedy)

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        gaussian = gaussian_of(rho_0, overlaps, sigma)
        seeds = np.random.SeedSequence(self.seed).generate_state(self.replicates)
        scattered = [scattered_points(2 * channel.n_active, self.nodes, seed) for seed in seeds]
        if not isinstance(channel, Softmax):
            k, weight = channel.n_active, np.full(self.nodes, 1.0 / self.nodes)
            own = (sums(channel, *gaussian, overlaps.Sigma, x[:, :k], x[:, k:], weight) for x in scattered)
            return own_averages(gaussian, list(own))
        columns = [_sobol_sums(channel, gaussian, overlaps.Sigma, points) for points in scattered]
        report, square, f_a, f_b = (np.array(column) for column in zip(*columns, strict=True))
        stein_z, stein_z_0 = _stein(gaussian, f_a, f_b)
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
    channel: Softmax, gaussian: _Gaussian, Sigma: float, points: Floats
) -> tuple[Floats, float, float, float]:
    """Mean report, ``|f|^2``, ``f.a`` and ``f.b`` over one set of points."""
    ratio = channel.beta_ratio
    if channel.n_tokens == 2:
        total = _pair_points(points, *gaussian, Sigma, channel.beta, ratio) / len(points)
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


@njit(cache=True, error_model="numpy")
def _pair_points(points, root_rho, mean, sigma, Sigma, beta, ratio):  # type: ignore[no-untyped-def]
    total = np.zeros(REPORTED + 3)
    report = np.empty(REPORTED)
    scan = scan_space()
    for i in range(points.shape[0]):
        _add_pair(total, report, scan, 1.0, points[i], root_rho, mean, sigma, Sigma, beta, ratio)
    return total


@njit(cache=True, error_model="numpy", inline="always")
def _add_pair(total, report, scan, weight, point, root_rho, mean, sigma, Sigma, beta, ratio):  # type: ignore[no-untyped-def]
    """Add one weighted node ``(a1, a2, b1, b2)``: its report, then ``|f|^2``, ``f.a`` and ``f.b``."""
    a1, a2, b1, b2 = point
    f1, f2 = pair_prox(
        ratio * root_rho * a1,
        ratio * root_rho * a2,
        mean * a1 + sigma * b1,
        mean * a2 + sigma * b2,
        Sigma,
        beta,
        report,
        scan,
    )
    for k in range(REPORTED):
        total[k] += weight * report[k]
    total[REPORTED] += weight * (f1 * f1 + f2 * f2)
    total[REPORTED + 1] += weight * (f1 * a1 + f2 * a2)
    total[REPORTED + 2] += weight * (f1 * b1 + f2 * b2)
