"""What the theory says about a trained head, and who answers: integrals of laws, or matrices that are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, final

import numpy as np

from presage.laws.root_law import RootLaw
from presage.laws.spectral_law import Floats
from presage.models.untied.declaration import MEASURED
from presage.models.untied.problem import UntiedProblem
from presage.models.untied.theory.channel import Overlaps, Rule, row_averages
from presage.models.untied.theory.own_scores import ACCURATE as OF_PARTS_ACCURATE
from presage.models.untied.theory.own_scores import solve_own_scores
from presage.models.untied.theory.ridgeless import Interpolator, interpolator
from presage.models.untied.theory.singular_values import ShrunkSingularValues
from presage.models.untied.theory.state_evolution import HOPELESS, FixedPoint, fixed_point, moves, observables
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.observables import Observable
from presage.protocol.prediction import Prediction
from presage.solving.jumps import DOUBTFUL, notes_of
from presage.spectra.rectangular.convolution import RectangularConvolution
from presage.spectra.rectangular.drawn import DrawnSingularValues

SOLVED = 1e-6
ACCURATE = 1e-3
RULE = Rule(192, 24, 32768, 1)  # for the errors of a fit that is known without an iteration
UNIVERSAL = (
    "scores are taken as Gaussian given their overlaps, those of one row independent of each other (exact state "
    "evolution of the kind that holds for one tied head; replica symmetry and the Gaussian equivalents are assumed)."
)


@final
@dataclass(frozen=True)
class UntiedSolution(Prediction):
    """Prediction for the minimum of the loss in the limit of large matrices."""

    problem: UntiedProblem
    test_error: float  # expected loss on a fresh, noisy sample
    train_loss: float  # the whole minimum, penalty included, over d^2
    train_error: float  # loss a sample at the minimum
    estimation_error: float  # |S_fit - S_0|_F^2/d
    rank: float  # fraction of singular values that are not zero
    m: float  # Tr(S_fit' S_0)/d
    q: float  # |S_fit|_F^2/d
    residual: float  # what is left of the equations, relative
    evaluations: int
    bars: dict[str, float] = field(repr=False, hash=False)
    symmetric_error: float | None = None  # those of (S + S')/2 and (S - S')/2, where a token looks at itself too
    antisymmetric_error: float | None = None
    delta: float | None = None  # standard deviation of the effective noise, where it is one
    cutoff: float | None = None  # singular values of S_0 + delta Z below it become zero
    scale: float | None = None  # and the others are scaled
    gain: float | None = None  # learned factor on the output, where there is one
    Sigma: float | None = None  # response of the matrix; infinite where every label is fitted
    drawn: Floats | None = field(default=None, repr=False, compare=False)  # singular values of matrices of a size
    notes: tuple[str, ...] = field(default=(), repr=False)

    observables = MEASURED
    spectrum_of = "singular values"
    convention = "S = W_Q W_K'/d of scores x_a' S x_b/sqrt(d), the loss summed over the samples"

    @property
    def known_observables(self) -> tuple[Observable, ...]:
        """Parts of the error are told where a token looks at itself too, and a gain where one is learned."""
        return tuple(observable for observable in MEASURED if self.problem.has(observable))

    @property
    def compared(self) -> tuple[str, ...]:  # type: ignore[override]
        """Everything that networks show."""
        return tuple(observable.name for observable in self.known_observables)

    @cached_property
    def spectrum(self) -> ShrunkSingularValues | DrawnSingularValues:
        """Law of the singular values of the fit."""
        if self.drawn is not None:
            return DrawnSingularValues(self.drawn)
        target, delta = self.problem.singular_values, self.delta
        if delta is None or self.cutoff is None or self.scale is None:
            raise AttributeError(
                "the singular values of this fit are not known: its two parts are noisy by themselves."
            )
        if delta == 0.0:
            raise AttributeError(
                f"the fit is {self.scale:.6g} times the target: its singular values are so many times those of "
                "`problem.target`."
            )
        return ShrunkSingularValues(RectangularConvolution(target, delta), self.cutoff, self.scale, self.rank)

    @property
    def target_law(self) -> RootLaw:
        """Law of the singular values of the target."""
        return self.problem.singular_values.singular_values

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: what is assumed or sampled, and what went wrong."""
        return (*self.problem.notes, UNIVERSAL, *self.notes)


