"""Attention over two, three and five tokens, against the number of labels that the samples show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import words
from presage.figures.shipping import slimmed
from presage.figures.style import canvas, dots, key, line, logarithmic, print_caveats, style
from presage.models.attention.theory.rules.sobol import Sobol

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Attention: test error for two, three and five tokens on a rescaled axis"
SOURCE = "[BETKZ25] Figure 6"

WEIGHT_DECAY, KAPPA_0, KAPPA, BETA = 0.001, 0.5, 1.0, 1.0
TOKENS = [2, 3, 5]
NOISES = [0.0, 0.5]
LEAST, MOST = 0.1, 4.0  # of the axis, that is of alpha (T^2 + T - 2)/2
STRONG = 10.0  # a weight decay at which nothing is learned
PUBLISHED = "Adam, d = 100 with 32 seeds"

POINTS = {2: 31, 3: 21, 5: 13}  # of a predicted curve; they take long with many tokens
PREDICTED = {"quick": (2, 3), "full": (2, 3, 5)}  # number of tokens
EVERY = {"quick": 2, "full": 1}  # which of them
SOLVERS = {  # five tokens: a rule that is affordable, with error bars of a percent
    2: ps.StateEvolution(accuracy=1e-3),
    3: ps.StateEvolution(accuracy=1e-2, most_nodes=2**17),
    5: ps.StateEvolution(accuracy=2e-2, rule=Sobol(nodes=512, replicates=4)),
}
TRAINED: dict[str, dict[str, Any]] = {
    "quick": {"axis": [0.1, 0.6, 1.4], "d": 32, "seeds": 3},
    "full": {"axis": [0.1, 0.25, 0.6, 1.4, 3.2], "d": 100, "seeds": 32},
}
N_TEST = 5_000

PROBLEM = ps.attention(ps.MarchenkoPastur(KAPPA_0), alpha=1.0, weight_decay=WEIGHT_DECAY, beta=BETA, kappa=KAPPA)


def units(n_tokens: int) -> int:
    """Labels that a sample shows of the target: entries of a symmetric matrix, less the one that a softmax hides."""
    return ps.Softmax(n_tokens).n_active


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Predicted curves where they are affordable, what learning nothing gives, and trained networks."""
    parts = {}
    setting = {"trainer": ps.AMP(), "n_test": N_TEST, **TRAINED[effort]}
    axis = np.array(setting.pop("axis"))
    for T in TOKENS:
        fixed: dict[str, Any] = {"n_tokens": T, "noise": NOISES}
        parts[f"trained_{T}"] = slimmed(
            sweep(PROBLEM, ps.simulate, alpha=axis / units(T), **fixed, **setting), "test_error"
        )
        nothing = sweep(PROBLEM, ps.solve, weight_decay=STRONG, solver=SOLVERS[T], **fixed)
        parts[f"nothing_{T}"] = slimmed(nothing, "test_error", "rank")
        if T in PREDICTED[effort]:
            theory = sweep(PROBLEM, ps.solve, alpha=alphas(effort, T), solver=SOLVERS[T], **fixed)
            parts[f"theory_{T}"] = slimmed(theory, "test_error")
    return parts


def alphas(effort: Effort, n_tokens: int) -> Any:
    """Where curves are computed: a quick figure has every second point of the full one."""
    return (np.geomspace(LEAST, MOST, POINTS[n_tokens]) / units(n_tokens))[:: EVERY[effort]]


def relative(parts: Parts, name: str, n_tokens: int) -> xr.Dataset:
    """A table of test errors over what a student that learned nothing has."""
    table, nothing = parts[f"{name}_{n_tokens}"], parts[f"nothing_{n_tokens}"]["test_error"]
    drawn = table[["test_error", "test_error_bar"]] / nothing
    return drawn.assign(axis=units(n_tokens) * table["alpha"])


def problems() -> dict[str, Any]:
    """Every number of tokens and noise, at one place of the axis, where networks were trained."""
    at = {T: round(1.4 / units(T), 6) for T in TOKENS}
    return {
        f"{T} tokens, {words.labels(noise)}": PROBLEM.replace(n_tokens=T, noise=noise, alpha=at[T])
        for noise in NOISES
        for T in TOKENS
    }


