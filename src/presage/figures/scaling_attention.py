"""Softmax attention with a power-law target: the error that has a scaling law, and the one that has a floor."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed
from presage.models.attention.experiment.floor import measured_floor
from presage.models.attention.theory.scaling.softmax_map import (
    WellSampled,
    error_at_the_edge,
    loss_above_floor,
    r_prime,
    well_sampled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Softmax attention with a power-law target: what scales, and what tends to a floor"
SOURCE = "laws of [DXGTEZLK25], through the map of softmax attention [BETKZ25] with many samples"

GAMMAS, NOISE, N_TOKENS, D = (1.25, 2.0), 0.5, 2, 100
EDGE = 0.85  # cutoff in units of 2 delta: near the best one
PROBLEM = ps.attention(ps.PowerLaw(GAMMAS[0], D), alpha=1.0, weight_decay=0.1, noise=NOISE, n_tokens=N_TOKENS)
# Samples over d: lines, and where networks are trained.
LINES = {"full": np.geomspace(3.0, 1e4, 36), "quick": np.geomspace(3.0, 1e4, 36)[::5]}
DOTS = {"full": [10.0, 30.0, 100.0, 300.0], "quick": [10.0, 100.0]}
SEEDS = {"full": 6, "quick": 2}
N_TEST, N_FLOOR = 100_000, 400_000
NUMBERS = ("R_prime", "above_floor", "estimation_error", "floor")


@dataclass(frozen=True)
class Errors:
    """What is drawn of one point, each number with its bar."""

    R_prime: float
    R_prime_bar: float
    above_floor: float
    above_floor_bar: float
    estimation_error: float
    estimation_error_bar: float
    floor: float  # of the test error: that of the theory, or as it is for the scores that networks see
    floor_bar: float
    n_seeds: int
    caveats: tuple[str, ...]


def tuned(problem: Any) -> tuple[Any, WellSampled]:
    """The problem at a weight decay whose cutoff is near the edge of the noise, and what many samples make of it."""
    found = well_sampled(problem.channel, problem.Q_0, problem.noise)
    decay = EDGE * found.M * sqrt(2.0 * found.V * problem.alpha)
    return problem.replace(weight_decay=decay), found


def predicted(problem: Any) -> Errors:
    """The theory at that weight decay."""
    there, found = tuned(problem)
    s = ps.solve(there)
    bars = s.error_bars
    about = bars["q"] / s.scale**2 + 2.0 * bars["m"] / s.scale
    floor = found.test_floor, found.bars["test_floor"]
    above = s.test_error - floor[0], bars["test_error"] + floor[1]
    return Errors(r_prime(s), about, *above, s.estimation_error, bars["estimation_error"], *floor, 0, s.caveats)


def trained(problem: Any, *, d: int, seeds: int, processes: int | None = None) -> Errors:
    """Networks at that weight decay: over the scale that the theory predicts, above the floor that they have."""
    there, _ = tuned(problem)
    scale = ps.solve(there).scale
    e = ps.simulate(there, d=d, seeds=seeds, n_test=N_TEST, processes=processes, progress=False)
    off = e.values("q") / scale**2 - 2.0 * e.values("m") / scale + there.Q_0
    shrunk = float(off.mean()), float(off.std(ddof=1) / sqrt(len(off)))
    _, floor, bar = measured_floor(there, d=d, samples=N_FLOOR)
    above = e.mean("test_error") - floor, float(np.hypot(e.standard_error("test_error"), bar))
    estimation = e.mean("estimation_error"), e.standard_error("estimation_error")
    return Errors(*shrunk, *above, *estimation, floor, bar, len(off), e.caveats)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Both exponents, predicted along the number of samples and trained at some of them."""
    size: dict[str, Any] = {"d": D, "seeds": SEEDS[effort]}
    theory = sweep(PROBLEM, predicted, gamma=list(GAMMAS), alpha=LINES[effort] / D)
    networks = sweep(PROBLEM, trained, gamma=list(GAMMAS), alpha=np.array(DOTS[effort]) / D, **size)
    return {"theory": slimmed(theory, *NUMBERS), "trained": slimmed(networks, *NUMBERS)}


def problems() -> dict[str, Any]:
    """Both exponents at few samples and at many, each at its weight decay."""
    return {
        f"gamma = {gamma:g}, n/d = {n:g}": tuned(PROBLEM.replace(gamma=gamma, alpha=n / D))[0]
        for gamma in GAMMAS
        for n in (10.0, 100.0)
    }


