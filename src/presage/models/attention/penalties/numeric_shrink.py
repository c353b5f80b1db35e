"""The proximal map of a penalty that is known by its values only: ``argmin_s r(s) + (Sigma_hat/4) s^2 - s x/2``.

With ``phi(s) = r(s) + (Sigma_hat/4) s^2`` it is the point where a line of slope ``x/2`` touches phi from below. The
lower convex hull of phi on a grid says for every x between which grid points that is, also where phi has several
minima; there the equation ``phi'(s) = x/2`` is solved, with slopes of r from differences that never cross a kink.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from presage.laws.spectral_law import Floats
from presage.protocol.njit import njit

Function = Callable[[Floats], Floats]

SURVEY = np.geomspace(1e-7, 1.0, 160)  # distances from the origin at which r is first looked at, in units of the range
UNIFORM = np.linspace(0.0, 1.0, 257)
CLUSTER = np.geomspace(1e-5, 0.1, 60)  # distances from a kink, in units of the range
WIDENINGS = 12  # times 8, of a range that is too small
STENCIL = 1e-3  # spacing of the differences, relative to s
CLEAR = 2.02  # spacings that the middle of a stencil stays away from a kink: r may jump there
ITERATIONS = 60
ROUNDING = 2e-15
NOISE = 1e-12  # relative: values that differ by less say nothing about where the minimum is

# Coefficients of the quartics that are one at a node of the stencil and zero at the others.
_NODES = np.arange(-2.0, 3.0)
_QUARTICS = np.linalg.inv(np.vander(_NODES, increasing=True))
_SLOPES = _QUARTICS[1:] * np.arange(1.0, 5.0)[:, None]


class _Grid(NamedTuple):
    """Points with finite phi, and which of them are on its lower convex hull."""

    s: Floats
    hull: NDArray[np.int64]
    steepness: Floats  # slopes of the hull between its points, increasing


def numeric_shrink(
    r: Function, x: ArrayLike, Sigma_hat: float, *, lowest: float, kinks: Sequence[float] = (0.0,)
) -> Floats:
    """``argmin_s r(s) + (Sigma_hat/4) s^2 - s x/2`` for each ``x``, over ``s >= lowest``; r is smooth between `kinks`.

    A kink that is a minimum comes out exactly. Of two minima the lower is taken. Features of r narrower than a few
    thousandths of the range of s may be missed, unless they are at a kink.
    """
    points = np.asarray(x, dtype=np.float64)
    flat = points.ravel()
    if flat.size == 0:
        return np.zeros(points.shape)
    corners = np.unique([k for k in (*kinks, lowest) if np.isfinite(k) and k >= lowest])
    grid = _fine_grid(r, flat, Sigma_hat, lowest, corners)
    return _minima(r, flat, Sigma_hat, grid, corners).reshape(points.shape)


def finite_values(r: Function, s: Floats) -> Floats:
    """Values of r, infinite where they are no numbers; complain where they are not one for each ``s``."""
    value = np.asarray(r(s), dtype=np.float64)
    if value.shape != s.shape:
        raise ValueError(
            f"`value` of the penalty must return one number for each eigenvalue: it is a function r(s) of single "
            f"eigenvalues, not their sum. Got shape {value.shape} for {s.shape}. Use numpy functions of the array."
        )
    return np.where(np.isfinite(value), value, np.inf)


def _grid(r: Function, s: Floats, Sigma_hat: float) -> _Grid:
    phi = finite_values(r, s) + 0.25 * Sigma_hat * s**2
    allowed = np.isfinite(phi)
    if not allowed.any():
        raise ValueError(
            "`value` of the penalty must be finite somewhere: no eigenvalue is allowed otherwise. "
            f"Got no finite number between {s[0]:.3g} and {s[-1]:.3g}. Set `lowest` to the least allowed eigenvalue."
        )
    s, phi = s[allowed], phi[allowed]
    hull = _lower_hull(s, phi)
    return _Grid(s, hull, np.diff(phi[hull]) / np.diff(s[hull]))


@njit(cache=True, error_model="numpy")
def _lower_hull(s, phi):  # type: ignore[no-untyped-def]
    """Indices of the points on the lower convex hull (monotone chain)."""
    stack = np.empty(s.size, dtype=np.int64)
    top = 0
    for k in range(s.size):
        while top > 1:
            i, j = stack[top - 2], stack[top - 1]
            if (phi[j] - phi[i]) * (s[k] - s[j]) < (phi[k] - phi[j]) * (s[j] - s[i]):
                break
            top -= 1
        stack[top] = k
        top += 1
    return stack[:top].copy()


def _fine_grid(r: Function, x: Floats, Sigma_hat: float, lowest: float, corners: Floats) -> _Grid:
    """A grid over the range of the answer: first roughly over what could be it, then finely over what is."""
    origin = max(0.0, lowest)
    reach = max(2.0 * float(np.abs(x).max()) / Sigma_hat, 1e-12)  # enough where r is least at the origin
    for _ in range(WIDENINGS):
        s = np.concatenate([origin - reach * SURVEY[::-1], [origin], origin + reach * SURVEY, corners])
        grid = _grid(r, np.unique(s[s >= lowest]), Sigma_hat)
        vertices = [int(np.searchsorted(grid.steepness, 0.5 * end)) for end in (x.min(), x.max())]
        first, last = grid.hull[vertices]
        inside_left = first > 0 or grid.s[0] <= lowest or grid.s[0] > origin - reach
        inside_right = last < grid.s.size - 1 or grid.s[-1] < origin + reach
        if inside_left and inside_right:
            break
        reach *= 8.0
    # One point of the hull more on each side: where it has a gap, the other end may be the better one.
    first, last = grid.hull[max(vertices[0] - 1, 0)], grid.hull[min(vertices[1] + 1, grid.hull.size - 1)]
    low, high = grid.s[max(first - 1, 0)], grid.s[min(last + 1, grid.s.size - 1)]
    parts = [low + (high - low) * UNIFORM]
    for corner in corners[(corners >= low) & (corners <= high)]:
        parts += [corner - (high - low) * CLUSTER, [corner], corner + (high - low) * CLUSTER]
    s = np.unique(np.concatenate(parts))
    return _grid(r, s[(s >= low) & (s <= high)], Sigma_hat)


def _minima(r: Function, x: Floats, Sigma_hat: float, grid: _Grid, corners: Floats) -> Floats:
    """Refine the point of the hull that each ``x`` picks; beside a gap of the hull its other end as well."""
    half = 0.5 * x
    slope = _Slope(r, corners, float(np.abs(grid.s).max()))
    right = slope(grid.s, slope.piece(grid.s, 1)) + 0.5 * Sigma_hat * grid.s
    left = slope(grid.s, slope.piece(grid.s, -1)) + 0.5 * Sigma_hat * grid.s

    def refined(index: NDArray[np.int64], half: Floats) -> Floats:
        last = grid.s.size - 1
        upwards, downwards = (right[index] < half) & (index < last), (left[index] > half) & (index > 0)
        answer = grid.s[index].copy()
        moving = upwards | downwards
        i = index[moving] - ~upwards[moving]  # left end of the cell
        low, high = grid.s[i], grid.s[i + 1]
        ends = right[i] - half[moving], left[i + 1] - half[moving]
        answer[moving] = _root(slope, low, high, *ends, half[moving], Sigma_hat)
        # Where r jumps at a kink, its slope beside the kink says nothing.
        return better(grid.s[index], answer, half, slack=NOISE)

    def better(here: Floats, other: Floats, half: Floats, slack: float = 0.0) -> Floats:
        before, after = finite_values(r, here), finite_values(r, other)
        excess = after - before + (other - here) * (0.25 * Sigma_hat * (other + here) - half)
        return np.where(excess < slack * (np.abs(before) + np.abs(half * here)), other, here)

    vertex = np.searchsorted(grid.steepness, half)
    best = refined(grid.hull[vertex], half)
    gap = np.diff(grid.hull) > 1
    if gap.any():
        padded = np.concatenate([[False], gap, [False]])
        for side in (0, 1):  # the gap to the left of the vertex, then the one to its right
            beside = padded[vertex + side]
            if beside.any():
                other = refined(grid.hull[vertex[beside] + 2 * side - 1], half[beside])
                best[beside] = better(best[beside], other, half[beside])
    return best


class _Slope:
    """``r'(s)`` by the quartic through five points of the piece between two corners that s belongs to."""

    def __init__(self, r: Function, corners: Floats, size: float) -> None:
        self.r, self.size = r, size
        self.ends = np.concatenate([[-np.inf], corners, [np.inf]])

    def piece(self, s: Floats, side: int) -> NDArray[np.int64]:
        """Number of the piece; at a corner the one to its right (`side` 1) or left (-1)."""
        return np.searchsorted(self.ends, s, side="right" if side > 0 else "left") - 1

    def __call__(self, s: Floats, piece: NDArray[np.int64]) -> Floats:
        piece = np.clip(piece, 0, self.ends.size - 2)
        a, b = self.ends[piece], self.ends[piece + 1]
        h = np.minimum(STENCIL * (np.abs(s) + 1e-3 * self.size) + 1e-300, (b - a) / (2.5 * CLEAR))
        middle = np.clip(s, a + CLEAR * h, b - CLEAR * h)
        offset = (s - middle) / h
        value = finite_values(self.r, middle[:, None] + h[:, None] * _NODES)
        with np.errstate(invalid="ignore"):
            coefficients = value @ _SLOPES.T
            slope = (((coefficients[:, 3] * offset + coefficients[:, 2]) * offset) + coefficients[:, 1]) * offset
            slope = (slope + coefficients[:, 0]) / h
        return np.where(np.isfinite(slope), slope, 0.0)


