"""Laws of the hidden units: what a machine says of a sample, and what it costs to say it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.fields import Declared

PLACES = np.array([0.3, 1.1])  # fields at which symmetry is looked at
ROUNDING = 1e-9  # of a sum of probabilities, and of a moment that is zero


class States(NamedTuple):
    """The states of all hidden units together, one a row, and the chance of each."""

    values: Floats  # A x k
    chances: Floats  # A


class Moments(NamedTuple):
    """Logarithm of the mean of exp(h.u) under the law of the units, with its first two derivatives in u."""

    phi: Floats  # ...
    g: Floats  # ... x k: mean of h under the law weighted by exp(h.u)
    H: Floats  # ... x k x k: its covariance


class HiddenUnits(Declared, ABC):
    """Law of the hidden units of a machine, before it has seen any data."""

    independent: bool = True  # whether all units are independent and alike, so that they may change places

    @abstractmethod
    def moments(self, u: Floats) -> Moments:
        """``phi(u) = log E_h exp(h.u)``, its gradient g and its Hessian H, at rows u of as many numbers as units."""

    @abstractmethod
    def psi(self, Q: Floats) -> float:
        """``psi(Q) = log E_h exp(h'Qh/2)``: what the weights cost, a sample."""

    @abstractmethod
    def S(self, Q: Floats) -> Floats:
        """``<h h'>`` under the law weighted by ``exp(h'Qh/2)``: twice the gradient of psi."""

    @abstractmethod
    def second_moment(self, units: int) -> Floats:
        """``E h h'``."""

    @abstractmethod
    def mean(self, units: int) -> Floats:
        """``E h``."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """Largest length of a value of a single unit; infinite where there is none."""

    def check_units(self, units: int) -> None:
        """Complain where it is a law of another number of units."""


@final
@dataclass(frozen=True)
class GaussianUnits(HiddenUnits):
    """Standard Gaussian units: the machine is probabilistic principal component analysis."""

    def moments(self, u: Floats) -> Moments:
        """``phi = |u|^2/2``, ``g = u``, ``H = 1``."""
        H = np.broadcast_to(np.eye(u.shape[-1]), (*u.shape, u.shape[-1]))
        return Moments(0.5 * np.sum(u * u, axis=-1), u, H)

    def psi(self, Q: Floats) -> float:
        """Finite where Q is below one only.

            psi = -log det(1 - Q)/2

        Equation: derived: a Gaussian integral.
        Checked: tests/models/boltzmann/test_hidden.py::test_gaussian_units_are_the_limit_of_many_values
        """
        eigenvalues = np.linalg.eigvalsh(Q)
        return float(-0.5 * np.sum(np.log1p(-eigenvalues))) if eigenvalues[-1] < 1.0 else np.inf

    def S(self, Q: Floats) -> Floats:
        """``S = (1 - Q)^-1``."""
        return np.asarray(np.linalg.inv(np.eye(len(Q)) - Q), dtype=np.float64)

    def second_moment(self, units: int) -> Floats:
        return np.eye(units)

    def mean(self, units: int) -> Floats:
        return np.zeros(units)

    @property
    def largest(self) -> float:
        return np.inf


class UnitsWithStates(HiddenUnits):
    """Units with finitely many values: everything is a sum over their states."""

    @abstractmethod
    def states(self, units: int) -> States:
        """All states of so many units."""

    def moments(self, u: Floats) -> Moments:
        """Sums over all states, weighted by ``p_j exp(h_j . u)``.

            phi(u) = log sum_j p_j exp(h_j.u),   g = <h>_u,   H = <h h'>_u - g g'

        Equation: derived: the definition, for a law of finite support.
        Checked: tests/models/boltzmann/test_hidden.py::test_moments_are_derivatives
        """
        values, chances = self.states(u.shape[-1])
        exponent = u @ values.T + np.log(chances)
        top = exponent.max(axis=-1, keepdims=True)
        weight = np.exp(exponent - top)
        total = weight.sum(axis=-1, keepdims=True)
        weight /= total
        g = weight @ values
        pairs = values[:, :, None] * values[:, None, :]
        H = np.tensordot(weight, pairs, axes=1) - g[..., :, None] * g[..., None, :]
        return Moments((np.log(total) + top)[..., 0], g, H)

    def psi(self, Q: Floats) -> float:
        """What the weights cost, a sample.

            psi(Q) = log sum_j p_j exp(h_j'Qh_j/2)

        Equation: derived: the definition, for a law of finite support.
        Checked: tests/models/boltzmann/test_hidden.py::test_partition_function_of_gaussian_visible_units
        """
        values, chances = self.states(len(Q))
        exponent = 0.5 * np.einsum("ai,ij,aj->a", values, Q, values)
        top = float(exponent.max())
        return float(np.log(chances @ np.exp(exponent - top))) + top

    def S(self, Q: Floats) -> Floats:
        """Second moment of the units under the law of the machine, twice the gradient of psi.

            S(Q) = <h h'>_Q,   d psi/dQ = S/2

        Equation: derived: the derivative of a logarithm of a sum.
        Checked: tests/models/boltzmann/test_hidden.py::test_moments_are_derivatives
        """
        values, chances = self.states(len(Q))
        exponent = 0.5 * np.einsum("ai,ij,aj->a", values, Q, values)
        weight = chances * np.exp(exponent - exponent.max())
        return np.asarray((values.T * (weight / weight.sum())) @ values)

    def second_moment(self, units: int) -> Floats:
        values, chances = self.states(units)
        return np.asarray((values.T * chances) @ values)

    def mean(self, units: int) -> Floats:
        values, chances = self.states(units)
        return np.asarray(chances @ values)


@final
@dataclass(frozen=True)
class BinaryUnits(UnitsWithStates):
    """Units that are 1 or -1, each with the chance one half."""

    def states(self, units: int) -> States:
        return states_of_alike((-1.0, 1.0), (0.5, 0.5), units)

    def moments(self, u: Floats) -> Moments:
        """The sums over states in closed form: units are independent given u.

            phi = sum_i log cosh u_i,   g = tanh u,   H = diag(1 - g^2)

        Equation: derived: a sum of two exponentials.
        Checked: tests/models/boltzmann/test_hidden.py::test_binary_units_are_those_of_two_values
        """
        size = np.abs(u)
        phi = np.sum(size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0), axis=-1)
        g = np.tanh(u)
        H = np.zeros((*u.shape, u.shape[-1]))
        each = np.arange(u.shape[-1])
        H[..., each, each] = 1.0 - g * g
        return Moments(phi, g, H)

    @property
    def largest(self) -> float:
        return 1.0


@cache
def states_of_alike(values: tuple[float, ...], chances: tuple[float, ...] | None, units: int) -> States:
    """States of independent units of one law, each value once."""
    each = chances or (1.0 / len(values),) * len(values)
    one: dict[float, float] = {}
    for value, chance in zip(values, each, strict=True):
        one[value] = one.get(value, 0.0) + chance
    states = list(product(one, repeat=units))
    return States(np.array(states), np.array([np.prod([one[value] for value in state]) for state in states]))


@cache
def states_of_rows(rows: tuple[tuple[float, ...], ...], chances: tuple[float, ...] | None) -> States:
    """States of units of a law together, each once: rows that are equal add their chances."""
    each = chances or (1.0 / len(rows),) * len(rows)
    law: dict[tuple[float, ...], float] = {}
    for row, chance in zip(rows, each, strict=True):
        law[row] = law.get(row, 0.0) + chance
    return States(np.array(list(law)), np.array(list(law.values())))


def is_symmetric(hidden: HiddenUnits, units: int) -> bool:
    """Whether h and -h are as likely: then a sample tells no sign of the weights."""
    if isinstance(hidden, GaussianUnits):
        return True
    if not isinstance(hidden, UnitsWithStates):  # a law of one's own shows it by its means
        u = PLACES[:, None] * np.arange(1.0, units + 1.0)
        return bool(np.allclose(hidden.moments(u).g, -hidden.moments(-u).g, atol=ROUNDING))
    values, chances = hidden.states(units)
    law: dict[tuple[float, ...], float] = {}
    for row, chance in zip(values, chances, strict=True):  # of a law of one's own a state may be there twice
        law[tuple(row)] = law.get(tuple(row), 0.0) + chance
    return all(abs(law.get(tuple(-value for value in row), 0.0) - chance) < ROUNDING for row, chance in law.items())


def spread(hidden: HiddenUnits, units: int) -> float:
    """Root of the mean squared value of a unit."""
    return sqrt(float(np.trace(hidden.second_moment(units))) / units)
