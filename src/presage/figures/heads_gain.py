"""A learned gain on the output of a head makes up for scores that weight decay has shrunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Gain of the values against weight decay"
SOURCE = "beyond the tied head of [BETKZ25]"

GAIN = 1.5  # of the target
PROBLEM = ps.multihead_attention(
    ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.2, noise=0.5, n_heads=1, combine="mean", target_gain=GAIN
)
DECAYS = {"full": np.geomspace(0.005, 1.0, 15), "quick": np.geomspace(0.02, 0.5, 3)}
TRAINED = {"full": [0.02, 0.06, 0.2, 0.5], "quick": [0.2]}
SIZE = {"full": {"d": 60, "seeds": 6}, "quick": {"d": 24, "seeds": 2}}
NAMES = ("gain", "test_error", "rank")


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """The gain, the test error and the rank against weight decay, predicted and trained."""
    return {
        "theory": slimmed(sweep(PROBLEM, ps.solve, weight_decay=DECAYS[effort]), *NAMES),
        "networks": slimmed(sweep(PROBLEM, ps.simulate, weight_decay=TRAINED[effort], **SIZE[effort]), *NAMES),
    }


def problems() -> dict[str, Any]:
    """Two places of the axis."""
    return {"weak decay": PROBLEM.replace(weight_decay=0.02), "strong decay": PROBLEM}


def draw(parts: Parts) -> Figure:
    """Three panels."""
    with style.style():
        figure, axes = style.canvas(1, 3, height=2.5)
        for axis, (name, words) in zip(
            axes, {"gain": "learned gain", "test_error": "test error", "rank": "rank / d"}.items(), strict=True
        ):
            style.line(axis, parts["theory"], "weight_decay", name, number=0)
            style.dots(axis, parts["networks"], "weight_decay", name, number=0)
            style.logarithmic(axis, "x")
            axis.set(xlabel="weight decay", ylabel=words)
        axes[0].axhline(GAIN, color="0.45", linestyle=":")
        axes[0].annotate(
            "gain of the target", (1.0, GAIN), xytext=(0, -9), textcoords="offset points", ha="right", fontsize=8
        )
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "One tied softmax head with a learned gain on its output, where the target has a gain of 1.5. Weight decay "
        "shrinks the scores, and the gain grows beyond that of the target to make up for it; with next to no weight "
        "decay the scores fit the noise, and it is a little less. A whole value matrix is found up to this one number. "
        "Lines: theory; dots: trained networks."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    trained = parts["networks"]
    return (
        "Two tokens, kappa_0 = 0.5, n = 0.5 d^2, Delta = 0.5. "
        f"Dots: {int(trained.seeds)} networks of d = {int(trained.d)}, bars are two standard errors."
    )
