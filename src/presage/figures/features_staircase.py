"""Features of falling size come out of the noise one by one: their overlaps, and how many are recovered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Features that are recovered one by one"
SOURCE = "[DKLM26a]"

FEATURES, DECAY, NOISE = 12, 1.0, 0.5
PROBLEM = ps.multi_index(ps.HermiteLink(2), alpha=100.0, features=FEATURES, decay=DECAY, noise=NOISE)
SHOWN = (1, 2, 4, 8, 12)  # features on the left
ALPHAS = {"full": np.geomspace(1.0, 2000.0, 121), "quick": np.geomspace(1.0, 2000.0, 25)}
TRAINED = {"full": [2.0, 5.0, 12.0, 30.0, 75.0, 180.0, 450.0, 1100.0], "quick": [5.0, 30.0, 180.0]}
D = {"full": 300, "quick": 100}
SEEDS = {"full": 8, "quick": 3}
TEST = 1000  # nothing is drawn of the risk


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Overlap of every feature against the number of samples, and thresholds; estimators at some of them."""
    size: dict[str, Any] = {"d": D[effort], "seeds": SEEDS[effort], "n_test": TEST, "n_readout": TEST}
    names = [f"overlap_{k}" for k in range(1, FEATURES + 1)]
    return {
        "theory": slimmed(sweep(PROBLEM, overlaps, alpha=ALPHAS[effort]), *names, "recovered"),
        "possible": slimmed(
            sweep(PROBLEM, steps, features=list(range(1, FEATURES + 1))), "alpha_of_last", "best_of_last"
        ),
        "trained": slimmed(sweep(PROBLEM, ps.simulate, alpha=TRAINED[effort], **size), "recovered", "overlaps"),
    }


def overlaps(problem: ps.MultiIndexProblem) -> dict[str, float]:
    """Overlap of each feature by its number, and how many are above their threshold."""
    found = ps.solve(problem)
    return {**{f"overlap_{k}": float(q) for k, q in enumerate(found.overlaps, 1)}, "recovered": float(found.recovered)}


def steps(problem: ps.MultiIndexProblem) -> dict[str, float]:
    """Where one feature more is recovered, of all twelve: by the bounded labels, and by the best method."""
    found = ps.thresholds(problem.replace(features=FEATURES))
    last = problem.features - 1
    return {"alpha_of_last": float(found.alpha[last]), "best_of_last": float(found.best[last])}


def problems() -> dict[str, Any]:
    """Between the first features and the last, with bounded labels and with the labels themselves."""
    return {
        "half of the features": PROBLEM.replace(alpha=30.0),
        "all features": PROBLEM.replace(alpha=450.0),
        "weighted by the labels themselves": PROBLEM.replace(alpha=450.0, preprocessing="identity"),
        "absolute values": PROBLEM.replace(link=ps.AbsoluteLink(), alpha=160.0, features=8),
    }


def draw(parts: Parts) -> Figure:
    """Overlaps on the left, the staircase on the right."""
    theory, trained, possible = parts["theory"], parts["trained"], parts["possible"]
    mean, bar = measured(parts)
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.0)
        for number, k in enumerate(SHOWN):
            style.line(axes[0], theory, "alpha", f"overlap_{k}", number=number)
            settings = style.key(number, f"$k$ = {k}")
            axes[0].errorbar(
                trained.alpha.values,
                mean[:, k - 1],
                2.0 * bar[:, k - 1],
                linestyle="none",
                marker=settings.get_marker(),
                color=settings.get_color(),
                markeredgecolor=style.BLACK,
                markeredgewidth=0.4,
                capsize=1.5,
                elinewidth=0.8,
                zorder=3,
            )
        axes[0].set(xlabel=r"$\alpha = n/d$", ylabel=r"overlap $\|P w_k\|^2$", ylim=(-0.04, 1.06), xlim=(1.0, 2000.0))
        style.legend_above(axes[0], columns=3, handles=[style.key(i, f"feature {k}") for i, k in enumerate(SHOWN)])
        counts = np.arange(1, FEATURES + 1)
        for name, number, words in (
            ("alpha_of_last", 0, "bounded labels"),
            ("best_of_last", 2, "best first-order method"),
        ):
            at = np.concatenate([possible[name].values, [2000.0]])
            axes[1].step(
                at,
                np.concatenate([counts, counts[-1:]]),
                where="post",
                color=style.COLOURS[number],
                linestyle=style.LINES[number],
                label=words,
            )
        style.dots(axes[1], trained, "alpha", "recovered", number=0, label="outliers of matrices")
        axes[1].set(xlabel=r"$\alpha = n/d$", ylabel="features recovered", ylim=(-0.4, 13.0), xlim=(0.7, 2000.0))
        for axis in axes:
            style.logarithmic(axis, "x")
        style.legend_above(axes[1], columns=2)
        style.print_caveats(figure, parts)
    return figure


def measured(parts: Parts) -> tuple[Any, Any]:
    """Means of the overlaps over the estimators and their standard errors: alphas in rows, features in columns."""
    values = parts["trained"]["overlaps"].values
    return values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Labels are sums of {FEATURES} features, y = sum_k k^-{DECAY:g} He_2(w_k.x)/sqrt2 plus noise of variance "
        f"{NOISE:g}, and "
        "directions are the outliers of a matrix of samples that are weighted by their bounded labels. Left: "
        "squared projection of "
        "each feature on the recovered subspace against n/d. Lines: theory; dots: matrices. Right: how many "
        "features are recovered, and from where on any first-order method could recover as many."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained = parts["trained"]
    last = float(parts["possible"]["alpha_of_last"].values[-1])
    return (
        f"Dots: {int(trained.seeds)} data sets of d = {int(trained.d)}; bars are two standard errors. A matrix of "
        "finite size smears each "
        f"transition by a part of order d^-1/2. All features are recovered from n/d = {last:.4g} on. Sizes, noise "
        "and preprocessing "
        "are ours; the thresholds follow the paper's k^2, with the exact law of the labels for their constants."
    )
