"""What is wrong with a law of one's own, in sentences that say how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi
from typing import Any, NamedTuple

import numpy as np

from presage.laws.spectral_law import Complexes, Floats, SpectralLaw
from presage.protocol.report import Report, tried

POINTS = 64  # of the half circle around the support: the sum converges as (support/circle)^-POINTS
WIDE = 2.0  # radius of the circle, in half widths of the support
LOST = 1e-3  # of the mass of the transform: what is worse is no rounding
ROUGH = 1e-2  # of a mass or a moment by quadrature over the density, which a jump of it makes rough
CLOSE = 1e-5  # relative difference of a derivative and a difference quotient that is rounding still
HEIGHTS = (1e-6, 1e-2, 1.0)  # above the support, in half widths, where the transform is looked at
MEND = "Take the root or the logarithm whose imaginary part is right in the whole upper half plane, and behaves as 1/z."


class Around(NamedTuple):
    """Moments of a law about the middle of its support, by Cauchy's formula on a circle around it."""

    middle: float
    radius: float
    mass: float
    first: float
    second: float
    mass_of_slope: float  # of the derivative that the law gives


def check_law(law: Any) -> Report:
    """Try a law out: its support, the branch of its transform, its mass and moments; never raises for a bad one."""
    with np.errstate(all="ignore"):
        return tried((law if isinstance(law, type) else type(law)).__name__, "law", law, CHECKS)


def disorders(law: SpectralLaw) -> Iterator[str]:
    """What no probability law shows, in the language of the model: mass and moments, counted in two ways. Cheap."""
    with np.errstate(all="ignore"):
        try:
            faults = [*_support(law), *_pair(law)]
        except NotImplementedError:  # the density is enough where no noise is added to a matrix
            faults = [*_support(law), *_mass_of_density(law)]
            yield from faults
            return
        yield from faults
        if faults:  # what follows reads both
            return
        yield from _mass(law)
        yield from _moments(law)
        yield from _mass_of_slope(law)


def around(law: SpectralLaw) -> Around:
    """Mass, mean and second moment from the transform alone, on a circle where nothing is singular.

    ``int (x - c)^k mu(dx) = (1/(2 pi i)) int (z - c)^k G(z) dz`` along it; its lower half mirrors the upper one.

    Equation: derived: Cauchy's formula; the midpoint rule converges geometrically.
    Checked: tests/laws/test_check_law.py::test_moments_around_a_law_are_its_moments
    """
    low, high = float(law.support[0, 0]), float(law.support[-1, 1])
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    radius = WIDE * half if half > 0.0 else max(abs(middle), 1.0)
    w = radius * np.exp(1j * pi * (np.arange(POINTS) + 0.5) / POINTS)
    G, slope = (np.asarray(part, dtype=np.complex128) for part in law.stieltjes_pair(middle + w))
    mass, first, second = (float(np.mean(w ** (k + 1) * G).real) for k in range(3))
    return Around(middle, radius, mass, first, second, mass_of_slope=float(-np.mean(w**2 * slope).real))


def _kind(law: Any) -> Iterator[str]:
    if isinstance(law, type):
        yield f"it is a class, and an instance is meant: make one, {law.__name__}(...), and check that."
    elif not isinstance(law, SpectralLaw):
        yield f"it is a {type(law).__name__}, not a law: derive the class from presage.SpectralLaw, and make one."


def _support(law: SpectralLaw) -> Iterator[str]:
    if not isinstance(law.support, np.ndarray):
        yield f"its `support` is a {type(law.support).__name__}, and must be an array: np.array([[left, right], ...])"
        return
    rows = np.asarray(law.support, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1:] != (2,) or not len(rows):
        yield f"its `support` has the shape {rows.shape}, and must be rows (left, right), at least one"
    elif not np.isfinite(rows).all():
        yield "its `support` is not finite, and eigenvalues of a layer are"
    elif (rows[:, 1] < rows[:, 0]).any() or (rows[1:, 0] < rows[:-1, 1]).any():
        yield "the rows of its `support` are not sorted and disjoint"


def _pair(law: SpectralLaw) -> Iterator[str]:
    given: Any = law.stieltjes_pair(np.array([1j, 1.0 + 1j]))
    if not (isinstance(given, tuple | list) and len(given) == 2):
        yield "its `stieltjes_pair` does not return two arrays: it must return G(z) and its derivative G'(z)"
    elif any(np.shape(part) != (2,) for part in given):
        shapes = " and ".join(str(np.shape(part)) for part in given)
        yield f"its `stieltjes_pair` of 2 points returns the shapes {shapes}, and must return one number for each"


def _mass(law: SpectralLaw) -> Iterator[str]:
    mass = around(law).mass
    if not abs(mass - 1.0) < LOST:
        yield f"its Stieltjes transform has the mass {mass:.6g} around the support, and a law has 1 (a wrong branch?)"
        return
    yield from _mass_of_density(law)


