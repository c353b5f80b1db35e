"""Test error and training loss of a quadratic network: theory, the convex solver, and L-BFGS on the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Quadratic network: test error and training loss, with the convex solver and L-BFGS"
SOURCE = "[ETZK25] and the talk on it"

KAPPA_0, NOISE, WEIGHT_DECAY, KAPPA = 0.2, 0.5, 0.02, 1.0
PROBLEM = ps.quadratic_network(
    ps.MarchenkoPastur(KAPPA_0), alpha=0.5, weight_decay=WEIGHT_DECAY, noise=NOISE, kappa=KAPPA
)
CONVEX, GRADIENT = ps.ProximalGradient(tol=1e-4), ps.LBFGS(tol=1e-4)
ALPHAS = {"full": np.geomspace(0.04, 2.5, 81), "quick": np.geomspace(0.04, 2.5, 41)}
TRAINED = {"full": [0.05, 0.1, 0.2, 0.28, 0.35, 0.5, 0.75, 1.0, 1.5], "quick": [0.1, 0.28, 0.5, 1.0]}
D = {"full": 100, "quick": 50}
SEEDS = {"full": 8, "quick": 4}
# The two kinds of dots lie on each other: a large hollow square, and a small full circle in it.
SQUARE: dict[str, Any] = {
    "marker": "s",
    "markersize": 6.5,
    "markerfacecolor": "none",
    "markeredgecolor": style.ORANGE,
    "markeredgewidth": 1.1,
    "color": style.ORANGE,
}
DOT: dict[str, Any] = {"marker": "o", "markersize": 2.8, "color": style.BLACK}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Predictions at the weight decay of the talk and in the limit of none, and networks trained in two ways."""
    trained = sweep(
        PROBLEM,
        ps.simulate,
        alpha=TRAINED[effort],
        trainer=[CONVEX, GRADIENT],
        d=D[effort],
        seeds=SEEDS[effort],
        n_test=1000,
    )
    names = ("estimation_error", "train_loss", "rank")
    limit = sweep(PROBLEM, ps.ridgeless, alpha=ALPHAS[effort])
    return {
        "theory": slimmed(sweep(PROBLEM, ps.solve, alpha=ALPHAS[effort]), *names),
        "limit": slimmed(limit, "estimation_error", "train_error"),
        "trained": slimmed(trained, *names),
        "thresholds": sweep(PROBLEM, ps.thresholds, noise=[NOISE])[["interpolation", "outcome"]],
    }


def problems() -> dict[str, Any]:
    """Before the peak of the error, at it, and beyond."""
    places = {"few samples": 0.1, "at the peak": 0.28, "many samples": 1.0}
    return {f"{words}, alpha = {alpha:g}": PROBLEM.replace(alpha=alpha) for words, alpha in places.items()}


def draw(parts: Parts) -> Figure:
    """Error on the left, loss on the right, the interpolation threshold in both."""
    theory, trained, limit = parts["theory"], parts["trained"], parts["limit"]
    threshold = float(parts["thresholds"]["interpolation"][0])
    with style.style():
        figure, axes = style.canvas(1, 2, height=2.9)
        for axis, name in zip(axes, ("estimation_error", "train_loss"), strict=True):
            style.line(axis, theory, "alpha", name, label=rf"theory, $\lambda$ = {WEIGHT_DECAY:g}")
            if name == "estimation_error":
                style.line(
                    axis, limit, "alpha", name, color=style.GREY, linestyle=":", label=r"theory, $\lambda\to0^+$"
                )
            for label, trainer, look in ((r"convex solver on $S$", CONVEX, SQUARE), (r"L-BFGS on $W$", GRADIENT, DOT)):
                style.dots(axis, trained.sel(trainer=repr(trainer)), "alpha", name, label=label, **look)
            height = 0.45 if name == "estimation_error" else 0.97  # clear of the curves
            style.threshold(axis, threshold, f"interpolation, {threshold:.4f}", height=height)
            style.logarithmic(axis, "x", "y")
            axis.set(xlabel=r"$\alpha = n/d^2$")
        axes[0].set(ylabel=r"test error $\|S-S_0\|_F^2/d$", ylim=(0.03, 8.0))
        axes[1].set(ylabel=r"training loss $/d^2$")
        axes[0].legend(loc="lower left")
        axes[1].legend(loc="lower right")
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Quadratic network with a Marchenko-Pastur target of rank kappa_0 = {KAPPA_0:g}, noise {NOISE:g}, weight "
        f"decay lambda = {WEIGHT_DECAY:g} and width p = d. Left: test error; right: the minimum of the loss, "
        "penalty included, over d^2. Lines: theory; dots: the convex solver on the matrix S and L-BFGS on the weights "
        "W, which find the same minimum. The error peaks near the interpolation threshold (dashed), up to which "
        "vanishing weight decay (dotted) fits every label."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained = parts["trained"]
    peak = float(parts["theory"]["estimation_error"].sel(alpha=slice(0.2, 0.5)).idxmax())
    convex, gradient = (trained["estimation_error"].sel(trainer=repr(trainer)) for trainer in (CONVEX, GRADIENT))
    open_ = float(abs(convex / gradient - 1.0).max())
    return (
        f"Dots: {int(trained.seeds)} data sets of d = {int(trained.d)}, each learned by the convex solver ({CONVEX}) "
        f"and by L-BFGS ({GRADIENT}); the proven gap of {CONVEX.tol:g} leaves up to {open_:.1%} of the error open. "
        "Bars are two standard errors; the error band of the theory is thinner than its line. The error peaks "
        f"at alpha = {peak:.2f}, the interpolation threshold is alpha = "
        f"{float(parts['thresholds']['interpolation'][0]):.4f}. As in the talk, test error is |S - S_0|^2/d here; "
        "presage's `test_error`, the expected loss "
        "of a fresh noisy sample, is twice that plus the noise. Small matrices are above the limit by a part of "
        "order 1/d, which shows where samples are few. The talk names neither d nor the number of seeds."
    )
