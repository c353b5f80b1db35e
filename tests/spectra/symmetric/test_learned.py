"""The laws of what was learned: the shrunk spectrum of S_fit, and the singular values of the weights."""

from __future__ import annotations

from math import inf, pi

import numpy as np
import pytest

from presage import FreeConvolution, MarchenkoPastur, PointMasses, SpectralLaw, functionals
from presage.spectra.symmetric.learned import LearnedSpectrum, SingularValues

TWO_BULKS = FreeConvolution(MarchenkoPastur(0.3), 0.1)
ONE_BULK = FreeConvolution(MarchenkoPastur(0.5), 0.7)
THREE_BULKS = FreeConvolution(PointMasses([-1.0, 0.5, 3.0], [0.2, 0.5, 0.3]), 0.2)
CASES = {
    "cut in a bulk": (ONE_BULK, 0.877, 0.4),
    "cut in a gap": (TWO_BULKS, 1.3, 0.5 * float(TWO_BULKS.support.ravel()[1:3].sum())),
    "cut in the first of three": (THREE_BULKS, 0.5, -1.05),
    "cut below everything": (ONE_BULK, 2.0, -3.0),
    "nothing cut": (ONE_BULK, 0.6, -inf),
}
every_case = pytest.mark.parametrize(("free", "scale", "cutoff"), CASES.values(), ids=CASES)
every_cut = pytest.mark.parametrize(("free", "scale", "cutoff"), [*CASES.values()][:-1], ids=[*CASES][:-1])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(300)


def integral(law: SpectralLaw, function, below: float = inf) -> float:
    """Integrate over the law up to `below`: Gauss-Legendre in the angle on each interval, plus the atoms."""
    positions, masses = law.atoms
    total = float(np.sum(np.where(positions <= below, masses * function(positions), 0.0)))
    for left, right in law.support:
        end = min(max(below, left), right)
        if end > left:
            angle = pi / 4 * (1 + NODES)
            x = left + (end - left) * np.sin(angle) ** 2
            weight = WEIGHTS * pi / 4 * (end - left) * np.sin(2 * angle)
            total += float(np.sum(weight * law.density(x) * function(x)))
    return total


def laws(free: FreeConvolution, scale: float, cutoff: float) -> list[SpectralLaw]:
    spectrum = LearnedSpectrum(free, scale, cutoff)
    return [spectrum, SingularValues(free, scale, cutoff)] if cutoff > -inf else [spectrum]


@every_case
def test_mass_and_moments_are_integrals_of_density_and_atoms(free, scale, cutoff):
    for law in laws(free, scale, cutoff):
        assert law.moment(0) == 1
        for k in range(5):
            size = float(np.abs(law.support).max()) ** k
            assert integral(law, lambda x, k=k: x**k) == pytest.approx(law.moment(k), abs=5e-14 * size)


@every_cut
def test_atom_at_zero_is_what_the_cutoff_removes(free, scale, cutoff):
    removed = 1 - functionals(free.law, free.delta, cutoff).rank
    for law in laws(free, scale, cutoff):
        assert (law.atoms.positions == 0).all()
        assert np.sum(law.atoms.masses) == pytest.approx(removed, abs=1e-12)
        assert law.cdf(-1e-12) == 0
        assert law.cdf(0.0) == pytest.approx(removed, abs=1e-12)
        assert law.density([-1.0, -1e-9]).tolist() == [0, 0]
        assert law.support.min() >= 0


@every_cut
def test_moments_are_the_functionals_of_the_theory(free, scale, cutoff):
    f = functionals(free.law, free.delta, cutoff)
    spectrum, singular = laws(free, scale, cutoff)
    assert spectrum.mean == pytest.approx(scale * f.first, rel=1e-12)
    assert spectrum.second_moment == pytest.approx(scale**2 * f.J, rel=1e-12)
    for k in (1, 2, 3):
        assert singular.moment(2 * k) == pytest.approx(spectrum.moment(k), rel=1e-12)


def test_without_a_cutoff_the_spectrum_is_a_multiple():
    free, scale, cutoff = CASES["nothing cut"]
    law, x = LearnedSpectrum(free, scale, cutoff), np.linspace(-1.0, 3.0, 21)
    np.testing.assert_allclose(law.density(x), free.density(x / scale) / scale, rtol=1e-14)
    np.testing.assert_allclose(law.support, scale * free.support, rtol=1e-15)
    assert law.atoms.masses.size == 0
    for k in (1, 2, 3):
        assert law.moment(k) == pytest.approx(scale**k * free.moment(k), rel=1e-12)


