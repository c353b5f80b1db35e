"""The verbs: each finds its answer in the folder of the problem's own model, and refuses what that does not take.

No model is named here: a model declares where it answers a verb (`Model.verbs`), a problem says of which model it is,
and what a verb returns is of a class that only that model knows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from presage.protocol import checks
from presage.protocol.errors import InputError
from presage.protocol.model import models
from presage.protocol.problem import LearningProblem


def solve(problem: LearningProblem, **options: Any) -> Any:
    """Predict what training ends in, in the high-dimensional limit: every number with an error bar.

    What can be asked for beside the problem depends on its model: `option_names(solve, problem)` lists it. Most take
    `tol`, the residual of the equations that is aimed at, and `throw`: with ``throw=False`` a failed solve returns its
    partial prediction instead of raising. Where several ways lead to the answer there is `solver`, and where one can
    start from a neighbour there is `init`.

    Returns:
        A `Prediction` of the model's own class.

    Raises:
        SolveError: when the equations cannot be solved; it carries the partial prediction and a remedy.
    """
    return _answer("solve", problem, options)


def simulate(problem: LearningProblem, **options: Any) -> Any:
    """Train networks of size `d` on independent data, one a seed, and measure what the theory predicts.

    Every model takes `d`, `seeds` (how many networks, or the seeds themselves), `trainer`, `processes` (how many
    networks at a time; the numbers do not depend on it) and `progress`, most take `n_test` (fresh samples for the test
    error); `option_names(simulate, problem)` lists all. A seed that fails is in `Ensemble.failures` with the reason.

    Returns:
        An `Ensemble` of the model's own class: the observables of the prediction, one entry a seed.

    Raises:
        TrainError: when every seed fails.
        TrainInterrupted: on Ctrl-C, with the seeds that had ended.
    """
    return _answer("simulate", problem, options)


def thresholds(problem: LearningProblem, **options: Any) -> Any:
    """How many samples are needed: to fit them, to learn anything, to find the target."""
    return _answer("thresholds", problem, options)


def bayes_optimal(problem: LearningProblem, **options: Any) -> Any:
    """Least error of any method that knows the law of the target and how the data came about."""
    return _answer("bayes_optimal", problem, options)


def bayes_curve(problem: LearningProblem, *, alpha: Sequence[float] | Any, **options: Any) -> list[Any]:
    """Bayes-optimal predictions at many sample sizes `alpha`, in the order given."""
    answer = _the_problem(problem).model.answer("bayes_curve")
    if answer is None:
        if not hasattr(alpha, "__len__"):
            reason, remedy = "each is a number of samples", "Use for example <alpha=[0.1, 1.0, 10.0]>."
            raise checks.complaint("alpha", "be a list of numbers", reason, alpha, remedy)
        return [bayes_optimal(problem.replace(alpha=float(value)), **options) for value in alpha]
    return list(_answer("bayes_curve", problem, {"alpha": alpha, **options}))


def ridgeless(problem: LearningProblem, **options: Any) -> Any:
    """Predict the limit of vanishing regularisation; the strength in `problem` plays no part."""
    return _answer("ridgeless", problem, options)


def optimal_regularization(problem: LearningProblem, **options: Any) -> Any:
    """Find the strength of regularisation of least test error, and the prediction there."""
    return _answer("optimal_regularization", problem, options)


def scaling(problem: LearningProblem, **options: Any) -> Any:
    """The scaling law of a target whose eigenvalues fall as a power: phase, law, boundaries, local exponents."""
    return _answer("scaling", problem, options)


def recovery(problem: LearningProblem, **options: Any) -> Any:
    """At which sample sizes each feature of the target is learned, forgotten and learned again: a `Recovery`.

    The alpha of the problem plays no part. `option_names(recovery, problem)` lists what can be asked for beside it.
    """
    return _answer("recovery", problem, options)


def trajectory(problem: LearningProblem, *, steps: int, **options: Any) -> Any:
    """Predict what a training shows after every one of its first `steps` steps: a `Trajectory`.

    Its `trainer` is the one that is followed: networks go the same way by ``simulate(problem, d=...,
    trainer=trajectory.trainer, keep="trajectory")``, and `compare` sets them beside it time by time.
    `option_names(trajectory, problem)` lists what can be asked for beside the steps.
    """
    return _answer("trajectory", problem, {"steps": steps, **options})


VERBS = (
    solve,
    simulate,
    thresholds,
    bayes_optimal,
    bayes_curve,
    ridgeless,
    optimal_regularization,
    scaling,
    recovery,
    trajectory,
)


def option_names(verb: Callable[..., Any], problem: LearningProblem) -> list[str]:
    """Names of what a function of a problem takes beside it: of a verb, what the problem's own model takes."""
    return [p.name for p in _options(verb, problem)]


def required_names(verb: Callable[..., Any], problem: LearningProblem) -> list[str]:
    """Names of what a function of a problem cannot be called without."""
    return [p.name for p in _options(verb, problem) if p.default is p.empty]


def _options(verb: Callable[..., Any], problem: LearningProblem) -> list[inspect.Parameter]:
    answer = problem.model.answer(verb.__name__) if verb in VERBS else None
    try:
        parameters = [*inspect.signature(answer or verb).parameters.values()][1:]
    except (TypeError, ValueError):  # compiled functions have no signature
        return []
    return [p for p in parameters if p.kind not in {p.VAR_KEYWORD, p.VAR_POSITIONAL}]


def _the_problem(problem: Any) -> LearningProblem:
    checks.instance(
        "problem",
        problem,
        LearningProblem,
        reason="a verb asks about a learning problem",
        remedy=f"Make one with for example {' or '.join(_makers())}.",
    )
    return problem  # type: ignore[no-any-return]


def _answer(verb: str, problem: Any, options: dict[str, Any]) -> Any:
    """Ask the model of the problem; refuse by name an option that it does not take."""
    model = _the_problem(problem).model
    answer = model.answer(verb)
    if answer is None:
        reason = f"this model, {model.words}, has no answer to {verb}"
        raise checks.complaint("problem", f"be of a model that answers {verb}", reason, problem, _instead(model.verbs))
    if options:
        known = inspect.signature(answer).parameters
        for name, value in options.items():
            if name not in known:
                raise not_taken(verb, name, value, [*known][1:])
    return answer(problem, **options)


def not_taken(verb: str, name: str, value: Any, known: Sequence[str]) -> InputError:
    """The complaint about an option that the model of a problem does not take."""
    takes = f"takes {', '.join(known)}" if known else "takes no options"
    remedy = "Leave it out."
    return checks.complaint(name, "be left out here", f"{verb} of this model {takes}", value, remedy)


def _makers() -> list[str]:
    """A function that makes a problem, of each model."""
    return [f"{model.named[0].make.partition(':')[2]}(...)" for model in models() if model.named]


def _instead(verbs: Any) -> str:
    return f"It answers {', '.join(verbs)}."
