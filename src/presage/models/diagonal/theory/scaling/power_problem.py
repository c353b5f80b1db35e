"""A diagonal problem whose target falls as a power of the rank, in the symbols of its laws."""

from __future__ import annotations

from math import gamma as gamma_function
from math import log, pi, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.power_law import PowerLaw
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.diagonal.problem import DiagonalProblem
from presage.protocol import checks

SLOWEST = 0.5  # exponent at and below which the smallest entries make the whole of the target
STRAIGHT = 1e-9  # how far entries may be off a power of their rank, relative
FEWEST = 3  # entries that show an exponent, and one that confirms it


class PowerProblem(NamedTuple):
    """Entries (or, of Gaussian ones, standard deviations) ``theta_i = A i^-gamma``, and the numbers that are turned."""

    gamma: float
    d: int
    amplitude: float  # A: sqrt(d/Z) where the second moment is one
    gaussian: bool  # whether theta_i is the standard deviation of a Gaussian entry
    noise: float
    n: float
    weight_decay: float

    @property
    def alpha(self) -> float:
        """Samples an entry."""
        return self.n / self.d

    @property
    def theta(self) -> Floats:
        """The entries, the largest first."""
        return np.asarray(self.amplitude * np.arange(1, self.d + 1, dtype=np.float64) ** -self.gamma)

    @property
    def Q_0(self) -> float:
        """Second moment of the entries, ``A^2 Z/d``."""
        tail = scipy.special.zeta(2.0 * self.gamma, [1.0, self.d + 1.0])
        return float(self.amplitude**2 * (tail[0] - tail[1]) / self.d)

    @property
    def moment(self) -> float:
        """``E |z|^(1/gamma)``, by which Gaussian entries are more or fewer above a value; 1 for fixed ones.

        Equation: derived: the entry ``theta_i |z|`` is above c while ``i < (A |z|/c)^(1/gamma)``.
        Checked: tests/models/diagonal/test_scaling.py::test_law_of_the_regularised_phase
        """
        if not self.gaussian:
            return 1.0
        power = 1.0 / self.gamma
        return float(2.0 ** (0.5 * power) * gamma_function(0.5 * (1.0 + power)) / sqrt(pi))


def power_problem(problem: DiagonalProblem) -> PowerProblem:
    """A problem in the symbols of its laws; complain about a target that has no such law."""
    gamma, d, amplitude = power_of(problem.target)
    if gamma <= SLOWEST:
        raise checks.complaint(
            "gamma",
            "be above 0.5",
            "with slower entries the sum of their squares grows with d, the smallest make the whole of the target, and "
            "no phase has a law",
            gamma,
            "Use for example <gamma=1.25>; <solve()> takes any.",
        )
    n = problem.alpha * d
    return PowerProblem(gamma, d, amplitude, problem.draw == "gaussian", problem.noise, n, problem.weight_decay)


def power_of(law: SpectralLaw) -> tuple[float, int, float]:
    """Exponent, number and amplitude of entries ``A i^-gamma``: of a `PowerLaw`, or of a list that is one."""
    if isinstance(law, PowerLaw):
        return law.gamma, law.d, float(law.atoms.positions[-1])
    positions, masses = law.atoms
    entries, d = np.sort(positions)[::-1], len(positions)
    if d >= FEWEST and entries[-1] > 0.0 and np.ptp(masses) <= STRAIGHT / d and masses.sum() > 1.0 - STRAIGHT:
        gamma = log(entries[0] / entries[1]) / log(2.0)
        if np.abs(entries * np.arange(1, d + 1) ** gamma / entries[0] - 1.0).max() <= STRAIGHT * d:
            return gamma, d, float(entries[0])
    raise checks.complaint(
        "target",
        "be a power law",
        "a law is about entries A i^-gamma, each there once; a density, weights, zeros or signs have no exponent",
        law,
        "Use for example <target=PowerLaw(1.25, 1000)>, plain too, or point masses of values A i^-gamma.",
    )
