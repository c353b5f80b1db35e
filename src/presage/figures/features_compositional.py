"""Features of a compositional target, one by one: overlaps against the samples, and the spectrum of C."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Compositional targets: features one by one, and the spectrum that they come out of"
SOURCE = "as in [WTDKL26], here with the exact limit of clipped labels"

FEATURES, DECAY, CLIP = 6, 0.5, 2.0
PROBLEM = ps.compositional(alpha=20.0, features=FEATURES, decay=DECAY, clip=CLIP)
TRUE = PROBLEM.replace(inputs="hermite")
ALPHAS = {"full": np.geomspace(0.7, 300.0, 61), "quick": np.geomspace(0.7, 300.0, 16)}
DOTS = {"full": [2.0, 4.0, 7.0, 12.0, 25.0, 60.0, 150.0], "quick": [7.0, 25.0]}
TRUE_DOTS = {"full": [25.0, 60.0], "quick": [25.0]}
D = {"full": 36, "quick": 14}
TRUE_D = {"full": 90, "quick": 20}
SEEDS = {"full": 8, "quick": 2}
TRUE_SEEDS = 2
BINS, POINTS = 60, 200
SHOWN = (0, 2, 5)  # features with dots, counted from 0


def overlaps(problem: ps.CompositionalProblem) -> dict[str, Any]:
    """Overlap of every feature, predicted."""
    found = ps.solve(problem)
    return {"overlaps": found.overlaps, "thresholds": found.thresholds}


def measured_overlaps(problem: ps.CompositionalProblem, *, d: int, seeds: int, processes: int | None = None) -> Any:
    """Overlap of every feature of networks: means and standard errors."""
    networks = ps.simulate(problem, d=d, seeds=seeds, processes=processes, n_test=1000, progress=False)
    found = networks.overlaps
    return {"overlaps": found.mean(axis=0), "overlaps_bar": found.std(axis=0, ddof=1) / sqrt(len(found))}


def spectrum(problem: ps.CompositionalProblem) -> dict[str, Any]:
    """Density of the bulk of C, and its outliers."""
    found = ps.solve(problem)
    x = np.linspace(found.edges[0], found.edges[1], POINTS)
    return {"x": x, "density": found.spectrum.density(x), "outliers": found.eigenvalues}


def measured_spectrum(problem: ps.CompositionalProblem, *, d: int, seeds: int, processes: int | None = None) -> Any:
    """Histogram of all eigenvalues of C, and those that stand out, means over networks."""
    trainer = ps.LayerWise(method="dense")
    networks = ps.simulate(problem, d=d, seeds=seeds, processes=processes, n_test=1000, trainer=trainer, progress=False)
    edge = 1.15 * max(map(abs, ps.solve(problem).edges))
    counts, edges = np.histogram(networks.spectrum, BINS, (-edge, edge))
    size = edges[1] - edges[0]
    whole = np.sort(networks.spectrum, axis=1)
    negative = np.sum(ps.solve(problem).eigenvalues < 0)
    outside = np.hstack([whole[:, :negative], whole[:, whole.shape[1] - problem.features + negative :]])
    return {
        "left": edges[:-1],
        "width": size,
        "height": counts / networks.spectrum.size / size,
        "outliers": outside.mean(axis=0),
        "outliers_bar": outside.std(axis=0, ddof=1) / sqrt(len(outside)),
    }


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Overlaps along the samples, predicted, of Gaussian and of true coordinates; and the spectrum at one of them."""
    size = {"d": D[effort], "seeds": SEEDS[effort]}
    true = {"d": TRUE_D[effort], "seeds": TRUE_SEEDS}
    return {
        "theory": slimmed(sweep(PROBLEM, overlaps, alpha=ALPHAS[effort]), "overlaps", "thresholds"),
        "networks": slimmed(sweep(PROBLEM, measured_overlaps, alpha=DOTS[effort], **size), "overlaps"),
        "hermite": slimmed(sweep(TRUE, measured_overlaps, alpha=TRUE_DOTS[effort], **true), "overlaps"),
        "spectrum": slimmed(sweep(PROBLEM, spectrum, alpha=[PROBLEM.alpha]), "x", "density", "outliers"),
        "eigenvalues": slimmed(
            sweep(PROBLEM, measured_spectrum, alpha=[PROBLEM.alpha], **size), "left", "width", "height", "outliers"
        ),
    }


def problems() -> dict[str, Any]:
    """Where some features are learned, where all are, and the true coordinates."""
    return {
        "two features learned": PROBLEM.replace(alpha=4.0),
        "the spectrum": PROBLEM,
        "all features learned": PROBLEM.replace(alpha=150.0),
        "true Hermite coordinates": TRUE.replace(alpha=60.0),
        "labels as they are": PROBLEM.replace(clip=None, alpha=150.0),
    }


