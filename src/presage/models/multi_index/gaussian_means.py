"""Means over a standard Gaussian, with what quadrature leaves of them: what both witnesses know of a link."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import factorial, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import hermite_e

from presage.laws.spectral_law import Floats
from presage.protocol import checks

FARTHEST = 13.0  # standard deviations: a weight of e^-84
NODES = 16  # of Gauss and Legendre in a panel
COARSE, FINE, FINEST = 26, 208, 1664  # panels between zero and the farthest place
ROUNDING = 4e-15  # relative, of a sum of many terms of either sign
UNEVEN = 1e-9  # relative difference of f(z) and f(-z) that is not rounding
LOOSE = 1e-2  # relative error of the variance above which it is not known to be finite
TAIL = 1e-9  # part of the variance beyond FARTHEST - 2 that a function with one cannot have
HIGHEST = 40  # degree of the Hermite coefficients that are known


class Mean(NamedTuple):
    """A mean over a standard Gaussian."""

    value: float
    error: float  # what quadrature and rounding may have left
    size: float  # mean of the absolute value: what an error is small beside


@cache
def nodes(panels: int) -> tuple[Floats, Floats]:
    """Places between zero and the farthest and their weights, of both halves together: for even functions."""
    at, weight = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(0.0, FARTHEST, panels + 1)
    half = 0.5 * np.diff(edges)
    z = (0.5 * (edges[:-1] + edges[1:])[:, None] + half[:, None] * at).ravel()
    weights = (half[:, None] * weight).ravel() * np.exp(-0.5 * z * z) * sqrt(2.0 / pi)
    return z, weights


def mean(f: Callable[[Floats], Floats], *, tol: float = 1e-14, finest: int = FINEST) -> Mean:
    """Mean of an even function: panels are halved until it moves by `tol` of its size, or there are enough of them."""
    panels, last = COARSE, None
    while True:
        z, weight = nodes(panels)
        terms = weight * f(z)
        value, size = float(terms.sum()), float(np.abs(terms).sum())
        if last is not None and (abs(value - last) <= tol * size or panels >= finest):
            return Mean(value, abs(value - last) + ROUNDING * size, size)
        last, panels = value, 2 * panels


def looked_at(f: Callable[[Floats], Any], name: str) -> None:
    """Complain about a function that is not even, not finite, constant, or of infinite variance."""
    z, weight = nodes(COARSE)
    remedy = f"Use for example <{name}=HermiteLink(2)>, AbsoluteLink() or CosineLink()."
    with np.errstate(all="ignore"):
        values, mirrored = (np.asarray(f(at), dtype=np.float64) for at in (z, -z))
    if values.shape != z.shape or not np.isfinite(values[z < 9.0]).all():
        reason = "it is called with an array of places, and has a value at each"
        raise checks.complaint(name, "be finite at every place", reason, f, remedy)
    usual = np.sqrt(float(weight[z < 9.0] @ values[z < 9.0] ** 2))
    if np.abs(values - mirrored)[z < 6.0].max() > UNEVEN * (usual + np.abs(values[z < 6.0]).max()):
        odd = np.abs(values + mirrored)[z < 6.0].max() <= UNEVEN * (usual + np.abs(values[z < 6.0]).max())
        reason = "an odd part is seen in the mean of y x, from n/d of order one on: there is no gap to speak of"
        raise checks.complaint(name, f"be an even function{', and not an odd one' if odd else ''}", reason, f, remedy)
    with np.errstate(all="ignore"):
        second = mean(lambda at: np.asarray(f(at), dtype=np.float64) ** 2, tol=1e-9, finest=416)
    far = float(weight[z > FARTHEST - 2.0] @ values[z > FARTHEST - 2.0] ** 2)
    known = np.isfinite(second.value) and second.error < LOOSE * second.size and far < TAIL * second.size
    if not known:
        reason = "the variance of a label is finite, and so is E f(z)^2 over a standard Gaussian z"
        raise checks.complaint(name, "have a finite variance", reason, f, remedy)
    if not second.value - mean(lambda at: np.asarray(f(at)), finest=104).value ** 2 > 1e-12 * second.value:
        raise checks.complaint(name, "not be constant", "a constant shows nothing of a feature", f, remedy)


class Moments(NamedTuple):
    """What is known of a link: Hermite coefficients ``f_l = E f h_l`` of degree 0, 1, ..., and central moments."""

    coefficients: Floats
    variance: float
    third: float  # central moment
    fourth: float  # central moment
    error: float  # relative, of the variance


@cache
def moments(f: Any) -> Moments:
    """Hermite coefficients of a link, and its variance."""
    second = mean(lambda z: np.asarray(f(z), dtype=np.float64) ** 2)
    z, weight = nodes(FINE)
    values = np.asarray(f(z), dtype=np.float64)
    table = hermite_e.hermevander(z, HIGHEST).T
    scale = np.array([sqrt(factorial(degree)) for degree in range(HIGHEST + 1)])
    coefficients = np.where(np.arange(HIGHEST + 1) % 2 == 0, (table @ (weight * values)) / scale, 0.0)
    centred = values - coefficients[0]
    two, three, four = (float(weight @ centred**power) for power in (2, 3, 4))
    return Moments(coefficients, two, three, four, second.error / second.size)


def second_order(f: Any, power: int) -> Mean:
    """``E[f(z)^b (z^2 - 1)]``, for b the power.

    Equation: [DKLM26b]
    Checked: tests/models/multi_index/test_noise_sensitivity.py::test_expectations_of_polynomials
    """
    return mean(lambda z: np.asarray(f(z), dtype=np.float64) ** power * (z * z - 1.0))
