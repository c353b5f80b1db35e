"""Adaptive Gauss-Legendre panels along the bands of ``mu_t``.

Each panel is a range of the angle ``theta`` in a piece ``u = middle + half sin(theta)`` of a band; the pieces are
cut at the edges of the support of ``mu_0`` and at its resolved atoms, where ``v(u)`` bends when ``t`` is small. A
panel is accepted when the last Legendre coefficients of its integrands are small, and halved otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.spectra.bands import inside_bands
from presage.spectra.curve import EPS, Curve
from presage.spectra.legendre_panels import GRADING, TAIL, TO_COEFFICIENTS, WEIGHTS, graded_panels, halved, nodes_of
from presage.spectra.symmetric.biane import curve, height

FINEST = 1e-8  # smallest angle of that grading
SHARP_LEVELS = 10  # panels towards an end that was asked to be sharp
DEEPEST = 60  # halvings; a panel that deep is below rounding


class UnresolvedError(ArithmeticError):
    """The noise is so weak beside the eigenvalues that its bands are narrower than floating-point numbers can tell."""


class Panels(NamedTuple):
    """Accepted panels: geometry of each (rows) and the curve at its nodes (columns)."""

    middle: Floats
    half: Floats
    theta_0: Floats
    theta_1: Floats
    u: Floats
    x: Floats
    rho: Floats
    h: Floats
    mass: Floats  # quadrature weight of each node: int F(x) rho(x) dx = sum mass * F
    unresolved: float  # bound on the relative error of the integrals that refinement has not removed


Integrands = Callable[[Curve], Floats]


def panels(
    law: SpectralLaw,
    t: float,
    bands: Floats,
    integrands: Integrands,
    *,
    tail: float,
    u_from: float = -np.inf,
    u_to: float = np.inf,
    sharp: bool = False,
) -> Panels:
    """Cover the bands between `u_from` and `u_to`; refine until every integrand's tail is below `tail` of its integral.

    `bands` are rows ``(u_left, u_right)``. `integrands` maps a curve to an array (integrand, node). The integral of
    a resolved panel is far better than its tail: Gauss's rule is exact to twice the degree, so its error is of the
    order of ``tail**2``. With `sharp`, the panels are finer and finer towards `u_from` and `u_to`.
    """
    pieces = _pieces(law, t, bands, u_from, u_to)
    if len(pieces) == 0:
        raise UnresolvedError(
            f"The bands of a noise level of {t**0.5:.1e} about eigenvalues up to {np.abs(bands).max():.3g} are "
            "narrower than rounding. Use a larger noise level."
        )
    middle, half, theta_0, theta_1 = _graded(law, t, pieces, bands, (u_from, u_to) if sharp else ())
    done: list[tuple[Floats, ...]] = []
    total = np.zeros(0)
    unresolved = 0.0
    for depth in range(DEEPEST + 1):
        stretch, theta, u = nodes_of(middle, half, theta_0, theta_1)
        point = curve(law, t, u.ravel())
        x, rho, h, speed = (a.reshape(u.shape) for a in point)
        element = rho * speed * half[:, None] * np.cos(theta) * stretch[:, None]
        value = integrands(Curve(x, rho, h, speed)) * element
        whole = np.abs(value @ WEIGHTS)
        total = (total if total.size else 0.0) + whole.sum(axis=1)
        coefficients = np.abs(value @ TO_COEFFICIENTS[-TAIL:].T).max(axis=-1)
        scale = np.maximum(total, 1e-300)[:, None]
        # Rounding of u within a narrow piece far from the origin cannot be refined away.
        rounding = 32 * EPS * np.abs(middle) / half
        rough = (coefficients > scale * tail + whole * rounding).any(axis=0)
        rough &= (whole > 1e-16 * scale).any(axis=0)
        if depth == DEEPEST:
            unresolved += float((coefficients / scale)[:, rough].sum())
            rough[:] = False
        unresolved += float(np.sum((coefficients / scale)[:, ~rough].max(axis=0, initial=0.0) ** 2))
        kept = ~rough
        rows = (middle, half, theta_0, theta_1, u, x, rho, h, element * WEIGHTS)
        done.append(tuple(row[kept] for row in rows))
        if not rough.any():
            break
        total = total - whole[:, rough].sum(axis=1)
        middle, half, theta_0, theta_1 = halved(middle, half, theta_0, theta_1, rough)
    merged = [np.concatenate(column) for column in zip(*done, strict=True)]
    order = np.argsort(merged[4][:, 0], kind="stable")
    middle, half, theta_0, theta_1, u, x, rho, h, mass = (column[order] for column in merged)
    p = Panels(middle, half, theta_0, theta_1, u, x, rho, h, mass, unresolved + 8 * EPS)
    return _mass_of_narrow_bands(law, p, bands, u_from, u_to)


def _graded(law: SpectralLaw, t: float, pieces: Floats, bands: Floats, sharp: tuple[float, ...]) -> tuple[Floats, ...]:
    """First panels of each piece, geometrically finer towards an end where ``v`` is small but not zero.

    Near an edge or an atom of ``mu_0`` the curve bends within ``|u - end| ~ v(end)``: in the angle, sqrt(v/half) from
    the end. Nodes of a plain panel would not see so small a feature, so the refinement could not find it.
    """
    middle, half = 0.5 * (pieces[:, 0] + pieces[:, 1]), 0.5 * (pieces[:, 1] - pieces[:, 0])
    v = height(law, t, pieces.ravel()).reshape(pieces.shape)
    v[np.isin(pieces, bands)] = 0.0
    with np.errstate(divide="ignore"):
        scale = np.sqrt(v / half[:, None])
        levels = np.ceil(np.log(0.5 / np.maximum(scale, FINEST)) / np.log(GRADING))
    levels = np.where(v > 0, np.clip(levels, 0, None), 0).astype(np.int64)
    levels[np.isin(pieces, sharp)] = SHARP_LEVELS
    plain = ~levels.any(axis=1)
    whole_band = plain & (v == 0).all(axis=1)  # one smooth arch: a single panel sees it
    quarter = np.pi / 2
    rows = [
        (middle[chosen], half[chosen], np.full(count, first), np.full(count, last))
        for chosen, first, last in (
            (whole_band, -quarter, quarter),
            (plain & ~whole_band, -quarter, 0.0),
            (plain & ~whole_band, 0.0, quarter),
        )
        if (count := int(chosen.sum()))
    ]
    for k in np.flatnonzero(~plain):
        rows.append(graded_panels(middle[k], half[k], levels[k]))
    return tuple(np.concatenate(column) for column in zip(*rows, strict=True))


def _mass_of_narrow_bands(law: SpectralLaw, p: Panels, bands: Floats, u_from: float, u_to: float) -> Panels:
    """Give the band of a single atom, and one that is narrow for its distance from the origin, exactly its mass.

    A band carries the mass that ``mu_0`` has between its ends. In a band of width 1e-6 about 1 the edges are known to
    1e-10 of the width only, and the quadrature feels it; there, and for single atoms, of which a power law has many,
    the exact mass is imposed.
    """
    width = bands[:, 1] - bands[:, 0]
    narrow = (EPS * np.abs(bands).max(axis=1) > 1e-12 * width) | (parts_in_bands(law, bands) == 1)
    narrow &= (bands[:, 0] >= u_from) & (bands[:, 1] <= u_to) & (len(bands) > 1)
    if not narrow.any():
        return p
    exact = law.cdf(bands[:, 1]) - law.cdf(bands[:, 0])
    found = sums_over_bands(p, bands, p.mass)
    factor = np.where(narrow, exact / np.where(found > 0, found, 1.0), 1.0)
    return p._replace(mass=p.mass * factor[_band_of_panels(p, bands)][:, None])


def _band_of_panels(p: Panels, bands: Floats) -> NDArray[np.int64]:
    return np.clip(np.searchsorted(bands[:, 0], p.u[:, 0], side="right") - 1, 0, None)


def sums_over_bands(p: Panels, bands: Floats, value: Floats) -> Floats:
    """Sum `value`, given at the nodes, over each band."""
    sums = np.bincount(_band_of_panels(p, bands), weights=value.sum(axis=1), minlength=len(bands))
    return np.asarray(sums, dtype=np.float64)


def parts_in_bands(law: SpectralLaw, bands: Floats) -> NDArray[np.int64]:
    """How many intervals and atoms of the support of ``mu_0`` each band holds."""
    support = law.support
    first = np.searchsorted(support[:, 0], bands[:, 0])
    return np.searchsorted(support[:, 1], bands[:, 1], side="right") - first


def _pieces(law: SpectralLaw, t: float, bands: Floats, u_from: float, u_to: float) -> Floats:
    """Cut the bands between `u_from` and `u_to` at the edges of the support of ``mu_0`` and at its resolved atoms.

    Neighbouring atoms ``gap`` apart leave a ripple of relative size ``exp(-2 pi^2 t w/gap^2)`` on the density: those
    whose ripple is visible are cuts, the others are not seen at all.
    """
    support = law.support
    positions, masses = law.atoms
    cuts = [support[support[:, 1] > support[:, 0]].ravel()]
    if positions.size:
        gap = np.diff(positions)
        visible = gap**2 > 0.5 * t * (masses[1:] + masses[:-1])
        ends = np.concatenate([visible, [True]]) | np.concatenate([[True], visible])
        # An atom alone in its band makes one smooth arch, with nothing to cut.
        band = np.searchsorted(bands[:, 0], positions, side="right") - 1
        alone = (parts_in_bands(law, bands) == 1)[np.clip(band, 0, None)]
        cuts.append(positions[ends & ~alone])
    points = np.concatenate([*cuts, bands.ravel()])
    ends = [u for u in (u_from, u_to) if np.isfinite(u)]
    points = np.unique(np.concatenate([points[(points > u_from) & (points < u_to)], ends]))
    left, right = points[:-1], points[1:]
    wide = right - left > 4 * EPS * np.maximum(np.abs(left), np.abs(right))
    found: Floats = np.column_stack([left, right])[inside_bands(0.5 * (left + right), bands) & wide]
    return found
