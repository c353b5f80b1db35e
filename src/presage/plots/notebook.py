"""Results and problems in a notebook: a table, a small picture, the caveats, readable on a light and a dark page."""

from __future__ import annotations

import base64
import dataclasses
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from presage.plots.panel import picture
from presage.plots.plot import panels_of
from presage.protocol import numbers
from presage.protocol.columns import Columns
from presage.protocol.comparison import Comparison
from presage.protocol.comparison_table import compared, headings, score
from presage.protocol.ensemble import Ensemble
from presage.protocol.fields import Number, declarations
from presage.protocol.prediction import SampleSizes
from presage.protocol.problem import LearningProblem
from presage.protocol.scaling import Scaling
from presage.protocol.tabulated import cells_of, hints_of, lines_of, problem_of
from presage.protocol.trained_elsewhere import TrainedElsewhere

DPI = 70
# What a picture may fail by: nothing to draw or a label that is no formula, a computation behind it, no matplotlib or
# none of its fonts, a law of one's own that lacks something.
EXPECTED = (
    ValueError,
    ArithmeticError,
    ImportError,
    OSError,
    AttributeError,
    NotImplementedError,
    np.linalg.LinAlgError,
)
CELL = "text-align:left;padding:0.1em 0.8em 0.1em 0"
FAINT = "opacity:0.75"


def in_html(thing: Any) -> str:
    """A result or a problem as HTML; a picture that cannot be drawn is replaced by the reason."""
    if isinstance(thing, LearningProblem):
        return _div([_head(type(thing).__name__, thing.model.words), _table(*_of_problem(thing)), *_hints(thing)])
    problem = problem_of(thing)
    about = "" if problem is None else repr(problem)
    parts = [_head(type(thing).__name__, _told(thing) or about), _table(*_of_result(thing)), _image(thing)]
    return _div([*parts, *_lines("caveat", thing.caveats), *_hints(thing)])


def _hints(thing: Any) -> list[str]:
    return _lines("hint", hints_of(thing))


def _lines(kind: str, said: Iterable[str]) -> list[str]:
    """Sentences under a table, each once."""
    return [f'<div style="{FAINT}">{kind}: {escape(line)}</div>' for line in dict.fromkeys(said)]


def _div(parts: Iterable[str]) -> str:
    return f"<div>{''.join(parts)}</div>"


def _head(kind: str, words: str) -> str:
    return f'<div><b>{escape(kind)}</b> <span style="{FAINT}">{escape(words)}</span></div>'


def _told(thing: Any) -> str:
    """What stands beside the name of networks, of a table and of what has a verdict; "" where the problem does."""
    if isinstance(thing, Columns):
        return thing.head
    if isinstance(thing, TrainedElsewhere):
        return f"{thing.head}; {thing.solution.problem!r}. {thing.verdict}"
    if not isinstance(thing, Ensemble):
        return str(getattr(thing, "verdict", ""))
    done = len(thing.seeds) - len(thing.failures)
    return f"{done} {thing.noun} of d = {thing.d}, trained by {thing.trainer!r}; {thing.problem!r}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th style="{CELL}">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _range(low: float, high: float) -> str:
    return f"{numbers.text(low)} to {numbers.text(high)}"


def _of_result(thing: Any) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    if isinstance(thing, Comparison):
        return _of_comparison(thing)
    if isinstance(thing, TrainedElsewhere):
        cells = [
            (row.name, *map(numbers.text, (row.value, row.expected)), _range(row.low, row.high), row.words)
            for row in thing.rows
        ]
        verdicts = ["as expected" if row.usual else "not as expected" for row in thing.rows]
        columns = ("measure", "value", "expected", "range", "meaning", "verdict")
        return columns, [(*cell, verdict) for cell, verdict in zip(cells, verdicts, strict=True)]
    if isinstance(thing, SampleSizes):
        rows = [
            (line.name, "no alpha" if line.value == np.inf else numbers.text(line.value), line.words)
            for line in lines_of(thing)
        ]
        return ("threshold", "alpha", "meaning"), rows
    if isinstance(thing, Columns):
        return list(thing.meanings), cells_of(thing)
    value = "mean ± standard error" if isinstance(thing, Ensemble) else "value"
    words = thing.told() if isinstance(thing, Scaling) else []
    return ("observable", value, "meaning"), [
        *words,
        *((o.name, numbers.plus_minus(numbers.Measured(o.value, o.bar)), o.words) for o in lines_of(thing)),
    ]


def _of_comparison(found: Comparison) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    head = headings(found)
    return list(head.values()), [[_cell(row[name]) for name in head] for row in compared(found)]


def _cell(value: Any) -> str:
    if isinstance(value, numbers.Measured):
        return numbers.plus_minus(value)
    return value if isinstance(value, str) else score(value)


def _of_problem(problem: LearningProblem) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    rows: list[Sequence[str]] = []
    for thing, indent in [(problem, ""), *((getattr(problem, part), f"{part}.") for part in problem.parts)]:
        if not dataclasses.is_dataclass(thing):
            continue
        said = declarations(thing)
        for field in dataclasses.fields(thing):
            if indent and field.name not in said:
                continue  # what a part is made of and does not declare is in its text already
            value, about = getattr(thing, field.name), said.get(field.name)
            rows.append((indent + field.name, _value(value), "" if about is None else _meaning(about)))
    return ("field", "value", "meaning"), rows


def _meaning(about: Any) -> str:
    symbol = f" ({about.symbol})" if isinstance(about, Number) and about.symbol and "\\" not in about.symbol else ""
    return f"{about.words}{symbol}"


def _value(value: Any) -> str:
    return numbers.text(value) if isinstance(value, float) else repr(value) if value is not None else "none"


def _image(thing: Any) -> str:
    """The picture of a result, small; where it cannot be drawn, why."""
    out = io.BytesIO()
    try:
        figure = picture(panels_of(thing))
        figure.savefig(out, format="png", dpi=DPI, facecolor="white")
    except EXPECTED as error:
        return f'<div style="{FAINT}">no picture: {escape(str(error) or type(error).__name__)}</div>'
    data = base64.b64encode(out.getvalue()).decode("ascii")
    return f'<img alt="{escape(type(thing).__name__)}" style="max-width:100%" src="data:image/png;base64,{data}"/>'
