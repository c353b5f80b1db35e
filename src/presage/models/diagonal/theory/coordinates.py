"""What is learned of each entry of the target: how often it is there, how large it is, how far off."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi, sqrt
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
import scipy
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.diagonal.theory.nodes import is_continuous
from presage.protocol import checks

if TYPE_CHECKING:
    from presage.models.diagonal.theory.solution import DiagonalSolution


@final
@dataclass(frozen=True, eq=False)
class Coordinates:
    """One row an entry of the target, the largest first; an atom of a law that is there several times is one row.

    An entry is **learned** when it is above the cutoff and above the noise, ``theta > max(c, delta)``. Above the cutoff
    it is kept more often than not; where the cutoff is below the noise one that is zero is kept nearly as often, and to
    be nonzero says nothing. It is the leading order of a smooth change: `nonzero`, `fit` and `error` are the numbers.
    Gaussian entries are told by their standard deviations, and every number is a mean over them.
    """

    i: NDArray[np.int64] = field(repr=False)  # rank, from 1
    theta: Floats = field(repr=False)  # entry, or standard deviation of it
    mass: Floats = field(repr=False)  # fraction of entries that are like this
    learned: NDArray[np.bool_] = field(repr=False)
    nonzero: Floats = field(repr=False)  # probability that the fit of it is not zero
    fit: Floats = field(repr=False)  # E theta_fit theta_0/theta: of a fixed entry the mean of its fit, up to its sign
    error: Floats = field(repr=False)  # E (theta_fit - theta_0)^2; mean over the entries: the estimation error

    @property
    def count(self) -> float:
        """How many of all entries are learned, as a fraction."""
        return float(self.mass @ self.learned)


class EntryNumbers(NamedTuple):
    """Of entries of given sizes: how often they are kept, their fit, their error."""

    nonzero: Floats
    fit: Floats
    error: Floats


def coordinates(solution: DiagonalSolution) -> Coordinates:
    """The table of a solution; its mean error is the estimation error of the solution.

    Args:
        solution: what `presage.solve` gave for a target of atoms: a `PowerLaw`, `PointMasses` or `Empirical`.
    """
    target = solution.problem.target
    if is_continuous(target):
        raise checks.complaint(
            "target",
            "be made of atoms",
            "a table has one row an entry, and a density has none",
            target,
            "Use PowerLaw(gamma, d), PointMasses(values) or Empirical(values).",
        )
    order = np.argsort(-np.abs(target.atoms.positions), kind="stable")
    theta, mass = target.atoms.positions[order], target.atoms.masses[order]
    found = entry_numbers(theta, solution.delta, solution.cutoff, gaussian=solution.problem.draw == "gaussian")
    learned = np.abs(theta) > learned_from(solution.delta, solution.cutoff)
    return Coordinates(np.arange(1, len(theta) + 1), theta, mass, learned, *found)


def entry_numbers(theta: Floats, delta: float, c: float, *, gaussian: bool) -> EntryNumbers:
    """The numbers of entries at a noise level and a cutoff."""
    if delta == 0.0:  # the fit is the target itself
        return EntryNumbers((theta != 0.0).astype(np.float64), np.abs(theta), np.zeros(len(theta)))
    return gaussian_entry(theta, delta, c) if gaussian else fixed_entry(theta, delta, c)


def fixed_entry(theta: Floats, delta: float, c: float) -> EntryNumbers:
    """Entries of given values; ``a = (c - |theta|)/delta``, ``b = (c + |theta|)/delta``, Q the upper tail of phi.

        nonzero = Q(a) + Q(b)
        fit = delta [phi(a) - a Q(a)] - delta [phi(b) - b Q(b)]
        error = sum_{k=a,b} [delta^2 (Q + k phi) - 2 c delta phi + c^2 Q](k) + theta^2 (1 - Q(a) - Q(b))

    Equation: derived: moments of ``soft(theta + delta z; c)``.
    Checked: tests/models/diagonal/test_coordinates.py::test_rows_are_those_of_the_scalar_channel
        tests/models/diagonal/test_coordinates.py::test_errors_of_the_entries_sum_to_the_error
    """
    size = np.abs(theta)
    k = np.stack([(c - size) / delta, (c + size) / delta])
    Q, phi = scipy.special.ndtr(-k), _phi(k)
    left = delta * (phi - k * Q)
    between = scipy.special.ndtr(k[0]) - scipy.special.ndtr(-k[1])
    error = (delta**2 * (Q + k * phi) - 2.0 * c * delta * phi + c**2 * Q).sum(axis=0) + size**2 * between
    return EntryNumbers(Q.sum(axis=0), left[0] - left[1], error)


def gaussian_entry(theta: Floats, delta: float, c: float) -> EntryNumbers:
    """Gaussian entries of standard deviation theta; ``T^2 = theta^2 + delta^2``, ``k = c/T``.

        nonzero = 2 Q(k)
        fit = 2 theta Q(k)
        error = theta^2 P(chi^2_3 < k^2) + 2 delta^2 (Q(k) - k phi(k)) + 2 c^2 Q(k)

    Equation: derived: ``E theta_0 soft(x) = theta^2 P(|x| > c)`` by parts; the error as in `gaussian_entries`.
    Checked: tests/models/diagonal/test_coordinates.py::test_rows_are_those_of_the_scalar_channel
        tests/models/diagonal/test_coordinates.py::test_errors_of_the_entries_sum_to_the_error
    """
    size = np.abs(theta)
    k = c / np.sqrt(size**2 + delta**2)
    Q, phi = scipy.special.ndtr(-k), _phi(k)
    inner = scipy.special.gammainc(1.5, 0.5 * k**2)
    error = size**2 * inner + 2.0 * delta**2 * (Q - k * phi) + 2.0 * c**2 * Q
    return EntryNumbers(2.0 * Q, 2.0 * size * Q, error)


def learned_from(delta: float, c: float) -> float:
    """The size from which on an entry is learned, ``max(c, delta)``; `Coordinates` says why.

    Equation: derived: the sizes at which ``theta + delta z`` leaves the cutoff and the noise.
    Checked: tests/models/diagonal/test_coordinates.py::test_learned_entries_are_kept_and_stand_out
    """
    return max(c, delta)


def _phi(k: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * k * k) / sqrt(2.0 * pi))
