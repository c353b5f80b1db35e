"""The excess risk of features that are learned one by one falls as a power of the number of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Excess risk of features of falling size, and its slope"
SOURCE = "[DKLM26a], [DKLM26b]"

FEATURES, MANY, NOISE = 60, 100_000, 0.5
DECAYS = (0.75, 1.0, 1.5)
PROBLEM = ps.multi_index(ps.HermiteLink(2), alpha=100.0, features=FEATURES, decay=1.0, noise=NOISE, readout_degree=2)
ALPHAS = {"full": np.geomspace(2.0, 3000.0, 91), "quick": np.geomspace(2.0, 3000.0, 19)}
FAR = {"full": np.geomspace(10.0, 1e5, 41), "quick": np.geomspace(10.0, 1e5, 11)}
TRAINED = {"full": [4.0, 12.0, 36.0, 110.0, 330.0, 1000.0], "quick": [12.0, 110.0]}
D = {"full": 300, "quick": 120}
SEEDS = {"full": 8, "quick": 3}
READ = 200_000  # samples of the readout
BALANCED = float(np.exp(1.5) / 4.0)  # of the second cosine, for an exponent of two
SQUARES = ps.multi_index(
    ps.CosineLink(BALANCED),
    alpha=1e6,
    features=2000,
    decay=1.0,
    noise=NOISE,
    preprocessing="hermite",
    readout_degree=12,
)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Risks of a few features, predicted and measured, and of many, with the law."""
    many = PROBLEM.replace(features=MANY)
    size: dict[str, Any] = {"d": D[effort], "seeds": SEEDS[effort], "n_readout": READ}
    decays = list(DECAYS)
    return {
        "theory": slimmed(sweep(PROBLEM, ps.solve, alpha=ALPHAS[effort], decay=decays), "excess_risk"),
        "trained": slimmed(sweep(PROBLEM, ps.simulate, alpha=TRAINED[effort], decay=decays, **size), "excess_risk"),
        "many": slimmed(sweep(many, risk_and_law, alpha=FAR[effort], decay=decays), "risk", "law", "slope"),
        "squares": slimmed(sweep(SQUARES, risk_and_law, alpha=FAR[effort]), "risk", "law", "slope"),
    }


def risk_and_law(problem: ps.MultiIndexProblem) -> dict[str, float]:
    """The exact risk, what the law of many features says, and its exponent."""
    found = ps.scaling(problem, local=False)
    return {"risk": found.error, "law": found.law_value, "slope": found.exponent_n}


def problems() -> dict[str, Any]:
    """Every decay where features are learned one by one, and the function of exponent two."""
    return {
        **{f"decay {decay:g}": PROBLEM.replace(decay=decay) for decay in DECAYS},
        "exponent two, by squares of labels": SQUARES,
    }


def draw(parts: Parts) -> Figure:
    """A few features with dots on the left, many with the law on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.1)
        for number, decay in enumerate(DECAYS):
            style.line(axes[0], parts["theory"].sel(decay=decay), "alpha", "excess_risk", number=number)
            style.dots(axes[0], parts["trained"].sel(decay=decay), "alpha", "excess_risk", number=number)
            _with_law(axes[1], parts["many"].sel(decay=decay), number)
        _with_law(axes[1], parts["squares"], len(DECAYS))
        axes[0].set(xlabel=r"$\alpha = n/d$", ylabel="excess risk", xlim=(2.0, 3000.0))
        axes[1].set(xlabel=r"$\alpha = n/d$", ylabel="excess risk", xlim=(10.0, 1e5))
        for axis in axes:
            style.logarithmic(axis, "x", "y")
        style.legend_above(
            axes[0], columns=3, handles=[style.key(i, rf"$\gamma$ = {g:g}") for i, g in enumerate(DECAYS)]
        )
        slopes = [float(parts["many"]["slope"].sel(decay=g).values[-1]) for g in DECAYS]
        keys = [style.key(i, f"slope {slope:.3g}", marker="none") for i, slope in enumerate(slopes)]
        last = float(parts["squares"]["slope"].values[-1])
        keys.append(style.key(3, rf"$\beta$ = 2: slope {last:.3g}", marker="none"))
        style.legend_above(axes[1], columns=2, handles=keys)
        style.print_caveats(figure, parts)
    return figure


def _with_law(axis: Any, table: Any, number: int) -> None:
    """An exact risk, and over it the law of many features as a thin black line."""
    style.line(axis, table, "alpha", "risk", number=number)
    between = table["slope"].values != 0.0
    axis.plot(table["alpha"].values[between], table["law"].values[between], color=style.BLACK, linewidth=0.6, zorder=1)


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Excess risk of the spectral method and its readout against n/d, features of size k^-gamma, f = "
        f"He_2/sqrt2, noise {NOISE:g}. "
        f"Left: {FEATURES} features. Lines: theory; dots: estimators. Right: {MANY} features (coloured: exact; thin "
        "black: the "
        "law of many features, slope -(1 - 1/(2 gamma))), and a function of noise sensitivity exponent 2 "
        "learned from squares of labels, gamma = 1, whose slope is half of that."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained = parts["trained"]
    fits = ", ".join(f"{fitted(parts['many'].sel(decay=decay)):.3f} for gamma = {decay:g}" for decay in DECAYS)
    return (
        f"Dots: {int(trained.seeds)} data sets of d = {int(trained.d)}, the readout fitted to {READ} fresh "
        "samples; bars are two "
        f"standard errors. Fits of the exact risk over the last two decades: {fits}; {fitted(parts['squares']):.3f} "
        "for exponent two. "
        f"The function of exponent two is cos z - {BALANCED:.4f} cos 2z, of {SQUARES.features} features. Parameters "
        "are ours; that no "
        "method has a better slope is the papers' claim."
    )


def fitted(table: Any) -> float:
    """Slope of the exact risk over the last two decades."""
    far = table.where(table.alpha >= float(table.alpha.max()) / 100.0, drop=True)
    return float(np.polyfit(np.log(far.alpha.values), np.log(far["risk"].values), 1)[0])
