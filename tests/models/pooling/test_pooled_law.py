"""The bulk of pooled tokens: mass, moments, edges, and the eigenvalues of a product of two samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.pooling.theory.pooled_law import PooledLaw

EXTREME = [(1e-9, 0.5), (1e-7, 2.0), (1e-6, 1e3), (1.0, 1.0), (5.0, 5.0), (0.1, 1.0), (1e3, 1e3), (1e6, 0.5)]
RATIOS = [(0.5, 0.5), (0.25, 1.0), (2.0, 0.3), (3.0, 5.0), (0.01, 0.02), (0.7, 4.0)]


@pytest.mark.parametrize(("delta", "gamma"), RATIOS)
def test_mass_is_one(delta, gamma):
    law = PooledLaw(delta, gamma)
    # Where the law begins at zero its density has a root there that quadrature does not remove.
    assert float(law.cdf(law.upper_edge)) == pytest.approx(1.0, abs=1e-3 if law.lower_edge == 0.0 else 1e-9)
    assert law.zero == pytest.approx(max(0.0, 1 - 1 / delta, 1 - 1 / gamma))


@pytest.mark.parametrize(("delta", "gamma"), RATIOS)
def test_moments(delta, gamma):
    """Closed forms against integrals of the density, which know nothing of them."""
    law = PooledLaw(delta, gamma)
    for k in (1, 2, 3):
        integral = super(PooledLaw, law).moment(k)
        assert law.moment(k) == pytest.approx(integral, rel=1e-3 if law.lower_edge == 0.0 else 1e-9)
    assert law.moment(4) == super(PooledLaw, law).moment(4)


def test_one_sample_is_marchenko_and_pastur():
    """With all sequences only the table is random: the limit gamma -> 0 is the covariance of V Gaussian tokens."""
    law, delta = PooledLaw(0.25, 1e-7), 0.25
    x = np.linspace(0.3, 2.2, 12)
    known = np.sqrt((2.25 - x) * (x - 0.25)) / (2.0 * np.pi * delta * x)
    np.testing.assert_allclose(law.density(x), known, rtol=1e-4, atol=1e-3)
    assert law.upper_edge == pytest.approx(2.25, rel=1e-3)
    assert law.lower_edge == pytest.approx(0.25, rel=1e-2)


@pytest.mark.parametrize(("delta", "gamma"), RATIOS)
def test_edges_are_where_the_density_ends(delta, gamma):
    law = PooledLaw(delta, gamma)
    low, high = law.lower_edge, law.upper_edge
    inside = np.array([low + 1e-6 * (high - low), high - 1e-6 * (high - low)])
    assert np.all(law.density(inside) > 0.0)
    beyond = np.array([high + 1e-6, high * 1.5, *([0.5 * low] if low > 0.0 else [])])
    np.testing.assert_array_equal(law.density(beyond), 0.0)
    # The transform solves its cubic on both sides of the edge, and falls to 1/x far away.
    z = np.array([high * 1.01, high * 3.0, 1e9]).astype(complex)
    y = z * law.stieltjes(z) - 1.0
    np.testing.assert_allclose(law.position(y), z, rtol=1e-6)
    assert law.stieltjes(np.array([1e9 + 0j]))[0].real == pytest.approx(1e-9, rel=1e-6)


def test_transform_above_the_axis_and_its_derivative():
    law = PooledLaw(0.5, 0.5)
    z = np.array([1.0 + 0.5j, 3.0 + 0.1j, 0.5 + 0.01j])
    x = np.linspace(law.lower_edge, law.upper_edge, 200_001)[1:-1]
    direct = [np.trapezoid(law.density(x) / (each - x), x) for each in z]
    np.testing.assert_allclose(law.stieltjes(z), direct, rtol=1e-3)
    step = 1e-6
    slope = (law.stieltjes(z + step) - law.stieltjes(z - step)) / (2 * step)
    np.testing.assert_allclose(law.stieltjes_derivative(z), slope, rtol=1e-6)


@pytest.mark.parametrize(("delta", "gamma"), [(0.5, 0.5), (2.0, 0.4)])
def test_eigenvalues_of_a_product_of_samples(delta, gamma):
    """(1/N) Z G G' Z'/V, with Z of d x V and G of V x N: the covariance of sequences of very many tokens."""
    rng, d = np.random.default_rng(0), 400
    V, N = round(d / delta), round(d / gamma)
    X = rng.standard_normal((d, V)) @ rng.standard_normal((V, N)) / np.sqrt(V)
    eigenvalues = scipy.linalg.eigvalsh(X @ X.T / N)
    law = PooledLaw(delta, gamma)
    nonzero = eigenvalues[eigenvalues > 1e-9]
    assert len(nonzero) / d == pytest.approx(1.0 - law.zero)
    # Eigenvalues repel: the empirical distribution function is off by a few over d.
    steps = law.zero + (1.0 - law.zero) * (np.arange(len(nonzero)) + 0.5) / len(nonzero)
    assert np.abs(law.cdf(nonzero) - steps).max() < 6.0 / d


def test_the_law_is_a_law():
    for delta, gamma in RATIOS:
        if PooledLaw(delta, gamma).lower_edge > 0.0:
            assert "nothing found" in str(ps.check_law(PooledLaw(delta, gamma)))


@pytest.mark.parametrize(("delta", "gamma"), [*RATIOS, *EXTREME])
def test_transform_on_both_sides_of_the_bulk(delta, gamma):
    """Against the root of the cubic in the one interval where it belongs to a law, found by bisection."""
    law = PooledLaw(delta, gamma)

    def cubic(y, z):
        return (1 + y) * (1 + delta * y) * (1 + gamma * y) - z * y

    rank = 1.0 / max(1.0, delta, gamma)
    for z in (-0.1, -1.0, -100.0):
        y = scipy.optimize.brentq(cubic, -rank, -1e-300, args=(z,), xtol=1e-300, rtol=1e-13)
        assert law.stieltjes(np.array([z + 0j]))[0].real == pytest.approx((1 + y) / z, rel=1e-6)
    for factor in (1.01, 3.0, 100.0):
        z = factor * law.upper_edge
        y = scipy.optimize.brentq(cubic, 1e-300, float(law._turning[0]), args=(z,), xtol=1e-300, rtol=1e-13)
        assert law.stieltjes(np.array([z + 0j]))[0].real == pytest.approx((1 + y) / z, rel=1e-6)


@pytest.mark.parametrize(("delta", "gamma"), EXTREME)
def test_mass_and_moments_where_one_sample_is_huge_or_tiny(delta, gamma):
    law = PooledLaw(delta, gamma)
    rough = law.lower_edge == 0.0
    assert float(law.cdf(law.upper_edge)) == pytest.approx(1.0, abs=5e-3 if rough else 1e-7)
    assert super(PooledLaw, law).moment(2) == pytest.approx(law.moment(2), rel=5e-3 if rough else 1e-6)
