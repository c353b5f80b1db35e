"""The picture of a sweep: the numbers of its table along its longest grid, one curve for each point of the others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from presage.cli import cells
from presage.cli.curve_picture import AXES, LABELS
from presage.cli.mistakes import CommandError
from presage.cli.pictures import caption
from presage.cli.problem_options import Given
from presage.figures.style import COLOURS, canvas, dots, key, line, print_caveats, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 4
MOST_CURVES = len(COLOURS)  # more cannot be told apart


def check_curves(options: dict[str, Any]) -> None:
    """Refuse what could not be drawn, before anything is computed."""
    axes = {name: value for name, value in options.items() if isinstance(value, list)}
    along = _along(axes)
    curves = prod(len(values) for name, values in axes.items() if name != along)
    if curves > MOST_CURVES:
        raise CommandError(
            f"`--plot` draws at most {MOST_CURVES} curves along {along}: more cannot be told apart. Got {curves}. "
            "Use shorter grids, or --csv."
        )


def draw(title: str, found: Any, shown: Sequence[str], given: Given) -> Figure:
    """One panel an observable; lines are predictions with their error bands, dots are trained networks."""
    axes = {str(name): found[name].values.tolist() for name in found.dims if name in found.coords}
    along = _along(axes)
    others = {name: values for name, values in axes.items() if name != along}
    observables = [name for name in shown if name in found and found[name].notnull().any()][:MOST_PANELS]
    trained = "n_seeds" in found
    with style():
        figure, panels = canvas(1, len(observables), width=2.9 * len(observables) + 0.6, height=3.1, squeeze=False)
        handles = []
        for number, values in enumerate(itertools.product(*others.values())):
            at = dict(zip(others, values, strict=True))
            for axis, name in zip(panels[0], observables, strict=True):
                mark = {} if trained or len(axes[along]) > 11 else {"marker": "o"}
                (dots if trained else line)(axis, found.sel(at), along, name, number=number, **mark)
            words = ", ".join(f"{name.replace('_', ' ')} {cells.place(value)}" for name, value in at.items())
            handles.append(key(number, words, **({"linestyle": "none"} if trained else {"marker": ""})))
        for axis, name in zip(panels[0], observables, strict=True):
            axis.set(xlabel=AXES.get(along, along.replace("_", " ")), ylabel=LABELS.get(name, name.replace("_", " ")))
            if along in given.grids() and given.is_logarithmic(along):
                axis.set_xscale("log")
        if others:
            panels[0][0].legend(handles=handles)
        figure.suptitle(caption(title, 22 + 40 * len(observables)), fontsize=8)
        print_caveats(figure, {"sweep": found})
    return figure


def _along(axes: dict[str, list[Any]]) -> str:
    """The longest grid of numbers."""
    numbers = {name: values for name, values in axes.items() if all(isinstance(value, int | float) for value in values)}
    return max(numbers, key=lambda name: len(numbers[name]))
