"""What the error of a quadratic network is made of, and which features of a power-law target it has learned."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Power-law targets: the parts of the error, and the features that are learned"
SOURCE = "parts as in the talk on [DXGTEZLK25], here exact; re-learning around the peak is ours"

GAMMA, NOISE, WEIGHT_DECAY = 1.25, 0.5, 0.01
D = 120  # of the trained networks, and of the predictions beside them
PROBLEM = ps.quadratic_network(ps.PowerLaw(GAMMA, D), alpha=0.5, weight_decay=WEIGHT_DECAY, noise=NOISE)
# Samples over d: where networks are trained, and lines, with these points among them.
DOTS = {"full": [40.0, 60.0, 90.0, 140.0, 220.0, 400.0, 1000.0], "quick": [60.0, 140.0]}
LINES = {
    "full": np.unique([*np.geomspace(1.0, 1e4, 60), *np.linspace(22.0, 48.0, 27), *DOTS["full"]]),
    "quick": np.unique([*np.geomspace(1.0, 1e4, 17), *DOTS["quick"]]),
}
SEEDS = {"full": 6, "quick": 2}
TRAINER = ps.AMP()

LARGE = 1000  # dimension of the staircase: theory alone
STAIRS = ps.quadratic_network(ps.PowerLaw(GAMMA, LARGE), alpha=0.1, weight_decay=WEIGHT_DECAY, noise=NOISE)
STRENGTHS = [1e-4, 1e-2, 1.0]
FEATURES = 60  # that are followed
SHOWN = (0.5, 5e3)  # samples over d
NAMES = ("overfitting", "not_learned", "approximation")
WORDS = {"overfitting": "overfitting", "not_learned": "not learned", "approximation": "approximation"}


@dataclass(frozen=True)
class Split:
    """The parts of the error at one point, each with its bar."""

    overfitting: float
    overfitting_bar: float
    not_learned: float
    not_learned_bar: float
    approximation: float
    approximation_bar: float
    error: float
    error_bar: float
    n_seeds: int
    caveats: tuple[str, ...]


def predicted(problem: ps.Problem) -> Any:
    """The parts as they are predicted."""
    return ps.solve(problem).decomposition


def trained(problem: ps.Problem, *, d: int, seeds: int, trainer: ps.Trainer, processes: int | None = None) -> Split:
    """The parts of trained networks, cut where the prediction says that the noise ends."""
    there = ps.solve(problem).decomposition
    networks = ps.simulate(
        problem, d=d, seeds=seeds, trainer=trainer, processes=processes, n_test=1000, progress=False, keep="features"
    )
    parts = networks.parts(split=there.split, threshold=there.threshold)
    columns = [*parts, np.sum(parts, axis=0)]
    count = len(columns[0])
    lost, missed, rough, all_of_it = ((float(x.mean()), float(x.std(ddof=1) / sqrt(count))) for x in columns)
    return Split(*lost, *missed, *rough, *all_of_it, count, networks.caveats)


def staircase(problem: ps.Problem) -> dict[str, Any]:
    """Every sample size, over d, at which a feature is learned (+1) or forgotten (-1), and which."""
    found = ps.recovery(problem, features=FEATURES)
    return {"at": found.n / LARGE, "feature": found.feature, "step": np.where(found.learned, 1, -1)}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """The parts along the samples, predicted and trained, and the staircases of learned features."""
    theory = sweep(PROBLEM, predicted, alpha=LINES[effort] / D)
    size: dict[str, Any] = {"d": D, "seeds": SEEDS[effort], "trainer": TRAINER}
    networks = sweep(PROBLEM, trained, alpha=np.array(DOTS[effort]) / D, **size)
    strengths = STRENGTHS if effort == "full" else STRENGTHS[:1]
    return {
        "theory": slimmed(theory, *NAMES, "error", "learned"),
        "trained": slimmed(networks, *NAMES, "error"),
        "stairs": slimmed(sweep(STAIRS, staircase, weight_decay=strengths), "at", "feature", "step"),
    }


def problems() -> dict[str, Any]:
    """The parts at the peak and beyond it, and the staircases where weak weight decay has features forgotten."""
    places = {"at the peak": 33.0, "beyond the peak": 60.0, "overfitting below zero": 900.0}
    forgotten = STAIRS.replace(alpha=245.0 / LARGE)
    return {
        **{f"{words}, n/d = {n:g}": PROBLEM.replace(alpha=n / D) for words, n in places.items()},
        **{f"d = {LARGE}, weight decay {value:g}": forgotten.replace(weight_decay=value) for value in STRENGTHS},
    }


def draw(parts: Parts) -> Figure:
    """The parts against the samples on the left, the number of learned features on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.2)
        _parts(axes[0], parts["theory"], parts["trained"])
        _stairs(axes[1], parts["stairs"])
        for axis in axes:
            style.logarithmic(axis, "x", "y")
            axis.set(xlabel=r"samples over dimension, $n/d$")
        style.print_caveats(figure, parts)
    return figure


