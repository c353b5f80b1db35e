"""Integrals of ``mu_delta`` above a cutoff: ``J``, ``I`` and their derivatives, all from one path."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from presage.laws.spectral_law import SpectralLaw
from presage.protocol import checks
from presage.spectra.curve import EPS, MOST_STEPS
from presage.spectra.symmetric import biane
from presage.spectra.symmetric.atoms_beyond import gap_above, sums_over_atoms
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.path import end_of_path, second_moment_below, subordinate, sums_along_path

SAME_MASS = 1e-10
ASIDE = 1e-12  # of the noise: rounding must not lead from a gap into the band above it
CANCELLED = 0.1  # below this fraction the second moment left of the cutoff is integrated, not got by difference


@final
@dataclass(frozen=True)
class Functionals:
    """What the theory needs of ``mu_delta`` above the cutoff ``c``; every integral runs over ``x > start``.

    `start` is c, unless only the largest eigenvalues are kept and they begin above it.
    """

    free: FreeConvolution = field(repr=False)
    begin: complex = field(repr=False)  # the subordinate point of `start`
    c: float
    start: float
    rank: float  # int mu
    first: float  # int (x-c) mu
    J: float  # int (x-c)^2 mu
    I: float  # int (x-c) h mu
    hilbert: float  # int h mu
    cubic: float  # int (h^2 - pi^2 rho^2/3) mu
    lost: float  # how many times larger than the integrals the numbers are that they are sums of

    @property
    def delta(self) -> float:
        """Standard deviation of the noise."""
        return self.free.delta

    @property
    def relative_error(self) -> float:
        """Bound on the relative error of the integrals and of the risk, from rounding; the rules are exact to it."""
        terms = min(self._size_from_below, self._size_from_above)
        return 4.0 * EPS * (2.0 + self.lost + terms / max(abs(self.risk), 1e-300))

    @cached_property
    def _size_from_below(self) -> float:
        """Size of the terms of the risk when it is written with what is left of the cutoff."""
        whole = self.free.law.second_moment + self.free.t
        return min(whole, self.below / CANCELLED) + self.c**2 * self.rank + self.free.t * (4.0 * abs(self.I) + 1.0)

    @cached_property
    def _size_from_above(self) -> float:
        """Size of the terms of the risk when it is written with what is right of the cutoff."""
        return self.free.law.second_moment + 4.0 * self.free.t * abs(self.I) + self.J + 2.0 * abs(self.c) * self.first

    @cached_property
    def below(self) -> float:
        """``int x^2 mu`` over ``x < start``: the integral from the other side, by difference unless that cancels."""
        free = self.free
        whole = free.law.second_moment + free.t
        value = whole - (self.J + 2.0 * self.c * self.first + self.c**2 * self.rank)
        if value > CANCELLED * whole:
            return value
        if self.begin.imag == 0.0 and self.begin.real < free.law.support[0, 0]:
            return 0.0
        return second_moment_below(free.law, free.t, self.begin)

    @property
    def dJ_ddelta(self) -> float:
        """Derivative of J in delta, ``4 delta I``, by the free Burgers equation.

        Equation: derived; core of [BETKZ25] (55), where J is differentiated.
        Checked: tests/spectra/symmetric/test_free.py::test_derivatives_agree_with_differences
        """
        return 4.0 * self.delta * self.I

    @property
    def dJ_dc(self) -> float:
        """Derivative of J in the cutoff, ``-2 int (x-c) mu``."""
        return -2.0 * self.first

    @property
    def dI_ddelta(self) -> float:
        """Derivative of I in delta, ``2 delta int (h^2 - pi^2 rho^2/3) mu``.

        Equation: derived: ``h rho = -Im g^2/(2 pi)`` and the free Burgers equation ``d_t g = -g d_z g`` give
        ``d_t (h rho) = d_x Im g^3/(3 pi)``; integrate ``(x-c)`` against it by parts. For ``start = c`` only.
        Checked: tests/spectra/symmetric/test_free.py::test_derivatives_agree_with_differences
        """
        return 2.0 * self.delta * self.cubic

    @property
    def dI_dc(self) -> float:
        """Derivative of I in the cutoff, ``-int h mu``."""
        return -self.hilbert

    @cached_property
    def risk(self) -> float:
        """Squared distance of ``(x - c)_+`` from the target, ``Q_0 + 4 delta^2 I - int_c (x^2 - c^2) mu``.

        Written with the second moment left of the cutoff where that cancels less: where the risk is far below Q_0.

        Equation: derived: ``Q_0 = int x^2 mu - delta^2`` turns it into ``below + c^2 rank + delta^2 (4 I - 1)``.
        Checked: tests/spectra/symmetric/test_free.py::test_risk_is_the_distance_to_the_target
        Checked: tests/spectra/symmetric/test_path.py::test_the_risk_keeps_its_digits_where_nothing_is_learned
        """
        if self._size_from_above < self._size_from_below:
            return self.free.law.second_moment + 4.0 * self.free.t * self.I - (self.J + 2.0 * self.c * self.first)
        return self.below + self.c**2 * self.rank + self.free.t * (4.0 * self.I - 1.0)

    @property
    def drisk_ddelta(self) -> float:
        """Derivative of the risk in delta, ``4 delta (I + delta dI/ddelta - c int h mu)``.

        Equation: derived, from the free Burgers equation.
        Checked: tests/spectra/symmetric/test_free.py::test_derivatives_of_the_risk_agree_with_differences
        """
        return 4.0 * self.delta * (self.I + self.delta * self.dI_ddelta - self.c * self.hilbert)

    @property
    def drisk_dc(self) -> float:
        """Derivative of the risk in the cutoff, ``2 c int mu - 4 delta^2 int h mu``."""
        return 2.0 * self.c * self.rank - 4.0 * self.delta**2 * self.hilbert

    @property
    def missing(self) -> float:
        """``Q_0 - J``, with what is left of the cutoff where that cancels less.

        Equation: derived: ``Q_0 + delta^2 = int x^2 mu``, and ``J`` is that right of the cutoff, about it.
        Checked: tests/spectra/symmetric/test_free.py::test_risk_is_the_distance_to_the_target
        """
        if self._size_from_above < self._size_from_below:
            return self.free.law.second_moment - self.J
        return self.below + 2.0 * self.c * self.first + self.c**2 * self.rank - self.free.t

    @property
    def deficit(self) -> float:
        """``Q_0 - A`` with ``A = int_c x(x-c) mu - 2 delta^2 I``: how far the overlap at scale one is from perfect.

        Equation: derived: ``A = (Q_0 + J - risk)/2``, and ``Q_0 - J`` is written with what is left of the cutoff.
        Checked: tests/spectra/symmetric/test_free.py::test_risk_is_the_distance_to_the_target
        """
        return 0.5 * (self.missing + self.risk)

    @property
    def overlap(self) -> float:
        """``int x (x-c) mu``."""
        return self.J + self.c * self.first


def start_of_largest(free: FreeConvolution, most: float) -> float:
    """The x above which ``mu_delta`` has the mass `most`; of a gap its upper end.

    Newton's method on the mass above x, whose slope is the density, kept in a bracket: in a gap the slope is zero.
    """
    if most >= 1.0:
        return -np.inf
    law, t = free.law, free.t
    low, high = float(law.support[0, 0]) - 2.0 * free.delta, float(law.support[-1, 1]) + 2.0 * free.delta
    x = min(max(float(law.quantile(1.0 - most)), low), high)
    for _ in range(MOST_STEPS):
        f = _integrate(free, x, x)
        excess, density = f.rank - most, f.begin.imag / (np.pi * t)
        if abs(excess) < SAME_MASS:
            edge = biane.left_edge_above(law, free.delta, f.begin.real)
            # Mass that the law has above a gap of its own is above the gap of mu_delta that is left of it.
            if edge is not None and abs(1.0 - float(law.cdf(edge)) - most) < SAME_MASS:
                return edge + t * float(law.stieltjes(np.array([edge + 1e-290j]))[0].real) - ASIDE * free.delta
        low, high = (x, high) if excess > 0.0 else (low, x)
        new = x + excess / density if density > 0.0 else low
        new = new if low < new < high else 0.5 * (low + high)
        if abs(excess) <= EPS or abs(new - x) <= 2.0 * EPS * (abs(x) + free.delta):
            break
        x = new
    return x


def functionals(law: SpectralLaw, delta: float, cutoff: float, *, most: float = 1.0) -> Functionals:
    """Integrate over the part of ``mu_delta`` above the cutoff ``c``, of mass `most` at most: its largest part.

    ``J(delta,c) = int_c (x-c)^2 mu_delta``, ``I(delta,c) = int_c (x-c) h(x) mu_delta(x) dx``.

    Equation: [BETKZ25] (8) for J; I is derived (it is dJ/ddelta over 4 delta).
    Checked: tests/spectra/symmetric/test_free.py::test_functionals_agree_with_the_high_precision_reference
    """
    c = checks.real(
        "cutoff", cutoff, reason="it is the cutoff of the integrals", remedy="Use a finite cutoff, however low."
    )
    free = FreeConvolution(law, delta)
    f = _integrate(free, c, c)
    return f if f.rank <= most else _integrate(free, c, start_of_largest(free, most))


def _integrate(free: FreeConvolution, c: float, start: float) -> Functionals:
    """Integrate over ``x > start``, with ``start >= c``: along a path, and over the atoms beyond its end."""
    law, t = free.law, free.t
    begin = subordinate(law, t, start)
    support = law.support
    if begin.imag == 0.0 and begin.real > support[-1, 1]:
        return Functionals(free, begin, c, start, *([0.0] * 7))
    if begin.imag == 0.0 and begin.real < support[0, 0]:
        J = law.second_moment + t - 2.0 * c * law.mean + c**2
        return Functionals(free, begin, c, start, 1.0, law.mean - c, J, 0.5, 0.0, 0.0, 1.0)
    gap = gap_above(law, free.delta, begin)
    sums, sizes = sums_over_atoms(law, t, c, gap)
    if begin.imag > 0.0 or not gap.left < begin.real < gap.right:
        more, larger = sums_along_path(law, t, c, begin, end_of_path(begin, gap.left, gap.right))
        sums, sizes = sums + more, sizes + larger
    rank, first, J, I, hilbert, cubic = sums.tolist()
    known = zip(sizes[:4].tolist(), (rank, first, J, I), strict=True)
    lost = max(size / max(abs(value), 1e-300) for size, value in known)
    return Functionals(free, begin, c, start, min(rank, 1.0), first, J, I, hilbert, cubic, lost)
