"""Gradient descent beside the selection: units on frozen features turn to what the signal matrix selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, final

import numpy as np

from presage.models.lofi.experiment.lifts import RandomLift
from presage.models.lofi.experiment.signal_matrix import leading
from presage.models.lofi.experiment.true_inputs import TrueInputs, explained, true_inputs
from presage.models.lofi.links import FeatureLink
from presage.protocol import checks
from presage.protocol.ensemble import Floats

UNITS = 64
SMALL = 1e-3  # size of the units at first
STEP = 0.1  # of gradient descent, over the largest curvature
STEPS = (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 90, 100, 120, 150, 200)


@final
@dataclass(frozen=True, eq=False)
class GradientAlignment:
    """What units have learned after some steps of gradient descent, beside what the signal matrix selects."""

    steps: tuple[int, ...]
    alignment: Floats = field(repr=False)  # of the leading directions of the units with those that are selected
    residual: Floats = field(repr=False)  # variance of what is not yet fitted, over that of the labels
    r2: Floats = field(repr=False)  # mean R^2 of the features by the leading directions of the units
    selected_r2: float  # the same by the directions that are selected
    chance: float  # alignment of random directions

    def __str__(self) -> str:
        rows = zip(self.steps, self.alignment, self.residual, self.r2, strict=True)
        lines = [f"step {step:<5} alignment {a:.3f}  residual {r:.3f}  R^2 {q:.3f}" for step, a, r, q in rows]
        return "\n".join([*lines, f"selected: R^2 {self.selected_r2:.3f}; by chance: alignment {self.chance:.3f}"])


def gradient_alignment(
    link: FeatureLink,
    *,
    d: int = 16,
    n: int = 8000,
    width: int = 1000,
    steps: Sequence[int] = STEPS,
    seed: int = 0,
) -> GradientAlignment:
    """Train units on frozen random features of true inputs by full gradient descent, and follow where they turn.

    The network is ``f = sum_j a_j log cosh(v_j.z)`` with frozen features z and fixed ``a_j = +-1/sqrt(m)``; the units
    v_j begin small. As long as it fits nothing, a step multiplies them by ``1 + step a_j C``: power iteration on the
    signal matrix.

    Args:
        link: the labels, of quadratic forms of the inputs as features.
        d: dimension of the inputs.
        n: number of samples.
        width: frozen random features, ReLU without its constant and its linear part.
        steps: after which steps it is looked at the units.
        seed: of all random numbers.
    """
    remedy = "Use for example <steps=(25, 50, 100)>."
    reason = "it is looked at the units after these steps"
    times = tuple(checks.integer("steps", one, at_least=1, reason=reason, remedy=remedy) for one in steps)
    if not times or list(times) != sorted(set(times)):
        raise checks.complaint("steps", "be increasing numbers, at least one", reason, steps, remedy)
    remedy = "Use for example <width=1000>."
    reason = "units are directions of the frozen features, and as many are compared as there are features"
    width = checks.integer("width", width, at_least=link.features, reason=reason, remedy=remedy)
    data = true_inputs(link, d=d, n=n, seed=seed)
    rng = np.random.default_rng([seed, 1])
    z = frozen_features(data, width, rng)
    y = (data.y - data.y.mean()).astype(np.float32)
    C = np.asarray(z.T @ (y[:, None] * z) / np.float32(n), dtype=np.float64)
    selected = leading(C, link.features, rng)
    a = (np.where(np.arange(UNITS) % 2, 1.0, -1.0) / sqrt(UNITS)).astype(np.float32)
    V = (SMALL * rng.standard_normal((width, UNITS))).astype(np.float32)
    rate = np.float32(STEP / (abs(float(selected.values[0])) * float(a.max()) * n))
    rows = []
    for step in range(1, times[-1] + 1):
        q = z @ V
        size = np.abs(q)
        rest = y - (size + np.log1p(np.exp(-2.0 * size)) - np.float32(log(2.0))) @ a
        V += rate * (z.T @ (rest[:, None] * np.tanh(q) * a))
        if step in times:
            directions = np.linalg.svd(V, full_matrices=False)[0][:, : link.features]
            rows.append((alignment(directions, selected.vectors), np.var(rest) / np.var(y), _r2(data, z, directions)))
    aligned, residual, r2 = np.array(rows, dtype=np.float64).T
    return GradientAlignment(times, aligned, residual, r2, _r2(data, z, selected.vectors), link.features / width)


def frozen_features(data: TrueInputs, width: int, rng: np.random.Generator) -> Any:
    """Random features of the inputs in single precision: of norm one, then centred, as the selection reads them."""
    z = RandomLift(data.x, width, "centred_relu", rng).rows(data.x.astype(np.float32))
    norms = np.linalg.norm(z, axis=1, keepdims=True)
    z /= norms
    z -= z.mean(axis=0)
    return z


def alignment(one: Any, other: Any) -> float:
    """Mean squared cosine of two subspaces of the same dimension, by orthonormal columns of each."""
    return float(np.sum((one.T @ other) ** 2) / one.shape[1])


def _r2(data: TrueInputs, z: Any, directions: Any) -> float:
    return float(np.mean(explained(data.h, np.asarray(z @ directions.astype(np.float32), dtype=np.float64))))
