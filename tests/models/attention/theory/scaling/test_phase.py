"""Which phase a point is in: by the structure of its solution, and by the boundaries alone."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.attention.declaration import SCALING
from presage.models.attention.theory.scaling.phase import PHASES, WORDS, phase_by_boundaries
from presage.models.attention.theory.scaling.phase_map import phase_map
from presage.models.attention.theory.scaling.quadratic_equivalent import quadratic_equivalent
from tests.models.attention.theory.scaling.point import network

POINTS = {
    "Ia": (1.25, 1000, 0.1, 1e-4, 0.5),
    "Ib": (1.25, 1000, 1.0, 10.0, 0.5),
    "II": (1.25, 1000, 1e4, 30.0, 0.5),
    "III": (0.75, 300, 3e5, 300.0, 0.5),
    "IV": (1.25, 1000, 10.0, 1e-3, 0.5),
    "V": (1.25, 1000, 150.0, 1e-3, 0.5),
    "peak": (1.25, 1000, 251.0, 1e-3, 0.5),
    "VIa": (1.25, 1000, 1e4, 1e-3, 0.5),
    "VIb": (0.75, 300, 3e5, 1e-3, 0.5),
}


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_has_a_point(phase):
    found = ps.scaling(network(*POINTS[phase]), factor=None)
    assert found.phase == phase
    assert found.law.words == WORDS[phase]
    assert PHASES[found.phase_number] == phase


def test_the_declaration_lists_the_phases():
    assert next(one for one in SCALING if one.name == "phase_number").stands_for == PHASES
    assert set(POINTS) == set(PHASES)


@pytest.mark.parametrize(("gamma", "D"), [(0.75, 0.5), (1.25, 0.5), (2.0, 0.5), (1.25, 0.0), (1.25, 0.01)])
def test_structure_agrees_with_the_boundaries_within_a_factor_two(gamma, D):
    """Of a fine map by structure every point is next to its phase in the map by the boundaries, within the factor.

    For gamma = .75 the laws of II and III meet at 2.28 times the cutoff that spares the last feature.
    """
    factor = 2.3 if gamma == 0.75 else 2.0
    n_eff, L = np.geomspace(1e-2, 1e7, 45), np.geomspace(1e-5, 1e4, 30)
    problem = network(gamma, 1000, 1.0, 1.0, D)
    found = phase_map(problem, n=1000 * n_eff, weight_decay=L)
    place = quadratic_equivalent(problem).place
    shifts = np.geomspace(1.0 / factor, factor, 401)
    closed = phase_by_boundaries(place.units, n_eff / 1000, L[:, None], D, place.saturated)
    outside = []
    for i, j in np.argwhere(closed != found.number):
        around = [
            phase_by_boundaries(place.units, n_eff[j] / 1000 * shifts, L[i], D, place.saturated),
            phase_by_boundaries(place.units, n_eff[j] / 1000, L[i] * shifts, D, place.saturated),
        ]
        names, phase = {PHASES[k] for k in np.concatenate(around)}, PHASES[found.number[i, j]]
        if phase not in names:
            outside.append((phase, sorted(names), n_eff[j], L[i]))
    assert not outside
    assert (closed == found.number).mean() > 0.9


def test_a_map_has_the_phases_of_the_verb():
    """By the composite law instead of the exact solution: the same away from boundaries, and next to them mostly."""
    n, L = 200 * np.geomspace(0.05, 1e4, 7), np.geomspace(1e-3, 1e3, 6)
    problem = network(1.25, 200, 1.0, 1.0)
    found = phase_map(problem, n=n, weight_decay=L)
    exact = [[ps.scaling(problem.replace(alpha=a / 200**2, weight_decay=w), factor=None) for a in n] for w in L]
    same = np.array([[one.phase_number for one in row] for row in exact]) == found.number
    assert same.mean() > 0.95
    error = np.array([[one.composite for one in row] for row in exact])
    assert found.composite == pytest.approx(error, rel=1e-12)
    assert found.phase[0, 0] == "Ia"


def test_a_grid_of_a_map_is_checked():
    with pytest.raises(ps.InputError, match="`weight_decay` must be numbers > 0"):
        phase_map(network(1.25, 100, 1.0, 1.0), n=[10.0], weight_decay=[0.0, 1.0])
