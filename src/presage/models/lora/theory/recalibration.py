"""The best factor on the frozen matrix before it is fine-tuned."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import scipy

from presage.models.lora.problem import LoraProblem
from presage.models.lora.theory.averages import rule_of
from presage.models.lora.theory.errors import errors_on
from presage.models.lora.theory.pretrained import pretrained
from presage.models.lora.theory.solution import LoraSolution, solve
from presage.models.lora.theory.state_evolution import settled_on, start_of
from presage.protocol import checks

POINTS = 2**12
NEAREST, FARTHEST = 0.2, 2.0  # factors on M/Q between which the best one is looked for
CLOSE = 1e-3  # relative, of the factor
AT_AN_END = 0.01  # relative distance of the factor from an end of the range


def best_recalibration(problem: LoraProblem, *, accuracy: float = 1e-3) -> LoraSolution:
    """The prediction at the factor of least test error; the `recalibration` of its problem is that factor.

    For a linear output and new sequences it is ``M/Q``, which makes the frozen scores the best guess of the label. For
    a softmax the least test error is looked for, at fixed points of samples, between 0.2 and 2 times that; at the one
    setting that was looked at closely it is at less than ``M/Q``. A least error at an end of the range gets a caveat.

    Equation: derived: ``Delta/2 + Q_0 - 2 b M + b^2 Q`` is least at ``b = M/Q``.
    Checked: tests/models/lora/test_recalibration.py::test_the_best_factor_of_a_linear_output
    Checked: tests/models/lora/test_recalibration.py::test_the_best_factor_of_a_softmax_is_below_the_linear_one
    """
    checks.instance(
        "problem",
        problem,
        LoraProblem,
        reason="only a frozen layer is recalibrated",
        remedy="Make one with lora(pretraining, alpha=6.0, weight_decay=0.05).",
    )
    before = pretrained(problem.pretraining).numbers
    if not before.slope > 0.0:
        return solve(problem, accuracy=accuracy)
    if problem.linear and problem.reuse == "nothing" and problem.selection == 1.0:
        return solve(problem.replace(recalibration=before.slope), accuracy=accuracy)
    start = start_of(problem)

    def error(log_b: float) -> float:
        nonlocal start
        tried = problem.replace(recalibration=exp(log_b))
        start = settled_on(tried, rule_of(tried, before, POINTS, 0), start, tol=1e-5).overlaps
        return errors_on(tried, before, [start], POINTS, 0)[0]["test_error"]

    ends = (log(NEAREST * before.slope), log(FARTHEST * before.slope))
    found = scipy.optimize.minimize_scalar(error, bounds=ends, method="bounded", options={"xatol": CLOSE})
    best = solve(problem.replace(recalibration=exp(float(found.x))), accuracy=accuracy)
    if min(abs(float(found.x) - end) for end in ends) > AT_AN_END:
        return best
    line = (
        f"the test error is least at an end of the range of factors that was searched, {exp(ends[0]):.3g} to "
        f"{exp(ends[1]):.3g}: a better factor may be beyond it."
    )
    return replace(best, said=(*best.said, line))
