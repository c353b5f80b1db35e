"""Laws of what was learned: the shrunk spectrum of ``S_fit`` and the singular values of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import NO_ATOMS, Atoms, Complexes, Floats, SpectralLaw
from presage.protocol import checks
from presage.spectra.symmetric.free import FreeConvolution


class _Transformed(SpectralLaw):
    """Image of ``mu_delta`` under an increasing map that sends everything below a cutoff to zero.

    Where the student is narrow, everything below `start` goes to zero, and the map jumps there.
    """

    free: FreeConvolution
    scale: float
    cutoff: float  # -inf: nothing is cut
    start: float = -inf

    @property
    def _start(self) -> float:
        return max(self.cutoff, self.start)

    def _forward(self, x: Floats) -> Floats:
        raise NotImplementedError

    def _backward(self, s: Floats) -> Floats:
        raise NotImplementedError

    def _backward_slope(self, s: Floats) -> Floats:
        raise NotImplementedError

    @cached_property
    def _zero_mass(self) -> float:
        return float(self.free.cdf(self._start)) if self.cutoff > -inf else 0.0

    @property
    def atoms(self) -> Atoms:
        return Atoms(np.zeros(1), np.array([self._zero_mass])) if self._zero_mass > 0 else NO_ATOMS

    @cached_property
    def bands(self) -> Floats:
        """Intervals of the continuous part."""
        edges = self.free.support
        edges = edges[edges[:, 1] > self._start]
        return self._forward(np.maximum(edges, self._start))

    @property
    def support(self) -> Floats:
        if not self._zero_mass:
            return self.bands
        if len(self.bands) and self.bands[0, 0] == 0.0:
            return self.bands
        return np.concatenate([np.zeros((1, 2)), self.bands])

    def density(self, x: ArrayLike) -> Floats:
        points = np.asarray(x, dtype=np.float64)
        allowed = points > 0 if self.cutoff > -inf else np.full(points.shape, True)
        value = np.zeros(points.shape)
        s = points[allowed]
        x = self._backward(s)
        value[allowed] = np.where(x > self._start, self.free.density(x) * self._backward_slope(s), 0.0)
        return value

    def cdf(self, x: ArrayLike) -> Floats:
        points = checks.places(x)
        if self.cutoff == -inf:
            return self.free.cdf(self._backward(points))
        x = np.maximum(self._backward(np.maximum(points, 0.0)), self._start)
        return np.where(points < 0, 0.0, self.free.cdf(x))

    def quantile(self, p: ArrayLike) -> Floats:
        level = checks.levels(p)
        above = (level > self._zero_mass) | (self.cutoff == -inf)
        value = np.zeros(level.shape)
        value[above] = self._forward(np.maximum(self.free.quantile(level[above]), self._start))
        return value

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        return self.free.nodes_above(self._start)

    def moment(self, k: int) -> float:
        if k == 0:
            return 1.0
        x, mass = self._nodes
        return float(np.sum(mass * self._forward(x) ** k))

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        """By quadrature: for ``z`` away from the support by more than the spacing of the nodes."""
        x, mass = self._nodes
        inverse = 1.0 / (z[:, None] - self._forward(x))
        zero = self._zero_mass / z if self._zero_mass else 0.0
        return inverse @ mass + zero, -(inverse**2) @ mass - (zero / z if self._zero_mass else 0.0)

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Image of the eigenvalues of one random matrix ``S_0 + delta GOE`` of size ``d``."""
        x = self.free.sample(d, rng)
        return np.where(x > self._start, self._forward(np.maximum(x, self._start)), 0.0)


@final
@dataclass(frozen=True)
class LearnedSpectrum(_Transformed):
    """Eigenvalues of ``S_fit``: ``scale (x - cutoff)_+`` for ``x`` from ``mu_delta`` (``scale x`` when nothing is cut).

    Equation: [BETKZ25] (13), for the eigenvalues.
    Departs: print has scale = 1, which holds for linear channels only; with ``scale = m_hat/Sigma_hat`` the second
    moment is q. Erratum 10.
    Checked: tests/models/attention/theory/test_solution.py::test_second_moment_of_the_spectrum_is_q
    """

    free: FreeConvolution
    scale: float
    cutoff: float
    start: float = -inf

    @property
    def _shift(self) -> float:
        return self.cutoff if self.cutoff > -inf else 0.0

    def _forward(self, x: Floats) -> Floats:
        return self.scale * (x - self._shift)

    def _backward(self, s: Floats) -> Floats:
        return s / self.scale + self._shift

    def _backward_slope(self, s: Floats) -> Floats:
        return np.full(s.shape, 1.0 / self.scale)


@final
@dataclass(frozen=True)
class SingularValues(_Transformed):
    """Singular values of ``W_fit/(m d)^(1/4)``: square roots of the eigenvalues of ``S_fit``.

    Equation: [BETKZ25] (13).
    Departs: print has scale = 1, see LearnedSpectrum. Erratum 10.
    Checked: tests/models/attention/theory/test_solution.py::test_singular_values_are_square_roots
    """

    free: FreeConvolution
    scale: float
    cutoff: float
    start: float = -inf

    def _forward(self, x: Floats) -> Floats:
        return np.sqrt(np.maximum(self.scale * (x - self.cutoff), 0.0))

    def _backward(self, s: Floats) -> Floats:
        return s**2 / self.scale + self.cutoff

    def _backward_slope(self, s: Floats) -> Floats:
        return 2.0 * s / self.scale
