"""A three-layer network trained by gradients, layer by layer, on a target of branches: overlaps of both layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.columns import Columns
from presage.protocol.ensemble import seed_numbers, streams
from presage.protocol.extras import must_be_installed
from presage.protocol.machine import available_memory

DECAY = 1e-3  # of the weights of the last layer, over the number of samples
START = 1e-2  # of the weights of the second layer, over those that keep the size of its inputs
TEST = 4000  # fresh samples for overlaps and errors
MEANINGS = {
    "exponent": "n = d^exponent",
    "n": "samples of each layer",
    "first_overlap": "part of the rows of the first layer in the space that the branches see",
    "second_overlap": "part of the variance of the branches that a linear function of the second layer explains",
    "test_error": "squared error on fresh samples over the variance of the labels",
    "first_overlap_error": "standard error over the seeds, as are the others",
    "second_overlap_error": "",
    "test_error_error": "",
}


@final
@dataclass(frozen=True, eq=False)
class GradientLayers(Columns):
    """Networks of one target at several sample sizes: means over seeds, one row an exponent."""

    d: int
    branches: int
    inner: int  # d_eff, directions that each branch sees
    seeds: tuple[int, ...]
    exponent: Floats = field(repr=False)
    n: Floats = field(repr=False)
    first_overlap: Floats = field(repr=False)
    second_overlap: Floats = field(repr=False)
    test_error: Floats = field(repr=False)
    first_overlap_error: Floats = field(repr=False)
    second_overlap_error: Floats = field(repr=False)
    test_error_error: Floats = field(repr=False)

    @property
    def meanings(self) -> Mapping[str, str]:
        """The columns in words."""
        return MEANINGS

    @property
    def head(self) -> str:
        return (
            f"three-layer networks of d = {self.d} on {self.branches} branches of {self.inner} directions each, "
            f"{len(self.seeds)} seeds"
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What no theory of presage is about."""
        return ("networks trained by gradients are an experiment: no prediction is made for them.",)


def gradient_layers(
    *,
    d: int,
    exponents: Sequence[float] = (1.0, 1.5, 2.0, 2.5),
    branches: int = 2,
    inner: int | None = None,
    seeds: int | Sequence[int] = 3,
    widths: tuple[int, int] = (64, 16),
    steps: tuple[int, int] = (20, 300),
) -> GradientLayers:
    """Train three-layer ReLU networks layer by layer on ``n = d^exponent`` fresh samples a layer.

    The target is ``y = k^-1/2 sum_b f_2(h_b)`` with ``h_b = d_eff^-1/2 sum_i w_i f_1(<W_bi, x>)``, orthonormal W_bi,
    f_1 the normalised quadratic Hermite polynomial and f_2 a hyperbolic tangent. The first layer takes gradient steps
    that keep the length of its rows, the second is trained by Adam with the first one fixed, the last is fitted by
    ridge regression.

    Args:
        d: dimension of the inputs.
        exponents: of the number of samples of each layer.
        branches: k, how many functions of features are added.
        inner: d_eff, how many directions each branch sees; the root of d by default.
        seeds: how many networks, or the seeds themselves.
        widths: of the first and the second hidden layer.
        steps: of gradient descent on the first layer, and of Adam on the second.
    """
    reason, remedy = "it is the dimension of the inputs", "Use <d=40>."
    d = checks.integer("d", d, at_least=4, reason=reason, remedy=remedy)
    branches = checks.integer(
        "branches", branches, at_least=1, reason="functions are added", remedy="Use <branches=2>."
    )
    inner = max(1, round(sqrt(d))) if inner is None else inner
    inner = checks.integer("inner", inner, at_least=1, reason="a branch sees directions", remedy="Leave it out.")
    if branches * inner > d:
        reason = f"{branches} branches see {branches * inner} orthogonal directions, and there are {d}"
        raise checks.complaint("branches", "fit the inputs", reason, branches, "Use a larger <d>, or fewer <branches>.")
    numbers = seed_numbers(seeds)
    widths = _pair("widths", widths, 1, "they are those of the first and the second layer", "Use <widths=(64, 16)>.")
    steps = _pair("steps", steps, 0, "each layer takes as many", "Use <steps=(20, 300)>.")
    powers = _exponents(exponents)
    sizes = np.round(d**powers).astype(int)
    _must_fit(d, int(sizes.max()), widths)
    must_be_installed("gradient_layers", "a network", "torch", "torch", "networks are trained by torch")
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # layers are small, and numbers do not depend on the machine
    try:
        rows = np.array([[_train(d, int(n), branches, inner, widths, steps, seed) for seed in numbers] for n in sizes])
    finally:
        torch.set_num_threads(threads)
    mean = rows.mean(axis=1)
    spread = rows.std(axis=1, ddof=1) / sqrt(len(numbers)) if len(numbers) > 1 else np.full(mean.shape, np.nan)
    return GradientLayers(d, branches, inner, numbers, powers, sizes.astype(np.float64), *mean.T, *spread.T)


