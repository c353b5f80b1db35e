"""The rectangular analogue of Biane's parametrisation: singular values of ``M + delta Z``, explicit in one real ``u``.

Z is p x N with entries of variance ``1/sqrt(p N)``, ``b = N/p``, ``eps = delta^2/sqrt(b)``. With G the Stieltjes
transform of the squared singular values of M, ``w = omega^2`` and ``omega = u + i v``, the squared singular values of
``M + delta Z`` are the real values of

    z(w) = E (w E + eps (b-1)),    E = 1 + eps G(w)

and ``Im z/Im w = (1 - eps B)^2 - eps^2 [(b-1) A + |w|^2 A^2]`` with ``A = int mu/|w - s^2|^2`` and
``B = int s^2 mu/|w - s^2|^2``. So the curve is ``f(omega) = eps (B + sqrt((b-1) A + |w|^2 A^2)) = 1``. For fixed u > 0
both A and ``B + |w| A`` decrease in v, and so does f: one height v(u) for each u, as in the symmetric case (b = 1).
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from presage.laws.cauchy_sums import DEPTH, sums_at
from presage.laws.discrete_law import DiscreteLaw
from presage.laws.product_squares import ProductSquares, product_squares_at
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.protocol.njit import njit
from presage.spectra.curve import EPS, MOST_STEPS, Curve, safeguarded


def curve(squared: SpectralLaw, b: float, eps: float, u: Floats) -> Curve:
    """Map parameters ``u`` inside the bands to singular values.

    With ``R = sqrt(w + eps (b-1)/E)`` (``Re R >= 0``): ``x = E R``, symmetrised Stieltjes transform ``g(x) = R G(w)``,
    ``dx/du = |P|^2/Re P``, ``P = omega z'(w)/x``.

    Equation: derived, from the subordination of information-plus-noise matrices.
    Checked: tests/spectra/rectangular/test_rectangular.py::test_curve_solves_the_quartic
    """
    v = height(squared, b, eps, u)
    omega = u + 1j * v
    return Curve(*_points(omega, *squared.stieltjes_pair(omega * omega), b, eps))


@njit(cache=True, error_model="numpy")
def _points(omega, g, slope, b, eps):  # type: ignore[no-untyped-def]
    x, rho, h, speed = np.empty(omega.size), np.empty(omega.size), np.empty(omega.size), np.zeros(omega.size)
    for j in range(omega.size):
        w = omega[j] * omega[j]
        E = 1.0 + eps * g[j]
        extra = eps * (b - 1.0) / E if b > 1.0 else 0j
        R = np.sqrt(w + extra) if b > 1.0 else omega[j]
        transform = R * g[j]
        x[j], rho[j], h[j] = (E * R).real, max(-transform.imag, 0.0) / np.pi, transform.real
        P = omega[j] / R * (E + 2.0 * eps * w * slope[j] + eps * extra * slope[j])
        if P.real > 0:  # rounding may take it below zero at an edge, where the speed does not matter
            speed[j] = P.real + P.imag * P.imag / P.real
    return x, rho, h, speed


@singledispatch
def height(squared: SpectralLaw, b: float, eps: float, u: Floats) -> Floats:
    """Height ``v(u)``: the root of ``f(u + i v) = 1``, zero where there is none.

    Safeguarded Newton on ``1/f = 1`` in ``v^2``. Any law is solved for all ``u`` at once; for the laws built in, the
    same steps run in compiled code.

    Equation: derived, from the subordination of information-plus-noise matrices.
    Checked: tests/spectra/rectangular/test_rectangular.py::test_height_solves_its_equation
    Checked: tests/spectra/rectangular/test_rectangular.py::test_a_law_without_compiled_code_has_the_same_curve
    """
    v = np.full(u.shape, highest(b, eps))
    low, high = np.zeros(u.shape), v.copy()
    active = np.arange(u.size)
    for _ in range(MOST_STEPS):
        omega = u[active] + 1j * v[active]
        g, slope = squared.stieltjes_pair(omega * omega)
        active = active[_steps(active, u, v, low, high, g, slope, b, eps)]
        if active.size == 0:
            break
    return v


@height.register
def _(squared: ProductSquares, b: float, eps: float, u: Floats) -> Floats:
    v: Floats = _product_heights(squared.aspect, squared.rank, b, eps, u)
    return v


@height.register
def _(squared: DiscreteLaw, b: float, eps: float, u: Floats) -> Floats:
    v: Floats = _atoms_heights(b, eps, u, *squared.tree)
    return v


@njit(cache=True, error_model="numpy")
def highest(b, eps):  # type: ignore[no-untyped-def]
    """A height above the whole curve: ``B + |w| A <= 1/v^2`` and ``A <= 1/v^4``."""
    return np.sqrt(eps * (1.0 + np.sqrt(b - 1.0)))


@njit(cache=True, error_model="numpy")
def _step(u, v, low, high, g, slope, b, eps):  # type: ignore[no-untyped-def]
    """One safeguarded Newton step on ``1/f = 1``; return the new height, the bracket and whether it has converged."""
    omega = complex(u, v)
    w = omega * omega
    modulus = u * u + v * v
    turn = 2j * omega  # dw/dv
    A, B = -g.imag / w.imag, -(w * g).imag / w.imag
    A_v = -(slope * turn).imag / w.imag - A / v
    B_v = -((g + w * slope) * turn).imag / w.imag - B / v
    root = np.sqrt((b - 1.0) * A + (modulus * A) ** 2)
    root_v = (0.5 * (b - 1.0) * A_v + modulus * A * (2.0 * v * A + modulus * A_v)) / root
    f, f_v = eps * (B + root), eps * (B_v + root_v)
    return safeguarded(v, low, high, 1.0 / f - 1.0, -f_v / (f * f), 4 * EPS, 1e-16 * highest(b, eps))


@njit(cache=True, error_model="numpy")
def _steps(active, u, v, low, high, g, slope, b, eps):  # type: ignore[no-untyped-def]
    moving = np.empty(active.size, dtype=np.bool_)
    for k in range(active.size):
        j = active[k]
        v[j], low[j], high[j], done = _step(u[j], v[j], low[j], high[j], g[k], slope[k], b, eps)
        moving[k] = not done
    return moving


@njit(cache=True, error_model="numpy")
def _product_heights(aspect, rank, b, eps, u):  # type: ignore[no-untyped-def]
    heights = np.empty(u.size)
    top = highest(b, eps)
    v = top
    for j in range(u.size):
        v = v if v > 0.0 else top  # neighbours have similar heights
        low, high = 0.0, top
        for _ in range(MOST_STEPS):
            omega = complex(u[j], v)
            g, slope = product_squares_at(omega * omega, aspect, rank)
            v, low, high, done = _step(u[j], v, low, high, g, slope, b, eps)
            if done:
                break
        heights[j] = v
    return heights


@njit(cache=True, error_model="numpy")
def _atoms_heights(b, eps, u, positions, masses, first, last, left, centre, radius, moments):  # type: ignore[no-untyped-def]
    heights = np.empty(u.size)
    stack = np.empty(DEPTH, dtype=np.int64)
    top = highest(b, eps)
    v = top
    for j in range(u.size):
        v = v if v > 0.0 else top
        low, high = 0.0, top
        for _ in range(MOST_STEPS):
            omega = complex(u[j], v)
            g, slope = sums_at(omega * omega, stack, positions, masses, first, last, left, centre, radius, moments)
            v, low, high, done = _step(u[j], v, low, high, g, slope, b, eps)
            if done:
                break
        heights[j] = v
    return heights


def pull(squared: SpectralLaw, b: float, eps: float, u: Floats) -> Floats:
    """``f(u)`` on the real axis outside the support: above one inside a band, below one in a gap.

    ``f = eps (B + sqrt((b-1) A + u^4 A^2))``, ``A = -G'(u^2)``, ``B = -(G + u^2 G')(u^2)``. As a function of u it is
    convex in every gap: A^(1/2), u^2 A and B are, and a norm of convex positive functions is convex.
    """
    w = u * u
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        g, slope = (a.real for a in squared.stieltjes_pair(w.astype(np.complex128)))
        A, B = np.maximum(-slope, 0.0), np.maximum(-(g + w * slope), 0.0)
        value = eps * (B + np.sqrt((b - 1.0) * A + (w * A) ** 2))
    return np.where(np.isfinite(value), value, np.inf)


def bands(squared: SpectralLaw, b: float, eps: float) -> Floats:
    """Intervals of ``u >= 0`` where ``v > 0``, as rows: those where ``f(u + i0) > 1``.

    Equation: derived, from the subordination of information-plus-noise matrices; f is convex in every gap.
    Checked: tests/spectra/rectangular/test_rectangular.py::test_mass_and_second_moment
    Checked: tests/spectra/rectangular/test_rectangular.py::test_small_and_large_noise
    Checked: tests/spectra/rectangular/test_rectangular.py::test_square_matrices_are_a_free_convolution
    """
    support = np.sqrt(np.maximum(squared.support, 0.0))
    last = support[-1, 1]
    reach = 1.0
    while pull(squared, b, eps, np.array([last + reach * highest(b, eps)]))[0] > 1.0:
        reach *= 2.0
    left, right = support[:-1, 1], support[1:, 0]
    bottom, opened = _least(squared, b, eps, left, right)
    left, right, bottom = left[opened], right[opened], bottom[opened]
    # Each edge lies between the end of the support, where f > 1, and a point of the gap, where f < 1.
    inner = np.concatenate([left, right, [last]])
    outer = np.concatenate([bottom, bottom, [last + reach * highest(b, eps)]])
    start = support[0, 0]
    if start > 0 and pull(squared, b, eps, np.array([1e-9 * start]))[0] < 1.0:
        inner, outer = np.append(inner, start), np.append(outer, 1e-9 * start)
    edge = _crossing(squared, b, eps, inner, outer)
    k = left.size
    first = edge[2 * k + 1] if edge.size > 2 * k + 1 else 0.0
    return np.column_stack([np.append(first, edge[k : 2 * k]), np.append(edge[:k], edge[2 * k])])


def _least(squared: SpectralLaw, b: float, eps: float, left: Floats, right: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """For each gap, the least of the convex f (or a point below one), by sections; say where it is below one."""
    sections = 9
    fraction = np.arange(1, sections + 1) / (sections + 1)
    low, high, point = left.copy(), right.copy(), 0.5 * (left + right)
    opened = np.zeros(left.size, dtype=np.bool_)
    active = np.flatnonzero(right > left)
    for _ in range(14):  # 5^14 sections of the gap
        if active.size == 0:
            break
        width = high[active] - low[active]
        grid = low[active, None] + width[:, None] * fraction
        value = pull(squared, b, eps, grid.ravel()).reshape(grid.shape)
        best = value.argmin(axis=1)
        row = np.arange(active.size)
        least = value[row, best]
        point[active] = grid[row, best]
        opened[active] = least < 1.0
        low[active], high[active] = point[active] - width / (sections + 1), point[active] + width / (sections + 1)
        # Convexity: between its neighbours f is above their chords through the best sample, continued.
        before, after = value[row, np.maximum(best - 1, 0)], value[row, np.minimum(best + 1, sections - 1)]
        at_end = (best == 0) | (best == sections - 1)
        with np.errstate(invalid="ignore"):
            undecided = at_end | ~(2.0 * least - np.maximum(before, after) > 1.0)
        active = active[~opened[active] & undecided]
    return point, opened


def _crossing(squared: SpectralLaw, b: float, eps: float, inner: Floats, outer: Floats) -> Floats:
    """Where ``f = 1`` between `inner` (f > 1) and `outer` (f < 1): bracketed secant on ``log f`` in log distance.

    The last point of a coarse grid with ``f > 1`` starts the bracket: nearer to the end of a continuous part than its
    rounding, f is noise. Without such a point the edge is the end itself, to rounding.
    """
    sign, reach = np.sign(outer - inner), np.abs(outer - inner)
    nearest = np.minimum(np.maximum(64 * EPS * inner, 1e-70), 0.5 * reach)

    def excess(log_distance: Floats) -> Floats:
        u = inner + sign * np.exp(log_distance)
        with np.errstate(divide="ignore"):
            return np.clip(np.log(pull(squared, b, eps, u.ravel())), -700.0, 700.0).reshape(u.shape)

    grid = np.log(nearest) + np.linspace(0.0, 1.0, 25)[:, None] * np.log(reach / nearest)
    value = excess(grid)
    value[-1] = np.minimum(value[-1], 0.0)
    row = np.arange(inner.size)
    above = value > 0
    at_end = ~above.any(axis=0)
    last = np.where(at_end, 0, len(grid) - 1 - above[::-1].argmax(axis=0))
    low, high, f_low, f_high = grid[last, row], grid[last + 1, row], value[last, row], value[last + 1, row]
    side = np.zeros(inner.size)
    for _ in range(MOST_STEPS):
        if (high - low <= 4 * EPS * np.maximum(1.0, inner * np.exp(-high))).all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = low - f_low * (high - low) / (f_high - f_low)
        guess = np.where((guess > low) & (guess < high), guess, 0.5 * (low + high))
        found = excess(guess)
        inside = found > 0
        f_high = np.where(inside & (side > 0), 0.5 * f_high, np.where(inside, f_high, found))
        f_low = np.where(~inside & (side < 0), 0.5 * f_low, np.where(inside, found, f_low))
        low, high = np.where(inside | (found == 0), guess, low), np.where(inside & (found != 0), high, guess)
        side = np.where(inside, 1.0, -1.0)
    return np.asarray(inner + sign * np.where(at_end, 0.0, np.exp(0.5 * (low + high))))
