"""Means over a standard Gaussian, with what quadrature leaves of them: what both witnesses know of a link."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import factorial, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.polynomial import hermite_e

from presage.laws.spectral_law import Floats
from presage.protocol import checks

FARTHEST = 13.0  # standard deviations: a weight of e^-84
NODES = 16  # of Gauss and Legendre in a panel
COARSE, FINE, FINEST = 26, 208, 1664  # panels between zero and the farthest place
ROUNDING = 4e-15  # relative, of a sum of many terms of either sign
PLACED = 4e-16  # relative, of the place of a jump
UNEVEN = 1e-9  # relative difference of f(z) and f(-z) that is not rounding
LOOSE = 1e-2  # relative error of the variance above which it is not known to be finite
CONSTANT = 1e-12  # relative variance, or range, below which a function is constant
SCANNED, NEAREST = 26_624, 1e-9  # steps in which jumps are looked for, and where the first begins, in steps
HALVED, SMOOTH = 48, 10  # times that a step is halved, and after how many it has moved a thousandth if there is no jump
JUMP = 1e-2  # part of what a function moves by in a step that is a jump
BENT, BEND = 20, 3e-5  # times that a step is halved for a kink, and what is left of a second difference after SMOOTH
KINK = 1e-10  # relative, of a second difference that is not rounding
NEIGHBOURS = 9  # steps of which one has a second difference that is not small by chance
FOUND = 1e-7  # two that are nearer to each other are one
MOST_JUMPS = 200
TAIL = 1e-9  # part of the variance beyond FARTHEST - 2 that a function with one cannot have
HIGHEST = 40  # degree of the Hermite coefficients that are known


class Mean(NamedTuple):
    """A mean over a standard Gaussian."""

    value: float
    error: float  # what quadrature and rounding may have left
    size: float  # mean of the absolute value: what an error is small beside


@lru_cache(maxsize=64)
def nodes(panels: int, cuts: tuple[float, ...] = ()) -> tuple[Floats, Floats]:
    """Places between zero and the farthest and their weights, of both halves together: for even functions.

    Panels are equally wide, and cut once more at every one of the `cuts`: half as wide ones have twice as many in each.
    """
    at, weight = np.polynomial.legendre.leggauss(NODES)
    whole = np.unique(np.concatenate([np.linspace(0.0, FARTHEST, COARSE + 1), cuts]))
    parts = panels // COARSE
    edges = np.append((whole[:-1, None] + np.diff(whole)[:, None] * np.arange(parts) / parts).ravel(), FARTHEST)
    half = 0.5 * np.diff(edges)
    z = (0.5 * (edges[:-1] + edges[1:])[:, None] + half[:, None] * at).ravel()
    weights = (half[:, None] * weight).ravel() * np.exp(-0.5 * z * z) * sqrt(2.0 / pi)
    z.flags.writeable = weights.flags.writeable = False
    return z, weights


def values(f: Callable[[Floats], Any], z: Floats) -> Floats:
    """Values of a function at some places, of which it has a copy: functions may work in place."""
    return np.asarray(f(np.array(z)), dtype=np.float64)


@lru_cache(maxsize=128)
def jumps(f: Callable[[Floats], Any]) -> tuple[float, ...]:
    """Where a function jumps, to rounding, or has a kink; and places ever nearer to zero if it is not finite there.

    Steps of a fine grid are halved, each time to the half in which the function moves more: in the end it has moved
    where it jumps only. Of so many that they are more likely rounding there is none.
    """
    with np.errstate(all="ignore"):
        grid = np.linspace(0.0, FARTHEST, SCANNED + 1)
        low, high = grid[:-1].copy(), grid[1:].copy()
        low[0] = NEAREST * high[0]
        below, above = values(f, low), values(f, high)
        first = np.abs(above - below)
        for step in range(HALVED):
            middle = 0.5 * (low + high)
            between = values(f, middle)
            left = np.abs(between - below) >= np.abs(above - between)
            low, below = np.where(left, low, middle), np.where(left, below, between)
            high, above = np.where(left, middle, high), np.where(left, between, above)
            if step == SMOOTH:
                kept = np.abs(above - below) > JUMP * first
                low, high, below, above, first = (one[kept] for one in (low, high, below, above, first))
        size = np.maximum(np.abs(below), np.abs(above))
        found = high[(np.abs(above - below) > JUMP * first) & (np.abs(above - below) > UNEVEN * size)]
        singular = not np.isfinite(values(f, np.zeros(1))).all()
        kinks = _kinks(f)
    bent = kinks[np.abs(kinks[:, None] - found).min(axis=1, initial=1.0) > FOUND] if len(found) <= MOST_JUMPS else kinks
    both = np.unique(np.concatenate([found, bent]))
    places = both if len(both) <= MOST_JUMPS else both[:0]
    towards_zero = FARTHEST / COARSE * 0.5 ** np.arange(1.0, 60.0) if singular else found[:0]
    return tuple(float(place) for place in np.concatenate([places, towards_zero]))


def _kinks(f: Callable[[Floats], Any]) -> Floats:
    """Where the slope of a function jumps: a second difference falls by 2 there where a step is halved, elsewhere by 4.

    Halves are the left, the right and the middle one, whichever has the largest second difference.
    """
    width = FARTHEST / SCANNED
    middle = width * np.arange(1.0, SCANNED)
    at = [values(f, middle + side * width) for side in (-1.0, 0.0, 1.0)]
    first = scipy.ndimage.maximum_filter1d(np.abs(at[0] - 2.0 * at[1] + at[2]), NEIGHBOURS)
    size = np.abs(at).max(axis=0)
    for step in range(BENT):
        width *= 0.5
        at = [at[0], values(f, middle - width), at[1], values(f, middle + width), at[2]]
        bends = np.abs([at[i] - 2.0 * at[i + 1] + at[i + 2] for i in range(3)])
        best = np.argmax(bends, axis=0)
        middle, bend = middle + (best - 1.0) * width, np.take_along_axis(bends, best[None], axis=0)[0]
        at = [np.choose(best, at[i : i + 3]) for i in range(3)]
        if step == SMOOTH:
            kept = (bend > BEND * first) & (bend > KINK * size)
            middle, first, size = middle[kept], first[kept], size[kept]
            at = [one[kept] for one in at]
    order = np.sort(middle)
    return order[np.diff(order, prepend=-1.0) > FOUND]


def mean(
    f: Callable[[Floats], Floats], *, tol: float = 1e-14, finest: int = FINEST, cuts: tuple[float, ...] = ()
) -> Mean:
    """Mean of an even function: panels are halved until none moves, by `tol` of the size, or there are enough of them.

    What panels have moved by is added without its sign. Where there were not enough of them the error is the largest of
    the last three such sums, or what a jump between two places may leave in every panel that moved, if that is more.
    """
    panels, last, moved = COARSE, None, [0.0, 0.0]
    while True:
        z, weight = nodes(panels, cuts)
        found = np.asarray(f(np.array(z)), dtype=np.float64)
        terms = (weight * found).reshape(-1, NODES)
        parts = terms.sum(axis=1)
        value, size = float(parts.sum()), float(np.abs(terms).sum())
        if last is not None:
            density = sqrt(2.0 / pi) * np.exp(-0.5 * z * z)
            rounding = ROUNDING * size + len(cuts) * PLACED * float((z * density * np.abs(found)).max())
            by = np.abs(parts.reshape(-1, 2).sum(axis=1) - last)
            moved.append(float(by.sum()))
            if moved[-1] <= tol * size:
                return Mean(value, moved[-1] + rounding, size)
            if panels >= finest:
                steps = np.abs(np.diff(found.reshape(-1, NODES), axis=1)).max(axis=1)
                rough = np.repeat(by > tol * size / len(by), 2)
                left = float(steps[rough] @ weight.reshape(-1, NODES).max(axis=1)[rough])
                return Mean(value, max(left, *moved[-3:]) + rounding, size)
        last, panels = parts, 2 * panels


@np.errstate(all="ignore")
def looked_at(f: Callable[[Floats], Any], name: str) -> None:
    """Complain about a function that is not even, not finite, constant, or of a variance that may be infinite."""
    z, weight = nodes(COARSE)
    remedy = f"Use for example <{name}=HermiteLink(2)>, AbsoluteLink() or CosineLink()."
    _must_be_hashable(f, name)
    given = np.asarray(f(np.array(z)))
    if given.dtype.kind not in "biuf":
        reason, got = "a label is a real number, and made of them", f"values of the type {given.dtype}"
        raise checks.complaint(name, "have real numbers as values", reason, got, remedy)
    if given.shape != z.shape:
        reason, got = "it is called with an array of places", f"values of shape {given.shape} at {len(z)} places"
        raise checks.complaint(name, "have one value at each place", reason, got, remedy)
    at, mirrored = given.astype(np.float64), values(f, -z)
    near = z < 9.0
    if not np.isfinite(at[near]).all():
        reason = "labels are made of its values at Gaussian places, which are anywhere"
        raise checks.complaint(name, "be finite at every place", reason, f, remedy)
    largest = float(np.abs(at[near]).max())
    if np.ptp(at[near]) <= CONSTANT * largest and np.ptp(mirrored[near]) <= CONSTANT * largest:
        must = "not be zero everywhere" if largest == 0.0 else "not be constant"
        raise checks.complaint(name, must, "a constant shows nothing of a feature", f, remedy)
    usual = np.sqrt(float(weight[near] @ at[near] ** 2))
    if np.abs(at - mirrored)[z < 6.0].max() > UNEVEN * (usual + np.abs(at[z < 6.0]).max()):
        odd = np.abs(at + mirrored)[z < 6.0].max() <= UNEVEN * (usual + np.abs(at[z < 6.0]).max())
        reason = "an odd part is seen in the mean of y x, from n/d of order one on: there is no gap to speak of"
        raise checks.complaint(name, f"be an even function{', and not an odd one' if odd else ''}", reason, f, remedy)
    second = mean(lambda one: values(f, one) ** 2, tol=1e-9, cuts=jumps(f))
    far = float(weight[z > FARTHEST - 2.0] @ at[z > FARTHEST - 2.0] ** 2)
    known = np.isfinite(second.value) and second.error < LOOSE * second.size and far < TAIL * second.size
    if not known:
        reason = f"E f(z)^2, followed up to z = {FARTHEST:g}, cannot be told to be finite by quadrature"
        raise checks.complaint(name, "have a variance that is known to be finite", reason, f, remedy)
    first = mean(lambda one: values(f, one), finest=104, cuts=jumps(f)).value
    if not second.value - first**2 > CONSTANT * second.value:
        raise checks.complaint(name, "not be constant", "a constant shows nothing of a feature", f, remedy)


def must_be_finite_at_zero(f: Callable[[Floats], Any], name: str) -> None:
    """Complain about a function that has no value at zero, such as a logarithm."""
    with np.errstate(all="ignore"):
        here = float(values(f, np.zeros(1))[0])
    if not np.isfinite(here):
        reason = "the law of a label is followed along scores from zero on"
        remedy = f"Give it a value there, for example <{name}=lambda z: np.log(np.abs(z) + 0.001)>."
        raise checks.complaint(name, "be finite at zero", reason, f"{here} there", remedy)


def _must_be_hashable(f: Any, name: str) -> None:
    """Complain about a function whose numbers cannot be kept, since it may change."""
    try:
        hash(f)
    except TypeError:
        reason = "what is known of it is kept, and a function that can change has no hash"
        remedy = f"Use a plain function <{name}=lambda z: ...>, or a frozen dataclass derived from Link."
        raise checks.complaint(name, "be hashable", reason, f, remedy) from None


class Moments(NamedTuple):
    """What is known of a link: Hermite coefficients ``f_l = E f h_l`` of degree 0, 1, ..., and central moments."""

    coefficients: Floats
    variance: float
    third: float  # central moment
    fourth: float  # central moment
    error: float  # relative, of the variance


@lru_cache(maxsize=128)
def moments(f: Any) -> Moments:
    """Hermite coefficients of a link, and its variance."""
    cuts = jumps(f)
    second = mean(lambda z: values(f, z) ** 2, cuts=cuts)
    z, weight = nodes(FINE, cuts)
    at = values(f, z)
    table = hermite_e.hermevander(z, HIGHEST).T
    scale = np.array([sqrt(factorial(degree)) for degree in range(HIGHEST + 1)])
    coefficients = np.where(np.arange(HIGHEST + 1) % 2 == 0, (table @ (weight * at)) / scale, 0.0)
    centred = at - coefficients[0]
    two, three, four = (float(weight @ centred**power) for power in (2, 3, 4))
    coefficients.flags.writeable = False
    return Moments(coefficients, two, three, four, second.error / second.size)


def second_order(f: Any, power: int) -> Mean:
    """``E[f(z)^b (z^2 - 1)]``, for b the power.

    Equation: [DKLM26b]
    Checked: tests/models/multi_index/test_noise_sensitivity.py::test_expectations_of_polynomials
    """
    return mean(lambda z: values(f, z) ** power * (z * z - 1.0), cuts=jumps(f))
