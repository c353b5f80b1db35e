"""Fixed points by slopes: maps that creep, maps that jump, and neighbours of a map that was differentiated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from presage.solving.straightened import (
    Careful,
    directions_of,
    settled_by_newton,
    settled_with_care,
    slopes_at,
)
from presage.solving.vector_state_evolution import settled

RNG = np.random.default_rng(0)
FRAME = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
J = FRAME @ np.diag([0.9999, 0.5, -0.8]) @ FRAME.T


class Two(NamedTuple):
    one: np.ndarray
    other: np.ndarray


EVERYWHERE = directions_of([[np.array([1.0, 0.0]), np.array([0.0, 1.0])], [np.array([1.0])]])


def linear(rest, bend=0.0):
    def step(state, careful=False):
        x = np.concatenate(state) - rest
        new = rest + J @ x + bend * x**2
        return Two(new[:2], new[2:])

    return step


def start():
    return Two(np.array([3.0, 1.0]), np.array([2.0]))


def test_slopes_by_differences():
    rest = np.array([1.0, 2.0, 3.0])
    slopes = slopes_at(Careful(linear(rest), lambda state: True, EVERYWHERE), start())
    inside = EVERYWHERE.T @ np.linalg.inv(np.eye(3) - J) @ EVERYWHERE
    assert np.allclose(slopes.resolvent, inside, rtol=1e-6)


def test_a_map_that_creeps_is_solved():
    """Plain steps of a ten-thousandth of the way are small long before they are there; the distance is not."""
    rest = np.array([1.0, 2.0, 3.0])
    step = linear(rest, bend=1e-6)
    now = start()
    for _ in range(100):
        now = step(now)
    plain = np.max(np.abs(np.concatenate(step(now)) - np.concatenate(now)))
    assert plain < 1e-3
    assert np.max(np.abs(np.concatenate(now) - rest)) > 0.5
    found, _ = settled_by_newton(start(), Careful(step, lambda state: True, EVERYWHERE), tol=1e-10, most=100)
    assert found.residual < 1e-10
    assert np.allclose(np.concatenate(found.overlaps), rest, atol=1e-8)


def test_a_neighbour_takes_few_steps_by_the_slopes_of_another():
    rest, beside = np.array([1.0, 2.0, 3.0]), np.array([1.1, 1.9, 3.05])
    first = Careful(linear(rest), lambda state: True, EVERYWHERE)
    found, slopes = settled_by_newton(start(), first, tol=1e-9, most=100)
    second = Careful(linear(beside, bend=1e-5), lambda state: True, EVERYWHERE)
    by_slopes = settled_with_care(found.overlaps, second, tol=1e-6, most=100, slopes=slopes)
    assert np.allclose(np.concatenate(by_slopes.overlaps), beside, atol=1e-5)
    alone = settled(found.overlaps, linear(beside, bend=1e-5), lambda state: True, tol=1e-6, most=100)
    assert by_slopes.steps <= 6
    assert not np.allclose(np.concatenate(alone.overlaps), beside, atol=1e-5)  # it stopped where it crept


def test_care_that_finds_something_else_goes_on():
    """With care the map has another fixed point, and that one is the answer."""
    with_care, without = np.array([2.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0])

    def step(state, careful):
        rest = with_care if careful else without
        new = rest + 0.5 * (np.concatenate(state) - rest)
        return Two(new[:2], new[2:])

    found = settled_with_care(start(), Careful(step, lambda state: True, EVERYWHERE), tol=1e-8, most=100)
    assert np.concatenate(found.overlaps) == pytest.approx(with_care, abs=1e-5)


def test_directions_are_those_of_patterns():
    found = directions_of([[np.eye(2), np.ones((2, 2)), np.eye(2)], [np.array([1.0])]])
    assert found.shape == (5, 3)
    assert np.allclose(found.T @ found, np.eye(3))
    assert np.allclose(found[0], found[3])
