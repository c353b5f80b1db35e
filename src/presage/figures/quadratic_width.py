"""One minimum for every width that is enough: quadratic networks from narrow to wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Quadratic network: the same minimum for every width p >= d"
SOURCE = "[ETZK25] and the talk on it; narrow students as in [GTXEKZ26]"

KAPPA_0, NOISE, LAMBDA_TILDE = 0.2, 0.5, 0.02
PROBLEM = ps.quadratic_network(ps.MarchenkoPastur(KAPPA_0), alpha=0.5, weight_decay=LAMBDA_TILDE, noise=NOISE)
ALPHAS = [0.2, 0.5]
WIDTHS = {
    "full": np.unique(np.round(np.concatenate([np.linspace(0.06, 0.66, 41), np.linspace(0.7, 2.0, 14)]), 4)),
    "quick": np.unique(np.round(np.concatenate([np.linspace(0.06, 0.66, 16), [0.8, 1.0, 1.5, 2.0]]), 4)),
}
TRAINED = {"full": [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0], "quick": [0.2, 0.4, 0.6, 1.0, 2.0]}
D = {"full": 100, "quick": 40}
SEEDS = {"full": 16, "quick": 4}
TRAINER = ps.LBFGS(tol=1e-4)
NARROW = (
    "kappa below the learned rank is outside the claim: the prediction keeps the largest eigenvalues, a heuristic "
    "[GTXEKZ26], and its replicon is infinite."
)


def as_penalised(problem: ps.Problem) -> ps.Problem:
    """The problem with the weight decay that puts the same price lambda~ on S at every width."""
    return problem.replace(weight_decay=LAMBDA_TILDE / ps.NuclearPSD(1.0).lambda_tilde(problem.kappa))


def predicted(problem: ps.Problem) -> Any:
    """Prediction at that price."""
    return ps.solve(as_penalised(problem))


def trained(problem: ps.Problem, *, d: int, seeds: int, trainer: ps.Trainer, processes: int | None = None) -> Any:
    """Networks trained at that price."""
    return ps.simulate(
        as_penalised(problem), d=d, seeds=seeds, trainer=trainer, processes=processes, n_test=1000, progress=False
    )


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Predictions and trained networks at every width."""
    networks = sweep(
        PROBLEM, trained, alpha=ALPHAS, kappa=TRAINED[effort], d=D[effort], seeds=SEEDS[effort], trainer=TRAINER
    )
    names = ("estimation_error", "train_loss", "rank")
    return {
        "theory": slimmed(sweep(PROBLEM, predicted, alpha=ALPHAS, kappa=WIDTHS[effort]), *names),
        "trained": slimmed(networks, *names),
    }


def problems() -> dict[str, Any]:
    """A student as wide as the input, and one below the learned rank, at both sample sizes."""
    widths = {"wide": 1.0, "narrow": 0.25}
    return {
        f"{words}, kappa = {kappa:g}, alpha = {alpha:g}": as_penalised(PROBLEM.replace(alpha=alpha, kappa=kappa))
        for alpha in ALPHAS
        for words, kappa in widths.items()
    }


def draw(parts: Parts) -> Figure:
    """Loss and error against the width, for two sample sizes; dotted where the prediction is a heuristic."""
    theory, networks = parts["theory"], parts["trained"]
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.3)
        for axis, name in zip(axes, ("train_loss", "estimation_error"), strict=True):
            for number, alpha in enumerate(theory.alpha.values):
                law = theory.sel(alpha=alpha)
                rank = enough(parts, float(alpha))
                wide, narrow = law.where(law.kappa >= rank), law.where(law.kappa < rank)
                colour = style.COLOURS[number]
                style.line(axis, wide, "kappa", name, number=number, label=rf"theory, $\alpha$ = {alpha:g}")
                style.line(axis, narrow, "kappa", name, color=colour, linestyle=":", label="narrow: heuristic")
                style.dots(
                    axis,
                    networks.sel(alpha=alpha),
                    "kappa",
                    name,
                    number=number,
                    label=rf"L-BFGS, $\alpha$ = {alpha:g}",
                )
                style.threshold(axis, rank, f"rank {rank:.3f}", color=colour, linewidth=0.7)
            style.threshold(axis, 1.0, r"$p = d$", linewidth=0.7)
            axis.set(xlabel=r"$\kappa = p/d$", xlim=(0.0, 2.05))
        axes[0].set(ylabel=r"minimum of the loss $/d^2$")
        style.logarithmic(axes[0], "y")
        axes[1].set(ylabel=r"test error $\|S-S_0\|_F^2/d$")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
        style.print_caveats(figure, _shortened(parts))
    return figure


def enough(parts: Parts, alpha: float) -> float:
    """The rank that wide students learn, over d: the least width at which the minimum is theirs."""
    return float(parts["theory"]["rank"].sel(alpha=alpha).isel(kappa=-1))


def _shortened(parts: Parts) -> Parts:
    """The caveat of every narrow student, which names its width, in the same words for all."""
    table = parts["theory"]
    narrow = table["caveats"].astype(str).str.startswith("kappa = ")
    return {**parts, "theory": table.assign(caveats=table["caveats"].where(~narrow, NARROW))}


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Minimum of the loss over d^2 (left) and test error |S - S_0|^2/d (right) of quadratic networks against "
        f"their width kappa = p/d (Marchenko-Pastur target of rank kappa_0 = {KAPPA_0:g}, noise {NOISE:g}), S having "
        "the same price at every width. Lines: theory; dots: L-BFGS on W. The minimum is the same for "
        "every width p >= d, and already from the rank on that wide networks learn (dashed). Narrower students "
        "(dotted) keep the largest eigenvalues only; that is a heuristic outside the claim. With noise a narrow "
        "student can have the smaller test error."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    networks = parts["trained"]
    ranks = ", ".join(
        f"{enough(parts, float(alpha)):.3f} (alpha = {alpha:g})" for alpha in parts["theory"].alpha.values
    )
    return (
        f"The weight decay is lambda = lambda~/sqrt(kappa), lambda~ = {LAMBDA_TILDE:g}. Dots: {int(networks.seeds)} "
        f"data sets of d = {int(networks.d)}, the same ones at every width, with two standard errors. Wide networks "
        f"learn a rank of {ranks}, over d. Networks of this size are "
        f"off the limit by a part of order 1/d: wide ones have {_above(parts)} test error "
        "than the line, at every width alike since the data sets are the same. The loss of narrow students has other "
        "minima, in which L-BFGS may end. The talk states that the minimum is the same for p >= d, without a picture: "
        "the figure is ours."
    )


def above(parts: Parts, alpha: float) -> float:
    """How much larger the test error of the widest trained networks is than predicted, relatively."""
    theory, trained = (
        parts[part]["estimation_error"].sel(alpha=alpha).isel(kappa=-1) for part in ("theory", "trained")
    )
    return float(trained) / float(theory) - 1.0


def _above(parts: Parts) -> str:
    alphas = [float(alpha) for alpha in parts["trained"].alpha.values]
    away = {alpha: above(parts, alpha) for alpha in alphas}
    return " and ".join(
        f"{abs(part):.0%} {'more' if part > 0.0 else 'less'} (alpha = {alpha:g})" for alpha, part in away.items()
    )
