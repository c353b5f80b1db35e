"""What a second layer gains on features of features: errors and overlaps against the samples."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Zero, one and two layers on features of features"
SOURCE = "the algorithm of [DVATK26]; the limit is derived"

PROBLEM = ps.lofi(ps.NestedLink(4), alpha=50.0)
D = {"full": 200, "quick": 60}
ALPHAS = {"full": np.geomspace(5.0, 500.0, 41), "quick": np.geomspace(5.0, 500.0, 7)}
DOTS = {"full": [12.0, 25.0, 50.0, 100.0, 250.0], "quick": [25.0, 100.0]}
SEEDS = {"full": 3, "quick": 2}
LEARNERS = {"lazy": "no layer", "one_layer": "one layer", "two_layers": "two layers"}
NAMES = (*LEARNERS, "overlap", "deep_overlap")


def learned(problem: ps.LoFiProblem, *, d: int, seeds: int) -> dict[str, Any]:
    """Errors and overlaps of learners: means and standard errors."""
    found = ps.layer_errors(problem, d=d, seeds=seeds)
    values = {name: getattr(found, name) for name in NAMES}
    means = {name: float(value.mean()) for name, value in values.items()}
    return means | {f"{name}_bar": float(value.std(ddof=1)) / sqrt(seeds) for name, value in values.items()}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Theory along the samples, and learners at some of them."""
    size = {"d": D[effort], "seeds": SEEDS[effort]}
    return {
        "theory": slimmed(sweep(PROBLEM, ps.solve, alpha=ALPHAS[effort]), "floor", "mean_overlap", "deep_overlap"),
        "learners": slimmed(sweep(PROBLEM, learned, alpha=DOTS[effort], **size), *NAMES),
    }


def problems() -> dict[str, Any]:
    """Before the features emerge, after, and where the second layer has nearly all."""
    return {
        "before they emerge": PROBLEM.replace(alpha=5.0),
        "features have emerged": PROBLEM.replace(alpha=25.0),
        "the second layer gains": PROBLEM.replace(alpha=250.0),
    }


def draw(parts: Parts) -> Figure:
    """Errors on the left, overlaps of both levels on the right."""
    theory, seen = parts["theory"], parts["learners"]
    d = int(seen.d)
    theory, seen = (table.assign_coords(n=("alpha", d * table.alpha.values)) for table in (theory, seen))
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.0)
        style.line(axes[0], theory, "n", "floor", number=0, label="best readout, theory")
        for number, (name, words) in enumerate(LEARNERS.items(), 1):
            dashed = {"linestyle": ":", "linewidth": 0.8}
            axes[0].plot(seen.n.values, seen[name].values, color=style.COLOURS[number], **dashed)
            style.dots(axes[0], seen, "n", name, number=number, label=words)
        axes[0].set(xlabel=f"samples n, D = {d} coordinates", ylabel="error over the variance of labels")
        axes[0].set(ylim=(0.0, 1.12))
        for number, (line, name, words) in enumerate(
            (("mean_overlap", "overlap", "first level"), ("deep_overlap", "deep_overlap", "second level"))
        ):
            style.line(axes[1], theory, "n", line, number=number, label=f"{words}, theory")
            style.dots(axes[1], seen, "n", name, number=number, label=f"{words}, learned")
        axes[1].set(xlabel=f"samples n, D = {d} coordinates", ylabel=r"mean $R^2$ of the features", ylim=(-0.03, 1.03))
        for axis in axes:
            style.logarithmic(axis, "x")
            axis.set_xlim(right=0.95 * float(theory.n[-1]))  # numbers of an axis stay below a power of ten
            style.legend_above(axis, columns=2)
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Labels tanh((g_1^2 - g_2^2)/2), where each g is a sum of squares of four features: of degree eight in the "
        "coordinates. Left: error over the variance of the labels of random features of the coordinates, of one "
        "selected layer and of two, each with a random readout, against the samples. Line: what the best readout of "
        "the first layer leaves. Right: R^2 of the features of both levels; the second level follows the square of the "
        "first."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    seen = parts["learners"]
    least = ps.thresholds(PROBLEM).first
    return (
        f"Dots: {int(seen.seeds)} learners of D = {int(seen.d)} coordinates, the same samples for layers and readout; "
        f"bars are two standard errors. Features emerge at n = {least * int(seen.d):.0f}. The line of the second level "
        "is that of the best quadratic function of the selected features, which a second layer comes near to once it "
        "has emerged itself. There is no theory of the errors with a random readout."
    )
