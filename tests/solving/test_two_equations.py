"""The two equations with integrals that can be written down: both parametrisations end at the root that is known."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np
import pytest

from presage.protocol.errors import SolveError
from presage.solving.falling_root import falling_root
from presage.solving.interpolating_equations import InterpolatingEquations
from presage.solving.penalized_equations import PenalizedEquations


@dataclass(frozen=True)
class Smooth:
    """``I = 1/(2 (1 + exp(c/delta)))``, which falls from 1/2 to 0 in c, and ``risk = 1 + c^2/4 + delta^2/10``."""

    delta: float
    c: float

    @property
    def I(self):
        return 0.5 / (1.0 + exp(self.c / self.delta))

    @property
    def slope(self):
        return -2.0 * self.I * (0.5 - self.I)

    @property
    def dI_dc(self):
        return self.slope / self.delta

    @property
    def dI_ddelta(self):
        return -self.slope * self.c / self.delta**2

    @property
    def risk(self):
        return 1.0 + 0.25 * self.c**2 + 0.1 * self.delta**2

    @property
    def drisk_ddelta(self):
        return 0.2 * self.delta

    @property
    def drisk_dc(self):
        return 0.5 * self.c


def exact(noise, alpha):
    """Root without a penalty: ``c = r delta`` from the second equation, then delta from the first."""
    ratio = log(0.5 / alpha - 1.0)
    delta = np.sqrt((1.0 + noise) / (2.0 * alpha - 0.25 * ratio**2 - 0.1))
    return delta, ratio * delta


@pytest.mark.parametrize("alpha", [0.21, 0.24, 0.25, 0.3])
def test_without_a_penalty_the_cutoff_passes_through_zero(alpha):
    delta, c = exact(0.2, alpha)
    point = InterpolatingEquations(Smooth, 0.2, alpha, unit=2.0).polish(1.0, 1.0, 1e-12)
    assert point.residual < 1e-12
    np.testing.assert_allclose([point.delta, point.c], [delta, c], rtol=1e-10, atol=1e-10)


def test_both_parametrisations_end_at_one_root():
    delta, c = exact(0.2, 0.21)
    interpolating = InterpolatingEquations(Smooth, 0.2, 0.21, unit=2.0).solve(1.0)
    penalized = PenalizedEquations(Smooth, 0.2, 0.21, 0.0, unit=2.0).solve(1.0, 1.0, 1e-12)
    for point in (interpolating, penalized):
        assert point.residual < 1e-12
        np.testing.assert_allclose([point.delta, point.c], [delta, c], rtol=1e-10)


@pytest.mark.parametrize("strength", [1e-3, 0.1, 3.0])
def test_a_penalty_is_in_the_second_equation(strength):
    equations = PenalizedEquations(Smooth, 0.2, 0.5, strength, unit=2.0)
    point = equations.solve(1.0, 1.0, 1e-12)
    assert point.residual < 1e-12
    assert Smooth(point.delta, point.c).I + strength / point.c == pytest.approx(0.5)
    assert point.evaluations == equations.evaluations


def test_steps_are_those_of_differences():
    """The step solves the linear equations whose slopes are differences of the residuals along the unknowns."""
    for equations in (
        PenalizedEquations(Smooth, 0.2, 0.3, 0.05, unit=2.0),
        InterpolatingEquations(Smooth, 0.2, 0.3, unit=2.0),
    ):
        delta, c = (point := equations.polish(2.0, 0.3, 1e-12)).delta, point.c
        f, h = Smooth(1.05 * delta, 1.05 * c + 0.01), 1e-6
        step = equations.newton_step(f)
        columns = []
        for unit in np.eye(2):
            ahead, back = (Smooth(*equations.moved(f, sign * h * unit)) for sign in (1.0, -1.0))
            columns.append((np.array(equations.residuals(ahead)) - np.array(equations.residuals(back))) / (2.0 * h))
        np.testing.assert_allclose(np.column_stack(columns) @ step, -np.array(equations.residuals(f)), rtol=1e-6)


def test_a_falling_root_is_found_from_either_side():
    for start in (-5.0, 0.3, 9.0):
        assert falling_root(lambda x: 0.3 - x, start, "none") == pytest.approx(0.3)
    with pytest.raises(SolveError, match="nothing there"):
        falling_root(lambda x: 1.0, 0.0, "nothing there")
