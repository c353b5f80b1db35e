"""What the theory answers, as rows of numbers with error bars."""

from __future__ import annotations

from typing import Any

from presage.cli.digits import Measured
from presage.cli.mistakes import CommandError

MEANINGS = {
    "test_error": "loss on a fresh, noisy sample",
    "train_loss": "whole loss, with its penalty, over d^2",
    "train_error": "loss a sample at the minimum",
    "estimation_error": "|S_fit - S_0|_F^2 / d",
    "rank": "fraction of non-zero eigenvalues",
    "replicon": "below 1: the prediction is stable",
    "mmse": "least estimation error of any method",
    "mutual_information": "of all labels, over d^2, in nats",
    "delta": "noise at which the target is seen",
}

PENALTIES = ("weight_decay", "ridge")
UNUSED = {  # numbers of a problem on which an answer does not depend
    "bayes": (*PENALTIES, "kappa", "threshold"),
    "ridgeless": PENALTIES,
    "optimal": PENALTIES,
    "thresholds": ("alpha", *PENALTIES),
}


def predict(problem: Any, *, ridgeless: bool = False, optimal: bool = False, init: Any = None) -> Any:
    """The prediction: at the penalty given, at the vanishing one, or at the best one."""
    import presage as ps

    if ridgeless and optimal:
        raise CommandError("`--ridgeless` and `--optimal` exclude each other: one penalty is meant. Leave one out.")
    if ridgeless:
        return ps.ridgeless(problem)
    if optimal:
        return ps.optimal_regularization(problem)
    if isinstance(problem, ps.BilinearProblem):
        return ps.solve(problem)
    return ps.solve(problem, init=init if isinstance(init, ps.Solution) else None)


def observables(answer: Any) -> dict[str, Measured | float]:
    """Every number of an answer, the ones that people ask for first."""
    solution = getattr(answer, "solution", answer)  # an optimum has the prediction there
    found: dict[str, Measured | float] = {}
    if solution is not answer:
        found[answer.name] = float(answer.value)
    bars = solution.error_bars
    for name in dict.fromkeys([*(name for name in MEANINGS if hasattr(solution, name)), *bars]):
        value = float(getattr(solution, name))
        found[name] = Measured(value, float(bars[name])) if name in bars else value
    return found
