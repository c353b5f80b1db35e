"""The best of all methods, weight decay on the factors, and a ridge on the matrix itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Bayes-optimal against weight decay against a matrix without factors"
SOURCE = "[BETKZ25] and [BTEZ25], with the talk on [ETZK25]"

KAPPA_0, NOISE, N_TOKENS, WEIGHT_DECAY = 0.2, 0.5, 2, 0.01
TARGET = ps.MarchenkoPastur(KAPPA_0)
FACTORISED = ps.attention(TARGET, alpha=0.3, weight_decay=WEIGHT_DECAY, noise=NOISE, n_tokens=N_TOKENS)
FREE = ps.unfactorized_attention(TARGET, alpha=0.3, ridge=0.01, noise=NOISE, n_tokens=N_TOKENS)
ALPHAS = {"full": np.geomspace(0.03, 3.0, 49), "quick": np.geomspace(0.03, 3.0, 25)}
OPTIMISED = {"full": np.geomspace(0.03, 3.0, 25), "quick": np.geomspace(0.03, 3.0, 5)}
TRAINED = {"full": [0.05, 0.1, 0.2, 0.4, 0.8, 1.6], "quick": [0.1, 0.4]}
# Denser where errors bend: at the left end, and below 0.09 and 0.128, where the best of all methods and weight decay
# find the target. Lines are straight between points, and coarse ones would have corners of their own.
BENDS = (0.015, 0.025, 0.075, 0.083, 0.086, 0.088, 0.089, 0.0895, 0.0898, 0.0899, 0.115, 0.125, 0.1265, 0.1275, 0.248)
CLEAN = np.union1d(np.round(np.linspace(0.01, 0.3, 30), 4), BENDS)
BY_BAYES = {"full": [0.2, 0.4, 0.8, 1.6], "quick": [0.4, 0.8]}  # on fewer samples message passing does not settle
D = {"full": 100, "quick": 40}
SEEDS = {"full": 16, "quick": 4}
BEST = {"alpha": 0.4, "weight_decay": 0.03, "ridge": 0.012}  # rounded
LEAST = 1e-3  # strength at which networks are trained where the best one vanishes
BAYES = ps.BayesAMP(ps.Denoiser(TARGET))
# Name of a method, its words, its number among colours, lines and markers.
METHODS = (
    ("bayes", "Bayes-optimal", 0),
    ("best", r"ERM, best $\lambda$", 1),
    ("fixed", rf"ERM, $\lambda$ = {WEIGHT_DECAY:g}", 2),
    ("free", "no factors, best ridge", 3),
)
LIMITS = {"best": r"ERM, $\lambda\to0^+$", "free": r"no factors, ridge $\to0^+$"}
THRESHOLDS = {"bayes_recovery": "Bayes", "perfect_recovery": "ERM", "unfactorized_recovery": "no factors"}


def best(problem: ps.Problem) -> Any:
    """The strength of the penalty with the least estimation error."""
    return ps.optimal_regularization(problem, measure="estimation_error")


def trained_at_best(problem: ps.Problem, *, d: int, seeds: int, processes: int | None = None) -> Any:
    """Networks trained at that strength, or at a small one where it vanishes."""
    optimum = best(problem)
    there = problem.replace(**{optimum.name: max(optimum.value, LEAST)})
    return ps.simulate(there, d=d, seeds=seeds, processes=processes, n_test=100, progress=False)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Every method with noise, predicted and trained, and without, predicted."""
    name, alpha, dots = "estimation_error", ALPHAS[effort], TRAINED[effort]
    size: dict[str, Any] = {"d": D[effort], "seeds": SEEDS[effort]}
    bayes = sweep(FACTORISED, ps.simulate, alpha=BY_BAYES[effort], trainer=BAYES, n_test=100, **size)
    return {
        "bayes": slimmed(sweep(FACTORISED, ps.bayes_optimal, alpha=alpha), name),
        "best": slimmed(sweep(FACTORISED, best, alpha=OPTIMISED[effort]), name, "strength"),
        "fixed": slimmed(sweep(FACTORISED, ps.solve, alpha=alpha), name),
        "free": slimmed(sweep(FREE, best, alpha=OPTIMISED[effort]), name, "strength"),
        "bayes_trained": slimmed(bayes, name),
        "best_trained": slimmed(sweep(FACTORISED, trained_at_best, alpha=dots, **size), name),
        "free_trained": slimmed(sweep(FREE, trained_at_best, alpha=dots, **size), name),
        "bayes_clean": slimmed(sweep(FACTORISED, ps.bayes_optimal, noise=0.0, alpha=CLEAN), name),
        "best_clean": slimmed(sweep(FACTORISED, ps.ridgeless, noise=0.0, alpha=CLEAN), name),
        "fixed_clean": slimmed(sweep(FACTORISED, ps.solve, noise=0.0, alpha=CLEAN), name),
        "free_clean": slimmed(sweep(FREE, ps.ridgeless, noise=0.0, alpha=CLEAN), name),
        "thresholds": sweep(FACTORISED, ps.thresholds, noise=[0.0])[[*THRESHOLDS, "outcome"]],
    }


