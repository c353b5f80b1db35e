"""``mu_delta`` under an increasing map ``s(x)`` that is known by its values: where it bends, and integrals with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.spectra.curve import EPS, Curve
from presage.spectra.quadrature import Panels, panels, parts_in_bands, sums_over_bands
from presage.spectra.symmetric.free import FreeConvolution

Map = Callable[[Floats], Floats]

TAIL_ALLOWED = 1e-6  # of the Legendre coefficients: integrals to about its square
SCAN = 257  # points of the first look at the map
SECTIONS = 64  # parts into which a bracket is cut in each round
ROUNDS = 10  # 64^10 is beyond double precision
STEEP = 1.3  # a step this much larger than both its neighbours may be a jump
MOST_JUMPS = 6
TOGETHER = 1e-12  # of the width of the support: points nearer than this are one
BESIDE = 1e-9  # of the width of the support: how far from its end a plateau is left behind
JUMP = 1e-5  # of the whole range of s: smaller jumps are left to the refinement of the panels


class Plateau(NamedTuple):
    """An interval of x on which the map is constant."""

    value: float
    left: float
    right: float


class Nodes(NamedTuple):
    """A quadrature of ``mu_delta``: abscissae, Hilbert part, image and mass of each node."""

    x: Floats
    h: Floats
    s: Floats
    mass: Floats
    hilbert: float  # int s h mu
    relative_error: float


@final
@dataclass(frozen=True)
class Shrunk:
    """The law ``mu_delta`` and an increasing map of it. `corners` are the values at which the map may be constant."""

    free: FreeConvolution
    map: Map = field(compare=False)
    corners: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the support of ``mu_delta``."""
        return float(self.free.support[0, 0]), float(self.free.support[-1, 1])

    @property
    def _beside(self) -> float:
        low, high = self.ends
        return BESIDE * (high - low)

    @cached_property
    def plateaus(self) -> tuple[Plateau, ...]:
        """Where the map is constant, within the support."""
        low, high = self.ends
        s_low, s_high = self.map(np.array([low, high]))
        values = [value for value in self.corners if s_low <= value <= s_high]
        sides = [(value, strict) for value in values for strict in (False, True)]

        def beyond(x: Floats) -> Floats:
            s = self.map(x.ravel()).reshape(x.shape)
            return np.stack([s[k] > value if strict else s[k] >= value for k, (value, strict) in enumerate(sides)])

        if not sides:
            return ()
        bracket = np.repeat([[low, high]], len(sides), axis=0)
        for _ in range(ROUNDS):
            x = np.linspace(bracket[:, 0], bracket[:, 1], SECTIONS + 1, axis=1)
            # The first point that is beyond the value; none, or the first of all: the end of the support.
            first = np.clip(np.argmax(np.column_stack([beyond(x), np.full(len(x), True)]), axis=1), 1, SECTIONS)
            rows = np.arange(len(x))
            bracket = np.column_stack([x[rows, first - 1], x[rows, first]])
        left, right = bracket[::2, 1], bracket[1::2, 0]
        # Ends of the support themselves belong to a plateau that reaches them.
        left = np.where([s_low >= value for value in values], low, left)
        right = np.where([s_high <= value for value in values], high, right)
        found = (Plateau(*row) for row in zip(values, left.tolist(), right.tolist(), strict=True))
        return tuple(plateau for plateau in found if plateau.right - plateau.left > TOGETHER * (high - low))

    @cached_property
    def jumps(self) -> Floats:
        """Positions at which the map jumps, as rows ``(x below, x above)`` nearly one rounding apart."""
        low, high = self.ends
        x = np.linspace(low, high, SCAN)
        s = self.map(x)
        step = np.concatenate([[0.0], np.diff(s), [0.0]])
        excess = step[1:-1] - STEEP * np.maximum(step[:-2], step[2:])
        found = np.argsort(-excess)[:MOST_JUMPS]
        found = found[excess[found] > 0.0]
        bracket = np.column_stack([x[found], x[found + 1]])
        for _ in range(ROUNDS if len(found) else 0):
            points = np.linspace(bracket[:, 0], bracket[:, 1], SECTIONS + 1, axis=1)
            largest = np.argmax(np.diff(self.map(points.ravel()).reshape(points.shape), axis=1), axis=1)
            rows = np.arange(len(points))
            bracket = np.column_stack([points[rows, largest], points[rows, largest + 1]])
        # A jump at the end of a plateau may be no larger than the steps of the scan.
        beside = self._beside
        ends = [(p.left - beside, p.left) for p in self.plateaus if p.left > low]
        ends += [(p.right, p.right + beside) for p in self.plateaus if p.right < high]
        bracket = np.concatenate([bracket, np.array(ends).reshape(-1, 2)])
        height = np.diff(self.map(bracket.ravel()).reshape(bracket.shape), axis=1)[:, 0]
        bracket = bracket[height > JUMP * (s[-1] - s[0])]
        bracket = bracket[np.argsort(bracket[:, 0])]
        return np.asarray(bracket[np.diff(bracket[:, 0], prepend=-np.inf) > 2.0 * beside])

    def nodes(self, *, sharp: bool = False) -> Nodes:
        """Quadrature that resolves ``1``, ``s^2``, ``s h`` and ``(x - s)^2``, cut where the map bends or jumps."""
        free = self.free
        low, high = self.ends
        aside = TOGETHER * (high - low)
        breaks = np.unique([end for p in self.plateaus for end in (p.left, p.right)] + self.jumps[:, 0].tolist())
        breaks = breaks[(breaks > low + aside) & (breaks < high - aside)]
        breaks = breaks[np.diff(breaks, prepend=-np.inf) > 2.0 * self._beside]
        hilbert, error = 0.0, 0.0
        parts = []
        for left, right in pairwise([-np.inf, *breaks.tolist(), np.inf]):
            u_from = -np.inf if left == -np.inf else free.parameter_above(left)
            u_to = free.parameter_above(right)
            if not ((free.bands[:, 1] > u_from) & (free.bands[:, 0] < u_to)).any():
                continue

            # Rounding must not take a node to the other side of a jump.
            def inside(x: Floats, left: float = left + aside, right: float = right - aside) -> Floats:
                return self.map(np.clip(x.ravel(), left, right)).reshape(x.shape)

            def integrands(point: Curve, inside: Map = inside) -> Floats:
                s = inside(point.x)
                # Where s is x, their distance is rounding: it is resolved beside the variance of the noise.
                return np.stack([np.ones_like(s), s * s, s * point.h, (point.x - s) ** 2 + free.t])

            p = panels(
                free.law, free.t, free.bands, integrands, tail=TAIL_ALLOWED, u_from=u_from, u_to=u_to, sharp=sharp
            )
            x, h, mass = p.x.ravel(), p.h.ravel(), p.mass.ravel()
            s = inside(x)
            parts.append((x, h, s, mass))
            position, missing = forces_on_single_atoms(free.law, free.bands, u_from, p, u_to)
            hilbert += float(np.sum(mass * s * h) + inside(position) @ missing)
            error += p.unresolved
        x, h, s, mass = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Nodes(x, h, s, mass, hilbert, error)


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
