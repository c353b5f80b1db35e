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

    exact: bool = False  # whether nothing is left to refine
    regular: bool = True  # whether its nodes are a grid: where samples jump, its map is then a staircase

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


def averages_of_sums(gaussian: Gaussian, found: Sequence[Sums]) -> Averages:
    """Averages of a channel of the user's own, one estimate for each of the sums."""
    column = dict(zip(Sums._fields, np.array(found).T, strict=True))
    stein_z, stein_z_0 = stein(gaussian, column.pop("f_a"), column.pop("f_b"))
    jumps = float(column.pop("jumps").mean())
    return Averages(**column, stein_z=stein_z, stein_z_0=stein_z_0, jumps=jumps)
