"""Approximate message passing for the minimum of the loss: tens of passes over the data.

Its fixed points are stationary points of the true loss for any data: there ``p = z`` and ``f = -dl/dz``, and the
weight side is the proximal step of `fit.certify`. On Gaussian data it moves as state evolution does.

It is tried in a quick way first: each iteration goes on from the mixture of the last few that should move least
(Anderson), and passes far from the end are in single precision, which changes where they lead by far less than the way
that is left. Neither moves a fixed point, and its certificate is in double precision. Where that does not settle, the
messages start again with damping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import singledispatch
from itertools import islice
from math import inf
from time import perf_counter
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.numeric_prox import numeric_prox
from presage.models.attention.channels.pair_prox import pairs_messages
from presage.models.attention.channels.prox_report import REPORTED, TRACE_Z
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.channels.tokens_prox import tokens_prox
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.fit import Fit, certify, finite
from presage.models.attention.experiment.gradient import lbfgs_from
from presage.models.attention.experiment.objective import Evaluation, Objective
from presage.models.attention.experiment.proximal_gradient import proximal_gradient_from
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol import checks
from presage.protocol.errors import TrainError
from presage.protocol.fields import declared
from presage.protocol.trainer import DAMPING, STEPS, TOL, Trainer
from presage.training.anderson import mixing_weights
from presage.training.history import step_of
from presage.training.lbfgs import LBFGS
from presage.training.proximal_gradient import ProximalGradient

PATIENCE = 25  # iterations without a shorter step before something is done about it
IMPATIENCE = 8  # the same where iterations are mixed
HESITATION = 3  # the same while passes are in single precision, whose rounding may be what is left
SINGLE = 1e-3  # relative steps above this are taken in single precision
MIXED = 4  # iterations that are mixed, at most
JITTER = 0.1  # relative steps below this that do not shrink are jumps of single samples
STATIONARY = 100.0  # the residual of a settled fit is at most this times `tol`; it is seen to be about ten times


WHERE_NEEDED = replace(DAMPING, words=f"{DAMPING.words}, where they do not settle without")


class State(NamedTuple):
    """An iterate of message passing."""

    S: Floats  # estimate
    V: float  # its uncertainty: Sigma of the theory
    f: Floats  # (prox - omega)/V of each sample, n x n_in
    pull: Floats  # (sqrt2/d) sum Z f
    Theta: Floats  # what the penalty shrinks
    Lambda: float  # Sigma_hat of the theory
    loss: float  # whole loss at the S before this iteration


class Proposal(NamedTuple):
    """What an iteration makes of the samples, before the penalty shrinks it."""

    f: Floats
    pull: Floats
    Theta: Floats
    Lambda: float
    loss: float


class Way(NamedTuple):
    """Where message passing ended."""

    S: Floats
    Lambda: float
    step: float  # relative length of the last step
    best: Floats  # the S of the least loss that is known on this way
    least: float


@singledispatch
def exchange(
    channel: Channel, labels: Floats, gram: Floats, z_0: Floats, R: Floats, V: float, before: Floats, f: Floats
) -> tuple[float, float]:
    """Write the messages ``f = (p - omega)/V`` of a block, ``omega = z - V f_before``; return loss and ``sum tr df``.

    The loss is that of the scores R.
    """
    loss = kernels.loss_and_slope(channel, labels, R, gram, np.empty_like(R))
    z = _components(channel, R)
    f[:] = before
    return loss, messages(channel, labels, z_0, z - V * before, V, f)


@exchange.register
def _(
    channel: Softmax, labels: Floats, gram: Floats, z_0: Floats, R: Floats, V: float, before: Floats, f: Floats
) -> tuple[float, float]:
    if channel.n_tokens != 2:
        return exchange.dispatch(Channel)(channel, labels, gram, z_0, R, V, before, f)
    anchor = channel.beta_ratio * z_0
    trace, loss = pairs_messages(anchor, labels, _components(channel, R), V, channel.beta, before, f)
    if len(gram):  # the loss of a sequence task has weights, which the messages leave out
        loss = kernels.loss_and_slope(channel, labels, R, gram, np.empty_like(R))
    return loss, trace


def _components(channel: Channel, R: Floats) -> Floats:
    z = np.empty((len(R), channel.n_in))
    kernels.to_components(R, z)
    return z


@singledispatch
def messages(channel: Channel, labels: Floats, z_0: Floats, omega: Floats, V: float, f: Floats) -> float:
    """Write ``f = (p - omega)/V``, p the proximal point of each sample's loss; return ``sum tr df/domega``.

    On entry `f` holds the last messages, from which an iteration may start.
    """
    guess = omega + V * f
    f[:], report = numeric_prox(channel, labels, omega, V, z_0=z_0 if channel.labels is None else None, guess=guess)
    return float(report[:, TRACE_Z].sum())


@messages.register
def _(channel: Linear, labels: Floats, z_0: Floats, omega: Floats, V: float, f: Floats) -> float:
    rate = 4.0 / (1.0 + 4.0 * V)
    np.multiply(z_0 - omega, rate, out=f)
    return -rate * f.size


@messages.register
def _(channel: Softmax, labels: Floats, z_0: Floats, omega: Floats, V: float, f: Floats) -> float:
    report = np.empty((len(f), REPORTED))
    tokens_prox(channel.beta_ratio * z_0, omega, V, channel.beta, channel.n_tokens, f, report)
    return float(report[:, TRACE_Z].sum())


def shrink_matrix(penalty: Penalty, Theta: Floats, Lambda: float, kappa: float) -> tuple[Floats, float]:
    """Apply the penalty to the eigenvalues of Theta; return the matrix and its divergence over symmetric matrices.

    ``div = sum_i s'(theta_i) + sum_{i<j} (s_i - s_j)/(theta_i - theta_j)``; the slope at a kink or a jump is that of
    its flatter side.
    """
    theta, vectors = np.linalg.eigh(Theta)
    apart = theta[:, None] - theta[None, :]
    step = 1e-6 * max(float(np.abs(theta).max()), 1e-300)
    around = np.concatenate([theta - step, theta, theta + step])
    behind, s, ahead = penalty.shrink(around, Lambda, kappa).reshape(3, -1)
    slope = np.minimum(ahead - s, s - behind) / step
    close = np.abs(apart) <= step
    ratio = np.where(close, slope[:, None], (s[:, None] - s[None, :]) / np.where(close, 1.0, apart))
    divergence = 0.5 * float(ratio.sum() + np.diag(ratio).sum())
    return np.asarray((vectors * s) @ vectors.T), divergence


def propose(
    objective: Objective, state: State, damping: float, iteration: int = 0, *, single: bool = False
) -> Proposal:
    """The half of an iteration on the side of the samples: one pass over the data, by choice in single precision.

    ``omega = z - V f``, ``f = (prox - omega)/V``, ``Lambda = -(2/d^2) sum df``, ``Theta = (sqrt2/d) sum Z f +
    Lambda S``; f and Lambda keep a part `damping` of the old.

    Equation: [BETKZ25] (41), its first half.
    Checked:
        tests/models/attention/experiment/test_message_passing.py::test_overlaps_follow_state_evolution_at_every_iteration
    """
    samples, channel, d = objective.samples, objective.channel, objective.d
    f = np.empty_like(state.f)

    def slope(block: slice, R: Floats, G: Floats) -> tuple[float, float]:
        labels, gram, z_0 = samples.labels[block], samples.gram[block], samples.z_0[block]
        found = exchange(channel, labels, gram, z_0, R, state.V, state.f[block], f[block])
        kernels.from_slopes(f[block], G)
        return found

    (loss, trace), pull = objective.pass_over(state.S, slope, dtype=np.float32 if single else None)
    finite(Evaluation(loss + trace, pull), "AMP", iteration)
    Lambda, pull = -2.0 / d**2 * float(trace), 2.0 / d * pull
    Lambda += damping * (state.Lambda - Lambda)
    pull += damping * (state.pull - pull)  # of the f that is kept: it is linear
    f += damping * (state.f - f)
    return Proposal(f, pull, pull + Lambda * state.S, Lambda, float(loss) + objective.penalty_at(state.S))


def accept(objective: Objective, proposal: Proposal) -> State:
    """The other half, on the side of the weights: ``S = shrink(Theta, Lambda)``, ``V = (2/d^2) div``.

    Equation: [BETKZ25] (41), its second half.
    Checked:
        tests/models/attention/experiment/test_message_passing.py::test_overlaps_follow_state_evolution_at_every_iteration
    """
    f, pull, Theta, Lambda, loss = proposal
    S, divergence = shrink_matrix(objective.penalty, Theta, Lambda, objective.kappa)
    return State(S, 2.0 / objective.d**2 * divergence, f, pull, Theta, Lambda, loss)


def iterate(objective: Objective, state: State, damping: float, iteration: int = 0) -> State:
    """One iteration, one pass over the data."""
    return accept(objective, propose(objective, state, damping, iteration))


def mixture(proposals: list[Proposal], residuals: list[Floats]) -> Proposal:
    """The combination of the proposals whose residual is least; the last of them where that is no proposal."""
    last, weights = proposals[-1], mixing_weights(residuals)
    Lambda = sum(float(c) * p.Lambda for c, p in zip(weights, proposals, strict=True))
    if not Lambda > 0.0:
        return last
    f, pull, Theta = (
        sum((c * p[part] for c, p in zip(weights[1:], proposals[1:], strict=True)), weights[0] * proposals[0][part])
        for part in range(3)
    )
    return Proposal(f, pull, Theta, Lambda, last.loss)


def _relative(change: Floats, whole: Floats) -> float:
    """Length of a change, relative; of nothing it is one, unless nothing has changed."""
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(change)) / size if size > 0 else float(change.any())


@final
@dataclass(frozen=True)
class AMP(Trainer):
    """Message passing from zero; where it does not settle by itself, L-BFGS goes on from where it stands.

    It is done when an iteration moves S by less than `tol` of its size; the certificate is measured on the true loss. A
    part `damping` of the old messages is kept where the iterations settle in no other way.

    A sequence task has the Gram matrix of its tokens in the loss, which the messages leave out, and a student narrower
    than the rank that is found needs its own minimum: L-BFGS ends these as well. For penalties of one's own, which have
    no gradient, `ProximalGradient` takes the place of L-BFGS.
    """

    tol: float = field(default=1e-6, metadata=declared(TOL))
    steps: int = field(default=500, metadata=declared(STEPS))
    damping: float = field(default=0.3, metadata=declared(WHERE_NEEDED))
    finish: LBFGS = LBFGS()  # noqa: RUF009 - frozen

    def check_together(self) -> None:
        checks.instance(
            "finish", self.finish, LBFGS, reason="it ends what does not settle", remedy="Use for example LBFGS()."
        )

    def begin(self, objective: Objective) -> State:
        """State before the first iteration: ``S = 0``, ``V = 1``, no messages."""
        zero = np.zeros((objective.d, objective.d))
        return State(zero, 1.0, np.zeros((objective.n, objective.channel.n_in)), zero, zero, 1.0, np.nan)

    def states(self, objective: Objective, *, mixed: bool = False) -> Iterator[tuple[State, float]]:
        """The iterates, each with the relative length of the step that led to it.

        Ends when the steps have not shrunk for a while: small ones then come from samples whose proximal point jumps
        between two minima, which no damping cures; for large ones damping is raised first.
        """
        if mixed:
            yield from self._mixed_states(objective)
            return
        state, damping, shortest, idle = self.begin(objective), self.damping, inf, 0
        for iteration in range(self.steps):
            after = iterate(objective, state, damping if iteration else 0.0, iteration)
            step = _relative(after.S - state.S, after.S)
            state = after
            yield state, step
            idle = 0 if step < 0.9 * shortest else idle + 1
            shortest = min(shortest, step)
            if idle == PATIENCE:
                if step < JITTER or damping > 0.8:
                    return
                damping, shortest, idle = 0.5 * (1.0 + damping), inf, 0

    def _mixed_states(self, objective: Objective) -> Iterator[tuple[State, float]]:
        """The same without damping: each goes on from the mixture of the last few that should move least.

        The first passes are in single precision. Ends as soon as the steps do not shrink.
        """
        state, shortest, idle = self.begin(objective), inf, 0
        single = objective.samples.tokens.dtype == np.float64
        proposals: list[Proposal] = []
        residuals: list[Floats] = []
        for iteration in range(self.steps):
            try:
                proposal = propose(objective, state, 0.0, iteration, single=single)
            except TrainError:  # too much for single precision or undamped steps, and perhaps not for the other way
                return
            residual = proposal.Theta - state.Theta
            if iteration:  # before the first there was nothing that could be mixed
                proposals, residuals = [*proposals, proposal][-MIXED:], [*residuals, residual][-MIXED:]
                proposal = mixture(proposals, residuals)
            after = accept(objective, proposal)
            # A mixture may stand still where the iteration would not.
            step = max(_relative(after.S - state.S, after.S), _relative(residual, proposal.Theta))
            state = after
            yield state, max(step, SINGLE) if single else step
            idle = 0 if step < 0.9 * shortest else idle + 1
            shortest = min(shortest, step)
            if idle == IMPATIENCE:
                return
            single = single and step > SINGLE and idle < HESITATION

    def fit(self, objective: Objective, rng: np.random.Generator) -> Fit:
        began = perf_counter()
        history: list[tuple[float, float]] = []
        for mixed in (True, False):
            way = self._followed(objective, began, history, mixed=mixed)
            if way.step <= self.tol or len(history) >= self.steps:
                break
        S, data = way.S, objective.at_S(way.S)
        certificate = certify(objective, S, data, curvature=None if objective.penalty.closed_form else way.Lambda)
        settled = way.step <= self.tol and certificate.residual <= STATIONARY * self.tol
        settled = settled and (not objective.factorized or certificate.rank <= objective.kappa)
        if not settled:
            lower = data.value + objective.penalty_at(S) <= way.least
            start = S if lower else way.best
            if objective.penalty.closed_form:
                return self._finish(objective, start, history, rng)
            return _joined(proximal_gradient_from(ProximalGradient(), objective, start, rng), history)
        return Fit(
            S,
            data.value + objective.penalty_at(S),
            data.value / objective.n,
            certificate,
            True,
            len(history) + 1,
            perf_counter() - began,
            np.array(history),
        )

    def _followed(self, objective: Objective, began: float, history: list[tuple[float, float]], *, mixed: bool) -> Way:
        """Iterate until it has settled or gives up, and add the way to `history`."""
        S = best = np.zeros((objective.d, objective.d))
        least, Lambda, step = inf, 1.0, inf
        for state, step in islice(self.states(objective, mixed=mixed), self.steps - len(history)):
            history.append(step_of(began, state.loss))
            if state.loss < least:  # of the S that the iteration started from
                best, least = S, state.loss
            S, Lambda = state.S, state.Lambda
            if step <= self.tol:
                break
        return Way(S, Lambda, step, best, least)

    def _finish(
        self, objective: Objective, S: Floats, history: list[tuple[float, float]], rng: np.random.Generator
    ) -> Fit:
        """L-BFGS from `S`; the directions that S leaves out get a little noise, or they could not be found again."""
        start = S
        if objective.factorized:
            s, vectors = np.linalg.eigh(S)
            s, vectors = s[::-1][: objective.width], vectors[:, ::-1][:, : objective.width]
            start = np.zeros((objective.d, objective.width))
            start[:, : len(s)] = (objective.d * objective.width) ** 0.25 * vectors * np.sqrt(np.maximum(s, 0.0))
            start += 1e-2 * rng.standard_normal(start.shape)
        return _joined(lbfgs_from(self.finish, objective, start), history)


def _joined(fit: Fit, history: list[tuple[float, float]]) -> Fit:
    """The fit that went on from where the messages stood, with their part of the way."""
    began = history[-1][0]
    way = np.concatenate([np.array(history), fit.history + np.array([began, 0.0])])
    return replace(fit, evaluations=fit.evaluations + len(history), seconds=fit.seconds + began, history=way)
