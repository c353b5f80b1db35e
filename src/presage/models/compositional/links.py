"""The last function of a compositional target, from the second layer to the labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.fields import Declared, Number, declared

PANELS, NODES = 384, 8  # of the rule by which a function is looked at: a bend at zero is between two panels
FARTHEST = 12.0  # standard deviations: beyond is a part of 1e-32
CENTRED = 1e-5  # how far from zero the mean of a function may be, over its size
SEEN = 1e-6  # how small the slope of a function may be on average, over its size


class OuterLink(ABC):
    """A function of the second layer, which is about standard normal: of mean zero, and sloping on average.

    One of one's own derives from this class and defines ``__call__``, of arrays; as a frozen dataclass it is equal to
    another one of the same numbers, which stored results look at.
    """

    @abstractmethod
    def __call__(self, h: Floats) -> Floats:
        """Labels of these values of the second layer."""

    def mean_slope(self) -> float:
        """nu_1 = E link' over a standard normal, which is E[link(z) z]."""
        z, weight = _normal()
        return float(weight @ (z * self(z.copy())))

    def check_itself(self, name: str) -> None:
        """Complain about a function without a mean of zero, or without a slope."""
        z, weight = _normal()
        values = np.asarray(self(z.copy()), dtype=np.float64)  # a copy: a function may work in place
        if values.shape != z.shape or not np.isfinite(values).all():
            reason = "labels are numbers, one for each value of the second layer"
            raise checks.complaint(
                name, "give finite numbers", reason, self, f"Use for example <{name}=TanhLink(1.0)>."
            )
        size = float(np.sqrt(weight @ values**2))
        mean, slope = float(weight @ values), self.mean_slope()
        if abs(mean) > CENTRED * max(size, 1e-300):
            raise checks.complaint(
                name,
                "have mean zero over a standard normal",
                f"its mean is {mean:.3g}, and the first layer correlates labels without a mean with the features",
                self,
                f"Subtract {mean:.6g} from it.",
            )
        if abs(slope) < SEEN * size or size == 0.0:
            raise checks.complaint(
                name,
                "have a slope that is not zero on average",
                "E link' = 0 leaves no trace of any feature in the matrix of the first layer, at any number of samples",
                self,
                f"Use a function with a linear part, for example <{name}=TanhLink(1.0)>.",
            )


@final
@dataclass(frozen=True)
class IdentityLink(OuterLink):
    """Labels are the second layer itself."""

    def __call__(self, h: Floats) -> Floats:
        return h


@final
@dataclass(frozen=True)
class TanhLink(Declared, OuterLink):
    """``tanh(gain h)``."""

    gain: float = field(
        default=1.0, metadata=declared(Number("gain of the hyperbolic tangent", above=0.0, at_most=100.0, example=1.0))
    )

    def __call__(self, h: Floats) -> Floats:
        return np.asarray(np.tanh(self.gain * h))


@final
@dataclass(frozen=True)
class CubicLink(Declared, OuterLink):
    """``h + share (h^3 - 3h)/sqrt(6)``: a line and a cubic Hermite polynomial."""

    share: float = field(
        default=0.2, metadata=declared(Number("share of the cubic", at_least=-10.0, at_most=10.0, example=0.2))
    )

    def __call__(self, h: Floats) -> Floats:
        return np.asarray(h + self.share * (h**3 - 3.0 * h) / np.sqrt(6.0))


@cache
def _normal() -> tuple[Any, Any]:
    """Nodes and weights of a standard normal, by Gauss and Legendre in panels of equal length that end at zero."""
    at, length = np.polynomial.legendre.leggauss(NODES)
    half = FARTHEST / PANELS
    z = (half * (at + np.arange(1 - PANELS, PANELS, 2)[:, None])).ravel()
    weight = np.tile(length, PANELS) * np.exp(-0.5 * z**2)
    weight /= weight.sum()
    for array in (z, weight):
        array.setflags(write=False)
    return z, weight
