"""How pure the clusters of least inertia are: a count of the partitions that beat the true one.

The points to be clustered are tuples, m of each of v symbols. Point t of symbol a lies at ``mu_a + noise``: its
coordinates are ``P(c|a) - 1/n_c`` at every position, and the noise is that of counting classes a few times. Two kinds
of change are counted. Two symbols are *merged*, and another is *split* in two instead, since the number of clusters is
given; or a single tuple is *moved* to another symbol.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
import scipy

from presage.models.random_hierarchy.theory.rule_sets import Floats

MANY = 30.0  # counts above which the mean of 1/count is its series
STEPS = 30  # halvings of the interval for the level at which merges and splits balance
WIDE = 10.0  # standard deviations that this interval goes beyond the means
TINY = 1e-300


def inverse_count(mean: Floats) -> Floats:
    """Mean of 1/k over a Poisson count k of this mean, with nothing for ``k = 0``: noise of a tuple seen k times.

        h(N) = e^-N (Ei(N) - gamma - ln N)

    Equation: derived: the sum over k of exp(-N) N^k/(k k!), the series of the exponential integral.
    Checked: tests/models/random_hierarchy/test_theory.py::test_noise_of_few_counts
    """
    few = np.clip(mean, 1e-12, MANY)
    series = np.exp(-few) * (scipy.special.expi(few) - np.euler_gamma - np.log(few))
    u = 1.0 / np.maximum(mean, MANY)
    return np.asarray(np.where(mean > MANY, u * (1.0 + u * (1.0 + u * (2.0 + u * (6.0 + 24.0 * u)))), series))


class Geometry(NamedTuple):
    """Where the symbols of a level lie, and their noise; one row a set of rules."""

    distance: Floats  # |mu_a - mu_b|^2, pairs of symbols as columns
    along: Floats  # (mu_a - mu_b)' Sigma (mu_a - mu_b), the noise along it
    trace: Floats  # Tr Sigma_a, symbols as columns: mean square of the noise of a tuple
    square: Floats  # Tr Sigma_a^2


def pairs(v: int) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of symbols, once."""
    return np.triu_indices(v, 1)


def geometry(frequencies: Floats, m: int, n: float) -> Geometry:
    """Means of the symbols of a level and the noise of their tuples, from n samples.

        mu_a = P(c|a) - 1/n_c,  Sigma_a = h(N_a) (diag P - P P'),  N_a = n P(a)/m

    at every position, where it is seen at all, which has the probability ``1 - e^-N``.

    Equation: derived: the covariance of the frequencies of N drawn classes.
    Checked: tests/models/random_hierarchy/test_theory.py::test_geometry_of_a_set_of_rules
    """
    sets, _, n_c, v = frequencies.shape
    even = frequencies.mean(axis=2)
    there = even > 0.0
    P = np.where(there[:, :, None], frequencies / np.maximum(n_c * even[:, :, None], TINY), 0.0)
    counts = n * even / m
    h = inverse_count(counts) * there
    centred = np.where(there[:, :, None], P - 1.0 / n_c, 0.0) * -np.expm1(-counts)[:, :, None]
    squares, cubes = (P**2).sum(axis=2), (P**3).sum(axis=2)
    trace = ((1.0 - squares) * h).sum(axis=1)
    square = ((squares - 2.0 * cubes + squares**2) * h**2).sum(axis=1)
    mu, H = centred.reshape(sets, -1, v), (P * h[:, :, None]).reshape(sets, -1, v)
    turned = mu.swapaxes(1, 2)
    gram, first, mixed = turned @ mu, (turned**2) @ H, turned @ (mu * H)
    inner = centred.swapaxes(2, 3) @ P  # set, position, b, a: <mu_b, P_a>
    own = np.diagonal(inner, axis1=2, axis2=3)
    shared = ((own[:, :, None] - inner) ** 2 * h[:, :, None]).sum(axis=1)
    along = np.diagonal(first, axis1=1, axis2=2)[:, None] - 2.0 * mixed + first - shared  # of the noise of a
    size = np.diagonal(gram, axis1=1, axis2=2)
    a, b = pairs(v)
    distance = np.maximum(size[:, a] + size[:, b] - 2.0 * gram[:, a, b], 0.0)
    return Geometry(distance, np.maximum(0.5 * (along[:, a, b] + along[:, b, a]), 0.0), trace, square)


class Change(NamedTuple):
    """Mean and variance of what a change of the partition adds to its inertia, or takes away."""

    mean: Floats
    variance: Floats


def merge_cost(place: Geometry, m: int) -> Change:
    """What merging two symbols of m tuples each adds to the inertia: ``(m/2) |mean_a - mean_b|^2``.

        mean (m/2) d^2 + T,  variance 2 m d' Sigma d + 2 Tr Sigma^2

    Equation: derived: means of m tuples have the noise Sigma/m each; T and Sigma are the mean of the two symbols.
    Checked: tests/models/random_hierarchy/test_theory.py::test_costs_of_changes_of_a_partition
    """
    a, b = pairs(place.trace.shape[1])
    trace, square = 0.5 * (place.trace[:, a] + place.trace[:, b]), 0.5 * (place.square[:, a] + place.square[:, b])
    return Change(0.5 * m * place.distance + trace, 2.0 * m * place.along + 2.0 * square)


def split_gain(place: Geometry) -> Change:
    """What splitting the tuples of a symbol in two takes off the inertia: ``(m_1 m_2/m) |mean_1 - mean_2|^2``.

        mean T,  variance 2 Tr Sigma^2

    Equation: derived: of any given split, of which there are ``2^(m-1) - 1``.
    Checked: tests/models/random_hierarchy/test_theory.py::test_costs_of_changes_of_a_partition
    """
    return Change(place.trace, 2.0 * place.square)


