"""Bayes-optimal message passing: the posterior mean of the target, from the data and the law of its eigenvalues.

It does not minimise a loss. What it needs of the theory, the denoiser of a matrix of known spectrum, is handed in.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan, sqrt
from time import perf_counter
from typing import NamedTuple

import numpy as np

from presage.laws.numerical_zeros import with_numerical_zeros
from presage.laws.spectral_law import Floats
from presage.models.attention.channels.score import score
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.fit import Certificate, Fit
from presage.models.attention.experiment.objective import Objective
from presage.protocol.errors import TrainError
from presage.training.bayes_amp import HOVERING, BayesAMP
from presage.training.history import step_of

PATIENCE = 12  # iterations without a shorter step before it stops


class BayesState(NamedTuple):
    """An iterate of Bayes-optimal message passing."""

    S: Floats  # posterior mean
    V: float  # its expected squared error, |S - S_0|^2/d
    f: Floats  # score of each sample, n x n_in
    q_hat: float  # signal-to-noise ratio of the matrix that the data amount to


def begin(trainer: BayesAMP, objective: Objective) -> BayesState:
    """State before any data: the mean of the law, its variance, no messages."""
    law, d = trainer.denoiser.law, objective.d
    variance = law.second_moment - law.mean**2
    return BayesState(law.mean * np.eye(d), variance, np.zeros((objective.n, objective.channel.n_in)), nan)


def iterate(trainer: BayesAMP, objective: Objective, state: BayesState, damping: float) -> BayesState:
    """One iteration, one pass over the data.

    ``omega = z - V f``, ``f = g_out(omega, V + Delta/2)``, ``q_hat = (2/d^2) sum f^2``,
    ``R = S + (sqrt2/(d q_hat)) sum Z f``, ``S = denoiser(R)``, ``V = MMSE(1/q_hat)``.

    Equation: [BTEZ25], in the form of [BETKZ25] (41).
    Checked: tests/models/attention/experiment/test_bayes_amp.py::test_it_follows_state_evolution
    """
    samples, channel, d = objective.samples, objective.channel, objective.d
    f, V = np.empty_like(state.f), state.V + 0.5 * (trainer.noise or 0.0)

    def slope(block: slice, R: Floats, G: Floats) -> tuple[float]:
        z = np.empty((len(R), channel.n_in))
        kernels.to_components(R, z)
        omega = z - state.V * state.f[block]
        f[block] = score(channel, samples.z_0[block], samples.labels[block], omega, V)
        f[block] += damping * (state.f[block] - f[block])
        kernels.from_slopes(f[block], G)
        return (float(np.sum(f[block] ** 2)),)

    (square,), pull = objective.pass_over(state.S, slope)
    q_hat = 2.0 / d**2 * float(square)
    if not 0.0 < q_hat < inf:
        raise TrainError("Message passing left the finite numbers.", "Use more damping, or a little noise.")
    delta = 1.0 / sqrt(q_hat)
    x, vectors = np.linalg.eigh(state.S + 2.0 / (d * q_hat) * pull)
    S = np.asarray((vectors * trainer.denoiser(x, delta)) @ vectors.T)
    return BayesState(S, trainer.denoiser.mmse(delta), f, q_hat)


def states(trainer: BayesAMP, objective: Objective) -> Iterator[tuple[BayesState, float]]:
    """The iterates, each with the relative length of the step that led to it, until these shrink no more.

    Long steps that do not shrink are damped more. Damping is not free: the messages then lag behind V.
    """
    state, damping, shortest, idle = begin(trainer, objective), trainer.damping, inf, 0
    for iteration in range(trainer.steps):
        after = iterate(trainer, objective, state, damping if iteration else 0.0)
        size = max(float(np.linalg.norm(after.S)), 1e-300)
        step = float(np.linalg.norm(after.S - state.S)) / size
        state = after
        yield state, step
        idle = 0 if step < 0.9 * shortest else idle + 1
        shortest = min(shortest, step)
        if step <= trainer.tol or (idle == PATIENCE and (step < HOVERING or damping > 0.7)):
            return
        if idle == PATIENCE:
            damping, shortest, idle = damping + 0.2, inf, 0


def posterior_mean(trainer: BayesAMP, objective: Objective, rng: np.random.Generator) -> Fit:
    """The posterior mean of the target, from the data and the law of its eigenvalues."""
    began = perf_counter()
    history, step = [], inf
    for state, moved in states(trainer, objective):
        history.append(step_of(began, state.V))
        step = moved
    loss = objective.loss_at(state.S)
    converged = step <= max(trainer.tol, HOVERING)
    unsettled = f"Bayes message passing still moves by {step:.1e} an iteration: use more damping."
    rank = float(np.count_nonzero(with_numerical_zeros(np.linalg.eigvalsh(state.S), objective.d))) / objective.d
    return Fit(
        state.S,
        loss + objective.penalty_at(state.S),
        loss / objective.n,
        Certificate(nan, inf, rank),
        converged,
        len(history) + 1,
        perf_counter() - began,
        np.array(history),
        () if converged else (unsettled,),
    )
