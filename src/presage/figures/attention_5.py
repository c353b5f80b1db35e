"""Attention at three temperatures of the softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import words
from presage.figures.kept import kept
from presage.figures.style import canvas, dots, key, line, print_caveats, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts

TITLE = "Attention: test error at three temperatures of the softmax"
SOURCE = "[BETKZ25] Figure 5"

WEIGHT_DECAY, KAPPA_0, KAPPA, N_TOKENS = 0.01, 0.5, 1.0, 2
BETAS = [0.5, 1.0, 2.0]  # of student and target alike
NOISES = [0.0, 0.5]
LEAST, MOST = 0.04, 2.0  # alpha
PUBLISHED = "Adam, d = 100 with 32 seeds"

POINTS = {"quick": 12, "full": 14}  # of a predicted curve
ACCURACY = 1e-3  # relative: sharp softmaxes make many samples jump, and digits cost seconds
TRAINED: dict[str, dict[str, Any]] = {
    "quick": {"alpha": [0.05, 0.2, 0.8], "d": 40, "seeds": 3},
    "full": {"alpha": [0.05, 0.1, 0.25, 0.6, 1.5], "d": 50, "seeds": 4},
}
N_TEST = 10_000

PROBLEM = ps.attention(
    ps.MarchenkoPastur(KAPPA_0), alpha=1.0, weight_decay=WEIGHT_DECAY, n_tokens=N_TOKENS, kappa=KAPPA
)


def data(effort: Effort) -> Parts:
    """Predicted curves, and networks trained beside them."""
    alphas = np.geomspace(LEAST, MOST, POINTS[effort])
    setting = {"trainer": ps.AMP(), "n_test": N_TEST, **TRAINED[effort]}
    solver = ps.StateEvolution(accuracy=ACCURACY)
    theory = ps.sweep(PROBLEM, ps.solve, noise=NOISES, beta=BETAS, alpha=alphas, solver=solver)
    trained = ps.sweep(PROBLEM, ps.simulate, noise=NOISES, beta=BETAS, **setting)
    return {"theory": kept(theory, "test_error"), "trained": kept(trained, "test_error")}


def draw(parts: Parts) -> Figure:
    """Clean labels on the left, noisy ones on the right."""
    with style():
        figure, axes = canvas(1, 2, height=2.8)
        for axis, noise in zip(axes, NOISES, strict=True):
            for number, beta in enumerate(BETAS):
                at = {"noise": noise, "beta": beta}
                line(axis, parts["theory"].sel(at), "alpha", "test_error", number=number)
                dots(axis, parts["trained"].sel(at), "alpha", "test_error", number=number)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_title(rf"$\Delta$ = {noise:g}")
            axis.set(xlabel=r"$\alpha = n/d^2$", ylabel="test error")
        handles = [key(number, rf"$\beta = \beta_0$ = {beta:g}") for number, beta in enumerate(BETAS)]
        axes[0].legend(handles=handles, loc="lower left")
        print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn, how it was computed, and where it differs from print."""
    return (
        "Test error of attention at three inverse temperatures, the same in student and target, with clean (left) and "
        f"noisy labels (right): the smoother the softmax, the smaller the error (weight decay {WEIGHT_DECAY:g}, "
        f"kappa_0 = {KAPPA_0:g}, kappa = {KAPPA:g}, {N_TOKENS} tokens). Dots: {words.networks(parts['trained'])}. "
        f"Lines: theory, averages to a relative {ACCURACY:g}; print has simulations only. {words.BARS} "
        f"In print the trainer is {PUBLISHED}. {words.version(parts['theory'])}"
    )