def move_cost(place: Geometry, m: int) -> Change:
    """What moving one tuple to another symbol adds to the inertia.

        mean m/(m+1) d^2,  variance 4 m/(m+1) d' Sigma d + 8/(m+1) Tr Sigma^2

    Equation: derived: ``m/(m+1) |x - mu_b|^2 - (m-1)/m |x - mu_a|^2`` with mu_a the mean
        of the others of its own symbol; their noises have the correlation ``sqrt((m-1)/(m+1))``.
    Checked: tests/models/random_hierarchy/test_theory.py::test_costs_of_changes_of_a_partition
    """
    a, b = pairs(place.trace.shape[1])
    square, part = 0.5 * (place.square[:, a] + place.square[:, b]), m / (m + 1.0)
    return Change(part * place.distance, 4.0 * part * place.along + 8.0 / (m + 1.0) * square)


def merged(merge: Change, split: Change, m: int) -> Floats:
    """Probability that two symbols are merged, pair by pair: as many merges are cheap as splits that pay for them.

        sum_ab Phi((E - M_ab)/s_ab) = (2^(m-1) - 1) sum_a Phi((G_a - E)/t_a)

    with M, s^2 mean and variance of a merge and G, t^2 those of a split.

    Equation: derived: the cheapest merges are paired with the splits of most gain until one costs more than it gains.
    Checked: tests/models/random_hierarchy/test_theory.py::test_merges_and_splits_balance
    """
    ways = 2.0 ** (m - 1) - 1.0
    if ways == 0.0:
        return np.zeros_like(merge.mean)
    s, t = np.sqrt(merge.variance) + TINY, np.sqrt(split.variance) + TINY
    margin = WIDE * np.maximum(s.max(axis=1), t.max(axis=1))
    low = np.minimum(merge.mean.min(axis=1), split.mean.min(axis=1)) - margin
    high = np.maximum(merge.mean.max(axis=1), split.mean.max(axis=1)) + margin
    Phi = scipy.special.ndtr
    for _ in range(STEPS):
        E = 0.5 * (low + high)
        fewer = Phi((E[:, None] - merge.mean) / s).sum(axis=1) < ways * Phi((split.mean - E[:, None]) / t).sum(axis=1)
        low, high = np.where(fewer, E, low), np.where(fewer, high, E)
    return np.asarray(Phi((0.5 * (low + high)[:, None] - merge.mean) / s))


@lru_cache(maxsize=256)
def chance_purity(v: int, m: int) -> float:
    """Purity of clusters that know nothing: the largest part that one symbol has of m tuples drawn from all.

        c = E max_a k_a/m,  (k_1 ... k_v) hypergeometric, m drawn from v times m

    Equation: derived: ``P(max <= j)`` is the coefficient of x^m in ``(sum_{i<=j} b_i x^i)^v``, over the same of all i,
        with ``b_i = C(m, i) (v-1)^(m-i)/v^m``: counts that are binomial each, given that there are m in all.
    Checked: tests/models/random_hierarchy/test_theory.py::test_purity_of_clusters_by_chance
    """
    binomial = [comb(m, i) * (v - 1) ** (m - i) / v**m for i in range(m + 1)]
    at_most = _power(np.tril(np.tile(binomial, (m + 1, 1))), v)[:, m]  # row j has the counts up to j
    return float(np.sum(1.0 - at_most[:-1] / at_most[-1])) / m


def _power(rows: Floats, exponent: int) -> Floats:
    """Powers of polynomials, one a row with the constant first, up to the degree that they have."""
    found, squared = np.zeros_like(rows), rows
    found[:, 0] = 1.0
    while True:
        if exponent % 2:
            found = _product(found, squared)
        exponent //= 2
        if not exponent:
            return found
        squared = _product(squared, squared)


def _product(first: Floats, second: Floats) -> Floats:
    """Products of polynomials, row by row, up to the degree that they have."""
    product = np.zeros_like(first)
    for i in range(first.shape[1]):
        product[:, i:] += first[:, i : i + 1] * second[:, : second.shape[1] - i]
    return product


def own_purity(frequencies: Floats, m: int, n: float) -> Floats:
    """Purity of the clusters of a level whose tuples are read without error, one number a set of rules.

        c + (1 - c) (1 - k/v) E_a prod_b (1 - (1 - p_ab) e_ab)

    p_ab is the probability of a merge and e_ab that of a move; k counts the merges: the sum of the p_ab, of which no
    more than ``v - 1`` are possible, ``k = (v-1)(1 - exp(-sum p_ab/(v-1)))``.

    Equation: derived: a merge loses one symbol of v, a move one tuple; what is lost is still right by chance.
    Checked: tests/models/random_hierarchy/test_witnesses.py::test_lowest_level_is_as_pure_as_counted
    """
    v = frequencies.shape[3]
    place = geometry(frequencies, m, n)
    p = merged(merge_cost(place, m), split_gain(place), m)
    merges = (v - 1.0) * -np.expm1(-p.sum(axis=1) / (v - 1.0))
    move = move_cost(place, m)
    e = scipy.special.ndtr(-move.mean / np.sqrt(move.variance + TINY))
    stays = np.ones((len(p), v, v))
    a, b = pairs(v)
    stays[:, a, b] = stays[:, b, a] = 1.0 - (1.0 - p) * e
    c = chance_purity(v, m)
    return np.asarray(c + (1.0 - c) * (1.0 - merges / v) * stays.prod(axis=2).mean(axis=1))
