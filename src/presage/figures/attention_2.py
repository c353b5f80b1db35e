"""Test error and training loss of attention as weight decay vanishes: the interpolation peak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import words
from presage.figures.shipping import slimmed
from presage.figures.style import BLACK, GREY, canvas, dots, key, line, logarithmic, print_caveats, style, threshold

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

POINTS = 47  # of a predicted curve
EVERY = {"quick": 2, "full": 1}  # which of them
LIMIT = {  # alpha of the vanishing limit, closer to each other around the threshold
    "quick": [0.03, 0.06, 0.1, 0.13, 0.148, 0.1534, 0.18, 0.45, 0.6, 2.0],
    "full": [
        *(0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.13, 0.14, 0.148, 0.153, 0.1534),
        *(0.155, 0.16, 0.17, 0.18, 0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.31, 0.33),
        *(0.35, 0.38, 0.41, 0.45, 0.5, 0.6, 0.75, 1.0, 1.4, 2.0),
    ],
}
TRAINED: dict[str, dict[str, Any]] = {
    "quick": {"weight_decay": WEIGHT_DECAYS, "alpha": [0.05, 0.15, 0.5, 1.2], "d": 50, "seeds": 4},
    "full": {"weight_decay": WEIGHT_DECAYS, "alpha": [0.05, 0.1, 0.15, 0.25, 0.5, 1.2], "d": 100, "seeds": 8},
}
N_TEST = 10_000
SOLVER = ps.StateEvolution(accuracy=1e-3)  # weak penalties make samples jump, and digits cost seconds

PROBLEM = ps.attention(
    ps.MarchenkoPastur(KAPPA_0), alpha=1.0, weight_decay=0.01, noise=NOISE, n_tokens=N_TOKENS, beta=BETA, kappa=KAPPA
)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Predicted curves, their limit, the threshold, and networks trained beside them."""
    drawn = ("test_error", "train_loss")
    setting = {"trainer": ps.AMP(), "n_test": N_TEST, **TRAINED[effort]}
    return {
        "theory": slimmed(
            sweep(PROBLEM, ps.solve, weight_decay=WEIGHT_DECAYS, alpha=alphas(effort), solver=SOLVER), *drawn
        ),
        "limit": _limit(sweep, LIMIT[effort]),
        "thresholds": slimmed(sweep(PROBLEM, ps.thresholds, noise=[NOISE]), "interpolation"),
        "trained": slimmed(sweep(PROBLEM, ps.simulate, **setting), *drawn),
    }


def _limit(sweep: Sweep, points: list[float]) -> xr.Dataset:
    """The vanishing limit, with the training loss over d^2: nothing is paid for the weights."""
    table = slimmed(sweep(PROBLEM, ps.ridgeless, alpha=points), "test_error", "train_error")
    loss = {f"train_loss{bar}": table["alpha"] * table[f"train_error{bar}"] for bar in ("", "_bar")}
    return table.assign(loss)


def alphas(effort: Effort) -> Any:
    """Where curves are computed: a quick figure has every second point of the full one."""
    return np.geomspace(LEAST, MOST, POINTS)[:: EVERY[effort]]


def problems() -> dict[str, Any]:
    """Every weight decay, near the peak of the weakest one."""
    peak = PROBLEM.replace(alpha=0.25)
    return {f"weight decay {value:g}, alpha = 0.25": peak.replace(weight_decay=value) for value in WEIGHT_DECAYS}


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
                dots(axis, parts["trained"].sel(at), "alpha", name, number=number)
            logarithmic(axis, "x")
            axis.set(xlabel=r"$\alpha = n/d^2$", ylabel=name.replace("_", " ").replace("train ", "training "))
            # On the right the limit rises along the threshold, where its number would stand.
            threshold(axis, edge, f"{edge:.4f}" if name == "test_error" else "", height=0.25)
        logarithmic(axes[1], "y")
        handles = [key(n, rf"$\lambda$ = {w:g}") for n, w in enumerate(WEIGHT_DECAYS)]
        handles.append(key(5, r"$\lambda \to 0^+$", color=BLACK, linestyle="-", marker="", linewidth=0.9))
        handles.append(key(5, "interpolation", color=GREY, linestyle="--", marker="", linewidth=0.9))
        figure.legend(handles=handles, loc="outside upper center", ncols=3)
        print_caveats(figure, {name: table for name, table in parts.items() if name != "thresholds"})
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    edge = float(parts["thresholds"]["interpolation"].squeeze())
    return (
        "Test error (left) and training loss (right: the whole minimum over d^2, penalty included) of attention as "
        f"weight decay decreases (label noise {NOISE:g}, {N_TOKENS} tokens, beta = {BETA:g}, kappa_0 = {KAPPA_0:g}, "
        f"kappa = {KAPPA:g}). Lines: theory; dots: trained networks; black: the limit of vanishing weight decay, whose "
        f"training loss is zero up to the interpolation threshold alpha = {edge:.4f} (dashed). There the limit of the "
        "test error rises steeply, and it falls slowly beyond, unlike a cusp."
    )


def details(parts: Parts) -> str:
    """How it was computed, and where it differs from print."""
    theory, off = parts["theory"], away(parts, min(WEIGHT_DECAYS))
    weakest = theory.sel(weight_decay=min(WEIGHT_DECAYS))
    peak = float(weakest["alpha"][(weakest["test_error"].where(weakest["alpha"] > 0.1)).argmax("alpha")])
    most = float(off["alpha"][int(np.argmax(abs(off.values)))])
    return (
        f"Dots: {words.networks(parts['trained'])}, at every weight decay. {words.BARS} The test error at weight decay "
        f"{min(WEIGHT_DECAYS):g} peaks at alpha = {peak:.3f}; dots of that weight decay are {float(off.min()):+.0%} to "
        f"{float(off.max()):+.0%} off their line, most at alpha = {most:g}. In print "
        f"the trainer is {PUBLISHED}; its text does not name the values of the weight decay, those here are ours. The "
        f"limit beyond the threshold is an addition. {words.version(*parts.values())}"
    )


def away(parts: Parts, weight_decay: float) -> Any:
    """How far the test error of trained networks is from the line, relative to it, which is straight in logarithms."""
    theory, trained = (parts[part].sel(weight_decay=weight_decay) for part in ("theory", "trained"))
    predicted = np.interp(np.log(trained["alpha"]), np.log(theory["alpha"]), np.log(theory["test_error"]))
    return trained["test_error"] / np.exp(predicted) - 1.0
