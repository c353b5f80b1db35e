"""The way of gradient descent: two-time equations, the linear regime, message passing, beside real machines."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.boltzmann.experiment.samples import draw_directions, draw_samples, weights_with_overlaps
from presage.models.boltzmann.experiment.training import steps_of_descent
from presage.models.boltzmann.start import start_matrices
from presage.models.boltzmann.theory.linear_regime import eigenvalue_law, grown
from presage.models.boltzmann.theory.responses import response_of_many, response_of_one
from presage.models.boltzmann.theory.solution import alignments
from presage.models.boltzmann.theory.state_evolution import iterates
from presage.models.boltzmann.theory.two_time import descend, standard_normals
from presage.solving.vector_state_evolution import Overlaps

ONE = ps.boltzmann(alpha=4.0, signal=1.0)
M, Q = np.array([[0.1]]), np.array([[0.25]])
trajectory: Any = ps.trajectory  # for what its types refuse


def runs_of(problem, m_0, q_0, rate, steps, samples=4096, runs=4):
    return [descend(problem, np.array(m_0), np.array(q_0), rate, steps, samples, seed) for seed in range(runs)]


def test_one_step_by_quadrature():
    """The first step is a = 1 - eta + eta E g', c = eta lam m0 E g'; the second step needs the memory of the first."""
    way = runs_of(ONE, M, Q, 0.2, 2, samples=2**15, runs=1)[0]
    x, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / w.sum()
    u = np.sqrt(0.25 + 0.01) * x
    slope, square = w @ (1.0 - np.tanh(u) ** 2), w @ np.tanh(u) ** 2
    a, c = 1.0 - 0.2 + 0.2 * slope, 0.2 * 0.1 * slope
    m, q = a * 0.1 + c, a * a * 0.25 + 2.0 * a * c * 0.1 + c * c + 0.04 * square / 4.0
    assert (m, q) == pytest.approx((0.112862, 0.237696), abs=2e-6)
    assert (way.M[1, 0, 0], way.Q[1, 0, 0]) == pytest.approx((m, q), abs=5e-6)
    assert (way.M[2, 0, 0], way.Q[2, 0, 0]) == pytest.approx((0.1285, 0.2337), abs=2e-4)


def test_seen_ways_of_descent():
    """Numbers that are known: overlaps, and the functions of two times behind them."""
    ways = runs_of(ONE, M, Q, 0.2, 40)
    mean = {t: np.mean([(way.M[t, 0, 0], way.Q[t, 0, 0]) for way in ways], axis=0) for t in (5, 10, 20, 40)}
    for t, wanted in {5: (0.1938, 0.266), 10: (0.355, 0.451), 20: (0.657, 0.965), 40: (0.845, 1.339)}.items():
        np.testing.assert_allclose(mean[t], wanted, atol=1e-3 if t < 20 else 0.015)
    first = ways[0]
    assert first.C[10, 5, 0, 0] == pytest.approx(0.3226, abs=1e-3)
    assert first.L[10, 5, 0, 0] == pytest.approx(0.0400, abs=2e-4)
    assert first.Gam[10, 10, 0, 0] == pytest.approx(2.458, abs=4e-3)
    assert first.Gam[10, 8, 0, 0] == pytest.approx(0.0960, abs=6e-4)
    assert first.C[20, 10, 0, 0] == pytest.approx(0.605, abs=3e-3)


def test_seen_ways_with_sign_latents():
    one = ps.boltzmann(alpha=3.0, signal=2.0, latents="signs")
    ways = runs_of(one, [[0.2]], [[0.4]], 0.1, 40)
    seen = np.mean([way.M[[1, 5, 10, 20, 30, 40], 0, 0] for way in ways], axis=0)
    np.testing.assert_allclose(seen, [0.2247, 0.3601, 0.594, 1.021, 1.244, 1.339], atol=3e-3)
    assert np.mean([way.Q[40, 0, 0] for way in ways]) == pytest.approx(2.217, abs=6e-3)
    two = ps.boltzmann(alpha=4.0, signal=[2.0, 1.0], units=2, latents="signs")
    ways = runs_of(two, [[0.15, 0.05], [0.05, 0.15]], 0.25 * np.eye(2), 0.2, 50, samples=2048, runs=3)
    np.testing.assert_allclose(
        np.mean([way.M[10] for way in ways], axis=0), [[0.932, 0.301], [0.019, 0.434]], atol=3e-3
    )
    late = np.mean([way.M[50] for way in ways], axis=0)
    np.testing.assert_allclose(late, [[1.394, 0.145], [-0.123, 0.921]], atol=0.02)


def test_two_units_that_do_not_meet_are_two_machines():
    """Binary units on two directions of signs, each aligned with its own: every block is that of one unit."""
    two = ps.boltzmann(alpha=4.0, signal=[3.0, 2.0], units=2, latents="signs")
    way = descend(two, 0.2 * np.eye(2), 0.4 * np.eye(2), 0.1, 12, 2**14, 0)
    for index, signal in enumerate((3.0, 2.0)):
        one = descend(
            two.replace(units=1, signal=signal, spikes=ps.Spikes([1.0])),
            0.2 * np.eye(1),
            0.4 * np.eye(1),
            0.1,
            12,
            2**14,
            0,
        )
        np.testing.assert_allclose(way.M[:, index, index], one.M[:, 0, 0], atol=1e-3)
        np.testing.assert_allclose(way.L[12, :12, index, index], one.L[12, :12, 0, 0], atol=1e-3)
        np.testing.assert_allclose(way.Gam[11, :12, index, index], one.Gam[11, :12, 0, 0], atol=6e-3)
    assert np.abs(way.M[:, 0, 1]).max() < 2e-3


def test_responses_are_derivatives():
    """dg^t/d om^r of a trajectory by nudging om^r and running the field again."""
    rng = np.random.default_rng(0)
    T, k, count, step = 6, 2, 5, 1e-4
    L = np.zeros((T, T, k, k))
    for t in range(T):
        L[t, :t] = 0.4 * rng.standard_normal((t, k, k))
    om = rng.standard_normal((T, k, count))
    B = np.array([[1.0, 0.3], [0.0, 0.8]])  # g = tanh(u B) B', a gradient whose Hessian is not diagonal

    def run(om, L, B):
        g: list[Any] = []
        for t in range(len(om)):
            u = om[t].T + sum((g[r] @ L[t, r] for r in range(t)), np.zeros((om.shape[2], om.shape[1])))
            g.append(np.tanh(u @ B) @ B.T)
            yield u, g[t]

    slopes = [np.einsum("ai,ni,bi->abn", B, 1.0 - np.tanh(u @ B) ** 2, B) for u, _ in run(om, L, B)]
    found = response_of_many(L.astype(np.float32), np.array(slopes, dtype=np.float32), T - 1) / count
    for r in range(T):
        for a in range(k):
            up, down = om.copy(), om.copy()
            up[r, a] += step
            down[r, a] -= step
            *_, (_, high) = run(up, L, B)
            *_, (_, low) = run(down, L, B)
            np.testing.assert_allclose(found[r, a], np.mean(high - low, axis=0) / (2 * step), atol=2e-4)
    single = np.array(slopes, dtype=np.float32)[:, 0, 0]
    one = response_of_one(L[:, :, 0, 0].astype(np.float32), single, T - 1)
    many = response_of_many(L[:, :, :1, :1].astype(np.float32), single[:, None, None], T - 1)
    np.testing.assert_allclose(one, many[:, 0, 0], rtol=1e-5)


def test_normals_have_exact_moments():
    z = standard_normals(256, 20, 3)
    np.testing.assert_allclose(z @ z.T / 256, np.eye(20), atol=1e-12)
    np.testing.assert_allclose(z.mean(axis=1), 0.0, atol=1e-13)
    assert np.mean(z[0] ** 4) == pytest.approx(3.0, abs=0.15)
    assert not np.allclose(z, standard_normals(256, 20, 4))


def test_linear_regime():
    """Numbers that are known, and what the law is for: power iteration on the covariance of real samples."""
    times = np.array([1.0, 2.0, 5.0, 10.0, 20.0])
    m = grown(eigenvalue_law(4.0, 1.0), 0.2, times)
    q = grown(eigenvalue_law(4.0, 0.0), 0.2, 2.0 * times)
    np.testing.assert_allclose(m, [1.2, 1.46, 2.7967, 9.2879, 118.82], rtol=1e-4)
    np.testing.assert_allclose(q, [1.01, 1.0622, 1.5656, 5.3953, 164.91], rtol=1e-4)
    way = ps.trajectory(ONE, steps=20, trainer=ps.BoltzmannDescent(m_0=1e-8, q_0=1e-6), linear=True)
    np.testing.assert_allclose(way.overlap[[1, 5, 20]] / 1e-8, m[[0, 2, 4]], rtol=1e-9)
    np.testing.assert_allclose(way.size[[1, 5, 20]] / 1e-6, q[[0, 2, 4]], rtol=1e-4)
    assert "units are linear" in way.caveats[0]
    full = descend(ONE, 1e-4 * np.eye(1), 1e-6 * np.eye(1), 0.2, 20, 4096, 0)
    small = ps.trajectory(ONE, steps=20, trainer=ps.BoltzmannDescent(m_0=1e-4, q_0=1e-6), linear=True)
    assert full.M[20, 0, 0] == pytest.approx(small.overlap[20], rel=2e-3)
    assert full.Q[20, 0, 0] == pytest.approx(small.size[20], rel=3e-3)
    # With fewer samples than visible units zero is an eigenvalue.
    scarce = ps.boltzmann(alpha=0.5, signal=2.5, latents="signs")
    few = ps.trajectory(scarce, steps=4, trainer=ps.BoltzmannDescent(m_0=0.3, q_0=1.0), linear=True)
    seen, d = [], 400
    for seed in range(16):
        rng = np.random.default_rng(seed)
        data = draw_samples(scarce, draw_directions(d, 1, rng), d // 2, rng)
        W = weights_with_overlaps(data.directions, np.array([[0.3]]), np.eye(1), rng)
        for _ in range(4):
            W = W + 0.2 * (data.A.T @ (data.A @ W) * 2.0 - W)
        seen.append((data.directions[:, 0] @ W[:, 0] / d, np.mean(W**2)))
    error = np.std(seen, axis=0, ddof=1) / 4.0
    assert np.all(np.abs(np.mean(seen, axis=0) - (few.overlap[4], few.size[4])) < 3.5 * error)
    assert np.all(error < (0.05 * few.overlap[4], 0.1 * few.size[4]))


def test_linear_regime_at_late_times():
    """Weights turn to the first principal component: its cosine is the limit, and sums of all times are positive."""
    way = ps.trajectory(ONE, steps=300, trainer=ps.BoltzmannDescent(m_0=1e-8, q_0=1e-12), linear=True)
    assert way.alignment[300] == pytest.approx(ps.spiked_wishart(1.0, 4.0).overlap, abs=1e-7)
    # By numbers of many digits, where the outlier is a part of an integral along a line of another shape.
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(80):
        alpha, signal, rate = mpmath.mpf(4), mpmath.mpf(1), mpmath.mpf("0.2")
        points, centre, radius = 600, mpmath.mpf("1.5"), mpmath.mpf("1.8")
        whole = dict.fromkeys((100, 200, 300), mpmath.mpf(0))
        for index in range(points):
            away = radius * mpmath.expjpi(2 * (index + mpmath.mpf("0.5")) / points)
            z = centre + away
            b = z - 1 + 1 / alpha
            roots = [(-b + sign * mpmath.sqrt(b * b - 4 * z / alpha)) * alpha / (2 * z) for sign in (1, -1)]
            s = next(one for one in roots if one.imag * z.imag > 0)
            mu = -(1 - 1 / alpha) / z + s / alpha
            G = -1 / (z * (1 + (1 + signal) * mu))
            for t in whole:
                whole[t] -= ((1 + rate * (z - 1)) ** t * G * away / points).real
        known = [float(value) for value in whole.values()]
    np.testing.assert_allclose(grown(eigenvalue_law(4.0, 1.0), 0.2, np.array([100.0, 200.0, 300.0])), known, rtol=1e-11)
    np.testing.assert_allclose(way.overlap[[100, 200, 300]], 1e-8 * np.array(known), rtol=1e-11)


def test_laws_of_eigenvalues_are_whole():
    """Weights sum to one, with the mean 1 + lam; next to an edge a bar tells what the sum misses."""
    for alpha, signal in ((4.0, 1.0), (4.0, 0.5), (0.5, 2.5), (0.5, 0.0), (1.0, 1.0), (0.01, 3.0)):
        places, weights = eigenvalue_law(alpha, signal)
        assert np.all(weights >= 0.0)
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert weights @ places == pytest.approx(1.0 + signal, rel=1e-12)
    near = ps.boltzmann(alpha=4.0, signal=0.50001)
    way = ps.trajectory(near, steps=40, trainer=ps.BoltzmannDescent(m_0=1e-8, q_0=1e-12), linear=True)
    exact = 1e-8 * (1.0 + 0.2 * 0.50001)  # after a step
    assert 0.0 < abs(way.overlap[1] - exact) < way.error_bars["overlap"][1] < 1e-3 * exact


def test_weights_that_leave_the_finite_numbers_are_a_failure():
    with pytest.raises(ps.SolveError, match="left the linear regime"):
        ps.trajectory(ONE, steps=200, trainer=ps.BoltzmannDescent(rate=10.0), linear=True)


def test_error_bars_cover_other_runs():
    one, other = (ps.trajectory(ONE, steps=30, samples=1024, runs=8, seed=seed) for seed in (0, 1))
    for name in ("alignment", "overlap", "size", "test_likelihood", "train_likelihood"):
        apart = np.abs(one.values[name] - other.values[name])
        assert np.all(apart <= 1.2 * (one.error_bars[name] + other.error_bars[name]))
    assert one.error_bars["overlap"][0] < 1e-8
    assert one.error_bars["overlap"][30] < 0.02


def test_overfitting_is_seen():
    """The likelihood of fresh samples rises, peaks near step 15 and falls; that of the training samples rises."""
    way = ps.trajectory(ONE, steps=80, samples=2048, runs=4)
    peak = int(np.argmax(way.test_likelihood))
    assert 12 <= peak <= 18
    assert way.test_likelihood[peak] == pytest.approx(0.013, abs=1e-3)
    assert way.test_likelihood[80] == pytest.approx(-0.021, abs=3e-3)
    assert np.all(np.diff(way.train_likelihood) > -1e-3)
    end = ps.solve(ONE)
    assert way.overlap[80] == pytest.approx(end.overlap, abs=0.03)


def test_descent_goes_this_way():
    """Below the stability line too, where no replica-symmetric prediction is claimed."""
    problem = ps.boltzmann(alpha=2.0, signal=1.0, latents="signs")
    way = ps.trajectory(problem, steps=25, samples=4096, runs=6)
    machines = [
        ps.simulate(problem, d=d, seeds=16, trainer=way.trainer, keep="trajectory", processes=1) for d in (150, 300)
    ]
    found = ps.compare(way, *machines)
    assert found.agrees, found.head
    other = ps.trajectory(problem.replace(signal=1.4), steps=25, samples=2048, runs=4)
    moved = ps.Trajectory(problem, way.trainer, way.observables, way.times, other.values, other.error_bars)
    assert not ps.compare(moved, *machines).agrees


def test_no_memory_is_no_theory():
    """Descent without the response of the weights, L = 0, is seen to be wrong: a sample remembers."""
    problem, start = ps.boltzmann(alpha=2.0, signal=1.0, latents="signs"), ps.BoltzmannDescent(q_0=1.0)
    machines = ps.simulate(problem, d=400, seeds=8, trainer=start, keep="trajectory", processes=1)
    x, w = np.polynomial.hermite_e.hermegauss(60)
    w, m, q = w / w.sum(), 0.1, 1.0
    for _ in range(10):
        u = m + np.sqrt(q) * x
        pull, slope, square = w @ np.tanh(u), w @ (1.0 - np.tanh(u) ** 2), w @ np.tanh(u) ** 2
        a = 0.8 + 0.2 * slope
        c = 0.2 * pull
        m, q = a * m + c, a * a * q + 2 * a * c * m + c * c + 0.04 * square / 2.0
    way = ps.trajectory(problem, steps=10, trainer=start, samples=2048, runs=4)
    seen = machines.trajectory[:, 10, 1 + [one.name for one in machines.followed].index("size")]
    error = seen.std(ddof=1) / np.sqrt(8)
    assert abs(seen.mean() - way.size[10]) < 4 * error + way.error_bars["size"][10] + 5e-3
    assert abs(seen.mean() - q) > 8 * error


def test_message_passing_goes_this_way():
    problem = ps.boltzmann(alpha=8.0, signal=1.0)
    way = ps.trajectory(problem, steps=15, trainer=ps.BoltzmannAMP(m_0=0.3, q_0=0.5))
    np.testing.assert_allclose(way.overlap[[1, 2, 3, 5, 15]], [0.802, 0.924, 0.906, 0.923, 0.927], atol=1e-3)
    assert way.size[15] == pytest.approx(1.153, abs=1e-3)
    machines = [
        ps.simulate(problem, d=d, seeds=12, trainer=way.trainer, keep="trajectory", processes=1) for d in (150, 300)
    ]
    found = ps.compare(way, *machines)
    assert found.agrees, found.head


def test_messages_that_may_fail_are_told():
    """Small weights at few samples give way so much that fields of samples jump."""
    problem = ps.boltzmann(alpha=8.0, signal=1.0)
    assert ps.trajectory(problem, steps=3, trainer=ps.BoltzmannAMP()).caveats == ()
    wild = ps.trajectory(problem, steps=3, trainer=ps.BoltzmannAMP(m_0=0.1, q_0=0.1))
    assert "state evolution is a heuristic" in wild.caveats[0]


@pytest.mark.slow
def test_error_bars_of_message_passing_cover_a_finer_grid():
    """Fields of very strong signals are wide, and what a grid misses is in the overlaps of every iteration."""
    problem, steps = ps.boltzmann(alpha=4.0, signal=[100.0, 50.0], units=2), 2
    way = ps.trajectory(problem, steps=steps, trainer=ps.BoltzmannAMP())
    M_0, Q_0 = start_matrices(problem, None, None)
    start, mixing = Overlaps(M_0.T, Q_0, 0.1 * np.eye(2)), ps.BoltzmannAMP().mixing_of(problem)
    fine = [one.overlaps for one in islice(iterates(problem, start, mixing, 0.5), steps + 1)]
    overlap = np.array([np.linalg.norm(one.m[:, 0]) for one in fine])
    size = np.array([np.trace(one.q) / 2.0 for one in fine])
    aligned = np.array([alignments(one)[0] for one in fine])
    for name, known in {"overlap": overlap, "size": size, "alignment": aligned}.items():
        assert np.all(np.abs(way.values[name] - known) <= way.error_bars[name]), name


def test_steps_of_descent_are_what_is_kept():
    way = ps.trajectory(ONE, steps=4, samples=256, runs=2)
    machines = ps.simulate(ONE, d=60, seeds=2, trainer=way.trainer, keep="trajectory", processes=1)
    assert machines.trajectory.shape == (2, 5, 1 + len(machines.followed))
    np.testing.assert_allclose(machines.trajectory[0, :, 0], range(5))
    from presage.protocol.ensemble import streams

    target, data, trainer, _ = streams(0, 60)
    found = draw_samples(ONE, draw_directions(60, 1, target), 240, data)
    W = weights_with_overlaps(found.directions, M, Q, trainer)
    sizes = [np.mean(one**2) for one in islice(steps_of_descent(found.A, W, 0.2, ONE), 4)]
    column = 1 + [one.name for one in machines.followed].index("size")
    np.testing.assert_allclose(machines.trajectory[0, 1:, column], sizes, rtol=1e-10)


def test_descent_of_gaussian_units_goes_this_way():
    problem = ps.boltzmann(ps.GaussianUnits(), alpha=4.0, signal=[2.0, 1.0], units=2)
    start = ps.BoltzmannDescent(m_0=[[0.2, 0.1], [-0.1, 0.2]])
    way = ps.trajectory(problem, steps=20, trainer=start, samples=1024, runs=4)
    machines = [
        ps.simulate(problem, d=d, seeds=12, trainer=way.trainer, keep="trajectory", processes=1) for d in (150, 300)
    ]
    found = ps.compare(way, *machines)
    assert found.agrees, found.head


def test_three_units_are_followed_too():
    """State evolution of three units is not done; descent of them is."""
    problem = ps.boltzmann(alpha=4.0, signal=[4.0, 2.0, 1.0], units=3, latents="signs")
    way = ps.trajectory(problem, steps=10, samples=1024, runs=2, trainer=ps.BoltzmannDescent(rate=0.1, m_0=0.2))
    assert "test_likelihood" not in way.values
    machines = ps.simulate(problem, d=300, seeds=4, trainer=way.trainer, keep="trajectory", processes=1)
    assert machines.mean("overlap") == pytest.approx(way.overlap[10], abs=0.05)
    assert machines.mean("size") == pytest.approx(way.size[10], abs=0.05)


BAD = {
    "`steps` must be a whole number >= 1 and <= 1000": lambda: ps.trajectory(ONE, steps=0),
    "`samples` must be a whole number >= 42": lambda: trajectory(ONE, steps=20, samples=10),
    "`runs` must be a whole number >= 2": lambda: trajectory(ONE, steps=20, runs=1),
    "`seed` must be a whole number >= 0": lambda: trajectory(ONE, steps=20, seed=-1),
    "`trainer` must be a BoltzmannDescent or a BoltzmannAMP": lambda: trajectory(ONE, steps=20, trainer=ps.LBFGS()),
    "`samples` must be left out here: nothing is sampled": lambda: trajectory(
        ONE, steps=20, trainer=ps.BoltzmannAMP(), samples=512
    ),
    "`runs` must be left out here": lambda: trajectory(ONE, steps=20, linear=True, runs=-1),
    "`seed` must be left out here": lambda: trajectory(ONE, steps=20, linear=True, seed=0),
    "`samples` must leave room for sampled fields at all steps: the fields of 1000 steps take": lambda: trajectory(
        ps.boltzmann(alpha=4.0, signal=[4.0, 2.0, 1.0], units=3, latents="signs"), steps=1000, samples=2**20
    ),
    "`v_0` must be below one here": lambda: trajectory(
        ps.boltzmann(ps.GaussianUnits(), alpha=4.0, signal=1.0), steps=3, trainer=ps.BoltzmannAMP(v_0=1.0)
    ),
    "`linear` must be a bool": lambda: trajectory(ONE, steps=20, linear=2),
    "`linear` must be left out here": lambda: trajectory(ONE, steps=20, trainer=ps.BoltzmannAMP(), linear=True),
    "`hidden` must be units of mean zero and variance one": lambda: trajectory(
        ps.boltzmann(ps.FiniteUnits([0, 1]), alpha=2.0, signal=1.0), steps=20, linear=True
    ),
    "`q_0` must be such that q_0 - m_0'm_0 is a covariance": lambda: trajectory(
        ONE, steps=20, trainer=ps.BoltzmannDescent(m_0=1.0)
    ),
}


@pytest.mark.parametrize("said", BAD)
def test_what_is_wrong_is_said(said):
    with pytest.raises(ps.InputError) as error:
        BAD[said]()
    assert str(error.value).startswith(said)


def test_what_cannot_be_followed_is_a_failure():
    gaussian = ps.boltzmann(ps.GaussianUnits(), alpha=3.0, signal=2.0)
    with pytest.raises(ps.SolveError, match="leaves the possible weights"):
        ps.trajectory(gaussian, steps=20, trainer=ps.BoltzmannDescent(rate=9.0), samples=256, runs=2)
    still = ps.trajectory(ONE, steps=3, trainer=ps.BoltzmannDescent(m_0=0.0), samples=256, runs=2)
    assert np.all(still.overlap == 0.0)
    assert "take log d steps to leave it" in still.caveats[0]


@pytest.mark.slow
def test_hundred_steps_beside_machines_of_two_sizes():
    way = ps.trajectory(ONE, steps=100)
    machines = [ps.simulate(ONE, d=d, seeds=16, trainer=way.trainer, keep="trajectory") for d in (400, 800)]
    found = ps.compare(way, *machines)
    assert found.agrees, found.head
    assert way.error_bars["overlap"][100] < 0.02


@pytest.mark.slow
def test_smaller_weights_come_out_later_by_the_linear_law():
    """Half-times of the stronger direction from weights a hundred times smaller: log(100)/log(1 + rate (l_1 - 1))."""
    problem, d, rate = ps.boltzmann(alpha=4.0, signal=[3.0, 1.0], units=2, latents="signs"), 600, 0.1
    half = {}
    for eps in (1e-2, 1e-4):
        start = ps.BoltzmannDescent(rate=rate, m_0=eps / np.sqrt(d), q_0=eps**2, steps=90)
        e = ps.simulate(problem, d=d, seeds=8, trainer=start, keep="trajectory")
        overlap = e.trajectory[:, :, 1 + [one.name for one in e.followed].index("overlap")]
        half[eps] = np.mean([np.argmax(row > 0.5 * row[-1]) for row in overlap])
    shift = np.log(100.0) / np.log(1.0 + rate * (ps.spiked_wishart(3.0, 4.0).outlier - 1.0))
    assert shift == pytest.approx(16.0, abs=0.1)
    assert half[1e-4] - half[1e-2] == pytest.approx(shift, abs=1.0)


@pytest.mark.slow
def test_two_units_beside_machines_of_two_sizes():
    problem = ps.boltzmann(alpha=4.0, signal=[2.0, 1.0], units=2, latents="signs")
    way = ps.trajectory(problem, steps=40, trainer=ps.BoltzmannDescent(m_0=[[0.15, 0.05], [0.05, 0.15]]), samples=4096)
    machines = [ps.simulate(problem, d=d, seeds=16, trainer=way.trainer, keep="trajectory") for d in (300, 600)]
    found = ps.compare(way, *machines)
    assert found.agrees, found.head
