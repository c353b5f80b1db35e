"""Random hierarchies: accuracy against the samples over n_c m^L, learned layer by layer and by kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Random hierarchies, layer by layer and by kernels"
SOURCE = "[RDKL26] [CPTWW24]; the predicted curves are ours"

SYMBOLS, SYNONYMS, DEPTHS = 8, 4, [2, 3, 4]
PROBLEM = ps.random_hierarchy(alpha=1.0, symbols=SYMBOLS, synonyms=SYNONYMS, depth=3)
SIX = ps.random_hierarchy(alpha=1.0, symbols=6, synonyms=6, depth=3)
LINES = {"full": np.geomspace(0.25, 12.0, 40), "quick": np.geomspace(0.25, 12.0, 12)}
DOTS = {"full": [0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0], "quick": [0.5, 1.0, 2.0, 4.0]}
SEEDS = {"full": 48, "quick": 8}
DEGREES = (2, 4, 8)
KERNELS = [ps.PolynomialKernel(degree=degree) for degree in DEGREES]
KERNEL_DOTS = {"full": [0.5, 1.0, 2.0, 4.0], "quick": [0.5, 1.0]}
KERNEL_DEPTHS = {"full": DEPTHS, "quick": DEPTHS[:2]}
KERNEL_SEEDS = {"full": 4, "quick": 2}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Accuracies of two families of hierarchies, predicted and learned, and those of three kernels."""
    lines, dots = LINES[effort], DOTS[effort]
    size: dict[str, Any] = {"seeds": SEEDS[effort], "n_test": 1000}
    few: dict[str, Any] = {"seeds": KERNEL_SEEDS[effort], "n_test": 1000}
    depths = KERNEL_DEPTHS[effort]
    kernels = sweep(PROBLEM, ps.simulate, alpha=KERNEL_DOTS[effort], depth=depths, trainer=KERNELS, **few)
    return {
        "theory": slimmed(sweep(PROBLEM, ps.solve, alpha=lines, depth=DEPTHS), "accuracy"),
        "learned": slimmed(sweep(PROBLEM, ps.simulate, alpha=dots, depth=DEPTHS, **size), "accuracy"),
        "theory_six": slimmed(sweep(SIX, ps.solve, alpha=lines), "accuracy"),
        "learned_six": slimmed(sweep(SIX, ps.simulate, alpha=dots, **size), "accuracy"),
        "kernels": slimmed(kernels, "accuracy"),
    }


def problems() -> dict[str, Any]:
    """The hierarchy of three levels where layers have begun to learn, and where they are done; and the other one."""
    return {
        "half way, three levels": PROBLEM,
        "nearly learned, three levels": PROBLEM.replace(alpha=2.0),
        "nearly learned, four levels": PROBLEM.replace(alpha=2.0, depth=4),
        "six symbols with six synonyms": SIX,
    }


