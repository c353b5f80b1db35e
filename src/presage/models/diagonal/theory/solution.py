"""What the theory says about the minimum of a diagonal network with weight decay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, sqrt
from typing import Any, final

import numpy as np

from presage.laws.empirical import Empirical
from presage.laws.power_law import PowerLaw
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.diagonal.declaration import MEASURED
from presage.models.diagonal.problem import DiagonalProblem
from presage.models.diagonal.theory.coordinates import Coordinates, coordinates
from presage.models.diagonal.theory.explicit_map import PANELS, averages, equations_of, solve_diagonal_point
from presage.models.diagonal.theory.learned_entries import LearnedEntries
from presage.models.diagonal.theory.nodes import is_continuous, nodes
from presage.models.diagonal.theory.soft_threshold import SoftThreshold, fixed_entries, gaussian_entries
from presage.models.diagonal.thresholds import minimal_l1_norm
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.prediction import Prediction
from presage.solving.penalized_equations import PenalizedEquations
from presage.solving.two_equations import Point

SOLVED = 1e-6  # residual of an answer
ROUNDING = 1e-14  # relative, of an average over the entries
RESOLVED = 1e-10  # relative change of an average, when the nodes of a continuous law are doubled
FINEST = 512  # panels of a continuous law at the most
STEP = 1e-5  # in the logarithms, for the sensitivities behind the error bars
ALONE = 0.1  # part of the test error that one entry may make before that is said


@final
@dataclass(frozen=True)
class DiagonalSolution(Prediction):
    """Prediction for the minimum of the loss in the limit of many entries."""

    problem: DiagonalProblem
    delta: float  # standard deviation of the effective noise on an entry
    cutoff: float  # entries of theta_0 + delta z below it become zero
    estimation_error: float  # |theta_fit - theta_0|^2/d
    test_error: float  # expected squared error on a fresh, noisy sample
    train_error: float  # squared error a sample at the minimum
    train_loss: float  # the whole minimum, penalty included, over d
    nonzero: float  # fraction of entries that are not zero
    residual: float  # what is left of the equations, relative
    evaluations: int
    bars: dict[str, float] = field(repr=False, hash=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    observables = MEASURED
    compared = tuple(observable.name for observable in MEASURED)
    spectrum_of = "entries"
    convention = "theta = u v of scores x'theta/sqrt(d), the loss summed over the samples"

    @property
    def target_law(self) -> SpectralLaw | None:
        """Law of the entries of the target, where `draw` says that `problem.target` is that."""
        return self.problem.target if self.problem.draw == "fixed" else None

    @property
    def learned_law(self) -> LearnedEntries:
        """Law of the entries."""
        return self.entries

    @cached_property
    def entries(self) -> LearnedEntries:
        """Law of the entries of the fit."""
        if self.delta == 0.0:
            raise AttributeError("the fit is the target itself: its entries are those of `problem.target`.")
        target = nodes(self.problem.target, PANELS, (self.delta, self.cutoff))
        return LearnedEntries(target, self.problem.draw, self.delta, self.cutoff, self.nonzero)

    @cached_property
    def coordinates(self) -> Coordinates:
        """What is learned of each entry, where the target has some: one row an entry, the largest first."""
        return coordinates(self)

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off, from rounding, quadrature and the residual of the equations."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where the limit is not yet there, and what went wrong."""
        return (*self.problem.notes, *self.notes)


def solve(
    problem: DiagonalProblem, *, init: DiagonalSolution | None = None, tol: float = SOLVED, throw: bool = True
) -> DiagonalSolution:
    """Predict the minimum of the loss with weight decay on both factors.

    `init` is the solution of a neighbour to start from. `tol` is the residual of the two equations that is still an
    answer; with ``throw=False`` a failed solve returns its partial solution, with a caveat, instead of raising.
    """
    tol = checks.real(
        "tol", tol, above=0.0, at_most=1e-2, reason="it is the residual of the equations", remedy="Use <tol=1e-6>."
    )
    if init is not None:
        remedy = "Pass what <solve()> gave for a neighbouring problem, or leave it out."
        checks.instance("init", init, DiagonalSolution, reason="the search starts from a solution", remedy=remedy)
    target, alpha, decay = problem.target, problem.alpha, problem.weight_decay
    if decay == 0.0 and alpha >= 1.0:
        return _least_squares(problem)
    if decay == 0.0 and problem.noise == 0.0 and alpha >= minimal_l1_norm(target.nonzero):
        found = dict.fromkeys(("delta", "cutoff", *DiagonalSolution.compared), 0.0) | {"nonzero": target.nonzero}
        return _exact(problem, found)
    point, equations, relative_error = _resolved(problem, init)
    solution = DiagonalSolution(
        problem,
        residual=point.residual,
        evaluations=point.evaluations,
        bars=_bars(problem, equations, point, relative_error),
        notes=_notes(problem, point.functionals),
        **_observed(problem, point.functionals),
    )
    if not point.residual + relative_error <= tol:
        what = f"The two equations are left with a residual of {point.residual:.1e}."
        if relative_error > point.residual:
            what = (
                f"The law of the target is resolved to {relative_error:.1e} only, beside a noise of {point.delta:.1e}."
            )
        remedy = "Use a larger <weight_decay>, <weight_decay=0.0> for its limit, or a larger <tol>."
        failure = SolveError(what, remedy, solution)
        if throw:
            raise failure
        return replace(solution, notes=(*solution.notes, str(failure)))
    return solution


