"""From a coarse rule to a fine one: what counts as a root, and what as the ghost of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from presage.laws.spectral_law import Floats
from presage.solving.newton import Linearization, NoConvergenceError
from presage.solving.refinement import FixedPoint, refine, refine_until


@dataclass(frozen=True)
class Scattered:
    """A rule whose estimates are spread by `spread` around what it maps to."""

    spread: float
    regular = False
    rounding = 0.0

    def companions(self) -> list[Any]:
        return []

    def coarser(self) -> list[Any]:
        return []


@dataclass(frozen=True)
class State:
    """Four estimates around a value, of one number that is also the observable."""

    y: Floats
    target: Floats
    spread: float

    @property
    def mapped(self) -> Floats:
        return self.target + self.spread * np.sqrt(3.0) * np.array([[-1.0], [-1.0], [1.0], [1.0]])

    @property
    def observables(self) -> Floats:
        return np.broadcast_to(self.y, (4, 1))

    @property
    def residual(self) -> Floats:
        return self.target - self.y

    @property
    def size(self) -> float:
        return float(np.abs(self.residual).max())


class Map:
    """``y -> target(y)``, the same for every rule; it counts how often it is asked."""

    def __init__(self, target: Any) -> None:
        self.target, self.evaluations = target, 0

    def __call__(self, y: Floats, rule: Scattered) -> State:
        self.evaluations += 1
        return State(y, self.target(y), rule.spread)

    def differentiable(self, state: State) -> bool:
        return False

    def carried(self, state: State, y: Floats, linear: Linearization) -> State:
        return State(y, state.target + linear.jacobian @ (y - state.y), state.spread)


def linear_of(slope: float) -> Linearization:
    return Linearization(np.array([[slope]]), np.array([[1.0 / (1.0 - slope)]]), np.array([[1.0]]))


def refined(evaluator: Any, rules: list[Scattered], slope: float, start: float) -> FixedPoint:
    coarse = evaluator(np.array([start]), rules[0])
    answer = partial(refine_until, accuracy=1e-6, tol=1e-9, route="")
    return answer(evaluator, coarse, linear_of(slope), iter(rules), ("y",), ("y",))


def test_a_doubtful_root_that_a_finer_rule_does_not_find_was_none() -> None:
    """The map comes no nearer to y than 0.01: within two spreads of a coarse rule, and far outside those of a fine."""

    def passes_by(y: Floats) -> Floats:
        return np.asarray(y + 0.01 + (y - 1.0) ** 2)

    assert refined(Map(passes_by), [Scattered(6e-3)], 0.0, 1.0).residual == pytest.approx(0.01, rel=0.1)
    with pytest.raises(NoConvergenceError):
        refined(Map(passes_by), [Scattered(6e-3), Scattered(1e-4)], 0.0, 1.0)


def test_a_last_step_is_taken_without_another_average_where_steps_are_known_to_be_good() -> None:
    """What a step left on one rule it leaves on the next: there one average is enough, and what is left is counted."""
    evaluator: Any = Map(lambda y: np.asarray(0.5 * y + 0.01 * y**2 + 0.1))
    root = 25.0 - np.sqrt(25.0**2 - 10.0)
    rule = Scattered(2e-3)
    first = refine(evaluator, np.array([0.19]), rule, linear_of(0.5), tol=1e-9)
    asked = evaluator.evaluations
    assert asked == 2
    assert first.leaves < 0.05
    second = refine(evaluator, np.array([0.197]), rule, linear_of(0.5), tol=1e-9, leaves=first.leaves)
    assert evaluator.evaluations == asked + 1
    assert second.state.y == pytest.approx(root, abs=1e-4)
    left = abs(float(evaluator.target(second.state.y)[0] - second.state.y[0]))
    assert left <= abs(float(second.residual[0])) < 1e-3


def test_what_a_step_leaves_is_that_of_the_coarse_jacobian() -> None:
    """Broyden's update makes the second step of a linear map exact; the next rule begins with the coarse one again."""
    evaluator: Any = Map(lambda y: np.asarray(0.5 * y + 0.1))
    first = refine(evaluator, np.array([0.15]), Scattered(1e-5), linear_of(0.0), tol=1e-9)
    assert first.leaves == pytest.approx(0.5)
    second = refine(evaluator, np.array([0.1985]), Scattered(1e-5), linear_of(0.0), tol=1e-9, leaves=first.leaves)
    assert second.state.y == pytest.approx(0.2, abs=1e-6)
