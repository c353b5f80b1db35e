"""Integrals of ``mu_t`` above a point, along a path of the upper half plane instead of along the spectrum.

For an analytic F and ``g`` the Stieltjes transform of ``mu_t``

    int_{x > c} F(x, h, rho) mu_t  =  -(1/pi) Im int F(z, g) dz        from c to the right of the spectrum,

and with the subordination ``z = w + t G_0(w)``, ``g(z) = G_0(w)`` the path lies in the plane of w, where the only
singularities are those of ``G_0``, on the real axis. It begins at the point ``w_c`` of c and ends at a real point to
the right of the support, or between two atoms: beyond it, an atom adds the residue that it has there, in closed form.
No height is solved for but the one of ``w_c``. Panels are never longer than the singularities are far, so that Gauss's
rule is exact to rounding whatever the law.
"""

from __future__ import annotations

from functools import singledispatch
from math import ceil, inf, pi, sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.cauchy_sums import DEPTH, sums_at
from presage.laws.discrete_law import DiscreteLaw
from presage.laws.marchenko_pastur import MarchenkoPastur, marchenko_pastur_at
from presage.laws.spectral_law import Complexes, Floats, SpectralLaw
from presage.protocol.njit import njit
from presage.spectra.curve import EPS, MOST_STEPS
from presage.spectra.symmetric import biane

NODES = 18
ABSCISSAE, WEIGHTS = np.polynomial.legendre.leggauss(NODES)
CLIMB = 2.5  # ratio of the heights of a panel that goes up: Gauss's error falls as 4.4**(-2 NODES), even of G^5


class Path(NamedTuple):
    """Nodes of a path in the plane of w, with the weights ``dw`` and the transform there."""

    w: Complexes
    dw: Complexes
    G: Complexes
    slope: Complexes  # G_0'


def path(law: SpectralLaw, begin: complex, end: float) -> Path:
    """From `begin` up, across and down to the real point `end`, both off the support of the law."""
    corners = _corners(begin, end, _clearance(law, begin), _clearance(law, end))
    middle, half = 0.5 * (corners[1:] + corners[:-1]), 0.5 * (corners[1:] - corners[:-1])
    w = (middle[:, None] + half[:, None] * ABSCISSAE).ravel()
    return Path(w, (half[:, None] * WEIGHTS).ravel(), *law.stieltjes_pair(w))


def sums_along_path(law: SpectralLaw, t: float, c: float, begin: complex, end: float) -> tuple[Floats, Floats]:
    """What a path from `begin` to a real `end` adds to rank, first, J, I, hilbert, cubic; and the size of the terms.

    ``int (x-c)^k mu = -(1/pi) Im int (z-c)^k g dz``, and with ``g = h - i pi rho`` squared and cubed
    ``int (x-c)^k h mu = -(1/2 pi) Im int (z-c)^k g^2 dz``,
    ``int (h^2 - pi^2 rho^2/3) mu = -(1/3 pi) Im int g^3 dz``.

    Equation: derived, from ``h rho = -Im g^2/(2 pi)`` and ``rho (h^2 - pi^2 rho^2/3) = -Im g^3/(3 pi)``.
    Checked: tests/spectra/symmetric/test_free.py::test_functionals_agree_with_the_high_precision_reference
    """
    w, dw, g, slope = path(law, begin, end)
    dz = dw * (1.0 + t * slope)
    y = w + t * g - c
    rounded = np.abs(w) + t * np.abs(g) + abs(c)  # of which a distance y is known to a rounding
    mass, pull = g * dz, g * g * dz
    sums = [mass.sum(), mass @ y, mass @ y**2, 0.5 * (pull @ y), 0.5 * pull.sum(), (pull @ g) / 3.0]
    mass, pull = np.abs(mass), np.abs(pull)
    sizes = [mass.sum(), mass @ rounded, 2.0 * mass @ (np.abs(y) * rounded), 0.5 * pull @ rounded]
    sizes += [0.5 * pull.sum(), pull @ np.abs(g) / 3.0]
    return -np.imag(sums) / pi, np.array(sizes) / pi


def second_moment_below(law: SpectralLaw, t: float, begin: complex) -> float:
    """``int x^2 mu`` left of the point whose subordinate is `begin`, by a path to the left of the support."""
    lowest = float(law.support[0, 0])
    reach = max(begin.imag, begin.real - lowest)
    w, dw, g, slope = path(law, begin, lowest - reach)
    return float(np.sum((w + t * g) ** 2 * g * dw * (1.0 + t * slope)).imag) / pi


def end_of_path(begin: complex, left: float, right: float) -> float:
    """A real point in the gap from `left` to `right`, as near to `begin` as is good for the panels towards it."""
    aside = max(begin.imag, left - begin.real, begin.real - right)
    aside = min(aside, 0.5 * (right - left))
    return min(max(begin.real, left + aside), right - aside)


