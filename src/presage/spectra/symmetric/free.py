"""``mu_delta``, the free convolution of a law with a semicircle of variance ``delta^2``, as a law of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Complexes, Floats, SpectralLaw
from presage.protocol import checks
from presage.protocol.njit import njit
from presage.spectra.bands import parameter_above
from presage.spectra.curve import EPS
from presage.spectra.legendre_panels import ABSCISSAE, WEIGHTS
from presage.spectra.quadrature import Panels, panels
from presage.spectra.symmetric import biane


@njit(cache=True, error_model="numpy")
def _newton(active, low, high, guess, points, x, speed, delta):  # type: ignore[no-untyped-def]
    """One bracketed Newton step on ``x(u) = point`` for each active entry; say which have not converged."""
    moving = np.empty(active.size, dtype=np.bool_)
    for k in range(active.size):
        j = active[k]
        at = guess[j]
        error = x[k] - points[j]
        if error < 0:
            low[j] = at
        else:
            high[j] = at
        new = at - error / speed[k]
        if not (low[j] < new < high[j]):
            new = 0.5 * (low[j] + high[j])
        resolution = 2 * EPS * max(abs(at), abs(points[j]))
        moving[k] = abs(error) > 0.5 * resolution and abs(new - at) > max(resolution, 1e-14 * delta)
        if moving[k]:
            guess[j] = new
    return moving


@final
@dataclass(frozen=True)
class FreeConvolution(SpectralLaw):
    """Law of the eigenvalues of ``S_0 + delta GOE``, by Biane's explicit parametrisation."""

    law: SpectralLaw
    delta: float

    def __post_init__(self) -> None:
        checks.instance(
            "law",
            self.law,
            SpectralLaw,
            reason="a semicircle is added to a law of eigenvalues",
            remedy="Use for example MarchenkoPastur(0.5).",
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
    def t(self) -> float:
        """Variance of the semicircle."""
        return self.delta * self.delta

    @cached_property
    def bands(self) -> Floats:
        """Intervals of the parameter ``u``, one for each band of the spectrum."""
        return biane.bands(self.law, self.t)

    @cached_property
    def support(self) -> Floats:
        """Edges ``x = u + t G_0(u)`` of the bands."""
        edges = self.bands.ravel()
        # The edge of a continuous part of mu_0 can coincide with the band's in floating point: step off the cut.
        g = self.law.stieltjes(edges + 1e-290j).real
        return (edges + self.t * np.where(np.isfinite(g), g, 0.0)).reshape(self.bands.shape)

    def parameter(self, x: ArrayLike) -> Floats:
        """Invert ``x(u)``: bracketed Newton inside the bands, NaN outside them."""
        points = np.asarray(x, dtype=np.float64).ravel()
        edges, bands = self.support, self.bands
        index = np.clip(np.searchsorted(edges[:, 0], points, side="right") - 1, 0, len(edges) - 1)
        u = np.full(points.shape, np.nan)
        active = np.flatnonzero((points >= edges[index, 0]) & (points <= edges[index, 1]))
        low, high = bands[index, 0].copy(), bands[index, 1].copy()
        width = edges[index, 1] - edges[index, 0]
        fraction = np.divide(points - edges[index, 0], width, out=np.full(points.shape, 0.5), where=width > 0)
        guess = low + (high - low) * fraction
        # |x - u| <= delta, since the Hilbert part is at most 1/delta.
        low = np.maximum(low, points - self.delta)
        high = np.minimum(high, points + self.delta)
        guess = np.clip(guess, low, high)
        for _ in range(100):
            if active.size == 0:
                break
            point = biane.curve(self.law, self.t, guess[active])
            u[active] = guess[active]
            moving = _newton(active, low, high, guess, points, point.x, point.dx_du, self.delta)
            active = active[moving]
        return u.reshape(np.shape(x))

    def density(self, x: ArrayLike) -> Floats:
        return self._on_curve(x, lambda point: point.rho, outside=0.0)

    def hilbert(self, x: ArrayLike) -> Floats:
        """Hilbert part ``h(x) = Re g(x)`` inside the bands; the Stieltjes transform itself outside them."""
        points = np.asarray(x, dtype=np.float64)
        inside = self._on_curve(points, lambda point: point.h, outside=np.nan)
        gap = np.isnan(inside)
        if gap.any():
            inside[gap] = self.stieltjes(points[gap]).real
        return inside

    def _on_curve(self, x: ArrayLike, what, outside: float) -> Floats:  # type: ignore[no-untyped-def]
        u = self.parameter(x)
        value = np.full(u.shape, outside)
        inside = ~np.isnan(u)
        value[inside] = what(biane.curve(self.law, self.t, u[inside]))
        return value

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        """``g(z) = G_0(w)`` with ``w + t G_0(w) = z``: Newton on ``w``, started above the curve and kept there."""
        w = z + 1j * self.delta
        for _ in range(200):
            g, slope = self.law.stieltjes_pair(w)
            residual = w + self.t * g - z
            step = residual / (1.0 + self.t * slope)
            new = w - step
            new = np.where(new.imag >= z.imag, new, w - residual)  # the plain iteration never leaves the half plane
            moved = np.abs(new - w)
            w = new
            if (moved <= 1e-14 * (np.abs(w) + self.delta)).all():
                break
        g, slope = self.law.stieltjes_pair(w)
        return g, slope / (1.0 + self.t * slope)

    @cached_property
    def _panels(self) -> Panels:
        return panels(self.law, self.t, self.bands, lambda point: np.ones_like(point.x)[None], tail=1e-8)

    @cached_property
    def _cumulative(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self._panels.mass.sum(axis=1))])

    @property
    def mass(self) -> float:
        """Total mass by quadrature: one, up to the error of the quadrature."""
        return float(self._cumulative[-1])

    def cdf(self, x: ArrayLike) -> Floats:
        points = checks.places(x)
        edges = self.support
        # In a gap the cdf is that of the edge to its left.
        index = np.searchsorted(edges[:, 0], points.ravel(), side="right") - 1
        clipped = np.where(index < 0, edges[0, 0], np.minimum(points.ravel(), edges[np.maximum(index, 0), 1]))
        u = self.parameter(clipped)
        above = index >= 0
        u = np.where(np.isnan(u), self.bands[np.maximum(index, 0), 1], u)
        value = np.where(above, self._mass_below(u), 0.0)
        return np.clip(value, 0.0, 1.0).reshape(points.shape)

    def _mass_below(self, u: Floats) -> Floats:
        """Whole panels to the left, plus Gauss's rule on the part of a panel that is left of ``u``."""
        p = self._panels
        first = p.middle + p.half * np.sin(p.theta_0)
        index = np.clip(np.searchsorted(first, u, side="right") - 1, 0, first.size - 1)
        angle = np.arcsin(np.clip((u - p.middle[index]) / p.half[index], -1.0, 1.0))
        angle = np.clip(angle, p.theta_0[index], p.theta_1[index])
        stretch = 0.5 * (angle - p.theta_0[index])
        theta = p.theta_0[index][:, None] + stretch[:, None] * (1.0 + ABSCISSAE)
        nodes = p.middle[index][:, None] + p.half[index][:, None] * np.sin(theta)
        point = biane.curve(self.law, self.t, nodes.ravel())
        element = (point.rho * point.dx_du).reshape(nodes.shape) * p.half[index][:, None] * np.cos(theta)
        return np.asarray(self._cumulative[index] + stretch * (element @ WEIGHTS))

    def quantile(self, p: ArrayLike) -> Floats:
        """Invert the cdf by bracketed Newton on ``u``, starting in the right panel."""
        level = checks.levels(p).ravel()
        panel = self._panels
        first = panel.middle + panel.half * np.sin(panel.theta_0)
        last = panel.middle + panel.half * np.sin(panel.theta_1)
        target = level * self.mass
        index = np.clip(np.searchsorted(self._cumulative, target, side="left") - 1, 0, first.size - 1)
        low, high = first[index].copy(), last[index].copy()
        u = 0.5 * (low + high)
        active = np.arange(level.size)
        for _ in range(80):
            at = u[active]
            error = self._mass_below(at) - target[active]
            low[active] = np.where(error < 0, at, low[active])
            high[active] = np.where(error >= 0, at, high[active])
            point = biane.curve(self.law, self.t, at)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = at - error / (point.rho * point.dx_du)
            outside = ~((new > low[active]) & (new < high[active]))
            u[active] = np.where(outside, 0.5 * (low[active] + high[active]), new)
            active = active[np.abs(u[active] - at) > 1e-13 * (np.abs(at) + self.delta)]
            if active.size == 0:
                break
        return biane.curve(self.law, self.t, u).x.reshape(np.shape(p))

    def moment(self, k: int) -> float:
        p = self._panels
        return float(np.sum(p.mass * p.x**k) / self.mass)

    def parameter_above(self, c: float) -> float:
        """Smallest parameter ``u`` whose ``x`` is at or above ``c`` (infinite when there is none)."""
        return parameter_above(c, self.support, self.bands, self.parameter)

    def nodes_above(self, c: float) -> tuple[Floats, Floats]:
        """Abscissae and masses of a quadrature of the part above ``c``."""
        u = self.parameter_above(c)
        if u == np.inf:
            return np.empty(0), np.empty(0)
        p = panels(self.law, self.t, self.bands, lambda point: np.ones_like(point.x)[None], tail=1e-8, u_from=u)
        return p.x.ravel(), p.mass.ravel()

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Eigenvalues of ``S_0 + delta GOE`` at size ``d``, with ``S_0`` drawn from the law."""
        gaussian = rng.standard_normal((d, d))
        noise = (gaussian + gaussian.T) * (self.delta / sqrt(2 * d))
        return np.asarray(np.linalg.eigvalsh(np.diag(self.law.sample(d, rng)) + noise))
