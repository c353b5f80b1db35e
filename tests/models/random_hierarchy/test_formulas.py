"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from math import comb, e, exp, log

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.random_hierarchy.experiment.data import draw_rules, draw_samples, tuples_of
from presage.models.random_hierarchy.experiment.layerwise_clustering import learn_by_clustering, points_of
from presage.models.random_hierarchy.theory import partitions
from presage.models.random_hierarchy.theory.levels import counted
from presage.models.random_hierarchy.theory.rule_sets import symbols_of_classes
from presage.models.random_hierarchy.theory.signal import equal_noise, signal, signal_to_noise
from presage.protocol.ensemble import streams
from tests.page_formulas import evaluates

V, M, L, S, N_C, ALPHA = 5, 3, 3, 2, 4, 1.5
PROBLEM = ps.random_hierarchy(alpha=ALPHA, symbols=V, synonyms=M, depth=L, branching=S, classes=N_C)
N = ALPHA * N_C * M**L
R = (1 - 1 / V) / (1 - V**-S)


def drawn_level(level: int) -> partitions.Geometry:
    return partitions.geometry(symbols_of_classes(PROBLEM)[level - 1], M, N)


@evaluates(r"m v \le v^s, \qquad m n_c \le v^s", r"d = s^L, \qquad n = \alpha\, n_c\, m^L")
def test_sizes():
    assert PROBLEM.own_dimension == S**L
    assert PROBLEM.samples(S**L) == round(N)
    for synonyms, classes in ((5, 5), (2, 12)):
        ps.random_hierarchy(alpha=1.0, symbols=V, synonyms=synonyms, depth=L, classes=classes)
    for synonyms, classes in ((6, 2), (2, 13)):
        with pytest.raises(ps.InputError, match="share a tuple"):
            ps.random_hierarchy(alpha=1.0, symbols=V, synonyms=synonyms, depth=L, classes=classes)


@evaluates(
    r"""x_t = \Big( \frac{\#\{\mu : t^\mu_p = t,\ y^\mu = c\}}{\#\{\mu : t^\mu_p = t\}} - \frac{1}{n_c} \Big)_{p, c}"""
)
def test_points():
    rules = draw_rules(PROBLEM, np.random.default_rng(0))
    samples = draw_samples(PROBLEM, rules, 200, np.random.default_rng(1))
    tuples, y = tuples_of(samples.inputs, V, S), samples.classes
    points, known = points_of(tuples, y, V**S, N_C)
    for t, x in zip(known, points, strict=True):
        for p in range(S ** (L - 1)):
            seen = np.sum(tuples[:, p] == t)
            for c in range(N_C) if seen else ():
                both = np.sum((tuples[:, p] == t) & (y == c))
                assert x[p * N_C + c] == pytest.approx(both / seen - 1 / N_C)


@evaluates(
    r"P(\hat y_{\mathrm{new}} = y_{\mathrm{new}})",
    r"q_1 = \sum_k \max_a P(k_1 = k,\, a_1 = a)",
    r"q_{L-1} = \sum_k \max_a P(k_{L-1} = k,\, a_{L-1} = a)",
)
def test_learners_measure_what_the_page_defines(monkeypatch):
    """The learner of a seed once more: its clusters of fresh samples beside their symbols, and its classes."""
    n_test, seed = 300, 3
    found = ps.simulate(PROBLEM, seeds=[seed], n_test=n_test, processes=1)
    for_rules, for_data, for_trainer, for_test = streams(seed, S**L)
    rules = draw_rules(PROBLEM, for_rules)
    training = draw_samples(PROBLEM, rules, round(N), for_data)
    fresh = draw_samples(PROBLEM, rules, n_test, for_test)
    seen = []

    def spy(clusters, symbols):
        seen.append((clusters, symbols))
        return 0.0

    monkeypatch.setattr("presage.models.random_hierarchy.experiment.layerwise_clustering.purity", spy)
    again = learn_by_clustering(PROBLEM, ps.LayerwiseClustering(), training, fresh, for_trainer)
    assert again.accuracy == found.accuracy[0]
    pure = []
    for level, (k, a) in enumerate(seen):
        assert np.array_equal(a, fresh.symbols[level])
        joint = [[np.mean((k == cluster) & (a == symbol)) for symbol in range(V)] for cluster in range(V)]
        pure.append(sum(max(row) for row in joint))
    assert found.bottom_purity[0] == pytest.approx(pure[0])
    assert found.top_purity[0] == pytest.approx(pure[L - 2])
    assert found.purity[0] == pytest.approx(pure)


