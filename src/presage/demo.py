"""The main result in one picture: prediction and training of an attention layer side by side.

The test error and the rank against the number of samples, and four weight spectra: lines and shades are predicted,
dots and steps are trained networks. Run as ``python -m presage.demo [--out FILE] [--d 80]``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from presage import AMP, Ensemble, MarchenkoPastur, Problem, Solution, attention, compare, simulate, solve
from presage.protocol.largest_by_rank import largest_by_rank
from presage.whole_file import whole_file

PROBLEM = attention(MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
ALPHAS = np.geomspace(0.05, 40.0, 40)
TRAINED = {0.05: 16, 0.1: 8, 0.2: 8, 0.5: 8, 1.0: 8, 2.0: 4, 4.0: 8, 10.0: 4, 40.0: 4}  # alpha: number of networks
SHOWN = (0.05, 0.5, 4.0, 40.0)
BLUE, ORANGE, GREY, BLACK = "#0072B2", "#D55E00", "0.45", "0.1"  # distinct for colour-blind eyes and in grey
BINS = 24


def curve(problem: Problem, alphas: np.ndarray[Any, np.dtype[np.float64]]) -> list[Solution]:
    """Solve along alpha, each point started from the one before."""
    solutions: list[Solution] = []
    for alpha in alphas:
        solutions.append(solve(problem.replace(alpha=float(alpha)), init=solutions[-1] if solutions else None))
    return solutions


def train(problem: Problem, d: int) -> list[Ensemble]:
    """Train networks of dimension `d` on independent data at each of a few alphas."""
    return [simulate(problem.replace(alpha=alpha), d=d, seeds=seeds, trainer=AMP()) for alpha, seeds in TRAINED.items()]


def table(solutions: list[Solution], ensembles: list[Ensemble]) -> str:
    """The numbers behind the picture, each with its error."""
    names = ("test_error", "train_loss", "rank")
    lines = [f"{'alpha':>6}  " + "  ".join(f"{name.replace('_', ' ') + ': predicted, trained':>36}" for name in names)]
    for s, e in zip(solutions, ensembles, strict=True):
        cells = []
        for name in names:
            row = compare(s, e)[name]
            cells.append(f"{row.prediction:.5f}, {row.a:.5f} +- {row.a_error:.5f}")
        lines.append(f"{s.problem.alpha:>6.4g}  " + "  ".join(f"{cell:>36}" for cell in cells))
        lines += [f"        caveat: {line}" for line in (*s.caveats, *e.caveats)]
    return "\n".join(lines)


def draw(solutions: list[Solution], shown: list[Solution], ensembles: list[Ensemble], out: Path) -> None:
    """Draw learning curve and rank above, the spectra of the weights below."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10.0, 6.2), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[1.1, 1.0])
    top, bottom = halves
    left, right = top.subplots(1, 2)
    alphas = [s.problem.alpha for s in solutions]
    d = ensembles[0].d
    for axis, name, colour, label in (
        (left, "test_error", BLUE, "test error"),
        (right, "rank", ORANGE, "rank of the weights / d"),
    ):
        axis.plot(alphas, [getattr(s, name) for s in solutions], color=colour, label="predicted")
        axis.errorbar(
            [e.problem.alpha for e in ensembles],
            [e.mean(name) for e in ensembles],
            [2.0 * e.standard_error(name) for e in ensembles],
            fmt="o",
            color=BLACK,
            markersize=4,
            capsize=3,
            linewidth=1,
            label=f"trained, d = {d}",
        )
        axis.set(xscale="log", xlabel=r"samples  $\alpha = n/d^2$", ylabel=label)
        axis.grid(alpha=0.3)
    left.legend(frameon=False)
    right.axhline(0.5, color=GREY, linestyle="--", linewidth=1)
    right.text(alphas[-1], 0.485, "rank of the target", ha="right", va="top", color=GREY, fontsize=9)
    right.legend(frameon=False, loc="upper left")
    right.set_ylim(0.0, 1.0)
    left.set_ylim(bottom=0.0)
    axes = bottom.subplots(1, len(shown), sharey=True)
    by_alpha = {e.problem.alpha: e for e in ensembles}
    for axis, s in zip(axes, shown, strict=True):
        spectrum(axis, s, by_alpha[s.problem.alpha])
    axes[0].set_ylim(bottom=0.0)
    axes[0].set_ylabel("density of the weights")
    top.suptitle(
        "What a softmax attention layer learns: predicted without training it, and trained\n"
        r"two tokens, target of rank $0.5\,d$, noise 0.5, weight decay 0.01; bars are two standard errors",
        fontsize=11,
    )
    with whole_file(out) as part:
        figure.savefig(part, dpi=130)
    plt.close(figure)


def spectrum(axis: Any, solution: Solution, ensemble: Ensemble) -> None:
    """Draw the predicted law of the non-zero singular values, and those of the trained networks as steps."""
    law = solution.singular_values
    x = np.linspace(1e-3, 1.02 * law.support[-1, 1], 800)
    density = law.density(x)
    axis.fill_between(x, density, color=BLUE, alpha=0.35, linewidth=0)
    axis.plot(x, density, color=BLUE, linewidth=1.2)
    rows = zip(ensemble.values("singular_values"), ensemble.values("rank"), strict=True)
    kept = np.concatenate([largest_by_rank(row, rank) for row, rank in rows])
    counts, edges = np.histogram(kept, bins=BINS)
    axis.stairs(counts / (len(ensemble.values("rank")) * ensemble.d * np.diff(edges)), edges, color=BLACK, linewidth=1)
    axis.set(xlabel="singular value", xlim=(0.0, 2.2))
    zero = f"{1 - solution.rank:.0%}"
    axis.set_title(
        rf"$\alpha={solution.problem.alpha:g}$, zero: {zero} predicted," + f"\n{1 - ensemble.mean('rank'):.0%} trained",
        fontsize=10,
    )


def main(arguments: list[str] | None = None) -> None:
    """Solve, print the table, draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m presage.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("presage-demo.png"), help="where to draw (png, pdf or svg)")
    parser.add_argument("--d", type=int, default=80, help="dimension of the networks that are trained")
    given = parser.parse_args(arguments)
    out: Path = given.out
    if out.suffix not in {".png", ".pdf", ".svg"} or not out.resolve().parent.is_dir():
        parser.error(f"--out must be a .png, .pdf or .svg file in a folder that exists. Got {out}.")
    if not 10 <= given.d <= 400:
        parser.error(f"--d must be between 10 and 400: the networks are trained while you wait. Got {given.d}.")
    print("predicting ...", flush=True)
    beside = curve(PROBLEM, np.array(list(TRAINED)))
    solutions = curve(PROBLEM, ALPHAS)
    print(f"training {sum(TRAINED.values())} networks of d = {given.d} ...", flush=True)
    ensembles = train(PROBLEM, given.d)
    print(table(beside, ensembles), flush=True)
    draw(solutions, [s for s in beside if s.problem.alpha in SHOWN], ensembles, out)
    print(f"drawn: {out}")


if __name__ == "__main__":
    main()
