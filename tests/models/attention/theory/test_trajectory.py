"""The steps of message passing, predicted: where they end, how well they are known, and networks that take them."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps

MP = ps.MarchenkoPastur(0.5)
ATTENTION = ps.attention(MP, alpha=0.5, weight_decay=0.01, noise=0.5)
QUADRATIC = ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.05, noise=0.5)
THREE = ps.attention(MP, alpha=0.2, weight_decay=0.01, noise=0.5, n_tokens=3)


@pytest.mark.parametrize(("problem", "steps"), [(ATTENTION, 60), (QUADRATIC, 40)], ids=["attention", "quadratic"])
def test_it_ends_at_the_fixed_point(problem, steps):
    found, end = ps.trajectory(problem, steps=steps), ps.solve(problem)
    for name in ("test_error", "estimation_error", "rank"):
        assert found.values[name][-1] == pytest.approx(getattr(end, name), rel=1e-5)


def test_it_begins_with_nothing_learned():
    found = ps.trajectory(ATTENTION, steps=2)
    assert found.times.tolist() == [0.0, 1.0, 2.0]
    assert found.estimation_error[0] == ATTENTION.target.second_moment
    assert found.rank[0] == 0.0
    # A network of no weights attends to both tokens alike: E |1/2 - sigma(z_0)|^2 over four entries.
    z = np.random.default_rng(0).standard_normal((400_000, 3)) * np.sqrt(ATTENTION.rho_0)
    rows = np.stack([np.sqrt(2.0) * z[:, 0] - z[:, 1], np.sqrt(2.0) * z[:, 2] - z[:, 1]])
    expected = np.mean(np.sum(2.0 * (0.5 - 1.0 / (1.0 + np.exp(-rows))) ** 2, axis=0))
    assert found.test_error[0] == pytest.approx(expected, rel=5e-3)


@pytest.mark.slow
def test_bars_of_scattered_points_hold_the_end():
    found, end = ps.trajectory(THREE, steps=30), ps.solve(THREE)
    for name in ("test_error", "estimation_error"):
        bar = float(np.hypot(found.error_bars[name][-1], end.error_bars[name]))
        assert 0.0 < abs(found.values[name][-1] - getattr(end, name)) < 2.0 * bar
    other = ps.trajectory(THREE, steps=3, seed=100)
    assert not np.array_equal(other.test_error, found.test_error[:4])
    assert np.all(np.abs(other.test_error - found.test_error[:4]) < 3.0 * other.error_bars["test_error"])


@pytest.mark.parametrize("problem", [ATTENTION, QUADRATIC], ids=["attention", "quadratic"])
def test_message_passing_goes_this_way(problem):
    found = ps.trajectory(problem, steps=6)
    networks = [
        ps.simulate(problem, d=d, seeds=8, trainer=found.trainer, keep="trajectory", n_test=2000, processes=1)
        for d in (40, 80)
    ]
    compared = ps.compare(found, *networks)
    assert compared.agrees, str(compared)
    # And it is no accident: the way of another problem, a little off, is told apart.
    other = ps.trajectory(problem.replace(noise=1.0), steps=6)
    moved = ps.Trajectory(problem, found.trainer, found.observables, found.times, other.values, other.error_bars)
    assert not ps.compare(moved, *networks).agrees


def test_networks_end_where_the_last_row_says():
    networks = ps.simulate(ATTENTION, d=20, seeds=2, trainer=ps.PlainAMP(4), keep="trajectory", n_test=500, processes=1)
    assert networks.trajectory.shape == (2, 5, 4)
    assert np.array_equal(networks.trajectory[:, :, 0], [[0.0, 1.0, 2.0, 3.0, 4.0]] * 2)
    assert np.allclose(networks.trajectory[:, -1, 2], networks.estimation_error, rtol=1e-12)
    assert not networks.converged.any()
    assert networks.caveats == ()


def test_mistakes_are_told():
    with pytest.raises(ps.InputError, match=r"`steps` must be a whole number >= 1"):
        ps.trajectory(ATTENTION, steps=0)
    with pytest.raises(ps.InputError, match=r"`weight_decay` must be above 0 here"):
        ps.trajectory(ATTENTION.replace(weight_decay=0.0), steps=3)
    with pytest.raises(
        ps.InputError,
        match=r"`rate` must be left out here: trajectory of this model takes steps, trainer, d, runs, seed",
    ):
        ps.trajectory(ATTENTION, steps=3, rate=0.1)
    with pytest.raises(ps.InputError, match=r'`keep` must be "weights" or "history" or "features"'):
        ps.simulate(ATTENTION, d=20, seeds=2, keep="trajectory")
