"""One law of the target, six types of learned spectra: from noise through spikes to a power law, and to nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Power-law targets: one law, six types of learned spectra"
SOURCE = "types as in [MM21]; that one law shows all of them, and the tests that tell them apart, are ours"

GAMMA, D = 1.25, 1000
PROBLEM = ps.quadratic_network(ps.PowerLaw(GAMMA, D), alpha=0.1, weight_decay=0.01, noise=0.5)
DRAWS = {"full": 8, "quick": 2}
SEEDS = {"full": 3, "quick": 2}
TRAINER = ps.AMP()
BINS = 36
LOWEST = 3e-4  # of the largest eigenvalue: where bins of equal ratio begin
ZERO = 1e-6  # eigenvalues of networks below it are zero, up to how far training went


class Setting(NamedTuple):
    """Where a spectrum is: noise, samples over d, weight decay; and whether its bins are of equal ratio."""

    noise: float
    samples: float
    weight_decay: float
    logarithmic: bool
    d: int = D


PREDICTED = {
    "random-like": Setting(100.0, 20.0, 1e-3, logarithmic=False),
    "bleeding-out": Setting(30.0, 27.0, 1e-3, logarithmic=False),
    "bulk+spikes": Setting(0.5, 100.0, 1e-3, logarithmic=False),
    "bulk-decay": Setting(0.5, 2e4, 1e-3, logarithmic=True),
    "heavy-tailed": Setting(0.5, 1e6, 100.0, logarithmic=True),
    "rank-collapse": Setting(0.5, 100.0, 3.0, logarithmic=False),
}
TRAINED = {
    "random-like": Setting(100.0, 80.0, 1e-2, logarithmic=False, d=200),
    "bulk+spikes": Setting(0.5, 100.0, 1e-2, logarithmic=False, d=200),
    "heavy-tailed": Setting(1e-4, 200.0, 1e-2, logarithmic=True, d=120),
}
NUMBERS = ("edges", "expected", "seen", "rank", "rank_seen", "agreeing", "spectra", "kind")


def located(problem: ps.Problem, at: Setting) -> ps.Problem:
    """The problem at a setting, with a target of d eigenvalues."""
    target = ps.PowerLaw(GAMMA, at.d)
    return problem.replace(target=target, noise=at.noise, alpha=at.samples / at.d, weight_decay=at.weight_decay)


def sampled(problem: ps.Problem, *, view: str, draws: int) -> dict[str, Any]:
    """The predicted spectrum beside eigenvalues of matrices that follow it, and their type."""
    at = PREDICTED[view]
    solution = ps.solve(located(problem, at))
    spectra = [solution.spectrum.sample(at.d, np.random.default_rng(seed)) for seed in range(draws)]
    return histogram(solution, np.array(spectra), [ps.classify(values).kind for values in spectra], at)


def trained(
    problem: ps.Problem, *, view: str, seeds: int, trainer: ps.Trainer, processes: int | None = None
) -> dict[str, Any]:
    """The predicted spectrum beside that of trained networks, and their type."""
    at = TRAINED[view]
    there = located(problem, at)
    networks = ps.simulate(
        there, d=at.d, seeds=seeds, trainer=trainer, processes=processes, n_test=1000, progress=False
    )
    found: Any = ps.classify(networks)
    kinds = [member.kind for member in found.members]
    table = histogram(ps.solve(there), networks.values("eigenvalues"), kinds, at)
    return {**table, "n_seeds": len(kinds)}


def histogram(solution: Any, spectra: Any, kinds: list[str], at: Setting) -> dict[str, Any]:
    """Eigenvalues a bin, as expected and as seen, and what is zero."""
    top = 1.04 * max(float(spectra.max()), float(solution.spectrum.support[-1, 1]))
    edges = np.geomspace(LOWEST * top, top, BINS + 1) if at.logarithmic else np.linspace(0.0, top, BINS + 1)
    above = spectra[spectra > ZERO]
    kind, agreeing = Counter(kinds).most_common(1)[0]
    return {
        "edges": edges,
        "expected": at.d * np.diff(solution.spectrum.cdf(edges)),
        "seen": np.histogram(above, edges)[0] / len(spectra),
        "rank": solution.rank,
        "rank_seen": above.size / spectra.size,
        "kind": kind,
        "agreeing": agreeing,
        "spectra": len(kinds),
    }


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Six spectra, predicted and sampled, and three of networks."""
    zoo = sweep(PROBLEM, sampled, view=list(PREDICTED), draws=DRAWS[effort])
    networks = sweep(PROBLEM, trained, view=list(TRAINED), seeds=SEEDS[effort], trainer=TRAINER)
    return {"sampled": slimmed(zoo, *NUMBERS), "trained": slimmed(networks, *NUMBERS)}


