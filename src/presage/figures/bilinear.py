"""Bilinear sequence regression: the best of all methods, the nuclear norm, and where each finds the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.models.bilinear.thresholds import weak_recovery

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Bilinear sequence regression and its thresholds"
SOURCE = "[ETBMZ24]"

RANK, ASPECT, WEIGHT_DECAY, WEAK_DECAY = 0.2, 1.0, 0.1, 0.01
TARGET = ps.GaussianProduct(RANK, aspect=ASPECT)
PROBLEM = ps.bilinear_regression(TARGET, alpha=0.4, weight_decay=WEIGHT_DECAY)
# Denser below 0.36 and 0.572, where the best of all methods and the nuclear norm find the target: lines are straight
# between points, and coarse ones would miss the kink.
BENDS = (0.345, 0.354, 0.357, 0.359, 0.3595, 0.36, 0.54, 0.56, 0.5675, 0.5715)
ALPHAS = {"full": np.union1d(np.linspace(0.02, 0.8, 53), BENDS), "quick": np.linspace(0.02, 0.8, 27)}
TRAINED = {"full": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], "quick": [0.2, 0.4, 0.6]}
D = {"full": 60, "quick": 30}
SEEDS = {"full": 12, "quick": 6}
RANKS = np.round(np.linspace(0.02, 1.0, 50), 4)
ASPECTS = [1.0, 2.0]
# Name of a threshold, its words, and its number among colours and lines.
THRESHOLDS = (
    ("weak_recovery", "weak recovery", 2),
    ("strong_recovery", "strong recovery", 0),
    ("minimal_nuclear_norm", "least nuclear norm", 1),
)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Errors of clean labels, predicted and trained, and the thresholds of every rank."""
    name, alpha = "estimation_error", ALPHAS[effort]
    size: dict[str, Any] = {"d": D[effort], "seeds": SEEDS[effort], "n_test": 100}
    decays = [WEIGHT_DECAY, WEAK_DECAY]
    trained = sweep(PROBLEM, ps.simulate, alpha=TRAINED[effort], weight_decay=decays, **size)
    thresholds = sweep(PROBLEM, thresholds_to_leading_order, rank=RANKS, aspect=ASPECTS)
    return {
        "bayes": slimmed(sweep(PROBLEM, ps.bayes_optimal, alpha=alpha), name),
        "erm": slimmed(sweep(PROBLEM, ps.solve, alpha=alpha, weight_decay=[0.0, *decays]), name, "rank"),
        "trained": slimmed(trained, name, "rank"),
        "thresholds": slimmed(thresholds, *(threshold for threshold, _, _ in THRESHOLDS)),
    }


def thresholds_to_leading_order(problem: ps.BilinearProblem) -> dict[str, float]:
    """The thresholds, with the weak recovery of a small rank at every rank: a guide to the eye at larger ones."""
    found = ps.thresholds(problem)
    weak = weak_recovery(problem.target, problem.noise)
    recovered = (found.strong_recovery, found.minimal_nuclear_norm)
    return dict(zip((name for name, _, _ in THRESHOLDS), (weak, *recovered), strict=True))


def problems() -> dict[str, Any]:
    """Every weight decay between the recoveries of the best method and of the nuclear norm; and the longer matrix."""
    longer = PROBLEM.replace(aspect=ASPECTS[1])
    return {
        f"weight decay {WEIGHT_DECAY:g}": PROBLEM,
        f"weight decay {WEAK_DECAY:g}": PROBLEM.replace(weight_decay=WEAK_DECAY),
        "least nuclear norm (weight decay to 0)": PROBLEM.replace(weight_decay=0.0),
        f"thresholds of aspect {ASPECTS[1]:g}": longer,
    }


