"""What the weight decay of the pre-training does to the fine-tuning: the two stages need not agree on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Fine-tuning against the weight decay of the pre-training"
SOURCE = "[DBZ26]"

PROBLEM = ps.linear_lora(
    ps.MarchenkoPastur(0.5),
    pretraining_alpha=0.2,
    pretraining_weight_decay=0.4,
    noise=0.5,
    n_tokens=2,
    alpha=3.0,
    weight_decay=0.5,
)
KINDS = {"fresh": "new sequences", "recalibrated": "new sequences, recalibrated", "reused": "reused sequences"}
DECAYS = {"full": np.geomspace(0.02, 3.0, 31), "quick": np.geomspace(0.02, 3.0, 7)}
TRAINED = {"full": [0.03, 0.1, 0.3, 0.8, 2.0], "quick": [0.1, 0.8]}
SIZE = {"full": {"d": 120, "seeds": 10}, "quick": {"d": 40, "seeds": 3}}
X = "pretraining_weight_decay"


def recalibrated_adapters(problem: ps.LoraProblem, *, d: int, seeds: int) -> Any:
    """Adapters on a layer that was scaled by the factor that the theory finds best."""
    return ps.simulate(ps.best_recalibration(problem).problem, d=d, seeds=seeds)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Overlap and errors of the three kinds, predicted and measured, and the errors of the pre-training."""
    predicted = {X: DECAYS[effort], "accuracy": 3e-4}
    trained = {X: TRAINED[effort], **SIZE[effort]}
    reused = PROBLEM.replace(reuse="noise")
    names = ("overlap", "test_error")
    return {
        "pretraining": slimmed(sweep(PROBLEM.pretraining, ps.solve, weight_decay=DECAYS[effort]), "test_error"),
        "fresh": slimmed(sweep(PROBLEM, ps.solve, **predicted), *names),
        "recalibrated": slimmed(sweep(PROBLEM, ps.best_recalibration, **predicted), *names),
        "reused": slimmed(sweep(reused, ps.solve, **predicted), *names),
        "fresh trained": slimmed(sweep(PROBLEM, ps.simulate, **trained), *names),
        "recalibrated trained": slimmed(sweep(PROBLEM, recalibrated_adapters, **trained), *names),
        "reused trained": slimmed(sweep(reused, ps.simulate, **trained), *names),
    }


def problems() -> dict[str, Any]:
    """The three kinds at the middle of the axis."""
    best = PROBLEM.replace(recalibration=1.1)
    return {"new sequences": PROBLEM, "recalibrated": best, "reused sequences": PROBLEM.replace(reuse="noise")}


def draw(parts: Parts) -> Figure:
    """Test errors on the left, overlaps on the right, each with the best weight decay of its line."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=2.9)
        handles = [style.key(number, label) for number, label in enumerate(KINDS.values())]
        for axis, name in zip(axes, ("test_error", "overlap"), strict=True):
            for number, kind in enumerate(KINDS):
                line = parts[kind]
                style.line(axis, line, X, name, number=number)
                style.dots(axis, parts[f"{kind} trained"], X, name, number=number)
                best = int(np.argmin(line[name].values) if name == "test_error" else np.argmax(line[name].values))
                at = (float(line[X][best]), float(line[name][best]))
                axis.plot(*at, marker="v", markersize=5, color=style.COLOURS[number], clip_on=False, zorder=4)
            words = "best for the pre-training" if name == "test_error" else ""
            style.threshold(axis, best_of_pretraining(parts), words, height=0.97)
            style.logarithmic(axis, "x")
            axis.set(xlabel="weight decay of the pre-training", ylabel=f"{name.replace('_', ' ')} after fine-tuning")
        style.legend_above(axes[0], columns=2, handles=handles)
        style.legend_above(
            axes[1], columns=1, handles=[style.key(7, "best of each line", marker="v", linestyle="none", color="0.4")]
        )
        style.print_caveats(figure, parts)
    return figure


def best_of_pretraining(parts: Parts) -> float:
    """The weight decay of least test error of the pre-training, of those that were computed."""
    table = parts["pretraining"]
    return float(table["weight_decay"][int(np.argmin(table["test_error"].values))])


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Linear attention is pre-trained with the weight decay of the axis and frozen; an adapter of rank one learns "
        "a new task from N' = 3 d samples: new sequences, new ones after the frozen matrix was scaled by its best "
        "factor, and those of the pre-training with their label noise. Lines: theory; dots: both stages trained; "
        "triangles: the best of each line. On new sequences the best weight decay is that of the pre-training, and "
        "recalibration makes a wrong one matter less. Reused sequences have their best overlap where weight decay is "
        "least, and their best test error near the optimum of the pre-training: a good representation and a good "
        "prediction ask for different pre-trainings."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    trained = parts["fresh trained"]
    return (
        "Two tokens, kappa_0 = 0.5, n = 0.2 d^2, Delta = 0.5. "
        f"Dots: {int(trained.seeds)} pairs of a layer and an adapter of d = {int(trained.d)}, bars are two standard "
        "errors; finite sizes add terms of order 1/sqrt(d) to errors. The numbers of the problem are ours."
    )
