"""How well a Boltzmann machine sees a direction against its strength, beside principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Boltzmann machines: overlap against signal, beside principal components"
SOURCE = "[XKZ25]"

ALPHA = 4.0
PROBLEM = ps.boltzmann(alpha=ALPHA, signal=1.0)
LATENTS = {"gaussian": "Gaussian latents", "signs": "latents of signs"}
SIGNALS = {"full": np.linspace(0.3, 2.5, 89), "quick": np.linspace(0.3, 2.5, 23)}
TRAINED = {"full": [0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.3, 1.6, 2.0, 2.4], "quick": [0.5, 1.0, 2.0]}
SIZE = {"full": {"d": 600, "seeds": 12}, "quick": {"d": 150, "seeds": 4}}
ALPHAS = {"full": np.geomspace(1.5, 40.0, 25), "quick": np.geomspace(1.5, 40.0, 7)}
SHOWN = ("alignment", "pca_alignment", "replicon")
LINES = ("weak_recovery_signal", "onset_signal", "stability_signal")


def lines(problem: ps.BoltzmannProblem) -> dict[str, float]:
    """Signals at which something begins, at a number of samples."""
    found = ps.thresholds(problem)
    return {name: float(getattr(found, name)) for name in LINES}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Alignments of both latents, predicted and measured, and the lines in the plane of samples and signals."""
    latents = list(LATENTS)
    theory = sweep(PROBLEM, ps.solve, latents=latents, signal=SIGNALS[effort])
    trained = sweep(PROBLEM, ps.simulate, latents=latents, signal=TRAINED[effort], **SIZE[effort])
    return {
        "theory": slimmed(theory, *SHOWN),
        "trained": slimmed(trained, "alignment", "pca_alignment"),
        "lines": slimmed(sweep(PROBLEM, lines, alpha=ALPHAS[effort]), *LINES),
        "here": slimmed(sweep(PROBLEM, lines, alpha=[ALPHA]), *LINES),
    }


def problems() -> dict[str, Any]:
    """Below and above the stability line."""
    places = {"replica symmetry is broken": 0.65, "just stable": 0.8, "a strong signal": 2.0}
    found = {name: PROBLEM.replace(signal=signal) for name, signal in places.items()}
    return found | {"latents of signs": PROBLEM.replace(latents="signs")}


def draw(parts: Parts) -> Figure:
    """Alignments on the left against the signal; on the right where each line lies."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=2.9)
        theory, trained = parts["theory"], parts["trained"]
        here = parts["here"].isel(alpha=0)
        handles = []
        for number, (latents, words) in enumerate(LATENTS.items()):
            _alignment(axes[0], theory.sel(latents=latents), number)
            style.dots(axes[0], trained.sel(latents=latents), "signal", "alignment", number=number)
            handles.append(style.key(number, words))
        one = theory.sel(latents="gaussian")
        axes[0].plot(one.signal, one.pca_alignment, color=style.BLACK, linewidth=1.0, linestyle="-.")
        dots = trained.sel(latents="gaussian")
        style.dots(axes[0], dots, "signal", "pca_alignment", number=3, color=style.BLACK, markerfacecolor="white")
        handles.append(style.key(3, "principal components", color=style.BLACK, linestyle="-.", markerfacecolor="white"))
        style.threshold(axes[0], float(here.weak_recovery_signal), "BBP")
        style.threshold(axes[0], float(here.stability_signal), "stability", linestyle=":")
        axes[0].set(xlabel=r"signal $\lambda$", ylabel="squared cosine with the direction", ylim=(-0.02, 1.0))
        style.legend_above(axes[0], handles=handles, columns=2)
        _plane(axes[1], parts["lines"])
        style.print_caveats(figure, parts)
    return figure


def _alignment(axis: Any, table: Any, number: int) -> None:
    """A line where replica symmetry is stable, and thin dots where it is not."""
    stable = table.replicon.values < 1.0
    values = table.alignment.values
    colour = style.COLOURS[number]
    axis.plot(table.signal, np.where(stable, values, np.nan), color=colour, linestyle=style.LINES[number])
    axis.plot(table.signal, np.where(stable, np.nan, values), color=colour, linestyle=":", linewidth=0.8)


def _plane(axis: Any, table: Any) -> None:
    words = {
        "stability_signal": "replica symmetry stable",
        "onset_signal": "onset by replica symmetry",
        "weak_recovery_signal": "principal components (BBP)",
    }
    for number, (name, label) in enumerate(words.items()):
        axis.plot(table.alpha, table[name], color=style.COLOURS[number], linestyle=style.LINES[number], label=label)
    high = 4.0
    axis.fill_between(table.alpha, np.minimum(table.stability_signal, high), high, color=style.COLOURS[0], alpha=0.12)
    style.logarithmic(axis, "x", "y")
    axis.set(xlabel=r"samples $\alpha = n/d$", ylabel=r"signal $\lambda$", ylim=(0.15, high))
    axis.set_xlim(float(table.alpha[0]), float(table.alpha[-1]))
    style.legend_above(axis, columns=1)


def caption(parts: Parts) -> str:
    """What is drawn."""
    here = parts["here"].isel(alpha=0)
    return (
        f"A machine of one binary unit at alpha = {ALPHA:g}. Left: squared cosine of its weights with the "
        "direction of the data against the signal, for Gaussian latents and for signs, and that of the first "
        "principal component; dots: machines trained by L-BFGS. Principal components see the direction from "
        f"{float(here.weak_recovery_signal):.3g} on. Replica symmetry is stable from "
        f"{float(here.stability_signal):.3g} on with Gaussian latents; below, thin dotted lines are what its "
        "equations say, and no claim. Right: both lines, and where the replica-symmetric equations begin to see a "
        "direction, against the number of samples; shaded: replica symmetry is locally stable."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    trained = parts["trained"]
    return (
        f"Dots: {int(trained.seeds)} machines of d = {int(trained.d)}, bars are two standard errors; finite sizes "
        "smear the transition. Binary units are a little worse than principal components for Gaussian latents, "
        "and a little better for signs. The numbers of the problem are ours."
    )