def _root(
    slope: _Slope, low: Floats, high: Floats, f_low: Floats, f_high: Floats, half: Floats, Sigma_hat: float
) -> Floats:
    """Solve ``r'(s) + (Sigma_hat/2) s = x/2`` in each cell by the Illinois variant of false position."""
    low, high, f_low, f_high = low.copy(), high.copy(), f_low.copy(), f_high.copy()
    # Without a change of sign there is no minimum inside: the end towards which the slope points is the better one.
    answer = np.where(f_low >= 0.0, low, high)
    active = np.flatnonzero((f_low < 0.0) & (f_high > 0.0))
    piece = slope.piece(0.5 * (low + high), 1)
    side = np.zeros(low.size, dtype=np.int64)
    for _ in range(ITERATIONS):
        if active.size == 0:
            break
        a, b, f_a, f_b = low[active], high[active], f_low[active], f_high[active]
        s = np.clip(b - f_b * (b - a) / (f_b - f_a), a, b)
        f = slope(s, piece[active]) + 0.5 * Sigma_hat * s - half[active]
        below, before = f < 0.0, side[active]
        f_low[active] = np.where(below, f, np.where(before == 1, 0.5 * f_a, f_a))
        f_high[active] = np.where(below, np.where(before == -1, 0.5 * f_b, f_b), f)
        low[active], high[active] = np.where(below, s, a), np.where(below, b, s)
        side[active] = np.where(below, -1, 1)
        moved = np.abs(s - answer[active])
        answer[active] = s
        scale = np.abs(half[active]) + 0.5 * Sigma_hat * np.abs(s)
        near = (moved <= ROUNDING * np.abs(s)) | (np.abs(f) <= ROUNDING * scale)
        active = active[~near]
    return answer
