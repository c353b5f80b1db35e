"""What a cell of a sweep says: the observables of any result, by name, each with its error bar beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from presage.protocol import checks
from presage.protocol.ensemble import Ensemble
from presage.protocol.keeping import FIELDS, kept_fields
from presage.protocol.trajectory import Trajectory

NO_ROOM = "a table has numbers of every cell, and no room for the weights or the history of every network"
ONE_BY_ONE = 'Call simulate(problem, d=100, keep="weights") for the points that you want them of.'
BAR = "_bar"  # the error bar of `rank` is `rank_bar`
Observed = dict[str, Any]  # numbers, arrays of numbers, words


def observed(result: Any) -> Observed:
    """The observables of `result`: a solution, networks, a trajectory, a number, or names with numbers."""
    if _is_number(result):
        return {"value": float(result)}
    if isinstance(result, Mapping):
        return {str(name): _plain(name, value) for name, value in result.items()}
    if isinstance(result, Ensemble):
        return _of_networks(result)
    if isinstance(result, Trajectory):
        return {name: np.asarray(result.column(name), dtype=np.float64) for name in result.meanings}
    if hasattr(result, "solution") and hasattr(
        result, "value"
    ):  # an optimum: the strength found, and the prediction there
        return {"strength": float(result.value), **observed(result.solution)}
    if dataclasses.is_dataclass(result) or hasattr(result, "_fields"):
        return _of_prediction(result)
    raise checks.complaint(
        "run",
        "return a number, a dict of numbers, or a result of presage",
        "a sweep puts what it returns into a table",
        result,
        'Return for example {"gap": 0.1}.',
    )


def meaning_of_bars(result: Any) -> str:
    """What the error bars of a result are; "" for those of a function of one's own, which only it knows."""
    return str(getattr(getattr(result, "solution", result), "meaning_of_bars", ""))


def caveats(result: Any) -> str:
    """What the result says against itself, a caveat a line."""
    return "\n".join(" ".join(line.split()) for line in getattr(result, "caveats", ()))


def message(result: Any) -> str:
    """How the result was found, in words."""
    return str(getattr(result, "message", "") or "done")


def _of_prediction(result: Any) -> Observed:
    """Numbers of a solution: its fields, and all that has an error bar; then what it says in words."""
    names = [field.name for field in dataclasses.fields(result)] if dataclasses.is_dataclass(result) else result._fields
    values: Observed = {name: float(getattr(result, name)) for name in names if _is_number(getattr(result, name))}
    for name, bar in getattr(result, "error_bars", {}).items():
        values[name] = float(getattr(result, name))
        values[name + BAR] = float(bar)
    for observable in getattr(result, "known_observables", getattr(result, "observables", ())):
        if observable.name not in values and not observable.costly:
            values[observable.name] = float(getattr(result, observable.name))
    return values | {name: str(getattr(result, name)) for name in getattr(result, "in_words", ())}


def _of_networks(ensemble: Ensemble) -> Observed:
    """Means over the seeds with their standard errors, and the arrays of every seed, such as its eigenvalues."""
    kept = [name for name in kept_fields(tuple(FIELDS)) if getattr(ensemble, name) is not None]
    if kept:
        raise checks.complaint("keep", "be left out of a sweep", NO_ROOM, kept, ONE_BY_ONE)
    values: Observed = {}
    for name in (*(observable.name for observable in ensemble.measured), *ensemble.also_measured):
        values[name] = ensemble.mean(name)
        values[name + BAR] = ensemble.standard_error(name)
    for name in ensemble.arrays:
        values[name] = np.asarray(getattr(ensemble, name), dtype=np.float64)
    values["n_seeds"] = float(len(ensemble.seeds) - len(ensemble.failures))
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and not isinstance(value, complex | np.complexfloating)


def _plain(name: Any, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if _is_number(value):
        return float(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        reason, remedy = "a table holds numbers, arrays of numbers and words", "Return numbers under each name."
        raise checks.complaint(str(name), "be a number, an array or a word", reason, value, remedy)
    return array.astype(np.float64)