def draw(parts: Parts) -> Figure:
    """R' on the left, the test error above its floor on the right; both against samples over d."""
    found = tuned(PROBLEM)[1]
    theory, networks = (parts[name].assign_coords(samples=D * parts[name].alpha) for name in ("theory", "trained"))
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.1)
        for number, gamma in enumerate(GAMMAS):
            line, dots = theory.sel(gamma=gamma), networks.sel(gamma=gamma)
            law = [error_at_the_edge(found, ps.PowerLaw(gamma, D), float(alpha)) for alpha in line.alpha]
            for axis, name in zip(axes, NUMBERS, strict=False):
                style.line(axis, line, "samples", name, number=number, linestyle="-")
                style.dots(axis, dots, "samples", name, number=number)
            grey: dict[str, Any] = {"color": style.GREY, "linewidth": 0.9}
            axes[0].plot(line.samples, law, linestyle="--", **grey)
            axes[1].plot(line.samples, [loss_above_floor(found, R) for R in law], linestyle="--", **grey)
            axes[0].plot(line.samples, line.estimation_error, linestyle=":", color=style.COLOURS[number], linewidth=1.0)
        axes[0].axhline(found.estimation_floor, color=style.GREY, linewidth=0.6, linestyle=":")
        axes[0].annotate(
            rf"$(1-s)^2$ = {found.estimation_floor:.4f}",
            (3.0, found.estimation_floor),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=6.5,
            color=style.GREY,
        )
        axes[0].set(ylabel=r"$R' = \|S/\mathrm{scale}-S_0\|_F^2/d$")
        axes[1].set(ylabel="test error above its floor")
        for axis in axes:
            style.logarithmic(axis, "x", "y")
            axis.set(xlabel=r"samples over dimension, $n/d$")
        methods = [style.key(k, rf"$\gamma$ = {gamma:g}", linestyle="-") for k, gamma in enumerate(GAMMAS)]
        law_key = style.key(0, "leading law", color=style.GREY, linestyle="--", marker="none")
        floor_key = style.key(0, r"$\|S-S_0\|_F^2/d$: no law", color=style.GREY, linestyle=":", marker="none")
        style.legend_above(axes[0], columns=2, handles=[*methods, law_key, floor_key])
        style.legend_above(axes[1], columns=3, handles=[*methods, law_key])
        style.print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    found = tuned(PROBLEM)[1]
    both = " and ".join(f"{gamma:g}" for gamma in GAMMAS)
    return (
        f"Softmax attention, T = {N_TOKENS}, whose target has eigenvalues i^-gamma with gamma = {both}, noise "
        f"{NOISE:g}, weight decay such that the cutoff is near the edge of the noise. Left: the error R' of the "
        "learned matrix over its scale, which has the exponent -1 + 1/(2 gamma) of a quadratic network. Right: the "
        "test error above what no number of samples takes away. Lines: theory; dots: trained networks; dashed: leading "
        "laws with their prefactors. Dotted: the estimation error does not scale; it tends to (1 - s)^2, since the "
        f"learned matrix shrinks to s = {found.scale:.3f} of the target."
    )


def details(parts: Parts) -> str:
    """At what size it was computed."""
    networks, theory = parts["trained"], parts["theory"]
    slopes = [_slope(theory.sel(gamma=gamma)) for gamma in GAMMAS]
    found = tuned(PROBLEM)[1]
    floors = " and ".join(f"{float(networks.floor.sel(gamma=gamma)[0]):.4f}" for gamma in GAMMAS)
    return (
        f"Dots: {int(networks.seeds)} data sets of d = {int(networks.d)} at each point, trained by presage's default "
        f"trainer (AMP), {N_TEST} test samples; their matrices are divided by the scale that the theory predicts. "
        f"Bars are two standard errors. Theory at d = {D} too. lambda = {EDGE:g} M sqrt(2 V alpha), M = {found.M:.4f}, "
        f"V = {found.V:.4f}: the cutoff is 1.6 to 1.7 times the noise. The floor of the theory is "
        f"{found.test_floor:.4f}. That of networks is another one, {floors} for the two exponents, measured with "
        f"{N_FLOOR} samples of the target itself: its first eigenvalues make most of it at any d, so that scores are "
        "not Gaussian as the theory has them. Slopes of R' between n/d = 100 and 1000: "
        + ", ".join(f"{slope:.3f} ({-1.0 + 0.5 / gamma:.3f})" for slope, gamma in zip(slopes, GAMMAS, strict=True))
        + " for the two exponents (law). The leading law is that of a cutoff at 2 delta and of few learned features: "
        "theory is below it by up to three tenths. With few samples networks are above the theory, by a part that "
        f"falls with n/d: R' is {_over(parts)} of it at the first and the last dots."
    )


def _over(parts: Parts) -> str:
    """R' of networks over that of the theory, at the ends of the dots of both exponents."""
    said = []
    for gamma in GAMMAS:
        line, dots = (parts[name].sel(gamma=gamma) for name in ("theory", "trained"))
        ends = dots.isel(alpha=[0, -1])
        there = np.exp(np.interp(np.log(ends.alpha), np.log(line.alpha), np.log(line.R_prime)))
        said.append(" and ".join(f"{ratio:.2f}" for ratio in ends.R_prime.values / there))
    return ", ".join(said)


def _slope(line: Any) -> float:
    """Slope of R' between n/d = 100 and 1000."""
    x, y = np.log(D * line.alpha.values), np.log(line.R_prime.values)
    ends = np.interp(np.log([100.0, 1000.0]), x, y)
    return float((ends[1] - ends[0]) / np.log(10.0))
