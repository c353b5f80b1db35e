"""The phase diagram over a grid, by the composite law: nothing is integrated, and a point takes half a millisecond."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.attention.problem import Problem
from presage.models.attention.theory.scaling.boundaries import largest_weight_decay
from presage.models.attention.theory.scaling.composite import composite_law
from presage.models.attention.theory.scaling.phase import PHASES, phase_by_structure
from presage.models.attention.theory.scaling.quadratic_equivalent import quadratic_equivalent
from presage.protocol import checks


class PhaseMap(NamedTuple):
    """Phases over a grid: one row a weight decay, one column a number of samples."""

    n: Floats
    weight_decay: Floats
    number: NDArray[np.int64]  # places in `PHASES`
    composite: Floats  # error by the composite law

    @property
    def phase(self) -> NDArray[np.str_]:
        """Names of the phases."""
        return np.array(PHASES)[self.number]


def phase_map(problem: Problem, *, n: Any, weight_decay: Any) -> PhaseMap:
    """Phases of a problem over numbers of samples and weight decays, by the structure of the composite law.

    The exact solution may put a point on the other side of a boundary that is close to it: `presage.scaling` says.

    Equation: derived: `phase_by_structure` of `composite_law`.
    Checked: tests/models/attention/theory/scaling/test_phase.py::test_a_map_has_the_phases_of_the_verb
    """
    along = {"n": _grid("n", n), "weight_decay": _grid("weight_decay", weight_decay)}
    equivalent = quadratic_equivalent(problem)
    place = equivalent.place
    units, D = place.units, place.D
    alpha, L = along["n"] / equivalent.n, along["weight_decay"] / equivalent.weight_decay
    number, composite = np.empty((L.size, alpha.size), dtype=np.int64), np.empty((L.size, alpha.size))
    for column, samples in enumerate(map(float, alpha)):
        most = largest_weight_decay(units, samples, D)
        for row, strength in enumerate(map(float, L)):
            found = composite_law(units, samples, strength, D)
            here = place._replace(alpha=samples, L=strength)
            number[row, column] = PHASES.index(phase_by_structure(here, found.delta, found.c, empty=strength >= most))
            composite[row, column] = equivalent.error * found.error
    return PhaseMap(along["n"], along["weight_decay"], number, composite)


def _grid(name: str, values: Any) -> Floats:
    grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if grid.ndim != 1 or not (np.isfinite(grid) & (grid > 0.0)).all():
        reason, remedy = "they are the sides of a map", f"Use for example <{name}=np.geomspace(1, 100, 20)>."
        raise checks.complaint(name, "be numbers > 0", reason, values, remedy)
    return grid
