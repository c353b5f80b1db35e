"""Ways of a training in time: closed forms beside solvers of the equations, half-times, exponents, and their limits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.attention.theory.flows.features_learned import learned_fraction
from presage.models.attention.theory.flows.nodes import gauss_rule, nodes
from presage.models.attention.theory.flows.population import (
    flow_of_eigenvalues,
    gaussian_starts,
    half_times,
    riccati,
    riccati_step,
    step_of_eigenvalues,
)
from presage.models.attention.theory.flows.power_law_front import front, front_error, front_exponent
from presage.models.attention.theory.flows.smooth_pieces import along

POWER = ps.quadratic_network(ps.PowerLaw(1.0, 40, normalized=False), alpha=1.0, weight_decay=0.1)
BULK = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5)
MATRIX = ps.unfactorized_linear_attention(ps.MarchenkoPastur(0.5), ridge=0.0, alpha=1.0, noise=0.5)


def solved(s_0, V, theta):
    """S at a time by a solver of dV/dtheta = (S_0 - V V') V."""

    def velocity(_, flat):
        W = flat.reshape(V.shape)
        return ((np.diag(s_0) - W @ W.T) @ W).ravel()

    W = scipy.integrate.solve_ivp(velocity, (0.0, theta), V.ravel(), method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    return W.reshape(V.shape) @ W.reshape(V.shape).T


def test_the_check_value_of_the_riccati_equation():
    V = riccati(np.array([1.0, 0.5]), 0.1 * np.array([[1.0, 0.0], [1.0, 1.0]]), 3.0)
    np.testing.assert_allclose(V @ V.T, [[0.76111, 0.12291], [0.12291, 0.16522]], atol=6e-6)


@pytest.mark.parametrize("theta", [60.0, 2000.0])
def test_steps_of_the_semigroup_agree_with_an_ode_solver(theta):
    """Strong, weak, absent and negative features, and a student that is too narrow for all of them."""
    s_0 = np.array([1.0, 0.7, 0.3, 0.1, 0.02, 0.0, 0.0, -0.4])
    V = 0.05 * np.random.default_rng(0).standard_normal((8, 3))
    exact = solved(s_0, V, theta)
    found = riccati(s_0, V, theta)
    np.testing.assert_allclose(found @ found.T, exact, atol=1e-9)
    # In one go the inverse loses all digits: it fails, or what it gives is nothing.
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            whole = riccati_step(s_0, V, theta)
    except np.linalg.LinAlgError:
        return
    assert not np.all(np.abs(whole @ whole.T - exact) < 1e-3)


def test_the_end_is_the_best_matrix_of_that_rank():
    s_0 = np.array([1.0, 0.7, 0.4, 0.2])
    V = riccati(s_0, 0.1 * np.random.default_rng(1).standard_normal((4, 2)), 400.0)
    np.testing.assert_allclose(V @ V.T, np.diag([1.0, 0.7, 0.0, 0.0]), atol=1e-9)


def test_eigenvalues_solve_their_equation():
    s = np.array([2.0, 1.0, 0.1, 1e-3, 0.0, -0.5])
    for theta in (0.0, 0.3, 4.0, 300.0):
        learned, left = flow_of_eigenvalues(s, 1e-2, np.array(theta))
        np.testing.assert_allclose(learned, np.diag(solved(s, 0.1 * np.eye(6), theta)), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(learned + left, s, atol=1e-14)
    learned, left = flow_of_eigenvalues(s, 1e-2, np.array(1e6))  # nothing is beyond the numbers
    assert np.isfinite(learned).all()
    assert left[0] == 0.0
    assert learned[4] == pytest.approx(1e-2 / (1.0 + 2e4))


def test_half_of_a_feature_is_learned_at_its_half_time():
    s, eps = np.array([2.0, 0.5, 1e-2]), 1e-5
    when = half_times(s, eps)
    np.testing.assert_allclose(flow_of_eigenvalues(s, eps, when).learned, 0.5 * s, rtol=1e-12)
    assert half_times(np.array([0.0, -1.0, 1e-6]), eps).tolist() == [np.inf, np.inf, 0.0]


def test_half_times_of_gaussian_weights():
    """Features far apart begin one by one, each from what those before it left of the weights."""
    d, m, deviation = 8, 8, 1e-9
    s_0 = np.array([0.5**i for i in range(1, d + 1)])
    expected = half_times(s_0, gaussian_starts(m, d, deviation))
    rng, found = np.random.default_rng(0), []
    for _ in range(12):
        V, before, rows = deviation * rng.standard_normal((d, m)) / (m * d) ** 0.25, 0.0, []
        times = np.geomspace(0.9 * expected[0], 1.2 * expected[-1], 500)
        for time in times:
            V, before = riccati(s_0, V, time - before), time
            rows.append(np.sum(V * V, axis=1) / s_0)
        found.append([np.interp(0.5, column, times) for column in np.array(rows).T])
    mean = np.mean(found, axis=0)
    np.testing.assert_allclose(mean[:-1], expected[:-1], rtol=0.03)
    # The last has one degree of freedom left: E ln chi^2 is -1.27 there, and not the logarithm of the mean.
    assert mean[-1] == pytest.approx(expected[-1] + 1.27 / (2.0 * s_0[-1]), rel=0.03)
    # Without what those before it take away, weak features would come too early.
    assert mean[-2] > 1.01 * half_times(s_0, np.full(d, gaussian_starts(m, d, deviation)[0]))[-2]
    assert len(gaussian_starts(3, 8, deviation)) == 3


@pytest.mark.parametrize(("gamma", "seen"), [(0.75, -0.705), (1.0, -1.054), (1.5, -1.405)])
def test_exponents_of_power_laws(gamma, seen):
    """A sum over a million features, and beyond them the sum of those that have not begun."""
    eps, theta, count, h = 1e-12, 1e4, 1_000_000, 1e-3
    s = np.arange(1.0, count + 1.0) ** -gamma

    def error(time):
        return np.sum(flow_of_eigenvalues(s, eps, time).left ** 2) + scipy.special.zeta(2.0 * gamma, count + 1.0)

    exponent = np.log(error(theta * np.exp(h)) / error(theta * np.exp(-h))) / (2.0 * h)
    assert exponent == pytest.approx(seen, abs=0.003)
    assert front_exponent(gamma, eps, theta) == pytest.approx(exponent, abs=0.005)
    assert 0.93 <= error(theta) / front_error(gamma, eps, theta) <= 0.97
    # The exponent of an endless start, without the logarithm, is another.
    assert abs(2.0 - 1.0 / gamma + exponent) > 0.03


def test_the_front_is_where_half_is_learned():
    eps, theta = 1e-10, np.array([10.0, 1e3, 1e5])
    np.testing.assert_allclose(half_times(front(eps, theta), eps), theta, rtol=1e-4)


@pytest.mark.parametrize(("product", "settles"), [(0.95, True), (1.05, False)])
def test_descent_converges_where_it_should(product, settles):
    s = np.array([1.0, 0.5, 0.1])
    learned = np.full(3, 1e-3)
    for _ in range(4000):
        learned = step_of_eigenvalues(s, learned, product)
    assert bool(np.abs(learned - s).max() < 1e-6) is settles
    way = ps.trajectory(POWER, steps=2, trainer=ps.PopulationDescent(rate=product, eps=1e-3, until=4000))
    assert bool(way.estimation_error[-1] < 1e-12) is settles
    assert any("does not settle" in line for line in way.caveats) is not settles


def test_short_steps_of_descent_are_the_flow():
    flow = ps.trajectory(POWER, steps=1, trainer=ps.PopulationFlow(eps=1e-3, until=20.0))
    steps = ps.trajectory(POWER, steps=2, trainer=ps.PopulationDescent(rate=1e-3, eps=1e-3, until=20_000))
    assert steps.estimation_error[-1] == pytest.approx(flow.estimation_error[-1], rel=5e-3)


def test_few_nodes_stand_for_many_features():
    law, eps, theta = ps.PowerLaw(1.0, 30_000, normalized=False), 1e-9, np.array([[30.0], [1e3], [1e5]])
    s, mass = nodes(law, 64)
    assert len(s) < 1500
    whole = flow_of_eigenvalues(law.atoms.positions, eps, theta).left ** 2 @ law.atoms.masses
    np.testing.assert_allclose(flow_of_eigenvalues(s, eps, theta).left ** 2 @ mass, whole, rtol=1e-9)
    x, w = gauss_rule(np.linspace(1.0, 2.0, 50), np.full(50, 0.02), 4)
    for power in range(8):
        assert w @ x**power == pytest.approx(np.mean(np.linspace(1.0, 2.0, 50) ** power), rel=1e-12)
    s, mass = nodes(ps.MarchenkoPastur(0.5), 256)
    assert mass.sum() == pytest.approx(1.0, rel=1e-10)
    assert mass @ s**2 == pytest.approx(1.5, rel=1e-10)


def test_features_are_learned_when_half_of_them_is():
    theta = np.geomspace(0.01, 1e5, 30)
    for law in (ps.MarchenkoPastur(0.5), ps.Semicircle(), ps.PowerLaw(1.0, 50)):
        for eps in (1e-4, 0.3):
            found = learned_fraction(law, eps, theta)
            s = law.quantile((np.arange(300) + 0.5) / 300) if law != ps.PowerLaw(1.0, 50) else law.atoms.positions
            s = s[s > 1e-12]
            counted = [np.mean(flow_of_eigenvalues(s, eps, np.array(time)).learned >= 0.5 * s) for time in theta]
            np.testing.assert_allclose(found, counted, atol=5e-3)


def test_what_a_flow_from_eps_shows():
    way = ps.trajectory(POWER, steps=400, trainer=ps.PopulationFlow(eps=1e-4, until=1e3, first=1e-2))
    assert way.times[0] == 0.0
    assert len(way) == 401
    s = POWER.target.atoms.positions
    assert way.estimation_error[0] == pytest.approx(np.mean((s - 1e-4) ** 2), rel=1e-12)
    np.testing.assert_allclose(way.test_error, 2.0 * way.estimation_error, rtol=1e-12)
    assert np.all(np.diff(way.estimation_error) < 0.0)
    # The local exponent is the slope of the error in the logarithm of the time.
    slope = np.gradient(np.log(way.estimation_error[1:]), np.log(way.times[1:]))
    np.testing.assert_allclose(way.local_exponent[2:-1], slope[1:-1], rtol=0.02, atol=5e-3)
    assert way.caveats[0].startswith("the closed form of training on infinitely many samples, exact at every d")
    assert ps.trajectory(POWER.replace(alpha=7.0, weight_decay=0.0), steps=400, trainer=way.trainer).test_error[
        -1
    ] == pytest.approx(way.test_error[-1], rel=1e-12)


def test_tokens_and_noise_enter_the_test_error_alone():
    trainer = ps.PopulationFlow(eps=1e-2, until=5.0)
    one = ps.trajectory(BULK, steps=5, trainer=trainer)
    three = ps.trajectory(
        ps.linear_attention(BULK.target, alpha=0.3, weight_decay=0.1, noise=0.5, n_tokens=3), steps=5, trainer=trainer
    )
    np.testing.assert_allclose(one.estimation_error, three.estimation_error, rtol=1e-12)
    np.testing.assert_allclose(one.test_error, 2.0 * (one.estimation_error + 0.25), rtol=1e-12)
    np.testing.assert_allclose(three.test_error, 12.0 * (one.estimation_error + 0.25), rtol=1e-12)


def test_bars_of_continuous_laws_hold_a_finer_grid():
    trainer = ps.PopulationFlow(eps=1e-3, until=300.0)
    found = ps.trajectory(BULK, steps=12, trainer=trainer)
    s, mass = nodes(BULK.target, 40_000)
    exact = flow_of_eigenvalues(s, 1e-3, found.times[:, None]).left ** 2 @ mass
    assert np.all(np.abs(found.estimation_error - exact) <= found.error_bars["estimation_error"])
    assert np.all(found.error_bars["estimation_error"] < 1e-6)


def test_gaussian_weights_are_drawn_at_a_dimension():
    trainer = ps.PopulationFlow(deviation=0.1, until=50.0)
    narrow = POWER.replace(kappa=0.25)
    found = ps.trajectory(narrow, steps=6, trainer=trainer, runs=6)
    assert found.d == 40
    assert any("means over 6 Gaussian starts of networks of d = 40 and a width of 10" in line for line in found.caveats)
    # A student of ten columns learns ten features at most, and in the end those.
    end = ps.trajectory(narrow, steps=1, trainer=ps.PopulationFlow(deviation=0.1, until=1e4), runs=2)
    s = POWER.target.atoms.positions
    assert end.estimation_error[-1] == pytest.approx(np.sum(np.sort(s)[:30] ** 2) / 40, rel=1e-4)
    assert end.learned[-1] == 0.25
    assert ps.trajectory(BULK, steps=1, trainer=trainer, runs=2, d=20).d == 20
    other = ps.trajectory(narrow, steps=6, trainer=trainer, runs=6, seed=1)
    assert (
        0.0
        < abs(other.estimation_error[3] - found.estimation_error[3])
        < 4.0 * found.error_bars["estimation_error"][3] + 4.0 * other.error_bars["estimation_error"][3]
    )


def test_the_check_values_of_a_finite_number_of_samples():
    way = ps.trajectory(MATRIX, steps=4, trainer=ps.MatrixFlow(first=0.5, until=32.0))
    np.testing.assert_allclose(way.times, [0.0, 0.5, 2.0, 8.0, 32.0], rtol=1e-12)
    np.testing.assert_allclose(way.estimation_error[1:4], [0.695, 0.2759, 0.2065], atol=6e-4)
    np.testing.assert_allclose(way.train_error[1:4], [1.214, 0.3999, 0.2585], atol=6e-4)
    assert way.estimation_error[2] == pytest.approx(0.2759, abs=5e-5)
    assert way.train_error[2] == pytest.approx(0.3999, abs=5e-5)
    late = ps.trajectory(MATRIX, steps=1, trainer=ps.MatrixFlow(until=40.0))
    assert late.estimation_error[1] == pytest.approx(0.249, abs=5e-4)
    assert late.train_error[1] == pytest.approx(0.250, abs=5e-4)


def test_a_flow_with_a_ridge_ends_at_the_minimum():
    for problem in (MATRIX.replace(ridge=0.3), MATRIX.replace(ridge=0.3, alpha=0.2, n_tokens=2)):
        way, end = ps.trajectory(problem, steps=1, trainer=ps.MatrixFlow(until=1e5)), ps.solve(problem)
        for name in ("test_error", "train_error", "estimation_error"):
            assert way.values[name][-1] == pytest.approx(getattr(end, name), rel=1e-6)


def test_short_steps_of_a_matrix_are_its_flow():
    flow = ps.trajectory(MATRIX, steps=1, trainer=ps.MatrixFlow(until=2.0))
    steps = ps.trajectory(MATRIX, steps=2, trainer=ps.MatrixDescent(rate=1e-3, until=2000))
    assert steps.estimation_error[-1] == pytest.approx(flow.estimation_error[-1], rel=2e-3)
    largest = (1.0 + np.sqrt(0.5)) ** 2
    assert ps.trajectory(MATRIX, steps=9, trainer=ps.MatrixDescent(rate=1.99 / largest)).caveats == flow.caveats
    diverging = ps.trajectory(MATRIX, steps=9, trainer=ps.MatrixDescent(rate=2.2 / largest))
    assert any("this descent diverges; it settles below 0.686" in line for line in diverging.caveats)


def test_a_thousand_times_are_a_table():
    for problem, trainer in (
        (ps.quadratic_network(ps.PowerLaw(1.25, 400), alpha=1.0, weight_decay=0.1), ps.PopulationFlow(until=1e3)),
        (MATRIX, ps.MatrixFlow(until=1e3)),
    ):
        assert len(ps.trajectory(problem, steps=1000, trainer=trainer)) == 1001


SOFTMAX = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01)


@pytest.mark.parametrize(
    ("problem", "options", "words"),
    [
        (SOFTMAX, {"trainer": ps.PopulationFlow()}, r"`problem` must have a linear channel here: the loss of inf"),
        (SOFTMAX, {"trainer": ps.MatrixFlow()}, r"`problem` must have a linear channel here: the way of a softmax"),
        (MATRIX, {"trainer": ps.PopulationFlow()}, r"`problem` must be of a network with a factor W"),
        (POWER, {"trainer": ps.MatrixFlow()}, r"`problem` must have a Frobenius penalty here"),
        (POWER.replace(kappa=0.5), {"trainer": ps.PopulationFlow()}, r"`kappa` must be at least 1 for a start of eps"),
        (POWER, {"trainer": ps.PopulationFlow(), "d": 50}, r"`d` must be left out here: nothing is drawn"),
        (POWER, {"trainer": ps.PopulationDescent(), "runs": 5}, r"`runs` must be left out here"),
        (MATRIX, {"trainer": ps.MatrixFlow(), "seed": 5}, r"`seed` must be left out here"),
        (POWER, {"d": 5}, r"`d` must be left out here"),
        (POWER, {"trainer": ps.LBFGS()}, r"`trainer` must be a PlainAMP or a PopulationFlow .*step by step"),
        (
            ps.quadratic_network(ps.PowerLaw(1.0, 5000), alpha=1.0, weight_decay=0.1),
            {"trainer": ps.PopulationFlow(deviation=0.1)},
            r"`d` must be a whole number >= 2 and <= 2000: Gaussian starts are those of networks of a dimension",
        ),
    ],
)
def test_mistakes_are_told(problem, options, words):
    with pytest.raises(ps.InputError, match=words):
        ps.trajectory(problem, steps=3, **options)


def test_mistakes_about_trainers_are_told():
    with pytest.raises(ps.InputError, match=r"`eps` must be left out beside a deviation"):
        ps.PopulationFlow(eps=1e-3, deviation=0.1)
    with pytest.raises(ps.InputError, match=r"`first` must be before the last time: the last time is until = 100"):
        ps.MatrixFlow(first=200.0)
    with pytest.raises(ps.SolveError, match=r"Descent has left the finite numbers by step .* below 1"):
        ps.trajectory(POWER, steps=60, trainer=ps.PopulationDescent(rate=5.0))
    with pytest.raises(ps.SolveError, match=r"Descent leaves the finite numbers. Use a smaller rate, below 0.686"):
        ps.trajectory(MATRIX, steps=2, trainer=ps.MatrixDescent(rate=50.0, until=1000))


def test_steps_that_are_looked_at():
    assert ps.MatrixDescent(steps=3).times.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert ps.MatrixDescent(steps=3, until=100).times.tolist() == [0.0, 1.0, 10.0, 100.0]
    assert ps.PopulationDescent(steps=5, until=2).times.tolist() == [0.0, 1.0, 2.0]
    assert ps.PopulationFlow(steps=1, until=7.0).times.tolist() == [0.0, 7.0]
    assert not ps.MatrixDescent(steps=3).geometric
    assert ps.MatrixDescent(steps=3, until=100).geometric


@pytest.mark.parametrize(
    ("problem", "trainer"), [(POWER, ps.PopulationFlow(deviation=0.1, until=3.0)), (MATRIX, ps.MatrixDescent(until=50))]
)
def test_flows_are_kept_in_files_and_in_tables(problem, trainer, tmp_path):
    way = ps.trajectory(problem, steps=4, trainer=trainer)
    way.save(tmp_path / "way.json")
    again = ps.load(tmp_path / "way.json")
    assert again.trainer == way.trainer
    assert again.d == way.d
    np.testing.assert_array_equal(again.estimation_error, way.estimation_error)
    table = ps.sweep(problem, ps.trajectory, noise=[0.0, 0.5], steps=4, trainer=trainer, processes=1)
    assert table["test_error"].dims == ("noise", "step")
    assert float(table["time"].sel(noise=0.5)[-1]) == way.times[-1]


@pytest.mark.parametrize(("deviation", "kappa", "until"), [(0.1, 1.0, 30.0), (1e-4, 0.5, 100.0), (0.03, 1.0, 2000.0)])
def test_times_between_are_as_if_computed(deviation, kappa, until):
    """A thousand times agree with those of them that are computed one by one; few of them are computed."""
    problem, looked = POWER.replace(kappa=kappa), []
    s_0 = np.sort(POWER.target.atoms.positions)
    V = deviation * np.random.default_rng(0).standard_normal((40, round(40 * kappa))) / (1600 * kappa) ** 0.25
    times = ps.PopulationFlow(until=until, steps=1000).times

    def look(V, time):
        looked.append(time)
        return np.array([np.log(np.sum((np.diag(s_0) - V @ V.T) ** 2)), *np.sum(V * V, axis=1)])

    def advance(V, duration):
        return riccati(s_0, V, duration)

    found = along(times, V, advance, look)
    assert len(looked) < 600
    few = times[[0, 1, 100, 333, 500, 640, 820]]
    looked.clear()
    exact = along(few, V, advance, look)
    assert looked == list(few)  # nothing is read off where there are few
    np.testing.assert_allclose(found[[0, 1, 100, 333, 500, 640, 820]], exact, atol=1e-8 * problem.Q_0)


def test_what_is_rough_is_computed_time_by_time():
    rng, times = np.random.default_rng(1), np.geomspace(1.0, 10.0, 300)
    noise = dict(zip(times, rng.standard_normal(300), strict=True))
    found = along(times, np.zeros(1), lambda state, duration: state + duration, lambda _, time: noise.get(time, 0.5))
    assert found.tolist() == [noise[time] for time in times]


def test_half_times_are_told():
    """Beside the way itself: from eps they are when half is there, from Gaussian weights nearly so."""
    far = ps.quadratic_network(ps.Empirical(0.4 ** np.arange(1, 7)), alpha=1.0, weight_decay=0.1)
    s = np.array([0.4**i for i in range(1, 7)])
    even = ps.trajectory(far, steps=5, trainer=ps.PopulationFlow(eps=1e-6))
    np.testing.assert_allclose(even.half_times, np.log(s / 1e-6 - 1.0) / (2.0 * s), rtol=1e-12)
    options = {"trainer": ps.PopulationFlow(deviation=1e-9, until=2e4, first=20.0), "runs": 12}
    wide = far.replace(kappa=2.0)
    drawn = ps.trajectory(wide, steps=1000, **options)
    starts = 1e-18 * (12 - np.arange(6)) / np.sqrt(72.0)
    np.testing.assert_allclose(drawn.half_times, np.log(s / starts) / (2.0 * s), rtol=1e-12)
    seen = np.interp((np.arange(6) + 0.5) / 6.0, drawn.learned, drawn.times)
    np.testing.assert_allclose(seen, drawn.half_times, rtol=0.03)
    assert abs(seen[-1] / half_times(s[-1:], 1e-6)[0] - 1.0) > 1.0  # another start is told from it
    assert any("within 3 % for separated features" in line for line in drawn.caveats)
    narrow = ps.trajectory(far.replace(kappa=0.5), steps=3, **options)
    assert np.isinf(narrow.half_times).tolist() == [False] * 3 + [True] * 3
    assert ps.trajectory(far, steps=3, d=9, **options).half_times is None  # features are drawn
    assert ps.trajectory(BULK, steps=3, trainer=ps.PopulationFlow()).half_times is None
