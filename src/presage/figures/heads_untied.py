"""The price of untying: what queries and keys of their own cost where one matrix for both would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Untied against tied attention on the same symmetric target"
SOURCE = "beyond the tied head of [BETKZ25]"

TARGET = ps.MarchenkoPastur(0.5)
PRICE = 0.04  # of an eigenvalue of S: one weight decay for a tied matrix, half of it on each of two
TIED = ps.attention(TARGET, alpha=1.0, weight_decay=PRICE, noise=0.25)
UNTIED = ps.untied_attention(TARGET, alpha=1.0, weight_decay=PRICE / 2, noise=0.25, mask="self")
ALPHAS = {"full": np.geomspace(0.2, 4.0, 9), "quick": np.array([0.5, 2.0])}
TRAINED = {"full": [0.4, 1.0, 2.5], "quick": [1.0]}
SIZE = {"full": {"d": 60, "seeds": 6}, "quick": {"d": 24, "seeds": 2}}
TIED_NAMES = ("test_error", "estimation_error", "rank")
UNTIED_NAMES = (*TIED_NAMES, "symmetric_error", "antisymmetric_error")


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Errors and rank of both against the samples, predicted and trained."""
    trained = {"alpha": TRAINED[effort], **SIZE[effort]}
    return {
        "tied": slimmed(sweep(TIED, ps.solve, alpha=ALPHAS[effort]), *TIED_NAMES),
        "untied": slimmed(sweep(UNTIED, ps.solve, alpha=ALPHAS[effort]), *UNTIED_NAMES),
        "tied trained": slimmed(sweep(TIED, ps.simulate, **trained), *TIED_NAMES),
        "untied trained": slimmed(sweep(UNTIED, ps.simulate, **trained), *UNTIED_NAMES),
    }


def problems() -> dict[str, Any]:
    """Both layers."""
    return {"tied": TIED, "untied": UNTIED}


def draw(parts: Parts) -> Figure:
    """Test errors, estimation errors with their two parts, ranks."""
    with style.style():
        figure, axes = style.canvas(1, 3, height=2.7)
        panels = {
            "test_error": (("tied", 0, "test_error"), ("untied", 1, "test_error")),
            "estimation_error": (
                ("tied", 0, "estimation_error"),
                ("untied", 1, "estimation_error"),
                ("untied", 2, "symmetric_error"),
                ("untied", 3, "antisymmetric_error"),
            ),
            "rank": (("tied", 0, "rank"), ("untied", 1, "rank")),
        }
        for axis, (name, lines) in zip(axes, panels.items(), strict=True):
            for kind, number, column in lines:
                style.line(axis, parts[kind], "alpha", column, number=number)
                style.dots(axis, parts[f"{kind} trained"], "alpha", column, number=number)
            style.logarithmic(axis, "x")
            words = {"test_error": "test error", "estimation_error": "estimation error", "rank": "rank / d"}[name]
            axis.set(xlabel="alpha = n/d²", ylabel=words, ylim=(0, None))
        labels = ("tied", "untied", "its symmetric part", "its antisymmetric part")
        handles = [style.key(number, label) for number, label in enumerate(labels)]
        style.legend_above(axes[0], columns=2, handles=handles[:2])
        style.legend_above(axes[1], columns=2, handles=handles[2:])
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "A symmetric target is learned by a softmax layer that ties its queries to its keys and by one that does not; "
        "an eigenvalue of S costs the same in both. Lines: theory; dots: trained networks. The antisymmetric part of "
        "the untied layer has nothing to find, and what it holds is overfitting alone: the price of untying."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    trained = parts["untied trained"]
    return (
        f"Two tokens, kappa_0 = 0.5, Delta = 0.25, weight decay {PRICE:g} of the tied layer and {PRICE / 2:g} on each "
        f"factor of the untied one. Dots: {int(trained.seeds)} networks of d = {int(trained.d)}, bars are two standard "
        "errors. A label of the untied layer has noise of its own on every score, one of the tied layer the same on "
        "both sides of the diagonal, so that their test errors end at different heights. The weight side of the untied "
        "layer is solved at a finite size; its spread over draws is the band."
    )
