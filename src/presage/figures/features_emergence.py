"""Features that a signal matrix selects, one by one: overlaps and eigenvalues against the samples."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.models.lofi.theory.emergence import weak
from presage.models.lofi.theory.label_law import label_laws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Selected features: they emerge one by one"
SOURCE = "the algorithm of [DVATK26]; the limit is derived"

STRENGTHS = (1.0, -0.7, 0.5)
PROBLEM = ps.lofi(ps.SquaresLink(STRENGTHS), alpha=8.0)
ALPHAS = {"full": np.geomspace(0.5, 100.0, 81), "quick": np.geomspace(0.5, 100.0, 16)}
DOTS = {"full": [0.6, 1.0, 1.5, 2.2, 3.3, 5.0, 8.0, 14.0, 30.0, 64.0], "quick": [1.5, 8.0]}
D = {"full": 500, "quick": 80}
SEEDS = {"full": 10, "quick": 2}


def predicted(problem: ps.LoFiProblem) -> dict[str, Any]:
    """Overlaps by both formulas, eigenvalues and edges."""
    found = ps.solve(problem)
    roughly = weak(label_laws(problem.link)[0], problem.alpha)
    return {
        "overlaps": found.overlaps,
        "weak": roughly.overlap,
        "eigenvalues": found.eigenvalues,
        "edges": np.array([found.lower_edge, found.upper_edge]),
    }


def measured(problem: ps.LoFiProblem, *, d: int, seeds: int, processes: int | None = None) -> dict[str, Any]:
    """Overlaps, eigenvalues from the lowest on, and the edges with shuffled labels: means and standard errors."""
    found = ps.simulate(problem, d=d, seeds=seeds, processes=processes, n_test=2000, progress=False)
    values = {"overlaps": found.overlaps, "eigenvalues": np.sort(found.eigenvalues, axis=1), "edges": found.edges}
    means = {name: value.mean(axis=0) for name, value in values.items()}
    return means | {f"{name}_bar": value.std(axis=0, ddof=1) / sqrt(seeds) for name, value in values.items()}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Theory along the samples, and selections at some of them."""
    size = {"d": D[effort], "seeds": SEEDS[effort]}
    names = ("overlaps", "eigenvalues", "edges")
    return {
        "theory": slimmed(sweep(PROBLEM, predicted, alpha=ALPHAS[effort]), *names, "weak"),
        "selections": slimmed(sweep(PROBLEM, measured, alpha=DOTS[effort], **size), *names),
    }


def problems() -> dict[str, Any]:
    """Before, between and after the thresholds."""
    return {
        "no feature yet": PROBLEM.replace(alpha=0.6),
        "two features": PROBLEM.replace(alpha=2.2),
        "all features": PROBLEM,
        "with the tail of ReLU": PROBLEM.replace(tail=0.14159),
    }


