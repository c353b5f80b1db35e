"""Laws made of atoms: given values, a power law, the eigenvalues of a given matrix."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage import _check
from presage.model.cauchy_sums import AtomTree, atom_tree, cauchy_sums
from presage.model.laws import Atoms, Complexes, Floats, SpectralLaw


class DiscreteLaw(SpectralLaw):
    """A law made of atoms alone. A subclass says which; sums over them are fast for any number."""

    @abstractmethod
    def _atoms(self) -> Atoms:
        """The atoms, sorted by position, masses summing to one."""

    @cached_property
    def atoms(self) -> Atoms:
        return self._atoms()

    @cached_property
    def support(self) -> Floats:
        return np.repeat(self.atoms.positions[:, None], 2, axis=1)

    @cached_property
    def tree(self) -> AtomTree:
        """The atoms, prepared for fast sums over them."""
        return atom_tree(self.atoms.positions, self.atoms.masses)

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        return cauchy_sums(self.tree, z)

    def density(self, x: ArrayLike) -> Floats:
        return np.zeros(np.shape(x))

    def _continuous_below(self, x: Floats, power: int = 0) -> Floats:
        return np.zeros(x.shape)

    def quantile(self, p: ArrayLike) -> Floats:
        positions, masses = self.atoms
        cumulative = np.cumsum(masses)
        index = np.searchsorted(cumulative, _check.levels(p) * (1 - 1e-12), side="left")
        return np.asarray(positions[np.minimum(index, positions.size - 1)])


@final
@dataclass(frozen=True, eq=False)
class PointMasses(DiscreteLaw):
    """Atoms at given values with given weights (equal ones when `weights` is left out)."""

    values: ArrayLike
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        values = _array("values", self.values, "they are eigenvalues")
        if self.weights is None:
            weights = np.full(values.size, 1.0 / values.size)
        else:
            weights = _array("weights", self.weights, "they are the masses of the atoms")
        if weights.size != values.size:
            raise _check.complaint(
                "weights",
                "have one entry a value",
                "each atom has its own mass",
                f"{weights.size} weights for {values.size} values",
                "Give as many weights as values, or leave them out for equal ones.",
            )
        if not (weights > 0).all():
            raise _check.complaint(
                "weights",
                "be positive",
                "they are the masses of the atoms",
                float(weights.min()),
                "Leave out the values whose weight is 0.",
            )
        if abs(weights.sum() - 1) > 1e-9:
            raise _check.complaint(
                "weights",
                "sum to one",
                "they are the masses of a probability law",
                f"weights with sum {weights.sum():.10g}",
                "Divide them by their sum.",
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", weights / weights.sum())

    def _atoms(self) -> Atoms:
        positions, index = np.unique(np.asarray(self.values), return_inverse=True)
        masses = np.bincount(index, weights=np.asarray(self.weights, dtype=np.float64))
        return Atoms(positions, np.asarray(masses, dtype=np.float64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointMasses) and all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self.atoms, other.atoms, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.atoms.positions.tobytes(), self.atoms.masses.tobytes()))

    def __repr__(self) -> str:
        return f"PointMasses({_short(self.atoms.positions)}, {_short(self.atoms.masses)})"


@final
@dataclass(frozen=True)
class PowerLaw(DiscreteLaw):
    """``d`` atoms of mass ``1/d`` at ``i^-gamma``, scaled to second moment one when `normalized`."""

    gamma: float
    d: int
    normalized: bool = True

    def __post_init__(self) -> None:
        gamma = _check.real(
            "gamma",
            self.gamma,
            above=0.0,
            at_most=50.0,
            reason="eigenvalue i of the target is proportional to i^-gamma",
            remedy="Use for example gamma=1.25.",
        )
        d = _check.integer(
            "d",
            self.d,
            at_least=1,
            at_most=10_000_000,
            reason="it is the number of eigenvalues of the target",
            remedy="Use the dimension of the layer, for example d=400.",
        )
        if not isinstance(self.normalized, bool):
            raise _check.complaint(
                "normalized",
                "be True or False",
                "it says whether the second moment is scaled to one",
                self.normalized,
                "Use normalized=True or leave it out.",
            )
        object.__setattr__(self, "gamma", gamma)
        object.__setattr__(self, "d", d)

    def _atoms(self) -> Atoms:
        positions = np.arange(self.d, 0, -1, dtype=np.float64) ** -self.gamma
        if self.normalized:
            positions /= sqrt(np.mean(positions**2))
        return Atoms(positions, np.full(self.d, 1.0 / self.d))


@final
@dataclass(frozen=True, eq=False)
class Empirical(DiscreteLaw):
    """Eigenvalues as they are: of a given symmetric matrix, or given as a list."""

    eigenvalues: ArrayLike

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.eigenvalues)
        except ValueError:  # rows of unequal length
            given = np.asarray(self.eigenvalues, dtype=object)
        if given.ndim == 2:
            entries = _array("eigenvalues", given.ravel(), "they are the entries of a matrix")
            matrix = entries.reshape(len(given), -1)
            square = len(matrix) == len(matrix.T)
            if not square or np.abs(matrix - matrix.T).max() > 1e-8 * (np.abs(matrix).max() + 1e-300):
                raise _check.complaint(
                    "eigenvalues",
                    "be a list of eigenvalues or a symmetric matrix",
                    "the target of the model is a symmetric matrix",
                    f"a matrix of shape {matrix.shape} that is not symmetric",
                    "Pass W @ W.T / sqrt(m d) for a factor W, or (A + A.T)/2.",
                )
            values = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
        else:
            values = np.sort(_array("eigenvalues", given, "they are eigenvalues"))
        object.__setattr__(self, "eigenvalues", values)

    def _atoms(self) -> Atoms:
        positions, counts = np.unique(np.asarray(self.eigenvalues), return_counts=True)
        return Atoms(positions, counts / counts.sum())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empirical) and np.array_equal(
            np.asarray(self.eigenvalues), np.asarray(other.eigenvalues)
        )

    def __hash__(self) -> int:
        return hash(np.asarray(self.eigenvalues).tobytes())

    def __repr__(self) -> str:
        return f"Empirical({_short(np.asarray(self.eigenvalues))})"


def _array(name: str, given: ArrayLike, reason: str) -> Floats:
    remedy = "Pass a non-empty one-dimensional list of finite numbers."
    try:
        array = np.array(given)
        if array.dtype.kind not in "iuf":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise _check.complaint(name, "be real numbers", reason, given, remedy) from None
    if array.ndim != 1 or array.size == 0:
        got = f"an array of shape {array.shape}"
        raise _check.complaint(name, "be a non-empty list", reason, got, remedy)
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise _check.complaint(name, "be finite", reason, float(bad), remedy)
    return array


def _short(array: Floats) -> str:
    if array.size <= 6:
        return "[" + ", ".join(f"{x:g}" for x in array) + "]"
    return f"[{array[0]:g}, ..., {array[-1]:g}: {array.size} values]"