def _parts(axis: Any, theory: Any, networks: Any) -> None:
    line, dots = (table.assign_coords(samples=D * table.alpha) for table in (theory, networks))
    axis.plot(line.samples, line.error, color=style.BLACK, linewidth=1.6)
    style.dots(axis, dots, "samples", "error", color=style.BLACK, marker="o")
    handles = [style.key(0, "error, their sum", color=style.BLACK, linestyle="-")]
    for number, name in enumerate(NAMES):
        above, below = line[name].where(line[name] > 0.0), -line[name].where(line[name] < 0.0)
        axis.plot(line.samples, above, color=style.COLOURS[number], linestyle=style.LINES[number])
        handles.append(style.key(number, WORDS[name]))
        if bool(below.notnull().any()):
            axis.plot(line.samples, below, color=style.COLOURS[number], linestyle=":", linewidth=1.0)
            thin = {"linestyle": ":", "linewidth": 1.0, "marker": "none"}
            handles.append(style.key(number, "where negative, its size", **thin))
        _marks(axis, dots, name, number)
    axis.set(ylabel=r"parts of $\|S-S_0\|_F^2/d$", ylim=(1e-4, 3.0))
    axis.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _marks(axis: Any, dots: Any, name: str, number: int) -> None:
    """Networks: filled where a part is positive, open where it is negative, at its size."""
    positive = dots[name] > 0.0
    style.dots(axis, dots.where(positive, drop=True), "samples", name, number=number)
    if not bool(positive.all()):
        negative = dots.where(~positive, drop=True)
        style.dots(axis, negative.assign({name: -negative[name]}), "samples", name, number=number, **style.OPEN)


def _stairs(axis: Any, table: Any) -> None:
    for number, strength in enumerate(table.weight_decay.values):
        here = table.sel(weight_decay=strength)
        at, step = (here[name].values[np.isfinite(here["at"].values)] for name in ("at", "step"))
        count = np.concatenate([[0.0], np.cumsum(step)])
        edges = np.concatenate([[SHOWN[0]], at])
        pen = {"color": style.COLOURS[number], "linestyle": style.LINES[number], "label": rf"$\lambda$ = {strength:g}"}
        axis.step(edges, count, where="post", **pen)
    lowest = _lowest(table.isel(weight_decay=0))
    words = "forgotten,\nlearned again"
    place: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "fontsize": 6.5, "va": "center"}
    axis.annotate(words, lowest, **place)
    axis.set(ylabel=f"learned features of {LARGE}", xlim=SHOWN, ylim=(0.8, 70.0))
    style.legend_above(axis, columns=3)


