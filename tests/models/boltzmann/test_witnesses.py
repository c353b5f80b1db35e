"""Theory and real machines side by side, below and above every threshold, with controls that must fail."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import presage as ps
from presage.models.boltzmann.experiment.amp import message_passing
from presage.models.boltzmann.experiment.samples import draw_directions, draw_samples, weights_with_overlaps
from presage.models.boltzmann.theory.state_evolution import iterates, usual_mixing
from presage.solving.vector_state_evolution import Overlaps

POINTS = {
    "one unit": ps.boltzmann(alpha=6.0, signal=1.2),
    "signs": ps.boltzmann(alpha=3.0, signal=1.5, latents="signs"),
    "few samples": ps.boltzmann(alpha=2.0, signal=3.0),
    "ternary": ps.boltzmann(ps.FiniteUnits([-1, 0, 1]), alpha=5.0, signal=1.5),
    "gaussian": ps.boltzmann(ps.GaussianUnits(), alpha=3.0, signal=1.0),
}


@pytest.mark.parametrize("name", POINTS)
def test_machines_agree_with_the_theory(name):
    problem = POINTS[name]
    assert ps.solve(problem).is_stable
    machines = [ps.simulate(problem, d=d, seeds=24, processes=1) for d in (150, 300)]
    found = ps.compare(ps.solve(problem), *machines)
    assert found.agrees, str(found)
    # A signal that is wrong by a factor of sqrt(2) is seen.
    wrong = ps.solve(problem.replace(signal=problem.signal / np.sqrt(2)))
    row = found["train_likelihood"]
    assert abs(row.a - wrong.train_likelihood) > 4 * row.a_error


def test_the_model_is_checked():
    assert "nothing found" in str(ps.check_model(POINTS["one unit"], d=(60, 120)))


def test_below_weak_recovery_nothing_is_seen():
    """Machines and principal components alike, far below; fresh samples are less likely than as noise."""
    problem = ps.boltzmann(alpha=4.0, signal=0.2)
    e = ps.simulate(problem, d=300, seeds=6, processes=1)
    assert e.mean("alignment") < 0.02
    assert e.mean("pca_alignment") < 0.02
    assert e.mean("test_likelihood") < -0.1
    assert e.mean("train_likelihood") > 0.2


def test_different_minima_below_the_stability_line_and_one_above():
    """alpha = 2, from random weights and from the directions: other minima at signal 1, the same at 3."""
    gaps = {}
    for signal in (1.0, 3.0):
        problem = ps.boltzmann(alpha=2.0, signal=signal)
        random, told = (ps.simulate(problem, d=200, seeds=4, processes=1, start=at) for at in ("random", "target"))
        gaps[signal] = np.abs(random.train_loss - told.train_loss).max()
    assert gaps[1.0] > 2e-3
    assert gaps[3.0] < 1e-6
    other = ps.simulate(problem, d=100, seeds=4, processes=1)
    with pytest.raises(ps.InputError, match="be of one kind"):
        ps.compare(ps.solve(problem), told, other)


def overlaps_in_time(problem, start, d, seeds, steps, **options):
    """M_11 and Q_11 of message passing, one row a seed."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        data = draw_samples(problem, draw_directions(d, len(problem.signals), rng), problem.samples(d), rng)
        W = weights_with_overlaps(data.directions, start.m.T, start.q, rng)
        way = message_passing(data.A, W, start.v, problem.hidden, usual_mixing(problem), **options)
        found.append(
            [(data.directions[:, 0] @ s.W[:, 0] / d, s.W[:, 0] @ s.W[:, 0] / d) for s in islice(way, steps + 1)]
        )
    return np.array(found)


STARTS = {
    "one": (ps.boltzmann(alpha=8.0, signal=1.0), Overlaps(np.array([[0.3]]), np.array([[0.5]]), np.array([[0.1]]))),
    "two": (
        ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2, latents="signs"),
        Overlaps(np.array([[0.5, -0.1], [0.2, 0.4]]), np.array([[0.8, 0.1], [0.1, 0.8]]), 0.1 * np.eye(2)),
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_message_passing_follows_state_evolution(name):
    """At every iteration; without the term of Onsager it does not from the second on."""
    problem, start = STARTS[name]
    steps, seeds, d = 6, 8, 300
    theory = [one.overlaps for one in islice(iterates(problem, start, usual_mixing(problem)), steps + 1)]
    wanted = np.array([(one.m[0, 0], one.q[0, 0]) for one in theory])
    right = overlaps_in_time(problem, start, d, seeds, steps)
    spread = right.std(axis=0, ddof=1) / np.sqrt(seeds)
    np.testing.assert_array_less(np.abs(right.mean(axis=0) - wanted), 4.0 * spread + 0.012)
    wrong = overlaps_in_time(problem, start, d, seeds, steps, onsager=0.0)
    spread = wrong.std(axis=0, ddof=1) / np.sqrt(seeds)
    assert np.all(np.abs(wrong.mean(axis=0) - wanted)[2:] > 4.0 * spread[2:] + 0.012)


@pytest.mark.slow
@pytest.mark.parametrize("latents", ["gaussian", "signs"])
def test_two_units_agree_with_the_theory(latents):
    problem = ps.boltzmann(alpha=7.0, signal=[2.5, 1.2], units=2, latents=latents)
    machines = [ps.simulate(problem, d=d, seeds=16) for d in (200, 400)]
    found = ps.compare(ps.solve(problem), *machines)
    assert found.agrees, str(found)


@pytest.mark.slow
def test_seen_minima_of_the_loss():
    """Losses that are known, by L-BFGS at d = 1000."""
    for alpha, signal, f in ((4.0, 1.0, -1.163), (2.0, 2.0, -1.361), (2.0, 4.0, -2.492)):
        e = ps.simulate(ps.boltzmann(alpha=alpha, signal=signal), d=1000, seeds=4)
        assert e.train_loss.mean() == pytest.approx(f, abs=4 * e.train_loss.std(ddof=1) / 2 + 0.004)