def _pair(name: str, value: Any, at_least: int, reason: str, remedy: str) -> tuple[int, int]:
    """Two whole numbers, or what is wrong with them in words."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
        raise checks.complaint(name, "be two whole numbers", reason, value, remedy)
    first, second = (checks.integer(name, one, at_least=at_least, reason=reason, remedy=remedy) for one in value)
    return first, second


def _exponents(exponents: Any) -> Floats:
    """Exponents as an array, at least one."""
    reason, remedy = "there are n = d^exponent samples a layer", "Use for example <exponents=(1.5, 2.0)>."
    if not isinstance(exponents, Sequence | np.ndarray) or isinstance(exponents, str) or len(exponents) == 0:
        raise checks.complaint("exponents", "be numbers, at least one", reason, exponents, remedy)
    bounds = {"above": 0.5, "at_most": 6.0}
    return np.array([checks.real("exponents", e, reason=reason, remedy=remedy, **bounds) for e in exponents])


def _must_fit(d: int, n: int, widths: tuple[int, int]) -> None:
    """Complain where the samples of a layer and the units that see them need more memory than is free."""
    needed, free = 8.0 * n * (3 * d + 5 * widths[0] + 3 * widths[1]), available_memory()
    if needed > free:
        reason = f"{n} samples of d = {d} take {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free"
        remedy = "Use a smaller <d>, or smaller ones."
        raise checks.complaint("exponents", "leave room for the samples of a layer", reason, n, remedy)


def _target(d: int, branches: int, inner: int, rng: np.random.Generator) -> Floats:
    """Directions of the branches: orthonormal columns, those of a branch side by side."""
    Q, _ = np.linalg.qr(rng.standard_normal((d, branches * inner)))
    return np.asarray(Q)


def _branches(x: Floats, Q: Floats, signs: Floats, branches: int) -> Floats:
    """h_b of inputs, one column a branch."""
    squares = ((x @ Q) ** 2 - 1.0) / sqrt(2.0) * signs
    inner = Q.shape[1] // branches
    return np.asarray(squares.reshape(len(x), branches, inner).sum(axis=2) / sqrt(inner))


def _train(
    d: int, n: int, branches: int, inner: int, widths: tuple[int, int], steps: tuple[int, int], seed: int
) -> tuple[float, float, float]:
    """One network: overlap of the first layer, of the second, test error."""
    import torch

    for_target, for_data, for_weights, for_test = streams(seed, d)
    Q, signs = _target(d, branches, inner, for_target), for_target.choice([-1.0, 1.0], branches * inner)

    def drawn(count: int, rng: np.random.Generator) -> tuple[Any, Any, Floats]:
        x = rng.standard_normal((count, d))
        h = _branches(x, Q, signs, branches)
        return torch.from_numpy(x), torch.from_numpy(np.tanh(h).sum(axis=1) / sqrt(branches)), h

    first = torch.from_numpy(for_weights.standard_normal((widths[0], d)) / sqrt(d))
    first = first / first.norm(dim=1, keepdim=True)
    sign = torch.from_numpy(for_weights.choice([-1.0, 1.0], widths[0]))
    x, y, _ = drawn(n, for_data)
    y = y - y.mean()
    for _ in range(steps[0]):
        weights = first.clone().requires_grad_(True)
        loss = -(y[:, None] * torch.relu(x @ weights.T) * sign).mean(dim=0).sum()
        (slope,) = torch.autograd.grad(loss, weights)
        along = (slope * first).sum(dim=1, keepdim=True) * first
        turned = first - (slope - along) / (slope - along).norm(dim=1, keepdim=True).clamp_min(1e-30) * 0.5
        first = turned / turned.norm(dim=1, keepdim=True)
    bias = torch.from_numpy(for_weights.uniform(-1.5, 1.5, widths[0]))

    x, y, _ = drawn(n, for_data)
    mean = y.mean()
    hidden = torch.relu(x @ first.T + bias)
    centre, scale = hidden.mean(dim=0), hidden.std(dim=0).clamp_min(1e-6)
    second = torch.from_numpy(for_weights.standard_normal((widths[1], widths[0])) / sqrt(widths[0]) * START)
    second.requires_grad_(True)
    shift = torch.from_numpy(for_weights.uniform(-0.5, 0.5, widths[1]))
    last = torch.from_numpy(for_weights.choice([-1.0, 1.0], widths[1]) / sqrt(widths[1]))
    adam = torch.optim.Adam([second], lr=0.01, weight_decay=0.0)
    for _ in range(steps[1]):
        adam.zero_grad()
        output = torch.relu((hidden - centre) / scale @ second.T + shift) @ last
        loss = ((output - output.mean() - (y - mean)) ** 2).mean() + 1e-3 * second.square().sum()
        loss.backward()
        adam.step()
    second = second.detach()

    x, y, _ = drawn(n, for_data)
    top = _units(torch, x, first, bias, centre, scale, second, shift)
    design = np.column_stack([np.ones(n), top])
    ridge = DECAY * n * np.eye(design.shape[1])
    readout = np.linalg.solve(design.T @ design + ridge, design.T @ y.numpy())
    x, y, h = drawn(TEST, for_test)
    top = _units(torch, x, first, bias, centre, scale, second, shift)
    error = np.mean((y.numpy() - np.column_stack([np.ones(TEST), top]) @ readout) ** 2) / np.var(y.numpy())
    seen = float(np.mean(np.sum((first.numpy() @ Q) ** 2, axis=1)))
    return seen, _explained(top, h), float(error)


def _units(torch: Any, x: Any, first: Any, bias: Any, centre: Any, scale: Any, second: Any, shift: Any) -> Any:
    """Units of the second layer, one row a sample."""
    hidden = (torch.relu(x @ first.T + bias) - centre) / scale
    return torch.relu(hidden @ second.T + shift).numpy()


def _explained(units: Floats, h: Floats) -> float:
    """Part of the variance of the branches that a linear function of the second layer explains, mean over branches."""
    design = np.column_stack([np.ones(len(h)), units])
    rest = h - design @ np.linalg.lstsq(design, h, rcond=None)[0]
    return float(1.0 - np.mean(rest.var(axis=0) / h.var(axis=0)))