def train_error(problem: DiagonalProblem, f: SoftThreshold) -> float:
    """Squared error a sample at the minimum: that of a fresh sample, times ``(1 - I/alpha)^2``.

    ``(delta lambda/c)^2/alpha``, by the two equations.

    Equation: derived: a training sample is fitted by the part I/alpha of what would be its own residual.
    Checked: tests/models/diagonal/test_simulate.py::test_trained_vectors_are_on_the_curve
    """
    return (f.delta * problem.weight_decay / f.c) ** 2 / problem.alpha


def train_loss(problem: DiagonalProblem, f: SoftThreshold) -> float:
    """The whole minimum over d: ``alpha train_error + 2 lambda E|theta_fit|``, the penalty at ``|u_i| = |v_i|``.

    Equation: derived from the loss of `DiagonalProblem`.
    Checked: tests/models/diagonal/test_theory.py::test_loss_grows_with_weight_decay_by_the_l1_norm
    """
    return problem.alpha * train_error(problem, f) + 2.0 * problem.weight_decay * f.first


def _observed(problem: DiagonalProblem, f: SoftThreshold) -> dict[str, float]:
    return {
        "delta": f.delta,
        "cutoff": f.c,
        "estimation_error": f.risk,
        "test_error": f.risk + problem.noise,
        "train_error": train_error(problem, f),
        "train_loss": train_loss(problem, f),
        "nonzero": f.I,
    }


def _resolved(
    problem: DiagonalProblem, init: DiagonalSolution | None
) -> tuple[Point[SoftThreshold], PenalizedEquations[SoftThreshold], float]:
    """The point, its equations, and how well the nodes of a continuous law resolve it: more of them until they do."""
    start = (init.delta, init.cutoff) if init is not None and init.delta > 0.0 < init.cutoff else None
    panels, evaluations, near = PANELS, 0, start
    while True:
        equations = equations_of(problem, panels, near)
        point = solve_diagonal_point(equations, problem.Q_0, start)
        evaluations += equations.evaluations
        point = point._replace(evaluations=evaluations)
        if not is_continuous(problem.target):
            return point, equations, 0.0
        start = near = point.delta, point.c
        f, finer = point.functionals, averages(problem.target, problem.draw, 2 * panels, near)(*near)
        error = max(abs(finer.risk - f.risk) / (finer.risk + problem.noise), abs(finer.I - f.I) / problem.alpha)
        if error < RESOLVED or panels >= FINEST:
            return point, equations, error
        panels = 2 * panels


def _bars(
    problem: DiagonalProblem,
    equations: PenalizedEquations[SoftThreshold],
    point: Point[SoftThreshold],
    quadrature: float,
) -> dict[str, float]:
    """Error bars: what the residual, rounding and quadrature move ``(log delta, log c)`` by, and that the numbers by.

    Both by differences: near the peak at ``alpha = 1`` and near recovery the equations amplify what is left of them.
    """
    f = point.functionals
    here, values = np.array(equations.residuals(f)), _observed(problem, f)
    moved = [equations.integrals(f.delta * exp(STEP), f.c), equations.integrals(f.delta, f.c * exp(STEP))]
    jacobian = np.column_stack([(np.array(equations.residuals(g)) - here) / STEP for g in moved])
    left = np.abs(here) + ROUNDING + quadrature
    try:
        off: Floats = np.abs(np.linalg.inv(jacobian)) @ left
    except np.linalg.LinAlgError:
        off = np.full(2, np.inf)
    slopes = [_observed(problem, g) for g in moved]
    return {
        name: float(
            sum(abs(slope[name] - value) / STEP * o for slope, o in zip(slopes, off, strict=True))
            + (ROUNDING + quadrature) * abs(value)
        )
        for name, value in values.items()
    }


def _notes(problem: DiagonalProblem, f: SoftThreshold) -> tuple[str, ...]:
    """Say where a single entry makes much of the error: what it adds differs from vector to vector at any d."""
    target = problem.target
    if not isinstance(target, PowerLaw | Empirical):
        return ()
    largest = np.array([np.abs(target.atoms.positions).max()])
    average = fixed_entries if problem.draw == "fixed" else gaussian_entries
    share = average(largest, np.ones(1), f.delta, f.c).risk / len(target.atoms.positions) / (f.risk + problem.noise)
    if share < ALONE:
        return ()
    return (
        f"the largest entry alone makes {share:.0%} of the test error: vectors scatter about the prediction at any d, "
        "and their mean may differ from it.",
    )


def _least_squares(problem: DiagonalProblem) -> DiagonalSolution:
    """Without weight decay and with more samples than entries the fit is least squares: nothing is cut.

    ``R = delta^2 = Delta/(alpha - 1)``, and the training loss is ``Delta (alpha - 1)`` over d.

    Equation: derived: the two equations at ``c = 0``, where ``R = delta^2``.
    Checked: tests/models/diagonal/test_theory.py::test_limits_of_the_weight_decay
    """
    alpha, noise = problem.alpha, problem.noise
    if noise > 0.0 and alpha == 1.0:
        raise SolveError("At alpha = 1 the error of least squares is infinite.", "Use a positive <weight_decay>.")
    variance = noise / (alpha - 1.0) if noise > 0.0 else 0.0
    loss = noise * (alpha - 1.0)
    found = {
        "delta": sqrt(variance),
        "cutoff": 0.0,
        "estimation_error": variance,
        "test_error": variance + noise,
        "train_error": loss / alpha,
        "train_loss": loss,
        "nonzero": 1.0 if noise > 0.0 else problem.target.nonzero,
    }
    return _exact(problem, found)


def _exact(problem: DiagonalProblem, found: dict[str, Any]) -> DiagonalSolution:
    bars = {name: ROUNDING * abs(value) for name, value in found.items()}
    return DiagonalSolution(problem, residual=0.0, evaluations=0, bars=bars, **found)
