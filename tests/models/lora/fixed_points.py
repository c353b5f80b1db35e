"""Fixed points of a fine-tuning whose frozen layer is given by its overlaps, for tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import presage as ps
from presage.models.lora.problem import LoraProblem
from presage.models.lora.theory.averages import rule_of
from presage.models.lora.theory.errors import Measured
from presage.models.lora.theory.pretrained import Pretrained
from presage.models.lora.theory.solution import measured_at
from presage.models.lora.theory.state_evolution import Point, settled_on, start_of
from presage.solving.vector_state_evolution import Overlaps, Settled, change

LAW = ps.MarchenkoPastur(0.5)


def linear(T: int, alpha: float, weight_decay: float, **options) -> LoraProblem:
    before = ps.linear_attention(LAW, alpha=0.5, weight_decay=0.1, noise=0.5, n_tokens=T)
    return ps.lora(before, alpha=alpha, weight_decay=weight_decay, **options)


def softmax(T: int, alpha: float, weight_decay: float, **options) -> LoraProblem:
    before = ps.attention(LAW, alpha=0.5, weight_decay=0.1, noise=0.5, n_tokens=T)
    return ps.lora(before, alpha=alpha, weight_decay=weight_decay, **options)


def only_noise(effective: float) -> Pretrained:
    """A layer that leaves noise of this variance, all that a linear output asks of it."""
    return Pretrained(Q=0.0, M=0.0, Sigma=0.0, Q_0=effective, noise=0.0)


def layer(Q: float, M: float, rho_0: float, Sigma: float = 0.0, noise: float = 0.5) -> Pretrained:
    return Pretrained(Q, M, Sigma, rho_0 - 0.5 * noise, noise)


def points(problem: LoraProblem, before: Pretrained, nodes: int, rules: int = 8) -> list[Point]:
    start, found = start_of(problem), []
    for seed in range(rules):
        found.append(settled_on(problem, rule_of(problem, before, nodes, seed), start, tol=1e-6))
        start = found[-1].overlaps
    return found


def measured(problem: LoraProblem, before: Pretrained, nodes: int, rules: int = 8) -> dict[str, Measured]:
    return measured_at(problem, before, points(problem, before, nodes, rules), 4 * nodes)


def agrees(found: Measured, value: float, within: float = 0.0) -> bool:
    """Whether a value is within the error bar, or within that and the digits that it was told with."""
    return abs(found.mean - value) <= found.bar + within


def plainly_settled(
    start: Overlaps, step: Callable[[Overlaps], Overlaps], *, tol: float, most: int, damping: float = 1.0
) -> Settled:
    """The iteration without any mixing: each step goes `damping` of its way."""
    now, residual = start, np.inf
    for count in range(1, most + 1):
        new = step(now)
        residual = change(now, new)
        now = Overlaps(*((1.0 - damping) * old + damping * fresh for old, fresh in zip(now, new, strict=True)))
        if not residual > tol:
            return Settled(now, count, residual)
    return Settled(now, most, residual)
