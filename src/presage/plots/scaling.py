"""A scaling law: the exact error along one number around a point, among the laws of the phases that it passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.plots.colours import BLACK, COLOURS, GREY
from presage.plots.panel import Panel
from presage.plots.scales import set_logarithmic
from presage.protocol.fields import Number
from presage.protocol.observables import by_name
from presage.protocol.scaling import Scaling, ScalingCurve

NARROW = 1.15  # a phase that is narrower than this factor has no room for its name
LABELS = {"n": "number of samples  $n$", "weight_decay": "weight decay"}
LINES = ("--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
ROOM = 2.0  # above and below the exact curve, as a factor: laws beyond are cut, which the curve itself never is


def scaling_panel(found: Scaling, curve: ScalingCurve) -> Panel:
    """The exact error with a dot at the point, a line for each law over its phase, and the boundaries."""

    def draw(axes: Any) -> None:
        for number, (phase, (x, value)) in enumerate(curve.laws.items()):
            style = {"linestyle": LINES[number % len(LINES)], "color": COLOURS[number % len(COLOURS)]}
            axes.plot(x, value, **style, linewidth=1.2, label=f"law of {phase}")
        axes.plot(*curve.composite, color=GREY, linewidth=0.8, label="composite law")
        axes.plot(curve.x, curve.error, color=BLACK, marker=".", markersize=3.0, linewidth=1.0, label="exact")
        axes.plot([curve.at], [found.error], "o", color=BLACK, label=f"here, in {found.phase}")
        for wall in curve.boundaries:
            axes.axvline(wall.value, color=GREY, linestyle="-" if wall.exact else ":", linewidth=0.8)
        set_logarithmic(axes, "x")
        set_logarithmic(axes, "y")
        _name_phases(axes, curve)
        known = np.asarray(curve.error)[np.isfinite(curve.error)]
        axes.set(ylim=(known.min() / ROOM, known.max() * ROOM), xlim=(curve.x[0], curve.x[-1]))
        observable = by_name(found.observables).get("error")
        axes.set(xlabel=_along(found, curve.field), ylabel="error" if observable is None else observable.axis)

    return Panel("scaling", draw, 5.6, 3.8)


def _name_phases(axes: Any, curve: ScalingCurve) -> None:
    """The names of the phases above the curves, where there is room."""
    for phase, left, right in curve.passed:
        if right > NARROW * left:
            place = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "top", "color": GREY}
            axes.text((left * right) ** 0.5, 0.98, phase, fontsize="small", **place)


def _along(found: Scaling, name: str) -> str:
    """The label of the axis along a field, or along the number of samples."""
    declaration = found.problem.declaration(name)
    return LABELS.get(name) or (declaration.axis(name) if isinstance(declaration, Number) else name)
