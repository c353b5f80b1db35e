"""Bayes-optimal errors along a whole curve of sample sizes, at little more than one integral a point.

For linear and softmax channels alpha is an explicit function of the noise level t, ``(MMSE(t) + Delta/2)/(2 n t)``. A
spline through a few points of it tells where each alpha is, and an integral or two there make the point exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Any

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.attention.bayes.optimal import BayesSolution, bayes_optimal, is_continuous
from presage.models.attention.problem import Problem
from presage.models.attention.theory.recovery import bayes_recovery
from presage.protocol import checks
from presage.spectra.symmetric.denoising import Denoiser

KNOTS = 24  # of the spline
CLOSE = 1e-5  # last step of log t
SLOPE = 0.01  # relative error of the slope of the spline
MOST_STEPS = 12
MESSAGE = "a curve: a spline, and Newton's method from it"
NEAR_RECOVERY = 0.99  # fraction of the threshold of clean labels beyond which each point is solved by itself


def bayes_curve(problem: Problem, *, alpha: Sequence[float] | Floats) -> list[BayesSolution]:
    """Bayes-optimal solutions of a problem at many sample sizes `alpha`, in the order given.

    Equation: [MTMKZ24], [BTEZ25]: the equation of `bayes_optimal`, read as an explicit map from delta to alpha.
    Checked: tests/models/attention/bayes/test_bayes.py::test_a_curve_is_its_points
    """
    problems = [problem.replace(alpha=value) for value in _sizes(alpha)]
    most = bayes_recovery(problem.target) / problem.channel.n_active if problem.noise == 0.0 else np.inf
    inside = [p for p in problems if p.alpha < NEAR_RECOVERY * most]
    if len(inside) <= KNOTS or not is_continuous(problem.channel):
        return [bayes_optimal(p) for p in problems]
    points = dict(zip((p.alpha for p in inside), _by_spline(inside), strict=True))
    return [points[p.alpha] if p.alpha in points else bayes_optimal(p) for p in problems]


def _by_spline(problems: list[Problem]) -> list[BayesSolution]:
    first = problems[0]
    denoiser = Denoiser(first.target)
    sizes = np.array([p.alpha for p in problems])
    ends = [bayes_optimal(first.replace(alpha=float(value))).delta for value in (sizes.max(), sizes.min())]
    x = np.linspace(2.0 * log(ends[0]) - 1e-3, 2.0 * log(ends[1]) + 1e-3, KNOTS)
    # log alpha falls smoothly with x = log t.
    log_alpha = [_log_alpha(first, denoiser.mmse(exp(0.5 * value)), value) for value in x]
    where = scipy.interpolate.CubicSpline(log_alpha[::-1], x[::-1])
    return [_newton(p, denoiser, float(where(log(p.alpha))), float(where(log(p.alpha), 1))) for p in problems]


def _newton(problem: Problem, denoiser: Denoiser, x: float, slope: float) -> BayesSolution:
    """From the guess ``x = log t`` to where alpha is met; `slope` is ``dx/dlog alpha`` of the spline."""
    evaluations = 0
    while True:
        evaluations += 1
        error = denoiser.mmse(exp(0.5 * x))
        moved = (log(problem.alpha) - _log_alpha(problem, error, x)) * slope
        if abs(moved) < CLOSE or evaluations == MOST_STEPS:
            break
        x += moved
    # The last step moves t and, along the same slope, the error: both are then off by it times the error of the slope.
    seen = 2.0 * problem.channel.n_active * problem.alpha * exp(x)
    mmse = error + seen * (1.0 + 1.0 / slope) * moved
    return BayesSolution(problem, exp(0.5 * (x + moved)), mmse, evaluations, SLOPE * abs(moved), MESSAGE)


def _log_alpha(problem: Problem, mmse: float, log_t: float) -> float:
    return log((mmse + 0.5 * problem.noise) / (2.0 * problem.channel.n_active)) - log_t


def _sizes(alpha: Any) -> list[float]:
    sizes = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if sizes.ndim != 1 or sizes.size == 0:
        reason, remedy = "each is a number of samples over d^2", "Use for example alpha=np.geomspace(0.05, 10, 129)."
        raise checks.complaint("alpha", "be a list of numbers", reason, alpha, remedy)
    return [float(value) for value in sizes]
