"""The nearest boundaries of a point, below and above it in the number of samples and in weight decay."""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.theory.scaling import boundaries
from presage.models.attention.theory.scaling.peak import half_width, peak_height
from presage.models.attention.theory.scaling.phase import PHASES, Place, phase_by_boundaries

STEP = log(1.1)  # of the walk along a field
FAR = 45.0  # e-folds that it goes
HALVINGS = 50
FINE, REFINEMENTS = 33, 7  # points between two of the walk, and how often they are refined: to rounding
EXACT = ({"III", "VIb"},)  # pairs whose boundary is exact; that of Ib is too
FIELDS = {"n": "alpha", "weight_decay": "L"}


class Edge(NamedTuple):
    """A boundary along one field, at second moment one."""

    field: str
    value: float  # in alpha or in L
    here: str
    there: str
    exact: bool


def neighbours(place: Place, phase: str) -> tuple[Edge, ...]:
    """The nearest boundaries of a place of this phase: in samples below and above, then in weight decay.

    Next to a boundary the structure of a solution and the closed boundaries may put a place on different sides of it;
    then the boundary of the phase is on the other side of the place, by no more than what a boundary is off.

    Equation: derived: the first change of `phase_by_boundaries` along a field, with that of Ib replaced by its root.
    Checked: tests/models/attention/theory/scaling/test_neighbours.py::test_boundaries_are_where_the_phase_changes
    Checked: tests/models/attention/theory/scaling/test_neighbours.py::test_a_narrow_peak_is_not_leapt_over
    """
    return tuple(edge for field in FIELDS for edge in _along(place, phase, field))


def _along(place: Place, phase: str, field: str) -> list[Edge]:
    axis = FIELDS[field]
    x = _walk(place, axis)
    names = [PHASES[k] for k in _numbers(place, axis, x)]
    own = _nearest(names, phase, int(np.argmin(np.abs(x - log(getattr(place, axis))))))
    if own is None:  # along this field the closed boundaries never show the phase
        return []
    first, last = own, own
    while first > 0 and names[first - 1] == phase:
        first -= 1
    while last < len(names) - 1 and names[last + 1] == phase:
        last += 1
    found = []
    if first > 0:
        found.append(_edge(place, field, x[first], x[first - 1], phase, names[first - 1]))
    if last < len(names) - 1:
        found.append(_edge(place, field, x[last], x[last + 1], phase, names[last + 1]))
    return found


def _walk(place: Place, axis: str) -> Floats:
    """Logarithms along a field, with points between all that may be close to each other."""
    middle = log(getattr(place, axis))
    steps = np.arange(-FAR, FAR + STEP, STEP)
    knots = [*(middle + steps), middle]
    if axis == "alpha":
        narrow = [boundaries.Ia_IV(place.units, place.D), boundaries.IV_V(place.units, place.D)]
        if place.saturated is not None:
            at, width = place.saturated.alpha, half_width(peak_height(place.saturated, place.L, place.D), place.D)
            narrow += [at - width, at, at + width]
        beside = [log(value) + shift for value in narrow if 0.0 < value < np.inf for shift in (-1e-9, 1e-9)]
        knots += beside
    return np.unique(knots)


def _numbers(place: Place, axis: str, x: Floats) -> list[int]:
    at = {"alpha": place.alpha, "L": place.L, axis: np.exp(x)}
    return [int(k) for k in phase_by_boundaries(place.units, at["alpha"], at["L"], place.D, place.saturated)]


def _nearest(names: list[str], phase: str, start: int) -> int | None:
    """Where the phase is next to the start."""
    where = [k for k, name in enumerate(names) if name == phase]
    return min(where, key=lambda k: abs(k - start)) if where else None


def _edge(place: Place, field: str, inside: float, outside: float, here: str, there: str) -> Edge:
    """The boundary between two neighbouring points of the walk."""
    axis = FIELDS[field]
    if "Ib" in (here, there):
        return Edge(field, _edge_of_nothing(place, axis, inside, outside), here, there, exact=True)
    number = PHASES.index(here)
    for _ in range(REFINEMENTS):
        x = np.linspace(inside, outside, FINE)
        left = next((k for k, found in enumerate(_numbers(place, axis, x)) if found != number), FINE - 1)
        inside, outside = x[max(left - 1, 0)], x[left]
    return Edge(field, exp(0.5 * (inside + outside)), here, there, exact={here, there} in EXACT)


def _edge_of_nothing(place: Place, axis: str, inside: float, outside: float) -> float:
    """Where the fit becomes zero: `largest_weight_decay`, solved for alpha where asked for; it grows with alpha."""
    units, alpha, L, D, _ = place
    if axis == "L":
        return boundaries.largest_weight_decay(units, alpha, D)
    low, high = min(inside, outside) - 1.0, max(inside, outside) + 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if boundaries.largest_weight_decay(units, exp(middle), D) < L else (low, middle)
    return exp(0.5 * (low + high))