def problems() -> dict[str, Any]:
    """Every trained method with noise, in the middle of the dots; and clean labels, between the recoveries."""
    fixed, free = (problem.replace(alpha=BEST["alpha"]) for problem in (FACTORISED, FREE))
    return {
        f"weight decay {WEIGHT_DECAY:g}, label noise {NOISE:g}": fixed,
        f"about the best weight decay, label noise {NOISE:g}": fixed.replace(weight_decay=BEST["weight_decay"]),
        f"no factors, about the best ridge, label noise {NOISE:g}": free.replace(ridge=BEST["ridge"]),
        f"weight decay {WEIGHT_DECAY:g}, clean labels": fixed.replace(alpha=0.1, noise=0.0),
    }


def draw(parts: Parts) -> Figure:
    """With noise on the left, clean labels and the thresholds of recovery on the right."""
    thresholds = parts["thresholds"].isel(noise=0)
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.5)
        for name, words, number in METHODS:
            style.line(axes[0], parts[name], "alpha", "estimation_error", number=number)
            if f"{name}_trained" in parts:
                style.dots(axes[0], parts[f"{name}_trained"], "alpha", "estimation_error", number=number)
            clean = LIMITS.get(name, words)
            style.line(axes[1], parts[f"{name}_clean"], "alpha", "estimation_error", number=number, label=clean)
        for name, words in THRESHOLDS.items():
            value = float(thresholds[name])
            style.threshold(axes[1], value, f"{words}, {value:.3f}", linewidth=0.7)
        style.logarithmic(axes[0], "x", "y")
        axes[0].set(ylabel=rf"$\|S-S_0\|_F^2/d$, noise $\Delta$ = {NOISE:g}")
        axes[1].set(ylabel=r"$\|S-S_0\|_F^2/d$, clean labels", ylim=(-0.02, 1.3), xlim=(0.0, 0.3))
        for axis in axes:
            axis.set_xlabel(r"$\alpha = n/d^2$")
        style.legend_above(axes[0], handles=[_entry(parts, *method) for method in METHODS])
        style.legend_above(axes[1])
        style.print_caveats(figure, parts)
    return figure


def _entry(parts: Parts, name: str, words: str, number: int) -> Any:
    """Line and dots of a method in the legend."""
    return style.key(number, words, **({} if f"{name}_trained" in parts else {"marker": "none"}))


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Estimation error |S - S_0|^2/d of softmax attention, T = {N_TOKENS}, Marchenko-Pastur target of rank "
        f"kappa_0 = {KAPPA_0:g}. Left, noise {NOISE:g}: the Bayes-optimal error, that of weight decay at the best "
        f"strength for each alpha and at lambda = {WEIGHT_DECAY:g}, and that of a symmetric S trained without "
        "factors at its best ridge. Lines: theory; dots: message passing and trained networks. Right, "
        "clean labels, theory: the same methods, the strength of the penalty vanishing or fixed; dashed, where "
        "each finds the target exactly."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained = parts["best_trained"]
    found = parts["thresholds"].isel(noise=0)
    places = ", ".join(f"{words} {float(found[name]):.4f}" for name, words in THRESHOLDS.items())
    return (
        f"Dots: {int(trained.seeds)} data sets of d = {int(trained.d)}, "
        "by Bayes message passing, and by presage's default trainer (AMP, ended by L-BFGS where it has to) at the "
        f"predicted best strengths ({LEAST:g} where the best one vanishes); bars are two standard errors. The target "
        f"is found exactly from alpha on: {places}. Best strengths minimise the estimation error; the paper picks "
        "them by the test error among values between 1e-6 and 1e-1. The recovery of a matrix without factors is at "
        "1/2 in units of (T(T+1)/2 - 1) alpha, which is 1/4 in alpha at two tokens; print gives 1/2."
    )
