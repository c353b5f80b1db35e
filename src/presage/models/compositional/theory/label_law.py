"""The law of the second layer on a grid, and what each feature adds to it: expectations of any function of a label."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Complexes, Floats

REACH = 48.0  # of the grid on either side, in standard deviations: a feature alone is beyond with probability 1e-15
POINTS = 8192  # of the grid; half as many are used besides, and what differs is extrapolated
ROUNDING = 1e-17  # of a mass
BY_THEMSELVES = 16  # strongest features, whose law has an edge; those of the others are one smooth function
NARROW = 0.05  # strength from which on a feature is wider than a step of the grid
SMOOTH = 1e-3  # variance of narrow features from which on their characteristic function ends within the grid's
TOGETHER = 100  # further features, which are looked at together
WEAK = 0.03  # argument up to which the first terms of a logarithm are the whole of it
VANISHED = 45.0  # of the negative logarithm of a characteristic function


class LabelLaw(NamedTuple):
    """Masses of the second layer on a grid, plain and weighted by ``h_i^2`` (rows): each sums to one.

    An expectation is one of the straight lines between the values on the grid: right to the second order of its step.
    """

    grid: Floats
    mass: Floats
    weighted: Floats  # one row a feature that was asked for


def square_call(x: Floats, a: float) -> Floats:
    """``E (a (h^2 - 1) - x)_+`` for a > 0 and a standard normal h.

    With ``u = 1 + x/a``: ``a [2 sqrt(u) phi(sqrt(u)) + 2 (1 - u) Q(sqrt(u))]`` where u > 0, and -x below.

    Equation: derived: partial moments of a normal.
    Checked: tests/models/compositional/test_label_law.py::test_masses_have_the_moments_of_the_second_layer
    """
    u = 1.0 + x / a
    root = np.sqrt(np.maximum(u, 0.0))
    tail = scipy.special.ndtr(-root)
    density = np.exp(-0.5 * root**2) / sqrt(2.0 * np.pi)
    return np.where(u > 0.0, a * (2.0 * root * density + 2.0 * (1.0 - u) * tail), -x)


def exponential_call(x: Floats, b: float) -> Floats:
    """``E (b E - x)_+`` for b > 0 and a standard exponential E: ``b exp(-x/b)`` where x > 0, ``b - x`` below.

    Equation: derived.
    Checked: tests/models/compositional/test_label_law.py::test_weights_of_a_feature_add_an_exponential
    """
    return np.where(x > 0.0, b * np.exp(-np.maximum(x, 0.0) / b), b - x)


def label_law(strengths: Floats, which: Floats, points: int = POINTS) -> LabelLaw:
    """The law of ``h_2 = sum_i lam_i (h_i^2 - 1)/sqrt(2)``, and those weighted by the square of features.

    A square weight on one normal is two more degrees of freedom: ``E[h_i^2 f(h_2)] = E f(h_2 + sqrt(2) lam_i E)`` with
    an exponential E. `which` are the strengths of the features that weights are wanted of.

    Equation: derived: h^2 has the law of chi-square with one degree of freedom, weighted by itself with three.
    Checked: tests/models/compositional/test_label_law.py::test_weights_of_a_feature_add_an_exponential
    """
    step = 2.0 * REACH / points
    grid = np.asarray(step * (np.arange(points) - points // 2), dtype=np.float64)
    around = np.concatenate([[grid[0] - step], grid, [grid[-1] + step]])  # for second differences
    wide = int(np.sum(np.abs(strengths[:BY_THEMSELVES]) > NARROW))
    alone = wide if np.sum(strengths[wide:] ** 2) > SMOOTH else BY_THEMSELVES  # few narrow ones smooth no edge
    transform = _rest(strengths[alone:], points, step)
    for strength in strengths[:alone][strengths[:alone] != 0.0]:
        call = square_call(around, abs(strength) / sqrt(2.0))
        transform = transform * _transformed(call, strength, step)
    mass = _back(transform, points)
    weighted = np.empty((len(which), points))
    for row, strength in enumerate(which):
        shift = np.ones(1, dtype=np.complex128)  # of a feature without strength: the labels do not know it
        if strength != 0.0:
            shift = _transformed(exponential_call(around, sqrt(2.0) * abs(strength)), strength, step)
        weighted[row] = _back(transform * shift, points)
    return LabelLaw(grid, mass, weighted)


@lru_cache(maxsize=16)
def cached_law(strengths: tuple[float, ...], which: int, points: int) -> LabelLaw:
    """The law of these strengths with the weights of the first few of them; sweeps over alpha ask for one again."""
    values = np.array(strengths)
    law = label_law(values, values[:which], points)
    for array in law:
        array.setflags(write=False)  # who asks again gets the same arrays
    return law


def _transformed(call: Floats, strength: float, step: float) -> Complexes:
    """Fourier transform of the masses behind a call function; those of a negative strength are mirrored."""
    mass = np.diff(call, 2) / step
    transform: Complexes = np.fft.rfft(np.fft.ifftshift(mass))
    return transform if strength > 0.0 else np.conj(transform)


def _back(transform: Complexes, points: int) -> Floats:
    mass = np.fft.fftshift(np.fft.irfft(transform, points))
    return np.asarray(np.where(np.abs(mass) > ROUNDING, mass, 0.0))


def _rest(strengths: Floats, points: int, step: float) -> Complexes:
    """Characteristic function of many weak features: ``prod (1 + i sqrt2 lam t)^(-1/2) exp(i lam t/sqrt2)``.

    The sign of t is that of a Fourier transform. It is looked at up to where it vanishes; features that are weak there
    have the first terms of their logarithm.
    """
    t = 2.0 * np.pi * np.arange(points // 2 + 1) / (points * step)
    log_modulus, phase = np.zeros(t.shape), np.zeros(t.shape)
    for start in range(0, len(strengths), TOGETHER):
        u = sqrt(2.0) * strengths[start : start + TOGETHER]
        end = int(np.searchsorted(-log_modulus, VANISHED))  # it falls all along t
        at = t[:end]
        if np.abs(u).max(initial=0.0) * at[-1] < WEAK:
            log_modulus[:end] -= 0.25 * (np.sum(u**2) * at**2 - 0.5 * np.sum(u**4) * at**4)
            phase[:end] += np.sum(u**3) * at**3 / 6.0
            continue
        for one in u:
            log_modulus[:end] -= 0.25 * np.log1p((one * at) ** 2)
            phase[:end] += 0.5 * (one * at - np.arctan(one * at))
    return np.asarray(np.exp(log_modulus + 1j * phase))
