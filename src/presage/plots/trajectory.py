"""The way of a training: what is predicted of every step as a line, and the networks that went it as dots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from presage.plots.colours import BLACK, BLUE, GREEN, ORANGE, SKY
from presage.plots.curves import Curve, Ruler, curves_panel
from presage.plots.panel import Panel
from presage.protocol.observables import Observable
from presage.protocol.trajectory import Trajectory
from presage.protocol.trajectory_comparison import TrajectoryComparison

ALONG = Ruler("steps of the training")
SIZES = (BLACK, ORANGE, GREEN, SKY)  # of the networks of each dimension


def trajectory_panels(found: Trajectory) -> list[Panel]:
    """One panel an observable."""
    return [_panel(one, [_predicted(found, one)]) for one in found.observables]


def compared_panels(found: TrajectoryComparison) -> list[Panel]:
    """One panel an observable: the prediction as a line, the mean of the networks of each size as dots."""
    return [
        _panel(one, [_predicted(found.trajectory, one, "predicted"), *_trained(found, one.name)])
        for one in found.observables
    ]


def _panel(observable: Observable, curves: Sequence[Curve]) -> Panel:
    return curves_panel(observable.name, curves, ALONG, observable.axis, fraction=observable.fraction)


def _predicted(found: Trajectory, one: Observable, label: str = "") -> Curve:
    return Curve(found.times, found.values[one.name], found.error_bars[one.name], label, colour=BLUE, dashes="-")


def _trained(found: TrajectoryComparison, name: str) -> list[Curve]:
    rows = found.rows[name]
    return [
        Curve(
            found.times,
            np.array([row.mean[k] for row in rows]),
            np.array([row.standard_error[k] for row in rows]),
            f"networks of d = {d}",
            trained=True,
            colour=SIZES[k % len(SIZES)],
        )
        for k, d in enumerate(rows[0].d)
    ]