def draw(parts: Parts) -> Figure:
    """Errors on the left with the thresholds of their rank; thresholds against the rank on the right."""
    thresholds = parts["thresholds"]
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.3)
        name = "estimation_error"
        style.line(axes[0], parts["bayes"], "alpha", name, number=0, label="Bayes-optimal")
        limit = parts["erm"].sel(weight_decay=0.0)
        style.line(axes[0], limit, "alpha", name, number=1, label=r"nuclear norm, $\lambda\to0^+$")
        label = rf"nuclear norm, $\lambda$ = {WEAK_DECAY:g}"
        style.line(axes[0], parts["erm"].sel(weight_decay=WEAK_DECAY), "alpha", name, number=3, label=label)
        weak = parts["trained"].sel(weight_decay=WEAK_DECAY)
        style.dots(axes[0], weak, "alpha", name, number=3, label=rf"trained, $\lambda$ = {WEAK_DECAY:g}")
        label = rf"nuclear norm, $\lambda$ = {WEIGHT_DECAY:g}"
        style.line(axes[0], parts["erm"].sel(weight_decay=WEIGHT_DECAY), "alpha", name, number=2, label=label)
        strong = parts["trained"].sel(weight_decay=WEIGHT_DECAY)
        style.dots(axes[0], strong, "alpha", name, number=2, label=rf"trained, $\lambda$ = {WEIGHT_DECAY:g}")
        for threshold, words, _ in THRESHOLDS:
            value = at_rank(parts, threshold)
            height = 0.46 if threshold == "weak_recovery" else 0.97  # clear of the dots
            style.threshold(axes[0], value, f"{words}, {value:.3f}", height=height, linewidth=0.7)
        axes[0].set(xlabel=r"$\alpha = n/(dL)$", ylabel=r"$\|S-S_0\|_F^2/(dL)$", xlim=(0.0, 0.8), ylim=(-0.03, 1.25))
        style.legend_above(axes[0])
        for aspect, width in zip(ASPECTS, (1.4, 0.7), strict=True):
            for threshold, words, number in THRESHOLDS:
                named = {"label": words} if aspect == ASPECTS[0] else {}
                table = thresholds.sel(aspect=aspect)
                style.line(axes[1], table, "rank", threshold, number=number, linewidth=width, **named)
        axes[1].plot([], [], color=style.BLACK, linewidth=0.7, label=f"thin: aspect {ASPECTS[1]:g}")
        axes[1].plot([RANK] * 3, [at_rank(parts, t) for t, _, _ in THRESHOLDS], "o", color=style.BLACK, markersize=3.0)
        axes[1].set(xlabel="rank of the target, over its shorter side", ylabel=r"threshold in $\alpha$")
        axes[1].set(xlim=(0.0, 1.0), ylim=(0.0, 1.08))
        style.legend_above(axes[1])
        style.print_caveats(figure, parts)
    return figure


def at_rank(parts: Parts, threshold: str) -> float:
    """A threshold of the problem on the left."""
    return float(parts["thresholds"][threshold].sel(rank=RANK, aspect=ASPECT, method="nearest"))


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Bilinear sequence regression, a matrix S = U V/sqrt(r) learned from Tr(S'X), without noise. Left: "
        f"estimation error |S - S_0|^2/(d L) against alpha = n/(d L) for a square target of rank {RANK:g}: "
        "Bayes-optimal, of the least nuclear norm (lambda -> 0+), and at two weight decays. Lines: "
        "theory; dots: trained matrices; dashed: thresholds. Right: the same thresholds for every rank, thick for "
        f"square matrices, thin for aspect {ASPECTS[1]:g}."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained = parts["trained"]
    places = ", ".join(f"{words} {at_rank(parts, threshold):.4f}" for threshold, words, _ in THRESHOLDS)
    return (
        f"Dots: {int(trained.seeds)} data sets of d = L = {int(trained.d)}, by proximal gradient descent on "
        f"S at lambda = {WEIGHT_DECAY:g} and {WEAK_DECAY:g}; "
        "bars are two standard errors, and small matrices are off the limit by a part of order 1/d. "
        f"Thresholds on the left: {places}. Weak recovery is the leading order in a small rank, and at larger ones "
        "learning begins gradually. The thresholds are those of the paper; rank, sizes and weight decays are ours."
    )
