"""Thresholds of a single feature against its signal: the noise sensitivity exponent is their slope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.models.multi_index.thresholds import weak_signal_threshold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Noise sensitivity: thresholds of weak signals"
SOURCE = "[DKLM26b]"

BALANCED = float(np.exp(1.5) / 4.0)  # of the second cosine: no part of degree two is left
# Part of the figure, its function, its words, and its number among colours and lines.
LINKS = (
    ("modulus", ps.AbsoluteLink(), r"$|z|$, $\beta$ = 1", 0),
    ("cosine", ps.CosineLink(), r"$\cos z$, $\beta$ = 1", 2),
    ("balanced", ps.CosineLink(BALANCED), r"$\cos z - c \cos 2z$, $\beta$ = 2", 1),
)
SIGNALS = {"full": np.geomspace(1e-3, 3.0, 61), "quick": np.geomspace(1e-3, 3.0, 13)}
MEASURED = {"full": [0.1, 0.3, 1.0], "quick": [1.0]}
RATIOS = {"full": [0.4, 0.7, 1.5, 2.5, 4.0, 7.0], "quick": [0.5, 4.0]}
D = {"full": 400, "quick": 150}
SEEDS = {"full": 8, "quick": 3}
PROBLEM = ps.single_index(ps.CosineLink(BALANCED), alpha=100.0, signal=1.0, preprocessing="best")
DOTS = ps.single_index(ps.CosineLink(), alpha=100.0, signal=1.0, preprocessing="best")


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Thresholds of every function against the signal; overlaps of the best preprocessing around the threshold."""
    size: dict[str, Any] = {"d": D[effort], "seeds": SEEDS[effort], "n_test": 1000}
    parts: Parts = {
        name: slimmed(sweep(PROBLEM.replace(link=link), both, signal=SIGNALS[effort]), "exact", "formula")
        for name, link, _, _ in LINKS
    }
    ratios = np.geomspace(0.3, 8.0, 60)
    parts["theory"] = slimmed(sweep(DOTS, at_ratio, ratio=ratios, second=[0.0, BALANCED]), "overlap")
    parts["trained"] = slimmed(
        sweep(DOTS, measured_at_ratio, ratio=RATIOS[effort], second=[0.0, BALANCED], **size), "overlap"
    )
    return parts


def both(problem: ps.MultiIndexProblem) -> dict[str, float]:
    """The exact threshold of the best first-order method, and the formula of weak signals."""
    return {"exact": ps.thresholds(problem).best_first, "formula": weak_signal_threshold(problem)}


def _at(problem: ps.MultiIndexProblem, ratio: float) -> ps.MultiIndexProblem:
    return problem.replace(alpha=ratio * ps.thresholds(problem).first)


def at_ratio(problem: ps.MultiIndexProblem, *, ratio: float) -> dict[str, float]:
    """The overlap at so many times the threshold."""
    return {"overlap": float(ps.solve(_at(problem, ratio)).overlaps[0])}


def measured_at_ratio(
    problem: ps.MultiIndexProblem, *, ratio: float, d: int, seeds: int, n_test: int
) -> dict[str, float]:
    """The same of estimators: their mean, and its standard error."""
    found = ps.simulate(_at(problem, ratio), d=d, seeds=seeds, n_test=n_test, processes=1, progress=False)
    values = found.overlaps[:, 0]
    return {"overlap": float(values.mean()), "overlap_bar": float(values.std(ddof=1) / np.sqrt(len(values)))}


def problems() -> dict[str, Any]:
    """Functions of both exponents at one signal, above their threshold."""
    return {
        "cosine, exponent one": DOTS.replace(alpha=12.0),
        "two cosines, exponent two": PROBLEM,
        "two cosines, by the labels themselves": PROBLEM.replace(preprocessing="identity"),
        "absolute value": PROBLEM.replace(link=ps.AbsoluteLink(), alpha=12.0),
    }


def draw(parts: Parts) -> Figure:
    """Thresholds on the left; overlaps around them on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.0)
        for name, _, words, number in LINKS:
            style.line(axes[0], parts[name], "signal", "exact", number=number, label=words)
            axes[0].plot(
                parts[name].signal.values, parts[name]["formula"].values, color=style.BLACK, linewidth=0.6, zorder=1
            )
        axes[0].plot([], [], color=style.BLACK, linewidth=0.6, label="formula of weak signals")
        axes[0].set(xlabel=r"signal $\lambda$", ylabel=r"threshold $\alpha = n/d$", xlim=(1e-3, 3.0))
        style.logarithmic(axes[0], "x", "y")
        style.legend_above(axes[0])
        for second, number, words in ((0.0, 2, r"$\cos z$"), (BALANCED, 1, r"$\cos z - c \cos 2z$")):
            style.line(axes[1], parts["theory"].sel(second=second), "ratio", "overlap", number=number, label=words)
            style.dots(axes[1], parts["trained"].sel(second=second), "ratio", "overlap", number=number)
        axes[1].set(xlabel=r"samples over the threshold", ylabel="overlap", ylim=(-0.04, 1.0), xlim=(0.3, 8.0))
        style.logarithmic(axes[1], "x")
        style.legend_above(axes[1])
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "A single feature, y = sqrt(lambda) f(w.x) + noise of variance one. Left: number of samples n/d from which on "
        "the best first-order method finds it, for functions of noise sensitivity exponent 1 and 2. Coloured: "
        "exact; thin black: "
        "formula of weak signals, beta!/(lambda^beta E[f^beta (z^2-1)]^2). Right: overlap by the best preprocessing "
        "at lambda = 1, "
        "around the threshold. Lines: theory; dots: estimators."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained = parts["trained"]
    ratios = ", ".join(
        f"{float(parts[name]['exact'].values[0] / parts[name]['formula'].values[0]):.4f} for {name}"
        for name, *_ in LINKS
    )
    return (
        f"Dots: {int(trained.seeds)} data sets of d = {int(trained.d)}; bars are two standard errors. A matrix of "
        "finite size smears the "
        "transition, and eigenvectors count from the edge of the bulk on: overlaps below 0.3 are missed in part. "
        f"Exact threshold over the formula at lambda = 0.001: {ratios}. c = exp(3/2)/4 takes the part of degree two "
        "away. "
        "Functions are ours."
    )