@every_case
def test_cdf_is_the_integral_of_the_law(free, scale, cutoff):
    for law in laws(free, scale, cutoff):
        left, right = law.support[0, 0], law.support[-1, 1]
        x = np.linspace(left, right, 23)
        assert (np.diff(law.cdf(x)) >= 0).all()
        np.testing.assert_allclose(law.cdf(x), [integral(law, np.ones_like, y) for y in x], rtol=0, atol=5e-14)
        assert law.cdf(right + 1.0) == pytest.approx(1, abs=1e-12)


@every_case
def test_quantile_is_the_inverse_of_the_cdf(free, scale, cutoff):
    p = (np.arange(50) + 0.5) / 50
    for law in laws(free, scale, cutoff):
        zero = float(np.sum(law.atoms.masses))
        x = law.quantile(p)
        assert (np.diff(x) >= 0).all()
        assert (x[p <= zero] == 0).all()
        np.testing.assert_allclose(law.cdf(x[p > zero]), p[p > zero], rtol=0, atol=1e-12)


@every_case
def test_transform_is_that_of_the_law(free, scale, cutoff):
    for law in laws(free, scale, cutoff):
        size = float(np.abs(law.support).max())
        for z in (2 * size + 0j, -1.5 * size + 0j, 0.5 * size + 0.5j * size):
            values = law.stieltjes(z), law.stieltjes_derivative(z)
            exact = [integral(law, part) for part in parts(z)]
            np.testing.assert_allclose(values, [exact[0] + 1j * exact[1], exact[2] + 1j * exact[3]], rtol=5e-14)


def parts(z: complex):
    yield lambda x: (1 / (z - x)).real
    yield lambda x: (1 / (z - x)).imag
    yield lambda x: (-((z - x) ** -2)).real
    yield lambda x: (-((z - x) ** -2)).imag


@every_cut
def test_singular_values_are_the_square_roots(free, scale, cutoff):
    """Push forward by the square root: density, cdf, quantiles, edges, samples."""
    spectrum, singular = laws(free, scale, cutoff)
    s = np.linspace(1e-3, 1.1 * float(singular.support[-1, 1]), 57)
    np.testing.assert_allclose(singular.density(s), 2 * s * spectrum.density(s**2), rtol=1e-12)
    np.testing.assert_allclose(singular.cdf(s), spectrum.cdf(s**2), rtol=1e-14)
    p = np.linspace(0.01, 0.99, 21)
    np.testing.assert_allclose(singular.quantile(p) ** 2, spectrum.quantile(p), rtol=1e-13)
    np.testing.assert_allclose(singular.support**2, spectrum.support, rtol=1e-14)
    sample = [law.sample(50, np.random.default_rng(1)) for law in (singular, spectrum)]
    np.testing.assert_allclose(sample[0] ** 2, sample[1], rtol=0, atol=1e-14)


@every_case
def test_sample_follows_the_law_and_its_seed(free, scale, cutoff):
    d = 400
    for law in laws(free, scale, cutoff):
        sample = law.sample(d, np.random.default_rng(3))
        np.testing.assert_array_equal(sample, law.sample(d, np.random.default_rng(3)))
        assert not np.array_equal(sample, law.sample(d, np.random.default_rng(4)))
        assert (np.diff(sample) >= 0).all()
        zero = float(np.sum(law.atoms.masses))
        assert abs(np.mean(sample == 0) - zero) < 4 / d
        level = law.cdf(sample[sample != 0])
        steps = np.arange(d - level.size, d) / d
        assert np.abs(level - steps).max() < 0.02


def test_a_cutoff_above_everything_leaves_only_zeros():
    for law in laws(ONE_BULK, 1.0, 10.0):
        np.testing.assert_array_equal(law.atoms, ([0.0], [1.0]))
        assert law.support.tolist() == [[0.0, 0.0]]
        assert law.cdf([-1.0, 0.0, 1.0]).tolist() == [0, 1, 1]
        assert law.density([0.5, 1.0]).tolist() == [0, 0]
        assert law.quantile([0.2, 1.0]).tolist() == [0, 0]
        assert (law.moment(0), law.mean, law.second_moment) == (1, 0, 0)
        assert law.sample(5, np.random.default_rng(0)).tolist() == [0] * 5


def test_the_printed_scale_of_one_gives_another_second_moment():
    """Negative control: erratum 10 of the theory page, the factor m_hat/Sigma_hat that print (13) leaves out."""
    free, scale, cutoff = CASES["cut in a bulk"]
    q = scale**2 * functionals(free.law, free.delta, cutoff).J
    assert LearnedSpectrum(free, scale, cutoff).second_moment == pytest.approx(q, rel=1e-12)
    assert LearnedSpectrum(free, 1.0, cutoff).second_moment > 1.25 * q
