"""Active fine-tuning: label those sequences of a pool on which the frozen layer says least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Active fine-tuning: which sequences of a pool to label"
SOURCE = "[DBZ26]"

LAW = ps.MarchenkoPastur(0.5)
KINDS = {
    "linear": ps.linear_lora(
        LAW,
        pretraining_alpha=0.2,
        pretraining_weight_decay=0.02,
        noise=0.1,
        n_tokens=2,
        alpha=3.0,
        weight_decay=0.5,
    ),
    "softmax": ps.softmax_lora(
        LAW,
        pretraining_alpha=0.5,
        pretraining_weight_decay=0.01,
        noise=0.5,
        n_tokens=2,
        alpha=6.0,
        weight_decay=0.05,
    ),
}
FRACTIONS = {"full": np.geomspace(0.01, 1.0, 13), "quick": [0.05, 1.0]}
TRAINED = {"full": [0.02, 0.1, 0.3, 1.0], "quick": [0.1]}
SIZE = {"full": {"d": 120, "seeds": 12}, "quick": {"d": 30, "seeds": 2}}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Overlap and test error against the fraction that is labelled, and of a recalibrated layer without selection."""
    parts = {}
    for kind, problem in KINDS.items():
        trained = {"selection": TRAINED[effort], **SIZE[effort]}
        names = ("overlap", "test_error")
        parts[kind] = slimmed(sweep(problem, ps.solve, selection=FRACTIONS[effort]), *names)
        parts[f"{kind} trained"] = slimmed(sweep(problem, ps.simulate, **trained), *names)
        parts[f"{kind} recalibrated"] = slimmed(sweep(problem, ps.best_recalibration, selection=[1.0]), *names)
    return parts


def problems() -> dict[str, Any]:
    """Both outputs, a tenth of the pool labelled."""
    return {f"{kind} output": problem.replace(selection=0.1) for kind, problem in KINDS.items()}


def draw(parts: Parts) -> Figure:
    """A linear output on the left, a softmax on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=2.8)
        for axis, kind in zip(axes, KINDS, strict=True):
            style.line(axis, parts[kind], "selection", "overlap", number=0)
            style.dots(axis, parts[f"{kind} trained"], "selection", "overlap", number=0)
            level = float(parts[f"{kind} recalibrated"]["overlap"].values.ravel()[0])
            axis.axhline(level, color=style.ORANGE, linestyle="--", linewidth=1.0)
            style.logarithmic(axis, "x")
            axis.set(xlabel="labelled fraction of the pool")
            handles = [
                style.key(0, "smallest frozen scores"),
                style.key(1, "recalibrated, no selection", marker="none", linestyle="--"),
            ]
            style.legend_above(axis, handles=handles, title=f"{kind} output")
        axes[0].set_ylabel("overlap with the new task")
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "The same number of labels, spent on the sequences of a pool whose frozen scores are smallest: overlap of "
        "the adapter with the new task against the fraction of the pool that is labelled, for a linear output "
        "(left, N' = 3 d) and a softmax (right, N' = 6 d), two tokens each. Lines: theory; dots: both stages "
        "trained; dashed: without selection, after the frozen matrix was scaled by the factor of least test error. "
        "For a linear output a small fraction is as good as the best factor; a softmax gains more, since it is "
        "steepest where its scores are zero."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    trained = parts["linear trained"]
    return (
        f"Dots: {int(trained.seeds)} pairs of d = {int(trained.d)}, bars are two standard errors. The numbers of the "
        "problem are ours."
    )
