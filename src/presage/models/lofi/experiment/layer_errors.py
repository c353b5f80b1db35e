"""The error of zero, one and two layers on the same samples: what each layer gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, final

import numpy as np

from presage.models.lofi.experiment.layers import Selection, fit_layer
from presage.models.lofi.experiment.readout import Readout
from presage.models.lofi.experiment.signal_matrix import Reading
from presage.models.lofi.experiment.true_inputs import explained
from presage.models.lofi.problem import LoFiProblem
from presage.protocol import checks
from presage.protocol.ensemble import Floats, seed_numbers, streams

FEWEST = 100  # samples that a readout is fitted to


@final
@dataclass(frozen=True, eq=False)
class LayerErrors:
    """Errors over the variance of the labels of learners of one problem and size, one row a seed."""

    problem: LoFiProblem
    d: int
    seeds: tuple[int, ...]
    n: int
    lazy: Floats = field(repr=False)  # random features of the coordinates, without a layer
    one_layer: Floats = field(repr=False)
    two_layers: Floats = field(repr=False)
    overlap: Floats = field(repr=False)  # mean R^2 of the features by the first layer
    deep_overlap: Floats = field(repr=False)  # mean R^2 of the features of the second level by the second layer

    def __str__(self) -> str:
        names = ("lazy", "one_layer", "two_layers", "overlap", "deep_overlap")
        means = [f"{name:<13} {np.mean(getattr(self, name)):.4g}" for name in names]
        return "\n".join([f"{len(self.seeds)} learners of d = {self.d}, {self.n} samples", *means])


def layer_errors(
    problem: LoFiProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 4,
    width: int = 1000,
    n_test: int = 10_000,
) -> LayerErrors:
    """Learn a problem from Gaussian coordinates with no layer, one and two, each with a random readout.

    The first layer selects as many directions of the coordinates as there are features, the second as many quadratic
    functions of these as the second level has. All learners see the same ``n = alpha d`` samples, for the layers and
    for the readout.

    Args:
        problem: what is learned, without a tail; depth is of use to a `NestedLink`.
        d: number D of coordinates.
        seeds: how many learners of each kind, or the seeds themselves.
        width: random features of the readout.
        n_test: fresh samples for the errors.
    """
    checks.instance("problem", problem, LoFiProblem, reason="it says what is learned", remedy="Use ps.lofi(...).")
    if problem.tail > 0.0:
        reason = "readouts see the coordinates of fresh samples, and a tail has too many"
        raise checks.complaint("tail", "be zero here", reason, problem.tail, "Use <tail=0.0>.")
    p = problem.features
    reason, remedy = f"{p} features are directions of the coordinates", "Use for example <d=200>."
    d = checks.integer("d", d, at_least=2 * p + 1, reason=reason, remedy=remedy)
    n = problem.samples(d)
    if n < FEWEST:
        reason = f"{n} samples at d = {d} are not enough for a readout"
        raise checks.complaint("alpha", "be larger", reason, problem.alpha, "Use a larger <alpha> or <d>.")
    remedy = "Use for example <width=1000>."
    width = checks.integer("width", width, at_least=1, reason="it is the width of the readout", remedy=remedy)
    n_test = checks.integer("n_test", n_test, at_least=2, reason="errors are means", remedy="Use <n_test=10000>.")
    numbers = seed_numbers(seeds)
    rows = [_learned(problem, d, n, n_test, width, seed) for seed in numbers]
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return LayerErrors(problem, d, numbers, n, **columns)


def _learned(problem: LoFiProblem, d: int, n: int, n_test: int, width: int, seed: int) -> dict[str, float]:
    """Errors of the learners of one seed."""
    _, for_data, for_trainer, _ = streams(seed, d)
    link, p = problem.link, problem.features
    F = for_data.standard_normal((n + n_test, d))
    y = link(F[:, :p])
    g = (F[n:, :p] ** 2 - 1.0) @ (link.second_level.T / sqrt(2.0))
    centred = y[:n] - y[:n].mean()
    linear = Selection("linear", p, 1, "relu", Reading(normalise=False, centre=False), "sides", first_moment=False)
    first = fit_layer(F[:n], centred, linear, for_trainer)
    h = first(F)
    quadratic = Selection("quadratic", len(link.second_level), 1, "relu", Reading(), "size", first_moment=False)
    second = fit_layer(h[:n], centred, quadratic, for_trainer)
    deep = second(h)

    def error(inputs: Floats) -> float:
        readout = Readout(inputs[:n], y[:n, None], width, for_trainer)
        return float(np.mean((readout(inputs[n:])[:, 0] - y[n:]) ** 2) / np.var(y[n:]))

    return {
        "lazy": error(F),
        "one_layer": error(h),
        "two_layers": error(deep),
        "overlap": float(np.mean(explained(F[n:, :p], h[n:]))),
        "deep_overlap": float(np.mean(explained(g, deep[n:]))),
    }
