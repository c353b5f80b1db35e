"""Sequential recovery: which features are learned at which sample sizes, and how many."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from presage.plots.colours import BLUE, ORANGE
from presage.plots.panel import Panel
from presage.plots.scales import set_logarithmic
from presage.protocol.ensemble import Floats
from presage.protocol.fields import Number, declarations
from presage.protocol.recovery import Recovery

BY_FEATURE, BY_NUMBER = "features", "number"
FEW = 60  # features up to which each has a thick line of its own


def recovery_panels(found: Recovery) -> list[Panel]:
    """The features against the samples, each a line where it is learned; and the staircase of their number."""
    drawn = {BY_FEATURE: _features, BY_NUMBER: _staircase}
    return [Panel(name, partial(draw, found=found), 5.4, 3.6) for name, draw in drawn.items()]


def _unit(found: Recovery) -> float:
    """What the axis counts in: samples where the target has a dimension, alpha otherwise."""
    return 1.0 if found.d is None else float(found.problem.samples_at_one(found.d))


def _along(axes: Any, found: Recovery) -> None:
    field = declarations(found.problem).get("alpha")
    number = field if isinstance(field, Number) else None
    label = (number.axis("alpha") if number else "alpha") if found.d is None else f"samples n at d = {found.d}"
    own, unit = float(found.problem.alpha), _unit(found)
    if found.followed[0] <= own <= found.followed[1]:
        told = f"this problem, {'alpha' if found.d is None else 'n'} = {own * unit:g}"
        axes.axvline(own * unit, color=ORANGE, linestyle="--", linewidth=1.0, label=told)
    axes.set_xlim(found.followed[0] * unit, found.followed[1] * unit)
    set_logarithmic(axes, "x")
    axes.set_xlabel(label)


def _features(axes: Any, found: Recovery) -> None:
    unit, rows, width = _unit(found), [], 2.2 if len(found.s) <= FEW else 0.8
    lost: list[tuple[float, int]] = []
    for number in range(1, len(found.s) + 1):
        at, learned = found.learned_at(number)
        rows += [(number, left * unit, right * unit) for left, right in _intervals(at, learned, found.followed[1])]
        lost += [(float(alpha) * unit, number) for alpha in at[~learned]]
    if rows:
        feature, left, right = np.array(rows).T
        axes.hlines(feature, left, right, color=BLUE, linewidth=width, label="learned")
    if lost:
        where, feature = np.array(lost).T
        axes.plot(where, feature, "x", color=ORANGE, markersize=3.5, label="forgotten", zorder=3)
    _along(axes, found)
    _up_to(axes, len(found.s))
    axes.set_ylabel(f"feature, {found.order}")


def _intervals(at: Floats, learned: Any, end: float) -> list[tuple[float, float]]:
    """Where a feature is learned: from each crossing at which it is to the next, or to the end."""
    return [(float(at[k]), float(at[k + 1]) if k + 1 < len(at) else end) for k in range(len(at)) if bool(learned[k])]


def _staircase(axes: Any, found: Recovery) -> None:
    edges = np.concatenate([[found.followed[0]], found.alpha, [found.followed[1]]]) * _unit(found)
    counts = np.concatenate([[0], np.cumsum(np.where(found.learned, 1, -1))])
    axes.stairs(counts, edges, baseline=None, color=BLUE, linewidth=1.3)
    _along(axes, found)
    _up_to(axes, len(found.s))
    axes.set_ylabel("number of learned features")


def _up_to(axes: Any, count: int) -> None:
    """An axis of features, by their logarithm where they are many."""
    if count > FEW:
        set_logarithmic(axes, "y")
        axes.set_ylim(0.9, 1.2 * count)
    else:
        axes.set_ylim(0.0, count + 1.0)
