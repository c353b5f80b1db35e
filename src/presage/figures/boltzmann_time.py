"""How a Boltzmann machine learns a direction: overlap and likelihoods against the steps of gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import presage as ps
from presage.figures import style
from presage.figures.boltzmann_machines import followed
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Boltzmann machines: a direction learned step by step"
SOURCE = "[XKZ25]"

ALPHA = 4.0
SIGNALS = [0.4, 1.0, 2.0]  # below where principal components see a direction, above, far above
PROBLEM = ps.boltzmann(alpha=ALPHA, signal=1.0)
RATE, M_0, Q_0 = 0.2, 0.1, 0.25
STEPS = {"full": 100, "quick": 30}
SAMPLES = {"full": 16384, "quick": 2048}
SIZE = {"full": {"d": 800, "seeds": 16}, "quick": {"d": 200, "seeds": 4}}
SHOWN = ("overlap", "test_likelihood", "train_likelihood")


def theory(problem: ps.BoltzmannProblem, *, steps: int, samples: int) -> dict[str, Any]:
    """What is predicted of every step."""
    way = ps.trajectory(problem, steps=steps, trainer=_trainer(steps), samples=samples, runs=8)
    bars = {f"{name}_bar": way.error_bars[name] for name in SHOWN}
    return {"times": way.times, **{name: way.values[name] for name in SHOWN}, **bars}


def machines(problem: ps.BoltzmannProblem, *, steps: int, d: int, seeds: int) -> dict[str, Any]:
    """What machines show after every step: means over the seeds, and standard errors."""
    return followed(problem, _trainer(steps), SHOWN, d=d, seeds=seeds)


def _trainer(steps: int) -> ps.BoltzmannDescent:
    return ps.BoltzmannDescent(rate=RATE, m_0=M_0, q_0=Q_0, steps=steps)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """The way of descent at three signals, predicted and measured, and where it ends."""
    steps = STEPS[effort]
    predicted = sweep(PROBLEM, theory, signal=SIGNALS, steps=steps, samples=SAMPLES[effort])
    trained = sweep(PROBLEM, machines, signal=SIGNALS, steps=steps, **SIZE[effort])
    return {
        "theory": slimmed(predicted, "times", *SHOWN),
        "machines": slimmed(trained, "times", *SHOWN),
        "end": slimmed(sweep(PROBLEM, ps.solve, signal=SIGNALS[1:]), *SHOWN),
    }


def problems() -> dict[str, Any]:
    """The three signals."""
    words = ("below weak recovery", "above it", "far above it")
    return {name: PROBLEM.replace(signal=signal) for name, signal in zip(words, SIGNALS, strict=True)}


def draw(parts: Parts) -> Figure:
    """Overlaps on the left; likelihoods of fresh and of training samples on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=2.9)
        handles = []
        for number, signal in enumerate(SIGNALS):
            line, dots = (parts[name].sel(signal=signal) for name in ("theory", "machines"))
            style.line(axes[0], line, "times", "overlap", number=number)
            style.dots(axes[0], dots, "times", "overlap", number=number)
            handles.append(style.key(number, rf"$\lambda$ = {signal:g}"))
        for signal in SIGNALS[1:]:
            end = float(parts["end"]["overlap"].sel(signal=signal))
            axes[0].axhline(end, color=style.GREY, linewidth=0.8, linestyle=":")
        axes[0].set(xlabel="steps of descent", ylabel=r"overlap $|M_1|$", ylim=(0.0, None))
        style.legend_above(axes[0], handles=handles)
        _likelihoods(axes[1], parts)
        style.print_caveats(figure, parts)
    return figure


def _likelihoods(axis: Any, parts: Parts) -> None:
    line, dots = (parts[name].sel(signal=SIGNALS[1]) for name in ("theory", "machines"))
    handles = []
    for number, (name, words) in enumerate(
        {"train_likelihood": "training samples", "test_likelihood": "fresh samples"}.items()
    ):
        style.line(axis, line, "times", name, number=number)
        style.dots(axis, dots, "times", name, number=number)
        handles.append(style.key(number, words))
    axis.axhline(0.0, color=style.BLACK, linewidth=0.6)
    axis.set(xlabel="steps of descent", ylabel=r"log-likelihood a sample, $\lambda$ = 1")
    style.legend_above(axis, handles=handles)


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"A machine of one binary hidden unit descends along the gradient of its likelihood (rate {RATE:g}), from "
        f"weights with the overlap m = {M_0:g} and q = {Q_0:g}; alpha = {ALPHA:g}, Gaussian latents. Left: overlap "
        "with the direction of the data at three signals, of which principal components see the larger two (from "
        "1/2 on); dotted lines: where training ends, by state evolution. Right: log-likelihoods at signal 1, "
        "beside that of noise: fresh samples are most likely near step 15, and later the machine fits noise. "
        "Lines: two-time equations with error bands; dots: machines."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    line, dots = parts["theory"], parts["machines"]
    return (
        f"Dots: {int(dots.seeds)} machines of d = {int(dots.d)}, bars are two standard errors. Lines: 8 runs of "
        f"{int(line.samples)} sampled fields. The numbers of the problem are ours."
    )
