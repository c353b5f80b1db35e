"""Gradient descent beside the selection: units on frozen features, and an ordinary network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Gradient descent turns to what is selected, before its loss moves"
SOURCE = "after [DVATK26]"

PROBLEM = ps.lofi(ps.SquaresLink([1.0, -0.7, 0.5]), alpha=8000 / 136)
INPUTS = 16
SIZES: dict[str, dict[str, Any]] = {"full": {"n": 8000, "width": 1000}, "quick": {"n": 1500, "width": 200}}
NETWORKS = {"full": 16_000, "quick": 3000}
STEPS = {"full": (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 90, 100, 120, 150, 200), "quick": (10, 50, 100)}
TRAINED = {"full": (40, 80, 160, 240, 320, 400, 480, 560, 640, 800, 960, 1280), "quick": (40, 160, 320)}
DRAWS = {"full": [0, 1, 2], "quick": [0, 1]}
FROZEN = {"alignment": "alignment with the selected", "residual": "residual variance", "r2": r"$R^2$ of the features"}
ORDINARY = {
    "selected": "selected directions",
    "unselected": "other directions",
    "features": "features",
    "test_error": "test error",
}


def frozen(problem: ps.LoFiProblem, *, draw: int, n: int, width: int, effort: str) -> dict[str, Any]:
    """Units on frozen features along the steps of gradient descent."""
    found = ps.gradient_alignment(problem.link, d=INPUTS, n=n, width=width, steps=STEPS[effort], seed=int(draw))
    values = {name: getattr(found, name) for name in FROZEN}
    return values | {"step": np.array(found.steps, dtype=np.float64), "selected_r2": found.selected_r2}


def ordinary(problem: ps.LoFiProblem, *, draw: int, n: int, effort: str) -> dict[str, Any]:
    """An ordinary network along the steps of its training."""
    found = ps.network_alignment(problem.link, d=INPUTS, n=n, steps=TRAINED[effort], seed=int(draw))
    values = {name: getattr(found, name) for name in ORDINARY}
    return values | {"step": np.array(found.steps, dtype=np.float64)}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Both kinds of training, for some draws of target and data."""
    units = sweep(PROBLEM, frozen, draw=DRAWS[effort], effort=effort, **SIZES[effort])
    networks = sweep(PROBLEM, ordinary, draw=DRAWS[effort], effort=effort, n=NETWORKS[effort])
    return {
        "units": slimmed(units, *FROZEN, "step", "selected_r2"),
        "networks": slimmed(networks, *ORDINARY, "step"),
    }


def problems() -> dict[str, Any]:
    """The limit at the samples of the units and of the networks, by all products of two inputs."""
    return {"units": PROBLEM, "networks": PROBLEM.replace(alpha=16_000 / 136)}


def draw(parts: Parts) -> Figure:
    """Units on frozen features on the left, an ordinary network on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.0)
        _curves(axes[0], parts["units"], FROZEN)
        level = float(parts["units"]["selected_r2"].mean())
        axes[0].axhline(level, color=style.GREY, linestyle=":", linewidth=0.9, label=r"$R^2$ of the selected")
        axes[0].set(xlabel="step of gradient descent", ylim=(0.0, 1.05))
        _curves(axes[1], parts["networks"], ORDINARY)
        axes[1].set(xlabel="step of Adam", ylim=(0.0, 1.05))
        style.logarithmic(axes[1], "x")
        axes[0].set_ylabel("units on frozen features")
        axes[1].set_ylabel(r"ordinary network: $R^2$, error")
        for axis in axes:
            style.legend_above(axis, columns=2)
        style.print_caveats(figure, parts)
    return figure


def _curves(axis: Any, table: Any, names: dict[str, str]) -> None:
    step = _rows(table, "step")[0]
    for number, (name, words) in enumerate(names.items()):
        rows = _rows(table, name)
        pen = {"color": style.COLOURS[number], "linestyle": style.LINES[number]}
        axis.plot(step, rows.mean(axis=0), label=words, **pen)
        axis.fill_between(step, rows.min(axis=0), rows.max(axis=0), color=pen["color"], alpha=0.2, linewidth=0.0)


def _rows(table: Any, name: str) -> Any:
    """Values of each draw along the steps."""
    values = table[name]
    (dim,) = [dim for dim in values.dims if dim != "draw"]
    return values.transpose("draw", dim).values


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Labels of three quadratic forms of {INPUTS} inputs. Left: units on frozen random features, trained by full "
        "gradient descent from small weights: how far their leading directions agree with the eigenvectors of the "
        "signal matrix, what is left of the labels, and R^2 of the features by them. They turn to what is selected "
        "while the loss has not moved, and to better features after. Right: an ordinary ReLU network with Adam: R^2 of "
        "the selected directions, of others and of the features in a regression on what changed most in its second "
        "layer, and its test error."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    units, networks = parts["units"], parts["networks"]
    return (
        f"{units.sizes['draw']} draws of target and data each, bands from the least to the largest. Left: "
        f"{int(units.n)} samples, {int(units.width)} features, 64 units log cosh with fixed outputs. Right: "
        f"{int(networks.n)} samples, widths 512 and 64, eight principal components. Experiments without a prediction "
        "along the steps."
    )
