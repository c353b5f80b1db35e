"""Accelerated proximal gradient on S: with a duality gap for convex problems, and for penalties of one's own."""

from __future__ import annotations

from itertools import islice
from time import perf_counter

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.fit import Certificate, Fit, certify, finite
from presage.models.attention.experiment.objective import Evaluation, Objective
from presage.protocol import checks
from presage.training.accelerated import Iterate, accelerated, next_momentum, points_uphill
from presage.training.curvature import MARGIN, power_iteration
from presage.training.duality import LOOK
from presage.training.history import step_of
from presage.training.proximal_gradient import ProximalGradient

ROUNDINGS = 200.0  # a gap is not known better than this many rounding errors
STATIONARY = 100.0  # a residual of this times `tol` is a minimum, where no gap is known
RELAX = 0.9  # of the curvature, at every look: it can be less than where it was measured
STIFFEST = 1e12  # curvature at which a step that does not lower the loss is rounding


def proximal_gradient(trainer: ProximalGradient, objective: Objective, rng: np.random.Generator) -> Fit:
    """Accelerated proximal gradient on S, for outputs linear in S and for penalties of one's own."""
    if objective.penalty.closed_form and not objective.channel.linear:
        raise checks.complaint(
            "trainer",
            "be LBFGS, Adam or AMP for this channel",
            "the loss is not convex in S, and a duality gap proves nothing",
            trainer,
            "Use <trainer=LBFGS()>.",
        )
    return proximal_gradient_from(trainer, objective, np.zeros((objective.d, objective.d)), rng)


def proximal_gradient_from(trainer: ProximalGradient, objective: Objective, S: Floats, rng: np.random.Generator) -> Fit:
    """The same from a given S."""
    descend = _affine if objective.channel.linear else _backtracking
    return descend(trainer, _Way(objective, trainer.tol), S, rng)


def _affine(trainer: ProximalGradient, way: _Way, S: Floats, rng: np.random.Generator) -> Fit:
    """The gradient is affine in S: one pass an iteration, and one curvature that no step overshoots."""
    here = way.at(S)
    Lambda = way.curvature(here, rng)

    def step(Y: Floats, slope: Floats) -> Floats:
        return proximal_step(way.objective, Y, slope, Lambda)

    descent = accelerated(here, way.at, step, whole=lambda here: way.record(here.value, here.X))
    for iteration, here in enumerate(islice(descent, trainer.steps), start=1):
        if iteration % LOOK == 0 and way.done(here, Lambda):
            break
    return way.fit(here, Lambda, trainer.steps)


def _backtracking(trainer: ProximalGradient, way: _Way, S: Floats, rng: np.random.Generator) -> Fit:
    """Any loss: the curvature grows until the quadratic above the loss is one, and the loss never rises."""
    objective, d = way.objective, way.objective.d
    here = way.at(S)
    Lambda = way.curvature(here, rng)
    before, momentum = S, 1.0
    value = way.record(here.value, S)
    for iteration in range(1, trainer.steps + 1):
        grown, ahead = next_momentum(momentum)
        Y = S + ahead * (S - before)
        at_Y = way.at(Y)
        while True:
            stepped = proximal_step(objective, Y, at_Y.gradient, Lambda)
            move = stepped - Y
            above = at_Y.value + float(np.sum(at_Y.gradient * move)) + 0.25 * d * Lambda * float(np.sum(move**2))
            loss = way.loss_at(stepped)
            if loss <= above + ROUNDINGS * objective.rounding * at_Y.value or Lambda > STIFFEST:
                break
            Lambda *= 2.0
        after = loss + objective.penalty_at(stepped)
        if after > value and momentum > 1.0:
            momentum = 1.0  # the momentum led uphill: the same step again without it
            continue
        momentum = 1.0 if points_uphill(Y, stepped, S) else grown
        before, S = S, stepped
        value = way.record(loss, S)
        if iteration % LOOK == 0:
            if way.done(way.at(S), Lambda):
                break
            Lambda *= RELAX
    return way.fit(way.at(S), Lambda, trainer.steps)


def proximal_step(objective: Objective, Y: Floats, gradient: Floats, Lambda: float) -> Floats:
    """Minimum of the penalty plus the quadratic of curvature Lambda that touches the loss at Y."""
    theta, vectors = np.linalg.eigh(Lambda * Y - 2.0 / objective.d * gradient)
    return np.asarray((vectors * objective.penalty.shrink(theta, Lambda, objective.kappa)) @ vectors.T)


class _Way:
    """Evaluates the loss, counts the passes, remembers the way, and says when it is at its end."""

    def __init__(self, objective: Objective, tol: float) -> None:
        self.objective, self.began, self.passes = objective, perf_counter(), 0
        self.proven = objective.penalty.closed_form and objective.channel.linear
        self.tol = max(tol, ROUNDINGS * objective.rounding) * (1.0 if self.proven else STATIONARY)
        self.history: list[tuple[float, float]] = []

    def at(self, S: Floats) -> Iterate:
        self.passes += 1
        evaluation = self.objective.at_S(S)
        finite(evaluation, "ProximalGradient", self.passes - 1)
        return Iterate(S, *evaluation)

    def loss_at(self, S: Floats) -> float:
        self.passes += 1
        return self.objective.loss_at(S)

    def curvature(self, here: Iterate, rng: np.random.Generator) -> float:
        at_zero = self.at(np.zeros_like(here.X)).gradient if here.X.any() else here.gradient
        found, passes = largest_curvature(self.objective, at_zero, rng)
        self.passes += passes
        return found

    def record(self, loss: float, S: Floats) -> float:
        whole = loss + self.objective.penalty_at(S)
        self.history.append(step_of(self.began, whole))
        return whole

    def certificate(self, here: Iterate, Lambda: float) -> Certificate:
        data = Evaluation(here.value, here.gradient)
        return certify(self.objective, here.X, data, curvature=None if self.proven else Lambda)

    def done(self, here: Iterate, Lambda: float) -> bool:
        certificate = self.certificate(here, Lambda)
        return (certificate.gap if self.proven else certificate.residual) <= self.tol

    def fit(self, here: Iterate, Lambda: float, steps: int) -> Fit:
        objective, certificate = self.objective, self.certificate(here, Lambda)
        measured = certificate.gap if self.proven else certificate.residual
        caveats = []
        if not measured <= self.tol:
            name = "duality gap" if self.proven else "relative residual"
            caveats.append(
                f"ProximalGradient stopped after {steps} steps with a {name} of {measured:.1e}, "
                f"above its tolerance {self.tol:.1g}."
            )
        if objective.factorized and certificate.rank > objective.kappa:
            caveats.append(
                f"the minimum over S has rank {certificate.rank:.3g} d, more than the width {objective.kappa:.3g} d: "
                "no student of this width reaches it."
            )
        return Fit(
            here.X,
            here.value + objective.penalty_at(here.X),
            here.value / objective.n,
            certificate,
            measured <= self.tol,
            self.passes,
            perf_counter() - self.began,
            np.array(self.history),
            tuple(caveats),
        )


def largest_curvature(objective: Objective, at_zero: Floats, rng: np.random.Generator) -> tuple[float, int]:
    """Curvature Lambda above which a proximal step never overshoots, by power iteration, and the passes it took."""
    direction = rng.standard_normal(at_zero.shape)
    direction += direction.T
    found, passes = power_iteration(
        lambda direction: objective.at_S(direction).gradient - at_zero, direction, rtol=2e-3, least=5
    )
    if found == 0.0:  # scores that do not depend on S
        return 1.0, passes
    return MARGIN * 2.0 / objective.d * found, passes
