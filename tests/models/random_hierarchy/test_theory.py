"""The count of partitions: closed forms over all rules, costs of changes by brute force, limits, sample sizes."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import comb, exp, factorial, sqrt
from typing import Any

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.random_hierarchy.experiment.data import digits, draw_rules
from presage.models.random_hierarchy.theory import partitions
from presage.models.random_hierarchy.theory.curves import FOLLOWED, half_accuracy, half_purity
from presage.models.random_hierarchy.theory.levels import read_right
from presage.models.random_hierarchy.theory.rule_sets import number_of_sets, symbols_of_classes
from presage.models.random_hierarchy.theory.signal import equal_noise, retention, signal, signal_to_noise

PROBLEM = ps.random_hierarchy(alpha=1.0, symbols=8, synonyms=4, depth=3)
HIERARCHIES: dict[str, dict[str, Any]] = {
    "8, 4, 3": {"symbols": 8, "synonyms": 4, "depth": 3},
    "6, 6, 3": {"symbols": 6, "synonyms": 6, "depth": 3},
    "5, 3, 4": {"symbols": 5, "synonyms": 3, "depth": 4},
    "triples": {"symbols": 4, "synonyms": 3, "depth": 3, "branching": 3},
    "few classes": {"symbols": 6, "synonyms": 4, "depth": 3, "classes": 3},
    "many classes": {"symbols": 5, "synonyms": 2, "depth": 3, "classes": 12},
}


def hierarchy(name: str, alpha: float = 1.0) -> ps.RandomHierarchyProblem:
    return ps.random_hierarchy(alpha=alpha, **HIERARCHIES[name])


def between_classes(frequencies: Any) -> Any:
    """Sum over symbols of the variance over classes: (set, position)."""
    return frequencies.var(axis=2, ddof=1).sum(axis=2)


def some_place(seed: int = 0) -> tuple[Any, Any]:
    """Two symbols with means and one covariance, and their geometry."""
    rng = np.random.default_rng(seed)
    mu, root = rng.standard_normal((2, 6)), 0.4 * rng.standard_normal((6, 6))
    cov, d = root @ root.T, mu[0] - mu[1]
    one = np.array([[np.trace(cov)] * 2]), np.array([[np.trace(cov @ cov)] * 2])
    return (mu, root), partitions.Geometry(np.array([[d @ d]]), np.array([[d @ cov @ d]]), *one)


# Signal and noise


@pytest.mark.parametrize("name", HIERARCHIES)
def test_signal_of_every_level_is_the_mean_over_rules(name):
    """Both witnesses draw rules, each in its own way: the closed form is the mean of either."""
    problem = hierarchy(name)
    drawn = symbols_of_classes(problem, 1500)
    for level, frequencies in enumerate(drawn, 1):
        found = between_classes(frequencies).mean(axis=1)
        error = found.std(ddof=1) / sqrt(len(found))
        assert found.mean() == pytest.approx(signal(problem, level), abs=4 * error)
    rng, s, v = np.random.default_rng(3), problem.branching, problem.symbols
    top = []
    for _ in range(1000):
        classes = draw_rules(problem, rng)[0]
        written = digits(classes.reshape(len(classes), -1), v, s).reshape(*classes.shape, s)[..., 0]
        top.append((written[..., None] == np.arange(v)).mean(axis=1).var(axis=0, ddof=1).sum())
    error = np.std(top) / sqrt(len(top))
    assert np.mean(top) == pytest.approx(signal(problem, problem.depth - 1), abs=4 * error)


def test_signal_of_the_smallest_hierarchy_is_exact():
    """Two symbols, pairs, one synonym: all 12 sets of rules of the top, one by one."""
    problem = ps.random_hierarchy(alpha=1.0, symbols=2, synonyms=1, depth=2)
    found = [np.eye(2)[[a // 2, b // 2]].var(axis=0, ddof=1).sum() for a, b in permutations(range(4), 2)]
    assert np.mean(found) == pytest.approx(signal(problem, 1), rel=1e-14)
    assert signal(problem, 1) == pytest.approx(2 / 3, rel=1e-14)


def test_a_signal_of_rules_with_replacement_is_found_out():
    """Without the factor of drawing without replacement the closed form is off by more than its Monte Carlo error."""
    problem = hierarchy("few classes")
    found = between_classes(symbols_of_classes(problem, 1500)[0]).mean(axis=1)
    wrong = ((1 - 1 / problem.symbols) / problem.synonyms) ** (problem.depth - 1)
    assert abs(found.mean() - wrong) > 4 * found.std() / sqrt(len(found))
    other = hierarchy("6, 6, 3")
    found = between_classes(symbols_of_classes(other, 1500)[0]).mean(axis=1)
    assert abs(found.mean() - ((1 - 1 / 6) / 6) ** 2) > 4 * found.std() / sqrt(len(found))


def test_signal_to_noise_of_counted_tuples():
    """With every tuple in use all symbols are equally frequent, and signal and noise are what they are said to be."""
    problem = hierarchy("6, 6, 3", alpha=3.0)
    v, m, n_c = 6, 6, 6
    n = problem.samples(8)
    for level, frequencies in enumerate(symbols_of_classes(problem, 400), 1):
        even = frequencies.mean(axis=2)
        centred = frequencies / (n_c * even[:, :, None]) - 1 / n_c
        says = (centred**2).sum(axis=2).mean(axis=(1, 2))
        expected = v * (n_c - 1) / n_c**2 * signal(problem, level)
        if level == 2:
            assert even == pytest.approx(1 / v, rel=1e-12)
            assert says.mean() == pytest.approx(expected, abs=4 * says.std() / sqrt(len(says)))
        assert expected / ((1 - 1 / n_c) * m * v / n) == pytest.approx(signal_to_noise(problem, level), rel=1e-12)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n // (m * v), np.full(n_c, 1 / n_c), size=4000)
    noise = ((counts / (n // (m * v)) - 1 / n_c) ** 2).sum(axis=1)
    assert noise.mean() == pytest.approx((1 - 1 / n_c) * m * v / n, rel=0.05)


@pytest.mark.parametrize("name", HIERARCHIES)
def test_signal_equals_noise_near_the_stated_size(name):
    problem = hierarchy(name)
    m, L = problem.synonyms, problem.depth
    for level in range(1, L):
        at = problem.replace(alpha=equal_noise(problem, level))
        assert signal_to_noise(at, level) == pytest.approx(1.0, rel=1e-12)
        assert equal_noise(problem, level) == pytest.approx(m ** (1 - level) * retention(problem) ** -(L - level))
    many = ps.random_hierarchy(alpha=1.0, symbols=256, synonyms=4, depth=3)
    assert equal_noise(many, 1) == pytest.approx(1.0, abs=0.01)  # n = n_c m^L, as stated


def test_noise_of_few_counts():
    """The mean of 1/k by its series, on both sides of where the asymptotic form takes over."""
    for mean in (0.05, 0.5, 1.0, 4.0, 20.0, 29.9, 30.1, 60.0):
        series = sum(exp(-mean) * mean**k / (k * factorial(k)) for k in range(1, 170))
        assert partitions.inverse_count(np.array(mean)) == pytest.approx(series, rel=1e-5)
    assert partitions.inverse_count(np.array(0.0)) == pytest.approx(0.0, abs=1e-10)


def test_geometry_of_a_set_of_rules():
    """Every covariance written out, position by position."""
    frequencies, m, n = symbols_of_classes(PROBLEM, 4)[0], 4, 300.0
    place = partitions.geometry(frequencies, m, n)
    a, b = partitions.pairs(8)
    for k in range(len(frequencies)):
        means: list[Any] = []
        covariances: list[Any] = []
        for symbol in range(8):
            mu, blocks = [], []
            for position in range(4):
                given = frequencies[k, position, :, symbol]
                even = given.mean()
                if even == 0.0:
                    mu.append(np.zeros(8))
                    blocks.append(np.zeros((8, 8)))
                    continue
                P, N = given / given.sum(), n * even / m
                mu.append((P - 1 / 8) * (1 - exp(-N)))
                blocks.append(float(partitions.inverse_count(np.array(N))) * (np.diag(P) - np.outer(P, P)))
            means.append(np.concatenate(mu))
            covariances.append(scipy.linalg.block_diag(*blocks))
        assert place.trace[k] == pytest.approx([np.trace(c) for c in covariances])
        assert place.square[k] == pytest.approx([np.trace(c @ c) for c in covariances])
        for pair, (i, j) in enumerate(zip(a, b, strict=True)):
            d = means[i] - means[j]
            assert place.distance[k, pair] == pytest.approx(d @ d, abs=1e-12)
            assert place.along[k, pair] == pytest.approx(d @ (covariances[i] + covariances[j]) @ d / 2, abs=1e-12)


# Partitions


def inertia(*clusters: Any) -> Any:
    """Of clusters of points, one a trial: (trial, point, coordinate) each."""
    return sum(((c - c.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2)) for c in clusters)


@pytest.mark.parametrize("m", [2, 4, 7])
def test_costs_of_changes_of_a_partition(m):
    """Mean and variance of a merge, a split and a move, by the inertia of drawn points."""
    (mu, root), place = some_place()
    rng, trials = np.random.default_rng(m), 40_000
    A, B = (mu[k] + rng.standard_normal((trials, m, 6)) @ root.T for k in (0, 1))
    true = inertia(A, B)
    drawn = {
        "merge": inertia(np.concatenate([A, B], axis=1)) - true,
        "split": inertia(A) - inertia(A[:, : m // 2], A[:, m // 2 :]),
        "move": inertia(A[:, 1:], np.concatenate([A[:, :1], B], axis=1)) - true,
    }
    said = {
        "merge": partitions.merge_cost(place, m),
        "split": partitions.split_gain(place),
        "move": partitions.move_cost(place, m),
    }
    for name, values in drawn.items():
        mean, variance = float(said[name].mean[0, 0]), float(said[name].variance[0, 0])
        assert values.mean() == pytest.approx(mean, abs=4.5 * values.std() / sqrt(trials)), name
        fourth = np.mean((values - values.mean()) ** 4)
        error = sqrt((fourth - values.var() ** 2) / trials)
        assert values.var() == pytest.approx(variance, abs=4.5 * error), name


def test_merges_and_splits_balance():
    """As many merges as splits, below and above one level: that of the first pair is that of all."""
    place = partitions.geometry(symbols_of_classes(PROBLEM, 6)[0], 4, 400.0)
    merge, split = partitions.merge_cost(place, 4), partitions.split_gain(place)
    p = partitions.merged(merge, split, 4)
    assert ((p > 0) & (p < 1)).any(axis=1).all()
    for k in range(len(p)):
        seen = np.argmin(np.abs(p[k] - 0.3))
        level = merge.mean[k, seen] + sqrt(merge.variance[k, seen]) * scipy.special.ndtri(p[k, seen])
        splits = 7 * scipy.stats.norm.sf(level, split.mean[k], np.sqrt(split.variance[k])).sum()
        assert p[k].sum() == pytest.approx(splits, rel=1e-4)
        assert p[k] == pytest.approx(scipy.stats.norm.cdf(level, merge.mean[k], np.sqrt(merge.variance[k])), abs=1e-6)


def test_purity_of_clusters_by_chance():
    assert partitions.chance_purity(2, 2) == pytest.approx(2 / 3, rel=1e-14)
    assert partitions.chance_purity(7, 1) == 1.0
    rng = np.random.default_rng(0)
    for v, m in ((8, 4), (3, 6), (5, 2)):
        drawn = rng.random((20_000, v * m)).argsort(axis=1)[:, :m] // m
        share = np.stack([(drawn == a).sum(axis=1) for a in range(v)]).max(axis=0) / m
        assert share.mean() == pytest.approx(partitions.chance_purity(v, m), abs=4 * share.std() / sqrt(20_000))
    assert partitions.chance_purity(4, 5) > 1 / 4
    for v, m in ((2, 3), (3, 3), (4, 5), (9, 8), (40, 3)):
        assert partitions.chance_purity(v, m) == pytest.approx(by_whole_numbers(v, m), rel=1e-13)


def by_whole_numbers(v: int, m: int) -> float:
    """Ways to take k of m tuples from each of v symbols, m in all and no more than j of one: a direct sum."""
    mean = Fraction(0)
    for j in range(m):
        ways = [1] + [0] * m
        for _ in range(v):
            ways = [sum(comb(m, i) * ways[k - i] for i in range(min(j, k) + 1)) for k in range(m + 1)]
        mean += 1 - Fraction(ways[m], comb(m * v, m))
    return float(mean / m)


def test_many_symbols_of_many_synonyms_are_counted():
    """The largest that can be asked for; a direct sum takes minutes. Of many symbols few are there twice."""
    assert 1 / 256 < partitions.chance_purity(256, 256) < 10 / 256
    large = ps.random_hierarchy(alpha=1.0, symbols=128, synonyms=60, depth=2)
    assert ps.solve(large).bottom_purity > 0.99


def test_a_misread_symbol_loses_tuples_to_leading_order():
    """``1 - s (1 - (1-f)^s) (1 - q)``: nothing is lost where a misread tuple is never another one."""
    small = 1e-6
    for s, f in ((2, 0.5), (3, 0.2), (2, 1.0), (2, 0.0)):
        lost = (1 - read_right(np.array(1 - small), s, f)) / small
        assert lost == pytest.approx(s * (1 - (1 - f) ** s), abs=1e-4)
    assert read_right(np.array([0.0, 1.0]), 2, 0.5).tolist() == [0.0, 1.0]


# Predictions


@pytest.mark.parametrize("name", HIERARCHIES)
def test_accuracy_grows_from_a_guess_to_one(name):
    alphas = [1e-4, 0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 200.0]
    found = [ps.solve(hierarchy(name, alpha)) for alpha in alphas]
    accuracy, bottom = [s.accuracy for s in found], [s.bottom_purity for s in found]
    problem = hierarchy(name)
    assert (np.diff(accuracy) >= -1e-12).all()
    assert (np.diff(bottom[1:]) >= -1e-6).all()  # with hardly a tuple seen twice it is chance, and no order
    assert accuracy[0] == pytest.approx(1 / problem.n_classes, abs=1e-3)
    assert accuracy[-1] == pytest.approx(1.0, abs=0.01)
    assert bottom[-1] == pytest.approx(1.0, abs=0.01)
    for s in found:
        assert all(1 / problem.symbols <= q <= 1 for q in s.purity)
        assert all(0 < s.error_bars[name] < 0.5 for name in s.compared)
        assert s.purity[0] == s.bottom_purity
        assert s.purity[-1] == s.top_purity


def test_a_symbol_without_synonyms_is_known():
    s = ps.solve(PROBLEM.replace(synonyms=1, alpha=2.0))
    assert s.bottom_purity == s.top_purity == 1.0
    n, tuples = 16.0, 8  # only the tuples of the classes have to be among the samples
    assert s.accuracy == pytest.approx(1 / 8 + 7 / 8 * (1 - exp(-n / tuples)), rel=1e-12)


def test_numbers_are_means_over_sets_of_rules():
    """Other sets give another mean, within the error of the mean; the same sets, the same numbers."""
    few, more = ps.solve(PROBLEM, draws=24), ps.solve(PROBLEM, draws=300)
    assert (few.sets, more.sets) == (24, 300)
    assert few.accuracy != more.accuracy
    assert abs(few.accuracy - more.accuracy) < 4 * more.rule_spread / sqrt(24)
    assert ps.solve(PROBLEM).accuracy == ps.solve(PROBLEM).accuracy
    assert ps.solve(PROBLEM) == ps.solve(PROBLEM)
    large = ps.random_hierarchy(alpha=1.0, symbols=40, synonyms=2, depth=2, branching=3)
    assert number_of_sets(large) < 96
    assert any("sets of rules instead of 96" in line for line in ps.solve(large).caveats)


def test_caveats_say_what_it_is():
    said = " ".join(ps.solve(PROBLEM).caveats)
    assert "a count of partitions, not a theorem" in said
    assert "compare the mean of 8 seeds or more" in said
    assert "compare the mean" not in " ".join(ps.solve(PROBLEM.replace(alpha=20.0)).caveats)
    many = ps.random_hierarchy(alpha=1.0, symbols=9, synonyms=9, depth=2)
    assert not any("more partitions" in line for line in ps.solve(PROBLEM).caveats)
    assert any("with 9 synonyms there are more partitions than are counted" in line for line in ps.solve(many).caveats)
    assert ps.solve(many).error_bars["accuracy"] > 0.1
    assert any("is seen 0.16 times" in line for line in ps.solve(PROBLEM.replace(alpha=0.01)).caveats)


# Sample sizes


@pytest.mark.parametrize("name", ["8, 4, 3", "5, 3, 4", "triples"])
def test_thresholds_are_where_the_curves_are_half_way(name):
    problem = hierarchy(name)
    found = ps.thresholds(problem)
    at = {key: ps.solve(problem.replace(alpha=getattr(found, key))) for key in ("half_height", "bottom_learned")}
    assert at["half_height"].accuracy == pytest.approx(half_accuracy(problem), abs=0.01)
    assert at["bottom_learned"].bottom_purity == pytest.approx(half_purity(problem), abs=0.01)
    assert found.stated == 1.0
    assert found.bottom_signal == equal_noise(problem, 1)
    assert found.top_signal == equal_noise(problem, problem.depth - 1)
    assert (np.diff(found.learned) > 0).all()  # a level is learned after those below it
    assert found.learned[[0, -1]].tolist() == [found.bottom_learned, found.top_learned]
    assert all(0.0 <= bar < 2.0 for bar in found.error_bars.values())
    assert ps.thresholds(problem.replace(alpha=7.0)).half_height == found.half_height
    assert "a scaling without its constant" in str(found)


def test_a_threshold_outside_of_the_range_is_said():
    found = ps.thresholds(PROBLEM.replace(synonyms=1))
    assert found.bottom_learned == FOLLOWED[0]
    assert any("bottom_learned is outside of alpha = 0.02 to 50" in line for line in found.caveats)


def test_levels_are_recovered_one_by_one():
    problem = hierarchy("5, 3, 4")
    found, sizes = ps.recovery(problem), ps.thresholds(problem)
    assert found.feature.tolist() == [1, 2, 3]
    assert found.alpha == pytest.approx(sizes.learned)
    assert found.count([1e-3, 1e3]).tolist() == [0, 3]
    assert found.count(np.sqrt(found.alpha[:-1] * found.alpha[1:])).tolist() == [1, 2]
    assert found.s == pytest.approx([signal(problem, level) for level in (1, 2, 3)])
    assert found.n == pytest.approx(found.alpha * 5 * 3**4)
    assert "a feature is a level" in " ".join(found.caveats)


def test_binomials_of_the_chance_are_those_of_a_hypergeometric_law():
    """With two symbols the commoner has ``max(k, m - k)`` of m."""
    m = 5
    law = [comb(m, k) * comb(m, m - k) / comb(2 * m, m) for k in range(m + 1)]
    assert partitions.chance_purity(2, m) == pytest.approx(sum(p * max(k, m - k) / m for k, p in enumerate(law)))
