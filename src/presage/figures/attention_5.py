"""Attention at three temperatures of the softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import words
from presage.figures.shipping import slimmed
from presage.figures.style import canvas, dots, key, line, logarithmic, print_caveats, style

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Attention: test error at three temperatures of the softmax"
SOURCE = "[BETKZ25] Figure 5"

WEIGHT_DECAY, KAPPA_0, KAPPA, N_TOKENS = 0.01, 0.5, 1.0, 2
BETAS = [0.5, 1.0, 2.0]  # of student and target alike
NOISES = [0.0, 0.5]
LEAST, MOST = 0.04, 2.0  # alpha
PUBLISHED = "Adam, d = 100 with 32 seeds"

POINTS = 14  # of a predicted curve
DETAIL = [0.9, 1.0]  # alpha where the sharpest softmax begins to learn in spite of the noise
EVERY = {"quick": 2, "full": 1}  # which of them
FLAT = 0.06  # relative: how much a plateau of the test error varies
ACCURACY = 1e-3  # relative: sharp softmaxes make many samples jump, and digits cost seconds
TRAINED: dict[str, dict[str, Any]] = {
    "quick": {"alpha": [0.05, 0.25, 0.6], "d": 40, "seeds": 3},
    "full": {"alpha": [0.05, 0.1, 0.25, 0.6, 1.0, 1.5], "d": 100, "seeds": 6},
}
N_TEST = 10_000

PROBLEM = ps.attention(
    ps.MarchenkoPastur(KAPPA_0), alpha=1.0, weight_decay=WEIGHT_DECAY, n_tokens=N_TOKENS, kappa=KAPPA
)


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Predicted curves, and networks trained beside them."""
    setting = {"trainer": ps.AMP(), "n_test": N_TEST, **TRAINED[effort]}
    solver = ps.StateEvolution(accuracy=ACCURACY)
    theory = sweep(PROBLEM, ps.solve, noise=NOISES, beta=BETAS, alpha=alphas(effort), solver=solver)
    trained = sweep(PROBLEM, ps.simulate, noise=NOISES, beta=BETAS, **setting)
    return {"theory": slimmed(theory, "test_error"), "trained": slimmed(trained, "test_error")}


def alphas(effort: Effort) -> Any:
    """Where curves are computed: a quick figure has every second point of the full one."""
    curve = np.geomspace(LEAST, MOST, POINTS)[:: EVERY[effort]]
    return np.sort(np.append(curve, DETAIL)) if effort == "full" else curve


def problems() -> dict[str, Any]:
    """Every temperature and noise, on the plateau of the sharpest softmax."""
    return {
        f"beta = {beta:g}, {words.labels(noise)}": PROBLEM.replace(alpha=0.6, beta=beta, noise=noise)
        for noise in NOISES
        for beta in BETAS
    }


def draw(parts: Parts) -> Figure:
    """Clean labels on the left, noisy ones on the right."""
    with style():
        figure, axes = canvas(1, 2, height=2.8)
        for axis, noise in zip(axes, NOISES, strict=True):
            for number, beta in enumerate(BETAS):
                at = {"noise": noise, "beta": beta}
                line(axis, parts["theory"].sel(at), "alpha", "test_error", number=number)
                dots(axis, parts["trained"].sel(at), "alpha", "test_error", number=number)
            logarithmic(axis, "x", "y")
            axis.set_title(rf"$\Delta$ = {noise:g}")
            axis.set(xlabel=r"$\alpha = n/d^2$", ylabel="test error")
        handles = [key(number, rf"$\beta = \beta_0$ = {beta:g}") for number, beta in enumerate(BETAS)]
        axes[0].legend(handles=handles, loc="lower left")
        print_caveats(figure, parts)
    return figure


def caption(parts: Parts) -> str:
    """What is drawn."""
    start, end, _ = plateau(parts)
    return (
        "Test error of attention at three inverse temperatures, the same in student and target, with clean (left) and "
        "noisy labels (right): the smoother the softmax, the smaller the error, except that the two smoothest cross "
        f"where clean labels leave an error of 1e-3 and less (weight decay {WEIGHT_DECAY:g}, kappa_0 = {KAPPA_0:g}, "
        f"kappa = {KAPPA:g}, {N_TOKENS} tokens). Lines: theory; dots: trained networks. At beta = {max(BETAS):g} noise "
        f"keeps the error on a plateau between alpha = {start:.2g} and {end:.2g}."
    )


def details(parts: Parts) -> str:
    """How it was computed, and where it differs from print."""
    curve = _hardest(parts["theory"])["test_error"]
    start, end, after = plateau(parts)
    level = curve.sel(alpha=slice(start, end))
    return (
        f"Dots: {words.networks(parts['trained'])}. Averages of the theory are known to a relative {ACCURACY:g}. "
        f"{words.BARS} On the plateau the error is {float(level.min()):.2f} to {float(level.max()):.2f}, and at the "
        f"next point, alpha = {after:.2g}, {float(curve.sel(alpha=after)):.2f}. The theory calls itself unstable "
        f"(replicon not below 1) at alpha = {', '.join(f'{alpha:.2g}' for alpha in unstable(parts))}; the networks "
        f"beside them are {_beside(parts)}. "
        f"In print the trainer is {PUBLISHED}, there is no theory, and the order is said to hold "
        f"throughout: the crossing shows on an axis of logarithms only. {words.version(*parts.values())}"
    )


def _hardest(table: xr.Dataset) -> xr.Dataset:
    """The sharpest softmax with the most noise."""
    return table.sel(noise=max(NOISES), beta=max(BETAS))


def plateau(parts: Parts) -> tuple[float, float, float]:
    """First and last point of the flat part of that curve, and the next point, to which it falls most steeply."""
    curve = _hardest(parts["theory"])["test_error"]
    alpha, values = curve["alpha"].values, curve.values
    end = int(np.argmin(np.diff(np.log(values)) / np.diff(np.log(alpha))))
    flat = np.nonzero(abs(values / values[end] - 1.0) < FLAT)[0]
    return float(alpha[flat[0]]), float(alpha[end]), float(alpha[end + 1])


def unstable(parts: Parts) -> list[float]:
    """Where on that curve the prediction says itself that it is unstable."""
    curve = _hardest(parts["theory"])
    said = ["unstable" in str(words) for words in curve["caveats"].values]
    return [float(alpha) for alpha in curve["alpha"].values[said]]


def _beside(parts: Parts) -> str:
    """The trained networks on both sides of where it is unstable, relative to the line."""
    curve, trained = (_hardest(parts[part])["test_error"] for part in ("theory", "trained"))
    away = trained / curve.interp(alpha=trained["alpha"]) - 1.0
    place = int(np.searchsorted(trained["alpha"].values, max(unstable(parts))))
    return " and ".join(
        f"{float(dot):+.0%} off the line at alpha = {float(dot['alpha']):g}" for dot in away[place - 1 : place + 1]
    )
