"""The best of all methods: posteriors by brute force, check values, thresholds, message passing."""

from __future__ import annotations

import re

import numpy as np
import pytest

import presage as ps
from presage.models.lora.bayes import optimal
from presage.models.lora.bayes.linear_posterior import linear_moments
from presage.models.lora.bayes.optimal import fixed_point
from presage.models.lora.bayes.pair_posterior import pair_moments
from presage.models.lora.bayes.sample_beliefs import beliefs_of
from presage.models.lora.bayes.weak_recovery import weak_recovery
from presage.solving.vector_state_evolution import mean_and_bar
from tests.models.lora.fixed_points import linear, softmax

LAW = ps.MarchenkoPastur(0.5)


def rules(T, noise, nodes, *, is_linear=True, strength=1.0):
    problem = (linear if is_linear else softmax)(T, 1.0, 0.5, strength=strength)
    return [beliefs_of(problem, noise, nodes, seed) for seed in range(8)]


def grid_moments(log_weight, centres, reach, points, T):
    axes = [np.linspace(centre - reach, centre + reach, points) for centre in centres]
    chi = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, T)
    weight = log_weight(chi)
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    return weight @ chi, np.einsum("n,ni,nj->ij", weight, chi, chi)


@pytest.mark.parametrize(("T", "V", "noise"), [(1, 0.8, 0.5), (2, 1.0, 0.5), (2, 0.2, 0.1), (3, 0.5, 1.0)])
def test_posterior_moments_of_a_sample_by_brute_force(T, V, noise):
    rng = np.random.default_rng(T)
    for _ in range(3):
        a, omega = 1.5 * rng.standard_normal(T), rng.standard_normal(T)
        means, squares = np.empty((1, T)), np.empty((1, T))
        linear_moments(a[None], omega[None], V, noise, means, squares)

        def log_weight(chi, a=a, omega=omega):
            s = np.sum(chi**2, axis=1)
            return -(s**2 - 2.0 * chi**2 @ a) / (4.0 * noise) - np.sum((chi - omega) ** 2, axis=1) / (2.0 * V)

        mean, second = grid_moments(log_weight, np.zeros(T), 4.5, {1: 4001, 2: 401, 3: 121}[T], T)
        assert means[0] == pytest.approx(mean, abs=1e-7)
        assert squares[0] == pytest.approx(np.diag(second), abs=1e-6)


@pytest.mark.parametrize("T", [1, 2])
@pytest.mark.parametrize("V", [0.05, 0.01, 0.001])
@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_posterior_moments_of_a_sharp_belief_by_brute_force(T, V, noise):
    """A belief that is narrow beside the target, as with many samples: moments in units of its own width."""
    rng = np.random.default_rng(T)
    for _ in range(3):
        a, omega = 1.5 * rng.standard_normal(T), rng.standard_normal(T)
        means, squares = np.empty((1, T)), np.empty((1, T))
        linear_moments(a[None], omega[None], V, noise, means, squares)

        def log_weight(chi, a=a, omega=omega):
            s = np.sum(chi**2, axis=1)
            return -(s**2 - 2.0 * chi**2 @ a) / (4.0 * noise) - np.sum((chi - omega) ** 2, axis=1) / (2.0 * V)

        mean, second = grid_moments(log_weight, omega, 16.0 * V**0.5, {1: 4001, 2: 601}[T], T)
        assert means[0] / V**0.5 == pytest.approx(mean / V**0.5, abs=1e-6)
        assert (squares - means**2)[0] / V == pytest.approx((np.diag(second) - mean**2) / V, abs=1e-6)


