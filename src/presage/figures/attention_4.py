"""Learning output tokens or attention matrices: the two tasks have the same learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import words
from presage.figures.shipping import slimmed
from presage.figures.style import OPEN, canvas, dots, key, line, logarithmic, print_caveats, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Attention: sequence-to-sequence against sequence-to-label"
SOURCE = "[BETKZ25] Figure 4"

WEIGHT_DECAY, N_TOKENS, BETA, KAPPA_0 = 0.01, 2, 1.0, 0.5  # print does not say kappa_0: that of the other figures
NOISES = [0.0, 0.5]
TASKS = ["sequence", "label"]
LEAST, MOST = 0.04, 2.0  # alpha
PUBLISHED = "Adam, d = 100 with 32 seeds"

POINTS = 24  # of a predicted curve
EVERY = {"quick": 2, "full": 1}  # which of them
TRAINED: dict[str, dict[str, Any]] = {
    "quick": {"alpha": [0.05, 0.25, 0.6], "d": 40, "seeds": 4},
    "full": {"alpha": [0.05, 0.1, 0.25, 0.6, 1.5], "d": 100, "seeds": 16},
}
N_TEST = 10_000

PROBLEM = ps.attention(ps.MarchenkoPastur(KAPPA_0), alpha=1.0, weight_decay=WEIGHT_DECAY, n_tokens=N_TOKENS, beta=BETA)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Networks trained on both tasks, with clean and with noisy labels, and the prediction for either."""
    drawn = ("test_error", "train_loss")
    setting = {"trainer": ps.LBFGS(), "n_test": N_TEST, **TRAINED[effort]}
    return {
        "theory": slimmed(sweep(PROBLEM, ps.solve, noise=NOISES, alpha=alphas(effort)), *drawn),
        "trained": slimmed(sweep(PROBLEM, ps.simulate, noise=NOISES, task=TASKS, **setting), *drawn),
    }


def alphas(effort: Effort) -> Any:
    """Where curves are computed: a quick figure has every second point of the full one."""
    return np.geomspace(LEAST, MOST, POINTS)[:: EVERY[effort]]


def problems() -> dict[str, Any]:
    """Clean and noisy labels; the theory is one for both tasks."""
    return {f"either task, {words.labels(noise)}": PROBLEM.replace(alpha=0.25, noise=noise) for noise in NOISES}


def draw(parts: Parts) -> Figure:
    """Test error on the left, training loss on the right."""
    looks: dict[str, dict[str, Any]] = {"sequence": OPEN, "label": {}}
    with style():
        figure, axes = canvas(1, 2, height=2.9)
        for axis, name in zip(axes, ("test_error", "train_loss"), strict=True):
            for number, noise in enumerate(NOISES):
                line(axis, parts["theory"].sel(noise=noise), "alpha", name, number=number)
                for task, look in looks.items():
                    dots(axis, parts["trained"].sel(noise=noise, task=task), "alpha", name, number=number, **look)
            logarithmic(axis, "x", "y")
            axis.set(xlabel=r"$\alpha = n/d^2$", ylabel=name.replace("_", " ").replace("train ", "training "))
        handles = [
            key(number, rf"{task}, $\Delta$ = {noise:g}", linestyle="none", **look)
            for number, noise in enumerate(NOISES)
            for task, look in looks.items()
        ]
        handles += [key(number, rf"theory, $\Delta$ = {noise:g}", marker="") for number, noise in enumerate(NOISES)]
        figure.legend(handles=handles, loc="outside upper center", ncols=3)
        print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Attention that learns output tokens (sequence, open) and attention matrices (label, filled), with clean and "
        "with noisy labels: test error (left) and training loss over d^2 (right) are the same "
        f"(weight decay {WEIGHT_DECAY:g}, {N_TOKENS} tokens, beta = {BETA:g}, kappa_0 = {KAPPA_0:g}, kappa = 1). "
        "Dots: trained networks; lines: the theory, which is one for both tasks."
    )


def details(parts: Parts) -> str:
    """How it was computed, and where it differs from print."""
    return (
        f"Dots: {words.networks(parts['trained'])}. {words.BARS} In print the trainer is {PUBLISHED}, there are "
        f"simulations only, and kappa_0 is not stated. {words.version(*parts.values())}"
    )
