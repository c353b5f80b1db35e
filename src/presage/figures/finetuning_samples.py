"""Fine-tuning against its number of samples, beside the best of all methods and the threshold of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Fine-tuning against its samples, and the best of all methods"
SOURCE = "[DBZ26]"

LAW = ps.MarchenkoPastur(0.5)
KINDS = {
    "linear": ps.linear_lora(
        LAW,
        pretraining_alpha=0.2,
        pretraining_weight_decay=0.4,
        noise=0.5,
        n_tokens=2,
        alpha=3.0,
        weight_decay=0.5,
    ),
    "softmax": ps.softmax_lora(
        LAW,
        pretraining_alpha=0.5,
        pretraining_weight_decay=0.05,
        noise=0.5,
        n_tokens=2,
        alpha=6.0,
        weight_decay=0.05,
    ),
}
ALPHAS: dict[str, dict[str, Any]] = {  # from where samples hardly jump
    "full": {"linear": np.geomspace(1.4, 20.0, 16), "softmax": np.geomspace(3.5, 20.0, 10)},
    "quick": {"linear": [2.0, 8.0], "softmax": [6.0]},
}
BAYES = {"full": np.geomspace(0.1, 20.0, 34), "quick": [0.15, 0.5, 4.0]}
TRAINED: dict[str, dict[str, Any]] = {
    "full": {"linear": [0.5, 1.0, 2.0, 5.0, 15.0], "softmax": [1.5, 3.0, 6.0, 15.0]},
    "quick": {"linear": [2.0], "softmax": [6.0]},
}
MESSAGES = {"full": [0.15, 0.3, 0.6, 1.5], "quick": [0.6]}
SIZE = {"full": {"d": 120, "seeds": 8}, "quick": {"d": 30, "seeds": 2}}
LARGE = {"full": {"d": 300, "seeds": 8}, "quick": {"d": 60, "seeds": 2}}


def message_passing(problem: ps.LoraProblem, *, d: int, seeds: int) -> Any:
    """Bayes-optimal message passing at finite size."""
    trainer = ps.PosteriorAMP(ps.bayes_optimal(problem).posterior)
    return ps.simulate(problem, d=d, seeds=seeds, trainer=trainer, n_test=2000)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Trained adapters and the best of all methods, predicted and measured, for both outputs."""
    parts = {}
    for kind, problem in KINDS.items():
        trained = {"alpha": TRAINED[effort][kind], **SIZE[effort]}
        parts[kind] = slimmed(sweep(problem, ps.solve, alpha=ALPHAS[effort][kind]), "overlap")
        parts[f"{kind} best"] = slimmed(sweep(problem, ps.bayes_optimal, alpha=BAYES[effort]), "overlap")
        parts[f"{kind} trained"] = slimmed(sweep(problem, ps.simulate, **trained), "overlap")
        parts[f"{kind} threshold"] = slimmed(sweep(problem, ps.thresholds, alpha=[1.0]), "weak_recovery")
    messages = sweep(KINDS["linear"], message_passing, alpha=MESSAGES[effort], **LARGE[effort])
    return parts | {"linear messages": slimmed(messages, "overlap")}


def problems() -> dict[str, Any]:
    """Both outputs."""
    return {f"{kind} output": problem for kind, problem in KINDS.items()}


def draw(parts: Parts) -> Figure:
    """A linear output on the left, a softmax on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=2.9, sharey=True)
        for axis, kind in zip(axes, KINDS, strict=True):
            style.line(axis, parts[kind], "alpha", "overlap", number=0)
            style.dots(axis, parts[f"{kind} trained"], "alpha", "overlap", number=0)
            style.line(axis, parts[f"{kind} best"], "alpha", "overlap", number=1)
            handles = [style.key(0, "trained adapters")]
            messages = parts.get(f"{kind} messages")
            if messages is not None:
                style.dots(axis, messages, "alpha", "overlap", number=1)
                handles.append(style.key(1, "best method, message passing"))
            else:
                handles.append(style.key(1, "best method", marker="none"))
            style.threshold(axis, float(parts[f"{kind} threshold"]["weak_recovery"].values.ravel()[0]), "weak recovery")
            style.logarithmic(axis, "x")
            axis.set(xlabel=r"samples of the fine-tuning  $\alpha' = N'/d$", ylim=(-0.02, 1.03))
            style.legend_above(axis, handles=handles, title=f"{kind} output")
        axes[0].set_ylabel("overlap with the new task")
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    found = {kind: float(parts[f"{kind} threshold"]["weak_recovery"].values.ravel()[0]) for kind in KINDS}
    return (
        "Overlap of a rank-one adapter with the new task against the samples of the fine-tuning, for a linear "
        "output (left) and a softmax (right), two tokens each. Blue: adapters trained by L-BFGS on a layer that was "
        "trained before (dots) and the theory (line), which is drawn where samples do not jump between minima. "
        f"Orange: the best of all methods, theory and, on the left, message passing. Below {found['linear']:.3g} "
        f"(linear) and {found['softmax']:.3g} (softmax) samples a dimension nobody sees the new task."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    trained, messages = parts["linear trained"], parts["linear messages"]
    return (
        f"Blue dots: {int(trained.seeds)} pairs of d = {int(trained.d)}; orange ones: {int(messages.seeds)} of d = "
        f"{int(messages.d)}; bars are two standard errors. Below the threshold an overlap of order 1/sqrt(d) is "
        "chance. The numbers of the problem are ours."
    )
