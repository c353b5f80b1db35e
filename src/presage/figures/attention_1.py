"""Learning curve, weight spectra and rank of single-head tied attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import words
from presage.figures.shipping import slimmed
from presage.figures.style import (
    BLUE,
    COLOURS,
    OPEN,
    ORANGE,
    dots,
    key,
    legend_above,
    line,
    logarithmic,
    mosaic,
    print_caveats,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Attention: test error, weight spectra and rank against the number of samples"
SOURCE = "[BETKZ25] Figure 1"

WEIGHT_DECAY, NOISE, N_TOKENS, BETA, KAPPA_0 = 0.01, 0.5, 2, 1.0, 0.5
KAPPAS = [0.75, 1.0]
RANKS = [0.2, 0.5, 0.8]  # kappa_0 of the right panel
SHOWN = [0.05, 0.5, 4.0, 40.0]  # alpha of the spectra
LEAST, MOST = 0.05, 40.0  # alpha
MOST_RANK = 1000.0  # alpha of the right panel: the bulks of kappa_0 = 0.8 part at about 300
PUBLISHED = "Adam, d = 100 with 64 seeds (spectra: d = 200)"

POINTS = 48  # of a predicted curve
EVERY = {"quick": 2, "full": 1}  # which of them
# Where samples are many, fewer or smaller networks are trained: they take long, and fluctuate little.
TRAINED: dict[str, dict[str, Any]] = {
    "quick": {
        "trained": {"alpha": [0.05, 0.1, 0.2, 0.5, 1.0, 4.0], "d": 60, "seeds": 4},
        "trained_many": {"alpha": [40.0], "d": 32, "seeds": 2},
        "trained_spectra": {"alpha": [0.05, 0.5, 4.0], "d": 60, "seeds": 4},
        "trained_spectra_many": {"alpha": [40.0], "d": 40, "seeds": 2},
    },
    "full": {
        "trained": {"alpha": [0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 4.0], "d": 100, "seeds": 16},
        "trained_many": {"alpha": [10.0, 40.0], "d": 100, "seeds": 4},
        "trained_spectra": {"alpha": [0.05, 0.5, 4.0], "d": 200, "seeds": 6},
        "trained_spectra_many": {"alpha": [40.0], "d": 200, "seeds": 2},
    },
}
N_TEST = 10_000
BINS = 24
ZERO = 1e-3  # singular values below it are what is left of zeros

PROBLEM = ps.attention(
    ps.MarchenkoPastur(KAPPA_0), alpha=1.0, weight_decay=WEIGHT_DECAY, noise=NOISE, n_tokens=N_TOKENS, beta=BETA
)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Predicted curves, spectra and ranks, and networks trained beside them."""
    parts = {
        "theory": slimmed(sweep(PROBLEM, ps.solve, kappa=KAPPAS, alpha=alphas(effort)), "test_error", "rank"),
        "spectra": slimmed(sweep(PROBLEM, spectra, alpha=SHOWN), "x", "density", "target_x", "target_density", "zeros"),
        "rank": slimmed(
            sweep(PROBLEM, bulks, kappa_0=RANKS, alpha=alphas(effort, MOST_RANK)), "rank", "rightmost", "bulks"
        ),
    }
    for name, setting in TRAINED[effort].items():
        shown = "spectra" in name
        grid = {**setting, "trainer": ps.AMP(), "n_test": N_TEST, **({} if shown else {"kappa": KAPPAS})}
        observables = ("rank", "eigenvalues") if shown else ("test_error", "rank")
        parts[name] = slimmed(sweep(PROBLEM, ps.simulate, **grid), *observables)
    return parts


def alphas(effort: Effort, most: float = MOST) -> Any:
    """Where curves are computed: a quick figure has every second point of the full one."""
    return np.geomspace(LEAST, most, POINTS)[:: EVERY[effort]]


def spectra(problem: Any) -> dict[str, Any]:
    """Densities of the learned singular values and of the target's, on points that resolve the edges of each band."""
    law = ps.solve(problem).singular_values
    x = np.concatenate([_resolved(left, right) for left, right in law.bands])
    target = problem.target
    edges = target.support[target.support[:, 1] > 0.0]
    target_x = np.concatenate([_resolved(left, right) for left, right in np.sqrt(edges)])
    # A singular value is the root of an eigenvalue, and the density changes with the variable.
    target_density = 2.0 * target_x * target.density(target_x**2)
    zeros = float(law.atoms.masses.sum())
    return {"x": x, "density": law.density(x), "target_x": target_x, "target_density": target_density, "zeros": zeros}


