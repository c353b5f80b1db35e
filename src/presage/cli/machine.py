"""Results for machines: JSON without NaN, CSV with a header, nothing else on standard output."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from presage.cli.digits import Measured, text

Row = Mapping[str, Any]


def flat(row: Row) -> dict[str, Any]:
    """A row whose numbers with error bars are two entries each: ``name`` and ``name_bar``."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Measured):
            found[name], found[f"{name}_bar"] = value
        else:
            found[name] = value
    return found


def silent(row: Row) -> list[str]:
    """Sentences about what is not a finite number in a row: JSON and CSV have no word for it."""
    said = []
    for name, value in row.items():
        number = value.value if isinstance(value, Measured) else value
        if isinstance(number, float) and not isfinite(number):
            said.append(f"{name} is {text(number)}.")
        elif isinstance(value, Measured) and not isfinite(value.bar):
            said.append(f"the error bar of {name} is not known.")
    return said


def with_caveats(row: Row, caveats: Sequence[str]) -> dict[str, Any]:
    """A row with its caveats at the end, and a sentence for every number that is not finite."""
    return {**row, "caveats": [*caveats, *silent(row)]}


def as_json(content: Mapping[str, Any]) -> str:
    """One JSON object; what is not a finite number is null."""
    return json.dumps(_plain(content), indent=2, allow_nan=False, ensure_ascii=False)


def as_csv(rows: Iterable[Row]) -> str:
    """A header and one line a row; what is not a finite number is left empty, lists are joined."""
    lines = [flat(row) for row in rows]
    names = list(dict.fromkeys(name for line in lines for name in line))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in flat(value).items()}
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    return [_plain(inner) for inner in value]


def _cell(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return ""
    if isinstance(value, list | tuple):
        return " ".join(str(part) for part in value)
    if isinstance(value, float):
        return repr(float(value))
    return value
