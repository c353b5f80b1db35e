"""Averages over the Gaussian pre-activations of one sample: what is averaged, and what a way to do it answers.

Write ``z_0 = sqrt(rho_0) a`` and ``z = (m/sqrt(rho_0)) a + sigma b`` with ``a``, ``b`` standard and
``sigma^2 = q - m^2/rho_0``. Softmax is blind to a common shift, so only the active directions are averaged over:
two for two tokens, ``L_in - 1`` in general.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.numeric_sums import Sums

ROUNDING = 2e-8  # relative, of an observable
PER_DROPPED = 20.0  # the same over the total weight of the samples left out: those lie far out, where averages grow


class Averages(NamedTuple):
    """Averages of ``f = (p - z)/Sigma`` and of the loss, one entry for each independent estimate of them."""

    slope_z: Floats  # E sum_a df_a/dz_a from the Hessian at p, and from jumps where lines are cut there
    slope_z_0: Floats  # E sum_a df_a/dz_0a likewise
    stein_z: Floats  # the same two by Stein's lemma: right also where p jumps
    stein_z_0: Floats
    square: Floats  # E |f|^2
    square_slope: Floats  # E |df/dz|_F^2, jumps left out
    train_error: Floats  # E l(p)
    test_error: Floats  # E l(z)
    jumps: float  # fraction of samples near which p jumps
    jump_square: float | None = None  # |f_B - f_A|^2 over the surface where p jumps; None where it is not known
    # Of stein_z, stein_z_0, square, train_error, square_slope, test_error (rows) in mean, sigma, Sigma, where known.
    derivatives: Floats | None = None

    def moved(self, step: Floats) -> Averages:
        """The averages after a small step of (mean, sigma, Sigma), to first order."""
        assert self.derivatives is not None
        slope_z, slope_z_0, square, train_error, square_slope, test_error = self.derivatives @ step
        return self._replace(
            slope_z=self.slope_z + slope_z,
            slope_z_0=self.slope_z_0 + slope_z_0,
            stein_z=self.stein_z + slope_z,
            stein_z_0=self.stein_z_0 + slope_z_0,
            square=self.square + square,
            square_slope=self.square_slope + square_slope,
            train_error=self.train_error + train_error,
            test_error=self.test_error + test_error,
        )


class Rule(ABC):
    """A way to average over the pre-activations."""

    exact: bool = False  # whether nothing is left to refine
    regular: bool = True  # whether its nodes are a grid: where samples jump, its map is a staircase unless it cuts them

    @property
    def rounding(self) -> float:
        """What rounding, and samples that are left out, may add to an observable, relative."""
        return ROUNDING

    @property
    def has_error_bar(self) -> bool:
        """Whether it can tell its own error: by independent estimates, or by companions."""
        return True

    @abstractmethod
    def __str__(self) -> str:
        """What it is, in words."""

    def companions(self) -> list[Rule]:
        """Rules whose distance from a deterministic one shows its error: coarser, and turned."""
        return []

    def coarser(self) -> list[Rule]:
        """Rules, coarsest first, whose roots show the error of one whose averages have derivatives."""
        return []

    def resolution(self, jumps: float) -> float:
        """How well averages are known, relative, if a fraction `jumps` of the samples jump; zero where it is better."""
        return 0.0

    @abstractmethod
    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        """Average everything that state evolution needs, at the given overlaps.

        `sigma` is the deviation of ``z`` given ``z_0``, where it is known better than from the overlaps.
        """


class Gaussian(NamedTuple):
    """Coefficients that make ``(z_0, z)`` from ``(a, b)``."""

    root_rho: float
    mean: float
    sigma: float


def gaussian_of(rho_0: float, overlaps: Overlaps, sigma: float | None) -> Gaussian:
    """Coefficients at given overlaps; `sigma` where it is known better than from them."""
    root = sqrt(rho_0)
    mean = overlaps.m / root
    return Gaussian(root, mean, sqrt(max(overlaps.q - mean * mean, 0.0)) if sigma is None else sigma)


def stein(gaussian: Gaussian, f_a: Floats, f_b: Floats) -> tuple[Floats, Floats]:
    """Slopes in ``z`` and ``z_0`` from ``E f.a`` and ``E f.b`` (zero where z has no variance of its own).

    Equation: [BETKZ25] (43), (55), applied to p - z.
    Checked: tests/models/attention/theory/test_expectations.py::test_stein_and_hessian_forms_agree
    """
    if gaussian.sigma == 0.0:
        return np.zeros_like(f_a), np.zeros_like(f_a)
    slope_z = f_b / gaussian.sigma
    return slope_z, (f_a - gaussian.mean * slope_z) / gaussian.root_rho


def stein_derivatives(gaussian: Gaussian, derivatives: Floats, f_b: float) -> Floats | None:
    """Derivatives with those of `stein` in the first two rows, in place of ``E f.a`` and ``E f.b``.

    Equation: derived from `stein`.
    Checked: tests/models/attention/theory/test_expectations.py::test_derivatives_of_averages_are_those_of_differences
    """
    root_rho, mean, sigma = gaussian
    if sigma == 0.0:
        return None
    of_a, of_b = derivatives[:2]
    slope_z = of_b / sigma - np.array([0.0, f_b / sigma**2, 0.0])
    slope_z_0 = (of_a - mean * slope_z - np.array([f_b / sigma, 0.0, 0.0])) / root_rho
    return np.array([slope_z, slope_z_0, *derivatives[2:]])


def lightest_of(outer: Floats, along: Floats, dropped: float) -> float:
    """The product of two weights below which products add up to `dropped`, from the logarithms of the first in bins."""
    counts, edges = np.histogram(np.log(outer[outer > 0.0]), bins=500)  # those far out are zero to all digits
    middles = np.exp(0.5 * (edges[1:] + edges[:-1]))
    products = np.outer(middles, along).ravel()
    order = np.argsort(products)
    below = np.cumsum((products * np.repeat(counts, along.size))[order])
    return float(products[order][np.searchsorted(below, dropped)])


def averages_of_sums(gaussian: Gaussian, found: Sequence[Sums]) -> Averages:
    """Averages of a channel of the user's own, one estimate for each of the sums."""
    column = dict(zip(Sums._fields, np.array(found).T, strict=True))
    stein_z, stein_z_0 = stein(gaussian, column.pop("f_a"), column.pop("f_b"))
    jumps = float(column.pop("jumps").mean())
    return Averages(**column, stein_z=stein_z, stein_z_0=stein_z_0, jumps=jumps)
