"""A comparison as a table, whoever prints it."""

from __future__ import annotations

from math import isnan
from typing import Any

from presage.protocol.comparison import Comparison
from presage.protocol.numbers import Measured


def headings(found: Comparison) -> dict[str, str]:
    """The columns that people read, by their names in a row; with a single d its mean is what is compared, and once."""
    sizes = found.rows[0].d
    several = len(sizes) > 1
    at = {f"d_{d}": f"d = {d}" for d in sizes if several}
    limit = "d → ∞" if several else "trained"
    head = {"observable": "observable", "prediction": "predicted", **at, "limit": limit}
    return {**head, "z": "z", "verdict": "verdict"}


def compared(found: Comparison) -> list[dict[str, Any]]:
    """One row an observable, by the names of columns; numbers have their error bars."""
    rows = []
    for row in found.rows:
        sizes = zip(row.d, row.mean, row.standard_error, strict=True)
        at = {f"d_{d}": Measured(float(mean), float(error)) for d, mean, error in sizes}
        predicted, limit = Measured(row.prediction, row.error_bar), Measured(row.a, row.a_error)
        head = {"observable": row.name, "prediction": predicted, **at, "limit": limit}
        rows.append({**head, "z": float(row.z), "verdict": row.verdict})
    return rows


def score(z: float) -> str:
    """A number of standard errors; nothing where it is not known."""
    return "" if isnan(z) else f"{z:+.1f}"
