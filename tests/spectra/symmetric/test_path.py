"""Integrals along a path: where it begins, where it may end, and what the atoms beyond it add."""

import numpy as np
import pytest

import presage as ps
from presage.spectra.curve import Curve
from presage.spectra.quadrature import panels
from presage.spectra.symmetric.atoms_beyond import Gap, gap_above, sums_over_atoms
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.functionals import functionals, start_of_largest
from presage.spectra.symmetric.path import end_of_path, second_moment_below, subordinate, sums_along_path

LAWS = {
    "MP(0.5)": ps.MarchenkoPastur(0.5),
    "MP(2)": ps.MarchenkoPastur(2.0),
    "semicircle": ps.Semicircle(1.7, 0.4),
    "point masses": ps.PointMasses([-1.0, 0.5, 3.0], [0.2, 0.5, 0.3]),
    "power law": ps.PowerLaw(1.25, 300),
    "many atoms": ps.PowerLaw(0.75, 20_000),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
NAMES = ("rank", "first", "J", "I", "hilbert", "cubic")


class LawOfOnesOwn(ps.SpectralLaw):
    """Another law, as a user would write it: its transform and its support, and nothing that is compiled."""

    def __init__(self, law):
        self.law = law

    def stieltjes_pair(self, z):
        return self.law.stieltjes_pair(z)

    @property
    def support(self):
        return self.law.support

    @property
    def atoms(self):
        return self.law.atoms

    def moment(self, k):
        return self.law.moment(k)


@every_law
@pytest.mark.parametrize("delta", [0.01, 0.6, 20.0])
@pytest.mark.parametrize("p", [1e-3, 0.3, 0.9])
def test_a_law_of_ones_own_gives_what_the_compiled_way_does(law, delta, p):
    own, t = LawOfOnesOwn(law), delta**2
    c = float(FreeConvolution(law, delta).quantile(p))
    begin = subordinate(law, t, c)
    assert subordinate(own, t, c) == pytest.approx(begin, rel=1e-13, abs=1e-13 * delta)
    end = end_of_path(begin, float(law.support[-1, 1]), np.inf)
    sums, sizes = sums_along_path(law, t, c, begin, end)
    general, general_sizes = sums_along_path(own, t, c, begin, end)
    assert np.abs(sums - general).max() <= 1e-15 * sizes.max()
    assert general == pytest.approx(sums, rel=1e-13, abs=1e-15 * sizes.max())
    assert general_sizes == pytest.approx(sizes, rel=1e-13)
    compiled, python = functionals(law, delta, c), functionals(own, delta, c)
    for name in (*NAMES, "risk", "missing", "deficit", "drisk_ddelta", "drisk_dc"):
        most = 1e-13 + 10.0 * (compiled.relative_error + python.relative_error)
        size = max(abs(getattr(compiled, name)), t * abs(compiled.I), compiled.J, law.second_moment)
        assert abs(getattr(compiled, name) - getattr(python, name)) <= most * size, name


def test_a_path_may_begin_at_the_edge_of_the_support():
    """Panels shorten towards the edge, where the transform has a root, for as long as numbers can: the mass is one."""
    law = ps.MarchenkoPastur(2.0)
    left, right = law.support[0]
    sums, _ = sums_along_path(law, 0.0, 0.0, complex(left, 0.0), 2.0 * right)
    expected = [law.moment(k) for k in range(3)]
    assert sums[:3] == pytest.approx(expected, rel=1e-13)


@every_law
@pytest.mark.parametrize("delta", [1e-4, 0.05, 0.6, 20.0])
@pytest.mark.parametrize("c", [-0.7, 0.0, 0.02, 0.9, 1.6, 3.05, 60.0])
def test_the_subordinate_point_is_mapped_to_the_cutoff(law, delta, c):
    w = subordinate(law, delta**2, c)
    image = w + delta**2 * law.stieltjes(np.array([w]))[0]
    assert w.imag >= 0.0
    assert abs(image - c) < 1e-14 * (delta + abs(c) + 1.0)


@every_law
@pytest.mark.parametrize("delta", [0.01, 0.6, 20.0])
@pytest.mark.parametrize("p", [1e-3, 0.3, 0.9, 0.9999])
def test_a_path_and_panels_along_the_spectrum_give_the_same(law, delta, p):
    free = FreeConvolution(law, delta)
    c = float(free.quantile(p))
    found = functionals(law, delta, c)

    def integrands(point: Curve) -> np.ndarray:
        y = point.x - c
        return np.stack([np.ones_like(y), y * y, y * point.h])

    nodes = panels(law, free.t, free.bands, integrands, tail=1e-7, u_from=free.parameter_above(c))
    y, h, mass = (nodes.x - c).ravel(), nodes.h.ravel(), nodes.mass.ravel()
    along = {
        "rank": mass.sum(),
        "first": mass @ y,
        "J": mass @ y**2,
        "I": mass @ (y * h),
        "cubic": mass @ (h**2 - (np.pi * nodes.rho.ravel()) ** 2 / 3.0),
    }
    for name, value in along.items():
        size = float(mass @ (h**2 + (np.pi * nodes.rho.ravel()) ** 2)) if name == "cubic" else abs(float(value))
        assert getattr(found, name) == pytest.approx(float(value), rel=1e-9, abs=1e-9 * size), name


@pytest.mark.parametrize("delta", [1e-3, 0.05, 0.3])
def test_atoms_and_path_share_the_spectrum_at_any_gap(delta):
    law = ps.PowerLaw(1.25, 200)
    positions, t = law.atoms.positions, delta**2
    c = 0.05
    begin = subordinate(law, t, c)
    best = gap_above(law, delta, begin)
    expected = sums_over_atoms(law, t, c, best)[0]
    if begin.imag > 0.0 or begin.real < best.left:
        expected = expected + sums_along_path(law, t, c, begin, end_of_path(begin, best.left, best.right))[0]
    for first in range(best.first, 201):
        gap = Gap(positions[first - 1], positions[first] if first < 200 else np.inf, first)
        path = sums_along_path(law, t, c, begin, end_of_path(begin, gap.left, gap.right))[0]
        assert path + sums_over_atoms(law, t, c, gap)[0] == pytest.approx(expected, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("d", [300, 300_000, 1_000_000])
def test_whatever_is_kept_has_mass_one_at_any_number_of_atoms(d):
    """A million bands of one atom each: nothing of their mass, or of their second moment, is lost."""
    law = ps.PowerLaw(1.25, d)
    delta = 1e-2 * float(law.atoms.positions[0]) * d**-0.5
    c = 0.5 * float(law.atoms.positions[:2].sum())  # between the two smallest, which stay apart
    found = functionals(law, delta, c)
    smallest = float(law.atoms.positions[0] + delta**2 * law.neighbours.fields(0)[0][0])  # moved by the others
    whole = law.second_moment + delta**2
    assert found.rank == pytest.approx(1.0 - 1.0 / d, rel=4e-16 * d**0.5)
    assert found.first == pytest.approx(law.mean - c - (smallest - c) / d, rel=1e-12)
    assert found.J + 2.0 * c * found.first + c**2 * found.rank == pytest.approx(whole - smallest**2 / d, rel=1e-12)


def test_sums_over_a_million_equal_masses_lose_nothing_to_rounding():
    law = ps.PowerLaw(1.25, 1_000_000)
    far = 1e3 * law.support[-1, 1]
    assert law.stieltjes(np.array([far + 0j]))[0].real * far == pytest.approx(1.0 + law.mean / far, rel=1e-6)
    moments = [np.sum(law.atoms.positions**k) / 1e6 / far**k for k in range(6)]
    assert law.stieltjes(np.array([far + 0j]))[0].real * far == pytest.approx(sum(moments), rel=1e-14)


@every_law
@pytest.mark.parametrize("delta", [0.01, 0.6])
def test_the_second_moment_on_both_sides_of_a_cutoff_is_that_of_the_whole(law, delta):
    c = float(FreeConvolution(law, delta).quantile(0.4))
    found = functionals(law, delta, c)
    above = found.J + 2.0 * c * found.first + c**2 * found.rank
    below = second_moment_below(law, delta**2, subordinate(law, delta**2, c))
    assert above + below == pytest.approx(law.second_moment + delta**2, rel=1e-13)


@every_law
@pytest.mark.parametrize("delta", [0.01, 0.6])
@pytest.mark.parametrize("most", [0.003, 0.3, 0.77])
def test_the_largest_part_has_the_mass_that_was_asked_for(law, delta, most):
    start = start_of_largest(FreeConvolution(law, delta), most)
    found = functionals(law, delta, start)
    inside = found.begin.imag > 0.0
    assert found.rank == pytest.approx(most, rel=1e-9) if inside else abs(found.rank - most) < 1e-10


def test_rounding_is_in_the_error_where_the_cutoff_is_at_the_edge():
    """So few eigenvalues are above the cutoff that the distance to it is a difference of two larger numbers."""
    law = ps.MarchenkoPastur(0.5)
    edge = FreeConvolution(law, 1.0).support[-1, 1]
    near, far = functionals(law, 1.0, edge * (1.0 - 1e-9)), functionals(law, 1.0, 0.5)
    assert near.relative_error > 1e3 * far.relative_error
    assert far.relative_error < 1e-13


@pytest.mark.parametrize("alpha", [1e-6, 1e-7, 1e-9])
def test_the_risk_keeps_its_digits_where_nothing_is_learned(alpha):
    """At so large a noise the cutoff is at its edge, and ``risk - Q_0`` is that of a semicircle without any target.

    ``int_c ((x-c)^2 - 2 x (x - c - 2 delta^2 h)) mu`` has ``h = x/(2 delta^2)`` there: what is left is ``J``.
    """
    law = ps.PowerLaw(2.0, 1000)
    delta = (1.25 / (2.0 * alpha)) ** 0.5
    chi = 2.0 - (15.0 * np.pi / 4.0 * alpha) ** 0.4
    found = functionals(law, delta, chi * delta)
    alone = functionals(ps.PointMasses([0.0]), delta, chi * delta)
    assert alone.risk == pytest.approx(alone.J, rel=1e-10)
    assert found.risk == pytest.approx(1.0 + alone.J, rel=2e-2 * alone.J)
    assert found.relative_error < 1e-8  # it was 1e-6 when the risk was a difference of squares of the noise
