"""Integrals of ``mu_delta`` above a cutoff: ``J``, ``I`` and their derivatives, all from one set of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.protocol import checks
from presage.spectra.curve import EPS, Curve
from presage.spectra.quadrature import Panels, panels, parts_in_bands, sums_over_bands
from presage.spectra.symmetric.free import FreeConvolution

TAIL_ALLOWED = 1e-6  # of the Legendre coefficients: integrals to about its square
SAME_MASS = 1e-10
CANCELLED = 1e-3  # below this fraction the second moment left of the cutoff is integrated, not got by difference


@final
@dataclass(frozen=True)
class Functionals:
    """What the theory needs of ``mu_delta`` above the cutoff ``c``; every integral runs over ``x > start``.

    `start` is c, unless only the largest eigenvalues are kept and they begin above it.
    """

    free: FreeConvolution = field(repr=False)
    delta: float
    c: float
    start: float
    rank: float  # int mu
    first: float  # int (x-c) mu
    J: float  # int (x-c)^2 mu
    I: float  # int (x-c) h mu
    hilbert: float  # int h mu
    cubic: float  # int (h^2 - pi^2 rho^2/3) mu
    relative_error: float

    @cached_property
    def below(self) -> float:
        """``int x^2 mu`` over ``x < start``: the integral from the other side, by difference unless that cancels."""
        free = self.free
        whole = free.law.second_moment + free.t
        value = whole - (self.J + 2.0 * self.c * self.first + self.c**2 * self.rank)
        if value > CANCELLED * whole:
            return value
        u_to = free.parameter_above(self.start)
        if u_to <= free.bands[0, 0]:
            return 0.0
        p = panels(free.law, free.t, free.bands, lambda point: point.x[None] ** 2, tail=TAIL_ALLOWED, u_to=u_to)
        return float(np.sum(p.mass * p.x**2))

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

    @property
    def risk(self) -> float:
        """Squared distance of ``(x - c)_+`` from the target, ``Q_0 + 4 delta^2 I - int_c (x^2 - c^2) mu``.

        Written with the second moment left of the cutoff, so that nothing cancels when the risk is far below Q_0.

        Equation: derived: ``Q_0 = int x^2 mu - delta^2`` turns it into ``below + c^2 rank + delta^2 (4 I - 1)``.
        Checked: tests/spectra/symmetric/test_free.py::test_risk_is_the_distance_to_the_target
        """
        return self.below + self.c**2 * self.rank + self.delta**2 * (4.0 * self.I - 1.0)

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
    def deficit(self) -> float:
        """``Q_0 - A`` with ``A = int_c x(x-c) mu - 2 delta^2 I``: how far the overlap at scale one is from perfect.

        Equation: derived: ``A = (Q_0 + J - risk)/2``, and ``Q_0 - J`` is written with what is left of the cutoff.
        Checked: tests/spectra/symmetric/test_free.py::test_risk_is_the_distance_to_the_target
        """
        missing = self.below + 2.0 * self.c * self.first + self.c**2 * self.rank - self.delta**2
        return 0.5 * (missing + self.risk)

    @property
    def overlap(self) -> float:
        """``int x (x-c) mu``."""
        return self.J + self.c * self.first


def forces_on_single_atoms(
    law: SpectralLaw, bands: Floats, u_from: float, p: Panels, u_to: float = np.inf
) -> tuple[Floats, Floats]:
    """Where atoms are alone in narrow bands: their positions, and what quadrature misses of ``int h mu`` over the band.

    Over a whole band it is the force of the atoms outside on those inside, ``sum_i w_i sum_j w_j/(s_i - s_j)``
    (the contour integral of ``g^2`` around the band, in the variable w, has only the poles of ``G_0^2``). In a band far
    narrower than its distance from the origin, h is huge and odd, and the rounding of ``u - s`` drowns that number.

    Equation: derived.
    Checked: tests/spectra/symmetric/test_free.py::test_force_on_a_single_atom_is_that_of_the_others
    """
    positions, masses = law.atoms
    if positions.size == 0 or (len(bands) == 1 and len(law.support) > 1):
        return np.empty(0), np.empty(0)
    atom = np.minimum(np.searchsorted(positions, bands[:, 0]), positions.size - 1)
    width = bands[:, 1] - bands[:, 0]
    chosen = (
        (parts_in_bands(law, bands) == 1)
        & (positions[atom] < bands[:, 1])
        & (bands[:, 0] >= u_from)
        & (bands[:, 1] <= u_to)
    )
    chosen &= np.abs(positions[atom]) * EPS > 1e-14 * width
    if not chosen.any():
        return np.empty(0), np.empty(0)
    found = sums_over_bands(p, bands, p.mass * p.h)
    position, mass = positions[atom[chosen]], masses[atom[chosen]]
    # At its own position an atom adds nothing to the real part.
    force = mass * law.stieltjes(position + 1e-100j).real
    return position, force - found[chosen]


def start_of_largest(free: FreeConvolution, most: float) -> float:
    """The x above which ``mu_delta`` has the mass `most`; of a gap its upper end."""
    if most >= 1.0:
        return -np.inf
    edges = free.support
    between = np.abs(free.cdf(edges[:-1, 1]) - (1.0 - most)) < SAME_MASS
    if between.any():
        return float(edges[1:, 0][between][0])
    return float(free.quantile(1.0 - most))


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
    """Integrate over ``x > start``, with ``start >= c``."""
    law, bands = free.law, free.bands
    u_from = free.parameter_above(start)
    if u_from == np.inf:
        return Functionals(free, free.delta, c, start, *([0.0] * 7))

    def integrands(point: Curve) -> Floats:
        y = point.x - c
        return np.stack([np.ones_like(y), y * y, y * point.h])

    p = panels(law, free.t, bands, integrands, tail=TAIL_ALLOWED, u_from=u_from)
    mass, y, h = p.mass.ravel(), (p.x - c).ravel(), p.h.ravel()
    cubic = h * h - (np.pi * p.rho.ravel()) ** 2 / 3.0
    weighted = mass * y
    rank, first, J = min(float(mass.sum()), 1.0), float(weighted.sum()), float(weighted @ y)
    position, missing = forces_on_single_atoms(law, bands, u_from, p)
    return Functionals(
        free=free,
        delta=free.delta,
        c=c,
        start=start,
        rank=rank,
        first=first,
        J=J,
        I=float(weighted @ h + (position - c) @ missing),
        hilbert=float(mass @ h + missing.sum()),
        cubic=float(mass @ cubic),
        relative_error=p.unresolved + EPS * float((np.abs(bands).max(axis=1) / (bands[:, 1] - bands[:, 0])).max()),
    )
