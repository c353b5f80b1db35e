"""What factors are worth: attention trained through W against a matrix S trained entry by entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import words
from presage.figures.shipping import slimmed
from presage.figures.style import COLOURS, LINES, canvas, dots, key, line, logarithmic, print_caveats, style, threshold

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Attention: factorised against non-factorised training, and recovery thresholds"
SOURCE = "[BETKZ25] Figure 3"

KAPPA_0, NOISE, N_TOKENS, BETA = 0.05, 0.05, 2, 1.0
WEAKEST = 1e-4  # strength of the networks whose best one is weaker: with less, training takes very long for little
UNITS = ps.Softmax(N_TOKENS).n_active  # labels that a sample shows: the axes are alpha in units of this
LEAST, MOST = 0.02, 4.0  # of the axis, that is of UNITS alpha
PUBLISHED = "Adam, d = 100 with 8 seeds"

POINTS = 23  # of a predicted curve
CHOSEN = {"quick": slice(None, None, 2), "full": slice(None)}  # which of them
RANKS = np.linspace(0.01, 1.0, 60)  # kappa_0 of the right panel
TRAINED: dict[str, dict[str, Any]] = {
    "quick": {"of": slice(1, None, 4), "d": 40, "seeds": 3},
    "full": {"of": slice(2, None, 4), "d": 100, "seeds": 8},
}
N_TEST = 10_000
BEST = {"alpha": 0.11, "weight_decay": 0.0107, "ridge": 0.0025}  # rounded: between the recoveries of the two models

PROBLEMS = {
    "factorised": ps.attention(
        ps.MarchenkoPastur(KAPPA_0), alpha=1.0, weight_decay=0.01, noise=NOISE, n_tokens=N_TOKENS, beta=BETA
    ),
    "nonfactorised": ps.unfactorized_attention(
        ps.MarchenkoPastur(KAPPA_0), alpha=1.0, ridge=0.01, noise=NOISE, n_tokens=N_TOKENS, beta=BETA
    ),
}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """The best error of both models, networks trained with the predicted best penalty, and thresholds."""
    parts = {}
    for name, problem in PROBLEMS.items():
        best = sweep(problem, ps.optimal_regularization, alpha=alphas(effort))
        parts[name] = slimmed(best, "test_error", "strength")
        setting = dict(TRAINED[effort])
        chosen = best.isel(alpha=setting.pop("of"))
        parts[f"{name}_trained"] = slimmed(_trained(sweep, problem, chosen, **setting), "test_error")
    clean = PROBLEMS["factorised"].replace(noise=0.0)
    names = ("bayes_recovery", "perfect_recovery", "interpolation", "unfactorized_recovery")
    parts["thresholds"] = slimmed(sweep(clean, ps.thresholds, kappa_0=RANKS), *names)
    return parts


def alphas(effort: Effort) -> Any:
    """Where curves are computed: a quick figure has every second point of the full one."""
    return (np.geomspace(LEAST, MOST, POINTS) / UNITS)[CHOSEN[effort]]


def _trained(sweep: Sweep, problem: Any, best: xr.Dataset, **setting: Any) -> xr.Dataset:
    """Networks of each alpha, trained with the strength that is best there."""
    import xarray as xr

    penalty = "weight_decay" if "weight_decay" in problem.names() else "ridge"
    tables = []
    for alpha, strength in zip(best["alpha"].values, best["strength"].values, strict=True):
        grid = {"alpha": [alpha], penalty: max(float(strength), WEAKEST), **setting}
        tables.append(sweep(problem, ps.simulate, trainer=ps.AMP(), n_test=N_TEST, **grid))
    return xr.concat(tables, "alpha", coords=[penalty], join="exact", compat="equals")


AXIS = r"$\alpha\,(T^2+T-2)/2$"
THRESHOLDS = {
    "unfactorized_recovery": "non-factorised: recovery",
    "interpolation": "factorised: interpolation",
    "perfect_recovery": "factorised: recovery",
    "bayes_recovery": "Bayes-optimal: recovery",
}


def problems() -> dict[str, Any]:
    """Both models where they differ most, at their best penalties, and the thresholds of clean labels."""
    factorised, free = (problem.replace(alpha=BEST["alpha"]) for problem in PROBLEMS.values())
    return {
        "factorised, about its best weight decay": factorised.replace(weight_decay=BEST["weight_decay"]),
        "non-factorised, about its best ridge": free.replace(ridge=BEST["ridge"]),
        "thresholds of kappa_0 = 0.5, clean labels": factorised.replace(kappa_0=0.5, noise=0.0),
    }


def draw(parts: Parts) -> Figure:
    """Best test errors on the left, thresholds on the right, both in units of the labels that a sample shows."""
    with style():
        figure, (left, right) = canvas(1, 2, height=2.9)
        _draw_errors(left, parts)
        table = parts["thresholds"]
        for number, (name, label) in enumerate(THRESHOLDS.items()):
            values = UNITS * table[name].values
            right.plot(table["kappa_0"].values, values, color=COLOURS[number], linestyle=LINES[number], label=label)
        right.set(xlabel=r"$\kappa_0$", ylabel=f"threshold in {AXIS}", xlim=(0.0, 1.0), ylim=(0.0, 0.56))
        right.legend(loc="lower right")
        print_caveats(figure, {name: table for name, table in parts.items() if name != "thresholds"})
    return figure


def _draw_errors(axis: Any, parts: Parts) -> None:
    handles = []
    for number, (name, label) in enumerate({"factorised": "factorised", "nonfactorised": "non-factorised"}.items()):
        theory, trained = parts[name], parts[f"{name}_trained"]
        line(axis, theory.assign(axis=UNITS * theory["alpha"]), "axis", "test_error", number=number)
        dots(axis, trained.assign(axis=UNITS * trained["alpha"]), "axis", "test_error", number=number)
        handles.append(key(number, label))
    marks = parts["thresholds"].interp(kappa_0=KAPPA_0)[["perfect_recovery", "unfactorized_recovery"]] * UNITS
    threshold(axis, float(marks["perfect_recovery"]), "recovery", height=0.21, color=COLOURS[0])
    threshold(axis, float(marks["unfactorized_recovery"]), "recovery", height=0.21, color=COLOURS[1])
    logarithmic(axis, "x", "y")
    axis.set(xlabel=f"{AXIS}, here {UNITS:g}" + r"$\,n/d^2$", ylabel="best test error")
    axis.set_ylim(bottom=0.4 * float(parts["factorised"]["test_error"].min()))  # labels of thresholds below the curves
    axis.legend(handles=handles, loc="upper right")


def caption(parts: Parts) -> str:
    """What is drawn."""
    return (
        "Left: test error at the best penalty of attention trained through its factor and of its matrix trained entry "
        f"by entry (kappa_0 = {KAPPA_0:g}, label noise {NOISE:g}, {N_TOKENS} tokens, beta = {BETA:g}), against alpha "
        "(T^2 + T - 2)/2, the number of labels that the samples show over d^2. Lines: theory at the strength of least "
        "test error; dots: networks trained at it. Vertical lines: where either model recovers the target if labels "
        "are clean. Right: thresholds at vanishing penalty and clean labels."
    )


def details(parts: Parts) -> str:
    """How it was computed, and where it differs from print."""
    best = {name: parts[name]["strength"].values for name in PROBLEMS}
    ranges = {name: f"{values.min():.2g} to {values.max():.2g}" for name, values in best.items()}
    recovery = float(parts["thresholds"]["unfactorized_recovery"][0])
    size = float(parts["factorised_trained"]["d"])
    return (
        f"The best strength is {ranges['factorised']} for weight decay and {ranges['nonfactorised']} for the ridge (0 "
        f"is the vanishing limit); networks are trained at it, or at {WEAKEST:g} where it is weaker. Dots, factorised: "
        f"{words.networks(parts['factorised_trained'])}; non-factorised: "
        f"{words.networks(parts['nonfactorised_trained'])}. Factorised dots "
        f"{_apart(parts, 'factorised')}; non-factorised ones {_apart(parts, 'nonfactorised')}. Networks of this size "
        f"are small for this target, whose rank is {KAPPA_0 * size:g} there. "
        f"{words.BARS} In print the trainer is {PUBLISHED}, and the strength is cross-validated between 1e-6 and 1e-1. "
        f"Differs from print: the axes are named alpha (T^2 + T - 2)/2, which is {UNITS:g} n/d^2 here; print labels "
        "this axis alpha, and its numbers are in these units. So the "
        f"non-factorised model recovers at 1/2 on the axis, that is at n/d^2 = {recovery:g}, where the text of print "
        "has n/d^2 = 1/2. The ridge is d tau |S|^2, since the penalty of equation (20) would "
        f"vanish in the limit. {words.version(*parts.values())}"
    )


def away(parts: Parts, name: str) -> Any:
    """How far trained networks are from their line, relative to it: curves are straight on axes of logarithms."""
    theory, trained = parts[name], parts[f"{name}_trained"]
    predicted = np.interp(np.log(trained["alpha"]), np.log(theory["alpha"]), np.log(theory["test_error"]))
    return trained["test_error"] / np.exp(predicted) - 1.0


def _apart(parts: Parts, name: str) -> str:
    """That distance in words: its range, and where it is largest."""
    values = away(parts, name)
    most = int(np.argmax(abs(values.values)))
    table = parts[f"{name}_trained"].isel(alpha=most)
    bars = 2.0 * float(table["test_error_bar"] / table["test_error"]) * (1.0 + float(values[most]))
    return (
        f"are {float(values.min()):+.0%} to {float(values.max()):+.0%} off their line, most at "
        f"{UNITS * float(values['alpha'][most]):.2g} on the axis, where two standard errors are {bars:.0%}"
    )
