"""Two heads that are averaged: from few samples they share the target, from many each finds a head of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Two averaged softmax heads specialise as samples grow"
SOURCE = "beyond the tied head of [BETKZ25]"

PROBLEM = ps.multihead_attention(
    ps.MarchenkoPastur(0.5), alpha=2.0, weight_decay=0.01, noise=0.2, n_heads=2, combine="mean"
)
ALPHAS = {"full": np.geomspace(0.3, 4.0, 8), "quick": np.array([0.5, 2.0])}
TRAINED = {"full": [0.5, 1.0, 2.0], "quick": [2.0]}
SIZE = {"full": {"d": 50, "seeds": 4}, "quick": {"d": 20, "seeds": 2}}
NAMES = ("overlap", "cross_target_overlap", "cross_overlap", "test_error", "estimation_error")


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Overlaps and errors against the samples, predicted and trained."""
    return {
        "theory": slimmed(sweep(PROBLEM, ps.solve, alpha=ALPHAS[effort]), *NAMES),
        "networks": slimmed(sweep(PROBLEM, ps.simulate, alpha=TRAINED[effort], **SIZE[effort]), *NAMES),
    }


def problems() -> dict[str, Any]:
    """Both sides of the figure."""
    return {"few samples": PROBLEM.replace(alpha=0.5), "many samples": PROBLEM}


def draw(parts: Parts) -> Figure:
    """Overlaps on the left, errors on the right."""
    panels = {
        "overlap": {
            "overlap": "with its own head",
            "cross_target_overlap": "with the other",
            "cross_overlap": "of the two",
        },
        "error": {"test_error": "test error", "estimation_error": "estimation error"},
    }
    with style.style():
        figure, axes = style.canvas(1, 2, height=2.8)
        for axis, (words, lines) in zip(axes, panels.items(), strict=True):
            for number, name in enumerate(lines):
                style.line(axis, parts["theory"], "alpha", name, number=number)
                style.dots(axis, parts["networks"], "alpha", name, number=number)
            style.logarithmic(axis, "x")
            axis.set(xlabel="alpha = n/d²", ylabel=words, ylim=(0, None))
            handles = [style.key(number, label) for number, label in enumerate(lines.values())]
            style.legend_above(axis, columns=3, handles=handles)
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Two tied softmax heads whose outputs are averaged learn a target of two. From few samples both overlap alike "
        "with both heads of the target; from more each turns to one of them. The overlap with the other head does not "
        "vanish, since positive matrices that are free of each other overlap by their means. Lines: theory; dots: "
        "trained networks, which lag behind in between, where there are two fixed points and training has other minima."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    trained = parts["networks"]
    return (
        "Two tokens, kappa_0 = 0.5 each, Delta = 0.2, weight decay 0.01. "
        f"Dots: {int(trained.seeds)} networks of d = {int(trained.d)}, each the best of several starts, bars are two "
        "standard errors. The weight side is solved at a finite size. Where heads do not specialise training has "
        "several minima, and overlaps are predicted less well than losses: the caveats say so."
    )
