"""Which figures there are, and their data: shipped, recomputed, compared.

A figure is a module of this package with

    TITLE     one line for the list
    SOURCE    where it was published, with its key in CITATION.cff
    data(effort)     its numbers, as a dict of tables ("quick": coarser, in minutes; "full": those that are shipped)
    draw(parts)      the picture of such numbers
    caption(parts)   what the picture shows, how it was computed, and where it differs from print
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np

from presage import _check
from presage.sweeps.store import write_table

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure as Picture

Effort = Literal["quick", "full"]
Parts = dict[str, "xr.Dataset"]

FINITE_SIZE = 4.0  # networks of two dimensions differ by less than this times 1/d, relative
DATA = Path(__file__).with_name("data")
NAMES = (
    *(f"attention-{number}" for number in range(1, 7)),
    "quadratic-curve",
    "quadratic-spectra",
    "quadratic-width",
    "bayes-erm",
    "bayes-amp",
    "bilinear",
)


class Figure(Protocol):
    """What a module of a figure has."""

    TITLE: str
    SOURCE: str

    def data(self, effort: Effort) -> Parts:
        """Compute the numbers."""

    def draw(self, parts: Parts) -> Picture:
        """Draw them."""

    def caption(self, parts: Parts) -> str:
        """Say what is drawn."""


def names() -> list[str]:
    """Names of all figures, in the order of the list."""
    return list(NAMES)


def figure(name: str) -> Figure:
    """The module of a figure."""
    if name not in NAMES:
        reason, remedy = "there is no figure of that name", f"There are {', '.join(NAMES)}."
        raise _check.complaint("name", "be the name of a figure", reason, name, remedy)
    return cast(Figure, importlib.import_module(f"presage.figures.{name.replace('-', '_')}"))


def shipped(name: str) -> Path:
    """The file with the data of a figure."""
    return DATA / f"{name}.nc"


def load(name: str) -> Parts:
    """The data that ships with presage."""
    figure(name)
    return read(shipped(name))


def read(path: Path) -> Parts:
    """Data of a figure from a file that `save` wrote."""
    import xarray as xr

    with xr.open_datatree(path, engine="h5netcdf") as tree:
        return {part: node.to_dataset().load() for part, node in tree.children.items()}


def save(parts: Parts, path: Path) -> None:
    """Write the data of a figure as one netCDF file, a group a part."""
    import xarray as xr

    write_table(xr.DataTree.from_dict(dict(parts)), path)


def differences(recomputed: Parts, known: Parts, *, bars: float = 4.0) -> list[str]:
    """Where two computations of a figure differ by more than `bars` of their error bars, at the points they share.

    Networks of different dimensions may differ by a few times 1/d besides.
    """
    found: list[str] = []
    for part in sorted(recomputed.keys() & known.keys()):
        new, old = _shared(recomputed[part], known[part])
        finite_size = _finite_size(new, old)
        for name in sorted(str(variable) for variable in new.data_vars if f"{variable}_bar" in new.data_vars):
            # Error bars of a few seeds are rough, and an exact number has none: nothing below 1e-6 is a difference.
            allowed = (
                bars * np.hypot(new[f"{name}_bar"], old[f"{name}_bar"]) + 1e-6 + (1e-6 + finite_size) * abs(old[name])
            )
            excess = abs(new[name] - old[name]) / allowed
            count = int((excess > 1.0).sum())
            if count:
                place = excess.argmax(...) if excess.ndim else {}
                where = {str(axis): excess[axis][index].item() for axis, index in place.items()}
                found.append(f"{part}: {name} differs at {count} of {excess.size} points, most at {where}.")
    return found


def _finite_size(first: Any, second: Any) -> float:
    """What networks of two sizes may differ by, relative; 0 for equal sizes, and where nothing was trained."""
    sizes = {float(d) for table in (first, second) if "d" in table for d in np.ravel(table["d"].values)}
    return FINITE_SIZE / min(sizes) if len(sizes) > 1 else 0.0


def _shared(first: Any, second: Any) -> tuple[Any, Any]:
    """What both tables have with error bars, at the points that they have in common, up to rounding."""
    import xarray as xr

    names = [str(name) for name in first.data_vars if f"{name}_bar" in first and f"{name}_bar" in second]
    pairs = [*names, *(f"{name}_bar" for name in names)]
    first, second = first[pairs], second[pairs]
    for name in set(first.dims) & set(second.dims):
        if name in first.coords and first[name].dtype.kind in "fiu":
            second = second.reindex(
                {name: first[name]}, method="nearest", tolerance=1e-9 * float(abs(first[name]).max())
            )
    first, second = xr.align(first, second, join="inner")
    return first, second
