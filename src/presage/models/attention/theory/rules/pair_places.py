"""Minima of the proximal problem of two tokens along a line, and how they move with it; compiled.

A line moves in the plane ``(a2, b2)`` with a parameter t, ``(a2, b2) = (a, b) + t (slope_a, slope_b)``; along it a
minimum is followed by continuity.
"""

from __future__ import annotations

from typing import NamedTuple

from presage.models.attention.channels.pair_prox import pair_label, pair_minimum, pair_newton
from presage.models.attention.channels.prox_report import ROOT_2
from presage.protocol.njit import njit

ROUGH = 0.25  # over beta: what p may be off a straight step between two nodes; no larger jump is overlooked
DISTINCT = 1e-3  # over beta: two minima nearer than this are one


class Setting(NamedTuple):
    """What all lines share."""

    anchor: float  # of the anchor: ratio sqrt(rho_0)
    mean: float
    sigma: float
    Sigma: float
    beta: float
    slope_a: float  # of a2 and b2 along a line
    slope_b: float


class Line(NamedTuple):
    """What all samples of a line share."""

    a1: float
    b1: float
    a2: float  # at t = 0
    b2: float
    z1: float


class Sample(NamedTuple):
    """A sample of a line: what lines differ in, and its label."""

    a2: float
    z2: float
    s1: float
    s2: float


class Place(NamedTuple):
    """A minimum at t, how fast it moves with t, the label there, and the terms of the loss."""

    t: float
    e1: float
    e2: float
    r1: float
    r2: float
    s1: float
    s2: float
    loss: float
    slope_1: float
    slope_2: float
    curvature_1: float
    curvature_2: float
    output_1: float
    output_2: float


NUMBERS = len(Place._fields)


@njit(cache=True, error_model="numpy")
def sample_at(line, setting, t):  # type: ignore[no-untyped-def]
    """The sample at t."""
    a2, b2 = line.a2 + t * setting.slope_a, line.b2 + t * setting.slope_b
    s1, s2 = pair_label(setting.anchor * line.a1, setting.anchor * a2, setting.beta)
    return Sample(a2, setting.mean * a2 + setting.sigma * b2, s1, s2)


@njit(cache=True, error_model="numpy")
def _place(sample, setting, t, e1, e2, terms):  # type: ignore[no-untyped-def]
    """The minimum ``e`` at t with its rate ``A (dz/dt - Sigma C d(anchor)/dt)``, ``A = (1 + Sigma H)^-1``.

    C is the derivative of the gradient of the loss in the anchor.
    """
    Sigma, beta = setting.Sigma, setting.beta
    loss, k1, k2, c1, c2, p1, p2 = terms
    K11 = 1.0 + Sigma * (c1 + c2)
    K22 = 1.0 + 2.0 * Sigma * (c1 + c2)
    K12 = Sigma * ROOT_2 * (c1 - c2)
    pull_1, pull_2 = 0.0, setting.mean * setting.slope_a + setting.sigma * setting.slope_b
    if setting.slope_a != 0.0:
        x1 = beta * beta * p1 * (1.0 - p1) * sample.s1 * (1.0 - sample.s1)
        x2 = beta * beta * p2 * (1.0 - p2) * sample.s2 * (1.0 - sample.s2)
        along = 4.0 * Sigma * setting.anchor * setting.slope_a
        pull_1 += along * ROOT_2 * (x1 - x2)
        pull_2 += along * 2.0 * (x1 + x2)
    determinant = K11 * K22 - K12 * K12
    r1, r2 = (K22 * pull_1 - K12 * pull_2) / determinant, (K11 * pull_2 - K12 * pull_1) / determinant
    return Place(t, e1, e2, r1, r2, sample.s1, sample.s2, loss, k1, k2, c1, c2, p1, p2)


@njit(cache=True, error_model="numpy")
def lowest_at(line, setting, t, scan):  # type: ignore[no-untyped-def]
    """The lowest minimum at t, its value, and whether there are others."""
    sample = sample_at(line, setting, t)
    e1, e2, value, terms, other = pair_minimum(
        setting.anchor * line.a1,
        setting.anchor * sample.a2,
        sample.s1,
        sample.s2,
        line.z1,
        sample.z2,
        setting.Sigma,
        setting.beta,
        scan,
    )
    return _place(sample, setting, t, e1, e2, terms), value, other


@njit(cache=True, error_model="numpy")
def followed(line, setting, place, t):  # type: ignore[no-untyped-def]
    """The minimum that `place` moves to, and its value."""
    sample = sample_at(line, setting, t)
    step = t - place.t
    e1, e2, value, terms = pair_newton(
        place.e1 + step * place.r1,
        place.e2 + step * place.r2,
        line.z1,
        sample.z2,
        sample.s1,
        sample.s2,
        setting.Sigma,
        setting.beta,
        0.5 / setting.beta,
    )
    return _place(sample, setting, t, e1, e2, terms), value


@njit(cache=True, error_model="numpy")
def is_rough(left, right, setting):  # type: ignore[no-untyped-def]
    """Whether the minimum moves from `left` to `right` in another way than either of its rates says."""
    step = right.t - left.t
    move_1, move_2 = right.e1 - left.e1, right.e2 - left.e2
    off_left = (move_1 - step * left.r1) ** 2 + (move_2 - step * left.r2) ** 2
    off_right = (move_1 - step * right.r1) ** 2 + (move_2 - step * right.r2) ** 2
    return max(off_left, off_right) * setting.beta**2 > ROUGH**2


@njit(cache=True, error_model="numpy")
def are_apart(one, other, beta):  # type: ignore[no-untyped-def]
    """Whether two minima at one t are not the same."""
    return ((one.e1 - other.e1) ** 2 + (one.e2 - other.e2) ** 2) * beta**2 > DISTINCT**2


@njit(cache=True, error_model="numpy")
def store(row, place):  # type: ignore[no-untyped-def]
    """Write a place into a row of numbers."""
    for k, value in enumerate(place):
        row[k] = value


@njit(cache=True, error_model="numpy")
def stored(row):  # type: ignore[no-untyped-def]
    """The place that a row of numbers is."""
    head = (row[0], row[1], row[2], row[3], row[4], row[5], row[6])
    return Place(*head, row[7], row[8], row[9], row[10], row[11], row[12], row[13])


@njit(cache=True, error_model="numpy")
def terms_of(place):  # type: ignore[no-untyped-def]
    """The terms of the loss at a place, as `pair_report` wants them."""
    slopes, curvatures = (place.slope_1, place.slope_2), (place.curvature_1, place.curvature_2)
    return place.loss, *slopes, *curvatures, place.output_1, place.output_2