def bulks(problem: Any) -> dict[str, float]:
    """Rank, the mass of the right-most bulk, and how many bulks there are."""
    solution = ps.solve(problem)
    found = solution.bulks
    return {
        "rank": solution.rank,
        "rank_bar": solution.error_bars["rank"],
        "rightmost": found[-1].mass if found else 0.0,
        "bulks": float(len(found)),
    }


def parting(parts: Parts) -> dict[float, float]:
    """The first alpha of the table at which the spectrum has two bulks, for each kappa_0 that has one."""
    table = parts["rank"]
    first = table["alpha"].where(table["bulks"] > 1.0).min("alpha")
    return {kappa_0: float(alpha) for kappa_0, alpha in zip(RANKS, first.values, strict=True) if np.isfinite(alpha)}


def _resolved(left: float, right: float, count: int = 120) -> Any:
    """Points of an interval, closer to each other towards its ends."""
    return left + (right - left) * 0.5 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, count)))


def problems() -> dict[str, Any]:
    """The spectra that are drawn, the narrower student, and a target of small rank whose bulks have parted."""
    shown = {f"spectrum at alpha = {alpha:g}": PROBLEM.replace(alpha=alpha) for alpha in SHOWN}
    narrow, few = min(KAPPAS), min(RANKS)
    return {
        **shown,
        f"narrower student, kappa = {narrow:g}, alpha = 0.5": PROBLEM.replace(alpha=0.5, kappa=narrow),
        f"two bulks, kappa_0 = {few:g}, alpha = 4": PROBLEM.replace(alpha=4.0, kappa_0=few),
    }


def draw(parts: Parts) -> Figure:
    """Spectra above; learning curve and rank below."""
    with style():
        figure, axes = mosaic(["0123", "eerr"], height=4.3, height_ratios=[1.0, 1.25])
        _draw_spectra([axes[str(k)] for k in range(len(SHOWN))], parts)
        _draw_errors(axes["e"], parts)
        _draw_ranks(axes["r"], parts)
        print_caveats(figure, parts)
    return figure


def _draw_spectra(axes: list[Any], parts: Parts) -> None:
    theory = parts["spectra"]
    networks = {
        float(alpha): table.sel(alpha=alpha)
        for name, table in parts.items()
        if name.startswith("trained_spectra")
        for alpha in table["alpha"].values
    }
    for axis, alpha in zip(axes, theory["alpha"].values, strict=True):
        row, trained = theory.sel(alpha=alpha), networks[float(alpha)]
        values = np.sqrt(np.maximum(trained["eigenvalues"].values.ravel(), 0.0))
        values = values[np.isfinite(values)]
        learned = values[values > ZERO]
        edges = np.linspace(0.0, 1.05 * max(learned.max(), float(row["target_x"].max())), BINS + 1)
        heights = np.histogram(learned, edges)[0] / (len(values) * np.diff(edges))
        axis.stairs(heights, edges, fill=True, color="0.8", label="trained")
        axis.plot(row["x"].values, row["density"].values, color=BLUE, label="theory")
        axis.plot(row["target_x"].values, row["target_density"].values, color=ORANGE, linestyle="--", label="target")
        zeros = 1.0 - float(trained["rank"])
        axis.set_title(rf"$\alpha$ = {alpha:g}")
        axis.set_xlabel("singular value")
        axis.set_xlim(0.0, edges[-1])
        highest = max(heights.max(), float(row["density"].max()), float(row["target_density"].max()))
        axis.set_ylim(0.0, 1.35 * highest)
        axis.text(
            0.97,
            0.98,
            f"at zero: {float(row['zeros']):.3f}\ntrained: {zeros:.3f}",
            transform=axis.transAxes,
            ha="right",
            va="top",
            fontsize=6.5,
        )
    axes[0].set_ylabel("density")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(handles, labels, loc="outside upper center", ncols=3)


