"""Linear and logarithmic axes, and ticks that read 0.6 and not 6 x 10^-1."""

from __future__ import annotations

from math import floor, log10
from typing import Any, Literal

import numpy as np

from presage.protocol.ensemble import Floats

Side = Literal["x", "y"]
DECADES = 3.0  # more than this do not fit a linear axis, whatever is drawn
SHORT = 1.7  # decades below which one, two and five are written
PLAIN = (1e-4, 1e5)  # numbers that are written without a power of ten


def spans_decades(values: Any) -> bool:
    """Whether positive numbers range over so many decades that a linear axis would hide most of them."""
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    return bool(known.size > 1 and known.min() > 0.0 and log10(known.max() / known.min()) >= DECADES)


def is_logarithmic(values: Any, declared: str) -> bool:
    """Whether numbers are drawn by their logarithm: declared so, or over many decades; and none is zero or less."""
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    positive = known.size > 1 and known.min() > 0.0
    return bool(positive and (declared == "logarithmic" or spans_decades(known)))


def set_logarithmic(axes: Any, side: Side) -> None:
    """A logarithmic axis with ticks that can be read: plain numbers, and more than one of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axes, f"set_{side}scale")("log")
    axis = getattr(axes, f"{side}axis")
    axis.set_major_locator(LogLocator(10.0, subs=_subs(axis), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    axis.set_minor_formatter(NullFormatter())


def _subs(axis: Any) -> tuple[float, ...]:
    low, high = sorted(axis.get_view_interval())
    decades = log10(high / low) if low > 0.0 else 2.0 * SHORT
    if decades < 0.5:
        return tuple(map(float, range(1, 10)))
    return (1.0, 2.0, 5.0) if decades < SHORT else (1.0,)


def tick(value: float) -> str:
    """A number beside a tick."""
    if value == 0.0 or PLAIN[0] <= abs(value) < PLAIN[1]:
        return f"{value:.6g}"
    power = floor(log10(abs(value)) + 1e-9)
    mantissa = value / 10.0**power
    factor = "" if abs(mantissa - 1.0) < 1e-6 else f"{mantissa:.3g} \\times "
    return f"${factor}10^{{{power}}}$"


def edges_between(centres: Floats, logarithmic: bool) -> Floats:
    """Edges of cells about increasing centres: half way between them, in the logarithm where the axis is such."""
    x = np.log(centres) if logarithmic else centres
    if x.size == 1:
        step = 0.5 * (abs(x[0]) or 1.0)
        found = np.array([x[0] - step, x[0] + step])
    else:
        middle = 0.5 * (x[1:] + x[:-1])
        found = np.concatenate([[2.0 * x[0] - middle[0]], middle, [2.0 * x[-1] - middle[-1]]])
    return np.exp(found) if logarithmic else found
