"""Biane's parametrisation of ``mu_t = mu_0 [+] semicircle of variance t``: everything is explicit in one real ``u``.

For each ``u`` there is one height ``v(u) >= 0``; the point ``w = u + i v`` is the subordination point of ``x(u)``, so
that the Stieltjes transform of ``mu_t`` at ``x`` is that of ``mu_0`` at ``w``. No fixed point is iterated.
"""

from __future__ import annotations

from functools import singledispatch
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from presage.laws.cauchy_sums import DEPTH, sums_at
from presage.laws.discrete_law import DiscreteLaw
from presage.laws.marchenko_pastur import MarchenkoPastur, marchenko_pastur_at
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.protocol.njit import njit
from presage.spectra.curve import EPS, MOST_STEPS, Curve, safeguarded


def curve(law: SpectralLaw, t: float, u: Floats) -> Curve:
    """Map parameters ``u`` inside the bands to points of ``mu_t``.

    ``x(u) = u + t Re G_0(u+iv)``, density ``v/(pi t)``, Hilbert part ``Re G_0(u+iv)``,
    ``dx/du = |P|^2/Re P`` with ``P = 1 + t G_0'(u+iv)``.

    Equation: derived, from Biane's description of the free convolution with a semicircle.
    Checked: tests/spectra/symmetric/test_free.py::test_semicircle_plus_semicircle_is_a_semicircle
    Checked: tests/spectra/symmetric/test_free.py::test_density_cdf_quantile_and_hilbert_part_belong_together
    """
    v = height(law, t, u)
    return Curve(*_points(u, v, *law.stieltjes_pair(u + 1j * v), t))


@njit(cache=True, error_model="numpy")
def _points(u, v, g, slope, t):  # type: ignore[no-untyped-def]
    x, rho, h, speed = np.empty(u.size), np.empty(u.size), np.empty(u.size), np.zeros(u.size)
    for j in range(u.size):
        h[j] = g[j].real
        x[j] = u[j] + t * h[j]
        rho[j] = v[j] / (np.pi * t)
        p_real = 1.0 + t * slope[j].real
        p_imag = t * slope[j].imag
        if p_real > 0:  # rounding may take it below zero at an edge, where the speed does not matter
            speed[j] = p_real + p_imag * p_imag / p_real
    return x, rho, h, speed


@singledispatch
def height(law: SpectralLaw, t: float, u: Floats) -> Floats:
    """Height ``v(u)``: the root of ``-Im G_0(u+iv)/v = 1/t``, zero where there is none.

    With ``f = -Im G_0/v`` and ``y = v^2``, the function ``1/f`` is a harmonic mean of ``(u-s)^2 + y`` and so concave
    in ``y``: Newton's step in ``y`` never overshoots upwards, and from below it converges monotonically. Where the
    step would leave the bracket (a continuous law seen from far above) the step in ``v`` is the good one.
    Any law is solved for all ``u`` at once; for the laws built in, the same steps run in compiled code.

    Equation: derived, from Biane's description of the free convolution with a semicircle.
    Checked: tests/spectra/symmetric/test_free.py::test_height_solves_its_equation
    """
    v = np.full(u.shape, sqrt(t))
    low = np.zeros(u.shape)
    high = v.copy()
    active = np.arange(u.size)
    for _ in range(MOST_STEPS):
        g, slope = law.stieltjes_pair(u[active] + 1j * v[active])
        active = active[_steps(active, v, low, high, g, slope, t)]
        if active.size == 0:
            break
    return v


@height.register
def _(law: MarchenkoPastur, t: float, u: Floats) -> Floats:
    v: Floats = _marchenko_pastur_heights(law.kappa_0, t, u)
    return v


@height.register
def _(law: DiscreteLaw, t: float, u: Floats) -> Floats:
    v: Floats = _atoms_heights(t, u, *law.tree)
    return v


@njit(cache=True, error_model="numpy")
def _step(v, low, high, g, slope, t):  # type: ignore[no-untyped-def]
    """One safeguarded Newton step on ``1/f = t``; return the new height, the bracket and whether it has converged."""
    f = -g.imag / v
    f_v = -(slope.real + f) / v
    inverse_v = -f_v / (f * f)  # d(1/f)/dv
    return safeguarded(v, low, high, 1.0 / f - t, inverse_v, 4 * EPS * t, 1e-16 * np.sqrt(t))


@njit(cache=True, error_model="numpy")
def _steps(active, v, low, high, g, slope, t):  # type: ignore[no-untyped-def]
    moving = np.empty(active.size, dtype=np.bool_)
    for k in range(active.size):
        j = active[k]
        v[j], low[j], high[j], done = _step(v[j], low[j], high[j], g[k], slope[k], t)
        moving[k] = not done
    return moving


