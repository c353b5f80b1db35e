"""Singular values of ``M + delta Z`` as a law, and the integrals above a cutoff that the theory needs of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import pi, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.spectra.bands import parameter_above
from presage.spectra.curve import EPS, Curve
from presage.spectra.rectangular import curve as rectangular_curve
from presage.spectra.rectangular.nodes import Nodes, nodes

TAIL_ALLOWED = 1e-8  # of the Legendre coefficients: integrals to about its square
CANCELLED = 1e-3  # below this fraction the second moment left of the cutoff is integrated, not got by difference


@final
@dataclass(frozen=True)
class RectangularConvolution:
    """Law of the ``p`` singular values of ``M + delta Z``, Z Gaussian, p x N, entries of variance ``1/sqrt(p N)``."""

    law: RectangularLaw
    delta: float

    def __post_init__(self) -> None:
        checks.instance(
            "law",
            self.law,
            RectangularLaw,
            reason="noise is added to a matrix with a law of singular values",
            remedy="Use for example GaussianProduct(0.5).",
        )
        number = checks.real(
            "delta",
            self.delta,
            above=0.0,
            at_most=1e9,
            reason="it is the standard deviation of the noise on the matrix",
            remedy="Use for example delta=0.5; without noise the law is its own.",
        )
        object.__setattr__(self, "delta", number)

    @property
    def eps(self) -> float:
        """``delta^2/sqrt(b)``: the variance of an entry of the noise, times the shorter side."""
        return self.delta**2 / sqrt(self.law.aspect)

    @property
    def second_moment(self) -> float:
        """``int x^2 nu = sqrt(b) (Q_0 + delta^2)``."""
        return sqrt(self.law.aspect) * (self.law.second_moment + self.delta**2)

    @cached_property
    def bands(self) -> Floats:
        """Intervals of the parameter ``u``, one for each band of the singular values."""
        return rectangular_curve.bands(self.law.squared, self.law.aspect, self.eps)

    def curve(self, u: Floats) -> Curve:
        """Points of the law at parameters ``u`` inside the bands."""
        return rectangular_curve.curve(self.law.squared, self.law.aspect, self.eps, u)

    @cached_property
    def support(self) -> Floats:
        """Edges of the bands of singular values, as rows."""
        width = (self.bands[:, 1] - self.bands[:, 0])[:, None]
        # A step inside, for the imaginary axis and the rounding of an edge: x moves by its square.
        inside = self.bands + 1e-9 * width * np.array([1.0, -1.0])
        edges = self.curve(inside.ravel()).x.reshape(self.bands.shape)
        if self.law.aspect == 1.0 and self.bands[0, 0] == 0.0:
            edges[0, 0] = 0.0
        return np.maximum(edges, 0.0)

    def parameter(self, x: ArrayLike) -> Floats:
        """Invert ``x(u)``: bracketed Newton inside the bands, NaN outside them."""
        points = np.asarray(x, dtype=np.float64).ravel()
        edges, bands = self.support, self.bands
        index = np.clip(np.searchsorted(edges[:, 0], points, side="right") - 1, 0, len(edges) - 1)
        u = np.full(points.shape, np.nan)
        active = np.flatnonzero((points >= edges[index, 0]) & (points <= edges[index, 1]))
        low, high = bands[index, 0].copy(), bands[index, 1].copy()
        guess = 0.5 * (low + high)
        for _ in range(100):
            at = guess[active]
            point = self.curve(at)
            error = point.x - points[active]
            u[active] = at
            low[active] = np.where(error < 0, at, low[active])
            high[active] = np.where(error < 0, high[active], at)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = at - error / point.dx_du
            outside = ~((new > low[active]) & (new < high[active]))
            new = np.where(outside, 0.5 * (low[active] + high[active]), new)
            guess[active] = new
            active = active[np.abs(new - at) > 4 * EPS * (np.abs(at) + np.abs(points[active]))]
            if active.size == 0:
                break
        return u.reshape(np.shape(x))

    def density(self, x: ArrayLike) -> Floats:
        """Density of the singular values on ``x > 0``, of total mass one."""
        u = self.parameter(x)
        value = np.zeros(u.shape)
        inside = ~np.isnan(u)
        value[inside] = 2.0 * self.curve(u[inside]).rho
        return value

    def hilbert(self, x: ArrayLike) -> Floats:
        """Hilbert part ``h(x) = x int nu(dy)/(x^2 - y^2)``, a principal value inside the bands."""
        points = np.asarray(x, dtype=np.float64)
        u = self.parameter(points)
        value = np.empty(u.shape)
        inside = ~np.isnan(u)
        value[inside] = self.curve(u[inside]).h
        n = self._nodes
        outside = points[~inside]
        value[~inside] = np.sum(n.mass * outside[:, None] / (outside[:, None] ** 2 - n.x**2), axis=1)
        return value

    def nodes(self, u_from: float = 0.0, u_to: float = np.inf, cutoff: float = 0.0) -> Nodes:
        """Quadrature between two parameters, resolved for the integrands of the theory."""

        def integrands(point: Curve) -> Floats:
            y = point.x - cutoff
            return np.stack([np.ones_like(y), y * y, y * point.h, point.rho**2])

        law = self.law
        return nodes(
            law.squared, law.aspect, self.eps, self.bands, integrands, tail=TAIL_ALLOWED, u_from=u_from, u_to=u_to
        )

    @cached_property
    def _nodes(self) -> Nodes:
        return self.nodes()

    @property
    def mass(self) -> float:
        """Total mass by quadrature: one, up to the error of the quadrature."""
        return float(self._nodes.mass.sum())

    def moment(self, k: int) -> float:
        """``int x^k nu`` by quadrature (negative k where the law stays away from zero)."""
        return float(self._nodes.mass @ self._nodes.x**k)

    def cdf(self, x: float) -> float:
        """Mass at or below ``x``."""
        u = self.parameter_above(float(checks.places(x)))
        return float(self.nodes(u_to=u).mass.sum()) if u > self.bands[0, 0] else 0.0

    def parameter_above(self, c: float) -> float:
        """Smallest parameter ``u`` whose ``x`` is at or above ``c`` (infinite when there is none)."""
        return parameter_above(c, self.support, self.bands, self.parameter)

    def sample(self, p: int, rng: np.random.Generator) -> Floats:
        """Singular values of ``M + delta Z`` at size ``p``, increasing, with M drawn from the law."""
        columns = round(self.law.aspect * p)
        noise = rng.standard_normal((p, columns)) * (self.delta / (p * columns) ** 0.25)
        return np.sort(np.linalg.svd(self.law.sample(p, columns, rng) + noise, compute_uv=False))


@final
@dataclass(frozen=True)
class RectangularFunctionals:
    """What the theory needs of the singular values ``x > c``; ``phi(x) = (b-1)/x + 2 h(x)``."""

    convolution: RectangularConvolution = field(repr=False)
    delta: float
    c: float
    rank: float  # int_c nu
    first: float  # int_c (x-c) nu
    J: float  # int_c (x-c)^2 nu
    I: float  # (1/b) int_c (x-c) phi nu: divergence of the soft threshold, an entry
    hilbert: float  # (1/b) int_c phi nu
    cubic: float  # (1/b) int_c [phi^2 - (4 pi^2/3) rho^2 - (1 - c/x) (b-1)^2/x^2] nu
    relative_error: float

    @cached_property
    def below(self) -> float:
        """``int x^2 nu`` over ``x < c``, by difference unless that cancels."""
        whole = self.convolution.second_moment
        value = whole - (self.J + 2.0 * self.c * self.first + self.c**2 * self.rank)
        if value > CANCELLED * whole:
            return value
        u = self.convolution.parameter_above(self.c)
        if u <= self.convolution.bands[0, 0]:
            return 0.0
        n = self.convolution.nodes(u_to=u)
        return float(n.mass @ n.x**2)

    @property
    def risk(self) -> float:
        """Squared distance an entry of the soft-thresholded matrix from the target.

        ``(1/sqrt(b)) [int^c x^2 nu + c^2 rank] + delta^2 (2 I - 1)``.

        Equation: derived: Stein's identity with the divergence ``p N I`` of the soft threshold.
        Checked: tests/spectra/rectangular/test_rectangular.py::test_functionals_agree_with_a_sampled_matrix
        """
        root_b = sqrt(self.convolution.law.aspect)
        return (self.below + self.c**2 * self.rank) / root_b + self.delta**2 * (2.0 * self.I - 1.0)

    @property
    def dI_ddelta(self) -> float:
        """Derivative of I in delta, ``(delta/sqrt(b)) cubic``.

        Equation: derived: ``phi nu = -(2/pi) Im[g^2 + (b-1) g/x]`` and the rectangular Burgers equation
        ``d_eps g = -d_x [g^2 + (b-1) g/x]/2``, integrated by parts against ``x - c``.
        Checked: tests/spectra/rectangular/test_rectangular.py::test_derivatives_agree_with_differences
        """
        return self.delta / sqrt(self.convolution.law.aspect) * self.cubic

    @property
    def dI_dc(self) -> float:
        """Derivative of I in the cutoff."""
        return -self.hilbert

    @property
    def drisk_ddelta(self) -> float:
        """Derivative of the risk in delta, ``2 delta (I - c int_c phi nu/b) + 2 delta^2 dI/ddelta``.

        Equation: derived: ``dJ/deps = b I`` and ``d first/deps = b hilbert/2``.
        Checked: tests/spectra/rectangular/test_rectangular.py::test_derivatives_agree_with_differences
        """
        return 2.0 * self.delta * (self.I - self.c * self.hilbert) + 2.0 * self.delta**2 * self.dI_ddelta

    @property
    def drisk_dc(self) -> float:
        """Derivative of the risk in the cutoff."""
        return 2.0 * self.c * self.rank / sqrt(self.convolution.law.aspect) - 2.0 * self.delta**2 * self.hilbert


def rectangular_functionals(law: RectangularLaw, delta: float, cutoff: float) -> RectangularFunctionals:
    """Integrate over the singular values of ``M + delta Z`` above the cutoff ``c``.

    ``I = (1/b) int_c (x-c) [(b-1)/x + 2 h(x)] nu(dx)``: the divergence of a spectral map of rectangular matrices,
    ``sum f'(x_i) + (N-p) sum f(x_i)/x_i + 2 sum_{i<j} (x_i f_i - x_j f_j)/(x_i^2 - x_j^2)``, over ``p N``.

    Equation: derived.
    Checked: tests/spectra/rectangular/test_rectangular.py::test_functionals_agree_with_a_sampled_matrix
    Checked: tests/spectra/rectangular/test_rectangular.py::test_derivatives_agree_with_differences
    Checked: tests/models/bilinear/test_bilinear.py::test_explicit_map_inverts_solve
    """
    c = checks.real(
        "cutoff", cutoff, at_least=0.0, reason="singular values are not negative", remedy="Use for example cutoff=0.5."
    )
    convolution = RectangularConvolution(law, delta)
    u_from = convolution.parameter_above(c)
    if u_from == np.inf:
        return RectangularFunctionals(convolution, convolution.delta, c, *([0.0] * 7))
    b = law.aspect
    n = convolution.nodes(u_from=u_from, cutoff=c)
    y, inverse = n.x - c, 1.0 / n.x
    phi = (b - 1.0) * inverse + 2.0 * n.h
    cubic = phi**2 - (2.0 * pi * n.rho) ** 2 / 3.0 - (1.0 - c * inverse) * ((b - 1.0) * inverse) ** 2
    weighted = n.mass * y
    return RectangularFunctionals(
        convolution=convolution,
        delta=convolution.delta,
        c=c,
        rank=min(float(n.mass.sum()), 1.0),
        first=float(weighted.sum()),
        J=float(weighted @ y),
        I=float(weighted @ phi) / b,
        hilbert=float(n.mass @ phi) / b,
        cubic=float(n.mass @ cubic) / b,
        relative_error=n.unresolved,
    )