def draw(parts: Parts) -> Figure:
    """Overlaps against the samples on the left, the spectrum of C on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.2)
        _overlaps(axes[0], parts)
        _spectrum(axes[1], parts["spectrum"].isel(alpha=0), parts["eigenvalues"].isel(alpha=0))
        style.print_caveats(figure, parts)
    return figure


def _overlaps(axis: Any, parts: Parts) -> None:
    theory, networks, true = parts["theory"], parts["networks"], parts["hermite"]
    alpha = theory.alpha.values
    for feature in range(FEATURES):
        values = _of(theory, "overlaps", feature)
        number = SHOWN.index(feature) if feature in SHOWN else None
        pen: dict[str, Any] = {"color": style.GREY, "linewidth": 0.7}
        if number is not None:
            pen = {"color": style.COLOURS[number], "linestyle": style.LINES[number], "label": f"feature {feature + 1}"}
        axis.plot(alpha, values, **pen)
    for number, feature in enumerate(SHOWN):
        _dots(axis, networks, feature, color=style.COLOURS[number], marker=style.MARKERS[number])
        _dots(axis, true, feature, color=style.COLOURS[number], marker=style.MARKERS[number], **style.OPEN)
    axis.plot([], [], color=style.GREY, linewidth=0.7, label="the others")
    style.logarithmic(axis, "x")
    axis.set(xlabel=r"samples over coordinates, $\alpha = n/D$", ylabel="squared overlap of the feature")
    axis.set(ylim=(-0.03, 1.03), xlim=(alpha[0], alpha[-1]))
    style.legend_above(axis, columns=4)


def _of(table: Any, name: str, feature: int) -> Any:
    """Values of one feature along alpha."""
    values = table[name]
    (dim,) = [dim for dim in values.dims if dim != "alpha"]
    return values.isel({dim: feature}).transpose("alpha").values


def _dots(axis: Any, table: Any, feature: int, **options: Any) -> None:
    settings = {"markeredgecolor": style.BLACK if "markerfacecolor" not in options else options["color"], **options}
    settings = {"markeredgewidth": 0.4, **settings}
    bar = 2.0 * _of(table, "overlaps_bar", feature)
    place = {"linestyle": "none", "capsize": 1.5, "elinewidth": 0.8, "zorder": 3}
    axis.errorbar(table.alpha.values, _of(table, "overlaps", feature), bar, **place, **settings)


def _spectrum(axis: Any, theory: Any, measured: Any) -> None:
    left, width = measured["left"].values, float(measured["width"])
    axis.bar(left, measured["height"].values, width, align="edge", color="0.8", label="eigenvalues of C")
    axis.plot(theory["x"].values, theory["density"].values, color=style.BLUE, label="bulk, predicted")
    top = 0.3 * float(theory["density"].max())
    axis.vlines(theory["outliers"].values, 0.0, top, color=style.ORANGE, linestyle="--", label="outliers, predicted")
    at, bar = measured["outliers"].values, 2.0 * measured["outliers_bar"].values
    axis.errorbar(
        at, np.full(at.shape, 0.5 * top), xerr=bar, fmt="o", color=style.BLACK, capsize=1.5, label="their means"
    )
    axis.set(xlabel="eigenvalue of C", ylabel="density", ylim=(0.0, None))
    style.legend_above(axis)


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Left: how much of each of {FEATURES} features (strengths i^-{DECAY:g}) the first layer has found, against "
        f"the samples over coordinates. Lines: theory, exact for labels clipped at {CLIP:g} standard deviations; "
        "filled dots: Gaussian coordinates; open dots: true Hermite coordinates. Right: spectrum of the matrix C of "
        f"the first layer at n/D = {PROBLEM.alpha:g}: one outlier a feature beside the bulk."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how far both are apart."""
    networks, true = parts["networks"], parts["hermite"]
    gaussian, heavy = (_away(parts["theory"], table) for table in (networks, true))
    counts = [PROBLEM.samples_at_one(int(table.d)) for table in (networks, true)]
    return (
        f"Filled dots: {int(networks.seeds)} networks of d = {int(networks.d)}, {counts[0]} coordinates; open ones: "
        f"{int(true.seeds)} of d = {int(true.d)}, without forming their {counts[1]} coordinates; bars are two standard "
        "errors. Largest distance of the features that are drawn from the line at n/D of at least 25: "
        f"{gaussian:.3f} of Gaussian coordinates, {heavy:.3f} of true ones, whose tails are heavy: the distance falls "
        "about as 1/d. Transitions are smeared at finite D."
    )


def _away(theory: Any, table: Any) -> float:
    """Largest distance of measured overlaps from the line where there are many samples."""
    distance = 0.0
    for feature in SHOWN:
        line = np.interp(np.log(table.alpha.values), np.log(theory.alpha.values), _of(theory, "overlaps", feature))
        late = table.alpha.values >= 25.0
        if late.any():
            distance = max(distance, float(np.abs(_of(table, "overlaps", feature) - line)[late].max()))
    return distance