def _corners(begin: complex, end: float, clear_begin: float, clear_end: float) -> Complexes:
    """Ends of the panels, each no longer than the distance to the nearest singularity, or nearly so."""
    across = abs(end - begin.real)
    height = max(0.5 * across, begin.imag)
    up = _levels(begin.imag, height, clear_begin)
    down = _levels(0.0, height, clear_end)[::-1]
    steps = max(1, ceil(across / height)) if height > 0.0 else 1
    over = np.linspace(begin.real, end, steps + 1)[1:-1] + 1j * height
    return np.concatenate([begin.real + 1j * up, over, end + 1j * down])


def _levels(low: float, high: float, clear: float) -> Floats:
    """Heights of a climb from `low`, where the nearest singularity is `clear` away, to `high`."""
    levels = [low]
    step = clear
    while levels[-1] + step < high:
        levels.append(levels[-1] + step)
        step = max((CLIMB - 1.0) * levels[-1], clear)
    return np.array([*levels, high] if high > low else levels)


def _clearance(law: SpectralLaw, point: complex) -> float:
    """Distance of a point of the closed upper half plane to the support."""
    x, y = point.real, point.imag
    support = law.support
    right = int(np.searchsorted(support[:, 1], x))
    beside = inf
    if right < len(support):
        beside = max(support[right, 0] - x, 0.0)
    if right > 0:
        beside = min(beside, x - support[right - 1, 1])
    return float(np.hypot(beside, y))


def subordinate(law: SpectralLaw, t: float, c: float) -> complex:
    """The point ``w_c`` of the curve over ``x = c``: real where c is in a gap of ``mu_t`` or outside of it.

    ``x(u) = u + t Re G_0(u + i v(u))`` increases for all real u, in the gaps too, and ``|x - u| <= delta``.

    Equation: derived, from Biane's description of the free convolution with a semicircle.
    Checked: tests/spectra/symmetric/test_path.py::test_the_subordinate_point_is_mapped_to_the_cutoff
    """
    u, v = _subordinate(law, t, c)
    return complex(u, v)


@singledispatch
def _subordinate(law: SpectralLaw, t: float, c: float) -> tuple[float, float]:
    u, low, high = c, c - sqrt(t), c + sqrt(t)
    v = 0.0
    for _ in range(MOST_STEPS):
        at = np.array([u])
        v = float(biane.height(law, t, at)[0])
        g, slope = (complex(value[0]) for value in law.stieltjes_pair(at + 1j * v))
        new, low, high, done = _step(u, low, high, c, t, g, slope)
        if done:
            break
        u = new
    return u, v


@_subordinate.register
def _(law: MarchenkoPastur, t: float, c: float) -> tuple[float, float]:
    u, v = _marchenko_pastur_subordinate(law.kappa_0, t, c)
    return u, v


@_subordinate.register
def _(law: DiscreteLaw, t: float, c: float) -> tuple[float, float]:
    u, v = _atoms_subordinate(t, c, *law.tree)
    return u, v


@njit(cache=True, error_model="numpy")
def _step(u, low, high, c, t, g, slope):  # type: ignore[no-untyped-def]
    """Newton's step on ``x(u) = c``, ``dx/du = |P|^2/Re P``, in a bracket; say whether u is as good as it gets."""
    error = u + t * g.real - c
    if error < 0.0:
        low = u
    else:
        high = u
    resolution = 2 * EPS * (abs(u) + abs(c))
    p_real = 1.0 + t * slope.real
    p_imag = t * slope.imag
    new = 0.5 * (low + high)
    if p_real > 0.0:
        newton = u - error / (p_real + p_imag * p_imag / p_real)
        if low < newton < high:
            new = newton
    return new, low, high, abs(error) <= 0.25 * resolution or abs(new - u) <= 0.25 * resolution or high <= low


@njit(cache=True, error_model="numpy")
def _marchenko_pastur_subordinate(kappa, t, c):  # type: ignore[no-untyped-def]
    u, low, high = c, c - np.sqrt(t), c + np.sqrt(t)
    v = np.sqrt(t)
    for _ in range(MOST_STEPS):
        v = biane.marchenko_pastur_height(kappa, t, u, v)
        g, slope = marchenko_pastur_at(complex(u, v), kappa)
        new, low, high, done = _step(u, low, high, c, t, g, slope)
        if done:
            break
        u = new
    return u, v


@njit(cache=True, error_model="numpy")
def _atoms_subordinate(t, c, positions, masses, first, last, left, centre, radius, moments):  # type: ignore[no-untyped-def]
    stack = np.empty(DEPTH, dtype=np.int64)
    u, low, high = c, c - np.sqrt(t), c + np.sqrt(t)
    v = np.sqrt(t)
    for _ in range(MOST_STEPS):
        v = biane.atoms_height(t, u, v, stack, positions, masses, first, last, left, centre, radius, moments)
        g, slope = sums_at(complex(u, v), stack, positions, masses, first, last, left, centre, radius, moments)
        new, low, high, done = _step(u, low, high, c, t, g, slope)
        if done:
            break
        u = new
    return u, v
