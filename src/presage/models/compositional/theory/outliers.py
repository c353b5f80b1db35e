"""Outliers of the matrix of the first layer: where a feature stands out of the noise, and how well it is seen."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats

ROUNDING = 1e-13  # relative, of closed forms
NEAREST = 1.0 - 1e-9  # of the end of the range of the resolvent
WEAKEST, SCANNED = 1e-9, 240  # of that range, where a threshold is looked for, and places between


class Outliers(NamedTuple):
    """One entry a feature: eigenvalue (the edge where it is not learned), overlap, their bars; and both edges."""

    eigenvalue: Floats
    overlap: Floats
    eigenvalue_bar: Floats
    overlap_bar: Floats
    edges: tuple[float, float]


def bulk_variance(variance: float, alpha: float) -> float:
    """Variance of the semicircle of the noise: ``s^2 = E[T^2] D/n``.

    Equation: [WTDKL26], the bulk of C
    Checked: tests/models/compositional/test_theory.py::test_bulk_is_a_semicircle
    """
    return variance / alpha


def sample_sizes(signal: Floats, variance: float) -> Floats:
    """Samples over D from which on a feature stands out, ``n_i/D = E[T^2]/theta_i^2``: where ``theta_i = s``.

    Equation: [WTDKL26], ``n_i = E[y^2] D/theta_i^2``
    Checked: tests/models/compositional/test_theory.py::test_nothing_stands_out_below_its_threshold
    """
    with np.errstate(divide="ignore"):
        return np.asarray(variance / signal**2)


def room_of_sample_sizes(signal: Floats, variance: float, third_row: Floats) -> Floats:
    """By how much `sample_sizes` may be off, relative: ``|E[T^3 h_i^2]|/(E[T^2]^(3/2) sqrt(n_i/D))``.

    Equation: derived: the next order in 1/sqrt(alpha) at the threshold, beside the leading one.
    Checked: tests/models/compositional/test_theory.py::test_thresholds_of_weak_features_are_as_good_as_they_say
    """
    return np.asarray(np.abs(third_row) / variance**1.5 / np.sqrt(sample_sizes(signal, variance)))


def overlap_of_weak_labels(x: Floats, ratio: Floats) -> Floats:
    """Squared overlap of a feature with its eigenvector: ``(1 - x)/(1 + (r - 1) x)``, ``x = n_i/n``, zero for x > 1.

    ``r = E[T^2 h_i^2]/E[T^2]`` is by how much the noise in the row of the feature is larger than elsewhere. Near the
    threshold of weak features, r = 1, it is ``1 - n_i/n``; well above it ``1 - r n_i/n``, with
    ``r n_i/n = D (1 + 4 lam_i^2)/(2 n lam_i^2)`` for plain labels.

    Equation: derived: ``z = theta + kappa g(z)`` and ``1/(1 - kappa g'(z))``, kappa = r s^2, with g of a semicircle,
        at ``g = 1/theta``: the leading order in 1/sqrt(alpha) on both sides of the threshold, of which [WTDKL26] has
        both ends.
    Checked: tests/models/compositional/test_theory.py::test_overlap_has_both_published_limits
    """
    return np.asarray(np.where(x < 1.0, (1.0 - np.minimum(x, 1.0)) / (1.0 + (ratio - 1.0) * np.minimum(x, 1.0)), 0.0))


def position_of_weak_labels(signal: Floats, s2: float, row: Floats) -> Floats:
    """Eigenvalue of a feature that stands out: ``theta_i + kappa_i/theta_i`` with ``kappa_i = E[T^2 h_i^2]/alpha``.

    Equation: derived: ``z = theta + kappa g(z)`` at ``g = 1/theta``; ``theta + s^2/theta`` for weak features.
    Checked: tests/models/compositional/test_witnesses.py::test_eigenvalues_are_where_they_are_predicted
    """
    inside = np.abs(signal) <= sqrt(s2)
    with np.errstate(divide="ignore", invalid="ignore"):
        outside = signal + row / signal
    return np.where(inside, np.where(signal < 0.0, -2.0, 2.0) * sqrt(s2), outside)


def weak_outliers(
    signal: Floats, variance: float, row: Floats, third: float, third_row: Floats, alpha: float
) -> Outliers:
    """Outliers of labels of any size, to leading order in 1/sqrt(alpha); the bars are what the next order adds."""
    s2 = bulk_variance(variance, alpha)
    s = sqrt(s2)
    x = sample_sizes(signal, variance) / alpha
    overlap = overlap_of_weak_labels(x, row / variance)
    position = position_of_weak_labels(signal, s2, row / alpha)
    theta = np.abs(signal)
    side = np.where(signal < 0.0, -1.0, 1.0)
    k3, p3 = side * third / alpha**2, side * third_row / alpha**2  # next order of bulk and of row
    with np.errstate(divide="ignore", invalid="ignore"):
        learned = x < 1.0
        g = np.where(learned, 1.0 / np.maximum(theta, s), 1.0 / s)
        down = -1.0 / g**2 + s2
        up = row / alpha
        moved = (p3 - k3) * g**2 / np.minimum(down - up, -1e-300)  # of g, by the next order
        slope = np.abs(2.0 * k3 * g * up - 2.0 * p3 * g * down) / (down - up) ** 2
        slope += np.abs(2.0 / g**3 * moved) * up / (down - up) ** 2
        room = np.abs(p3) / s**3  # by which thresholds may be off, relative
        near = np.maximum(room - np.abs(1.0 - 1.0 / x), 0.0)
    overlap_bar = np.where(learned, slope, 0.0) + near
    eigenvalue_bar = np.abs(k3) * g**2 + np.abs(moved * down) + near * s
    bars = (eigenvalue_bar + ROUNDING * np.abs(position), np.minimum(overlap_bar, 1.0) + ROUNDING)
    return Outliers(position, overlap, *bars, (-2.0 * s, 2.0 * s))


def bulk_map(g: Floats, used: Floats, mass: Floats, alpha: float) -> Floats:
    """Where the bulk has a resolvent g: ``psi(g) = 1/g + E[T/(1 - g T/alpha)]``; its edge is where that is least.

    Equation: derived: generalised linear spectral method of the section on weak signals, with ``l = alpha/g``.
    Checked: tests/models/compositional/test_theory.py::test_bounded_labels_tend_to_weak_ones
    """
    pole = 1.0 - np.multiply.outer(g, used) / alpha
    return np.asarray(1.0 / g + (used / pole) @ mass)


def bulk_slope(g: Floats, used: Floats, mass: Floats, alpha: float) -> Floats:
    """Derivative of `bulk_map`: ``-1/g^2 + E[T^2/(1 - g T/alpha)^2]/alpha``.

    Equation: derived.
    Checked: tests/models/compositional/test_theory.py::test_slopes_are_derivatives
    """
    pole = 1.0 - np.multiply.outer(g, used) / alpha
    return np.asarray(-1.0 / g**2 + (used / pole) ** 2 @ mass / alpha)


def row_map(g: float, used: Floats, weighted: Floats, alpha: float) -> float:
    """What a feature adds at a resolvent g: ``phi_i(g) = E[T h_i^2/(1 - g T/alpha)]``; an outlier is at phi = psi.

    Equation: derived: the block of the feature in the resolvent of C.
    Checked: tests/models/compositional/test_theory.py::test_bounded_labels_tend_to_weak_ones
    """
    return float((used / (1.0 - g * used / alpha)) @ weighted)


def row_slope(g: float, used: Floats, weighted: Floats, alpha: float) -> float:
    """Derivative of `row_map`: ``E[T^2 h_i^2/(1 - g T/alpha)^2]/alpha``.

    Equation: derived.
    Checked: tests/models/compositional/test_theory.py::test_slopes_are_derivatives
    """
    return float((used / (1.0 - g * used / alpha)) ** 2 @ weighted) / alpha


def edge_of_bulk(used: Floats, mass: Floats, alpha: float) -> float:
    """The largest resolvent g that the bulk has, at its upper edge: where `bulk_slope` vanishes."""
    end = NEAREST * alpha / float(used.max())

    def slope(g: float) -> float:
        return float(bulk_slope(np.array(g), used, mass, alpha))

    return float(scipy.optimize.brentq(slope, 1e-6 * end, end, xtol=1e-14 * end)) if slope(end) > 0.0 else end


def bounded_outlier(used: Floats, mass: Floats, weighted: Floats, alpha: float, edge: float) -> tuple[float, float]:
    """Eigenvalue and squared overlap of a feature of bounded labels, exact in the limit of many coordinates.

    ``cos^2 = psi'/(psi' - phi')`` at ``phi_i(g) = psi(g)``, g below that of the edge; nothing stands out without it.

    Equation: derived: as `bulk_map`, with the residue of the resolvent at the outlier.
    Checked: tests/models/compositional/test_witnesses.py::test_clipped_labels_are_exact_at_few_samples
    """

    def gap(g: float) -> float:
        return float(bulk_map(np.array(g), used, mass, alpha)) - row_map(g, used, weighted, alpha)

    if gap(edge) >= 0.0:
        return float(bulk_map(np.array(edge), used, mass, alpha)), 0.0
    g = float(scipy.optimize.brentq(gap, 1e-9 * edge, edge, xtol=1e-14 * edge))
    down, up = float(bulk_slope(np.array(g), used, mass, alpha)), row_slope(g, used, weighted, alpha)
    return row_map(g, used, weighted, alpha), down / (down - up)


def bounded_outliers(
    signal: Floats, used: Floats, mass: Floats, weighted: Floats, alpha: float
) -> tuple[Floats, Floats, tuple[float, float]]:
    """Eigenvalues, overlaps and edges for bounded labels; features with a negative signal come out below the bulk."""
    values: dict[float, tuple[Floats, float]] = {}
    for side in (1.0, -1.0):
        values[side] = side * used, edge_of_bulk(side * used, mass, alpha)
    found = []
    for strength, weight in zip(signal, weighted, strict=True):
        side = -1.0 if strength < 0.0 else 1.0
        labels, edge = values[side]
        at, overlap = bounded_outlier(labels, mass, weight, alpha, edge)
        found.append((side * at, overlap))
    ends = [side * float(bulk_map(np.array(edge), labels, mass, alpha)) for side, (labels, edge) in values.items()]
    eigenvalue, overlap_all = np.array(found).T
    return eigenvalue, overlap_all, (ends[1], ends[0])


def bounded_sample_sizes(signal: Floats, used: Floats, mass: Floats, weighted: Floats) -> Floats:
    """Samples over D from which on a feature of bounded labels stands out, exact in the limit of many coordinates.

    With ``u = g/alpha``, at the edge of the bulk: ``D/n_i = u E[T (h_i^2 - 1)/(1 - u T)] = u^2 E[T^2/(1 - u T)^2]``;
    the largest u where it holds is where a feature comes out first.

    Equation: derived: ``phi_i = psi`` and ``psi' = 0``, in `bounded_outlier`.
    Checked: tests/models/compositional/test_theory.py::test_thresholds_of_clipped_labels_are_those_of_spectral_methods
    Checked: tests/models/compositional/test_theory.py::test_nothing_clipped_stands_out_below_its_threshold
    """
    sizes = np.full(len(signal), np.inf)
    for side in (1.0, -1.0):
        rows = np.flatnonzero(side * signal > 0.0)
        if rows.size == 0:
            continue
        labels = side * used
        end = 1.0 / float(labels.max())
        gaps = np.geomspace(1.0 - NEAREST, 1.0 / WEAKEST, SCANNED)
        u = end / (1.0 + gaps)  # from the end of the range on, where 1 - u T vanishes, to very weak features
        shown = u[:, None] * labels / (1.0 - np.multiply.outer(u, labels))
        excess = shown @ (weighted[rows] - mass).T - (shown**2 @ mass)[:, None]
        for column, row in enumerate(rows):
            found = np.flatnonzero(excess[:, column] > 0.0)
            if found.size == 0:
                continue
            bracket = np.log(gaps[max(found[0] - 1, 0) : found[0] + 1])
            sizes[row] = _size_in(bracket, end, labels, mass, weighted[row])
    return sizes


def _size_in(bracket: Floats, end: float, labels: Floats, mass: Floats, weighted: Floats) -> float:
    """The sample size between two places at which a feature begins to stand out; that of the one place if it is one."""
    added = weighted - mass

    def excess(log_gap: float) -> float:
        return float(shown(log_gap) @ added - shown(log_gap) ** 2 @ mass)

    def shown(log_gap: float) -> Floats:
        u = end / (1.0 + np.exp(log_gap))
        return np.asarray(u * labels / (1.0 - u * labels))

    at = float(bracket[0])
    if len(bracket) > 1:
        at = float(scipy.optimize.brentq(excess, float(bracket[0]), float(bracket[1]), xtol=1e-12))
    return 1.0 / float(shown(at) ** 2 @ mass)
