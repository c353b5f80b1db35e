"""Three layers against kernels: the error on a compositional target against the number of samples."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import presage as ps
from presage.figures import style
from presage.figures.shipping import slimmed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Effort, Parts, Sweep

TITLE = "Three layers learn a compositional target where kernels see nothing"
SOURCE = "after [TDPK26]; layer-wise learning by gradients as in [DPZK25]"

D = {"full": 40, "quick": 14}
FEATURES, CLIP = 2, 2.0
TRUE = ps.compositional(alpha=10.0, features=FEATURES, decay=0.0, clip=CLIP, inputs="hermite")
SURROGATE = TRUE.replace(inputs="surrogate")
# Exponents of n = d^exponent, samples of each layer: of lines, of layers, and of shallow learners, which see 2n.
LINES = {"full": np.linspace(1.5, 3.3, 61), "quick": np.linspace(1.5, 3.3, 13)}
DOTS = {"full": [1.75, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.2], "quick": [2.0, 2.6]}
SHALLOW = {"full": [1.75, 2.0, 2.2, 2.4], "quick": [2.0]}
BEYOND = {"full": [2.6, 2.8], "quick": []}  # for random features alone, which need no kernel of all samples
SEEDS = {"full": 6, "quick": 2}
SHALLOW_SEEDS = 2
RIDGES, WIDTH = 4, 2000
KERNELS = {
    "polynomial": ps.KernelRidge("polynomial", RIDGES),
    "rbf": ps.KernelRidge("rbf", RIDGES),
    "features": ps.RandomFeatures(WIDTH, RIDGES),
}
WORDS = {"polynomial": "polynomial kernel", "rbf": "Gaussian kernel", "features": "random features"}
BRANCHES, BRANCH_D = 2, {"full": 30, "quick": 12}
BRANCH_EXPONENTS = {"full": [1.2, 1.5, 1.8, 2.1, 2.4, 2.7], "quick": [1.2, 2.0]}
BRANCH_SEEDS = {"full": 4, "quick": 2}


def alphas(exponents: Any, d: int) -> Any:
    """Samples over coordinates of n = d^exponent."""
    return d ** np.asarray(exponents, dtype=np.float64) / TRUE.samples_at_one(d)


def shallow(
    problem: ps.CompositionalProblem, *, d: int, seeds: int, trainer: ps.Trainer, processes: int | None = None
) -> dict[str, Any]:
    """Test error of a shallow learner of as many samples as all layers have."""
    found = ps.shallow_learners(
        problem, d=d, seeds=seeds, trainer=trainer, processes=processes, n_test=2000, progress=False
    ).test_error
    return {"test_error": found.mean(), "test_error_bar": found.std(ddof=1) / sqrt(len(found))}


def by_gradients(problem: ps.CompositionalProblem, *, d: int, exponent: float, seeds: int) -> dict[str, Any]:
    """Overlaps of both layers of a network that is trained by gradients, on a target of branches of its own."""
    found = ps.gradient_layers(d=d, exponents=[exponent], branches=BRANCHES, seeds=seeds)
    names = ("first_overlap", "second_overlap", "test_error")
    bars = {f"{name}_bar": float(getattr(found, f"{name}_error")[0]) for name in names}
    return {**{name: float(getattr(found, name)[0]) for name in names}, **bars}


def data(effort: Effort, sweep: Sweep = ps.sweep) -> Parts:
    """Errors of layers, predicted and measured, of shallow learners, and overlaps of layers trained by gradients."""
    d, name = D[effort], "test_error"
    size: dict[str, Any] = {"d": d, "seeds": SEEDS[effort], "n_test": 5000}
    few: dict[str, Any] = {"d": d, "seeds": SHALLOW_SEEDS}
    dots = alphas(DOTS[effort], d)
    branches = {"d": BRANCH_D[effort], "seeds": BRANCH_SEEDS[effort]}
    gradients = sweep(TRUE, by_gradients, exponent=BRANCH_EXPONENTS[effort], **branches)
    parts = {
        "theory": slimmed(sweep(SURROGATE, ps.solve, alpha=alphas(LINES[effort], d)), name),
        "surrogate": slimmed(sweep(SURROGATE, ps.simulate, alpha=dots, **size), name),
        "hermite": slimmed(sweep(TRUE, ps.simulate, alpha=dots, **size), name),
        "gradients": slimmed(gradients, "first_overlap", "second_overlap", "test_error"),
    }
    for kernel, trainer in KERNELS.items():
        exponents = SHALLOW[effort] + (BEYOND[effort] if kernel == "features" else [])
        table = sweep(TRUE, shallow, alpha=alphas(exponents, d), trainer=trainer, **few)
        parts[kernel] = slimmed(table, name)
    return parts


def problems() -> dict[str, Any]:
    """Where the layers begin to learn, where they have learned, and both with Gaussian coordinates."""
    d = D["full"]
    return {
        f"n = d^{exponent:g}, {words}": problem.replace(alpha=float(alphas(exponent, d)))
        for exponent in (2.2, 3.0)
        for words, problem in (("true coordinates", TRUE), ("Gaussian coordinates", SURROGATE))
    }


def draw(parts: Parts) -> Figure:
    """Errors of layers and of shallow learners on the left, overlaps of layers trained by gradients on the right."""
    with style.style():
        figure, axes = style.canvas(1, 2, height=3.3)
        _errors(axes[0], parts)
        _gradients(axes[1], parts["gradients"])
        style.print_caveats(figure, parts)
    return figure


def _errors(axis: Any, parts: Parts) -> None:
    d = int(parts["hermite"].d)

    def along(table: Any) -> Any:
        exponent = np.log(table.alpha.values * TRUE.samples_at_one(d)) / log(d)
        return table.assign_coords(exponent=("alpha", exponent))

    style.line(axis, along(parts["theory"]), "exponent", "test_error", number=0, label="layers, theory")
    style.dots(axis, along(parts["surrogate"]), "exponent", "test_error", number=0, label="Gaussian coordinates")
    style.dots(axis, along(parts["hermite"]), "exponent", "test_error", number=1, label="true coordinates")
    for number, kernel in enumerate(KERNELS, 2):
        table = along(parts[kernel])
        axis.plot(table.exponent, table.test_error, color=style.COLOURS[number], linestyle=":", linewidth=0.8)
        style.dots(axis, table, "exponent", "test_error", number=number, label=WORDS[kernel])
    style.threshold(axis, log(TRUE.replace(degree=4).samples_at_one(d)) / log(d), "all quartic polynomials", height=0.9)
    axis.set(xlabel=r"$\log_d n$, samples of each layer", ylabel="test error over the variance of labels")
    axis.set(ylim=(0.0, 1.15))
    style.legend_above(axis)


def _gradients(axis: Any, table: Any) -> None:
    for number, (name, words) in enumerate(
        {
            "first_overlap": "first layer: in the space of the branches",
            "second_overlap": "second layer: branches that it explains",
            "test_error": "test error",
        }.items()
    ):
        dashed = {"linestyle": style.LINES[number], "linewidth": 0.8}
        axis.plot(table.exponent.values, table[name].values, color=style.COLOURS[number], **dashed)
        style.dots(axis, table, "exponent", name, number=number, label=words)
    axis.set(xlabel=r"$\log_d n$, samples of each layer", ylabel="overlap, error", ylim=(0.0, 1.3))
    style.legend_above(axis, columns=1)


def caption(parts: Parts) -> str:
    """What is drawn."""
    best = min(float(parts[kernel]["test_error"].values[-1]) for kernel in KERNELS)
    return (
        f"Left: test error on labels made of {FEATURES} features of degree 2, so of degree 4 in the inputs, against "
        f"the samples of each layer: learned layer by layer (labels clipped at {CLIP:g} standard deviations in the "
        "first), and by shallow methods with the samples of all layers, whose best error at the last of their dots is "
        f"{best:.2f}. Line: theory of Gaussian coordinates. Right: a three-layer ReLU network trained by gradients, "
        f"layer by layer, on {BRANCHES} branches: what each layer has found of them."
    )


def details(parts: Parts) -> str:
    """At what size it was computed, and what no theory is drawn for."""
    layers, kernels, branches = parts["hermite"], parts["polynomial"], parts["gradients"]
    return (
        f"Bars are two standard errors. Dots on the left: {int(layers.seeds)} networks of d = {int(layers.d)} with n "
        f"fresh samples for the first layer and n for the others; {int(kernels.seeds)} shallow learners with 2n "
        f"samples, the best of {RIDGES} ridges on a tenth of them: kernels (1 + x'x/d)^4 and exp(-|x-x'|^2/2d) by "
        f"scikit-learn, {WIDTH} random features of degree 4. There are as many quartic polynomials as the dashed line "
        "says, and a kernel learns them "
        "with about as many samples, which need more memory than is usual. True coordinates of few inputs have heavy "
        f"tails, which the theory has not. Right: {int(branches.seeds)} networks of d = {int(branches.d)}, an "
        "experiment without a prediction."
    )
