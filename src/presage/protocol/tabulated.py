"""Results as plain numbers and as tables, whatever the model."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from presage.protocol import numbers
from presage.protocol.columns import Columns
from presage.protocol.comparison import Comparison
from presage.protocol.comparison_row import Row
from presage.protocol.ensemble import Ensemble
from presage.protocol.model import found
from presage.protocol.observables import by_name
from presage.protocol.prediction import Result, SampleSizes
from presage.protocol.problem import LearningProblem
from presage.protocol.scaling import Scaling
from presage.protocol.trained_elsewhere import Measure, TrainedElsewhere

if TYPE_CHECKING:
    import pandas as pd

FEW = 6  # numbers of a short text
ROWS = 12  # of the text of a table
WIDTH = 110  # letters of it


class Line(NamedTuple):
    """One number of a result, with its name, error bar (nan where it has none) and meaning."""

    name: str
    value: float
    bar: float
    words: str


def lines_of(result: Any) -> list[Line]:
    """The numbers that people ask for, in the order of a table; those that take long are left out."""
    if isinstance(result, Ensemble):
        return [Line(o.name, result.mean(o.name), result.standard_error(o.name), o.words) for o in result.measured]
    if isinstance(result, Comparison):
        words = by_name(result.observables)
        return [Line(row.name, row.a, row.a_error, words[row.name].words) for row in result.rows]
    if isinstance(result, TrainedElsewhere):
        return [Line(row.name, row.value, nan, row.words) for row in result.rows]
    if is_optimum(result):
        strength = Line(result.name, float(result.value), nan, "strength of the penalty of least error")
        return [strength, *lines_of(result.solution)]
    bars = result.error_bars
    asked = [observable for observable in result.known_observables if not observable.costly]
    return [Line(o.name, float(getattr(result, o.name)), float(bars.get(o.name, nan)), o.words) for o in asked]


def is_optimum(result: Any) -> bool:
    """Whether it is the strength of a penalty and the prediction there."""
    return isinstance(getattr(result, "solution", None), Result) and hasattr(result, "value")


def problem_of(result: Any) -> Any:
    """The problem that a result is about; None where it does not say."""
    return getattr(getattr(result, "solution", result), "problem", None)


def hints_of(thing: Any) -> tuple[str, ...]:
    """What of a problem, or of the problem of a result, looks as if another unit were meant."""
    return tuple(getattr(thing if isinstance(thing, LearningProblem) else problem_of(thing), "hints", ()))


def in_brief(result: Any) -> str:
    """A result in a line or two."""
    kind = type(result).__name__
    if isinstance(result, Comparison):
        return f"<{kind} of {len(result.rows)} observables at d = {_listed(result.rows[0].d)}: {_verdict(result.rows)}>"
    if isinstance(result, TrainedElsewhere):
        unusual = [row.name for row in result.rows if not row.usual]
        return f"<{kind} of {result.head}: {f'unusual {_listed(unusual)}' if unusual else 'all as predicted'}>"
    if isinstance(result, Columns):
        return f"<{kind}: {result.head}>"
    words = [f"{name} {getattr(result, name)}" for name in getattr(result, "in_words", ())]
    kinds = {one.name for one in getattr(result, "observables", ()) if one.stands_for}  # they are told in words
    lines = [line for line in lines_of(result) if line.name not in kinds][:FEW]
    told = ", ".join([*words, *(f"{line.name}={numbers.text(line.value)}" for line in lines)])
    if isinstance(result, Ensemble):
        done = len(result.seeds) - len(result.failures)
        told = f"{done} {result.noun} of d = {result.d} by {type(result.trainer).__name__}: {told}"
    problem = problem_of(result)
    about = "" if problem is None else f"\n of {textwrap.shorten(_numbers_of(problem), WIDTH, placeholder=' ...)')}"
    return f"<{kind} {told}{about}>"


def _numbers_of(problem: Any) -> str:
    """A problem by its numbers; what else it is made of is in its own text."""
    if not isinstance(problem, LearningProblem):
        return repr(problem)
    known = {name: value for name, value in problem_as_dict(problem).items() if isinstance(value, int | float)}
    return f"{type(problem).__name__}({', '.join(f'{name}={value:g}' for name, value in known.items())})"


def _verdict(rows: Sequence[Row]) -> str:
    """Which observables differ, and of which it is unknown."""
    names = {word: _listed([row.name for row in rows if row.verdict == word]) for word in ("differ", "unknown")}
    said = [f"{names['differ']} differ"] if names["differ"] else []
    said += [f"{names['unknown']} unknown"] if names["unknown"] else []
    return "; ".join(said) or "all agree"


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))


def as_dict(result: Any) -> dict[str, Any]:
    """Plain numbers, lists and words of a result."""
    problem = problem_of(result)
    said: dict[str, Any] = {
        "kind": type(result).__name__,
        "version": found("presage:__version__"),
        "problem": None if problem is None else problem_as_dict(problem),
    }
    if isinstance(result, Columns):
        said |= {"columns": {name: plain(result.column(name)) for name in result.meanings}}
        said |= {"meanings": dict(result.meanings)}
    elif isinstance(result, Comparison):
        said |= {"agrees": result.agrees, "rows": [_row(row) for row in result.rows]}
        said |= {"spectra": [plain(spectrum._asdict()) for spectrum in result.spectra]}
    elif isinstance(result, TrainedElsewhere):
        said |= {"agrees": result.agrees, "verdict": result.verdict, "rows": [_measure(row) for row in result.rows]}
        said |= {"d": result.d, "networks": len(result.values), "drawn": result.drawn, "zero": result.zero}
        said |= {"fence": plain(result.fence), "outliers": plain(result.outliers), "values": plain(result.values)}
    else:
        lines = _every_line(result)
        said |= {"observables": {line.name: line.value for line in lines}}
        said |= {"error_bars": {line.name: line.bar for line in lines if not isnan(line.bar)}}
        said |= {"meaning_of_bars": getattr(result, "solution", result).meaning_of_bars}
        said |= {"meanings": {line.name: line.words for line in lines if line.words}}
    if isinstance(result, Scaling):
        law = {**result.law._asdict(), "exponents": dict(result.law.exponents)}
        said |= {"phase": result.phase, "law": plain(law)}
        said |= {"boundaries": [plain(edge._asdict()) for edge in result.boundaries]}
    if isinstance(result, Ensemble):
        said |= {"d": result.d, "trainer": repr(result.trainer), "conditions": dict(result.conditions)}
        said |= {"networks": networks_of(result), "failures": dict(result.failures)}
    return {**said, "caveats": list(result.caveats), "hints": list(hints_of(result))}


def _every_line(result: Any) -> list[Line]:
    """The numbers that people ask for, then all others that have an error bar."""
    lines = lines_of(result)
    prediction = getattr(result, "solution", result)
    known = {line.name for line in lines}
    bars: Mapping[str, float] = getattr(prediction, "error_bars", {})
    rest = [Line(name, float(getattr(prediction, name)), float(bar), "") for name, bar in bars.items()]
    return [*lines, *(line for line in rest if line.name not in known)]


def problem_as_dict(problem: Any) -> Any:
    """The model by name, then every field of the problem and of its parts; a part itself by the text that makes it."""
    if not isinstance(problem, LearningProblem):
        return plain(problem)
    return {"model": problem.model.name, **{name: plain(problem.value(name)) for name in problem.names()}}


def plain(value: Any) -> Any:
    """A value as plain Python: numbers, lists, dicts and words; anything else by its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [plain(inner) for inner in value]
    return repr(value)


