"""The LASSO: an explicit map ``(delta, c) -> (alpha, lambda)``, nothing to iterate, and its inverse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt

from presage.laws.spectral_law import SpectralLaw
from presage.models.diagonal.problem import DiagonalProblem, Draw
from presage.models.diagonal.theory.nodes import nodes
from presage.models.diagonal.theory.soft_threshold import SoftThreshold, fixed_entries, gaussian_entries
from presage.solving.penalized_equations import PenalizedEquations
from presage.solving.two_equations import Point

PANELS = 16  # of a continuous law, to begin with
GOAL = 1e-13  # residual that Newton's method aims at

Averages = Callable[[float, float], SoftThreshold]


def averages(
    target: SpectralLaw, draw: Draw, panels: int = PANELS, near: tuple[float, float] | None = None
) -> Averages:
    """The averages over the entries of a target as a function of ``(delta, c)``; near some point if that is given."""
    return partial(fixed_entries if draw == "fixed" else gaussian_entries, *nodes(target, panels, near))


def diagonal_map(
    target: SpectralLaw, noise: float, delta: float, c: float, *, draw: Draw = "fixed"
) -> tuple[float, float]:
    """Return ``(alpha, lambda)`` of the point ``(delta, c)``.

    ``alpha delta^2 = Delta + R(delta, c)``, ``lambda = c (alpha - P(|theta + delta z| > c))``.

    Equation: [DXGTEZLK25], its equations of the diagonal network.
    Checked: tests/models/diagonal/test_theory.py::test_map_has_the_check_values
    """
    f = averages(target, draw, near=(delta, c))(delta, c)
    alpha = (noise + f.risk) / delta**2
    return alpha, c * (alpha - f.I)


def equations_of(
    problem: DiagonalProblem, panels: int = PANELS, near: tuple[float, float] | None = None
) -> PenalizedEquations[SoftThreshold]:
    """The two equations of a problem."""
    integrals = averages(problem.target, problem.draw, panels, near)
    return PenalizedEquations(integrals, problem.noise, problem.alpha, problem.weight_decay, unit=1.0)


def solve_diagonal_point(
    equations: PenalizedEquations[SoftThreshold], Q_0: float, start: tuple[float, float] | None = None
) -> Point[SoftThreshold]:
    """Find ``(delta, c)`` for a given ``(alpha, lambda)``: Newton on the logarithms, from a bracket if need be.

    ``lambda = 0`` is the limit 0+ and needs ``alpha < 1``: there c > 0 and the fit interpolates.

    Equation: [DXGTEZLK25], the two equations of `diagonal_map`.
    Checked: tests/models/diagonal/test_theory.py::test_map_inverts_solve
    """
    if start is None:
        delta = sqrt((Q_0 + equations.noise) / equations.alpha)
        start = delta, equations.cutoff(delta, max(equations.strength / equations.alpha, 0.1 * delta)).c
    return equations.solve(*start, GOAL)
