"""Laws of eigenvalues: transform, derivative, moments, mass, cdf, quantiles and samples say the same thing."""

from __future__ import annotations

from math import comb, pi, sqrt

import numpy as np
import pytest

from presage import Empirical, MarchenkoPastur, PointMasses, PowerLaw, Semicircle, SpectralLaw
from presage.laws.cauchy_sums import atom_tree, cauchy_sums
from presage.laws.discrete_law import DiscreteLaw


class Uniform(SpectralLaw):
    """A law of the user's own: nothing but its transform and its support."""

    support = np.array([[-1.0, 2.0]])

    def stieltjes_pair(self, z):
        return np.log((z + 1) / (z - 2)) / 3, (1 / (z + 1) - 1 / (z - 2)) / 3


class Arcsine(SpectralLaw):
    """Another one, with a density that diverges at both ends."""

    support = np.array([[-1.0, 1.0]])

    def stieltjes_pair(self, z):
        root = np.sqrt(z - 1) * np.sqrt(z + 1)
        return 1 / root, -z / root**3


_GAUSSIAN = np.random.default_rng(5).standard_normal((30, 30))
LAWS: dict[str, SpectralLaw] = {
    "MP(0.05)": MarchenkoPastur(0.05),
    "MP(0.5)": MarchenkoPastur(0.5),
    "MP(1)": MarchenkoPastur(1.0),
    "MP(2)": MarchenkoPastur(2.0),
    "point masses": PointMasses([3.0, -1.0, 0.5], [0.3, 0.2, 0.5]),
    "power law": PowerLaw(1.25, 300),
    "plain power law": PowerLaw(1.25, 300, normalized=False),
    "semicircle": Semicircle(1.7, 0.4),
    "list": Empirical([2.5, 0.0, 1.0, 1.0]),
    "matrix": Empirical((_GAUSSIAN + _GAUSSIAN.T) / 8),
    "user's own": Uniform(),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(300)


def extent(law: SpectralLaw) -> float:
    return float(np.abs(law.support).max())


def integral(law: SpectralLaw, function, below: float = np.inf):
    """Integrate over the law up to `below`: Gauss-Legendre in the angle on each interval, plus the atoms."""
    positions, masses = law.atoms
    total = np.sum(np.where(positions <= below, masses * function(positions), 0.0))
    for left, right in law.support:
        if right > left:
            end = min(max(below, left), right)
            top = np.arctan2(sqrt(end - left), sqrt(right - end))
            angle = top * (1 + NODES) / 2
            x = left + (right - left) * np.sin(angle) ** 2
            weight = WEIGHTS * top / 2 * (right - left) * np.sin(2 * angle)
            total = total + np.sum(weight * law.density(x) * function(x))
    return total


@every_law
def test_transform_expands_in_the_moments_at_infinity(law):
    z = 10 * extent(law) * np.exp(1j * np.linspace(0.0, pi, 9))
    z[[0, -1]] = z[[0, -1]].real
    series = sum(law.moment(k) / z**k for k in range(15))
    np.testing.assert_allclose(z * law.stieltjes(z), series, rtol=0, atol=1e-11)


@every_law
def test_transform_is_the_integral_of_its_kernel(law):
    size = extent(law)
    points = [*(size * np.linspace(-1.3, 1.3, 7) + 0.1j * size), size * 1.2, -size * 1.2, 0.3j * size]
    for z in points:
        values = [law.stieltjes(z), law.stieltjes_derivative(z)]
        kernels = [integral(law, lambda x, z=z: 1 / (z - x)), integral(law, lambda x, z=z: -((z - x) ** -2.0))]
        np.testing.assert_allclose(values, kernels, rtol=3e-11)


@every_law
def test_derivative_agrees_with_complex_differences(law):
    size = extent(law)
    z = np.concatenate([size * (np.linspace(-1.3, 1.3, 9) + 1j * height) for height in (1e-6, 1e-2, 1.0)])
    turn = np.exp(2j * pi * np.arange(64) / 64)
    around = z[:, None] + z.imag[:, None] / 2 * turn  # Cauchy's formula on a circle in the upper half plane
    slope = np.mean(law.stieltjes(around) / turn, axis=1) / (z.imag / 2)
    np.testing.assert_allclose(law.stieltjes_derivative(z), slope, rtol=2e-9)


@every_law
def test_transform_maps_the_upper_half_plane_down(law):
    size = extent(law)
    x, y = np.meshgrid(size * np.linspace(-3, 3, 41), size * np.geomspace(1e-8, 1e3, 23))
    assert (law.stieltjes(x + 1j * y).imag < 0).all()


@every_law
def test_density_and_atoms_have_mass_one_and_the_moments(law):
    size = extent(law)
    for k in range(6):
        assert integral(law, lambda x, k=k: (x / size) ** k) == pytest.approx(law.moment(k) / size**k, abs=3e-12)
    assert law.moment(0) == pytest.approx(1, abs=3e-12)
    assert (law.mean, law.second_moment) == (law.moment(1), law.moment(2))


@pytest.mark.parametrize("kappa_0", [0.05, 0.5, 0.98, 1.0, 2.0, 50.0])
def test_mass_and_moments_of_marchenko_pastur(kappa_0):
    law = MarchenkoPastur(kappa_0)
    assert law.mean == pytest.approx(sqrt(kappa_0), rel=1e-15)
    assert law.second_moment == pytest.approx(1 + kappa_0, rel=1e-15)
    zero = max(0.0, 1 - kappa_0)
    assert np.sum(law.atoms.masses) == zero
    assert np.all(law.atoms.positions == 0)
    assert law.cdf(-1e-9) == 0
    np.testing.assert_allclose(law.cdf(law.edges), [zero, 1.0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("kappa_0", [0.05, 0.5, 0.98, 1.0, 2.0, 50.0])
def test_inverse_of_marchenko_pastur_is_its_r_transform(kappa_0):
    law = MarchenkoPastur(kappa_0)
    x, y = np.meshgrid(np.linspace(-5, 10, 31), np.geomspace(1e-8, 1e2, 11))
    z = x + 1j * y
    g = law.stieltjes(z)
    left, right = z * g * (sqrt(kappa_0) - g), sqrt(kappa_0) - g + kappa_0 * g
    size = np.abs(z * g) * (sqrt(kappa_0) + np.abs(g)) + sqrt(kappa_0) + (1 + kappa_0) * np.abs(g)
    assert (np.abs(left - right) <= 2e-15 * size).all()
    assert (np.abs(left - right - kappa_0 * g) > 1e-9 * size).all()  # negative control: kappa_0 twice


def test_moments_of_the_other_laws():
    assert Semicircle(1.7, 0.4).moment(4) == pytest.approx(2 * 1.7**2 + 6 * 1.7 * 0.4**2 + 0.4**4, rel=1e-15)
    assert PowerLaw(1.25, 300).second_moment == pytest.approx(1, rel=1e-14)
    plain = np.arange(1, 301) ** -1.25
    for k in range(1, 5):
        expected = np.mean(plain**k)
        assert PowerLaw(1.25, 300, normalized=False).moment(k) == pytest.approx(expected, rel=1e-14)
    assert LAWS["point masses"].moment(3) == pytest.approx(0.3 * 27 - 0.2 + 0.5 / 8, rel=1e-14)
    gaussian = (_GAUSSIAN + _GAUSSIAN.T) / 8
    assert LAWS["matrix"].moment(2) == pytest.approx(np.sum(gaussian**2) / 30, rel=1e-13)


@every_law
def test_cdf_is_the_integral_of_the_law(law):
    left, right = law.support[0, 0], law.support[-1, 1]
    edges = law.support.ravel()
    beside = [edges + shift for near in (0.0, 1e-12, 1e-7) for shift in (near, -near)]
    x = np.unique(np.concatenate([np.linspace(left, right, 101), *beside]))
    assert (np.diff(law.cdf(x)) >= 0).all()
    assert law.cdf(np.nextafter(left, -np.inf)) == 0
    assert law.cdf(right + 1e-9) == pytest.approx(1, abs=2e-12)
    below = [integral(law, np.ones_like, below=y) for y in x]
    np.testing.assert_allclose(law.cdf(x), below, rtol=0, atol=2e-12)


@every_law
def test_quantile_is_the_inverse_of_the_cdf(law):
    p = (np.arange(40) + 0.5) / 40
    x = law.quantile(p)
    assert (np.diff(x) >= 0).all()
    assert (law.cdf(x) >= p - 1e-12).all()
    assert (law.cdf(x - 1e-12 * extent(law)) <= p + 1e-10).all()


@every_law
def test_sample_follows_the_law_and_its_seed(law):
    d = 400
    sample = law.sample(d, np.random.default_rng(1))
    assert sample.shape == (d,)
    assert (np.diff(sample) >= 0).all()
    few, again, other = (law.sample(20, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(few, again)
    assert np.array_equal(few, other) == (isinstance(law, DiscreteLaw) and law.atoms.masses.size < 5)
    # One draw in each slice of equal mass misses a mean by at most the variation of the function over d;
    # eigenvalues of a random matrix do about as well.
    left, right = law.support[0, 0], law.support[-1, 1]
    variation = right**2 + left**2 if left < 0 < right else right**2 - left**2
    assert abs(np.mean(sample) - law.mean) < (right - left) / d
    assert abs(np.mean(sample**2) - law.second_moment) < variation / d


def test_as_many_draws_as_equal_atoms_are_the_atoms():
    law = PowerLaw(1.25, 400)
    np.testing.assert_array_equal(law.sample(400, np.random.default_rng(0)), law.atoms.positions)


def test_equal_values_are_one_atom_and_a_matrix_is_its_eigenvalues():
    law = PointMasses([1.0, 0.0, 1.0], [0.25, 0.5, 0.25])
    np.testing.assert_array_equal(law.atoms, ([0.0, 1.0], [0.5, 0.5]))
    assert law == PointMasses([0.0, 1.0])
    assert hash(law) == hash(PointMasses([0.0, 1.0]))
    assert law != PointMasses([0.0, 2.0])
    np.testing.assert_allclose(Empirical([[2.0, 1.0], [1.0, 2.0]]).atoms.positions, [1.0, 3.0], rtol=1e-15)
    assert Empirical([3.0, 1.0]) == Empirical([1.0, 3.0])


@pytest.mark.parametrize("size", [20, 5000])
def test_tree_sums_agree_with_direct_summation(size):
    rng = np.random.default_rng(2)
    clusters = rng.choice([-1.0, 0.0, 1e-3, 5.0], size)
    positions = np.unique(clusters + rng.standard_normal(size) * 10.0 ** rng.uniform(-9, 0, size))
    masses = rng.random(positions.size) * 10.0 ** rng.uniform(-4, 0, positions.size)
    masses /= masses.sum()
    near = positions[rng.integers(0, positions.size, 200)] + 1j * 10.0 ** rng.uniform(-12, 1, 200)
    far = rng.uniform(-20, 20, 100) + 1j * 10.0 ** rng.uniform(-3, 2, 100)
    real = np.array([-30.0, 40.0, 1e6], dtype=complex)
    z = np.concatenate([near, far, real])
    value, slope = cauchy_sums(atom_tree(positions, masses), z)
    inverse = 1 / (z[:, None] - positions)
    for found, terms in ((value, masses * inverse), (slope, -masses * inverse**2)):
        error = np.abs(found - terms.sum(axis=1))
        assert (error <= 1e-12 * np.abs(terms).sum(axis=1)).all()
        assert np.median(error / np.abs(found)) < 1e-14


def test_a_law_of_ones_own_needs_only_its_transform_and_its_support():
    x = np.linspace(-0.99, 0.99, 45)
    uniform, arcsine = Uniform(), Arcsine()
    np.testing.assert_allclose(uniform.density(x), 1 / 3, rtol=1e-11)
    np.testing.assert_allclose(uniform.cdf(x), (x + 1) / 3, rtol=0, atol=2e-12)
    np.testing.assert_allclose(uniform.quantile([0.2, 0.5]), [-0.4, 0.5], rtol=0, atol=1e-11)
    np.testing.assert_allclose(arcsine.density(x), 1 / (pi * np.sqrt(1 - x**2)), rtol=1e-10)
    np.testing.assert_allclose(arcsine.cdf(x), 0.5 + np.arcsin(x) / pi, rtol=0, atol=2e-9)
    for k in range(5):
        assert uniform.moment(k) == pytest.approx((2 ** (k + 1) - (-1) ** (k + 1)) / (3 * (k + 1)), rel=1e-11)
        assert arcsine.moment(2 * k) == pytest.approx(comb(2 * k, k) / 4**k, rel=1e-11)
    assert uniform.density([-1.5, 2.5]).tolist() == [0, 0]
    assert uniform.atoms.positions.size == 0