def problems() -> dict[str, Any]:
    """The six types, by their names."""
    return {kind: located(PROBLEM, at) for kind, at in PREDICTED.items()}


def draw(parts: Parts) -> Figure:
    """Six panels of predicted and sampled spectra, and a row of trained ones."""
    with style.style():
        figure, axes = style.canvas(3, 3, height=6.2)
        panels = [("sampled", view) for view in PREDICTED] + [("trained", view) for view in TRAINED]
        for axis, (part, view) in zip(axes.ravel(), panels, strict=True):
            _panel(axis, parts[part].sel(view=view), part, (PREDICTED if part == "sampled" else TRAINED)[view])
        for row in axes:
            row[0].set_ylabel("eigenvalues a bin")
        for axis in axes[-1]:
            axis.set_xlabel(r"eigenvalue of $S$")
        handles = [
            style.key(0, "theory", linestyle="-", marker="none"),
            _patch("0.8", f"sampled from it, d = {D}"),
            _patch("#E8C7A8", "trained, d as written"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=3)
        style.print_caveats(figure, parts)
    return figure


def _patch(colour: str, label: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, edgecolor="0.5", linewidth=0.3, label=label)


def _panel(axis: Any, table: Any, part: str, setting: Setting) -> None:
    edges, width = table["edges"].values, np.diff(table["edges"].values)
    colour = "0.8" if part == "sampled" else "#E8C7A8"
    axis.bar(edges[:-1], table["seen"], width, align="edge", color=colour, edgecolor="0.6", linewidth=0.3)
    axis.stairs(np.maximum(table["expected"].values, 1e-9), edges, color=style.BLUE, linewidth=1.1, baseline=None)
    style.logarithmic(axis, *(("x", "y") if setting.logarithmic else ("y",)))
    left = edges[0] if setting.logarithmic else -0.02 * edges[-1]
    axis.set(xlim=(left, edges[-1]), ylim=(0.05, 8.0 * max(float(table["expected"].max()), 1.0)))
    axis.set_title(str(table["kind"].item()), pad=3.0)
    size = "" if part == "sampled" else f"$d$ = {setting.d}, "
    words = (
        f"noise {setting.noise:g}, $n/d$ = {_number(setting.samples)}, $\\lambda$ = {setting.weight_decay:g}\n"
        f"{size}zero: {1.0 - float(table['rank']):.1%}, {part} {1.0 - float(table['rank_seen']):.1%}"
    )
    axis.text(0.98, 0.97, words, transform=axis.transAxes, ha="right", va="top", fontsize=6.0)


def _number(x: float) -> str:
    return f"{x:g}" if x < 1e4 else f"{x:.0e}".replace("e+0", "e")


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"One law of the target, eigenvalues i^-{GAMMA:g}, and the spectra that quadratic networks learn of it: noise, "
        "samples and weight decay decide which of six types is seen. Blue: eigenvalues a bin by the theory; grey: of "
        f"matrices sampled from it, d = {D}; last row, brown: of trained networks. The title of a panel is the type "
        "that `classify` gives to the bars. Noise hides the target (random-like), then its first feature comes out "
        "(bleeding-out), then several (bulk+spikes), then a tail of them (bulk-decay); without noise the power law of "
        "the target itself is left (heavy-tailed), and more weight decay leaves next to nothing (rank-collapse)."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how sure the types are."""
    sampled, networks = parts["sampled"], parts["trained"]
    return (
        f"Grey: mean of {int(sampled.draws)} matrices a panel; brown: mean of {int(networks.seeds)} data sets, d = "
        f"{', '.join(str(TRAINED[str(view)].d) for view in networks.view.values)} "
        f"({str(networks.trainer.item()).split('(')[0]}), each with the prediction at its own d. Spectra that "
        f"`classify` gives the type of their panel: sampled, {_agreeing(sampled)}; trained, {_agreeing(networks)}. "
        "What is zero is written in the panels and not among the bars, nor is, where the axis is logarithmic, what is "
        f"below {LOWEST:g} of the largest. A bar below one is an eigenvalue that only some spectra have in that bin. "
        f"The largest distance of the rank of networks from the prediction is {_off(networks):.1%} of d."
    )


def _agreeing(table: Any) -> str:
    """How many spectra have the type of their panel, in words."""
    return ", ".join(
        f"{table['kind'].sel(view=view).item()} {int(table['agreeing'].sel(view=view))} of "
        f"{int(table['spectra'].sel(view=view))}"
        for view in table.view.values
    )


def _off(table: Any) -> float:
    return float(np.abs(table["rank_seen"] - table["rank"]).max())
