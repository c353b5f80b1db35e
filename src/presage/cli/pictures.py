"""What `--plot` draws: the pictures of `presage.plots` under the title of the problem, once the numbers are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np

from presage.cli.errors import CommandError
from presage.cli.options import Given
from presage.cli.output import console, save, say
from presage.figures.style import caveats
from presage.plots.colours import BLACK, BLUE, GREEN, GREY, ORANGE
from presage.plots.curves import Curve, Ruler, curves_panel
from presage.plots.panel import Panel, picture
from presage.plots.scales import is_logarithmic
from presage.plots.table import MOST_CURVES, MOST_PANELS, curves_along, map_axes, table_panels
from presage.protocol.fields import Number
from presage.protocol.numbers import Measured
from presage.protocol.observables import Observable

MOST_CAVEATS = 3


def draw(
    path: Path | None, title: str, panels: Callable[[], Sequence[Panel]], *, quiet: bool, said: Sequence[str] = ()
) -> None:
    """Draw and write what was asked for. The numbers are printed by then, so that a picture that fails loses none."""
    if path is None:
        return
    save(picture(panels(), title, said), path)
    if not quiet:
        say(console(), f"drawn: {path}")


def curve(
    given: Given,
    name: str,
    rows: list[dict[str, Any]],
    shown: Sequence[Observable],
    marks: Iterable[tuple[Observable, float]],
) -> list[Panel]:
    """One panel an observable: a line with its error band, the best of all methods, and the thresholds."""
    field = given.fields[name]
    scale = field.scale if isinstance(field, Number) else "linear"
    scale = "logarithmic" if given.is_logarithmic(name) else scale
    along = Ruler(given.axis(name), is_logarithmic([row[name] for row in rows], scale))
    lines = [(threshold.axis, at) for threshold, at in marks]
    panels = []
    for index, one in enumerate(shown):
        colour = (BLUE, ORANGE, GREEN, BLACK)[index % 4]
        curves = [
            _curve(name, one.name, rows, "predicted", colour, "-"),
            _curve(name, f"bayes_{one.name}", rows, "best of all methods", GREY, "--"),
        ]
        known = [found for found in curves if found is not None]
        panels.append(curves_panel(one.name, known, along, one.axis, fraction=one.fraction, marks=lines))
    return panels


def _curve(
    name: str, observable: str, rows: list[dict[str, Any]], label: str, colour: str, dashes: str
) -> Curve | None:
    """The points of one observable; None where no row has it, and a gap where a point failed."""
    values = [row.get(observable) for row in rows]
    pairs = [
        value if isinstance(value, Measured) else Measured(nan if value is None else value, nan) for value in values
    ]
    if not any(isfinite(pair.value) for pair in pairs):
        return None
    x = np.array([row[name] for row in rows], dtype=np.float64)
    value, bar = np.array(pairs, dtype=np.float64).T
    return Curve(x, value, bar, label, colour=colour, dashes=dashes)


def check_curves(options: dict[str, Any]) -> None:
    """Refuse what could not be drawn of a sweep, before anything is computed."""
    axes = {name: value for name, value in options.items() if isinstance(value, list)}
    along, count = curves_along(axes)
    if map_axes(axes) is None and count > MOST_CURVES:
        raise CommandError(
            f"`--plot` draws at most {MOST_CURVES} curves along {along}, or a map over two grids: more curves cannot "
            f"be told apart. Got {count}. Use shorter grids, or --csv."
        )


def sweep(given: Given, found: Any, shown: Sequence[Observable]) -> list[Panel]:
    """The table of a sweep, the observables of a table on the screen first."""
    logarithmic = [name for name in given.grids() if given.is_logarithmic(name)]
    found = found.assign_coords({name: found[name].assign_attrs(scale="logarithmic") for name in logarithmic})
    known = [one.name for one in shown if one.name in found and bool(np.isfinite(found[one.name]).any())]
    return table_panels(found, known[:MOST_PANELS])


def told(found: Any) -> list[str]:
    """The first few caveats of a sweep, to be written under its picture."""
    said = caveats({"sweep": found})
    rest = [f"... and {len(said) - MOST_CAVEATS} more"] if len(said) > MOST_CAVEATS else []
    return [*said[:MOST_CAVEATS], *rest]