@njit(cache=True, error_model="numpy")
def marchenko_pastur_height(kappa, t, u, guess):  # type: ignore[no-untyped-def]
    """Height over one u, from a guess: neighbours have similar heights."""
    highest = np.sqrt(t)
    v = guess if 0.0 < guess <= highest else highest
    low, high = 0.0, highest
    for _ in range(MOST_STEPS):
        g, slope = marchenko_pastur_at(complex(u, v), kappa)
        v, low, high, done = _step(v, low, high, g, slope, t)
        if done:
            break
    return v


@njit(cache=True, error_model="numpy")
def _marchenko_pastur_heights(kappa, t, u):  # type: ignore[no-untyped-def]
    heights = np.empty(u.size)
    v = 0.0
    for j in range(u.size):
        v = marchenko_pastur_height(kappa, t, u[j], v)
        heights[j] = v
    return heights


@njit(cache=True, error_model="numpy")
def atoms_height(t, u, guess, stack, positions, masses, first, last, left, centre, radius, moments):  # type: ignore[no-untyped-def]
    """Height over one u, from a guess; `stack` is scratch space for the walk through the tree."""
    highest = np.sqrt(t)
    v = guess if 0.0 < guess <= highest else highest
    low, high = 0.0, highest
    for _ in range(MOST_STEPS):
        g, slope = sums_at(complex(u, v), stack, positions, masses, first, last, left, centre, radius, moments)
        v, low, high, done = _step(v, low, high, g, slope, t)
        if done:
            break
    return v


@njit(cache=True, error_model="numpy")
def _atoms_heights(t, u, positions, masses, first, last, left, centre, radius, moments):  # type: ignore[no-untyped-def]
    heights = np.empty(u.size)
    stack = np.empty(DEPTH, dtype=np.int64)
    v = 0.0
    for j in range(u.size):
        v = atoms_height(t, u[j], v, stack, positions, masses, first, last, left, centre, radius, moments)
        heights[j] = v
    return heights


def bands(law: SpectralLaw, t: float) -> Floats:
    """Intervals of ``u`` where ``v > 0``, as rows: those where ``-G_0'(u) > 1/t``.

    In a gap of the support ``(-G_0')^(-1/2)`` is a power mean of distances, hence concave: a gap that stays open
    contributes exactly two edges, and a crossing is found from either end.

    Equation: derived, from Biane's description of the free convolution with a semicircle.
    Checked: tests/spectra/symmetric/test_free.py::test_bands_of_marchenko_pastur_are_the_critical_points_of_its_inverse
    Checked: tests/spectra/symmetric/test_free.py::test_the_gap_of_two_atoms_closes_at_its_own_noise
    """
    delta = sqrt(t)
    support = law.support
    positions, masses = law.atoms
    left_mass = _mass_at(support[:, 1], positions, masses)
    right_mass = _mass_at(support[:, 0], positions, masses)
    left_end, right_end = support[:-1, 1], support[1:, 0]
    gap = right_end - left_end
    # The two atoms that bound a gap keep it closed when they alone do.
    own = (np.cbrt(left_mass[:-1]) + np.cbrt(right_mass[1:])) ** 3
    candidate = np.flatnonzero(own * t < gap**2)
    inside, opened = _open_points(law, delta, left_end[candidate], right_end[candidate])
    candidate, inside = candidate[opened], inside[opened]

    # Distances from the ends of the support to the edges of the bands: first outer left, then outer right, then gaps.
    ends = np.concatenate([[support[0, 0], support[-1, 1]], left_end[candidate], right_end[candidate]])
    sign = np.concatenate([[-1.0, 1.0], np.ones(candidate.size), -np.ones(candidate.size)])
    end_mass = np.concatenate([[right_mass[0], left_mass[-1]], left_mass[:-1][candidate], right_mass[1:][candidate]])
    reach = np.concatenate([[delta, delta], inside - left_end[candidate], right_end[candidate] - inside])
    edge = ends + sign * _edge_distance(law, delta, ends, sign, end_mass, reach)
    k = candidate.size
    lefts = np.concatenate([edge[:1], edge[2 + k :]])
    rights = np.concatenate([edge[2 : 2 + k], edge[1:2]])
    return np.column_stack([lefts, rights])


def left_edge_above(law: SpectralLaw, delta: float, u: float) -> float | None:
    """Left edge, as a parameter, of the band right of the gap of the support about `u`; None where that is closed."""
    support = law.support
    right = int(np.searchsorted(support[:, 0], u))
    if right in (0, len(support)):
        return None
    left_end, end = support[right - 1 : right, 1], support[right : right + 1, 0]
    inside, opened = _open_points(law, delta, left_end, end)
    if not opened[0]:
        return None
    distance = _edge_distance(law, delta, end, -np.ones(1), _mass_at(end, *law.atoms), end - inside)
    return float(end[0] - distance[0])


