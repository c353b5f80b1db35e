"""Error against the number of samples where the target's eigenvalues fall as a power, at three weight decays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.models.attention.theory.scaling.phase import PHASES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Power-law targets: error against samples, networks over theory over laws"
SOURCE = "laws of [DXGTEZLK25], with prefactors and at finite d"

GAMMA, NOISE = 1.25, 0.5
D, SIZES = 100, [100, 200, 400]  # of the left panel, and of the right one
STRENGTHS, STRENGTH = [0.01, 0.3, 5.0], 0.3  # weight decays of the left panel, and of the right one
PROBLEM = ps.quadratic_network(ps.PowerLaw(GAMMA, D), alpha=0.5, weight_decay=STRENGTH, noise=NOISE)
DOTS = [10.0, 20.0, 40.0, 80.0, 160.0]  # samples over d at which networks are trained
LINES = {
    "full": np.unique([*np.geomspace(0.5, 3e3, 81), *np.linspace(22.0, 40.0, 19), *DOTS]),
    "quick": np.unique([*np.geomspace(0.5, 3e3, 11), *DOTS]),
}
TRAINED = {  # networks: weight decays, dimension, samples over d, seeds
    "full": {
        "trained": (STRENGTHS, 100, DOTS, 4),
        "larger": ([STRENGTH], 200, DOTS, 4),
        "largest": ([STRENGTH], 400, DOTS[:3:2], 2),
    },
    "quick": {
        "trained": (STRENGTHS, 100, DOTS[::4], 2),
        "larger": ([STRENGTH], 200, DOTS[::4], 2),
        "largest": ([STRENGTH], 400, DOTS[:1], 2),
    },
}
TRAINER = ps.AMP()
HIGHEST = 3.0  # error up to which the axis goes: laws beyond are cut
ASIDE = {
    "II": (17, 5),
    "IV": (-3, -8),
    "VIa": (-2, -9),
    "peak": (30, 3),
    "V": (-14, 4),
}  # points by which names are moved off the lines
NAMED = 5  # points of a law that has its name written
NUMBERS = ("error", "law_value", "phase_number")


def of_size(problem: ps.Problem, *, size: int, samples: float) -> Any:
    """The prediction at a dimension and a number of samples over it."""
    return ps.scaling(problem.replace(target=ps.PowerLaw(GAMMA, size), alpha=samples / size), factor=None)


def trained(
    problem: ps.Problem, *, d: int, samples: float, seeds: int, trainer: ps.Trainer, processes: int | None = None
) -> Any:
    """Networks of that dimension at that number of samples over it."""
    there = problem.replace(target=ps.PowerLaw(GAMMA, d), alpha=samples / d)
    return ps.simulate(there, d=d, seeds=seeds, trainer=trainer, processes=processes, n_test=1000, progress=False)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Lines and laws at three weight decays and at three dimensions, and networks on them."""
    networks = {
        part: sweep(PROBLEM, trained, weight_decay=strengths, samples=dots, d=d, seeds=seeds, trainer=TRAINER)
        for part, (strengths, d, dots, seeds) in TRAINED[effort].items()
    }
    along = LINES[effort]
    lines = {
        "theory": sweep(PROBLEM, of_size, weight_decay=STRENGTHS, size=D, samples=along),
        "sizes": sweep(PROBLEM, of_size, size=SIZES, samples=along),
    }
    # What a cell of them says against itself is about its law, the same in every phase: it is in the details.
    return {
        **{part: slimmed(table, *NUMBERS).drop_vars("caveats", errors="ignore") for part, table in lines.items()},
        **{part: slimmed(table, "estimation_error") for part, table in networks.items()},
    }


def problems() -> dict[str, Any]:
    """Every weight decay at the dots in the middle, and the larger dimensions there."""
    n = DOTS[2]
    sizes = {size: PROBLEM.replace(target=ps.PowerLaw(GAMMA, size), alpha=n / size) for size in SIZES}
    return {
        **{f"weight decay {value:g}, d = {D}": sizes[D].replace(weight_decay=value) for value in STRENGTHS},
        **{f"weight decay {STRENGTH:g}, d = {size}": sizes[size] for size in SIZES if size != D},
    }