def solve(
    problem: UntiedProblem, *, accuracy: float | None = None, tol: float = SOLVED, throw: bool = True
) -> UntiedSolution:
    """Predict the minimum of the loss.

    Args:
        problem: what is learned; it must have a weight decay, and 0 is its limit.
        accuracy: relative error that is good enough. Of distinct tokens it is that of the average over scores, 1e-3
            unless it is given; of a token that looks at itself it is the largest of all error bars, 1e-2 unless it is
            given. Finer averages, larger matrices and more copies are taken if need be.
        tol: residual of the equations that is still an answer; a token that looks at itself has one for a ridge only,
            since what is drawn is settled to a hundredth of the accuracy.
        throw: whether a failed solve raises; otherwise it returns its partial solution, with a caveat.

    Scores of distinct tokens have a closed weight side. A token that looks at itself too (``mask="self"``) sees
    symmetric and antisymmetric parts apart: for a ridge that is closed as well, for weight decay the weight side is
    solved at a finite size, and the spread of several drawings is the error bar.

    Equation: derived, ``loss/d^2 = alpha train + 2 lambda scale int_c (x-c) nu``.
    Checked: tests/models/untied/theory/test_check_values.py::test_two_keys_of_half_rank
    Checked: tests/models/untied/theory/test_check_values.py::test_a_token_that_looks_at_itself
    Checked: tests/models/untied/test_witnesses.py::test_theory_agrees_with_trained_heads
    """
    tol = checks.real(
        "tol", tol, above=0.0, at_most=1e-2, reason="it is the residual of the equations", remedy="Use <tol=1e-6>."
    )
    if accuracy is None:
        accuracy = ACCURATE if problem.mask != "self" else OF_PARTS_ACCURATE
    accuracy = checks.real(
        "accuracy", accuracy, above=0.0, at_most=0.1, reason="it is a relative error", remedy="Use <accuracy=1e-3>."
    )
    if problem.weight_decay is None:
        raise checks.complaint(
            "weight_decay",
            "be a number",
            "the fit is a minimum of the loss with weight decay",
            None,
            "Use <weight_decay=0.02>, or <bayes_optimal()>, which needs none.",
        )
    solution, doubt = (
        _of_parts(problem, accuracy, tol) if problem.mask == "self" else _of_distinct(problem, accuracy, tol)
    )
    if solution.residual > doubt:
        failure = SolveError(
            f"The equations are left with a residual of {solution.residual:.1e}.",
            "Use a larger <weight_decay>."
            if problem.mask == "self"
            else "Use a larger <weight_decay>, or <weight_decay=0.0> for its limit.",
            solution,
        )
        if throw:
            raise failure
        return replace(solution, notes=(*solution.notes, str(failure)))
    return solution


def _of_parts(problem: UntiedProblem, accuracy: float, tol: float) -> tuple[UntiedSolution, float]:
    """Symmetric and antisymmetric parts by themselves; what residual is an answer depends on what is sampled."""
    drawn = problem.penalty != "frobenius"
    if drawn and tol != SOLVED:
        raise checks.complaint(
            "tol",
            "be left out where weights are drawn",
            "they are settled to a hundredth of the accuracy",
            tol,
            "Use <accuracy> instead.",
        )
    answer = solve_own_scores(problem, accuracy=accuracy, tol=tol)
    names = [one.name for one in MEASURED if problem.has(one)] + ["m", "q"]
    values = {name: answer.values[name] for name in names}
    bars = {name: answer.bars[name] for name in names}
    solution = UntiedSolution(
        problem,
        residual=answer.residual,
        evaluations=answer.steps,
        bars=bars,
        drawn=answer.singular_values,
        notes=(*answer.notes, *notes_of(answer.jumps)),
        **values,
    )
    if answer.jumps > DOUBTFUL:  # finitely many points settle no closer, and the bars say how close
        return solution, HOPELESS
    return solution, accuracy if drawn else max(tol, 0.1 * accuracy * (answer.jumps > 0.0))


