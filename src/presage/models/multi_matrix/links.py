"""Functions of a few numbers, one a matrix, that a label is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.declaration import FURTHER_POWER, MOST_MATRICES, POWER
from presage.models.multi_matrix.looked_at import looked_at
from presage.protocol import checks
from presage.protocol.fields import Declared, declared

STEP = 6e-4  # of differences, relative to one and the place: what is left of second ones is about 1e-7


class Derivatives(NamedTuple):
    """A function of rows of numbers with its first and second derivatives."""

    value: Floats  # n
    gradient: Floats  # n x L
    hessian: Floats  # n x L x L


class MatrixLink(Declared, ABC):
    """A function g of one number a matrix, twice differentiable, at rows of these numbers."""

    @property
    @abstractmethod
    def matrices(self) -> int:
        """Number L of matrices."""

    @abstractmethod
    def __call__(self, z: Floats) -> Floats:
        """Its value at every row of L numbers."""

    def gradient(self, z: Floats) -> tuple[Floats, Floats]:
        """Value and gradient at every row; by central differences unless a class knows better."""
        gradient = np.empty_like(z)
        for h in range(self.matrices):
            step = _step(z, h)
            gradient[:, h] = (self(z + step) - self(z - step)) / (2.0 * step[:, h])
        return self(z), gradient

    def derivatives(self, z: Floats) -> Derivatives:
        """Value, gradient and Hessian at every row; by central differences unless a class knows better."""
        value, gradient = self.gradient(z)
        hessian = np.empty((*z.shape, self.matrices))
        steps = [_step(z, h) for h in range(self.matrices)]
        for h, one in enumerate(steps):
            hessian[:, h, h] = (self(z + one) - 2.0 * value + self(z - one)) / one[:, h] ** 2
            for k, other in enumerate(steps[:h]):
                corners = self(z + one + other) - self(z + one - other) - self(z - one + other) + self(z - one - other)
                hessian[:, h, k] = hessian[:, k, h] = corners / (4.0 * one[:, h] * other[:, k])
        return Derivatives(value, gradient, hessian)

    def check_itself(self, name: str) -> None:
        """Complain where it is no smooth function of all of its numbers."""
        looked_at(self, self.matrices, name)


def _step(z: Floats, h: int) -> Floats:
    """A step along one of the numbers, longer where it is large."""
    step = np.zeros_like(z)
    step[:, h] = STEP * (1.0 + np.abs(z[:, h]))
    return step


@final
@dataclass(frozen=True)
class PowersLink(MatrixLink):
    """A sum of powers, ``z_1^p_1 + z_2^p_2 + ...``: ``PowersLink(1, 2)`` is ``z_1 + z_2^2``."""

    power_1: int = field(metadata=declared(POWER))
    power_2: int = field(default=FURTHER_POWER.default, metadata=declared(FURTHER_POWER))  # 0: no such matrix
    power_3: int = field(default=FURTHER_POWER.default, metadata=declared(FURTHER_POWER))

    def check_together(self) -> None:
        if self.power_3 > 0 and not self.power_2 > 0:
            reason, remedy = "a third matrix comes after a second one", "Use for example PowersLink(1, 2, 2)."
            raise checks.complaint("power_2", "be at least 1 beside a power_3", reason, self.power_2, remedy)

    def check_itself(self, name: str) -> None:
        """Powers are smooth, and depend on every number: there is nothing to look at."""

    @property
    def powers(self) -> tuple[int, ...]:
        """The powers of the numbers that there are."""
        return tuple(one for one in (self.power_1, self.power_2, self.power_3) if one > 0)

    @property
    def matrices(self) -> int:
        return len(self.powers)

    def __call__(self, z: Floats) -> Floats:
        return np.asarray(sum(z[:, h] ** power for h, power in enumerate(self.powers)))

    def gradient(self, z: Floats) -> tuple[Floats, Floats]:
        columns = [power * z[:, h] ** (power - 1) for h, power in enumerate(self.powers)]
        return self(z), np.stack(columns, axis=1)

    def derivatives(self, z: Floats) -> Derivatives:
        hessian = np.zeros((*z.shape, self.matrices))
        for h, power in enumerate(self.powers):
            if power > 1:
                hessian[:, h, h] = power * (power - 1) * z[:, h] ** (power - 2)
        return Derivatives(*self.gradient(z), hessian)


@final
@dataclass(frozen=True)
class OwnMatrixLink(MatrixLink):
    """A function of one's own, called with an array of numbers a matrix, ``function(z_1, z_2)``.

    To go to other processes it has a name in a module. Derivatives are central differences. Results with one cannot be
    saved to a file, which has no place for it: derive a frozen dataclass from `MatrixLink` for that.
    """

    function: Callable[..., Any]
    count: int

    def __post_init__(self) -> None:
        if not callable(self.function):
            reason, remedy = "it is called with an array a matrix", "Use <function=lambda z_1, z_2: z_1 + z_2**2>."
            raise checks.complaint("function", "be a function", reason, self.function, remedy)
        reason, remedy = "it is the number of matrices that the function sees", "Use for example <count=2>."
        ends = {"at_least": 1, "at_most": MOST_MATRICES}
        object.__setattr__(self, "count", checks.integer("count", self.count, reason=reason, remedy=remedy, **ends))

    @property
    def matrices(self) -> int:
        return self.count

    def __call__(self, z: Floats) -> Floats:
        found = np.asarray(self.function(*(np.array(z[:, h]) for h in range(self.count))))
        return found.astype(np.float64) if found.dtype.kind in "biuf" else found  # which `looked_at` complains about


def as_link(link: Any, matrices: int) -> Any:
    """A plain function as a link of so many matrices; anything else as it is, for the declared field to judge."""
    return OwnMatrixLink(link, matrices) if callable(link) and not isinstance(link, MatrixLink | type) else link
