"""What is on the screen as a picture for a paper: drawn by matplotlib from the numbers that the page shows."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from presage.page.answers import Tell
from presage.page.asked import FieldError
from presage.page.bounds import BOUNDS, beyond, within
from presage.plots.colours import BLACK, COLOURS, LINES
from presage.plots.curves import Curve, Ruler, curves_panel
from presage.plots.learned import Atom, Band, Learned
from presage.plots.panel import Panel
from presage.plots.panel import picture as figure_of
from presage.plots.phase_diagram import Side, map_panel
from presage.plots.spectrum import spectrum_panel
from presage.protocol.errors import InputError

DPI = 200
FORMATS = {"png": "image/png", "svg": "image/svg+xml"}
MOST_LETTERS = 400


def picture(tell: Tell, kind: str, content: Any) -> None:
    """The panels of a screen as the bytes of a file."""
    if _count(content) > BOUNDS["drawn"].most:
        raise beyond("drawn", _count(content))
    out = io.BytesIO()
    try:
        within("panels", len(content["panels"]))
        panels = [_PANELS[panel["kind"]](panel) for panel in content["panels"]]
        figure_of(panels, _escaped(content.get("title", ""))).savefig(out, format=kind, dpi=DPI)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError) as error:
        said = f"{type(error).__name__}: {error}"[:MOST_LETTERS]
        raise FieldError(
            None, f"A picture is drawn of panels with their numbers, and these are none: {said}."
        ) from None
    tell(out.getvalue())


def _count(content: Any) -> int:
    """How many numbers and words there are, at any depth."""
    if isinstance(content, Mapping):
        return sum(map(_count, content.values()))
    return sum(map(_count, content)) if isinstance(content, list) else 1


def _numbers(values: Sequence[Any]) -> Any:
    return np.array([np.nan if value is None else float(value) for value in values])


def _curves(panel: Mapping[str, Any]) -> Panel:
    for several in (panel["curves"], panel["marks"]):
        within("curves", len(several), least=0)
    curves = [
        Curve(
            _numbers(curve["x"]),
            _numbers(curve["y"]),
            _numbers(curve["bar"]),
            str(curve["label"]),
            bool(curve["trained"]),
            COLOURS[number % len(COLOURS)],
            LINES[1] if curve["dashed"] else LINES[0],
        )
        for number, curve in enumerate(panel["curves"])
    ]
    marks = [(str(mark["label"]), float(mark["at"])) for mark in panel["marks"]]
    along = Ruler(_escaped(panel["xlabel"]), bool(panel["xlog"]))
    return curves_panel("curve", curves, along, _escaped(panel["ylabel"]), marks=marks)


class _Shown:
    """A law by the densities that the page shows of it."""

    def __init__(self, bulks: Sequence[Mapping[str, Any]]) -> None:
        self._bulks = [(_numbers(bulk["x"]), _numbers(bulk["density"])) for bulk in bulks]

    def density(self, x: Any) -> Any:
        return np.sum([np.interp(x, at, height, left=0.0, right=0.0) for at, height in self._bulks], axis=0)


def _learned(shown: Mapping[str, Any], words: str) -> Learned:
    bulks = [Band(float(bulk["x"][0]), float(bulk["x"][-1]), float(bulk["mass"])) for bulk in shown["bulks"]]
    atoms = [Atom(float(at), float(mass)) for at, mass in shown["atoms"]]
    outliers = [float(at) for at in shown["outliers"]]
    return Learned(words, _Shown(shown["bulks"]), tuple(bulks), tuple(outliers), tuple(atoms), float(shown["zero"]))


def _spectrum(panel: Mapping[str, Any]) -> Panel:
    """The law that is learned over that of the target, and the histogram of networks where some were trained."""
    words = _escaped(panel["words"])
    learned = "" if panel["spectrum"] is None else _learned(panel["spectrum"], words)
    target = None if panel["target"] is None else _learned(panel["target"], words)
    law, steps = spectrum_panel(learned, words, target), panel["histogram"]

    def draw(axes: Any) -> None:
        law.draw(axes)
        if steps is not None:
            label = _escaped(steps.get("label", "trained"))
            axes.stairs(_numbers(steps["heights"]), _numbers(steps["edges"]), color=BLACK, linewidth=1.2, label=label)

    return Panel(law.name, draw, law.width, law.height)


def _map(panel: Mapping[str, Any]) -> Panel:
    across = Side(_numbers(panel["x"]), Ruler(_escaped(panel["xlabel"]), bool(panel["xlog"])))
    up = Side(_numbers(panel["y"]), Ruler(_escaped(panel["ylabel"]), bool(panel["ylog"])))
    values = np.array([_numbers(row) for row in panel["values"]])
    if not np.isfinite(values).any():
        raise FieldError(None, "A map is drawn when it has a number. Wait until the first is there.")
    return map_panel("map", values, across, up, _escaped(panel["label"]))


def _escaped(text: Any) -> str:
    """A label as it is: matplotlib reads what stands between dollars as a formula."""
    return str(text)[:MOST_LETTERS].replace("$", r"\$")


_PANELS = {"curves": _curves, "spectrum": _spectrum, "map": _map}