def _lowest(table: Any) -> tuple[float, float]:
    """Samples over d at which the fewest features are left of those that had been learned, and how many."""
    known = np.isfinite(table["at"].values)
    at, count = table["at"].values[known], np.cumsum(table["step"].values[known])
    lost = np.flatnonzero(table["step"].values[known] < 0.0)
    last = lost[-1] if lost.size else int(np.argmin(count))
    return float(at[last]), float(count[last])


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Left: what the error of a quadratic network is made of (target i^-{GAMMA:g}, noise {NOISE:g}, d = {D}, "
        f"lambda = {WEIGHT_DECAY:g}): fitted noise (overfitting), features that do not stand out of the noise (not "
        "learned), and learned ones that are not quite right (approximation). Lines: theory; dots: trained networks, "
        f"cut where the theory says. The peak at n/d = {_peak(parts):.0f} is fitted noise, and what it does to learned "
        "features. Beyond it overfitting becomes negative (dotted, open dot: its size): the bulk carries more of the "
        f"target than it costs. Right: number of learned features, d = {LARGE}: around the peak weakly regularised "
        "networks forget features and learn them again."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and what the numbers are."""
    theory, networks = parts["theory"], parts["trained"]
    away = departures(parts)
    shares = ", ".join(f"{words} {np.abs(away[name]).max():.1%}" for name, words in {**WORDS, "error": "error"}.items())
    negative = theory["overfitting"].where(theory["overfitting"] < 0.0, drop=True)
    return (
        f"Dots: {int(networks.seeds)} data sets of d = {int(networks.d)} at each of n/d = "
        f"{', '.join(f'{D * a:g}' for a in networks.alpha.values)} "
        f"({str(networks.trainer.item()).split('(')[0]}), with two standard errors; eigenvalues of S up to the split "
        "of the theory are the bulk, features of the target above its threshold are learned. Largest distances from "
        f"the theory, over the error: {shares}; not learned is one sum on both sides. Overfitting is negative from "
        f"n/d = {D * float(negative.alpha.min()):.0f} on, at most {_most_negative(parts):.0%} of the error; that of "
        f"networks is {_last(parts, 'trained')} at n/d = {D * float(networks.alpha[-1]):g} (theory "
        f"{_last(parts, 'theory')}). Not learned and approximation jump where a feature is learned; their sum goes on. "
        f"{_forgotten(parts)} The first {FEATURES} features were followed."
    )


def departures(parts: Parts) -> dict[str, Any]:
    """How far the parts of networks are from the predicted ones, over the predicted error, by name."""
    networks = parts["trained"]
    near = parts["theory"].sel(alpha=networks.alpha, method="nearest")
    there = {name: near[name].values for name in (*NAMES, "error")}
    return {name: (networks[name].values - there[name]) / there["error"] for name in there}


def _peak(parts: Parts) -> float:
    """Samples over d at which the error has its peak: its largest value beyond n/d = 10."""
    late = parts["theory"].where(D * parts["theory"].alpha > 10.0, drop=True)
    return D * float(late.alpha[int(np.argmax(late.error.values))])


def _most_negative(parts: Parts) -> float:
    return -float((parts["theory"]["overfitting"] / parts["theory"]["error"]).min())


def _last(parts: Parts, part: str) -> str:
    """Overfitting at the last of the dots, with its standard error where it was measured."""
    alpha = float(parts["trained"].alpha[-1])
    here = parts[part].sel(alpha=alpha, method="nearest")
    told = f"{float(here['overfitting']):.2g}"
    return told if part == "theory" else f"{told} +- {float(here['overfitting_bar']):.1g}"


def _forgotten(parts: Parts) -> str:
    """Which features are forgotten at which weight decay, in words."""
    said = []
    for strength in parts["stairs"].weight_decay.values:
        here = parts["stairs"].sel(weight_decay=strength)
        lost = np.unique(here["feature"].values[here["step"].values < 0.0]).astype(int)
        words = f"features {lost.min()} to {lost.max()}" if lost.size else "none"
        said.append(f"{words} at lambda = {strength:g}")
    return f"Forgotten around the peak and learned again: {', '.join(said)}."
