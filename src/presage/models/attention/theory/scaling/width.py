"""Width of a student whose target is a power law: the best width, where more is no use, and what tuning it can do.

A student of p units keeps the p largest eigenvalues, a heuristic [GTXEKZ26] that all of this rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from math import ceil, inf, log10, sqrt
from typing import NamedTuple, final

import numpy as np

from presage.models.attention.bayes.optimal import bayes_optimal
from presage.models.attention.declaration import ESTIMATION_ERROR
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory.one_equation import OnePoint
from presage.models.attention.theory.rank_limited import best_cutoff, cutoff_of_penalty, solve_rank_limited
from presage.models.attention.theory.scaling.constants import (
    C_BO,
    C_j,
    C_w,
    best_ratio,
    feature_cost,
    joint_optimum,
    u_star,
)
from presage.models.attention.theory.scaling.tuned import (
    BestWeightDecay,
    PowerLawNetwork,
    best_weight_decay,
    power_law_network,
    solved_error,
)
from presage.models.attention.theory.solution import Solution
from presage.models.attention.theory.solve import solve
from presage.protocol.observables import Observable
from presage.protocol.prediction import Result
from presage.solving.newton import NoConvergenceError
from presage.spectra.symmetric.functionals import Functionals

MOST_ITERATIONS = 500  # of a sum over the features
PER_DECADE = 4  # widths of the first, coarse scan
HEURISTIC = (
    "students narrower than the rank that wide ones learn are predicted to keep the largest eigenvalues, a heuristic "
    "[GTXEKZ26]: best widths rest on it."
)
SLOW_DECAY = (
    "for gamma below 1 the bulk carries signal, and cutting it costs: the formula of the best width, which counts "
    "features that are worth their noise, is for gamma above 1."
)
TOO_MANY = (
    "the best weight decay does better than the best width here: that a tuned width beats it holds where few of the "
    "features are learned, and the bulk carries nothing."
)


def width_limited_error(problem: Problem, p: int) -> float:
    """Error of p units that know the target: what is left of it, ``(1/d) sum_{i>p} s_i^2``.

    Equation: derived; about ``(p + 1/2)^(1-2g)/((2g-1) Z)`` of a normalised target.
    Checked: tests/models/attention/theory/scaling/test_width.py::test_width_limited_error_is_a_power
    """
    squares = power_law_network(problem).eigenvalues ** 2
    return float(squares[p:].sum()) / len(squares)


def features_that_pay(network: PowerLawNetwork, delta: float, chi: float) -> int:
    """Best width by a count: of features ``s_i > u(chi) delta``, u as in `u_star`, which cost less kept than lost.

    Equation: derived, from `feature_cost`.
    Checked: tests/models/attention/theory/scaling/test_width.py::test_best_widths_that_were_seen
    """
    return int(np.count_nonzero(network.eigenvalues > u_star(chi) * delta))


class IsolatedStudent(NamedTuple):
    """A student of the best width as isolated features, without any bulk: nothing is integrated."""

    width: int
    error: float


def isolated_student(network: PowerLawNetwork, lambda_tilde: float) -> IsolatedStudent:
    """Best width and error of a student that keeps just the features that pay.

    ``R = (t/d) [sum_kept e(u, chi) + sum_lost u^2]``, ``lambda~ = 4 c [alpha - (1/d) sum_kept (1 + 1/u^2 - chi/u)]``
    and ``2 alpha t = R + Delta/2``, iterated from a student that knows nothing.

    Equation: derived: the composite law of phases without its semicircle, which a narrow student does not keep.
    Checked: tests/models/attention/theory/scaling/test_width.py::test_best_widths_that_were_seen
    """
    s, d, alpha = network.eigenvalues, network.d, network.alpha
    error, p, c = float(np.mean(s**2)), 0, lambda_tilde / (4.0 * alpha)
    for _ in range(MOST_ITERATIONS):
        delta = network.delta(error)
        chi = c / delta
        p = features_that_pay(network, delta, chi)
        u = s[:p] / delta
        slack = alpha - float(np.sum(1.0 + 1.0 / u**2 - chi / u)) / d
        # On the way, as many features as samples may seem to pay; where they do at the end, no formula holds.
        c = lambda_tilde / (4.0 * max(slack, 0.5 * alpha))
        last, kept = error, float(np.sum(feature_cost(u, chi)))
        error = (delta**2 * kept + float(np.sum(s[p:] ** 2))) / d
        if abs(error - last) < 1e-10 * last:
            break
    return IsolatedStudent(p, error)


class WidthLaws(NamedTuple):
    """What the laws say of the width, from the solution of a wide student alone."""

    formula: IsolatedStudent  # best width at this weight decay, and the error there
    saturation: float  # width from which on nothing changes
    limited: float  # error of that many units that know the target: what the width costs at least
    best: float  # error at the best width without weight decay
    both: float  # error at the best width and weight decay
    notes: tuple[str, ...]


def width_laws(problem: Problem, wide: Solution) -> WidthLaws:
    """Laws of the width, from the solution of a wide student at the same lambda~; nothing else is solved.

    Saturation is at ``d (1 - F_delta(c))``, the rank of a wide student. Errors at the best width are
    ``C_w t K/d`` and, with the best weight decay, ``C_j t K/d``, solved for the error.

    Equation: derived.
    Checked: tests/models/attention/theory/scaling/test_width.py::test_check_value_15
    Checked: tests/models/attention/theory/scaling/test_width.py::test_tuned_width_beats_tuned_weight_decay
    """
    network = power_law_network(problem)
    formula = isolated_student(network, _lambda_tilde(problem))
    best, both = (
        solved_error(network, lambda _: C_w(network.gamma)),
        solved_error(network, lambda _: C_j(network.gamma)),
    )
    notes = [HEURISTIC]
    if network.gamma < 1.0:
        notes.append(SLOW_DECAY)
    if network.features_above(network.delta(best)) < 1.0:
        notes.append("no feature is above the noise level: the laws of the error at the best width are for many.")
    limited = width_limited_error(problem, formula.width)
    return WidthLaws(formula, network.d * wide.wide_rank, limited, best, both, tuple(notes))


class NarrowCurve:
    """Error of a student against its width, each solved once, from the noise level of the nearest width before it."""

    def __init__(self, network: PowerLawNetwork, problem: Problem, cutoff: Callable[[Functionals], float]) -> None:
        self.network, self.problem, self.cutoff = network, problem, cutoff
        self.points: dict[int, OnePoint] = {}
        self.failed: set[int] = set()

    def at(self, p: int, start: float) -> Functionals | None:
        """Integrals of p units, or None where their equation was not solved; `start` is a noise level to begin with."""
        if p not in self.points and p not in self.failed:
            near = min(self.points, key=lambda other: abs(log10(other / p)), default=None)
            delta = start if near is None else self.points[near].functionals.delta
            network = self.network
            most = p / network.d
            try:
                found = solve_rank_limited(
                    self.problem.target, network.noise, network.alpha, most, self.cutoff, start=delta
                )
                self.points[p] = found
            except NoConvergenceError:
                self.failed.add(p)
        return self.points[p].functionals if p in self.points else None


def least(error: Callable[[int], float], widths: Iterable[int]) -> int:
    """The width of least error: the best of some widths, then of those between its neighbours, by halving.

    Between two neighbours of the first scan the error is taken to have one minimum.
    """
    known = {p: error(p) for p in widths}
    while True:
        order = sorted(known)
        k = order.index(min(order, key=lambda p: known[p]))
        gaps = [(order[j + 1] - order[j], order[j]) for j in (k - 1, k) if 0 <= j < len(order) - 1]
        gap, left = max(gaps, default=(1, 0))
        if gap < 2:
            return order[k]
        known[left + gap // 2] = error(left + gap // 2)


@final
@dataclass(frozen=True)
class WidthScaling(Result):
    """Tuned width beside tuned weight decay beside both, and the best of all methods: exact numbers and their laws.

    All at the weight decay ``lambda~ = sqrt(kappa) weight_decay`` of the problem but for what is tuned.
    """

    problem: Problem
    laws: WidthLaws = field(repr=False)
    best_width: int  # p, at this weight decay; the saturation where no width does better than a wide student
    estimation_error: float  # at the best width
    wide_error: float  # of a wide student
    tuned_error: float  # of a wide student with the best weight decay
    tuned_lambda_tilde: float
    both_width: int  # best width with the best weight decay of each
    both_error: float
    both_lambda_tilde: float
    bayes_error: float
    curve: tuple[tuple[int, float], ...] = field(repr=False)  # widths that were solved, and their errors
    notes: tuple[str, ...] = field(repr=False)

    observables = (
        ESTIMATION_ERROR,
        Observable("best_width", "units of least error at this weight decay"),
        Observable("saturation", "units beyond which nothing changes"),
        Observable("wide_error", "estimation error of a wide student"),
        Observable("tuned_error", "that with the best weight decay"),
        Observable("both_error", "that with the best width and weight decay"),
        Observable("bayes_error", "least estimation error of any method"),
    )

    @property
    def saturation(self) -> float:
        """Width from which on nothing changes: the rank of a wide student."""
        return self.laws.saturation

    @property
    def best_problem(self) -> Problem:
        """The problem at its best width, with the same price ``lambda~`` on the matrix."""
        kappa = self.best_width / self.problem.target.d  # type: ignore[attr-defined]
        return self.problem.replace(kappa=kappa, weight_decay=_lambda_tilde(self.problem) / sqrt(kappa))

    @property
    def ratios(self) -> dict[str, float]:
        """What each kind of tuning loses to the best of all methods, as a factor on the error."""
        errors = {"weight_decay": self.tuned_error, "width": self.estimation_error, "both": self.both_error}
        return {name: value / self.bayes_error if self.bayes_error > 0.0 else inf for name, value in errors.items()}

    @property
    def ratio_limits(self) -> dict[str, float]:
        """What the ratios tend to where many features are learned, but few of all; of width without weight decay."""
        gamma = power_law_network(self.problem).gamma
        bayes = C_BO(gamma)
        return {"weight_decay": best_ratio(gamma), "width": C_w(gamma) / bayes, "both": C_j(gamma) / bayes}

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each error may be off: equations are solved to 1e-10 of themselves."""
        names = ("estimation_error", "wide_error", "tuned_error", "both_error", "bayes_error", "saturation")
        return {"best_width": 0.0, **{name: 1e-8 * abs(float(getattr(self, name))) for name in names}}

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: on what it rests, and where formula and search differ."""
        return (*self.problem.notes, *self.laws.notes, *self.notes)


def best_width(problem: Problem) -> WidthScaling:
    """The best width of a student whose target is a power law, beside the best weight decay and both together.

    Widths are scanned coarsely up to the saturation, since the error may pass a peak of its own on the way, and finely
    where it is least and where the laws say that it is.

    Checked: tests/models/attention/theory/scaling/test_width.py::test_best_widths_that_were_seen
    """
    network = power_law_network(problem)
    problem.must_have_a_penalty()
    lambda_tilde = _lambda_tilde(problem)
    wide = solve(problem.replace(kappa=1.0, weight_decay=lambda_tilde))
    laws = width_laws(problem, wide)
    given = NarrowCurve(network, problem, partial(cutoff_of_penalty, alpha=network.alpha, lambda_tilde=lambda_tilde))
    top = max(ceil(laws.saturation), 1)

    def error(p: int) -> float:
        if p >= top:
            return wide.estimation_error
        f = given.at(p, wide.delta)
        return inf if f is None else f.risk

    p = least(error, _first_widths(top, laws.formula.width))
    curve = tuple((q, error(q)) for q in sorted({*given.points, top}))
    decay = best_weight_decay(problem)
    both = _both(problem, network, decay)
    notes = _about_search(p, top, laws) + _about_failures({*given.failed, *both.failed})
    if decay.error < error(p):
        notes += (TOO_MANY,)
    return WidthScaling(
        problem=problem,
        laws=laws,
        best_width=p,
        estimation_error=error(p),
        wide_error=wide.estimation_error,
        tuned_error=decay.error,
        tuned_lambda_tilde=decay.lambda_tilde,
        both_width=both.width,
        both_error=both.error,
        both_lambda_tilde=both.lambda_tilde,
        bayes_error=bayes_optimal(problem).mmse,
        curve=curve,
        notes=notes,
    )


class Both(NamedTuple):
    """The best width with the best weight decay."""

    width: int
    error: float
    lambda_tilde: float
    failed: frozenset[int]


def _both(problem: Problem, network: PowerLawNetwork, decay: BestWeightDecay) -> Both:
    """The best width where every width has its best weight decay: a cutoff known at every noise level."""

    def cutoff(f: Functionals) -> float:
        """The best one, or that of vanishing weight decay where none that is best is positive."""
        return max(best_cutoff(f), cutoff_of_penalty(f, network.alpha, 0.0))

    tuned = NarrowCurve(network, problem, cutoff)
    top = max(ceil(network.d * decay.rank), 1)
    if decay.error == 0.0:  # perfect recovery: no width does better
        return Both(top, 0.0, decay.lambda_tilde, frozenset())
    delta = network.delta(decay.error)
    weakest = joint_optimum(network.gamma)[0] * network.delta(solved_error(network, lambda _: C_j(network.gamma)))

    def error(p: int) -> float:
        if p >= top:
            return decay.error
        f = tuned.at(p, delta)
        return inf if f is None else f.risk

    p = least(error, _first_widths(top, int(np.count_nonzero(network.eigenvalues > weakest))))
    f = tuned.at(p, delta) if p < top else None
    lambda_tilde = decay.lambda_tilde if f is None else 4.0 * f.c * (network.alpha - f.I)
    return Both(p, error(p), lambda_tilde, frozenset(tuned.failed))


def _first_widths(top: int, guess: int) -> list[int]:
    """Widths of the first scan, the widest first: a geometric grid, and those beside a guess."""
    grid = np.unique(np.round(np.geomspace(1, top, max(2, ceil(PER_DECADE * log10(top)) + 1))).astype(int))
    beside = {q for q in (guess - 1, guess, guess + 1) if 1 <= q <= top}
    return sorted({*grid.tolist(), *beside}, reverse=True)


def _about_search(p: int, top: int, laws: WidthLaws) -> tuple[str, ...]:
    if p >= top:
        return ("no width does better than a wide student here: the best width is where nothing changes any more.",)
    if abs(p - laws.formula.width) > max(2, 0.1 * p):
        return (
            f"the formula of the best width says {laws.formula.width}, not {p}: features that are not alone cost more.",
        )
    return ()


def _about_failures(failed: set[int]) -> tuple[str, ...]:
    listed = ", ".join(map(str, sorted(failed)))
    return (f"the equation of these widths was not solved, and they were left out: {listed}.",) if failed else ()


def _lambda_tilde(problem: Problem) -> float:
    assert isinstance(problem.penalty, NuclearPSD)
    return problem.penalty.lambda_tilde(problem.kappa)
