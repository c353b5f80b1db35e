"""Laws made of atoms: given values, a power law, the eigenvalues of a given matrix."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.cauchy_sums import AtomTree, atom_tree, cauchy_sums
from presage.laws.neighbours import Neighbours
from presage.laws.spectral_law import Atoms, Complexes, Floats, SpectralLaw
from presage.protocol import checks

FEW = 6  # values that are shown one by one


class DiscreteLaw(SpectralLaw):
    """A law made of atoms alone. A subclass says which; sums over them are fast for any number."""

    proven = True  # atoms are checked when they are given, and summed: there is no branch to be wrong

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

    @cached_property
    def neighbours(self) -> Neighbours:
        """What the other atoms are to each atom."""
        return Neighbours(self.tree)

    @cached_property
    def mean(self) -> float:
        """First moment; kept, since every integral asks for it and a law may have a million atoms."""
        return self.moment(1)

    @cached_property
    def second_moment(self) -> float:
        """Second moment, ``Q_0`` of the theory; kept likewise."""
        return self.moment(2)

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        return cauchy_sums(self.tree, z)

    def density(self, x: ArrayLike) -> Floats:
        return np.zeros(np.shape(x))

    def _continuous_below(self, x: Floats, power: int = 0) -> Floats:
        return np.zeros(x.shape)

    def quantile(self, p: ArrayLike) -> Floats:
        positions, masses = self.atoms
        cumulative = np.cumsum(masses)
        index = np.searchsorted(cumulative, checks.levels(p) * (1 - 1e-12), side="left")
        return np.asarray(positions[np.minimum(index, positions.size - 1)])


def number_list(name: str, given: ArrayLike, reason: str) -> Floats:
    """A list of finite numbers as an array; complain about anything else."""
    remedy = "Pass a non-empty one-dimensional list of finite numbers."
    try:
        array = np.array(given)
        if array.dtype.kind not in "iuf":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise checks.complaint(name, "be real numbers", reason, _in_short(given), remedy) from None
    if array.ndim != 1 or array.size == 0:
        got = f"an array of shape {array.shape}"
        raise checks.complaint(name, "be a non-empty list", reason, got, remedy)
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise checks.complaint(name, "be finite", reason, float(bad), remedy)
    return array


def _in_short(given: ArrayLike) -> object:
    """What was given, for a message: an array by its shape and kind, a long list by its length."""
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape} and dtype {given.dtype}"
    if isinstance(given, list | tuple) and len(given) > FEW:
        return f"{given[0]!r}, ... ({len(given)} of them)"
    return given


def abbreviated(array: Floats) -> str:
    """Numbers for a repr: a few of them, or the ends and how many there are."""
    if array.size <= FEW:
        return "[" + ", ".join(f"{x:g}" for x in array) + "]"
    return f"[{array[0]:g}, ..., {array[-1]:g}: {array.size} values]"
