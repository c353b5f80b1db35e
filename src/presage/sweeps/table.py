"""From the records of cells to one labelled table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from presage.sweeps.grid import Grid
from presage.sweeps.observed import BAR
from presage.sweeps.store import Record

if TYPE_CHECKING:
    import xarray as xr

NOT_YET = "not computed yet"
INNER = {"eigenvalues": ("seed", "eigenvalue"), "singular_values": ("seed", "singular_value")}
MEANS = {
    "solve": "half width of a 95 % interval",
    "simulate": "standard error of the mean over the seeds",
}


def table(grid: Grid, records: dict[str, Record], attributes: dict[str, Any]) -> xr.Dataset:
    """One variable an observable, one dimension an axis of the grid; a cell without a result is NaN, with a reason."""
    import xarray as xr

    rows = [records.get(cell.key) for cell in grid.cells]
    names = list(dict.fromkeys(name for row in rows if row is not None for name in row["values"]))
    data: dict[str, Any] = {}
    taken = {*grid.names, "outcome", "caveats", "seconds"}
    for name in names:
        values = [None if row is None else row["values"].get(name) for row in rows]
        label = _label(name, taken)
        dimensions, array = _column(label, values, grid)
        data[label] = ((*grid.axes, *dimensions), array, _meaning(name, attributes["run"]))
    for name, empty in (("outcome", NOT_YET), ("caveats", "")):
        words = np.array([empty if row is None else row[name] for row in rows], dtype=object)
        data[name] = (tuple(grid.axes), words.reshape(grid.shape))
    seconds = np.array([np.nan if row is None else row["seconds"] for row in rows])
    data["seconds"] = (tuple(grid.axes), seconds.reshape(grid.shape), {"long_name": "time that the cell took"})
    return xr.Dataset(data, coords=_coordinates(grid), attrs=attributes)


def _label(name: str, taken: set[str]) -> str:
    """The name of an observable in the table; one that an axis has already is followed by _found."""
    stem, bar = (name.removesuffix(BAR), BAR) if name.endswith(BAR) else (name, "")
    return (f"{stem}_found{bar}" if stem in taken else name).replace("/", "_")  # netCDF has folders behind a slash


def _column(name: str, values: list[Any], grid: Grid) -> tuple[tuple[str, ...], Any]:
    """The values of one observable as an array; arrays of different lengths are filled up with NaN."""
    if any(isinstance(value, str) for value in values):
        return (), np.array(["" if value is None else str(value) for value in values], dtype=object).reshape(grid.shape)
    arrays = [np.asarray(np.nan if value is None else value, dtype=np.float64) for value in values]
    depth = max(array.ndim for array in arrays)
    shapes = [(1,) * (depth - array.ndim) + array.shape for array in arrays]
    inner = tuple(max(shape[k] for shape in shapes) for k in range(depth))
    full = np.full((len(arrays), *inner), np.nan)
    for row, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
        place: Any = (row, *(slice(n) for n in shape))
        full[place] = array.reshape(shape)
    dimensions: tuple[str, ...] = INNER.get(name, ())
    if len(dimensions) != depth or grid.names & set(dimensions):
        dimensions = tuple(f"{name}_{k}" for k in range(depth))
    return dimensions, full.reshape((*grid.shape, *inner))


def _meaning(name: str, run: str) -> dict[str, str]:
    if not name.endswith(BAR):
        return {}
    kind = "simulate" if "simulate" in run else "solve"
    return {"long_name": MEANS[kind]}


def _coordinates(grid: Grid) -> dict[str, Any]:
    """Numbers and words as they are, laws and trainers by the text that makes them."""
    axes = {name: (name, _labels(values)) for name, values in grid.axes.items()}
    return {**axes, **{name: ((), _labels([value])[0]) for name, value in grid.fixed.items()}}


def _labels(values: list[Any]) -> Any:
    if all(isinstance(value, bool | int | float | np.number | np.bool_) for value in values):
        return np.array(values)
    return np.array([value if isinstance(value, str) else repr(value) for value in values], dtype=object)