def _row(row: Row) -> dict[str, Any]:
    return {**plain(row._asdict()), "agrees": bool(row.agrees)}


def _measure(row: Measure) -> dict[str, Any]:
    return {**plain(row._asdict()), "usual": bool(row.usual)}


def networks_of(ensemble: Ensemble, arrays: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One row a seed: its numbers, of the arrays those that are named, and how it ended."""
    rows = []
    for index, seed in enumerate(ensemble.seeds):
        row: dict[str, Any] = {"seed": seed, "d": ensemble.d}
        row |= {one.name: float(getattr(ensemble, one.name)[index]) for one in ensemble.measured}
        if hasattr(ensemble, "converged"):
            row["converged"] = bool(ensemble.converged[index])
        row |= {name: getattr(ensemble, name)[index] for name in arrays}
        failure = ensemble.failures.get(seed)
        rows.append({**row, "outcome": "done" if failure is None else f"failed: {failure}"})
    return rows


def to_dataframe(result: Any) -> pd.DataFrame:
    """A table of pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_dataframe needs the package pandas. Install it with pip.", name="pandas") from error
    if isinstance(result, Ensemble):
        return pd.DataFrame(networks_of(result)).set_index("seed")
    if isinstance(result, Columns):
        columns = {name: result.column(name) for name in result.meanings}
        return pd.DataFrame(columns).set_index(next(iter(columns)))
    if isinstance(result, Comparison):
        return pd.DataFrame([_flat(row) for row in result.rows]).set_index("observable")
    if isinstance(result, TrainedElsewhere):
        return pd.DataFrame([_measure(row) for row in result.rows]).set_index("name")
    head = "threshold" if isinstance(result, SampleSizes) else "observable"
    rows = [
        {head: line.name, "value": line.value, "error_bar": line.bar, "meaning": line.words}
        for line in lines_of(result)
    ]
    return pd.DataFrame(rows, columns=[head, "value", "error_bar", "meaning"]).set_index(head)


def cells_of(table: Columns, most: int = ROWS) -> list[list[str]]:
    """The first rows of a table, each a list of texts in the order of its columns."""
    columns = [[_cell(value) for value in table.column(name)[:most]] for name in table.meanings]
    return [list(row) for row in zip(*columns, strict=True)]


def in_rows(table: Columns, most: int = ROWS) -> list[str]:
    """A table as lines of text, its head and its first rows; the last says how many are left out."""
    rows = [list(table.meanings), *cells_of(table, most)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    left = len(table) - most
    return [*lines, f"... and {left} rows more: to_dataframe() has all"] if left > 0 else lines


def _cell(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(_cell, value))
    return str(value) if isinstance(value, int | np.integer) else numbers.text(float(value))


def _flat(row: Row) -> dict[str, Any]:
    """The row of a comparison with one column a number: the means at each d apart."""
    told = {"observable": row.name, "prediction": row.prediction, "error_bar": row.error_bar}
    for d, mean, error in zip(row.d, row.mean, row.standard_error, strict=True):
        told |= {f"d_{d}": float(mean), f"d_{d}_error": float(error)}
    return {**told, "limit": row.a, "limit_error": row.a_error, "z": row.z, "agrees": bool(row.agrees)}
