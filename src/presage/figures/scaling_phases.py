"""The phases of a quadratic network with a power-law target, over samples and weight decay, on the exact error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.models.attention.theory.scaling.phase import PHASES, WORDS
from presage.models.attention.theory.scaling.phase_map import phase_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Power-law targets: the phases of a quadratic network, on its exact error"
SOURCE = "phases of [DXGTEZLK25]; prefactors, boundaries at finite d and the map are ours"

GAMMA, NOISE, D = 1.25, 0.5, 1000
PROBLEM = ps.quadratic_network(ps.PowerLaw(GAMMA, D), alpha=0.1, weight_decay=0.01, noise=NOISE)
SIDE = {"full": 40, "quick": 12}  # points along each axis of a map
FINE = {"full": 160, "quick": 60}  # of the boundaries, which nothing is integrated for
WHOLE = {"samples": (0.1, 1e9), "weight_decay": (1e-4, 1e5)}  # samples over d
PEAK = 252.0  # samples over d at the peak
NEAR = {"samples": (60.0, 1060.0), "weight_decay": (1e-4, 10.0)}
VIEWS = ("whole", "near")
PLACES = {  # of a few phases: samples over d, weight decay
    "II": (1e4, 30.0),
    "IV": (10.0, 0.01),
    "V": (120.0, 0.01),
    "peak": (PEAK, 0.01),
    "VIa": (1e4, 0.01),
    "VIb": (1e8, 0.01),
}
ROOM = 0.02  # of the side of a map: narrower regions have no room for a name
NUMBERS = ("error", "phase_number", "learned")


def samples(effort: Effort, view: str, count: dict[str, int]) -> Any:
    """Samples over d along a map: by their logarithm, around the peak by that of the distance from it too."""
    if view == "whole":
        return np.geomspace(*WHOLE["samples"], count[effort])
    first, last = (float(np.arcsinh((n - PEAK) / 2.0)) for n in NEAR["samples"])
    return PEAK + 2.0 * np.sinh(np.linspace(first, last, count[effort]))


def strengths(effort: Effort, view: str, count: dict[str, int]) -> Any:
    """Weight decays along a map."""
    return np.geomspace(*(WHOLE if view == "whole" else NEAR)["weight_decay"], count[effort])


def bounded(problem: ps.Problem, *, view: str, effort: Effort) -> dict[str, Any]:
    """The phases over a fine grid, by isolated features on a semicircle: for lines between them."""
    n, weight_decay = samples(effort, view, FINE), strengths(effort, view, FINE)
    found = phase_map(problem, n=D * n, weight_decay=weight_decay)
    return {"samples": n, "decay": weight_decay, "number": found.number}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Exact errors and phases over samples and weight decay, the whole and around the peak; and the boundaries."""
    parts = {}
    for view in VIEWS:
        axes = {"alpha": samples(effort, view, SIDE) / D, "weight_decay": strengths(effort, view, SIDE)}
        table = sweep(PROBLEM, ps.scaling, factor=None, **axes)
        # What a cell says against itself is about laws and exponents, of which nothing is drawn.
        parts[view] = slimmed(table, *NUMBERS).drop_vars("caveats", errors="ignore")
    lines = sweep(PROBLEM, bounded, view=list(VIEWS), effort=effort)
    return {**parts, "boundaries": slimmed(lines, "samples", "decay", "number")}


def problems() -> dict[str, Any]:
    """A place in each of six phases."""
    return {
        f"{phase}: n/d = {n:g}, weight decay {strength:g}": PROBLEM.replace(alpha=n / D, weight_decay=strength)
        for phase, (n, strength) in PLACES.items()
    }


