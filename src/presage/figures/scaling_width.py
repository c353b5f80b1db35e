"""What a tuned width can do where the target's eigenvalues fall as a power: error against width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.models.attention.theory.scaling.constants import C_BO, C_j, C_w, best_ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Power-law targets: a tuned width beside a tuned weight decay"
SOURCE = "widths as in [GTXEKZ26]; the laws and the picture are ours"

GAMMA, NOISE = 1.5, 0.5
D = 120  # of the trained networks, and of the predictions beside them
PROBLEM = ps.quadratic_network(ps.PowerLaw(GAMMA, D), alpha=0.2, weight_decay=0.1, noise=NOISE)
LAMBDA_TILDES = [0.02, 0.1, 0.5]
UNITS = {
    "full": [*range(1, 21), 23, 26, 30, 34, 38, 42, 46, 50, 60, 80, 120],
    "quick": [1, 2, 3, 4, 5, 6, 8, 11, 16, 23, 34, 50, 120],
}
TRAINED_UNITS = {"full": [1, 2, 3, 4, 6, 9, 14, 23, 38, 60, 120], "quick": [1, 3, 6, 23, 120]}
SEEDS = {"full": 8, "quick": 2}
TRAINER = ps.LBFGS(tol=1e-4)

LARGE = 10_000  # dimension of the panel on ratios: theory alone
UNPENALISED = 1e-3  # weight decay that is too weak to matter beside a width
RICH = ps.quadratic_network(ps.PowerLaw(GAMMA, LARGE), alpha=1.0, weight_decay=UNPENALISED, noise=NOISE)
SAMPLES = {"full": np.geomspace(10.0, 1e5, 9), "quick": np.geomspace(10.0, 1e5, 3)}  # n/d
KINDS = {"weight_decay": "tuned_error", "width": "estimation_error", "both": "both_error"}
WORDS = {"weight_decay": "tuned weight decay", "width": "tuned width", "both": "both"}
LIMITS = {
    "weight_decay": best_ratio(GAMMA),
    "width": C_w(GAMMA) / C_BO(GAMMA),
    "both": C_j(GAMMA) / C_BO(GAMMA),
}
NARROW = (
    "widths below the learned rank are predicted to keep the largest eigenvalues, a heuristic [GTXEKZ26]; where that "
    "cuts inside a bulk the replicon is infinite."
)


def as_penalised(problem: ps.Problem) -> ps.Problem:
    """The problem with its weight decay taken for lambda~, the price of S: the same at every width."""
    strength = problem.penalty.scaling
    return problem.replace(weight_decay=strength / ps.NuclearPSD(1.0).lambda_tilde(problem.kappa))


def predicted(problem: ps.Problem) -> Any:
    """Prediction at that price."""
    return ps.solve(as_penalised(problem))


def trained(problem: ps.Problem, *, d: int, seeds: int, trainer: ps.Trainer, processes: int | None = None) -> Any:
    """Networks trained at that price."""
    return ps.simulate(
        as_penalised(problem), d=d, seeds=seeds, trainer=trainer, processes=processes, n_test=1000, progress=False
    )


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Errors at every width, trained and predicted; best widths; and what tuning loses to the best of all methods."""
    kappas = [units / D for units in UNITS[effort]]
    networks = sweep(
        PROBLEM,
        trained,
        weight_decay=LAMBDA_TILDES,
        kappa=[units / D for units in TRAINED_UNITS[effort]],
        d=D,
        seeds=SEEDS[effort],
        trainer=TRAINER,
    )
    tuned = ("best_width", "saturation", "wide_error", *KINDS.values(), "bayes_error")
    theory = sweep(PROBLEM, predicted, weight_decay=LAMBDA_TILDES, kappa=kappas)
    return {
        "theory": slimmed(theory, "estimation_error"),
        "trained": slimmed(networks, "estimation_error"),
        "best": slimmed(sweep(PROBLEM, ps.best_width, weight_decay=LAMBDA_TILDES), *tuned),
        "ratios": slimmed(sweep(RICH, ps.best_width, alpha=[n / LARGE for n in SAMPLES[effort]]), *tuned),
    }


def problems() -> dict[str, Any]:
    """The best width, the peak of the error and a wide network at one price; and one of the ratios."""
    widths = {"the best width": 3, "the peak of the error": 19, "wide": D}
    return {
        **{
            f"{words}: {units} of {D} units": as_penalised(PROBLEM.replace(kappa=units / D))
            for words, units in widths.items()
        },
        f"ratios: d = {LARGE}, n/d = 1000": RICH.replace(alpha=1e3 / LARGE),
    }