@pytest.mark.parametrize(("V", "noise"), [(1.0, 0.5), (0.3, 0.1), (0.05, 0.5)])
def test_posterior_moments_of_a_pair_by_brute_force(V, noise):
    rng = np.random.default_rng(2)
    for _ in range(3):
        A_sd, A_dd = rng.standard_normal(2)
        omega = 0.8 * rng.standard_normal(2)
        out = np.empty((1, 5))
        pair_moments(np.array([A_sd]), np.array([A_dd]), omega[None], V, noise, out)

        def log_weight(chi, A_sd=A_sd, A_dd=A_dd, omega=omega):
            s, d = chi.T
            seen = (2.0 * (s * d - A_sd) ** 2 + (d * d - A_dd) ** 2) / (4.0 * noise)
            return -seen - np.sum((chi - omega) ** 2, axis=1) / (2.0 * V)

        mean, second = grid_moments(log_weight, np.zeros(2), 7.0, 901, 2)
        assert out[0] == pytest.approx([*mean, second[0, 0], second[0, 1], second[1, 1]], abs=1e-6)


@pytest.mark.parametrize("q", [0.6, 0.9, 0.98])
@pytest.mark.parametrize("is_linear", [True, False])
def test_posterior_means_are_honest_about_themselves(is_linear, q):
    """Nishimori: E|g|^2 = E g.(chi_0 - omega)/V at any state, since the target is a draw of the posterior."""
    both = []
    for rule in rules(2, 0.5, 2**11, is_linear=is_linear):
        g = (rule.means(q) - rule.fields(q)) / (1.0 - q)
        both.append([rule.precision(q), np.mean(np.sum(g * (rule.chi - rule.fields(q)), axis=1)) / (1.0 - q)])
    first, second = np.mean(both, axis=0)
    assert first == pytest.approx(second, rel=0.01)
    assert first > 1.0


@pytest.mark.parametrize("q", [0.6, 0.9, 0.98])
@pytest.mark.parametrize(("T", "noise"), [(2, 0.5), (3, 1.0)])
def test_posterior_covariances_are_honest_too(T, noise, q):
    """Nishimori: (T V - E Tr Cov)/V^2 = E|g|^2, the two ways to say what a sample tells."""
    V, both = 1.0 - q, []
    for rule in rules(T, noise, 2**11):
        fields = rule.fields(q)
        means, squares = np.empty_like(fields), np.empty_like(fields)
        linear_moments(rule.values, fields, V, noise, means, squares)
        trace = np.mean(np.sum(squares - means**2, axis=1))
        both.append([rule.precision(q), (T * V - trace) / V**2])
    first, second = np.mean(both, axis=0)
    assert first == pytest.approx(second, rel=0.01)


# (T, Delta_eff, alpha', linear): q and its error. Those of a linear output that were told at first (.7914, .9610, .8615
# and .98303 for the middle four) had the step of the integral in the distance of the pole alone, which is too coarse.
CHECKED = {
    (2, 0.5, 0.5, True): (0.397, 2e-3),
    (2, 0.5, 1.0, True): (0.7889, 1e-4),
    (2, 0.5, 3.0, True): (0.96056, 1e-5),
    (3, 1.0, 1.0, True): (0.8575, 1e-4),
    (3, 0.5, 3.0, True): (0.98297, 1e-5),
    (2, 0.5, 1.0, False): (0.6442, 6e-4),
    (2, 0.44594, 6.0, False): (0.97644, 3e-5),
}


@pytest.mark.parametrize("row", CHECKED)
def test_bayes_check_values(row):
    T, noise, alpha, is_linear = row
    value, digit = CHECKED[row]
    mean, bar = mean_and_bar([fixed_point(alpha, rule) for rule in rules(T, noise, 2**10, is_linear=is_linear)])
    assert abs(mean - value) <= bar + digit
    assert bar < 0.02


WEAK = {  # (T, Delta_eff, linear): alpha'_c and its error
    (1, 0.5, True): (0.6467, 2e-4),
    (2, 0.1, True): (0.17637, 3e-5),
    (2, 0.5, True): (0.21051, 5e-5),
    (2, 1.0, True): (0.25166, 8e-5),
    (3, 0.5, True): (0.10238, 3e-5),
    (3, 1.0, True): (0.12097, 4e-5),
    (2, 0.1, False): (0.2128, 1e-4),
    (2, 0.5, False): (0.2800, 1e-4),
    (2, 1.0, False): (0.3512, 2e-4),
}


