"""Linear and logarithmic axes, and ticks that read 0.6 and not 6 x 10^-1."""

from __future__ import annotations

from math import floor, log10
from typing import Any, Literal

import numpy as np

from presage.protocol.ensemble import Floats

Side = Literal["x", "y"]
DECADES = 3.0  # more than this do not fit a linear axis, whatever is drawn
FEW = 2.5  # decades of an axis that has numbers between the powers of ten
WRITTEN = ((FEW, (1,)), (1.0, (1, 2, 5)), (0.3, (1, 2, 3, 4, 6, 8)), (0.0, tuple(range(1, 10))))  # by decades seen
LONG = (5e-4, 2e4)  # an axis of many decades that goes beyond these has powers of ten
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
    """An axis of logarithms whose numbers are written as one reads them: 0.6 and not 6 x 10^-1."""
    import matplotlib as mpl
    from matplotlib.ticker import FuncFormatter

    getattr(axes, f"set_{side}scale")("log")
    axis = getattr(axes, f"{side}axis")
    # What is seen is asked for when it is drawn: it may change until then.
    written = FuncFormatter(lambda value, _: log_label(value, *sorted(axis.get_view_interval())))
    axis.set_major_formatter(written)
    axis.set_minor_formatter(written)
    settings: Any = mpl.rcParams
    long, short, gap = (settings[f"{side}tick.{name}"] for name in ("major.size", "minor.size", "major.pad"))
    axis.set_tick_params(which="minor", pad=gap + long - short)  # numbers of short ticks in line with those of long


def log_label(value: float, low: float, high: float) -> str:
    """What to write at `value` on an axis of logarithms from `low` to `high`; nothing where there would be too much.

    Up to about two decades some numbers between the powers of ten are written too. Above that only the powers of ten
    are, as such where plain ones would be long.
    """
    decades = log10(high / low)
    exponent = floor(log10(value) + 1e-9)
    if round(value / 10.0**exponent) not in next(digits for least, digits in WRITTEN if decades >= least):
        return ""
    return tick(value) if decades < FEW or (low > LONG[0] and high < LONG[1]) else f"$10^{{{exponent}}}$"


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
