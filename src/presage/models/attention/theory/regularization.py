"""The best strength of a penalty: the weight decay, or the ridge, of least test error."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log
from typing import Literal, final

import scipy

from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory.ridgeless import RidgelessSolution, ridgeless
from presage.models.attention.theory.solution import Solution
from presage.models.attention.theory.solve import Solver, StateEvolution, solve
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.recorded import Recorded

WEAKEST, STRONGEST = log(1e-7), log(1e3)  # of the strength: where the search stops
STRIDE = log(4.0)
LEAN = 1e-7
NOTHING = 1e-4  # rank
SEARCHED = 1e-3  # relative accuracy of the errors that are compared on the way
Measure = Literal["test_error", "estimation_error"]


@final
@dataclass(frozen=True)
class Optimum(Recorded):
    """The strength of least error, and the prediction there."""

    name: str  # "weight_decay" or "ridge"
    value: float  # 0 where the error is least in the limit of vanishing strength
    solution: Solution | RidgelessSolution = field(repr=False)
    evaluations: int  # problems solved on the way
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def test_error(self) -> float:
        """Test error at the optimum."""
        return self.solution.test_error

    @property
    def estimation_error(self) -> float:
        """Estimation error at the optimum."""
        return self.solution.estimation_error

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where the search ended at a border, and what the prediction there says."""
        return (*self.notes, *self.solution.caveats)

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.4g}\n{self.solution}" + "".join(f"\ncaveat: {line}" for line in self.notes)


class _Curve:
    """Error as a function of the logarithm of the strength; each point starts from the nearest one solved before."""

    def __init__(self, problem: Problem, name: str, measure: Measure, solver: Solver | None) -> None:
        self.problem, self.name, self.measure, self.solver = problem, name, measure, solver
        self.solved: dict[float, Solution] = {}

    def __call__(self, x: float) -> float:
        x = float(x)
        if x not in self.solved:
            near = min(self.solved, key=lambda other: abs(other - x), default=None)
            init = None if near is None else self.solved[near]
            there = self.problem.replace(**{self.name: exp(x)})
            self.solved[x] = solve(there, solver=self.solver, init=init)
        found = self.solved[x]
        # Where nothing is learned the error is flat: lean it towards weaker penalties, where something may be.
        lean = LEAN * (x - WEAKEST) if found.rank == 0.0 else 0.0
        return float(getattr(found, self.measure)) * (1.0 + lean)

    def bracket(self, start: float) -> tuple[float, float] | None:
        """Two strengths with a better one between them; None where the error falls up to a border."""
        low, middle, high = start - STRIDE, start, start + STRIDE
        try:
            while self(low) <= self(middle):
                if low <= WEAKEST:
                    return None
                low, middle, high = max(low - STRIDE, WEAKEST), low, middle
        except SolveError:  # too weak for its equations: as far as the search can go
            return None
        while self(high) < self(middle):
            if high >= STRONGEST:
                return None
            low, middle, high = middle, high, min(high + STRIDE, STRONGEST)
        return low, high


def optimal_regularization(
    problem: Problem, *, measure: Measure = "test_error", solver: Solver | None = None, tol: float = 1e-2
) -> Optimum:
    """Find the weight decay (or the ridge, where S itself is trained) of least test error.

    The strength in `problem` is where the search starts. It is found to about `tol`, relative; the error is flat there,
    so that it is known far better. Where the error falls all the way to vanishing strength, that limit is returned.

    Equation: derived; the optimal curves of [BETKZ25] are such minima.
    Checked: tests/models/attention/theory/test_regularization.py::test_no_other_strength_does_better
    Checked: tests/models/attention/theory/test_regularization.py::test_hopeless_labels_want_all_of_it
    """
    checks.instance(
        "penalty",
        problem.penalty,
        (NuclearPSD, Frobenius),
        reason="the search is over the one strength of a penalty",
        remedy="Use NuclearPSD or Frobenius; for others minimise the test_error of <solve()> yourself.",
    )
    if measure not in ("test_error", "estimation_error"):
        remedy = 'Use measure="test_error".'
        raise checks.complaint("measure", 'be "test_error" or "estimation_error"', "one is minimised", measure, remedy)
    reason, remedy = "it is the relative accuracy of the strength", "Use for example tol=1e-2."
    tol = checks.real("tol", tol, above=0.0, at_most=1.0, reason=reason, remedy=remedy)
    name = str(problem.penalty.scaled_by)
    given = problem.penalty.scaling
    rough = None if problem.channel.linear else StateEvolution(accuracy=SEARCHED)
    curve = _Curve(problem, name, measure, solver or rough)
    found = curve.bracket(min(max(log(given), WEAKEST + STRIDE), STRONGEST - STRIDE) if given > 0 else log(0.1))
    if found is None:
        return _at_a_border(curve)
    scipy.optimize.minimize_scalar(curve, bounds=found, method="bounded", options={"xatol": tol})
    best = min(curve.solved, key=curve)
    solution = solve(curve.solved[best].problem, solver=solver, init=curve.solved[best])
    notes = ("no strength does better than learning nothing.",) if solution.rank < NOTHING else ()
    return Optimum(name, exp(best), solution, len(curve.solved) + 1, notes)


def _at_a_border(curve: _Curve) -> Optimum:
    best = min(curve.solved, key=curve)
    if best > 0.5 * (WEAKEST + STRONGEST):
        note = f"the error falls up to the strongest penalty that was tried, {exp(best):.3g}: nothing is learned here."
        return Optimum(curve.name, exp(best), curve.solved[best], len(curve.solved), (note,))
    note = f"the error is least as the {curve.name} vanishes."
    try:
        return Optimum(curve.name, 0.0, ridgeless(curve.problem), len(curve.solved), (note,))
    except SolveError:
        return Optimum(curve.name, exp(best), curve.solved[best], len(curve.solved), (note,))
