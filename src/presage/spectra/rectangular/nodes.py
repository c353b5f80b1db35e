"""Adaptive Gauss-Legendre nodes along the bands of the singular values of ``M + delta Z``.

A panel is a range of the angle ``theta`` in a piece ``u = middle + half sin(theta)``; pieces are cut at the edges of
the support of M, at its resolved atoms and at the cutoff. A panel is accepted when the last Legendre coefficients of
the integrands are small, and halved otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.spectra.bands import inside_bands
from presage.spectra.curve import EPS, Curve
from presage.spectra.legendre_panels import GRADING, TAIL, TO_COEFFICIENTS, WEIGHTS, graded_panels, halved, nodes_of
from presage.spectra.rectangular.curve import curve, height

FINEST = 1e-6  # smallest angle of the grading towards a sharp end
DEEPEST = 40  # halvings; a panel that deep is below rounding


class Nodes(NamedTuple):
    """Quadrature of the singular values: ``int F nu = sum mass F``, nodes in increasing order."""

    u: Floats
    x: Floats
    rho: Floats  # of the symmetrised law, half of the density of the singular values
    h: Floats
    mass: Floats
    unresolved: float  # bound on the relative error of the integrals


def nodes(
    squared: SpectralLaw,
    b: float,
    eps: float,
    bands: Floats,
    integrands: Callable[[Curve], Floats],
    *,
    tail: float,
    u_from: float = 0.0,
    u_to: float = np.inf,
) -> Nodes:
    """Cover the bands between `u_from` and `u_to`; refine until every integrand's tail is below `tail` of its integral.

    Gauss's rule is exact to twice the degree, so the error of an accepted panel is of the order of ``tail**2``.
    """
    pieces = _pieces(squared, eps, bands, u_from, u_to)
    if len(pieces) == 0:
        none = np.empty(0)
        return Nodes(none, none, none, none, none, 0.0)
    middle, half, theta_0, theta_1 = _graded(squared, b, eps, pieces, bands)
    done: list[tuple[Floats, ...]] = []
    total: Floats = np.zeros(1)
    unresolved = 8 * EPS
    for depth in range(DEEPEST + 1):
        stretch, theta, u = nodes_of(middle, half, theta_0, theta_1)
        point = Curve(*(a.reshape(u.shape) for a in curve(squared, b, eps, u.ravel())))
        element = 2.0 * point.rho * point.dx_du * half[:, None] * np.cos(theta) * stretch[:, None]
        value = integrands(point) * element
        whole = np.abs(value) @ WEIGHTS
        total = total + whole.sum(axis=1)
        coefficients = np.abs(value @ TO_COEFFICIENTS[-TAIL:].T).max(axis=-1)
        scale = np.maximum(total, 1e-300)[:, None]
        # Rounding of u within a narrow piece far from the origin cannot be refined away.
        rounding = 32 * EPS * np.abs(middle) / half
        rough = (coefficients > scale * tail + whole * rounding).any(axis=0) & (depth < DEEPEST)
        unresolved += float(np.sum((coefficients / scale)[:, ~rough].max(axis=0, initial=0.0) ** 2))
        kept = ~rough
        done.append(tuple(row[kept] for row in (u, point.x, point.rho, point.h, element * WEIGHTS)))
        if not rough.any():
            break
        total = total - whole[:, rough].sum(axis=1)
        middle, half, theta_0, theta_1 = halved(middle, half, theta_0, theta_1, rough)
    columns = [np.concatenate(column).ravel() for column in zip(*done, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    u, x, rho, h, mass = (column[order] for column in columns)
    return Nodes(u, x, rho, h, mass, unresolved)


def _pieces(squared: SpectralLaw, eps: float, bands: Floats, u_from: float, u_to: float) -> Floats:
    """Cut the bands between `u_from` and `u_to` at the edges of the support of M and at its resolved atoms.

    Atoms closer than the noise that they carry leave no ripple on the density and are no cuts.
    """
    support = np.sqrt(np.maximum(squared.support, 0.0))
    positions, masses = np.sqrt(np.maximum(squared.atoms.positions, 0.0)), squared.atoms.masses
    cuts = [support[support[:, 1] > support[:, 0]].ravel()]
    if positions.size:
        visible = np.diff(positions) ** 2 > 0.25 * eps * (masses[1:] + masses[:-1])
        cuts.append(positions[np.append(visible, True) | np.append(True, visible)])
    points = np.concatenate([*cuts, bands.ravel(), [u_from, u_to]])
    points = np.unique(points[(points >= u_from) & (points <= min(u_to, bands[-1, 1]))])
    left, right = points[:-1], points[1:]
    inside = inside_bands(0.5 * (left + right), bands) & (right - left > 4 * EPS * right)
    found: Floats = np.column_stack([left, right])[inside]
    return found


def _graded(squared: SpectralLaw, b: float, eps: float, pieces: Floats, bands: Floats) -> tuple[Floats, ...]:
    """First panels of each piece, geometrically finer towards an end where ``v`` is small but not zero.

    There the curve bends within ``|u - end| ~ v(end)``: in the angle, sqrt(v/half) from the end.
    """
    middle, half = 0.5 * (pieces[:, 0] + pieces[:, 1]), 0.5 * (pieces[:, 1] - pieces[:, 0])
    at = np.maximum(pieces, 1e-7 * half[:, None])  # u = 0 is the imaginary axis, where Im w = 0
    v = height(squared, b, eps, at.ravel()).reshape(pieces.shape)
    edge = np.isin(pieces, bands) & (pieces > 0)
    levels = np.ceil(np.log(0.5 / np.maximum(np.sqrt(v / half[:, None]), FINEST)) / np.log(GRADING))
    levels = np.where(edge | (v == 0), 0, np.clip(levels, 0, None)).astype(np.int64)
    rows = [graded_panels(*piece) for piece in zip(middle, half, levels, strict=True)]
    return tuple(np.concatenate(column) for column in zip(*rows, strict=True))
