"""What is learned, ready to be drawn: the law of a prediction cut into bulks, outliers, atoms and zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, NamedTuple, final

import numpy as np

from presage.protocol.ensemble import Floats

TAIL = 1e-4  # mass of a law without an end that is left out on each side
WIDEST = 1e12  # how far from zero an end of it is looked for
Points = list[tuple[float, float]]


class Band(NamedTuple):
    """An interval of a continuous law and the mass in it."""

    left: float
    right: float
    mass: float


class Atom(NamedTuple):
    """A point mass."""

    at: float
    mass: float


@final
@dataclass(frozen=True)
class Learned:
    """A law and what there is to see of it."""

    words: str  # what it is the law of: "eigenvalues"
    law: Any
    bulks: tuple[Band, ...]
    outliers: tuple[float, ...]
    atoms: tuple[Atom, ...]  # away from zero
    zero: float  # mass at zero

    @classmethod
    def of(cls, prediction: Any, *, root: bool = False) -> Learned:
        """That of a prediction; with `root` that of its singular values, which are the roots of its eigenvalues.

        Raises:
            AttributeError: where it has no such law; the text says why, where the prediction does.
        """
        law = prediction.singular_values if root else prediction.learned_law
        if law is None:
            raise AttributeError("")
        found = cls.of_law(law, "singular values" if root else prediction.spectrum_of)
        fraction = next((one.name for one in prediction.observables if one.fraction), None)
        zero = found.zero if fraction is None else 1.0 - float(getattr(prediction, fraction))
        if not hasattr(prediction, "bulks"):
            return cls(found.words, law, found.bulks, (), found.atoms, zero)
        power = 0.5 if root else 1.0
        bulks = tuple(Band(float(b.left) ** power, float(b.right) ** power, float(b.mass)) for b in prediction.bulks)
        outliers = tuple(float(at) ** power for at in getattr(prediction, "outliers", ()))
        return cls(found.words, law, bulks, outliers, found.atoms, zero)

    @classmethod
    def of_law(cls, law: Any, words: str) -> Learned:
        """That of a law itself, whose bulks are the intervals of its support."""
        atoms = [Atom(float(at), float(mass)) for at, mass in zip(*getattr(law, "atoms", ((), ())), strict=True)]
        zero = float(law.zero) if hasattr(law, "zero") else sum(atom.mass for atom in atoms if atom.at == 0.0)
        edges = [_finite(law, float(left), float(right)) for left, right in law.support if right > left]
        bulks = tuple(Band(left, right, _mass(law, left, right, atoms, zero)) for left, right in edges)
        return cls(words, law, bulks, (), tuple(atom for atom in atoms if atom.at != 0.0), zero)

    @property
    def left_out(self) -> str:
        """What the bulks do not have of a law without an end, in a sentence; "" where they have all of it."""
        open_ends = sum(not isfinite(end) for interval in self.law.support for end in interval)
        if not open_ends:
            return ""
        side = "each side" if open_ends > 1 else "that side"
        return f"the law of the {self.words} has no end: the last {TAIL:g} of its mass on {side} is left out."

    def density(self, points: int) -> list[Points]:
        """The density inside every bulk, closer together at the edges, where it rises like a root."""
        found = []
        for bulk in self.bulks:
            x = _places(bulk.left, bulk.right, points)
            found.append([(float(at), float(height)) for at, height in zip(x, self.law.density(x), strict=True)])
        return found


def _places(left: float, right: float, points: int) -> Floats:
    return 0.5 * (left + right) - 0.5 * (right - left) * np.cos(np.pi * (np.arange(points) + 0.5) / points)


def _mass(law: Any, left: float, right: float, atoms: Sequence[Atom], zero: float) -> float:
    """Continuous mass of an interval: what the distribution function gains, less the atoms in it."""
    inside = sum(atom.mass for atom in atoms if left < atom.at <= right)
    if not any(atom.at == 0.0 for atom in atoms) and left < 0.0 <= right:
        inside += zero
    return float(law.cdf(right)) - float(law.cdf(left)) - inside


def _finite(law: Any, left: float, right: float) -> tuple[float, float]:
    """An interval without its infinite ends, beyond which there is next to no mass."""
    return left if isfinite(left) else _end(law, -1.0), right if isfinite(right) else _end(law, 1.0)


def _end(law: Any, sign: float) -> float:
    """Where a tail begins that weighs next to nothing, by bisection in the logarithm."""

    def is_beyond(x: float) -> bool:
        below = float(law.cdf(sign * x))
        return (1.0 - below if sign > 0.0 else below) < TAIL

    low, high = 1.0 / WIDEST, WIDEST
    for _ in range(50):
        middle = sqrt(low * high)
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return sign * high


def learned_by(prediction: Any) -> Learned | str:
    """What a prediction says that is learned; where it has no law of that, why not ("" where nothing is said)."""
    if not hasattr(type(prediction), "learned_law"):
        return ""
    try:
        return Learned.of(prediction)
    except AttributeError as error:  # the fit is the target itself, and the prediction says so
        return str(error)
