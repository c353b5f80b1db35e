"""From the records of cells to one labelled table."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from presage.protocol.fields import Number
from presage.protocol.observables import Observable, by_name
from presage.sweeps.grid import Grid
from presage.sweeps.observed import BAR
from presage.sweeps.outcome import NOT_YET
from presage.sweeps.store import Record

if TYPE_CHECKING:
    import xarray as xr

INNER = {"eigenvalues": ("seed", "eigenvalue"), "singular_values": ("seed", "singular_value")}
RESERVED = ("outcome", "caveats", "seconds")


def table(grid: Grid, records: dict[str, Record], attributes: dict[str, Any]) -> xr.Dataset:
    """One variable an observable, one dimension an axis of the grid; a cell without a result is NaN, with a reason."""
    import xarray as xr

    rows = [records.get(cell.key) for cell in grid.cells]
    names = list(dict.fromkeys(name for row in rows if row is not None for name in row["values"]))
    data: dict[str, Any] = {}
    labels = _names_in_the_table(names, {*grid.names, *RESERVED})
    taken = {*labels.values(), *grid.names, *RESERVED}
    meanings = {row.get("bars", "") for row in rows if row is not None and not row["failed"]}
    meaning = {"long_name": meanings.pop()} if len(meanings) == 1 and "" not in meanings else {}
    declared = _observables(grid)
    inner = ("step",) if _verb(grid) == "trajectory" else ()
    for name, label in labels.items():
        values = [None if row is None else row["values"].get(name) for row in rows]
        dimensions, array = _column(label, values, grid.shape, taken, inner)
        about = meaning if name.endswith(BAR) else _about(declared.get(name))
        data[label] = ((*grid.axes, *dimensions), array, about)
    for name, empty in (("outcome", NOT_YET), ("caveats", "")):
        words = np.array([empty if row is None else row[name] for row in rows], dtype=object)
        data[name] = (tuple(grid.axes), words.reshape(grid.shape))
    seconds = np.array([np.nan if row is None else row["seconds"] for row in rows])
    data["seconds"] = (tuple(grid.axes), seconds.reshape(grid.shape), {"long_name": "time that the cell took"})
    return xr.Dataset(data, coords=_coordinates(grid), attrs=attributes)


def _observables(grid: Grid) -> dict[str, Observable]:
    """What the model declares of the numbers that it shows, by name; the function that is swept has the last word."""
    model = grid.problem.model
    verb = _verb(grid)
    own = model.measured if verb == "simulate" else model.observables.get(verb, ())
    every = itertools.chain(model.measured, *model.observables.values(), own)
    return by_name(every)


def _verb(grid: Grid) -> str:
    """The name of what is swept."""
    return str(getattr(getattr(grid.run, "func", grid.run), "__name__", ""))


def _about(observable: Observable | None) -> dict[str, Any]:
    """What a picture or a reader of the file wants to know of a number; netCDF has no true and false."""
    if observable is None:
        return {}
    flags = {"fraction": int(observable.fraction), "brief": int(observable.brief)}
    kinds = {}
    if observable.stands_for:  # by the names that the CF conventions have for it
        kinds = {
            "flag_values": list(range(len(observable.stands_for))),
            "flag_meanings": " ".join(observable.stands_for),
        }
    return {"long_name": observable.axis, "words": observable.words, **flags, **kinds}


def _names_in_the_table(names: list[str], taken: set[str]) -> dict[str, str]:
    """The observables' names in the table; one that is taken already is followed by _found, and its bar likewise."""
    labels: dict[str, str] = {}
    for name in sorted(names, key=lambda name: name.endswith(BAR)):  # bars last: they are named after their observable
        stem = name.removesuffix(BAR)
        # netCDF has folders behind a slash
        label = labels[stem] + BAR if name != stem and stem in labels else name.replace("/", "_")
        while label in taken or label in labels.values():
            label += "_found"
        labels[name] = label
    return {name: labels[name] for name in names}


def _column(
    name: str, values: list[Any], shape: tuple[int, ...], taken: set[str], usual: tuple[str, ...]
) -> tuple[tuple[str, ...], Any]:
    """The values of one observable as an array; arrays of different lengths are filled up with NaN.

    Their dimensions have names of their own where they are known, or the `usual` ones of what is swept.
    """
    if any(isinstance(value, str) for value in values):
        return (), np.array(["" if value is None else str(value) for value in values], dtype=object).reshape(shape)
    arrays = [np.asarray(np.nan if value is None else value, dtype=np.float64) for value in values]
    depth = max(array.ndim for array in arrays)
    shapes = [(1,) * (depth - array.ndim) + array.shape for array in arrays]
    inner = tuple(max(one[k] for one in shapes) for k in range(depth))
    full = np.full((len(arrays), *inner), np.nan)
    for row, (array, one) in enumerate(zip(arrays, shapes, strict=True)):
        place: Any = (row, *(slice(n) for n in one))
        full[place] = array.reshape(one)
    dimensions: tuple[str, ...] = INNER.get(name, usual)
    if len(dimensions) != depth or taken & set(dimensions):
        dimensions = tuple(_free(f"{name}_{k}", taken) for k in range(depth))
    return dimensions, full.reshape((*shape, *inner))


def _free(name: str, taken: set[str]) -> str:
    return _free(f"{name}_axis", taken) if name in taken else name


def _coordinates(grid: Grid) -> dict[str, Any]:
    """Numbers and words as they are, laws and trainers by the text that makes them."""
    axes = {name: (name, _labels(values), _axis(grid, name)) for name, values in grid.axes.items()}
    return {**axes, **{name: ((), _labels([value])[0]) for name, value in grid.fixed.items()}}


def _axis(grid: Grid, name: str) -> dict[str, str]:
    """The label and the scale of an axis, as the field is declared; of an option of the function nothing is known."""
    if name not in grid.of_the_problem:
        return {"long_name": grid.problem.model.dimension} if name == "d" and name in grid.options else {}
    field = grid.problem.declaration(name)
    return {"long_name": field.axis(name), "scale": field.scale} if isinstance(field, Number) else {}


def _labels(values: list[Any]) -> Any:
    if all(isinstance(value, bool | int | float | np.number | np.bool_) for value in values):
        return np.array(values)
    return np.array([value if isinstance(value, str) else repr(value) for value in values], dtype=object)
