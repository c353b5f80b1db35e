"""Which figures there are, and their data: shipped, recomputed, compared.

A figure is a module of this package with

    TITLE                one line for the list
    SOURCE               where it was published, with its key in CITATION.cff
    data(effort, sweep)  its numbers, as a dict of tables ("quick": coarser, in minutes; "full": those that are shipped)
    problems()           points of it worth going on from, at most six, each with its words: problems that have a name
    draw(parts)          the picture of such numbers
    caption(parts)       what the picture shows, in a few sentences
    details(parts)       how it was computed (sizes, seeds, trainers, numbers), and where it differs from print
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np

from presage.protocol import checks
from presage.sweeps.identity import canonical
from presage.sweeps.observed import BAR
from presage.sweeps.store import write_table
from presage.sweeps.sweep import sweep

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure as Picture

Effort = Literal["quick", "full"]
Parts = dict[str, "xr.Dataset"]
Sweep = Callable[..., "xr.Dataset"]

ACCOUNTS = ("n_seeds", "seconds")  # of the work that went into a table

SEARCHED = {"strength": 3e-2}  # relative: best strengths are found to a hundredth, where the error is flat

DATA = Path(__file__).with_name("data")
NAMES = (
    *(f"attention-{number}" for number in range(1, 7)),
    "quadratic-curve",
    "quadratic-spectra",
    "quadratic-width",
    "bayes-erm",
    "bayes-amp",
    "bilinear",
    "scaling-phases",
    "scaling-curves",
    "scaling-spectra",
    "scaling-decomposition",
    "scaling-width",
    "scaling-attention",
    "features-pooling",
    "features-staircase",
    "features-risk",
    "features-sensitivity",
    "features-layers",
    "features-compositional",
    "features-hierarchy",
    "features-emergence",
    "features-depth",
    "features-gradient",
    "boltzmann-time",
    "boltzmann-signal",
    "boltzmann-sequence",
    "finetuning-decay",
    "finetuning-samples",
    "finetuning-selection",
    "flow-power-laws",
    "heads-untied",
    "heads-specialise",
    "heads-gain",
)


class Figure(Protocol):
    """What a module of a figure has."""

    TITLE: str
    SOURCE: str

    def data(self, effort: Effort, sweep: Sweep = ...) -> Parts:
        """Compute the numbers, by `presage.sweep` or by one that remembers."""

    def problems(self) -> dict[str, Any]:
        """Problems at points of the figure worth going on from, by a few words for each."""

    def draw(self, parts: Parts) -> Picture:
        """Draw them."""

    def caption(self, parts: Parts) -> str:
        """Say what is drawn, in short."""

    def details(self, parts: Parts) -> str:
        """Say how it was computed, and where it differs from print."""


def names() -> list[str]:
    """Names of all figures, in the order of the list."""
    return list(NAMES)


def figure(name: str) -> Figure:
    """The module of a figure."""
    if name not in NAMES:
        reason, remedy = "there is no figure of that name", f"There are {', '.join(NAMES)}."
        raise checks.complaint("name", "be the name of a figure", reason, name, remedy)
    return cast(Figure, importlib.import_module(f"presage.figures.{name.replace('-', '_')}"))


def compute(name: str, effort: Effort, store: Path | None = None) -> Parts:
    """The data of a figure, computed anew. With a folder as `store`, a computation that was interrupted goes on."""
    return figure(name).data(effort, sweep if store is None else _remembering(store / name))


def _remembering(folder: Path) -> Sweep:
    """A sweep with a store of its own for each problem and function."""

    def remembered(problem: Any, run: Any, **grid: Any) -> xr.Dataset:
        text = canonical(problem) + canonical(run)
        return sweep(problem, run, store=folder / hashlib.sha256(text.encode()).hexdigest()[:12], **grid)

    return remembered


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

    Numbers without an error bar have to agree up to rounding, or up to where training ends. What only one of
    them has is a difference too: a part, an observable, a cell that failed in the other. Networks of two sizes are not
    compared, since they differ by a part of order 1/d.
    """
    found = [f"{part}: was not computed again." for part in sorted(known.keys() - recomputed.keys())]
    for part in sorted(recomputed.keys() & known.keys()):
        new, old = _shared(recomputed[part], known[part])
        sizes = [int(table["d"]) for table in (new, old) if "d" in table.coords and table["d"].ndim == 0]
        if len(set(sizes)) > 1:
            found.append(f"{part}: d is {sizes[0]} here and {sizes[1]} there, so that nothing was compared.")
        elif 0 in old.sizes.values():
            found.append(f"{part}: no point is shared, so that nothing was compared.")
        else:
            found += [f"{part}: {words}" for words in _apart(new, old, bars)]
    return found


def _apart(new: xr.Dataset, old: xr.Dataset, bars: float) -> Iterator[str]:
    """Sentences on the observables of two tables of the same points."""
    names = _compared(old)
    if not names:
        yield "has no number that could be compared."
    exact = 1e-4 if "n_seeds" in old.data_vars else 1e-6
    for name in names:
        if name not in new.data_vars:
            yield f"{name} was not computed again."
            continue
        bar = name + BAR
        if bar in new.data_vars and bar in old.data_vars:
            # Error bars of a few seeds are rough, and may vanish: nothing below 1e-6 is a difference.
            allowed = bars * np.hypot(new[bar], old[bar]) + 1e-6 * (1.0 + abs(old[name]))
        else:
            allowed = exact + max(exact, SEARCHED.get(name, 0.0)) * abs(old[name])
        away = abs(new[name] - old[name]) / allowed
        away = away.where(new[name].notnull() == old[name].notnull(), np.inf)  # only one of them failed
        off = away > 1.0
        if bool(off.any()):
            worst = np.unravel_index(int(np.nanargmax(away.values)), away.shape)
            where = {str(axis): old[axis].values[i].item() for axis, i in zip(away.dims, worst, strict=True)}
            yield f"{name} differs at {int(off.sum())} of {off.size} points, most at {where}."


def _compared(table: xr.Dataset) -> list[str]:
    """The numbers of a table that another computation should give again: all but bars and accounts of the work."""
    numbers = {str(name) for name, values in table.data_vars.items() if values.dtype.kind in "fiu"}
    return sorted(name for name in numbers if not name.endswith(BAR) and name not in ACCOUNTS)


def _shared(first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Both tables at the points that they have in common, up to rounding."""
    for axis in set(first.dims) & set(second.dims) & set(first.coords) & set(second.coords):
        here, there = first[axis].values, second[axis].values
        if here.dtype.kind in "fiu" and there.dtype.kind in "fiu":
            same = np.isclose(here[:, None], there, rtol=1e-9, atol=1e-12)
        else:
            same = here[:, None] == there
        mine, yours = np.nonzero(same)
        first = first.isel({axis: mine})
        second = second.isel({axis: yours}).assign_coords({axis: first[axis].values})
    # Axes without coordinates count from the first seed, eigenvalue or bulk: what one has more is not shared.
    for axis in (set(first.dims) & set(second.dims)) - set(first.coords) - set(second.coords):
        length = min(first.sizes[axis], second.sizes[axis])
        first, second = first.isel({axis: slice(length)}), second.isel({axis: slice(length)})
    return first, second