@evaluates(
    r"""\mathbb E \sum_{a} \frac{1}{n_c - 1} \sum_c \big( P(a|c) - P(a) \big)^2 = \Big( \frac{r}{m} \Big)^{L-l}, \qquad
    r = \frac{1 - 1/v}{1 - v^{-s}}""",
    r"x_l = \alpha\, m^{l-1}\, r^{L-l}",
    r"\mathtt{signal}_l = m^{1-l}\, r^{-(L-l)}",
)
def test_signal_and_noise():
    for level, frequencies in enumerate(symbols_of_classes(PROBLEM, 2000), 1):
        mean = frequencies.mean(axis=2, keepdims=True)
        drawn = ((frequencies - mean) ** 2).sum(axis=(2, 3)).mean(axis=1) / (N_C - 1)
        assert drawn.mean() == pytest.approx((R / M) ** (L - level), abs=4 * drawn.std() / len(drawn) ** 0.5)
        assert signal(PROBLEM, level) == pytest.approx((R / M) ** (L - level))
        assert signal_to_noise(PROBLEM, level) == pytest.approx(ALPHA * M ** (level - 1) * R ** (L - level))
        assert equal_noise(PROBLEM, level) == pytest.approx(M ** (1 - level) * R ** -(L - level))
    assert ps.thresholds(PROBLEM).signal == pytest.approx([R**-2, R**-1 / M])


@evaluates(
    r"""\mu_a = P(c|a) - \frac{1}{n_c}, \qquad \Sigma_a = h(N_a) \left( \operatorname{diag} P - P P^\top \right), \qquad
    h(N) = e^{-N} \left( \operatorname{Ei}(N) - \gamma - \ln N \right)"""
)
def test_places_of_symbols():
    frequencies = symbols_of_classes(PROBLEM)[1][:1]  # the highest level, where most symbols are seen
    place = partitions.geometry(frequencies, M, 1000.0)
    total = np.zeros(V)
    for p in range(frequencies.shape[1]):
        for a in range(V):
            given = frequencies[0, p, :, a]
            if given.sum() > 0:
                P, count = given / given.sum(), 1000.0 * given.mean() / M
                h = (
                    exp(-count) * (scipy.special.expi(count) - np.euler_gamma - log(count))
                    if count < 600
                    else 1 / count
                )
                total[a] += h * np.trace(np.diag(P) - np.outer(P, P))
    assert place.trace[0] == pytest.approx(total, rel=1e-5)
    says = [np.where(f.sum(axis=0) > 0, f / np.maximum(f.sum(axis=0), 1e-300) - 1 / N_C, 0.0) for f in frequencies[0]]
    mu = np.concatenate(says)
    i, j = partitions.pairs(V)
    assert place.distance[0] == pytest.approx(((mu[:, i] - mu[:, j]) ** 2).sum(axis=0))  # all are seen at n = 1000


@evaluates(
    r"M:\ \frac m2 |d|^2 + \operatorname{Tr} \Sigma,\quad 2 m\, d^\top \Sigma d + 2 \operatorname{Tr} \Sigma^2",
    r"G:\ \operatorname{Tr} \Sigma,\quad 2 \operatorname{Tr} \Sigma^2",
    r"""C:\ \frac{m}{m+1} |d|^2,\quad \frac{4 m}{m+1}\, d^\top \Sigma d + \frac{8}{m+1} \operatorname{Tr} \Sigma^2""",
)
def test_changes_of_a_partition():
    place = drawn_level(1)
    i, j = partitions.pairs(V)
    trace, square = (0.5 * (each[:, i] + each[:, j]) for each in (place.trace, place.square))
    merge, split, move = partitions.merge_cost(place, M), partitions.split_gain(place), partitions.move_cost(place, M)
    assert merge.mean == pytest.approx(M / 2 * place.distance + trace)
    assert merge.variance == pytest.approx(2 * M * place.along + 2 * square)
    assert split.mean == pytest.approx(place.trace)
    assert split.variance == pytest.approx(2 * place.square)
    assert move.mean == pytest.approx(M / (M + 1) * place.distance)
    assert move.variance == pytest.approx(4 * M / (M + 1) * place.along + 8 / (M + 1) * square)