@pytest.mark.parametrize("row", WEAK)
def test_weak_recovery_check_values(row):
    T, noise, is_linear = row
    value, digit = WEAK[row]
    mean, bar = weak_recovery(rules(T, noise, 2**12, is_linear=is_linear))
    assert abs(mean - value) <= bar + digit
    assert bar < 0.02 * value


@pytest.mark.parametrize(("T", "is_linear"), [(1, True), (2, True), (3, True), (2, False)])
def test_noiseless_limit_of_weak_recovery(T, is_linear):
    """1/(T(T+1)) without noise, and never more than (1 + Delta_eff) times that for a linear output."""
    clean, bar = weak_recovery(rules(T, 2e-3, 2**10, is_linear=is_linear))
    limit = 1.0 / (T * (T + 1))
    assert abs(clean - limit) <= bar + (0.01 if is_linear else 0.1) * limit  # a softmax comes to it slowly
    assert bar < 0.025 * limit
    if is_linear:
        noisy, bar = weak_recovery(rules(T, 0.5, 2**11))
        assert clean < noisy <= 1.5 / (T * (T + 1)) + bar


def test_nothing_below_the_threshold_and_something_above():
    found = rules(2, 0.5, 2**11)
    assert np.mean([fixed_point(0.19, rule) for rule in found]) < 0.01
    assert np.mean([fixed_point(0.3, rule) for rule in found]) > 0.05


def test_strength_is_a_unit():
    """(q_0, Delta) is (1, Delta/q_0^2)."""
    large = fixed_point(1.0, rules(2, 0.5 * 4.0, 2**9, strength=2.0)[0])
    assert large == pytest.approx(2.0 * fixed_point(1.0, rules(2, 0.5, 2**9)[0]), rel=1e-5)


def problem_of(**options):
    before = ps.linear_attention(LAW, alpha=0.2, weight_decay=0.4, noise=0.5)
    return ps.lora(before, **({"alpha": 1.0, "weight_decay": 0.5} | options))


def test_many_samples():
    """The error of the best method falls as the trained one's, E' -> T(T+1) Delta_eff + 2 Delta_eff/alpha'."""
    problem = problem_of(alpha=300.0)
    best = ps.bayes_optimal(problem)
    excess = best.test_error - 6.0 * best.effective_noise
    assert excess == pytest.approx(2.0 * best.effective_noise / 300.0, rel=0.05)
    trained = ps.best_recalibration(problem)
    assert trained.test_error >= best.test_error - 3.0 * trained.error_bars["test_error"]


def test_the_best_method_is_better():
    problem = problem_of(alpha=3.0)
    best = ps.bayes_optimal(problem)
    for found in (ps.solve(problem), ps.best_recalibration(problem)):
        assert best.overlap > found.overlap
        assert best.test_error < found.test_error


@pytest.mark.slow
def test_thresholds_are_those_of_the_best_method():
    problem = problem_of()
    found = ps.thresholds(problem)
    assert found.weak_recovery == pytest.approx(ps.bayes_optimal(problem).weak_recovery, rel=0.02)
    assert 0.0 < found.error_bars["weak_recovery"] < 0.01 * found.weak_recovery
    below, above = (ps.bayes_optimal(problem_of(alpha=f * found.weak_recovery)) for f in (0.8, 1.3))
    assert below.overlap == 0.0
    assert above.overlap > 0.2
    assert ps.thresholds(problem.replace(alpha=7.0)).weak_recovery == found.weak_recovery


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (problem_of(target_rank=2, rank=2), "`target_rank` must be 1 here: the posterior is known for one new column"),
        (problem_of(reuse="noise"), '`reuse` must be "nothing" here'),
        (softmax(3, 1.0, 0.5), "`n_tokens` must be 2 here: the posterior of a softmax is known for two tokens"),
    ],
)
def test_where_the_posterior_is_not_known(problem, sentence):
    for verb in (ps.bayes_optimal, ps.thresholds):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            verb(problem)