def spread(law: SpectralLaw, u: Floats) -> Floats:
    """``(-G_0'(u))^(-1/2)`` on the real axis outside the support: the delta at which ``u`` becomes an edge."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1.0 / np.sqrt(np.maximum(-law.stieltjes_pair(u.astype(np.complex128))[1].real, 0.0))


def _mass_at(ends: Floats, positions: Floats, masses: Floats) -> Floats:
    if positions.size == 0:
        return np.zeros(ends.shape)
    index = np.minimum(np.searchsorted(positions, ends), positions.size - 1)
    return np.where(positions[index] == ends, masses[index], 0.0)


def _open_points(law: SpectralLaw, delta: float, left: Floats, right: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """For each gap, a point where ``spread > delta`` if there is one, by section of the concave function."""
    sections = 9
    fraction = np.arange(1, sections + 1) / (sections + 1)
    low, high = left.copy(), right.copy()
    point = 0.5 * (left + right)
    opened = np.zeros(left.size, dtype=np.bool_)
    active = np.arange(left.size)
    while active.size:
        width = high[active] - low[active]
        grid = low[active, None] + width[:, None] * fraction
        value = spread(law, grid.ravel()).reshape(grid.shape)
        best = value.argmax(axis=1)
        row = np.arange(active.size)
        top = value[row, best]
        point[active] = grid[row, best]
        opened[active] = top > delta
        # Concavity: between two neighbours of the best sample the maximum is below the chords extended through it.
        before = value[row, np.maximum(best - 1, 0)]
        after = value[row, np.minimum(best + 1, sections - 1)]
        bound = top + np.maximum(top - before, top - after)
        at_end = (best == 0) | (best == sections - 1)
        low[active] += width * np.where(best == 0, 0.0, fraction[np.maximum(best - 1, 0)])
        high[active] -= width * np.where(best == sections - 1, 0.0, 1 - fraction[np.minimum(best + 1, sections - 1)])
        undecided = ~opened[active] & (at_end | (bound > delta))
        scale = np.maximum(np.abs(low[active]), np.abs(high[active]))
        undecided &= high[active] - low[active] > np.maximum(1e-9 * (right - left)[active], 8 * EPS * scale)
        active = active[undecided]
    return point, opened


def _edge_distance(
    law: SpectralLaw, delta: float, ends: Floats, sign: Floats, end_mass: Floats, reach: Floats
) -> Floats:
    """Distance from each end of the support to the edge beyond it, by a bracketed secant in log-log scale.

    An atom of mass ``w`` alone has its edge at ``delta sqrt(w)``, and more mass only pushes the edge out. At the edge
    of a continuous part the distance can be far below the spacing of floating-point numbers; then it is zero.
    """
    smallest = np.maximum(delta * np.sqrt(end_mass), 4 * EPS * np.abs(ends) + 1e-290)
    low, high = np.minimum(smallest, reach), reach.copy()
    f_low = _log_excess(law, delta, ends + sign * low)
    f_high = _log_excess(law, delta, ends + sign * high)
    at_end = f_low >= 0
    distance = np.where(at_end, np.where(end_mass > 0, low, 0.0), high)
    active = np.flatnonzero(~at_end & (f_high > 0))
    low, high = np.log(low), np.log(high)
    side = np.zeros(ends.size, dtype=np.int64)
    offset = np.abs(ends)
    for _ in range(MOST_STEPS):
        if active.size == 0:
            break
        _secant(active, low, high, f_low, f_high, distance)
        value = _log_excess(law, delta, ends[active] + sign[active] * distance[active])
        active = _shrink(active, low, high, f_low, f_high, side, distance, value, offset)
    return distance


def _log_excess(law: SpectralLaw, delta: float, u: Floats) -> Floats:
    """``log(spread/delta)``: negative where ``u`` is inside a band, positive outside."""
    return np.log(np.maximum(spread(law, u), 1e-300) / delta)


@njit(cache=True, error_model="numpy")
def _secant(active, low, high, f_low, f_high, distance):  # type: ignore[no-untyped-def]
    for j in active:
        guess = low[j] - f_low[j] * (high[j] - low[j]) / (f_high[j] - f_low[j])
        if not (low[j] < guess < high[j]):
            guess = 0.5 * (low[j] + high[j])
        distance[j] = np.exp(guess)


@njit(cache=True, error_model="numpy")
def _shrink(active, low, high, f_low, f_high, side, distance, value, offset):  # type: ignore[no-untyped-def]
    """Illinois step: keep the bracket, halve the stale end's value; return the entries that have not converged."""
    remaining = np.empty_like(active)
    count = 0
    for k in range(active.size):
        j = active[k]
        guess = np.log(distance[j])
        if value[k] > 0:
            moved = high[j] - guess
            high[j], f_high[j] = guess, value[k]
            if side[j] == 1:
                f_low[j] *= 0.5
            side[j] = 1
        else:
            moved = guess - low[j]
            low[j], f_low[j] = guess, value[k]
            if side[j] == -1:
                f_high[j] *= 0.5
            side[j] = -1
        resolution = EPS * (4 + offset[j] * np.exp(-low[j]))  # one rounding of end + distance, in log distance
        if abs(value[k]) > 1e-14 and high[j] - low[j] > resolution and moved > 0:
            remaining[count] = j
            count += 1
    return remaining[:count]
