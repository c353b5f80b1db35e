"""Power laws in tails: exponent, interval, p value, and the laws that are mistaken for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from presage.spectra.tails import power_tail as tails
from presage.spectra.tails.power_tail import fitted
from presage.spectra.tails.rival_tails import cut_normal, cut_normal_likelihood, lilliefors, vuong_exponential


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def power_tail(values: Any, **options: Any) -> Any:
    return tails.power_tail(values, **options)


def pareto(a: float, n: int, seed: int = 0) -> np.ndarray:
    return (1.0 - rng(seed).random(n)) ** (-1.0 / (a - 1.0))


def test_the_exponent_is_that_of_maximum_likelihood():
    values = np.sort(pareto(2.5, 400))
    found = power_tail(values, bootstrap=0, rng=rng())
    tail = values[values >= found.start * (1 - 1e-12)]
    assert len(tail) == found.size
    assert found.exponent == pytest.approx(1.0 + len(tail) / np.sum(np.log(tail / tail[0])), rel=1e-12)
    below = 1.0 - (tail / tail[0]) ** (1.0 - found.exponent)
    assert found.distance == pytest.approx(stats.kstest(below, "uniform").statistic, rel=1e-9)
    assert found.decades == pytest.approx(np.log10(tail[-1] / tail[0]))


def test_the_start_is_where_the_tail_is_nearest():
    body = rng(1).random(600)  # uniform below 1, a power law above
    found = power_tail(np.concatenate([body, pareto(2.2, 400, 2)]), bootstrap=0, rng=rng())
    assert 0.7 < found.start < 2.0
    assert found.low < 2.2 < found.high
    assert fitted(np.sort(np.log(body))).exponent > 5.0  # and a uniform law has no such exponent


def test_ranks_to_a_power_have_the_exponent_of_their_power():
    # Density exponent of i^-g: 1 + 1/g; at n = 1000 all of them are the tail, and a is 1.804.
    found = power_tail(np.arange(1, 1001) ** -1.25, bootstrap=0, rng=rng())
    assert found.exponent == pytest.approx(1.804, abs=5e-4)
    assert found.size == 1000
    assert found.rigid
    assert not power_tail(pareto(1.8, 1000), bootstrap=0, rng=rng()).rigid


def test_the_p_value_tells_a_power_law_from_none():
    assert power_tail(pareto(2.0, 500, 3), bootstrap=200, rng=rng()).p_value > 0.05
    two_clumps = np.concatenate([1.0 + 0.1 * rng(4).random(200), 9.0 + rng(5).random(200)])
    assert power_tail(two_clumps, bootstrap=200, rng=rng()).p_value < 0.02


def test_the_interval_is_at_least_that_of_maximum_likelihood():
    values = pareto(2.5, 300, 5)
    without, found = (power_tail(values, bootstrap=draws, rng=rng()) for draws in (0, 100))
    half = 2.33 * (found.exponent - 1.0) / np.sqrt(found.size)
    assert without.high - without.exponent == pytest.approx(half)
    assert np.isnan(without.p_value)
    assert found.low <= without.low
    assert found.high >= without.high


def test_the_same_seed_gives_the_same_answer():
    values = pareto(2.5, 200, 6)
    assert power_tail(values, bootstrap=50, rng=rng(1)) == power_tail(values, bootstrap=50, rng=rng(1))
    assert power_tail(values, bootstrap=50, rng=rng(1)) != power_tail(values, bootstrap=50, rng=rng(2))


def test_a_power_law_beats_the_lognormal_of_all_and_a_lognormal_does_not():
    gains = [power_tail(pareto(2.0, 300, seed), bootstrap=0, rng=rng()).gain for seed in range(10)]
    assert min(gains) > 10.0
    other = [power_tail(rng(seed).lognormal(0.0, 2.0, 300), bootstrap=0, rng=rng()).gain for seed in range(20)]
    assert np.median(other) < 1.5
    assert np.mean(np.array(other) < 3.0) >= 0.9


def test_equal_numbers_have_no_tail():
    assert power_tail(np.full(100, 3.0), bootstrap=10, rng=rng()) is None


def test_the_score_speaks_for_the_law_that_was_drawn():
    assert power_tail(pareto(2.0, 400, 7), bootstrap=0, rng=rng()).vuong_exponential > 3.0
    tail = np.sort(np.log1p(rng(8).exponential(0.2, 400)))
    slope = 1.0 / tail.mean()
    assert vuong_exponential(tail, np.log(slope) - slope * tail) < -1.0


@pytest.mark.parametrize(("mu", "sigma"), [(1.0, 0.5), (0.0, 1.0), (-1.0, 1.0), (2.0, 3.0)])
def test_the_lognormal_fit_is_the_largest_likelihood(mu, sigma):
    y = rng(9).normal(mu, sigma, 4000)
    y = y[y > 0.0]
    fit: Any = cut_normal(y)
    t, width = fit

    def loss(at):
        return -np.mean(cut_normal_likelihood(y, at[0], np.exp(at[1])))

    best = minimize(loss, [mu / sigma, np.log(sigma)], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
    assert loss([t, np.log(width)]) == pytest.approx(best.fun, abs=1e-8)
    x = np.linspace(0.0, mu + 12 * sigma, 20001)
    assert np.trapezoid(np.exp(cut_normal_likelihood(x, t, width)), x) == pytest.approx(1.0, abs=1e-6)


def test_a_tail_heavier_than_a_power_law_has_no_lognormal():
    assert cut_normal(rng(10).exponential(size=500) ** 1.5) is None


def test_one_in_a_hundred_normal_samples_is_surprising():
    generator = rng(11)
    far = np.mean([lilliefors(np.sort(generator.standard_normal(200))) > 1.035 for _ in range(3000)])
    assert 0.005 < far < 0.016
    assert lilliefors(np.sort(generator.exponential(size=200))) > 1.5
    assert lilliefors(np.ones(10)) == np.inf