def _draw_errors(axis: Any, parts: Parts) -> None:
    looks: list[dict[str, Any]] = [OPEN, {}]
    for number, (kappa, look) in enumerate(zip(KAPPAS, looks, strict=True)):
        at = {"kappa": kappa}
        line(axis, parts["theory"].sel(at), "alpha", "test_error", number=number)
        for name in ("trained", "trained_many"):
            dots(axis, parts[name].sel(at), "alpha", "test_error", number=number, **look)
    logarithmic(axis, "x")
    axis.set(xlabel=r"$\alpha = n/d^2$", ylabel="test error")
    handles = [key(n, rf"$\kappa$ = {k:g}", **look) for n, (k, look) in enumerate(zip(KAPPAS, looks, strict=True))]
    legend_above(axis, handles=handles)


def _draw_ranks(axis: Any, parts: Parts) -> None:
    table = parts["rank"]
    for number, kappa_0 in enumerate(RANKS):
        row = table.sel(kappa_0=kappa_0)
        line(axis, row, "alpha", "rank", number=number, linestyle="-")
        parted = row.isel(alpha=row["bulks"].values > 1.0)
        colour = COLOURS[number]
        axis.plot(parted["alpha"].values, parted["rightmost"].values, color=colour, linestyle="--")
        if parted.sizes["alpha"]:
            first = parted.isel(alpha=0)
            ends = [float(first["rightmost"]), float(first["rank"])]
            axis.plot([float(first["alpha"])] * 2, ends, color=colour, linestyle=":", linewidth=0.9)
        shown = row.sel(alpha=100.0, method="nearest")
        label = rf"$\kappa_0$ = {kappa_0:g}"
        axis.annotate(
            label, (float(shown["alpha"]), float(shown["rank"])), xytext=(0, 3), textcoords="offset points", ha="right"
        )
    logarithmic(axis, "x")
    axis.set_ylim(0.0, 1.0)
    axis.set(xlabel=r"$\alpha = n/d^2$", ylabel="rank / d")
    styles = [key(5, "rank", linestyle="-", marker=""), key(5, "right-most bulk", linestyle="--", marker="")]
    legend_above(axis, handles=styles)


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Single-head tied attention with weight decay {WEIGHT_DECAY:g}, label noise {NOISE:g}, {N_TOKENS} tokens, "
        f"beta = {BETA:g} and a Marchenko-Pastur target of kappa_0 = {KAPPA_0:g}. "
        "Top: singular values of the learned W/(md)^(1/4) (line: theory; shaded: trained) and of the target (dashed); "
        "the fraction of exact zeros is written in each panel, predicted and trained. "
        "Bottom left: test error, which hardly depends on the width kappa of the student. "
        "Bottom right: predicted rank (solid) and, from where the bulks part, the mass of the right-most bulk "
        "(dashed), which is then kappa_0."
    )


def details(parts: Parts) -> str:
    """How it was computed, and where it differs from print."""
    shown = [table for name, table in parts.items() if name.startswith("trained_spectra")]
    splits = ", ".join(f"{alpha:.3g} (kappa_0 = {kappa_0:g})" for kappa_0, alpha in parting(parts).items())
    most = float(parts["rank"]["alpha"].max())
    return (
        f"Spectra: {words.networks(*shown)}. Test errors: {words.networks(parts['trained'], parts['trained_many'])}. "
        f"{words.BARS} The first points of the curves at which the bulks have parted are alpha = {splits}. "
        f"In print the trainer is {PUBLISHED}, and bars are standard deviations. Differs from print: "
        "eigenvalues carry the factor m_hat/Sigma_hat that equation (13) lacks, without which the second moment of the "
        f"spectrum would be 13 to 30 % too large; the axis of the rank goes on to alpha = {most:g}, {_seen(parts)}. "
        f"{words.version(*parts.values())}"
    )


def _seen(parts: Parts) -> str:
    """Which of the partings of the bulks the axis of the rank takes in."""
    never = [f"{kappa_0:g}" for kappa_0 in RANKS if kappa_0 not in parting(parts)]
    if never:
        return f"where the bulks of kappa_0 = {', '.join(never)} have not parted yet"
    return "so that the bulks of every kappa_0 are seen to part"