def _of_distinct(problem: UntiedProblem, accuracy: float, tol: float) -> tuple[UntiedSolution, float]:
    if problem.weight_decay == 0.0:
        if problem.alpha_eff == 1.0 and problem.noise > 0.0:
            raise SolveError(
                "With as many measurements as entries the error of the limit is infinite.",
                "Use a positive <weight_decay>.",
            )
        limit = interpolator(problem)
        if limit is not None:
            return _fitted(problem, limit), tol
    found = fixed_point(problem, accuracy=accuracy, tol=0.1 * tol)
    solution = _settled(problem, found)
    return solution, max(tol, accuracy) if solution.notes else tol


def _settled(problem: UntiedProblem, found: FixedPoint) -> UntiedSolution:
    values, bars = observables(found.state), moves(found)
    overlaps, jumps = found.state.shrunk.overlaps, found.state.conjugates.jumps
    # What is left of the equations moves the root by as much, relative to its logarithms; integrals have digits too.
    rest = 10.0 * (found.residual + found.state.shrunk.relative_error) + 1e-14
    bars = {name: bars[name] + rest * abs(value) for name, value in values.items()}
    alpha, cost = problem.alpha, values.pop("cost")
    values["train_loss"] = alpha * values["train_error"] + cost
    bars["train_loss"] = alpha * bars["train_error"] + bars.pop("cost")
    values |= {"m": overlaps.m, "q": overlaps.q, "Sigma": overlaps.Sigma}
    told: dict[str, Any] = {**values, "notes": notes_of(jumps)}
    return UntiedSolution(problem, residual=found.residual, evaluations=found.evaluations, bars=bars, **told)


def _fitted(problem: UntiedProblem, limit: Interpolator) -> UntiedSolution:
    """A fit of every label: nothing is left of the loss. The sum of a row of labels is the gain of the target."""
    m, q = limit.overlaps.m, limit.overlaps.q
    test = test_error(problem, limit.overlaps, RULE)
    relative = 100.0 * limit.relative_error + 1e-14
    values: dict[str, Any] = {"estimation_error": limit.estimation_error, "rank": limit.rank, "delta": limit.delta}
    values |= {"cutoff": limit.cutoff, "scale": limit.scale}
    bars = {name: relative * abs(value) for name, value in values.items()}
    bars["estimation_error"] += relative * limit.delta**2
    coarse = test_error(problem, limit.overlaps, Rule(RULE.across // 2, 18, RULE.points // 4, 2))
    bars |= {"test_error": relative * test + abs(test - coarse), "train_loss": 0.0, "train_error": 0.0}
    if problem.target_gain is not None:
        values["gain"], bars["gain"] = problem.target_gain, 0.0
    return UntiedSolution(
        problem,
        test_error=test,
        train_loss=0.0,
        train_error=0.0,
        m=m,
        q=q,
        Sigma=inf,
        residual=limit.relative_error,
        evaluations=0,
        bars=bars,
        **values,
    )


def test_error(problem: UntiedProblem, overlaps: Overlaps, rule: Rule) -> float:
    """Loss of a fresh, noisy sample at these overlaps and the target's gain; no proximal map is needed for it."""
    if not problem.softmax:
        left, m, q = overlaps.left, overlaps.m, overlaps.q
        return problem.components * (left + problem.noise + ((m - q) ** 2 / q if q > 0.0 else 0.0))
    fresh = overlaps._replace(Sigma=0.0)
    return float(np.sum([row_averages(problem, keys, fresh, rule, problem.v_0).test for keys in problem.keys]))
