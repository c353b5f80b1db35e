"""Averages over samples that the state evolution of an adapter asks for, at the points of one rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.softmax import Softmax
from presage.models.lora.problem import LoraProblem
from presage.models.lora.theory.adapter_newton import adapter_prox, adapter_slopes
from presage.models.lora.theory.pretrained import Pretrained
from presage.models.lora.theory.samples import (
    Points,
    fields_of,
    frozen_and_target,
    new_scores,
    points_of,
    residual_noise,
)
from presage.models.lora.theory.secular_prox import SUMS, linear_sums
from presage.solving.vector_state_evolution import Overlaps


class Averages(NamedTuple):
    """Means over samples of ``g = (P - omega)/v``, of its products and derivatives, and of the loss at P."""

    pull_target: Floats  # r x r_0: sum over tokens of g chi_0'
    pull_field: Floats  # r x r: of g omega'
    pull_square: Floats  # r x r: of g g'
    trace_h: float  # of the slope of the loss in the scores
    loss: float
    slope_target: Floats | None = None  # r x r_0: sum over tokens of dg/dchi_0, where derivatives are asked for
    slope_field: Floats | None = None  # r x r: of dg/domega
    replicon: float = np.nan  # of |1 - dP/domega|^2


class SampleRule(ABC):
    """Fixed points of samples; it remembers the last map of each, from which the next search begins."""

    derivative_form: bool  # whether conjugates come from derivatives of the map, not from products with the fields
    searches: bool  # whether the minimum of a sample has to be looked for, and may be elsewhere

    @abstractmethod
    def averages(self, overlaps: Overlaps, *, all_starts: bool = False, slopes: bool = False) -> Averages:
        """Averages at a state; `all_starts` looks for lower minima in many places, `slopes` asks for derivatives."""


def rule_of(problem: LoraProblem, before: Pretrained, nodes: int, seed: int) -> SampleRule:
    """The rule for a problem: one column and a linear output have a map in closed form."""
    points = points_of(problem, nodes, seed)
    if problem.linear and problem.rank == problem.target_rank == 1:
        return OneLinearColumn(problem, before, points)
    return AnyAdapter(problem, before, points)


class OneLinearColumn(SampleRule):
    """One column, a linear output: frozen layer and noise enter through one Gaussian matrix, the map is exact."""

    derivative_form = True
    searches = False

    def __init__(self, problem: LoraProblem, before: Pretrained, points: Points) -> None:
        self.problem = problem
        noise = residual_noise(problem, before)
        seen = new_scores(points.chi, problem.strength)
        seen += np.sqrt(max(noise, 0.0)) * problem.pretraining.channel.matrix(points.rest)
        self.values, vectors = np.linalg.eigh(seen)
        self.chi = np.ascontiguousarray(np.einsum("nij,ni->nj", vectors, points.chi[:, :, 0]))
        self.xi = np.ascontiguousarray(np.einsum("nij,ni->nj", vectors, points.xi[:, :, 0]))
        self.roots = np.zeros(len(self.values))

    def averages(self, overlaps: Overlaps, *, all_starts: bool = False, slopes: bool = False) -> Averages:
        m, q, v = (float(part[0, 0]) for part in overlaps)
        out = np.empty(SUMS)
        linear_sums(self.values, self.chi, self.xi, m, q, v, self.problem.strength, self.roots, out)
        square, d_target, d_field, field, trace, loss, replicon, target = (out / len(self.values)).tolist()
        one = np.ones((1, 1))
        return Averages(target * one, field * one, square * one, trace, loss, d_target * one, d_field * one, replicon)


class AnyAdapter(SampleRule):
    """Any number of columns, a linear or a softmax output: the map by Newton steps."""

    searches = True

    def __init__(self, problem: LoraProblem, before: Pretrained, points: Points) -> None:
        self.problem, self.points = problem, points
        channel, b = problem.pretraining.channel, problem.recalibration
        self.derivative_form = problem.linear
        new = new_scores(points.chi, problem.strength)
        if problem.linear:
            self.beta = self.beta_0 = 1.0
            residual = np.sqrt(max(residual_noise(problem, before), 0.0)) * points.rest
            self.labels = new + channel.matrix(residual)
            self.frozen = np.zeros_like(new)
        else:
            assert isinstance(channel, Softmax)  # a problem of this model has no other
            self.beta, self.beta_0 = channel.beta, channel.target_beta
            z, z_0 = frozen_and_target(problem, before, points, fresh=False)
            self.labels = softmax(self.beta_0 * (channel.matrix(z_0) + new))
            self.frozen = b * channel.matrix(z)
        self.P: Floats | None = None

    def averages(self, overlaps: Overlaps, *, all_starts: bool = False, slopes: bool = False) -> Averages:
        omega, n = fields_of(self.points, overlaps, self.problem.strength), len(self.labels)
        inverse_v = np.ascontiguousarray(1.0 / np.diag(overlaps.v))
        t, linear, chi = float(np.trace(overlaps.q)), self.problem.linear, self.points.chi
        if self.P is None:
            self.P = omega.copy()
        losses, traces = np.empty(n), np.empty(n)
        arguments = (self.frozen, self.labels, chi, omega, inverse_v, t, self.beta, linear)
        adapter_prox(*arguments, all_starts, self.P, losses, traces)
        g = (self.P - omega) * inverse_v
        by_target, by_field, square = (np.einsum("nar,nas->rs", g, other) / n for other in (chi, omega, g))
        found = Averages(by_target, by_field, square, float(traces.mean()), float(losses.mean()))
        if not (slopes or self.derivative_form):
            return found
        r, T = self.problem.rank, self.problem.n_tokens
        response, target, replicon = np.empty((n, r)), np.empty((n, r)), np.empty(n)
        adapter_slopes(
            self.frozen,
            self.labels,
            chi,
            inverse_v,
            t,
            self.beta,
            self.beta_0,
            linear,
            self.P,
            response,
            target,
            replicon,
        )
        slope_target = np.zeros((r, self.problem.target_rank))
        np.fill_diagonal(slope_target, target.mean(axis=0) * inverse_v)
        slope_field = np.diag((response.mean(axis=0) - T) * inverse_v)
        return found._replace(slope_target=slope_target, slope_field=slope_field, replicon=float(replicon.mean()))


def softmax(logits: Floats) -> Floats:
    """Row by row."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
