"""Laws of bulks: their quantiles, their edges, and the directions that stand out of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import presage as ps
from presage.spectra.bulks import marchenko_pastur, semicircle
from presage.spectra.bulks.bulk_fit import fit_bulk, strict_bound
from presage.spectra.bulks.cut_semicircle import CutSemicircleBulk
from presage.spectra.bulks.given_law import GivenBulk
from presage.spectra.bulks.marchenko_pastur import MarchenkoPasturBulk
from presage.spectra.bulks.semicircle import SemicircleBulk
from presage.spectra.bulks.tracy_widom import exceedance, exceeded_with
from tests.spectra.noise import cut, wigner, wishart


def test_quantiles_of_tracy_widom_are_those_of_its_tables():
    # Of the tables of Bejan (2005) for beta = 1: 0.9793, 2.0234, 2.4224 (95, 99 and 99.5 %); mean and variance of TW_1.
    assert exceeded_with([0.05, 0.01, 0.005]) == pytest.approx([0.9793, 2.0234, 2.4224], abs=0.016)
    x = np.linspace(-9.8, 9.0, 20001)
    above = exceedance(x)
    mean = np.trapezoid(np.where(x > 0, above, above - 1.0), x)
    square = 2 * np.trapezoid(np.where(x > 0, x * above, -x * (1 - above)), x)
    assert mean == pytest.approx(-1.2065335745820, abs=3e-4)
    assert square - mean**2 == pytest.approx(1.607781034581, abs=1e-3)
    assert exceedance(exceeded_with(0.3)) == pytest.approx(0.3)


def test_quantiles_of_the_semicircle_invert_its_distribution_function():
    level = np.concatenate([[1e-9, 1e-6], np.linspace(0.001, 0.999, 501), [1 - 1e-6]])
    assert semicircle.unit_cdf(semicircle.unit_quantile(level)) == pytest.approx(level, abs=1e-12)
    law = ps.Semicircle(1.0)
    x = np.linspace(-2.2, 2.2, 45)
    assert semicircle.unit_cdf(x) == pytest.approx(law.cdf(x), abs=1e-9)


@pytest.mark.parametrize("ratio", [0.01, 0.25, 0.8, 0.99, 1.0])
def test_quantiles_of_marchenko_and_pastur_invert_their_distribution_function(ratio):
    level = np.linspace(0.05, 0.95, 201)
    assert marchenko_pastur.unit_cdf(marchenko_pastur.unit_quantile(level, ratio), ratio) == pytest.approx(
        level, abs=1e-5
    )


@pytest.mark.parametrize(
    "bulk",
    [
        SemicircleBulk(300, 0, 0.5, 1.5),
        CutSemicircleBulk(200, 100, 0.3, 1.5),
        CutSemicircleBulk(290, 10, -1.5, 1.5),
        MarchenkoPasturBulk(300, 0, 0.4, 2.0),
        MarchenkoPasturBulk(100, 200, 1 / 3, 2.0),
        GivenBulk.of(ps.Semicircle(2.0), 300, 0),
    ],
    ids=lambda bulk: bulk.name,
)
def test_the_density_is_the_slope_of_the_distribution_function(bulk):
    x = np.linspace(bulk.left, bulk.edge, 2003)[1:-1]
    step = 1e-6
    slope = (bulk.cdf(x + step) - bulk.cdf(x - step)) / (2 * step)
    inner = slice(100, -100)
    assert bulk.density(x)[inner] == pytest.approx(slope[inner], abs=1e-5)
    assert bulk.left < bulk.edge
    assert bulk.width < 0.1 * bulk.reach


def test_a_fit_recovers_the_law_that_it_is_given():
    level = (np.arange(800) + 0.5) / 800
    fit = SemicircleBulk.fitted(3.0 + 0.5 * semicircle.unit_quantile(level))
    assert (fit.centre, fit.sigma) == pytest.approx((3.0, 0.5), rel=1e-9)
    mp = MarchenkoPasturBulk.fitted(2.5 * marchenko_pastur.unit_quantile(level, 0.37))
    assert (mp.ratio, mp.scale) == pytest.approx((0.37, 2.5), rel=1e-4)
    thin = MarchenkoPasturBulk.fitted(2.5 * marchenko_pastur.unit_quantile(level, 0.8), 200)
    assert (thin.ratio, thin.scale) == pytest.approx((0.8, 2.5), rel=1e-4)
    above = semicircle.unit_quantile((600 + level * 800) / 1400)
    chi = float(semicircle.unit_quantile(np.array([600 / 1400]))[0])
    half = CutSemicircleBulk.fitted(1.7 * (above - chi), 600)
    assert (half.chi, half.scale) == pytest.approx((chi, 1.7), rel=1e-9)


@pytest.mark.parametrize(("kind", "n", "draws"), [("Wigner", 200, 200), ("Wishart", 60, 400)])
def test_the_largest_eigenvalue_of_noise_follows_tracy_and_widom(kind, n, draws):
    # With the parameters known; of a symmetric matrix the corrections are larger, and its size is too.
    rng = np.random.default_rng(1)
    tops = [(wigner(n, rng) if kind == "Wigner" else wishart(n, 90, rng))[-1] for _ in range(draws)]
    bulk = SemicircleBulk(n, 0, 0.0, 1.0) if kind == "Wigner" else MarchenkoPasturBulk(n, 0, n / 90, 1.0)
    p = exceedance((np.array(tops) - bulk.edge) / bulk.width)
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    wrong = exceedance((np.array(tops) - bulk.edge) / (np.sqrt(2.0) * bulk.width))
    assert stats.kstest(wrong, "uniform").pvalue < 1e-6


def test_a_planted_direction_is_found_with_its_strength():
    rng = np.random.default_rng(2)
    found = fit_bulk(wigner(600, rng, (3.0, 2.0)), 0)
    assert [spike.strength for spike in found.spikes] == pytest.approx([3.0, 2.0], rel=0.06)
    assert all(spike.p_value < 1e-6 for spike in found.spikes)
    other = fit_bulk(wishart(600, 1200, rng, (3.0,)), 0)
    assert other.bulk.name == "Marchenko-Pastur law"
    assert other.spikes[0].strength == pytest.approx(3.0 / np.sqrt(0.5), rel=0.1)
    values = wigner(600, rng, (3.0,)) - 0.5
    chopped = fit_bulk(values[values > 0], int(np.sum(values <= 0)))
    assert chopped.bulk.name == "cut semicircle"
    assert chopped.spikes[0].strength == pytest.approx(3.0, rel=0.06)
    assert chopped.spikes[0].far == pytest.approx((3.0 + 1 / 3.0 - 2.0) / 1.5, rel=0.1)


def test_a_strength_of_two_is_a_quarter_of_the_reach():
    bulk = SemicircleBulk(1000, 0, 1.0, 2.0)
    at = 1.0 + 2.0 * (2.0 + 0.5)
    assert (at - bulk.edge) / bulk.reach == pytest.approx(0.25)
    assert bulk.strength(at) == pytest.approx(2.0)


def test_values_below_a_semicircle_stand_out_too():
    found = fit_bulk(wigner(300, np.random.default_rng(3), (-3.0, 2.5)), 0)
    assert [np.sign(spike.value) for spike in found.spikes] == [1.0, -1.0]
    assert found.spikes[1].strength == pytest.approx(3.0, rel=0.1)


def test_a_given_semicircle_is_the_fitted_one():
    given, fitted = GivenBulk.of(ps.Semicircle(4.0, 1.0), 500, 0), SemicircleBulk(500, 0, 1.0, 2.0)
    assert given.edge == pytest.approx(fitted.edge)
    assert given.width == pytest.approx(fitted.width, rel=0.02)
    assert given.reach == pytest.approx(fitted.reach)
    assert np.isnan(given.strength(9.0))


def test_a_law_that_ends_in_an_atom_is_refused():
    with pytest.raises(ps.InputError, match=r"`law` must have a density at its upper end.*Leave it out"):
        GivenBulk.of(ps.PointMasses([0.0, 1.0]), 100, 0)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_a_scaled_spectrum_has_the_same_fit(scale):
    values = cut(200, np.random.default_rng(4))
    positive, zeros = values[values > 0], int(np.sum(values == 0))
    one, other = fit_bulk(positive, zeros), fit_bulk(scale * positive, zeros)
    assert other.discrepancy == pytest.approx(one.discrepancy, rel=1e-6)
    assert other.bulk.edge == pytest.approx(scale * one.bulk.edge, rel=1e-6)
    assert one.discrepancy <= strict_bound(200)
