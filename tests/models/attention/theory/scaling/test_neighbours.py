"""The nearest boundaries of a point."""

from __future__ import annotations

import pytest

import presage as ps
from presage.models.attention.theory.scaling import boundaries
from presage.models.attention.theory.scaling.law_here import law_value
from presage.models.attention.theory.scaling.local_exponents import exact_error
from presage.models.attention.theory.scaling.neighbours import FIELDS, neighbours
from presage.models.attention.theory.scaling.phase import PHASES, Place, phase_by_boundaries
from tests.models.attention.theory.scaling.point import network, place
from tests.models.attention.theory.scaling.test_phase import POINTS


def moved_to(here: Place, axis: str, value: float) -> Place:
    """The place at another number of samples or weight decay."""
    return here._replace(alpha=value) if axis == "alpha" else here._replace(L=value)


@pytest.mark.parametrize("phase", PHASES)
def test_boundaries_are_where_the_phase_changes(phase):
    here = place(*POINTS[phase])
    found = neighbours(here, phase)
    assert {edge.field for edge in found} == set(FIELDS)
    for edge in found:
        assert edge.here == phase
        assert edge.exact == ("Ib" in (edge.here, edge.there) or {edge.here, edge.there} == {"III", "VIb"})
        axis = FIELDS[edge.field]
        out = 1.0 if edge.value > getattr(here, axis) else -1.0
        if "Ib" in (edge.here, edge.there):
            moved = moved_to(here, axis, edge.value)
            assert boundaries.largest_weight_decay(moved.units, moved.alpha, moved.D) == pytest.approx(moved.L)
            continue
        names = []
        for side in (-1e-6, 1e-6):
            moved = moved_to(here, axis, edge.value * (1.0 + side * out))
            number = phase_by_boundaries(moved.units, moved.alpha, moved.L, moved.D, moved.saturated)
            names.append(PHASES[int(number)])
        assert names == [edge.here, edge.there]


def test_a_narrow_peak_is_not_leapt_over():
    """At little weight decay the peak is far narrower than a step of the walk, and is a phase all the same."""
    here = place(2.0, 1000, 150.0, 1e-6)
    found = {edge.there: edge for edge in neighbours(here, "V") if edge.field == "n"}
    assert "peak" in found
    beyond = place(2.0, 1000, 1e4, 1e-6)
    (peak,) = [edge for edge in neighbours(beyond, "VIa") if edge.field == "n" and edge.value < beyond.alpha]
    assert peak.there == "peak"
    assert peak.value / found["peak"].value < 1.01


def test_an_exact_boundary_separates_the_exact_phases():
    """Ib and III/VIb: on both sides of the boundary the verb says the one and the other."""
    for point, field in (((1.25, 1000, 10.0, 1.0, 0.5), "weight_decay"), ((0.75, 300, 3e5, 30.0, 0.5), "weight_decay")):
        problem = network(*point)
        edges = [e for e in ps.scaling(problem, factor=None).boundaries if e.exact and e.field == field]
        assert edges
        for edge in edges:
            sides = [
                ps.scaling(problem.replace(weight_decay=edge.value * f), factor=None).phase for f in (0.999, 1.001)
            ]
            assert set(sides) == {edge.here, edge.there}


def test_a_point_in_a_crossover_says_so():
    """Next to IV/V the structure and the closed boundary differ by less than a factor of two."""
    found = ps.scaling(network(1.25, 1000, 48.0, 1e-3), factor=None)
    assert found.phase == "V"
    assert any("in the crossover between V and IV" in line for line in found.caveats)
    edge = next(e for e in found.boundaries if e.there == "IV")
    assert edge.value > 48_000
    assert edge.value < 2 * 48_000


@pytest.mark.parametrize("gamma", [1.25, 2.0])
def test_at_a_boundary_the_exact_error_is_near_the_laws(gamma):
    """Of every boundary that the points of the table see, along both fields: the exact curve crosses over there.

    Next to II the law of II is meant, since the other side's is that of little weight decay, and next to Ia that of Ia,
    since the law of IV is one of many features. The law of the peak is not seen at d = 1000 for gamma = 1.25.
    """
    seen = set()
    for phase in ("II", "IV", "V", "peak", "VIa"):
        n_eff, L = POINTS[phase][2:4]
        here = place(gamma, 1000, n_eff, L)
        for edge in neighbours(here, phase):
            at = moved_to(here, FIELDS[edge.field], edge.value)
            pair = frozenset((edge.here, edge.there))
            known = pair in seen
            seen.add(pair)
            if known or at.alpha > 1e6 or ("peak" in pair and gamma == 1.25):
                continue
            exact = exact_error(network(gamma, 1000, n_eff, L), here, at.alpha, at.L)
            meant = (pair & {"II"}) or (pair & {"Ia"}) or pair
            ratios = [exact / law_value(at, name) for name in meant]
            assert all(0.5 < ratio < 2.0 for ratio in ratios), (sorted(pair), ratios)
    assert {
        frozenset(("II", "VIa")),
        frozenset(("IV", "V")),
        frozenset(("V", "peak")),
        frozenset(("peak", "VIa")),
    } <= seen