def draw(parts: Parts) -> Figure:
    """Overlaps on the left, eigenvalues and the bulk on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.2)
        _overlaps(axes[0], parts)
        _eigenvalues(axes[1], parts)
        style.print_caveats(figure, parts)
    return figure


def _of(table: Any, name: str, feature: int) -> Any:
    """Values of one feature along alpha."""
    values = table[name]
    (dim,) = [dim for dim in values.dims if dim != "alpha"]
    return values.isel({dim: feature}).transpose("alpha").values


def _overlaps(axis: Any, parts: Parts) -> None:
    theory, seen = parts["theory"], parts["selections"]
    for feature, strength in enumerate(STRENGTHS):
        colour = style.COLOURS[feature]
        sharp = {"color": colour, "linestyle": style.LINES[feature], "label": rf"$\lambda$ = {strength:g}"}
        axis.plot(theory.alpha.values, _of(theory, "overlaps", feature), **sharp)
        axis.plot(theory.alpha.values, _of(theory, "weak", feature), color=colour, linewidth=0.5, alpha=0.6)
        bar = 2.0 * _of(seen, "overlaps_bar", feature)
        dots = {"color": colour, "marker": style.MARKERS[feature], "markeredgecolor": style.BLACK}
        _bars(axis, seen.alpha.values, _of(seen, "overlaps", feature), bar, **dots)
    axis.plot([], [], color=style.GREY, linewidth=0.5, label="weak features")
    style.logarithmic(axis, "x")
    axis.set(xlabel=r"samples over coordinates, $\alpha = n/D$", ylabel="squared cosine of the feature")
    axis.set(ylim=(-0.03, 1.03), xlim=(theory.alpha.values[0], theory.alpha.values[-1]))
    style.legend_above(axis, columns=2)


def _eigenvalues(axis: Any, parts: Parts) -> None:
    theory, seen = parts["theory"], parts["selections"]
    alpha = theory.alpha.values
    low, high = (_of(theory, "edges", i) for i in (0, 1))
    axis.fill_between(alpha, low, high, color="0.85", linewidth=0.0, label="bulk")
    for feature in range(len(STRENGTHS)):
        out = _of(theory, "overlaps", feature) > 0.0
        values = np.where(out, _of(theory, "eigenvalues", feature), np.nan)
        axis.plot(alpha, values, color=style.COLOURS[feature], linestyle=style.LINES[feature])
    for side in (0, 1):
        words = {"label": "edges, shuffled labels"} if side else {}
        pen = {"color": style.GREY, "marker": "_", **words}
        _bars(axis, seen.alpha.values, _of(seen, "edges", side), 2.0 * _of(seen, "edges_bar", side), **pen)
    settled = seen.alpha.values > 2.0 * float(ps.thresholds(PROBLEM).last)
    for row, feature in enumerate((1, 2, 0)):  # from the lowest eigenvalue on
        dots = {"color": style.COLOURS[feature], "marker": style.MARKERS[feature], "markeredgecolor": style.BLACK}
        values, bar = _of(seen, "eigenvalues", row)[settled], 2.0 * _of(seen, "eigenvalues_bar", row)[settled]
        _bars(axis, seen.alpha.values[settled], values, bar, **dots)
    style.logarithmic(axis, "x")
    axis.set(xlabel=r"samples over coordinates, $\alpha = n/D$", ylabel="eigenvalue of C", xlim=(alpha[0], alpha[-1]))
    axis.set(ylim=(-2.0, 2.5))
    style.legend_above(axis)


def _bars(axis: Any, x: Any, y: Any, bar: Any, **options: Any) -> None:
    place = {"linestyle": "none", "capsize": 1.5, "elinewidth": 0.8, "zorder": 3, "markeredgewidth": 0.4}
    axis.errorbar(x, y, bar, **{**place, **options})


def caption(parts: Parts) -> str:
    """What is drawn."""
    each = ps.thresholds(PROBLEM).alpha
    listed = ", ".join(f"{one:.3g}" for one in each)
    return (
        "Labels tanh(sum lam_k (h_k^2 - 1)/sqrt 2) of three features of strengths 1, -0.7 and 0.5 (over their norm). "
        "Left: squared cosine of each feature with what is selected, against the samples over coordinates. Lines: the "
        f"sharp limit, with thresholds at {listed}; thin lines: the formula of weak features, which is too good; dots: "
        "selections. Right: eigenvalues of the signal matrix and the bulk that they come out of; its two edges differ, "
        "since the labels are skewed."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how far both are apart."""
    theory, seen = parts["theory"], parts["selections"]
    away = 0.0
    for feature in range(len(STRENGTHS)):
        line = np.interp(np.log(seen.alpha.values), np.log(theory.alpha.values), _of(theory, "overlaps", feature))
        late = seen.alpha.values >= 5.0
        away = max(away, float(np.abs(_of(seen, "overlaps", feature) - line)[late].max(initial=0.0)))
    return (
        f"Dots: {int(seen.seeds)} selections of D = {int(seen.d)} Gaussian coordinates, bars are two standard errors; "
        "thresholds are smeared at finite D, and below them as many eigenvectors are selected all the same. Largest "
        f"distance of a dot from its line at n/D of at least 5: {away:.3f}. Eigenvalues of selections are drawn where "
        "all features have emerged, at twice the last threshold."
    )
