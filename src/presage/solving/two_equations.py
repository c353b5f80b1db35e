"""The two equations of a linear channel, for symmetric matrices and for others: what they are, and Newton's method.

``(risk(delta, c) + noise)/(unit alpha delta^2) = 1`` and ``(I(delta, c) + strength/c)/alpha = 1`` for the noise level
``delta`` and the cutoff ``c``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import log
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from presage.laws.spectral_law import Floats

NEWTON_STEPS = 30


class Integrals(Protocol):
    """What the equations need of a spectrum above the cutoff, with every derivative."""

    @property
    def delta(self) -> float: ...
    @property
    def c(self) -> float: ...
    @property
    def I(self) -> float: ...
    @property
    def risk(self) -> float: ...
    @property
    def dI_ddelta(self) -> float: ...
    @property
    def dI_dc(self) -> float: ...
    @property
    def drisk_ddelta(self) -> float: ...
    @property
    def drisk_dc(self) -> float: ...


F = TypeVar("F", bound=Integrals)


class Point(NamedTuple, Generic[F]):
    """A point of the curve: noise level, cutoff, the integrals there and the residual of the two equations."""

    delta: float
    c: float
    functionals: F
    residual: float
    evaluations: int


class TwoEquations(ABC, Generic[F]):
    """The two equations at a given alpha and strength of the penalty, and how many times they were evaluated.

    In which unknowns Newton's method goes, and from where, is said by the classes that derive from it.
    """

    lost: float  # e-folds of delta from the start at which Newton's method is on the wrong way

    def __init__(
        self, integrals: Callable[[float, float], F], noise: float, alpha: float, strength: float, unit: float
    ) -> None:
        self.integrals, self.noise, self.alpha, self.strength, self.unit = integrals, noise, alpha, strength, unit
        self.evaluations = 0

    def at(self, delta: float, c: float) -> F:
        self.evaluations += 1
        return self.integrals(delta, c)

    def residuals(self, f: F) -> tuple[float, float]:
        """Both equations, relative to ``unit alpha delta^2`` and to ``alpha``."""
        first = (f.risk + self.noise) / (self.unit * self.alpha * f.delta**2) - 1.0
        pull = self.strength / f.c if self.strength > 0.0 else 0.0
        return first, (f.I + pull) / self.alpha - 1.0

    def size(self, f: F) -> float:
        return float(np.hypot(*self.residuals(f)))

    @abstractmethod
    def newton_step(self, f: F) -> Floats | None:
        """Newton's step in the unknowns, limited; None where the derivatives give none."""

    @abstractmethod
    def moved(self, f: F, step: Floats) -> tuple[float, float]:
        """Noise level and cutoff after a step in the unknowns."""

    def polish(self, delta: float, c: float, tol: float) -> Point[F]:
        """Damped Newton, as long as it makes good progress."""
        f = self.at(delta, c)
        size = self.size(f)
        for _ in range(NEWTON_STEPS):
            if size < tol:
                break
            step = self.newton_step(f)
            if step is None or abs(log(f.delta / delta)) > self.lost:
                break
            for shrink in (1.0, 0.3, 0.1):
                trial = self.at(*self.moved(f, shrink * step))
                trial_size = self.size(trial)
                if trial_size < (1.0 - 0.3 * shrink) * size:
                    break
            else:
                break
            f, size = trial, trial_size
        return Point(f.delta, f.c, f, size, self.evaluations)