def draw(parts: Parts) -> Figure:
    """The collapse on the left, predicted and learned; layers and kernels on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.4, sharey=True)
        handles = []
        for number, depth in enumerate(DEPTHS):
            theory, learned = (parts[name].sel(depth=depth) for name in ("theory", "learned"))
            band = theory if depth == PROBLEM.depth else theory.drop_vars("accuracy_bar")  # one is enough to see
            style.line(axes[0], band, "alpha", "accuracy", number=number)
            style.dots(axes[0], learned, "alpha", "accuracy", number=number)
            handles.append(style.key(number, f"{SYMBOLS} symbols, {SYNONYMS} synonyms, depth {depth}"))
        last = len(DEPTHS)
        style.line(axes[0], parts["theory_six"].drop_vars("accuracy_bar"), "alpha", "accuracy", number=last)
        style.dots(axes[0], parts["learned_six"], "alpha", "accuracy", number=last)
        handles.append(style.key(last, f"{SIX.symbols} symbols, {SIX.synonyms} synonyms, depth {SIX.depth}"))
        style.threshold(axes[0], 1.0, r"stated, $n = n_c m^L$", height=0.36)
        style.legend_above(axes[0], columns=1, handles=handles)
        _layers_and_kernels(axes[1], parts)
        for axis in axes:
            style.logarithmic(axis, "x")
            axis.set(xlabel=r"samples  $\alpha = n/(n_c m^L)$", xlim=(0.25, 12.0), ylim=(0.0, 1.06))
        axes[0].set_ylabel("accuracy on fresh samples")
        _once(figure, parts)
    return figure


def _layers_and_kernels(axis: Any, parts: Parts) -> None:
    """The same learners, joined by lines, and the best kernel of each depth, open."""
    handles = []
    for number, depth in enumerate(DEPTHS):
        learned = parts["learned"].sel(depth=depth)
        joined = {"linewidth": 0.8, "linestyle": "-", "color": style.COLOURS[number]}
        axis.plot(learned.alpha, learned.accuracy, **joined)
        style.dots(axis, learned, "alpha", "accuracy", number=number)
        handles.append(style.key(number, f"layers, depth {depth}", linestyle="-"))
    for number, depth in enumerate(DEPTHS):
        if depth in parts["kernels"].depth:
            kernel = best(parts, depth)
            axis.plot(kernel.alpha, kernel.accuracy, linewidth=0.8, linestyle=":", color=style.COLOURS[number])
            hollow = {**style.OPEN, "markersize": 5.0, "markeredgecolor": style.COLOURS[number]}
            style.dots(axis, kernel, "alpha", "accuracy", number=number, **hollow)
            handles.append(style.key(number, f"best kernel, depth {depth}", linestyle=":", **hollow))
    style.legend_above(axis, handles=handles)


def best(parts: Parts, depth: int) -> Any:
    """The best of the kernels at each sample size."""
    kernels = parts["kernels"].sel(depth=depth)
    places = kernels.accuracy.argmax("trainer")
    return kernels[["accuracy", "accuracy_bar"]].isel(trainer=places)


def _once(figure: Figure, parts: Parts) -> None:
    """Caveats of the predictions: those of one table stand for both."""
    style.print_caveats(figure, {name: part for name, part in parts.items() if name in ("theory", "kernels")})


def caption(parts: Parts) -> str:
    """What is drawn."""
    kernels = parts["kernels"]
    top = float(kernels.alpha.max())
    found = ", ".join(f"{float(best(parts, d).accuracy.sel(alpha=top)):.2f} at depth {d}" for d in kernels.depth.values)
    return (
        "Random hierarchies learned layer by layer: accuracy against samples over n_c m^L. Left: dots are learners "
        f"that cluster what tuples say about the class, for {SYMBOLS} symbols with {SYNONYMS} synonyms at three "
        f"depths, over a factor {SYNONYMS**2} in samples, and for {SIX.symbols} with {SIX.synonyms}; lines are a count "
        "of the partitions that beat the true one, and its error bar at depth 3; dashed: where the papers state that "
        "layers learn. Right: the same learners and the best of three polynomial kernels on the whole input, which "
        f"falls behind with the depth: at alpha = {top:g}, {found}."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and what differs from print."""
    learned, kernels = parts["learned"], parts["kernels"]
    return (
        f"Dots: means of {int(learned.n_seeds.max())} learners with rules and samples of their own, k-means from 8 "
        f"starts, and of {int(kernels.n_seeds.max())} kernel ridge regressions of degrees "
        f"{', '.join(map(str, DEGREES))}, of which the best at each sample size is shown; bars are two standard "
        "errors. Single learners are bimodal between a guess and one. The prediction is a counting argument: its error "
        "bars are calibrated on learners, and it is early by about a fifth where the accuracy is one half. The papers "
        "train convolutional networks by gradients, layer by layer; these learn at the same sample sizes "
        "(LayerwiseConvolution) and are not drawn."
    )
