"""What is wrong with a model of one's own, in sentences that say how to mend it."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from presage.protocol import verbs
from presage.protocol.comparison import compare
from presage.protocol.ensemble import Ensemble
from presage.protocol.errors import ComputationError, InputError
from presage.protocol.fields import declarations
from presage.protocol.prediction import Prediction, Result
from presage.protocol.problem import LearningProblem
from presage.protocol.report import Report, tried
from presage.protocol.trainer import Trainer

SEEDS = 6  # networks of each size
EVERY = ("d", "seeds", "trainer", "processes", "progress")  # what views and sweeps hand to simulate


class _Stranger(Trainer):
    """A trainer that no model knows."""

    def fit(self, objective: Any, rng: Any) -> Any:
        raise InputError("trainer", "be known", "this one is made up", self, "Leave it out.")


@dataclass
class _Trial:
    """The problem that is tried, and what its verbs gave so far."""

    problem: Any
    sizes: tuple[int, ...]
    prediction: Any = None
    ensembles: tuple[Any, ...] = ()


def check_model(problem: Any, *, d: Sequence[int] = (20, 40)) -> Report:
    """Try the model of a problem: fields, verbs, training at sizes `d`, comparison; never raises for a bad one."""
    return tried(type(problem).__name__, "model", _Trial(problem, tuple(d)), CHECKS)


def _fields(trial: _Trial) -> Iterator[str]:
    problem = trial.problem
    if not isinstance(problem, LearningProblem):
        yield f"it is a {type(problem).__name__}, not a problem: derive its class from presage.LearningProblem."
        return
    if not dataclasses.is_dataclass(problem) or not type(problem).__dataclass_params__.frozen:
        yield "its class is no frozen dataclass: put @dataclass(frozen=True) in front of it."
        return
    if not hasattr(problem, "model"):
        yield "it has no `model`: write model = presage.Model(name, words, verbs) in its class."
        return
    declared = declarations(problem)
    for field in dataclasses.fields(problem):
        if field.name not in declared:
            yield (
                f"the field {field.name} is not declared, so that no view knows what it is: write "
                f"{field.name}: float = field(metadata=presage.declared(presage.Number(...)))."
            )
        elif not declared[field.name].words.strip():
            yield f"the declaration of {field.name} has no words: say what it is."
        else:
            said = getattr(declared[field.name], "default", None)
            if said is not None and said != field.default:
                yield (
                    f"the declaration of {field.name} has the default {said!r}, and the field has another or none: "
                    f"write {field.name}: float = field(default=NUMBER.default, metadata=presage.declared(NUMBER))."
                )


def _identity(trial: _Trial) -> Iterator[str]:
    problem = trial.problem
    first = problem.names()[0]
    if problem.replace(**{first: getattr(problem, first)}) != problem:
        yield f"replace({first}=...) with the same value gives another problem: compare it by its fields."
    from joblib.externals.loky.backend.reduction import dumps  # which takes problems to other processes

    dumps(problem)
    # A class that cannot be imported is sent by value, and reading that back here would replace its fields.
    home = sys.modules.get(type(problem).__module__)
    importable = getattr(home, type(problem).__qualname__, None) is type(problem)
    if importable and pickle.loads(pickle.dumps(problem)) != problem:
        yield "it does not survive pickling, and cannot be sent to other processes: keep plain values in its fields."
    try:
        problem.replace(no_such_field=1.0)
    except InputError:
        return
    yield "replace takes a name that it does not have: do not override replace."


def _verbs(trial: _Trial) -> Iterator[str]:
    model = trial.problem.model
    for verb in ("solve", "simulate"):
        if verb not in model.verbs:
            yield f"its model does not say where {verb} is answered: add it to the verbs of presage.Model."
    known = [verb.__name__ for verb in verbs.VERBS]
    for verb in model.verbs:
        if verb not in known:
            yield f"its model answers {verb!r}, which is no verb: the verbs are {', '.join(known)}."
        elif not callable(model.answer(verb)):
            yield f"what the model gives for {verb} is not a function."
    answer = model.answer("simulate")
    if answer is not None:
        takes = inspect.signature(answer).parameters
        for name in (name for name in EVERY if name not in takes):
            yield f"simulate does not take {name}, which sweeps and the command line use: add it, and pass it on."


def _prediction(trial: _Trial) -> Iterator[str]:
    trial.prediction = found = verbs.solve(trial.problem)
    if not isinstance(found, Prediction):
        yield f"solve returns a {type(found).__name__}: derive it from presage.Prediction."
        return
    if found.problem != trial.problem:
        yield "the prediction has another problem: keep the one that was asked about in its field `problem`."
    names = [observable.name for observable in found.observables]
    if not names:
        yield "the prediction declares no observables: list them in `observables`, in the order of a table."
    for name in names:
        value = getattr(found, name, None)
        if not isinstance(value, int | float | np.number):
            yield f"the observable {name} is {value!r}: it must be a number."
        elif name not in found.error_bars:
            yield f"the observable {name} has no error bar: put one into `error_bars`, if only for rounding."
        elif not found.error_bars[name] >= 0.0:
            yield f"the error bar of {name} is {found.error_bars[name]}: it must be zero or positive."
    for name in found.compared:
        if name not in names:
            yield f"`compared` names {name}, which is not among the observables."
    if not isinstance(found.caveats, tuple):
        yield f"the caveats of the prediction are {found.caveats!r}: give a tuple of sentences."
    if not found.compared:
        yield "the prediction says nothing about what networks show: list the observables in `compared`."
    for verb in ("thresholds", "bayes_optimal", "ridgeless"):
        if verb in trial.problem.model.verbs and not isinstance(getattr(verbs, verb)(trial.problem), Result):
            yield f"{verb} returns something else than a presage.Prediction or presage.Result."


def _networks(trial: _Trial) -> Iterator[str]:
    found = [verbs.simulate(trial.problem, d=d, seeds=SEEDS, progress=False) for d in trial.sizes]
    trial.ensembles = tuple(found)
    for ensemble in found:
        if not isinstance(ensemble, Ensemble):
            yield f"simulate returns a {type(ensemble).__name__}: derive it from presage.Ensemble."
            return
    first = found[0]
    for name in trial.prediction.compared:
        values: Any = getattr(first, name, np.nan)
        if np.shape(values) != (SEEDS,):
            yield f"{name} of {SEEDS} networks has the shape {np.shape(values)}: it must be one number a seed."
            return
    for name in trial.prediction.compared:
        if not first.failures and not np.isfinite(first.values(name)).all():
            yield f"{name} of a trained network is not a finite number."
            return
    try:
        verbs.simulate(trial.problem, d=trial.sizes[0], seeds=2, trainer=_Stranger(), progress=False)
    except (InputError, ComputationError):
        pass
    else:
        yield "simulate takes a trainer that it does not know, and trains in its own way: refuse it by an InputError."
    if first.failures:
        seed, reason = next(iter(first.failures.items()))
        yield f"seed {seed} failed: {reason}"
    again = verbs.simulate(trial.problem, d=trial.sizes[0], seeds=[SEEDS - 1], processes=1, progress=False)
    for name in trial.prediction.compared:
        if not np.array_equal(again.values(name), first.values(name)[-1:]):
            yield f"{name} of one seed is another number when it is trained alone: draw from presage.streams(seed, d)."


def _comparison(trial: _Trial) -> Iterator[str]:
    try:
        found = compare(trial.prediction, *trial.ensembles)
    except (InputError, ComputationError) as error:
        yield f"prediction and networks cannot be compared: {error}"
        return
    sizes = " and ".join(map(str, trial.sizes))
    for row in found.rows:
        if isfinite(row.z) and not row.agrees:
            yield (
                f"theory and training differ in {row.name}: predicted {row.prediction:.4g}, networks of d = {sizes} "
                f"extrapolate to {row.a:.3g} (z = {row.z:+.0f}): one of the two is wrong."
            )


CHECKS: dict[str, Callable[[_Trial], Iterator[str]]] = {
    "declared fields": _fields,
    "replace and identity": _identity,
    "verbs": _verbs,
    "the prediction": _prediction,
    "trained networks": _networks,
    "the comparison": _comparison,
}