def draw(parts: Parts) -> Figure:
    """Three weight decays on the left, three dimensions on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.3)
        _strengths(axes[0], parts)
        _sizes(axes[1], parts)
        for axis in axes:
            style.logarithmic(axis, "x", "y")
            axis.set(xlabel=r"samples over dimension, $n/d$", ylabel=r"error $\|S-S_0\|_F^2/d$")
        axes[1].sharey(axes[0])
        style.print_caveats(figure, {part: table for part, table in parts.items() if part in TRAINED["full"]})
    return figure


def _strengths(axis: Any, parts: Parts) -> None:
    handles: list[Any] = []
    named: set[str] = set()
    for number, strength in enumerate(STRENGTHS):
        line = parts["theory"].sel(weight_decay=strength)
        style.line(axis, line, "samples", "error", number=number, linestyle="-")
        _laws(axis, line, style.COLOURS[number], named)
        style.dots(axis, parts["trained"].sel(weight_decay=strength), "samples", "estimation_error", number=number)
        handles.append(style.key(number, rf"$\lambda$ = {strength:g}", linestyle="-"))
    handles.append(style.key(0, "law of the phase", color=style.GREY, linestyle="--", marker="none"))
    axis.set_ylim(0.5 * float(parts["theory"]["error"].min()), HIGHEST)
    style.legend_above(axis, columns=2, handles=handles, title=f"$d$ = {D}")


def _laws(axis: Any, line: Any, colour: str, named: set[str]) -> None:
    """The law of every phase that a line passes, over that phase; its name once, and none for one of few points."""
    number = line["phase_number"].values.astype(int)
    for ends in np.split(np.arange(number.size), np.flatnonzero(np.diff(number)) + 1):
        here = line.isel(samples=ends)
        axis.plot(here.samples, here["law_value"], color=colour, linestyle="--", linewidth=0.9, alpha=0.8)
        seen = here["law_value"].values < HIGHEST
        phase = PHASES[number[ends[0]]]
        if seen.sum() >= NAMED and phase not in named:
            named.add(phase)
            place = ends[seen][seen.sum() // 2]
            at = float(line.samples[place]), float(line["law_value"][place])
            settings: dict[str, Any] = {"ha": "right", "fontsize": 7.0, "color": colour}
            axis.annotate(phase, at, ASIDE.get(phase, (-2, 4)), textcoords="offset points", **settings)


def _sizes(axis: Any, parts: Parts) -> None:
    handles = []
    for k, (size, part) in enumerate(zip(SIZES, TRAINED["full"], strict=True)):
        number = k + len(STRENGTHS)
        pen = style.LINES[k]
        style.line(axis, parts["sizes"].sel(size=size), "samples", "error", number=number, linestyle=pen)
        networks = parts[part].sel(weight_decay=STRENGTH)
        style.dots(axis, networks, "samples", "estimation_error", number=number)
        handles.append(style.key(number, f"$d$ = {size}", linestyle=pen))
    style.legend_above(axis, columns=3, handles=handles, title=rf"$\lambda$ = {STRENGTH:g}")


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        f"Error of quadratic networks against the samples; the target has eigenvalues i^-{GAMMA:g}, noise {NOISE:g}. "
        f"Left: three weight decays, d = {D}; right: three dimensions, lambda = {STRENGTH:g}. Lines: "
        "theory; dots: trained networks; dashed: the leading law of each phase, with its prefactor, over that phase. "
        "Weak weight decay passes the peak of interpolation at n/d near d/4, strong weight decay waits for samples and "
        "then falls steepest. With few samples a dimension networks are above the theory, at any d: by up to "
        f"{_above(parts, 0):.0%} at n/d = {DOTS[0]:g}, {_above(parts, -1):.0%} at {DOTS[-1]:g}."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and how far networks, theory and laws are from each other."""
    sizes = "; ".join(
        f"{int(parts[part].seeds)} data sets of d = {int(parts[part].d)} at n/d = "
        f"{', '.join(f'{n:g}' for n in parts[part].samples.values)}"
        for part in TRAINED["full"]
    )
    passed = "; ".join(
        f"{', '.join(_passed(parts['theory'].sel(weight_decay=strength)))} at lambda = {strength:g}"
        for strength in STRENGTHS
    )
    tables = {part: _ratios(parts, part) for part in TRAINED["full"]}
    told = "; ".join(
        f"lambda = {float(strength):g}, d = {int(parts[part].d)}: " + ", ".join(f"{ratio:.2f}" for ratio in row)
        for part, table in tables.items()
        for strength, row in zip(parts[part].weight_decay.values, table, strict=True)
    )
    return (
        f"Dots: {sizes} ({str(parts['trained'].trainer.item()).split('(')[0]}), with two standard errors, which two "
        f"data sets do not tell well. Errors of networks over the theory, along the samples: {told}. The theory is for "
        "d to infinity with n/d^2 fixed; how far networks of few samples are from it is set by n/d, and does not fall "
        "with d. "
        f"Phases along the lines: {passed}. Laws are leading orders: those of IV and V have no plateau at these d, and "
        "the error crosses over between them."
    )


def _ratios(parts: Parts, part: str) -> Any:
    """Errors of networks over the theory, a row a weight decay, along the samples."""
    networks = parts[part]
    size = int(networks.d)
    near: dict[str, Any] = {"samples": networks.samples, "method": "nearest"}
    if size == D:
        theory = parts["theory"]["error"].sel(**near).values
    else:
        theory = parts["sizes"]["error"].sel(size=size).sel(**near).values[None]
    return networks["estimation_error"].values / theory


def _above(parts: Parts, at: int) -> float:
    """By how much networks are above the theory at most, at one of the dots."""
    known = [_ratios(parts, part)[:, parts[part].samples.values == DOTS[at]] for part in TRAINED["full"]]
    return float(max(table.max() for table in known if table.size)) - 1.0


def _passed(line: Any) -> list[str]:
    """Names of the phases that a line passes, in order."""
    number = line["phase_number"].values.astype(int)
    return [PHASES[k] for k in number[np.flatnonzero(np.diff(number, prepend=-1))]]
