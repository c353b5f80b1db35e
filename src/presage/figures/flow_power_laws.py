"""How fast a quadratic network learns a power law: its loss against the time of training, and the local exponent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.models.attention.theory.flows.power_law_front import front_error, front_exponent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Power-law targets: loss against the time of training, with its exponent"
SOURCE = "targets of [DXGTEZLK25], on the way of infinitely many samples"

GAMMAS = [0.75, 1.0, 1.5]
EPS = 1e-12  # of the start S = eps 1
FEW, MANY = 100, 10_000_000  # features: those of networks, and nearly infinitely many
UNTIL = {"few": 1e3, "many": 1e4}
PROBLEM = ps.quadratic_network(ps.PowerLaw(1.0, FEW, normalized=False), alpha=1.0, weight_decay=0.1)
LINES = {"full": {"features": MANY, "steps": 200}, "quick": {"features": 100_000, "steps": 24}}
NETWORKS = {"full": {"d": FEW, "seeds": 2, "steps": 14}, "quick": {"d": FEW, "seeds": 2, "steps": 4}}
LAWS = ("front_error", "front_exponent")
NUMBERS = ("times", "error", "local_exponent")


def theory(problem: ps.Problem, *, features: int, steps: int, until: float) -> dict[str, Any]:
    """The whole squared error and its local exponent at every time, and what the law of a moving front says."""
    gamma = float(problem.value("gamma"))
    there = problem.replace(target=ps.PowerLaw(gamma, features, normalized=False))
    way = ps.trajectory(there, steps=steps, trainer=_flow(until, steps))
    theta = way.times[1:]
    return {
        "times": theta,
        "error": features * way.estimation_error[1:],
        "error_bar": features * way.error_bars["estimation_error"][1:],
        "local_exponent": way.local_exponent[1:],
        "local_exponent_bar": way.error_bars["local_exponent"][1:],
        "front_error": front_error(gamma, EPS, theta),
        "front_exponent": front_exponent(gamma, EPS, theta),
    }


def networks(problem: ps.Problem, *, d: int, seeds: int, steps: int) -> dict[str, Any]:
    """The same of networks that flow: means over the seeds, and standard errors."""
    found = ps.simulate(
        problem, d=d, seeds=seeds, trainer=_flow(UNTIL["few"], steps), keep="trajectory", n_test=1, progress=False
    )
    columns = {one.name: 1 + number for number, one in enumerate(found.followed)}
    rows = found.values("trajectory")[:, 1:]
    told: dict[str, Any] = {"times": rows[0, :, 0]}
    for name, column, unit in (("error", "estimation_error", float(d)), ("local_exponent", "local_exponent", 1.0)):
        values = unit * rows[:, :, columns[column]]
        told |= {name: values.mean(axis=0), f"{name}_bar": values.std(axis=0, ddof=1) / np.sqrt(len(values))}
    return told


def _flow(until: float, steps: int) -> ps.PopulationFlow:
    return ps.PopulationFlow(eps=EPS, first=3.0, until=until, steps=steps)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Lines of many features and of those that networks have, and the networks."""
    many, trained = LINES[effort], NETWORKS[effort]
    few = {"features": FEW, "steps": many["steps"], "until": UNTIL["few"]}
    return {
        "many": slimmed(sweep(PROBLEM, theory, gamma=GAMMAS, until=UNTIL["many"], **many), *NUMBERS, *LAWS),
        "few": slimmed(sweep(PROBLEM, theory, gamma=GAMMAS, **few), *NUMBERS, *LAWS),
        "networks": slimmed(sweep(PROBLEM, networks, gamma=GAMMAS, **trained), *NUMBERS),
    }


def problems() -> dict[str, Any]:
    """The three powers, in units in which their second moment is one."""
    return {f"gamma = {gamma:g}": PROBLEM.replace(target=ps.PowerLaw(gamma, FEW)) for gamma in GAMMAS}


def draw(parts: Parts) -> Figure:
    """Errors on the left, their local exponents on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.1)
        handles = []
        for number, gamma in enumerate(GAMMAS):
            many, few, trained = (parts[name].sel(gamma=gamma) for name in ("many", "few", "networks"))
            for axis, name, law in zip(axes, ("error", "local_exponent"), LAWS, strict=True):
                style.line(axis, many, "times", name, number=number, linestyle="-")
                style.line(axis, many, "times", law, number=number, linestyle="--", color=style.GREY)
            style.line(axes[0], few, "times", "error", number=number, linestyle=":")
            style.dots(axes[0], trained, "times", "error", number=number)
            handles.append(style.key(number, rf"$\gamma$ = {gamma:g}", linestyle="-"))
        handles += [
            style.key(0, "law of the front", color=style.GREY, linestyle="--", marker="none"),
            style.key(0, f"d = {FEW}, and networks", color=style.GREY, linestyle=":"),
        ]
        style.logarithmic(axes[0], "x", "y")
        style.logarithmic(axes[1], "x")
        lowest = float(parts["many"]["front_error"].min())
        axes[0].set(xlabel=r"time of the flow $\theta$", ylabel=r"error $\|S-S_0\|_F^2$", ylim=(0.5 * lowest, 10.0))
        axes[1].set(xlabel=r"time of the flow $\theta$", ylabel="local exponent", ylim=(-2.2, 0.0))
        style.legend_above(axes[0], handles=handles)
        style.print_caveats(figure, {"networks": parts["networks"]})
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "A quadratic network that sees infinitely many samples learns a target of eigenvalues i^-gamma by gradient "
        f"flow, from S = eps 1 with eps = {EPS:g}. Left: squared error against the time; full lines: "
        f"{MANY:,} features; dotted lines: {FEW} features, the last of which are learned at the end; dots: "
        "networks of as many. "
        "Right: local exponent of the full lines: steps of single features at first, then the exponent of a front that "
        "moves through them. Dashed: its law, s*^(2 - 1/gamma)/(2 gamma - 1), and -(2 - 1/gamma) l/(l - 1), l = "
        "ln(s*/eps)."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    dots, many = parts["networks"], parts["many"]
    return (
        f"Dots: {int(dots.seeds)} networks of d = {int(dots.d)} and of that width, by a solver of the flow; from this "
        "start all seeds are alike, and bars of two standard errors are within the dots. Full lines: "
        f"{int(many.features):,} features, in closed form. The numbers of the problem are ours."
    )
