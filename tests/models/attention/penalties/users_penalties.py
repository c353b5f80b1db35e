"""Penalties as a user would write them, for the tests."""

from __future__ import annotations

import numpy as np

import presage as ps


class OwnNuclear(ps.Penalty):
    """NuclearPSD(0.05) once more."""

    lowest = 0.0

    def value(self, eigenvalues, kappa):
        return 0.05 * np.sqrt(kappa) * np.asarray(eigenvalues)


class OwnRidge(ps.Penalty):
    """Frobenius(0.05) once more."""

    def value(self, eigenvalues, kappa):
        return 0.05 * np.asarray(eigenvalues) ** 2


class Lasso(ps.Penalty):
    def value(self, eigenvalues, kappa):
        return 0.3 * np.abs(eigenvalues)


class Logarithm(ps.Penalty):
    """Not convex: small eigenvalues are cut, large ones are left nearly alone."""

    def value(self, eigenvalues, kappa):
        return 0.05 * np.log1p(np.abs(eigenvalues) / 0.3)


class Count(ps.Penalty):
    """The rank itself: r jumps at zero."""

    def value(self, eigenvalues, kappa):
        return 0.2 * (np.asarray(eigenvalues) != 0.0)


class DoubleWell(ps.Penalty):
    def value(self, eigenvalues, kappa):
        return (np.asarray(eigenvalues) ** 2 - 1.0) ** 2


class Box(ps.Penalty):
    """A cost, and walls at -1 and 1."""

    kinks = (-1.0, 0.0, 1.0)

    def value(self, eigenvalues, kappa):
        s = np.asarray(eigenvalues)
        return np.where(np.abs(s) <= 1.0, 0.1 * np.abs(s), np.inf)