@evaluates(
    r"\sum_{a<b} P(M_{ab} < E) = (2^{m-1} - 1) \sum_a P(G_a > E)",
    r"""o_l = c + (1 - c) \Big( 1 - \frac kv \Big)\, \frac1v
    \sum_a \prod_{b \ne a} \big( 1 - (1 - p_{ab})\, e_{ab} \big), \qquad c = \frac1m\, \mathbb E \max_a k_a""",
)
def test_purity_of_a_level():
    normal = scipy.stats.norm
    place = drawn_level(1)
    merge, split, move = partitions.merge_cost(place, M), partitions.split_gain(place), partitions.move_cost(place, M)
    # By hand: c of three tuples is 1, 2/3 or 1/3, all of one symbol, two, or none alike.
    ways = comb(V * M, M)
    alone, pairs = V * 1, V * comb(M, 2) * (V - 1) * M
    c = (alone + 2 / 3 * pairs + 1 / 3 * (ways - alone - pairs)) / ways
    own = partitions.own_purity(symbols_of_classes(PROBLEM)[0], M, N)
    for k in range(0, len(own), 12):
        s, t = np.sqrt(merge.variance[k]), np.sqrt(split.variance[k])

        def excess(E, k=k, s=s, t=t):
            return normal.cdf(E, merge.mean[k], s).sum() - 3 * normal.sf(E, split.mean[k], t).sum()

        E = scipy.optimize.brentq(excess, -50.0, 200.0)
        p, moved = normal.cdf(E, merge.mean[k], s), normal.cdf(0.0, move.mean[k], np.sqrt(move.variance[k]))
        merges = (V - 1) * (1 - e ** -(p.sum() / (V - 1)))
        product = np.ones(V)
        for pair, (a, b) in enumerate(zip(*partitions.pairs(V), strict=True)):
            product[a] *= 1 - (1 - p[pair]) * moved[pair]
            product[b] *= 1 - (1 - p[pair]) * moved[pair]
        assert own[k] == pytest.approx(c + (1 - c) * (1 - merges / V) * product.sum() / V, rel=1e-6)


@evaluates(
    r"R(q) = w + (1 - w)(1 - f)^s\, w, \qquad w = q^s",
    r"""\mathtt{accuracy} = \frac{1}{n_c} + \Big( 1 - \frac{1}{n_c} \Big) R\, \big( 1 - e^{-n R/(n_c m)} \big), \qquad
    \mathtt{purity}_l = q_l + \frac{1 - R(q_{l-1})}{v}""",
)
def test_level_upon_level():
    found, solution = counted(PROBLEM), ps.solve(PROBLEM)
    own = [partitions.own_purity(frequencies, M, N) for frequencies in symbols_of_classes(PROBLEM)]

    def right(q, f):
        w = q**S
        return w + (1 - w) * (1 - f) ** S * w

    first = own[0]
    read = right(first, M * V / V**S)
    second = read * own[1]
    top = right(second, M * N_C / V**S)
    accuracy = 1 / N_C + (1 - 1 / N_C) * top * (1 - np.exp(-N * top / (N_C * M)))
    assert found.purity[:, 0] == pytest.approx(first)
    assert found.purity[:, 1] == pytest.approx(second + (1 - read) / V)
    assert found.accuracy == pytest.approx(accuracy)
    assert solution.accuracy == pytest.approx(accuracy.mean())
    assert solution.rule_spread == pytest.approx(accuracy.std(ddof=1))