def _mass_of_density(law: SpectralLaw) -> Iterator[str]:
    masses = law.atoms.masses
    if len(masses) and not (np.min(masses) > 0.0 and np.sum(masses) < 1.0 + ROUGH):
        yield f"its `atoms` have the masses {np.sum(masses):.6g} in all, the least {np.min(masses):.3g}"
        return
    below = float(law.cdf(np.inf))
    inside = float(law.cdf(law.support[-1, 1]))
    if not (abs(below - 1.0) < ROUGH and abs(inside - 1.0) < ROUGH):
        yield (
            f"its density and atoms sum to {inside:.6g} over the support, not to 1: a wrong branch of its Stieltjes "
            "transform near the real axis, or a support or atoms that leave something out"
        )


def _moments(law: SpectralLaw) -> Iterator[str]:
    found = around(law)
    first = float(law.moment(1)) - found.middle
    second = float(law.moment(2)) - 2.0 * found.middle * float(law.moment(1)) + found.middle**2
    rounding = 1e-12 * (abs(found.middle) / found.radius + 1.0) ** 2
    for name, said, seen, unit in (
        ("mean", first, found.first, found.radius),
        ("second moment", second, found.second, found.radius**2),
    ):
        if not abs(said - seen) < (ROUGH + rounding) * unit:
            yield (
                f"its {name} about {found.middle:.3g} is {said:.6g} by `moment` and {seen:.6g} by its Stieltjes "
                "transform: one of the two is of another law"
            )
            return


def _mass_of_slope(law: SpectralLaw) -> Iterator[str]:
    mass = around(law).mass_of_slope
    if not abs(mass - 1.0) < LOST:
        yield f"the derivative of its Stieltjes transform has the mass {mass:.6g} around the support, and a law has 1"


def _branch(law: SpectralLaw) -> Iterator[str]:
    """A probability law sends the upper half plane to the lower one."""
    for z in _above(law):
        G = np.asarray(law.stieltjes_pair(z)[0])
        if not np.isfinite(G).all():
            at = z[~np.isfinite(G)][0]
            yield f"the transform is not finite at z = {at:.3g}, above the real axis, where no law is singular."
            return
        if (G.imag > 0.0).any():
            yield f"Im G(z) is {G.imag.max():.3g} > 0 at z = {z[np.argmax(G.imag)]:.3g}: a wrong branch. {MEND}"
            return


def _slope(law: SpectralLaw) -> Iterator[str]:
    for z in _above(law)[1:]:
        step = 1e-4 * z.imag
        G = [np.asarray(law.stieltjes_pair(z + shift)[0]) for shift in (-step, step)]
        slope = np.asarray(law.stieltjes_pair(z)[1])
        off = np.abs((G[1] - G[0]) / (2.0 * step) - slope) / np.abs(slope)
        if not off.max() < CLOSE:
            at = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            quotient = ((G[1] - G[0]) / (2.0 * step))[at]
            yield (
                f"the derivative is {slope[at]:.6g} at z = {z[at]:.3g}, and the difference quotient {quotient:.6g}: "
                "`stieltjes_pair` must return G(z) and G'(z)."
            )
            return


def _arrays(law: SpectralLaw) -> Iterator[str]:
    z = _above(law)[-1]
    before = z.copy()
    together = np.asarray(law.stieltjes_pair(z)[0])
    if not np.array_equal(z, before):
        yield "`stieltjes_pair` changes its argument: work on a copy of z."
    elif not np.allclose(
        [np.asarray(law.stieltjes_pair(z[i : i + 1])[0])[0] for i in range(z.size)], together, equal_nan=True
    ):
        yield "the transform of a point depends on the others that are given with it: use functions of each z alone."


def _draws(law: SpectralLaw) -> Iterator[str]:
    level = np.linspace(0.01, 0.99, 25)
    places = np.asarray(law.quantile(level))
    reach = 1e-6 * max(float(law.support[-1, 1] - law.support[0, 0]), 1e-6)
    if (np.diff(places) < -reach).any():
        yield "`quantile` decreases: it must grow with its level."
    elif (np.asarray(law.cdf(places + reach)) < level - LOST).any():
        yield "`cdf` at a quantile is below the level of that quantile."
    drawn = np.asarray(law.sample(40, np.random.default_rng(0)))
    if drawn.shape != (40,) or not np.isfinite(drawn).all():
        yield f"`sample(40, rng)` returns the shape {drawn.shape}, or no finite numbers: draw 40 eigenvalues."


def _above(law: SpectralLaw) -> list[Complexes]:
    """Points at several heights above the support and a little beyond it."""
    low, high = float(law.support[0, 0]), float(law.support[-1, 1])
    half = 0.5 * (high - low) or max(abs(low), 1.0)
    x: Floats = 0.5 * (low + high) + half * np.linspace(-1.31, 1.29, 29)
    return [np.asarray(x + 1j * height * half, dtype=np.complex128) for height in HEIGHTS]


CHECKS: dict[str, Callable[[Any], Iterator[str]]] = {
    "its class": _kind,
    "support": _support,
    "two arrays": _pair,
    "shapes": _arrays,
    "branch": _branch,
    "mass": _mass,
    "derivative": _slope,
    "moments": _moments,
    "quantiles and draws": _draws,
}
