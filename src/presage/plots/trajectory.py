"""The way of a training: what is predicted of every step as a line, and the networks that went it as dots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from presage.plots.colours import BLACK, BLUE, GREEN, ORANGE, SKY
from presage.plots.curves import Curve, Ruler, curves_panel
from presage.plots.panel import Panel
from presage.protocol.ensemble import Floats
from presage.protocol.observables import Observable
from presage.protocol.trajectory import Trajectory
from presage.protocol.trajectory_comparison import TrajectoryComparison

SIZES = (BLACK, ORANGE, GREEN, SKY)  # of the networks of each dimension


def trajectory_panels(found: Trajectory) -> list[Panel]:
    """One panel an observable."""
    return [_panel(found, one, [_predicted(found, one)]) for one in found.observables]


def compared_panels(found: TrajectoryComparison) -> list[Panel]:
    """One panel an observable: the prediction as a line, the mean of the networks of each size as dots."""
    return [
        _panel(found.trajectory, one, [_predicted(found.trajectory, one, "predicted"), *_trained(found, one.name)])
        for one in found.observables
    ]


def _panel(found: Trajectory, observable: Observable, curves: Sequence[Curve]) -> Panel:
    """Along the clock of the trainer; a logarithmic one has no room for the start."""
    along = Ruler(found.trainer.clock, logarithmic=found.trainer.geometric)
    return curves_panel(observable.name, curves, along, observable.axis, fraction=observable.fraction)


def _shown(found: Trajectory, times: Floats) -> NDArray[np.bool_]:
    """Whether a time has a place on the axis."""
    return (times > 0.0) | (not found.trainer.geometric)


def _predicted(found: Trajectory, one: Observable, label: str = "") -> Curve:
    shown = _shown(found, found.times)
    value, bar = found.values[one.name][shown], found.error_bars[one.name][shown]
    return Curve(found.times[shown], value, bar, label, colour=BLUE, dashes="-")


def _trained(found: TrajectoryComparison, name: str) -> list[Curve]:
    shown = _shown(found.trajectory, found.times)
    rows = [row for row, there in zip(found.rows[name], shown, strict=True) if there]
    return [
        Curve(
            found.times[shown],
            np.array([row.mean[k] for row in rows]),
            np.array([row.standard_error[k] for row in rows]),
            f"networks of d = {d}",
            trained=True,
            colour=SIZES[k % len(SIZES)],
        )
        for k, d in enumerate(rows[0].d)
    ]
