"""Eigenvalues that a quadratic network learns, from few samples to many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Quadratic network: learned spectra across sample sizes"
SOURCE = "[ETZK25] and the talk on it"

KAPPA_0, NOISE, WEIGHT_DECAY, KAPPA = 0.2, 0.5, 0.02, 1.0
PROBLEM = ps.quadratic_network(
    ps.MarchenkoPastur(KAPPA_0), alpha=0.5, weight_decay=WEIGHT_DECAY, noise=NOISE, kappa=KAPPA
)
ALPHAS = {"full": [0.1, 0.28, 0.5, 1.0, 2.0, 5.0], "quick": [0.1, 0.28, 0.5, 1.0, 2.0, 5.0]}
D = {"full": 200, "quick": 50}
SEEDS = {"full": 8, "quick": 3}
TRAINER = ps.AMP()
POINTS = 400  # of a predicted density
BINS = np.linspace(0.0, 5.5, 45)
ZERO = 1e-6  # eigenvalues below it are zero, up to how far training went
HIGHEST = 0.75  # density up to which a panel goes: little would be seen of the right bulk on a longer axis


def predicted(problem: ps.Problem) -> dict[str, Any]:
    """The learned spectrum: its density above zero, the rank, and the bulks from left to right."""
    solution = ps.solve(problem)
    x = np.linspace(0.0, 1.02 * solution.bulks[-1].right, POINTS)[1:]
    bulks = np.array(solution.bulks)
    return {
        "x": x,
        "density": solution.spectrum.density(x),
        "rank": solution.rank,
        "rank_bar": solution.error_bars["rank"],
        "left": bulks[:, 0],
        "right": bulks[:, 1],
        "mass": bulks[:, 2],
    }


def of_target(problem: ps.Problem) -> dict[str, Any]:
    """The target's spectrum in the same terms."""
    law = problem.target
    x = np.linspace(0.0, law.support[-1, 1], POINTS)[1:]
    return {"x": x, "density": law.density(x), "rank": law.nonzero}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Predicted laws, and the eigenvalues of trained networks."""
    trained = sweep(
        PROBLEM, ps.simulate, alpha=ALPHAS[effort], d=D[effort], seeds=SEEDS[effort], trainer=TRAINER, n_test=1000
    )
    theory = sweep(PROBLEM, predicted, alpha=ALPHAS[effort])
    return {
        "theory": slimmed(theory, "x", "density", "rank", "left", "right", "mass"),
        "trained": slimmed(trained, "rank", "eigenvalues"),
        "target": slimmed(sweep(PROBLEM, of_target, noise=[NOISE]), "x", "density", "rank"),
    }


def problems() -> dict[str, Any]:
    """Every spectrum that is drawn."""
    return {f"spectrum at alpha = {alpha:g}": PROBLEM.replace(alpha=alpha) for alpha in ALPHAS["full"]}


def draw(parts: Parts) -> Figure:
    """A panel a sample size, with the part of the eigenvalues that is zero in words."""
    theory, trained, target = parts["theory"], parts["trained"], parts["target"].isel(noise=0)
    with style.style():
        figure, axes = style.canvas(2, 3, height=4.3, sharex=True)
        for axis, alpha in zip(np.ravel(axes), theory.alpha.values, strict=True):
            law, networks = theory.sel(alpha=alpha), trained.sel(alpha=alpha)
            _density(axis, law, networks, target)
            top = float(law["density"].max())
            axis.set(xlim=(0.0, BINS[-1]), ylim=(0.0, min(1.35 * top, HIGHEST)), title=rf"$\alpha$ = {alpha:g}")
            if top > HIGHEST:
                edge = float(law["x"].values[law["density"].values > HIGHEST].max())
                words = f"cut, up to {top:.2g}"
                axis.annotate(words, (edge, HIGHEST), (3, -2), textcoords="offset points", va="top", fontsize=6.5)
            _zeros(axis, law, networks, target)
        for axis in axes[:, 0]:
            axis.set_ylabel("density")
        for axis in axes[-1]:
            axis.set_xlabel(r"eigenvalue of $S$")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
        style.print_caveats(figure, parts)
    return figure


def _density(axis: Any, law: Any, networks: Any, target: Any) -> None:
    values = networks["eigenvalues"].values
    values = values[np.isfinite(values)]
    weights = np.full(values.size, 1.0 / (values.size * (BINS[1] - BINS[0])))
    seen = values > ZERO
    axis.hist(values[seen], BINS, weights=weights[seen], color="0.8", edgecolor="0.65", linewidth=0.3, label="trained")
    axis.plot(law["x"], law["density"], color=style.BLUE, label="theory")
    axis.plot(target["x"], target["density"], color=style.ORANGE, linestyle="--", linewidth=1.0, label="target")


def _zeros(axis: Any, law: Any, networks: Any, target: Any) -> None:
    """The part of the eigenvalues that is exactly zero: a number, since a density has no place for it."""
    bar = 2.0 * float(networks["rank_bar"])
    words = (
        f"at zero: {1.0 - float(law['rank']):.3f}\n"
        rf"trained: {1.0 - float(networks['rank']):.3f} $\pm$ {bar:.3f}"
        f"\ntarget: {1.0 - float(target['rank']):.3f}"
    )
    axis.text(0.97, 0.92, words, transform=axis.transAxes, ha="right", va="top", fontsize=6.5)


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Eigenvalues of the matrix S that a quadratic network learns (Marchenko-Pastur target of rank kappa_0 = "
        f"{KAPPA_0:g}, noise {NOISE:g}, lambda = {WEIGHT_DECAY:g}, width p = d), from few samples to many. Blue: "
        "predicted density, a noisy copy of the target's, shifted and cut at zero; grey: histogram of trained "
        "networks; orange: the target. The part of the eigenvalues that is exactly zero is written in each panel. The "
        "spectrum is one bulk for few samples and splits in two, the right one with the mass kappa_0 of the target."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained, theory = parts["trained"], parts["theory"]
    split = [f"{alpha:g}" for alpha in theory.alpha.values if int(theory["mass"].sel(alpha=alpha).notnull().sum()) == 2]
    return (
        f"Trained: {int(trained.seeds)} data sets of d = {int(trained.d)} "
        f"({str(trained.trainer.item()).split('(')[0]}; the loss is convex in S, so that every trainer ends here); "
        "their zeros are written with two standard errors. Densities are over all eigenvalues, zeros included. There "
        f"are two bulks at alpha = {', '.join(split)}. Where the density at zero is higher than its axis, the panel "
        "says how high it is. The talk shows other sample sizes and names neither d nor the number of seeds."
    )
