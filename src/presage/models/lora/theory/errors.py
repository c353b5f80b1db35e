"""Errors on fresh samples: with the adapter, without it, and with the new target itself in its place."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.softmax import Softmax
from presage.models.lora.problem import LoraProblem
from presage.models.lora.theory.effective_noise import fresh_noise
from presage.models.lora.theory.pretrained import Pretrained
from presage.models.lora.theory.samples import fields_of, frozen_and_target, new_scores, points_of
from presage.protocol.njit import njit
from presage.solving.vector_state_evolution import Overlaps, mean_and_bar

RULES = 8
APART = 1000  # seeds of these rules are others than those of the overlaps


class Measured(NamedTuple):
    """A number and the half width of its 95 % interval."""

    mean: float
    bar: float


def linear_error(problem: LoraProblem, noise: float, m: Floats, q: Floats) -> float:
    """Loss of a fresh sample of a linear output, label noise included.

        E' = T(T+1) [Delta_eff + Tr q_0^2 + Tr q^2 - 2 Tr m m']

    Equation: derived: ``chi chi' - Tr q`` has the covariance of a symmetric Gaussian matrix of variance ``Tr q^2``.
    Checked: tests/models/lora/test_check_values.py::test_linear_check_values
    Checked: tests/models/lora/test_effective_noise.py::test_check_values_of_two_pipelines
    """
    T, q_0 = problem.n_tokens, problem.strength
    return T * (T + 1) * (noise + problem.target_rank * q_0**2 + float(np.sum(q * q)) - 2.0 * float(np.sum(m * m)))


def errors_on(
    problem: LoraProblem, before: Pretrained, states: Sequence[Overlaps], nodes: int, seed: int
) -> list[dict[str, float]]:
    """The three errors and the gain of each state; those of a softmax on the points of one rule.

        gain = (E_0 - E')/(E_0 - E_oracle)

    A softmax has means of ``|sigma(b R_S + omega omega' - Tr q) - y|^2`` at the state, at ``w = 0`` and at ``w = w_0``.

    Equation: derived: the definitions; a sequence of the test is new, whatever those of the training were.
    Checked: tests/models/lora/test_check_values.py::test_softmax_check_values
    Checked: tests/models/lora/test_effective_noise.py::test_check_values_of_two_pipelines
    """
    r_0, q_0 = problem.target_rank, problem.strength
    if problem.linear:
        noise = fresh_noise(before, problem.recalibration)
        nothing, whole = np.zeros((r_0, r_0)), q_0 * np.eye(r_0)
        frozen, oracle = (linear_error(problem, noise, one, one) for one in (nothing, whole))
        learned = [linear_error(problem, noise, state.m, state.q) for state in states]
    else:
        channel = problem.pretraining.channel
        assert isinstance(channel, Softmax)  # a problem of this model has no other
        points = points_of(problem, nodes, seed)
        z, z_0 = frozen_and_target(problem, before, points, fresh=True)
        R, R_0 = problem.recalibration * channel.matrix(z), channel.matrix(z_0) + new_scores(points.chi, q_0)
        temperatures = (channel.beta, channel.target_beta)
        adapters = ((fields_of(points, state, q_0), float(np.trace(state.q))) for state in states)
        learned = [softmax_error(R, R_0, adapter, *temperatures) for adapter in adapters]
        frozen = softmax_error(R, R_0, (np.zeros_like(points.chi), 0.0), *temperatures)
        oracle = softmax_error(R, R_0, (points.chi, r_0 * q_0), *temperatures)
    return [
        {
            "test_error": error,
            "frozen_error": frozen,
            "oracle_error": oracle,
            "gain": (frozen - error) / (frozen - oracle),
        }
        for error in learned
    ]


def softmax_error(R: Floats, R_0: Floats, adapter: tuple[Floats, float], beta: float, beta_0: float) -> float:
    """Mean loss of samples with frozen scores R and target's scores R_0, for an adapter's field and its ``Tr q``."""
    omega, t = adapter
    return float(_softmax_loss(R, R_0, np.ascontiguousarray(omega), t, beta, beta_0)) / len(R)


@njit(cache=True)
def _softmax_loss(R, R_0, omega, t, beta, beta_0):  # type: ignore[no-untyped-def]
    n, T, r = omega.shape
    x, y = np.empty(T), np.empty(T)
    loss = 0.0
    for k in range(n):
        for a in range(T):
            top, top_0 = -1e300, -1e300
            for b in range(T):
                score = R[k, a, b] - (t if a == b else 0.0)
                for c in range(r):
                    score += omega[k, a, c] * omega[k, b, c]
                x[b], y[b] = score, R_0[k, a, b]
                top, top_0 = max(top, x[b]), max(top_0, y[b])
            total, total_0 = 0.0, 0.0
            for b in range(T):
                x[b], y[b] = exp(beta * (x[b] - top)), exp(beta_0 * (y[b] - top_0))
                total += x[b]
                total_0 += y[b]
            for b in range(T):
                loss += (x[b] / total - y[b] / total_0) ** 2
    return loss


def fresh_errors(
    problem: LoraProblem, before: Pretrained, states: Sequence[Overlaps], nodes: int
) -> dict[str, Measured]:
    """The errors with their bars, of fixed points on independent rules.

    How far the states are apart gives one part of a bar; for a softmax how far rules are apart at one state the other.
    """
    if problem.linear:
        return _over(errors_on(problem, before, states, 0, 0))
    middle = Overlaps(*(np.mean(parts, axis=0) for parts in zip(*states, strict=True)))
    rules = _over([errors_on(problem, before, [middle], nodes, APART + k)[0] for k in range(RULES)])
    spread = _over(errors_on(problem, before, states, max(nodes // 8, 1024), APART))
    return {name: Measured(one.mean, sqrt(one.bar**2 + spread[name].bar ** 2)) for name, one in rules.items()}


def _over(rows: Sequence[dict[str, float]]) -> dict[str, Measured]:
    return {name: Measured(*mean_and_bar([row[name] for row in rows])) for name in rows[0]}