def draw(parts: Parts) -> Figure:
    """Error against width at three weight decays, and ratios to the Bayes-optimal error against the sample size."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.4)
        _errors(axes[0], parts)
        _ratios(axes[1], parts)
        style.print_caveats(figure, _shortened(parts))
    return figure


def _errors(axis: Any, parts: Parts) -> None:
    theory, networks, best = parts["theory"], parts["trained"], parts["best"]
    units = theory.assign_coords(kappa=theory.kappa * D)
    handles = []
    for number, strength in enumerate(theory.weight_decay.values):
        here = best.sel(weight_decay=strength)
        style.line(axis, units.sel(weight_decay=strength), "kappa", "estimation_error", number=number)
        there = networks.sel(weight_decay=strength)
        style.dots(axis, there.assign_coords(kappa=there.kappa * D), "kappa", "estimation_error", number=number)
        ring = {"marker": "o", "color": style.COLOURS[number], "linestyle": "none", **style.OPEN}
        axis.plot(float(here.best_width), float(here.estimation_error), **{**ring, "markersize": 8.0}, zorder=4)
        handles.append(style.key(number, rf"$\tilde\lambda$ = {strength:g}"))
    for name, words, pattern in (
        ("tuned_error", "wide, best weight decay", "--"),
        ("both_error", "best width and weight decay", "-."),
        ("bayes_error", "Bayes-optimal", ":"),
    ):
        level = float(best[name].isel(weight_decay=0))
        axis.axhline(level, color=style.BLACK, linestyle=pattern, linewidth=0.8)
        handles.append(style.key(0, words, color=style.BLACK, linestyle=pattern, linewidth=0.8, marker="none"))
    style.logarithmic(axis, "x", "y")
    axis.set(xlabel="width $p$", ylabel=r"estimation error $\|S-S_0\|_F^2/d$")
    axis.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _ratios(axis: Any, parts: Parts) -> None:
    table = parts["ratios"]
    samples = table.alpha.values * LARGE
    for number, (kind, name) in enumerate(KINDS.items()):
        colour = style.COLOURS[number + len(LAMBDA_TILDES)]
        ratio = (table[name] / table["bayes_error"]).values
        axis.plot(samples, ratio, color=colour, marker=style.MARKERS[number], markersize=3, label=WORDS[kind])
        axis.axhline(LIMITS[kind], color=colour, linestyle=":", linewidth=0.9)
    style.logarithmic(axis, "x")
    axis.set(xlabel="samples $n/d$", ylabel="error / Bayes-optimal error", ylim=(1.0, None))
    style.legend_above(axis, columns=2)


def _shortened(parts: Parts) -> Parts:
    """The caveat of narrow students, which names their width, in the same words for all, and once."""
    caveats = parts["theory"]["caveats"]
    theory = parts["theory"].assign(caveats=caveats.where(~caveats.astype(str).str.startswith("kappa = "), NARROW))
    return {"theory": theory, "trained": parts["trained"]}


def caption(parts: Parts) -> str:
    """What is drawn."""
    told = ", ".join(f"{LIMITS[kind]:.2f} ({WORDS[kind]})" for kind in KINDS)
    return (
        "Left: estimation error of quadratic networks against their width p at three weight decays (target "
        f"i^-{GAMMA:g}, d = {D}, n = {PROBLEM.samples(D)}, noise {NOISE:g}; S has the same price at every width). "
        "Lines: theory; dots: L-BFGS on W; rings: the best width. A few units learn the features that stand above the "
        "noise and nothing of the bulk that wide networks fit: they do better than a wide network at its best weight "
        "decay (dashed). Between the two is a peak. Right: what each kind of "
        f"tuning loses to the best of all methods, against the samples, d = {LARGE}; dotted: the limits for many "
        f"features, few of all, {told}. The width is tuned without weight decay."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and what the numbers are."""
    networks, best = parts["trained"], parts["best"]
    widths = ", ".join(
        f"{int(best.best_width.sel(weight_decay=strength))} units (lambda~ = {strength:g}: "
        f"{float(best.estimation_error.sel(weight_decay=strength)):.3g}, wide "
        f"{float(best.wide_error.sel(weight_decay=strength)):.3g})"
        for strength in best.weight_decay.values
    )
    first = best.isel(weight_decay=0)
    return (
        f"The weight decay is lambda~/sqrt(p/d). Dots: {int(networks.seeds)} data sets of d = {int(networks.d)}, the "
        f"same ones at every width, with two standard errors. Best widths and the error there: {widths}; the best "
        f"weight decay of a wide network has {float(first.tuned_error):.3g}, both together "
        f"{float(first.both_error):.3g}, the best of all methods {float(first.bayes_error):.3g}. Beyond "
        f"{float(first.saturation):.1f} units (lambda~ = {float(first.weight_decay):g}) nothing changes. Narrow "
        "students are predicted by a heuristic, which these dots test; their loss has other minima, in which L-BFGS "
        f"may end. With n/d = {PROBLEM.alpha * D:g} networks are off the limit, narrow and wide ones alike: by "
        f"{np.median(np.abs(departures(parts))):.0%} in the median, {np.abs(departures(parts)).max():.0%} at most."
    )


def departures(parts: Parts) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How much larger the error of trained networks is than predicted, relatively, by weight decay and width."""
    trained = parts["trained"]["estimation_error"]
    line = parts["theory"]["estimation_error"].sel(kappa=trained.kappa, method="nearest")
    return np.asarray(trained.values / line.values - 1.0)
