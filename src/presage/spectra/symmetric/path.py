"""Integrals of ``mu_t`` above a point, along a path of the upper half plane instead of along the spectrum.

For an analytic F and ``g`` the Stieltjes transform of ``mu_t``

    int_{x > c} F(x, h, rho) mu_t  =  -(1/pi) Im int F(z, g) dz        from c to the right of the spectrum,

and with the subordination ``z = w + t G_0(w)``, ``g(z) = G_0(w)`` the path lies in the plane of w, where the only
singularities are those of ``G_0``, on the real axis. It begins at the point ``w_c`` of c and ends at a real point to
the right of the support, or between two atoms: beyond it, an atom adds the residue that it has there, in closed form.
No height is solved for but the one of ``w_c``.
"""

from __future__ import annotations

from functools import singledispatch
from math import sqrt

import numpy as np

from presage.laws.cauchy_sums import DEPTH, sums_at, sums_of_tree
from presage.laws.discrete_law import DiscreteLaw
from presage.laws.marchenko_pastur import MarchenkoPastur, marchenko_pastur_at, marchenko_pastur_pair
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.protocol.njit import njit
from presage.spectra.curve import EPS, MOST_STEPS
from presage.spectra.symmetric import biane
from presage.spectra.symmetric.path_nodes import nodes_of_path


@singledispatch
def sums_along_path(law: SpectralLaw, t: float, c: float, begin: complex, end: float) -> tuple[Floats, Floats]:
    """What a path from `begin` to a real `end` adds to rank, first, J, I, hilbert, cubic; and the size of the terms.

    ``int (x-c)^k mu = -(1/pi) Im int (z-c)^k g dz``, and with ``g = h - i pi rho`` squared and cubed
    ``int (x-c)^k h mu = -(1/2 pi) Im int (z-c)^k g^2 dz``,
    ``int (h^2 - pi^2 rho^2/3) mu = -(1/3 pi) Im int g^3 dz``.
    Any law gives its transform at all nodes at once; for the laws built in, the same steps run in compiled code.

    Equation: derived, from ``h rho = -Im g^2/(2 pi)`` and ``rho (h^2 - pi^2 rho^2/3) = -Im g^3/(3 pi)``.
    Checked: tests/spectra/symmetric/test_free.py::test_functionals_agree_with_the_high_precision_reference
    Checked: tests/spectra/symmetric/test_path.py::test_a_law_of_ones_own_gives_what_the_compiled_way_does
    """
    w, dw = nodes_of_path(begin, end, np.ascontiguousarray(law.support, dtype=np.float64))
    # A law of one's own may return arrays of other kinds, for each of which the sums would be compiled anew.
    g, slope = (np.ascontiguousarray(part, dtype=np.complex128) for part in law.stieltjes_pair(w))
    return _sums(t, c, w, dw, g, slope)  # type: ignore[no-any-return]


@sums_along_path.register
def _(law: MarchenkoPastur, t: float, c: float, begin: complex, end: float) -> tuple[Floats, Floats]:
    return _marchenko_pastur_sums(law.kappa_0, law.support, t, c, begin, end)  # type: ignore[no-any-return]


@sums_along_path.register
def _(law: DiscreteLaw, t: float, c: float, begin: complex, end: float) -> tuple[Floats, Floats]:
    return _atoms_sums(law.support, t, c, begin, end, *law.tree)  # type: ignore[no-any-return]


@njit(cache=True, error_model="numpy")
def _sums(t, c, w, dw, g, slope):  # type: ignore[no-untyped-def]
    """The sums over the nodes of a path, and over the sizes of their terms."""
    sums, lost, sizes = np.zeros(6), np.zeros(6), np.zeros(6)
    terms = np.empty(6)
    for j in range(w.size):
        y = w[j] + t * g[j] - c
        mass = g[j] * (dw[j] * (1.0 + t * slope[j]))
        pull = g[j] * mass
        terms[0] = mass.imag
        terms[1] = (mass * y).imag
        terms[2] = (mass * (y * y)).imag
        terms[3] = 0.5 * (pull * y).imag
        terms[4] = 0.5 * pull.imag
        terms[5] = (pull * g[j]).imag / 3.0
        field, heavy = abs(g[j]), abs(mass)
        rounded = abs(w[j]) + t * field + abs(c)  # of which a distance y is known to a rounding
        sizes[0] += heavy
        sizes[1] += heavy * rounded
        sizes[2] += 2.0 * heavy * abs(y) * rounded
        sizes[3] += 0.5 * heavy * field * rounded
        sizes[4] += 0.5 * heavy * field
        sizes[5] += heavy * field * field / 3.0
        # Terms are larger than what they add up to: what rounding takes from a sum is summed as well.
        for k in range(6):
            before = sums[k]
            sums[k] = before + terms[k]
            added = sums[k] - before
            lost[k] += (before - (sums[k] - added)) + (terms[k] - added)
    for k in range(6):
        sums[k] = -(sums[k] + lost[k]) / np.pi
        sizes[k] /= np.pi
    return sums, sizes


@njit(cache=True, error_model="numpy")
def _marchenko_pastur_sums(kappa, support, t, c, begin, end):  # type: ignore[no-untyped-def]
    w, dw = nodes_of_path(begin, end, support)
    g, slope = marchenko_pastur_pair(w, kappa)
    return _sums(t, c, w, dw, g, slope)


@njit(cache=True, error_model="numpy")
def _atoms_sums(support, t, c, begin, end, positions, masses, first, last, left, centre, radius, moments):  # type: ignore[no-untyped-def]
    w, dw = nodes_of_path(begin, end, support)
    g = np.empty(w.size, dtype=np.complex128)
    slope = np.empty(w.size, dtype=np.complex128)
    sums_of_tree(positions, masses, first, last, left, centre, radius, moments, w, g, slope)
    return _sums(t, c, w, dw, g, slope)


def second_moment_below(law: SpectralLaw, t: float, begin: complex) -> float:
    """``int x^2 mu`` left of the point whose subordinate is `begin`, by a path to the left of the support."""
    lowest = float(law.support[0, 0])
    reach = max(begin.imag, begin.real - lowest)
    return -float(sums_along_path(law, t, 0.0, begin, lowest - reach)[0][2])


def end_of_path(begin: complex, left: float, right: float) -> float:
    """A real point in the gap from `left` to `right`, as near to `begin` as is good for the panels towards it."""
    aside = max(begin.imag, left - begin.real, begin.real - right)
    aside = min(aside, 0.5 * (right - left))
    return min(max(begin.real, left + aside), right - aside)


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