def test_the_rank_of_the_adapter_plays_no_part():
    """The best of all methods has no adapter: columns beside the target's change neither it nor its threshold."""
    one, two = (ps.bayes_optimal(problem_of(alpha=4.0, rank=rank), accuracy=0.05) for rank in (1, 2))
    assert (one.q, one.weak_recovery) == (two.q, two.weak_recovery)


def test_one_token_with_little_noise_may_jump(monkeypatch):
    """What counts as little is raised here: really little noise takes long."""

    def caveats(T):
        before = ps.linear_attention(LAW, alpha=0.5, weight_decay=0.1, noise=0.5, n_tokens=T)
        return ps.bayes_optimal(ps.lora(before, alpha=4.0, weight_decay=0.5), accuracy=0.1).caveats

    assert not any("may jump" in line for line in caveats(1))
    monkeypatch.setattr(optimal, "ABRUPT", 10.0)
    assert any("the overlap may jump as samples are added" in line for line in caveats(1))
    assert not any("may jump" in line for line in caveats(2))


def test_a_softmax_has_an_overlap_and_no_test_error():
    best = ps.bayes_optimal(softmax(2, 3.0, 0.5), accuracy=0.05)
    assert [one.name for one in best.known_observables] == ["overlap", "effective_noise"]
    with pytest.raises(AttributeError, match="known for a linear output"):
        _ = best.test_error
    with pytest.raises(AttributeError, match="known for a linear output"):
        _ = best.posterior


@pytest.mark.parametrize("alpha", [6.0, 20.0])
def test_message_passing_with_many_samples(alpha):
    """Where beliefs are sharp no seed fails, and every overlap is what the theory says but for 1/d."""
    problem = problem_of(alpha=alpha)
    best = ps.bayes_optimal(problem)
    options = {"trainer": ps.PosteriorAMP(best.posterior), "n_test": 100, "processes": 1, "progress": False}
    small, large = (ps.simulate(problem, d=d, seeds=4, **options) for d in (40, 80))
    for found in (small, large):
        assert not found.failures
        assert found.converged.all()
        assert np.all(np.abs(found.overlap - best.overlap) < 0.5 / found.d)
    assert large.mean("norm") == pytest.approx(best.q, abs=0.05)


def test_messages_that_run_away_are_told():
    class Wrong:
        slope, strength = 1.0, 1.0

        def moments(self, seen, omega, V):
            return np.full_like(omega, np.nan), np.zeros(len(omega))

    options = {"trainer": ps.PosteriorAMP(Wrong()), "n_test": 10, "processes": 1, "progress": False}
    with pytest.raises(ps.TrainError, match="Message passing ran away"):
        ps.simulate(problem_of(alpha=2.0), d=20, seeds=1, **options)


@pytest.mark.slow
def test_message_passing_is_on_the_bayes_curve():
    """Above the threshold the overlap of the theory; below it nothing."""
    problem = problem_of(alpha=1.5)
    best = ps.bayes_optimal(problem)
    trainer = ps.PosteriorAMP(best.posterior)
    found = ps.simulate(problem, d=150, seeds=6, trainer=trainer, n_test=4000, processes=1)
    result = ps.compare(best, found)
    assert result.agrees, str(result)
    assert found.standard_error("overlap") < 0.02
    low = problem.replace(alpha=0.6 * best.weak_recovery)
    nothing = ps.simulate(low, d=150, seeds=4, trainer=trainer, n_test=200, processes=1)
    assert nothing.mean("overlap") < 0.3
