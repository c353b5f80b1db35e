"""The main result in one picture: the learning curve, the rank and four weight spectra of an attention layer.

Run as ``python -m presage.demo [--out FILE]``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from presage import MarchenkoPastur, Problem, Solution, attention, solve

PROBLEM = attention(MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
ALPHAS = np.geomspace(0.05, 40.0, 40)
SHOWN = (0.05, 0.5, 4.0, 40.0)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "0.45"  # distinct for colour-blind eyes and in grey


def curve(problem: Problem, alphas: np.ndarray[Any, np.dtype[np.float64]]) -> list[Solution]:
    """Solve along alpha, each point started from the one before."""
    solutions: list[Solution] = []
    for alpha in alphas:
        solutions.append(solve(problem.replace(alpha=float(alpha)), init=solutions[-1] if solutions else None))
    return solutions


def table(solutions: list[Solution]) -> str:
    """The numbers behind the picture, with their error bars."""
    lines = [f"{'alpha':>8}  {'test error':>22}  {'train loss':>22}  {'rank':>20}  bulks"]
    for s in solutions:
        cells = [f"{getattr(s, name):.6f} +- {s.error_bars[name]:.0e}" for name in ("test_error", "train_loss", "rank")]
        lines.append(
            f"{s.problem.alpha:>8.4g}  {cells[0]:>22}  {cells[1]:>22}  {cells[2]:>20}  {len(s.bulks)}"
            + "".join(f"\n          caveat: {line}" for line in s.caveats)
        )
    return "\n".join(lines)


def draw(solutions: list[Solution], shown: list[Solution], out: Path) -> None:
    """Draw learning curve and rank above, the spectra of the weights below."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10.0, 6.0), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[1.1, 1.0])
    top, bottom = halves
    left, right = top.subplots(1, 2)
    alphas = [s.problem.alpha for s in solutions]
    for axis, name, colour, label in (
        (left, "test_error", BLUE, "test error"),
        (right, "rank", ORANGE, "rank of the weights / d"),
    ):
        value = np.array([getattr(s, name) for s in solutions])
        bar = np.array([s.error_bars[name] for s in solutions])
        axis.fill_between(alphas, value - bar, value + bar, color=colour, alpha=0.3, linewidth=0)
        axis.plot(alphas, value, color=colour)
        axis.plot([s.problem.alpha for s in shown], [getattr(s, name) for s in shown], "o", color=colour, markersize=5)
        axis.set(xscale="log", xlabel=r"samples  $\alpha = n/d^2$", ylabel=label)
        axis.grid(alpha=0.3)
    right.axhline(0.5, color=GREY, linestyle="--", linewidth=1)
    right.text(alphas[-1], 0.515, "rank of the target", ha="right", va="bottom", color=GREY, fontsize=9)
    right.set_ylim(0.0, 1.0)
    left.set_ylim(bottom=0.0)
    axes = bottom.subplots(1, len(shown), sharey=True)
    for axis, s in zip(axes, shown, strict=True):
        law = s.singular_values
        x = np.linspace(1e-3, 1.02 * law.support[-1, 1], 800)
        density = law.density(x)
        axis.fill_between(x, density, color=BLUE, alpha=0.35, linewidth=0)
        axis.plot(x, density, color=BLUE, linewidth=1.2)
        axis.set(xlabel="singular value", xlim=(0.0, 2.2))
        axis.set_title(rf"$\alpha={s.problem.alpha:g}$:  {1 - s.rank:.0%} exactly zero", fontsize=10)
    axes[0].set_ylim(bottom=0.0)
    axes[0].set_ylabel("density of the weights")
    top.suptitle(
        "What a softmax attention layer learns, predicted without training it\n"
        r"two tokens, target of rank $0.5\,d$, noise 0.5, weight decay 0.01",
        fontsize=11,
    )
    part = out.with_name(f".{out.stem}.part{out.suffix}")
    figure.savefig(part, dpi=130)
    plt.close(figure)
    part.replace(out)


def main(arguments: list[str] | None = None) -> None:
    """Solve, print the table, draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m presage.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("presage-demo.png"), help="where to draw (png, pdf or svg)")
    out: Path = parser.parse_args(arguments).out
    if out.suffix not in {".png", ".pdf", ".svg"} or not out.resolve().parent.is_dir():
        parser.error(f"--out must be a .png, .pdf or .svg file in a folder that exists. Got {out}.")
    shown = curve(PROBLEM, np.array(SHOWN))
    print(table(shown), flush=True)
    draw(curve(PROBLEM, ALPHAS), shown, out)
    print(f"drawn: {out}")


if __name__ == "__main__":
    main()
