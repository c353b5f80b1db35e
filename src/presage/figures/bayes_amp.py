"""Bayes-optimal message passing beside the Bayes-optimal curve, for softmax and hardmax attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.figures.words import labels

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Bayes-optimal attention: message passing approaches the curve, softmax and hardmax"
SOURCE = "[BTEZ25]"

KAPPA_0, N_TOKENS = 0.5, 2
TARGET = ps.MarchenkoPastur(KAPPA_0)
NOISE = {"softmax": 0.5, "hardmax": 0.0}
PROBLEMS = {
    # The weight decay plays no part: the posterior mean minimises no loss of the weights.
    "softmax": ps.attention(TARGET, alpha=0.5, weight_decay=0.1, noise=NOISE["softmax"], n_tokens=N_TOKENS),
    "hardmax": ps.hardmax_attention(TARGET, alpha=0.5, noise=NOISE["hardmax"]),
}
# Hardmax labels do not know the scale of S: more damping moves it off, and it comes back slowly.
TRAINER = ps.BayesAMP(ps.Denoiser(TARGET), damping=0.05)
ALPHAS = {"full": np.geomspace(0.05, 3.0, 41), "quick": np.geomspace(0.05, 3.0, 21)}
TRAINED = {"full": [0.2, 0.35, 0.6, 1.0, 1.8], "quick": [0.2, 0.6, 1.0]}
SIZES = {"full": [50, 100, 200], "quick": [40, 60]}
SEEDS = {"full": 12, "quick": 4}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Bayes-optimal errors along a curve and at the dots, and message passing at every size."""
    parts: Parts = {}
    for name, problem in PROBLEMS.items():
        alphas = np.union1d(ALPHAS[effort], TRAINED[effort])
        parts[f"{name}_theory"] = slimmed(sweep(problem, ps.bayes_optimal, alpha=alphas), "estimation_error")
        trained = sweep(
            problem,
            ps.simulate,
            d=SIZES[effort],
            alpha=TRAINED[effort],
            seeds=SEEDS[effort],
            trainer=TRAINER,
            n_test=100,
        )
        parts[f"{name}_trained"] = slimmed(trained, "estimation_error")
    return parts


def problems() -> dict[str, Any]:
    """Both channels, at the dots in the middle."""
    return {f"{name}, {labels(NOISE[name])}": problem.replace(alpha=0.6) for name, problem in PROBLEMS.items()}


def draw(parts: Parts) -> Figure:
    """The curves with the largest matrices on the left; how far every size is from them on the right."""
    from matplotlib.colors import to_rgba

    with style.style():
        figure, axes = style.canvas(1, 2, height=2.9)
        for number, name in enumerate(PROBLEMS):
            theory, trained = parts[f"{name}_theory"], parts[f"{name}_trained"]
            words = rf"{name}, $\Delta$ = {NOISE[name]:g}"
            style.line(axes[0], theory, "alpha", "estimation_error", number=number, label=f"Bayes-optimal, {words}")
            largest = trained.isel(d=-1)
            label = f"message passing, {name}"
            style.dots(axes[0], largest, "alpha", "estimation_error", number=number, label=label)
            sizes = trained.d.values
            for k, size in enumerate(sizes):
                away = apart(parts, name).sel(d=size)
                shift = 1.05 ** (len(sizes) * (number - 0.5) + k + 0.5)  # dots of the same alpha beside each other
                filled = to_rgba(style.COLOURS[number], k / (len(sizes) - 1))
                label = f"{name}, d = {size}"
                style.dots(
                    axes[1],
                    away.assign_coords(alpha=away.alpha * shift),
                    "alpha",
                    "estimation_error",
                    number=number,
                    markerfacecolor=filled,
                    label=label,
                )
        axes[1].axhline(0.0, color=style.BLACK, linewidth=0.9)
        axes[0].set(ylabel=r"$\|S-S_0\|_F^2/d$")
        style.logarithmic(axes[0], "y")
        axes[1].set(ylabel="relative distance from the curve")
        for axis in axes:
            style.logarithmic(axis, "x")
            axis.set(xlabel=r"$\alpha = n/d^2$", xlim=(0.045, 3.3))
        axes[0].legend(loc="lower left")
        axes[1].legend(loc="upper left", ncols=2)
        low, high = axes[1].get_ylim()
        axes[1].set_ylim(low, high + 0.4 * (high - low))  # the legend is above the dots
        style.print_caveats(figure, parts)
    return figure


def apart(parts: Parts, name: str) -> xr.Dataset:
    """Relative distance of message passing from the Bayes-optimal error, with its bar."""
    trained = parts[f"{name}_trained"]
    curve = parts[f"{name}_theory"]["estimation_error"].sel(alpha=trained.alpha, method="nearest", tolerance=1e-9)
    curve = curve.assign_coords(alpha=trained.alpha)
    bar = trained["estimation_error_bar"] / curve
    away = trained["estimation_error"] / curve - 1.0
    return trained[[]].assign(estimation_error=away, estimation_error_bar=bar)


def caption(parts: Parts) -> str:
    """What is drawn."""
    trained = parts["softmax_trained"]
    return (
        f"Bayes-optimal estimation error |S - S_0|^2/d of attention with T = {N_TOKENS} tokens and a "
        f"Marchenko-Pastur target of rank kappa_0 = {KAPPA_0:g}, from labels that are rows of a softmax (noise "
        f"{NOISE['softmax']:g} on the scores) or say only which token has the largest score (hardmax, noise "
        f"{NOISE['hardmax']:g}). Left: theory (lines) and Bayes message passing at d = {int(trained.d[-1])} (dots). "
        "Right: the relative distance of message passing from the curve, the fuller the larger d, which shrinks as d "
        "grows."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained = parts["softmax_trained"]
    sizes = ", ".join(str(size) for size in trained.d.values)
    return (
        f"Message passing: BayesAMP with the denoiser of the target's law and damping {TRAINER.damping:g}, on "
        f"{int(trained.seeds)} data sets of d = {sizes}; bars are two standard errors. Below alpha = "
        f"{float(trained.alpha.min()):g} message passing of these sizes does not settle and is left out. Its damping "
        "is small since hardmax labels do not know the scale of S: more damping moves the scale off, and it comes back "
        "slowly. The hardmax curve differs from the numbers published "
        "with [BTEZ25], which come from a score with the bivariate density in place of its derivative; message "
        "passing with the right score approaches the curve drawn here as d grows."
    )