def draw(parts: Parts) -> Figure:
    """The whole map on the left, what is around the peak on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.5)
        for axis, view in zip(axes, VIEWS, strict=True):
            picture = _errors(axis, parts[view])
            _lines(axis, parts["boundaries"].sel(view=view), with_peak=view == "near")
            figure.colorbar(picture, ax=axis, location="top", label=r"error $\|S-S_0\|_F^2/d$", aspect=35, pad=0.02)
            style.logarithmic(axis, "x", "y")
            axis.set(xlabel=r"samples over dimension, $n/d$", ylabel=r"weight decay $\lambda$")
            axis.grid(visible=False)
        _frame(axes[0])
        style.print_caveats(figure, parts)
    return figure


def _errors(axis: Any, table: Any) -> Any:
    """The exact error as colour, a cell a point."""
    from matplotlib.colors import LogNorm

    error = table["error"].transpose("weight_decay", "alpha").values
    sides = _edges(D * table.alpha.values), _edges(table.weight_decay.values)
    scale = LogNorm(np.nanmin(error), np.nanmax(error))
    return axis.pcolormesh(*sides, error, norm=scale, cmap="viridis", rasterized=True)


def _edges(middles: Any) -> Any:
    """Ends of cells, by logarithms half-way between their middles."""
    x = np.log(middles)
    between = 0.5 * (x[1:] + x[:-1])
    return np.exp(np.concatenate([[x[0]], between, [x[-1]]]))


def _frame(axis: Any) -> None:
    """What the other panel shows, on the whole map."""
    from matplotlib.patches import Rectangle

    (left, right), (low, high) = NEAR["samples"], NEAR["weight_decay"]
    axis.add_patch(Rectangle((left, low), right - left, high - low, fill=False, color="white", linestyle=":"))


def _lines(axis: Any, table: Any, *, with_peak: bool) -> None:
    """A line around every phase, and its name where it is widest; a peak that is too narrow to be seen has none."""
    from matplotlib.patheffects import withStroke

    x, y, number = np.log(table["samples"].values), np.log(table["decay"].values), table["number"].values
    if not with_peak:
        beside = np.where(np.exp(x) < PEAK, PHASES.index("V"), PHASES.index("VIa"))
        number = np.where(number == PHASES.index("peak"), beside, number)
    for phase in np.unique(number):
        inside = number == phase
        axis.contour(np.exp(x), np.exp(y), inside.astype(float), [0.5], colors="white", linewidths=0.8)
        at = _middle(inside)
        if at is None:
            continue
        axis.text(
            np.exp(x[at[1]]),
            np.exp(y[at[0]]),
            PHASES[int(phase)],
            color="white",
            fontsize=9.0,
            fontweight="bold",
            ha="center",
            va="center",
            rotation=90 if PHASES[int(phase)] == "peak" else 0,
            path_effects=[withStroke(linewidth=1.8, foreground="black")],
        )


def _middle(inside: Any) -> tuple[int, int] | None:
    """The point of a region that is farthest from its border, in points of the grid; None where it has no room."""
    from scipy.ndimage import distance_transform_edt

    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    row, column = np.unravel_index(int(np.argmax(depth)), depth.shape)
    return (int(row), int(column)) if depth.max() >= ROOM * len(inside) else None


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Exact error of a quadratic network whose target has eigenvalues i^-{GAMMA:g} (d = {D}, noise {NOISE:g}), "
        "over samples and weight decay, and the phases in which different things decide it. Left: all of them; right: "
        f"the part within the dots, around the peak of interpolation at n/d = {PEAK:.0f}. From few samples to many: "
        "nothing is learned (Ia, Ib), weight decay decides (II, III), features are learned one "
        "after the other (IV), noise is fitted (V, the peak, VIa), everything is learned (VIb)."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how far the lines can be trusted."""
    words = "; ".join(f"{phase}, {WORDS[phase]}" for phase in PHASES)
    whole, near = (parts[view] for view in VIEWS)
    off = [(int(unlike(parts, view).sum()), parts[view]["phase_number"].size) for view in VIEWS]
    highest = [float(table["error"].max()) for table in (whole, near)]
    return (
        f"Phases: {words}. "
        f"Colours: {whole.sizes['alpha']} x {whole.sizes['weight_decay']} points of `presage.scaling` each, from "
        f"{float(whole['error'].min()):.3g} to {highest[0]:.3g} and {float(near['error'].min()):.3g} to "
        f"{highest[1]:.3g}; {int(whole['learned'].max())} of {D} features are learned at most. A phase is what the "
        "solution of a point is like (which features are learned, whether noise is kept, which part of the error is "
        f"largest). Lines: the same by isolated features on a semicircle, on {parts['boundaries']['number'].shape[-1]} "
        "points a side; the exact solution puts "
        f"{' and '.join(f'{count} of {size}' for count, size in off)} points of the maps on the other side of the line "
        "next to them. Phases are no jumps of the error: it crosses over from the law of one to that of the next. On "
        "the whole map the peak, narrower than its points, is not outlined."
    )


def unlike(parts: Parts, view: str) -> Any:
    """Which points of a map have another phase by their exact solution than the nearest one of the lines."""
    table, lines = parts[view], parts["boundaries"].sel(view=view)
    pairs = ((lines["samples"], D * table.alpha), (lines["decay"], table.weight_decay))
    column, row = (np.abs(np.log(a.values[:, None] / b.values)).argmin(axis=0) for a, b in pairs)
    return table["phase_number"].values != lines["number"].values[row][:, column].T
