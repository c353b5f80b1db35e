"""Law of the learned eigenvalues for any penalty: the image of ``mu_delta`` under the shrinkage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import NO_ATOMS, Atoms, Complexes, Floats, SpectralLaw
from presage.protocol import checks
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.shrunk import Nodes, Shrunk

BISECTIONS = 60
NEAR = 1e-6  # of the width of the support: half the step of the differences of the map
WEIGHTLESS = 1e-12


class Piece(NamedTuple):
    """An interval of x, inside one band of ``mu_delta``, on which the map increases continuously."""

    left: float
    right: float
    band: int


@final
@dataclass(frozen=True)
class ShrunkSpectrum(SpectralLaw):
    """Eigenvalues of ``S_fit``: ``s(x)`` for ``x`` from ``mu_delta``, with an atom where the map is constant.

    Equation: [BETKZ25] (44): the eigenvalues are the minimisers of its one-dimensional problems.
    Checked:
        tests/models/attention/penalties/test_penalties_of_users.py::test_the_spectrum_of_an_own_penalty_is_that_of_the_built_in_one
    """

    shrunk: Shrunk

    @property
    def free(self) -> FreeConvolution:
        """Law of the eigenvalues before the shrinkage."""
        return self.shrunk.free

    @cached_property
    def atoms(self) -> Atoms:
        plateaus = self.shrunk.plateaus
        if not plateaus:
            return NO_ATOMS
        left, right = (self.free.cdf([getattr(p, side) for p in plateaus]) for side in ("left", "right"))
        heavy = right - left > WEIGHTLESS
        positions = np.array([p.value for p in plateaus])
        return Atoms(positions[heavy], (right - left)[heavy]) if heavy.any() else NO_ATOMS

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Where the map increases, cut at atoms, jumps and gaps."""
        positions = self.atoms.positions
        holes = [(p.left, p.right) for p in self.shrunk.plateaus if p.value in positions]
        holes += [(float(left), float(right)) for left, right in self.shrunk.jumps]
        found = []
        for band, (left, right) in enumerate(self.free.support):
            start = float(left)
            for hole_left, hole_right in sorted(holes):
                if hole_right <= start or hole_left >= right:
                    continue
                if hole_left > start:
                    found.append(Piece(start, hole_left, band))
                start = hole_right
            if start < right:
                found.append(Piece(start, float(right), band))
        return tuple(found)

    @cached_property
    def bands(self) -> Floats:
        """Intervals of the continuous part."""
        ends = self.shrunk.map(np.array([[p.left, p.right] for p in self.pieces]).ravel())
        for value in self.atoms.positions:  # a band that ends at an atom ends there exactly
            ends = np.where(np.abs(ends - value) < WEIGHTLESS * np.abs(ends).max(initial=0.0), value, ends)
        return np.asarray(ends.reshape(-1, 2))

    @cached_property
    def band_masses(self) -> Floats:
        """Mass of the continuous part in each of `bands`."""
        ends = self.free.cdf(np.array([[p.left, p.right] for p in self.pieces]).reshape(-1, 2))
        return np.asarray(ends[:, 1] - ends[:, 0])

    @cached_property
    def support(self) -> Floats:
        positions = self.atoms.positions
        rows = np.concatenate([self.bands, np.column_stack([positions, positions])])
        joined: list[list[float]] = []
        for left, right in rows[np.lexsort((rows[:, 1], rows[:, 0]))].tolist():
            if joined and left <= joined[-1][1]:
                joined[-1][1] = max(right, joined[-1][1])
            else:
                joined.append([left, right])
        return np.array(joined)

    def _backward(self, s: Floats) -> Floats:
        """Largest x whose image is at most s, by bisection."""
        low, high = (np.full(s.shape, end) for end in self.shrunk.ends)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.shrunk.map(middle) <= s
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low

    def density(self, x: ArrayLike) -> Floats:
        points = np.asarray(x, dtype=np.float64)
        value = np.zeros(points.shape)
        inside = np.zeros(points.shape, dtype=bool)
        for left, right in self.bands:
            inside |= (points > left) & (points < right)
        if inside.any():
            at = self._backward(points[inside])
            step = NEAR * (self.shrunk.ends[1] - self.shrunk.ends[0])
            # Differences stay inside a piece: beside a plateau or a jump the map has two slopes.
            pieces = np.array([(piece.left, piece.right) for piece in self.pieces])
            left, right = pieces[np.maximum(np.searchsorted(pieces[:, 0], at, side="right") - 1, 0)].T
            low, high = np.maximum(at - step, left), np.minimum(at + step, right)
            slope = (self.shrunk.map(high) - self.shrunk.map(low)) / np.maximum(high - low, 1e-300)
            value[inside] = self.free.density(at) / np.maximum(slope, 1e-300)
        return value

    def cdf(self, x: ArrayLike) -> Floats:
        points = checks.places(x)
        lowest, highest = self.shrunk.map(np.array(self.shrunk.ends))
        value = self.free.cdf(self._backward(points.ravel())).reshape(points.shape)
        return np.where(points < lowest, 0.0, np.where(points >= highest, 1.0, value))

    def quantile(self, p: ArrayLike) -> Floats:
        level = checks.levels(p)
        return self.shrunk.map(self.free.quantile(level.ravel())).reshape(level.shape)

    @cached_property
    def _nodes(self) -> Nodes:
        return self.shrunk.nodes()

    def moment(self, k: int) -> float:
        return float(np.sum(self._nodes.mass * self._nodes.s**k)) if k else 1.0

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        """By quadrature: for ``z`` away from the support by more than the spacing of the nodes."""
        inverse = 1.0 / (z[:, None] - self._nodes.s)
        return inverse @ self._nodes.mass, -(inverse**2) @ self._nodes.mass

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Image of the eigenvalues of one random matrix ``S_0 + delta GOE`` of size ``d``."""
        return self.shrunk.map(self.free.sample(d, rng))
