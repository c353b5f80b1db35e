"""From a root with a coarse rule to one with a fine rule, with an error bar for every observable.

A coarse rule finds the root and its Jacobian; a fine rule needs only a few more evaluations along that Jacobian, and
the same Jacobian turns the spread between independent rules into error bars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Protocol

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.solving.newton import Evaluator, Linearization, NoConvergenceError, S

SETTLED = 1e-4  # residual of a fine rule that is still an answer; what is left of it goes into the error bars
TRUSTED = 1e-4  # relative: a rule that shows no larger error is the answer where nobody asks for a smaller one
ROUNDING = 2e-8  # relative: nodes of negligible weight that product rules leave out, and rounding


class Rule(Protocol):
    """A way to average, as far as it matters here: whether it is exact, and who shows its error otherwise."""

    @property
    def exact(self) -> bool: ...
    def companions(self) -> Sequence[Any]: ...


@dataclass
class FixedPoint:
    """A solution: the state, the error bars of its observables, and how it was found."""

    state: Any
    bars: dict[str, float]
    standard_error: float  # largest relative one of test error and loss
    residual: float
    rule: Rule
    evaluations: int
    route: str


def refine(evaluator: Evaluator[S], y: Floats, rule: Any, linear: Linearization, *, tol: float) -> S:
    """Carry the root from the coarse rule to a fine one, along the coarse Jacobian (Broyden's update keeps it good)."""
    resolvent = linear.resolvent.copy()
    state = evaluator(y, rule)
    best = state
    for _ in range(12):
        residual = state.residual
        if not np.isfinite(residual).all():
            raise NoConvergenceError(best)
        if state.size <= best.size:
            best = state
        if state.size < max(tol, 0.1 * state.spread):
            return state
        step = resolvent @ residual
        step *= min(1.0, 0.5 / float(np.abs(step).max()))
        new = evaluator(state.y + step, rule)
        # Broyden's good update of the inverse of -(dF/dy - 1).
        change = residual - new.residual
        moved = resolvent @ change
        if step @ moved > 0:
            resolvent += np.outer(step - moved, step @ resolvent) / (step @ moved)
        state = new
    # Jumping samples make the map rough on the scale of its own spread. A residual that stays above that is no root but
    # the ghost of one, however small: there state evolution passes slowly and goes on.
    if best.size < max(SETTLED, 2.0 * best.spread):
        return best
    raise NoConvergenceError(best)


def error_bars(evaluator: Evaluator[S], state: S, rule: Rule, linear: Linearization) -> tuple[Floats, Floats]:
    """Standard error and 95 % bar of each observable.

    With independent estimates it is the standard error of their mean, each carried through the linearised fixed
    point. With deterministic rules it is the largest distance to a companion rule, carried likewise.
    """
    mean = state.observables.mean(axis=0)
    leftover = np.abs(linear.shift(state.residual))
    if rule.exact:
        return np.zeros_like(mean), leftover + ROUNDING * np.abs(mean)
    companions = rule.companions()
    if companions:
        moves = []
        for companion in companions:
            other = evaluator(state.y, companion)
            moves.append(other.observables.mean(axis=0) - mean + linear.shift(other.target - state.target))
        standard = np.abs(moves).max(axis=0)
        return standard, standard + leftover + ROUNDING * np.abs(mean)
    off = state.mapped - state.mapped.mean(axis=0)
    moves = (state.observables - mean) + off @ (linear.gradient @ linear.resolvent).T
    standard = np.std(moves, axis=0, ddof=1) / sqrt(len(moves))
    return standard, float(scipy.special.stdtrit(len(moves) - 1, 0.975)) * standard + leftover + ROUNDING * np.abs(mean)


def refine_until(
    evaluator: Evaluator[S],
    coarse: S,
    linear: Linearization,
    ladder: Iterator[Rule],
    names: tuple[str, ...],
    watched: tuple[str, ...],
    *,
    accuracy: float,
    tol: float,
    route: str,
) -> FixedPoint:
    """Carry a root of a coarse rule to finer and finer rules until what is `watched` is known to `accuracy`, relative.

    Where none of them reaches it, it is the answer of the last, or that of an earlier one which is better and good
    enough to be trusted: scattered points, the last resort, are worse than a grid where the integrand is smooth.
    `names` are those of the observables of a state, in their order.

    Checked: tests/models/attention/theory/test_attention.py::test_asking_for_more_than_can_be_had_gives_no_less
    Checked: tests/models/attention/theory/test_attention.py::test_nearly_perfect_recovery_is_solved
    """
    y = coarse.y
    rows = [names.index(name) for name in watched]
    best: FixedPoint | None = None
    for finer in ladder:
        try:
            state = refine(evaluator, y, finer, linear, tol=tol)
        except NoConvergenceError as failure:  # too rough for this rule; a finer one may do
            last = failure
            continue
        standard, bars = error_bars(evaluator, state, finer, linear)
        y = state.y
        value = np.abs(state.observables.mean(axis=0)) + 1e-300
        relative = float((standard / value)[[k for k in rows if value[k] > 1e-12]].max(initial=0.0))
        if best is None or not best.standard_error <= min(TRUSTED, relative):  # "not", since an error may be nan
            named = dict(zip(names, (float(bar) for bar in bars), strict=True))
            best = FixedPoint(state, named, relative, state.size, finer, evaluator.evaluations, route)
        if relative < accuracy:
            break
    if best is None:
        raise last
    best.evaluations = evaluator.evaluations
    return best
