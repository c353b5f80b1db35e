"""Two hidden units that learn two directions one after the other, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.boltzmann_machines import followed
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Boltzmann machines: two units learn two directions in sequence"
SOURCE = "[XKZ25]"

ALPHA, SIGNALS = 4.0, (3.0, 1.0)
PROBLEM = ps.boltzmann(alpha=ALPHA, signal=SIGNALS, units=2, latents="signs")
RATE, Q_0 = 0.5, 0.01
M_0 = ((0.02, 0.012), (0.006, -0.008))  # rows are directions, columns units
STEPS = {"full": 120, "quick": 20}
SAMPLES = {"full": 4096, "quick": 1024}
RUNS = {"full": 6, "quick": 2}
SIZE = {"full": {"d": 1000, "seeds": 12}, "quick": {"d": 200, "seeds": 4}}
SHOWN = ("alignment", "last_alignment")
CLEAR = 1e-3  # error bar of what is drawn of the linear law


def theory(problem: ps.BoltzmannProblem, *, steps: int, samples: int, runs: int) -> dict[str, Any]:
    """What is predicted of every step, and what the linear law of small weights says."""
    way = ps.trajectory(problem, steps=steps, trainer=_trainer(steps), samples=samples, runs=runs)
    small = ps.trajectory(problem, steps=steps, trainer=_trainer(steps), linear=True)
    bars = {f"{name}_bar": way.error_bars[name] for name in SHOWN}
    linear = {f"linear_{name}": np.where(small.error_bars[name] < CLEAR, small.values[name], np.nan) for name in SHOWN}
    return {"times": way.times, **{name: way.values[name] for name in SHOWN}, **bars, **linear}


def machines(problem: ps.BoltzmannProblem, *, steps: int, d: int, seeds: int) -> dict[str, Any]:
    """What machines show after every step: means over the seeds, and standard errors."""
    return followed(problem, _trainer(steps), SHOWN, d=d, seeds=seeds)


def _trainer(steps: int) -> ps.BoltzmannDescent:
    return ps.BoltzmannDescent(rate=RATE, m_0=M_0, q_0=Q_0, steps=steps)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """The way of descent, predicted and measured, and where training ends."""
    steps, one = STEPS[effort], [ALPHA]
    predicted = sweep(PROBLEM, theory, alpha=one, steps=steps, samples=SAMPLES[effort], runs=RUNS[effort])
    return {
        "theory": slimmed(predicted, "times", *SHOWN, *(f"linear_{name}" for name in SHOWN)),
        "machines": slimmed(sweep(PROBLEM, machines, alpha=one, steps=steps, **SIZE[effort]), "times", *SHOWN),
        "end": slimmed(sweep(PROBLEM, ps.solve, alpha=one), *SHOWN),
    }


def problems() -> dict[str, Any]:
    """The two directions, and the stronger by itself."""
    return {"two units on two directions": PROBLEM, "one unit, which keeps the stronger": PROBLEM.replace(units=1)}


def draw(parts: Parts) -> Figure:
    """Squared cosines of both directions with the span of the weights."""
    with style.style():
        figure, axis = style.canvas(1, 1, width=style.COLUMN * 1.35, height=2.9)
        line, dots, end = (parts[name].isel(alpha=0) for name in ("theory", "machines", "end"))
        handles = []
        for number, (name, signal) in enumerate(zip(SHOWN, SIGNALS, strict=True)):
            style.line(axis, line, "times", name, number=number)
            style.dots(axis, dots, "times", name, number=number)
            axis.plot(line.times, line[f"linear_{name}"], color=style.GREY, linewidth=0.8, linestyle="-.")
            axis.axhline(float(end[name]), color=style.GREY, linewidth=0.8, linestyle=":")
            handles.append(style.key(number, rf"direction {number + 1}, $\lambda$ = {signal:g}"))
        axis.set(xlabel="steps of descent", ylabel="squared cosine with the weights", ylim=(-0.02, 1.0))
        style.legend_above(axis, handles=handles)
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"A machine of two binary units descends from small weights (q = {Q_0:g}, rate {RATE:g}) on data with two "
        f"directions of signals {SIGNALS[0]:g} and {SIGNALS[1]:g}, latents of signs, alpha = {ALPHA:g}: squared "
        "cosine of each direction with the span of the weights. The stronger direction is learned first by both "
        "units; the weaker one waits until they split. Lines: two-time equations with error bands; dots: "
        "machines; dash-dotted: the linear law of small weights; dotted: where training ends, by state evolution."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    line, dots = parts["theory"], parts["machines"]
    return (
        f"Dots: {int(dots.seeds)} machines of d = {int(dots.d)}, bars are two standard errors. Lines: "
        f"{int(line.runs)} runs of {int(line.samples)} sampled fields. All machines start from the overlaps {M_0}. "
        "The numbers of the problem are ours."
    )
