"""Sums over atoms, ``sum_i w_i/(z - s_i)`` and its derivative, at many complex points.

Few atoms are summed directly. Many atoms go through a binary tree whose nodes keep the moments of their
atoms about their centre (a one-dimensional fast-multipole treecode): a point that is far from a node, measured
by the node's radius, uses the moments. The cost of a point falls from N to about log N, at a relative error
of ``FAR**-ORDER``, which is below rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.protocol.njit import njit

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

LEAF = 32  # atoms in a leaf: direct summation of fewer is faster than a multipole
FAR = 3.0  # a node is far when the point is FAR radii away from its centre
ORDER = 32  # moments a node: FAR**-ORDER = 5e-16
NEAR = 8  # that many atoms are summed directly even when they are far
DEPTH = 128  # room for the walk: twice the depth of a tree over 2^60 atoms


class AtomTree(NamedTuple):
    """Sorted atoms and, for each node, the range it covers, its children and its scaled moments."""

    positions: Floats
    masses: Floats
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    left: NDArray[np.int64]  # index of the left child; the right one follows it; -1 for a leaf
    centre: Floats
    radius: Floats
    moments: Floats  # sum_i w_i ((s_i - centre)/radius)^k


def atom_tree(positions: Floats, masses: Floats) -> AtomTree:
    """Build the tree over atoms whose positions are sorted."""
    return AtomTree(*_build(positions, masses))


def cauchy_sums(tree: AtomTree, z: Complexes) -> tuple[Complexes, Complexes]:
    """Return ``sum w/(z-s)`` and its derivative ``-sum w/(z-s)^2`` at each point of the flat array ``z``."""
    value = np.empty(z.size, dtype=np.complex128)
    slope = np.empty(z.size, dtype=np.complex128)
    sums_of_tree(*tree, z, value, slope)
    return value, slope


def sums_of_others(tree: AtomTree, first: int, last: int) -> tuple[Floats, Floats]:
    """At each of the atoms from `first` to `last`, ``sum w/(z-s)`` and its derivative over all atoms but itself."""
    value = np.empty(last - first)
    slope = np.empty(last - first)
    _sum_of_others(*tree, first, value, slope)
    return value, slope


@njit(cache=True, error_model="numpy")
def _add_shifted(moments, centre, radius, others, other_centre, other_radius):  # type: ignore[no-untyped-def]
    """Add the scaled moments of atoms about another centre, by the binomial theorem."""
    if radius == 0.0:  # all atoms of the node are at its centre
        moments[0] += others[0]
        return
    shift, shrink = (other_centre - centre) / radius, other_radius / radius
    # Rows of (shift + shrink y)^k by Pascal's rule: what the moments of y are multiplied by.
    row = np.zeros(ORDER)
    row[0] = 1.0
    count = others.size
    for k in range(ORDER):
        for j in range(min(k + 1, count)):
            moments[k] += row[j] * others[j]
        for j in range(min(k + 1, count - 1), 0, -1):
            row[j] = shift * row[j] + shrink * row[j - 1]
        row[0] *= shift


@njit(cache=True, error_model="numpy")
def _build(positions, masses):  # type: ignore[no-untyped-def]
    n = positions.size
    size = 1
    while size * LEAF < n:
        size *= 2
    most = 4 * size
    first = np.zeros(most, dtype=np.int64)
    last = np.zeros(most, dtype=np.int64)
    left = np.full(most, -1, dtype=np.int64)
    centre = np.zeros(most)
    radius = np.zeros(most)
    moments = np.zeros((most, ORDER))
    first[0], last[0] = 0, n
    count = 1
    node = 0
    while node < count:
        a, b = first[node], last[node]
        if b - a > LEAF:
            middle = (a + b) // 2
            left[node] = count
            first[count], last[count] = a, middle
            first[count + 1], last[count + 1] = middle, b
            count += 2
        centre[node] = 0.5 * (positions[a] + positions[b - 1])
        radius[node] = 0.5 * (positions[b - 1] - positions[a])
        node += 1
    # Children come after their parents. Sums go up through them, pairwise: one after the other, a million equal
    # masses would lose four digits to rounding.
    for node in range(count - 1, -1, -1):
        if left[node] >= 0:
            for child in range(left[node], left[node] + 2):
                _add_shifted(moments[node], centre[node], radius[node], moments[child], centre[child], radius[child])
        else:
            for i in range(first[node], last[node]):
                _add_shifted(moments[node], centre[node], radius[node], masses[i : i + 1], positions[i], 0.0)
    return (
        positions,
        masses,
        first[:count].copy(),
        last[:count].copy(),
        left[:count].copy(),
        centre[:count].copy(),
        radius[:count].copy(),
        moments[:count].copy(),
    )


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def sums_at(z, stack, positions, masses, first, last, left, centre, radius, moments):  # type: ignore[no-untyped-def]
    """The two sums at one point; `stack` is scratch space for the walk through the tree."""
    x, y = z.real, z.imag
    y2 = y * y
    real = imaginary = slope_real = slope_imaginary = 0.0
    far = 0.0j
    far_slope = 0.0j
    stack[0] = 0
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        a, b = first[node], last[node]
        offset = z - centre[node]
        distance2 = offset.real * offset.real + offset.imag * offset.imag
        if b - a > NEAR and distance2 > (FAR * radius[node]) ** 2:
            inverse = 1.0 / offset
            ratio = radius[node] * inverse
            potential = 0.0j
            derivative = 0.0j
            for k in range(ORDER - 1, -1, -1):
                potential = potential * ratio + moments[node, k]
                derivative = derivative * ratio + (k + 1) * moments[node, k]
            far += potential * inverse
            far_slope -= derivative * inverse * inverse
        elif left[node] >= 0:
            stack[depth] = left[node]
            stack[depth + 1] = left[node] + 1
            depth += 2
        else:
            for i in range(a, b):
                dx = x - positions[i]
                inverse2 = 1.0 / (dx * dx + y2)
                weight = masses[i] * inverse2
                real += weight * dx
                imaginary += weight
                weight *= inverse2
                slope_real += weight * (dx * dx - y2)
                slope_imaginary += weight * dx
    return far + complex(real, -imaginary * y), far_slope + complex(-slope_real, 2.0 * y * slope_imaginary)


@njit(cache=True, error_model="numpy")
def sums_of_tree(positions, masses, first, last, left, centre, radius, moments, z, value, slope):  # type: ignore[no-untyped-def]
    """The two sums at each point of ``z``, into `value` and `slope`."""
    stack = np.empty(DEPTH, dtype=np.int64)
    for j in range(z.size):
        value[j], slope[j] = sums_at(z[j], stack, positions, masses, first, last, left, centre, radius, moments)


@njit(cache=True, error_model="numpy")
def _sum_of_others(positions, masses, first, last, left, centre, radius, moments, begin, value, slope):  # type: ignore[no-untyped-def]
    stack = np.empty(DEPTH, dtype=np.int64)
    for j in range(value.size):
        own = begin + j
        x = positions[own]
        near = near_slope = far = far_slope = 0.0
        stack[0] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            a, b = first[node], last[node]
            offset = x - centre[node]
            if b - a > NEAR and abs(offset) > FAR * radius[node]:
                inverse = 1.0 / offset
                ratio = radius[node] * inverse
                potential = derivative = 0.0
                for k in range(ORDER - 1, -1, -1):
                    potential = potential * ratio + moments[node, k]
                    derivative = derivative * ratio + (k + 1) * moments[node, k]
                far += potential * inverse
                far_slope -= derivative * inverse * inverse
            elif left[node] >= 0:
                stack[depth] = left[node]
                stack[depth + 1] = left[node] + 1
                depth += 2
            else:
                for i in range(a, b):
                    if i != own:
                        inverse = 1.0 / (x - positions[i])
                        weight = masses[i] * inverse
                        near += weight
                        near_slope -= weight * inverse
        value[j] = near + far
        slope[j] = near_slope + far_slope