def draw(parts: Parts) -> Figure:
    """Clean labels on the left, noisy ones on the right; the error as in print above, as a fraction below."""
    with style():
        figure, axes = canvas(2, 2, height=4.6, sharex=True)
        for column, noise in enumerate(NOISES):
            for number, T in enumerate(TOKENS):
                for name, put in (("theory", line), ("trained", dots)):
                    if f"{name}_{T}" not in parts:
                        continue
                    table = parts[f"{name}_{T}"]
                    whole = table.assign(axis=units(T) * table["alpha"]).sel(noise=noise)
                    put(axes[0, column], whole, "axis", "test_error", number=number)
                    fraction = relative(parts, name, T).sel(noise=noise)
                    put(axes[1, column], fraction, "axis", "test_error", number=number)
            axes[0, column].set_title(rf"$\Delta$ = {noise:g}")
            axes[1, column].set_xlabel(r"$\alpha\,(T^2+T-2)/2$")
            for axis in axes[:, column]:
                logarithmic(axis, "x")
                if noise == 0.0:  # clean labels are learned to the sixth decimal and beyond
                    logarithmic(axis, "y")
                else:
                    axis.set_ylim(bottom=0.0)
        axes[0, 0].set_ylabel("test error")
        axes[1, 0].set_ylabel("test error / nothing learned")
        axes[0, 0].legend(handles=[key(n, f"T = {T}") for n, T in enumerate(TOKENS)], loc="upper right")
        print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Test error of attention over {', '.join(map(str, TOKENS))} tokens against alpha (T^2 + T - 2)/2, the number "
        "of labels that the samples show over d^2, with clean (left) and noisy labels (right) (weight decay "
        f"{WEIGHT_DECAY:g}, kappa_0 = {KAPPA_0:g}, kappa = {KAPPA:g}, beta = {BETA:g}). Lines: theory; dots: trained "
        "networks. The error is a sum over the T x T entries of the attention matrix, so it grows with T (top, as in "
        "print); as a fraction of the error of a student that learned nothing (bottom) the curves largely align, so "
        "that T mostly rescales the samples. With noise they do so less."
    )


def details(parts: Parts) -> str:
    """How it was computed, and where it differs from print."""
    networks = "; ".join(f"T = {T}: {words.networks(parts[f'trained_{T}'])}" for T in TOKENS)
    lines = ", ".join(str(T) for T in TOKENS if f"theory_{T}" in parts)
    return (
        f"Dots, {networks}. Lines: theory for T = {lines}, at a relative accuracy of 1e-3 to 2e-2, straight between "
        f"the points at which it was computed. {words.BARS} With noise {_bump(parts)}. Differs from print, which has "
        "simulations only: the axis of clean labels is one of logarithms, since their errors fall over six decades; of "
        "the two forms of the rescaled axis in print, which are reciprocal in T, the one meant multiplies n/d^2 by "
        f"(T^2 + T - 2)/2. In print the trainer is {PUBLISHED}. {words.version(*parts.values())}"
    )


def bumps(parts: Parts) -> dict[int, tuple[float, float]]:
    """For each T whose relative error rises again with noise: its value on the axis before the rise and at its top.

    A rise counts where it is more than the error bars of both its ends.
    """
    found = {}
    for T in TOKENS:
        if f"theory_{T}" not in parts:
            continue
        curve = relative(parts, "theory", T).sel(noise=max(NOISES))
        bars = curve["test_error_bar"].values
        rises = np.nonzero(np.diff(curve["test_error"].values) > bars[:-1] + bars[1:])[0]
        if len(rises):
            found[T] = (float(curve["axis"][rises[0]]), float(curve["axis"][rises[-1] + 1]))
    return found


def _bump(parts: Parts) -> str:
    said = [f"T = {T} rises again between {low:.2g} and {top:.2g}" for T, (low, top) in bumps(parts).items()]
    return ", ".join([*said, "and no other curve does beyond its error bars"] if said else ["no curve rises again"])
