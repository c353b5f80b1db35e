"""Functions of a feature that a label is made of: even ones, since these need second moments to be seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import factorial, sqrt
from typing import Any, final

import numpy as np
from numpy.polynomial import hermite_e

from presage.laws.spectral_law import Floats
from presage.models.multi_index.declaration import DEGREE, SECOND
from presage.models.multi_index.gaussian_means import looked_at, must_be_finite_at_zero
from presage.protocol import checks
from presage.protocol.fields import Declared, declared


class Link(Declared, ABC):
    """An even function f of a standard Gaussian z, with a finite variance."""

    @abstractmethod
    def __call__(self, z: Floats) -> Floats:
        """Its values at an array of places."""

    def check_itself(self, name: str) -> None:
        """Complain where it is no even function with a finite variance."""
        looked_at(self, name)
        must_be_finite_at_zero(self, name)


@final
@dataclass(frozen=True)
class HermiteLink(Link):
    """A Hermite polynomial of even degree, of variance one: ``He_n(z)/sqrt(n!)``."""

    degree: int = field(metadata=declared(DEGREE))

    def check_together(self) -> None:
        if self.degree % 2:
            raise checks.complaint(
                "degree",
                "be even",
                "an odd function is seen in the mean of y x already, and there is no gap to speak of",
                self.degree,
                "Use for example <degree=2>.",
            )

    def __call__(self, z: Floats) -> Floats:
        values = hermite_e.hermeval(z, [0.0] * self.degree + [1.0])
        return np.asarray(values / sqrt(factorial(self.degree)), dtype=np.float64)


@final
@dataclass(frozen=True)
class AbsoluteLink(Link):
    """The absolute value, ``|z|``."""

    def __call__(self, z: Floats) -> Floats:
        return np.abs(z)


@final
@dataclass(frozen=True)
class CosineLink(Link):
    """Cosines, ``cos z - second cos 2z``; with ``second = exp(3/2)/4`` it has no part of degree two."""

    second: float = field(default=SECOND.default, metadata=declared(SECOND))

    def __call__(self, z: Floats) -> Floats:
        return np.asarray(np.cos(z) - self.second * np.cos(2.0 * np.asarray(z)))


@final
@dataclass(frozen=True)
class OwnLink(Link):
    """A function of one's own, of an array of places; to go to other processes it has a name in a module.

    What is known of it is kept, so that it must not change: neither what it looks up nor the function itself. Results
    with one cannot be saved to a file, which has no place for it: derive a frozen dataclass from `Link` for that.
    """

    function: Callable[[Floats], Any]

    def check_together(self) -> None:
        if not callable(self.function):
            reason, remedy = "it is called with an array of places", "Use for example <function=np.abs>."
            raise checks.complaint("function", "be a function", reason, self.function, remedy)

    def __call__(self, z: Floats) -> Floats:
        found = np.asarray(self.function(np.array(z)))
        return found.astype(np.float64) if found.dtype.kind in "biuf" else found  # which `looked_at` complains about


def as_link(link: Any) -> Any:
    """A plain function as a link; anything else as it is, for the declared field to judge."""
    return OwnLink(link) if callable(link) and not isinstance(link, Link | type) else link
