"""What attention does for a class of tokens: alignment by four poolings, and the spectrum that it stands out of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Attention pooling: the class of tokens by four poolings"
SOURCE = "[Sed26]"

VOCABULARY, SIGNAL, N_TOKENS, DECAY = 2.0, 2.0, 32, 0.7
POOLINGS = {
    "mean": ps.MeanPooling(),
    "harmonic": ps.CausalPooling(0.0),
    "causal attention, $\\tau$ = 1": ps.CausalPooling(1.0),
    "best": ps.BestPooling(),
}
PROBLEM = ps.attention_pooling(
    ps.BestPooling(),
    alpha=2.0,
    vocabulary=VOCABULARY,
    signal=SIGNAL,
    classes=ps.AlignedTokens(1.0, DECAY),
    n_tokens=N_TOKENS,
)
GAMMAS = {"full": np.geomspace(0.02, 20.0, 80), "quick": np.geomspace(0.02, 20.0, 20)}  # d/N
TRAINED = {"full": [0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0], "quick": [0.2, 1.0, 4.0]}
D = {"full": 400, "quick": 100}
SEEDS = {"full": 12, "quick": 4}
POINTS = 400  # of a predicted density
BINS = np.linspace(0.0, 9.5, 96)


def predicted(problem: ps.PoolingProblem) -> dict[str, Any]:
    """The bulk, its edge and what stands out of it."""
    solution = ps.solve(problem)
    left, right = solution.spectrum.support[-1]
    x = left + (right - left) * np.sin(np.linspace(0.0, 0.5 * np.pi, POINTS)) ** 2
    return {"x": x, "density": solution.spectrum.density(x), "top": solution.top, "edge": solution.edge}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Alignments of every pooling, predicted and measured, and one spectrum with its eigenvalues."""
    pooling, size = list(POOLINGS.values()), {"d": D[effort], "seeds": SEEDS[effort]}
    theory = sweep(PROBLEM, ps.solve, pooling=pooling, alpha=1.0 / GAMMAS[effort])
    trained = sweep(PROBLEM, ps.simulate, pooling=pooling, alpha=1.0 / np.array(TRAINED[effort]), **size)
    one = [PROBLEM.alpha]
    return {
        "theory": slimmed(theory, "alignment"),
        "trained": slimmed(trained, "alignment"),
        "spectrum": slimmed(sweep(PROBLEM, predicted, alpha=one), "x", "density", "top", "edge"),
        "eigenvalues": slimmed(sweep(PROBLEM, ps.simulate, alpha=one, **size), "eigenvalues", "top"),
    }


def problems() -> dict[str, Any]:
    """Every pooling where they differ most, and the spectrum that is drawn."""
    words = ("mean pooling", "harmonic weights", "causal attention", "best weights")
    pairs = zip(words, POOLINGS.values(), strict=True)
    return {name: PROBLEM.replace(pooling=pooling, alpha=0.5) for name, pooling in pairs} | {"the spectrum": PROBLEM}


def draw(parts: Parts) -> Figure:
    """Alignments on the left against d/N; on the right the spectrum of the best weights."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=2.9)
        handles = []
        for number, (label, pooling) in enumerate(POOLINGS.items()):
            theory, trained = (parts[name].sel(pooling=str(pooling)) for name in ("theory", "trained"))
            with_gamma = [table.assign_coords(gamma=1.0 / table.alpha) for table in (theory, trained)]
            style.line(axes[0], with_gamma[0], "gamma", "alignment", number=number)
            style.dots(axes[0], with_gamma[1], "gamma", "alignment", number=number)
            handles.append(style.key(number, label))
        style.logarithmic(axes[0], "x")
        axes[0].set(xlabel=r"$\gamma = d/N$", ylabel=r"alignment $\langle u, \mu/|\mu|\rangle^2$", ylim=(-0.02, None))
        style.legend_above(axes[0], handles=handles)
        _spectrum(axes[1], parts)
        style.print_caveats(figure, parts)
    return figure


def _spectrum(axis: Any, parts: Parts) -> None:
    law, tables = parts["spectrum"].isel(alpha=0), parts["eigenvalues"].isel(alpha=0)
    values = tables["eigenvalues"].values.ravel()
    weights = np.full(values.size, 1.0 / (values.size * (BINS[1] - BINS[0])))
    axis.hist(values, BINS, weights=weights, color="0.8", edgecolor="0.65", linewidth=0.3, label="tables of tokens")
    axis.plot(law["x"], law["density"], color=style.BLUE, label="theory")
    top = float(law["top"])
    axis.axvline(top, color=style.ORANGE, linestyle="--", linewidth=1.0, label=f"outlier, {top:.2f}")
    axis.set(xlabel=r"eigenvalue of $C/\kappa$", ylabel="density, logarithmic", yscale="log", ylim=(3e-4, 4.0))
    axis.set_xlim(0.0, BINS[-1])
    style.legend_above(axis, columns=3)


def caption(parts: Parts) -> str:
    """What is drawn."""
    alpha = float(parts["spectrum"].alpha[0])
    return (
        f"Tokens of two classes, pooled over sequences of {N_TOKENS} whose agreement with their class falls as "
        f"{DECAY:g}^(t-1); V = {VOCABULARY:g} d tokens in the table, rho = {SIGNAL:g}. Left: alignment of the first "
        "direction of the covariance with the class against d/N, by mean pooling, by the harmonic weights of causal "
        "attention, by causal attention with tau = 1 (softmax of real scores in the dots), and by the best weights. "
        f"Lines: theory; dots: sampled tables. Right: the eigenvalues with the best weights at N = {alpha:g} d, the "
        "predicted bulk and outlier."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how it differs from print."""
    trained, tables = parts["trained"], parts["eigenvalues"]
    gains = ", ".join(f"{label} {_gain(pooling):.2f}" for label, pooling in POOLINGS.items()).replace("$\\tau$", "tau")
    return (
        f"Dots: {int(trained.seeds)} tables of d = {int(trained.d)}, bars are two standard errors; at the transition "
        f"finite sizes smear it. w'Rw/|w|^2 is {gains}. The histogram has the eigenvalues of {int(tables.seeds)} "
        f"tables of d = {int(tables.d)}; its density is on a logarithmic axis, so that one eigenvalue of each is "
        "seen. The numbers of the problem are ours."
    )


def _gain(pooling: ps.Pooling) -> float:
    return float(ps.solve(PROBLEM.replace(pooling=pooling)).gain)
