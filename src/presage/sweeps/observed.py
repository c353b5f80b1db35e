"""What a cell of a sweep says: the observables of any result, by name, each with its error bar beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from presage.protocol import checks

BAR = "_bar"  # the error bar of `rank` is `rank_bar`
PER_SEED = ("eigenvalues", "singular_values")
OF_NETWORKS = ("test_error", "train_loss", "train_error", "estimation_error", "rank", "m", "q")

Observed = dict[str, Any]  # numbers, arrays of numbers, words


def observed(result: Any) -> Observed:
    """The observables of `result`: a solution, trained networks, a number, or a mapping of names to numbers."""
    if _is_number(result):
        return {"value": float(result)}
    if isinstance(result, Mapping):
        return {str(name): _plain(name, value) for name, value in result.items()}
    if _is_ensemble(result):
        return _of_networks(result)
    if hasattr(result, "solution"):  # an optimum: the strength found, and the prediction there
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
    if _is_ensemble(result):
        return "standard error of the mean over the seeds"
    return "" if _is_number(result) or isinstance(result, Mapping) else "half width of a 95 % interval"


def caveats(result: Any) -> str:
    """What the result says against itself, as one text."""
    return " ".join(getattr(result, "caveats", ()))


def message(result: Any) -> str:
    """How the result was found, in words."""
    return str(getattr(result, "message", "") or "done")


def _is_ensemble(result: Any) -> bool:
    return hasattr(result, "standard_error") and hasattr(result, "seeds")


def _of_prediction(result: Any) -> Observed:
    """Numbers of a solution: its fields, and all that has an error bar."""
    names = [field.name for field in dataclasses.fields(result)] if dataclasses.is_dataclass(result) else result._fields
    values: Observed = {name: float(getattr(result, name)) for name in names if _is_number(getattr(result, name))}
    for name, bar in getattr(result, "error_bars", {}).items():
        values[name] = float(lookup(result, name))
        values[name + BAR] = float(bar)
    return values


def lookup(result: Any, name: str) -> Any:
    """A number of a solution by its name, also one of its order parameters."""
    for place in (result, getattr(result, "overlaps", None), getattr(result, "conjugates", None)):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(f"{type(result).__name__} has an error bar for {name}, and no {name}")


def _of_networks(ensemble: Any) -> Observed:
    """Means over the seeds with their standard errors, and the eigenvalues of every seed."""
    values: Observed = {}
    for name in OF_NETWORKS:
        if hasattr(ensemble, name):
            values[name] = ensemble.mean(name)
            values[name + BAR] = ensemble.standard_error(name)
    for name in PER_SEED:
        if name in {field.name for field in dataclasses.fields(ensemble)}:
            values[name] = np.asarray(getattr(ensemble, name), dtype=np.float64)
    values["n_seeds"] = float(len(ensemble.values("rank")))
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
