"""Test error and training loss of attention as weight decay vanishes: the interpolation peak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import words
from presage.figures.shipping import slimmed
from presage.figures.style import BLACK, GREY, canvas, dots, key, line, print_caveats, style, threshold

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Attention: interpolation peak of the test error as weight decay vanishes"
SOURCE = "[BETKZ25] Figure 2"

NOISE, N_TOKENS, BETA, KAPPA_0, KAPPA = 0.5, 2, 1.0, 0.5, 1.0
WEIGHT_DECAYS = [0.03, 0.01, 0.001, 0.0001]
LEAST, MOST = 0.03, 2.0  # alpha
PUBLISHED = "Adam, d = 100 with 16 seeds"

POINTS = 24  # of a predicted curve
EVERY = {"quick": 2, "full": 1}  # which of them
LIMIT = {  # alpha of the vanishing limit, closer to each other around the threshold
    "quick": [0.03, 0.06, 0.1, 0.13, 0.148, 0.1534, 0.18, 0.45, 0.6, 2.0],
    "full": [
        *(0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.13, 0.14, 0.148, 0.153, 0.1534),
        *(0.155, 0.16, 0.17, 0.18, 0.2, 0.22, 0.24, 0.26, 0.28, 0.31, 0.35, 0.45, 0.6, 1.0, 2.0),
    ],
}
TRAINED: dict[str, dict[str, Any]] = {
    "quick": {
        "trained": {"weight_decay": [0.03, 0.01], "alpha": [0.05, 0.15, 0.5, 1.2], "d": 50, "seeds": 4},
        "trained_weak": {"weight_decay": [0.001], "alpha": [0.05, 0.15, 0.5, 1.2], "d": 40, "seeds": 3},
    },
    "full": {
        "trained": {
            "weight_decay": [0.03, 0.01, 0.001],
            "alpha": [0.05, 0.1, 0.15, 0.25, 0.5, 1.2],
            "d": 100,
            "seeds": 8,
        },
        # Weak weight decay takes gradient training many steps near the threshold, so these networks are smaller.
        "trained_weak": {
            "weight_decay": [0.0001],
            "alpha": [0.05, 0.1, 0.15, 0.25, 0.5, 1.2],
            "d": 40,
            "seeds": 6,
        },
    },
}
N_TEST = 10_000
SOLVER = ps.StateEvolution(accuracy=1e-3)  # weak penalties make samples jump, and digits cost seconds

PROBLEM = ps.attention(
    ps.MarchenkoPastur(KAPPA_0), alpha=1.0, weight_decay=0.01, noise=NOISE, n_tokens=N_TOKENS, beta=BETA, kappa=KAPPA
)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Predicted curves, their limit, the threshold, and networks trained beside them."""
    drawn = ("test_error", "train_loss")
    parts = {
        "theory": slimmed(
            sweep(PROBLEM, ps.solve, weight_decay=WEIGHT_DECAYS, alpha=alphas(effort), solver=SOLVER), *drawn
        ),
        "limit": _limit(sweep, LIMIT[effort]),
        "thresholds": slimmed(sweep(PROBLEM, ps.thresholds, noise=[NOISE]), "interpolation"),
    }
    for name, setting in TRAINED[effort].items():
        grid = {**setting, "trainer": ps.AMP(), "n_test": N_TEST}
        parts[name] = slimmed(sweep(PROBLEM, ps.simulate, **grid), *drawn)
    return parts


def _limit(sweep: Sweep, points: list[float]) -> xr.Dataset:
    """The vanishing limit, with the training loss over d^2: nothing is paid for the weights."""
    table = slimmed(sweep(PROBLEM, ps.ridgeless, alpha=points), "test_error", "train_error")
    loss = {f"train_loss{bar}": table["alpha"] * table[f"train_error{bar}"] for bar in ("", "_bar")}
    return table.assign(loss)


def alphas(effort: Effort) -> Any:
    """Where curves are computed: a quick figure has every second point of the full one."""
    return np.geomspace(LEAST, MOST, POINTS)[:: EVERY[effort]]


def draw(parts: Parts) -> Figure:
    """Test error on the left, training loss on the right."""
    edge = float(parts["thresholds"]["interpolation"].squeeze())
    with style():
        figure, axes = canvas(1, 2, height=3.4)
        for axis, name in zip(axes, ("test_error", "train_loss"), strict=True):
            # Zero has no place on an axis of logarithms: below the threshold the loss is not drawn.
            shown = parts["limit"].isel(alpha=parts["limit"][name].values > 0.0)
            line(axis, shown, "alpha", name, color=BLACK, linestyle="-", linewidth=0.9)
            for number, weight_decay in enumerate(WEIGHT_DECAYS):
                at = {"weight_decay": weight_decay}
                line(axis, parts["theory"].sel(at), "alpha", name, number=number)
                for part in ("trained", "trained_weak"):
                    if weight_decay in parts[part]["weight_decay"]:
                        dots(axis, parts[part].sel(at), "alpha", name, number=number)
            axis.set_xscale("log")
            axis.set(xlabel=r"$\alpha = n/d^2$", ylabel=name.replace("_", " ").replace("train ", "training "))
            threshold(axis, edge, f"{edge:.4f}", height=0.25)
        axes[1].set_yscale("log")
        handles = [key(n, rf"$\lambda$ = {w:g}") for n, w in enumerate(WEIGHT_DECAYS)]
        handles.append(key(5, r"$\lambda \to 0^+$", color=BLACK, linestyle="-", marker="", linewidth=0.9))
        handles.append(key(5, "interpolation", color=GREY, linestyle="--", marker="", linewidth=0.9))
        figure.legend(handles=handles, loc="outside upper center", ncols=3)
        print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn, how it was computed, and where it differs from print."""
    theory, edge = parts["theory"], float(parts["thresholds"]["interpolation"].squeeze())
    weakest = theory.sel(weight_decay=min(WEIGHT_DECAYS))
    peak = float(weakest["alpha"][(weakest["test_error"].where(weakest["alpha"] > 0.1)).argmax("alpha")])
    return (
        "Test error (left) and training loss (right: the whole minimum over d^2, penalty included) of attention as "
        f"weight decay decreases (label noise {NOISE:g}, {N_TOKENS} tokens, beta = {BETA:g}, kappa_0 = {KAPPA_0:g}, "
        f"kappa = {KAPPA:g}). Lines: theory; black: the limit of vanishing weight decay, whose training loss is zero "
        f"up to the interpolation threshold alpha = {edge:.4f} (dashed). The test error at weight decay "
        f"{min(WEIGHT_DECAYS):g} peaks at alpha = {peak:.3f}; the limit rises steeply to the threshold and falls "
        f"slowly beyond it, unlike a cusp. Dots: trained networks, "
        f"weight decay {_strengths(parts['trained'])}: {words.networks(parts['trained'])}; weight decay "
        f"{_strengths(parts['trained_weak'])}: {words.networks(parts['trained_weak'])}. {words.BARS} In print the "
        f"trainer is {PUBLISHED}; its text does not name the values of the weight decay, those here are ours. The "
        f"limit beyond the threshold is an addition. {words.version(theory)}"
    )


def _strengths(table: Any) -> str:
    return ", ".join(f"{value:g}" for value in table["weight_decay"].values)
