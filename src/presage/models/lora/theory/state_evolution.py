"""State evolution of an adapter: from overlaps to conjugates over samples, and back through the weight decay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.lora.problem import LoraProblem
from presage.models.lora.theory.averages import Averages, SampleRule
from presage.solving.vector_state_evolution import Conjugates, Overlaps, overlaps_of, settled

TOL = 1e-7  # relative change of an overlap that ends the iteration
MOST = 80
ROUNDS = 4  # how often to look for lower minima from everywhere and go on
INSIDE = 1e-10  # least part of q that is not along the target, of an allowed state
LEAST, MOST_RESPONSE = 1e-4, 1e4  # of v, in units of the usual one


class Point(NamedTuple):
    """A fixed point on one rule."""

    overlaps: Overlaps
    averages: Averages  # there, with derivatives
    residual: float


def stein_derivatives(averages: Averages, overlaps: Overlaps, q_0: float) -> tuple[Floats, Floats]:
    """Mean derivatives of g in the target and in the field, from products with them.

        [d_1 d_2] [[q_0, m'], [m, q]] = E sum_a g_a [chi_0a', omega_a']

    Equation: derived: Stein's lemma for the jointly Gaussian ``(chi_0, omega)``.
    Checked: tests/models/lora/test_state_evolution.py::test_stein_and_derivative_forms_agree
    """
    m, q, _ = overlaps
    r_0 = m.shape[1]
    covariance = np.block([[q_0 * np.eye(r_0), m.T], [m, q]])
    products = np.hstack([averages.pull_target, averages.pull_field])
    both = np.linalg.solve(covariance, products.T).T
    return both[:, :r_0], both[:, r_0:]


def conjugates_of(problem: LoraProblem, averages: Averages, overlaps: Overlaps, *, derivative: bool) -> Conjugates:
    """What the samples say about the adapter.

        m_hat = alpha' d_1,  v_hat = -alpha' d_2,  q_hat = alpha' E sum_a g_a g_a',  ridge = lambda' - alpha' E Tr h

    d_1 and d_2 are the mean derivatives of g in the target and in the field; the second term of the ridge is how the
    centring of the scores depends on w.

    Equation: derived: the state evolution of a generalised linear model with T outputs a sample.
    Checked: tests/models/lora/test_check_values.py::test_linear_check_values
    Checked: tests/models/lora/test_state_evolution.py::test_the_centring_is_part_of_the_ridge
    """
    alpha = problem.alpha
    if derivative:
        assert averages.slope_target is not None
        assert averages.slope_field is not None
        d_1, d_2 = averages.slope_target, averages.slope_field
    else:
        d_1, d_2 = stein_derivatives(averages, overlaps, problem.strength)
    ridge = problem.weight_decay - alpha * averages.trace_h
    identity = np.eye(problem.rank)
    return in_gauge(Conjugates(alpha * d_1, alpha * averages.pull_square, -alpha * d_2, 2.0 * ridge * identity))


def in_gauge(conjugates: Conjugates) -> Conjugates:
    """The same with each learned column along one of the target's, all alike, and spare columns alike.

    Columns of w can be rotated into each other without a change of the scores: left free, sampling errors turn them for
    ever. Columns of equal strength are equivalent, so each matrix is one number for those that learn and one for those
    that are to spare.
    """
    learned = min(conjugates.m_hat.shape)

    def alike(matrix: Floats) -> Floats:
        diagonal = np.diag(matrix).copy()
        for part in (slice(None, learned), slice(learned, None)):
            if diagonal[part].size:
                diagonal[part] = diagonal[part].mean()
        out = np.zeros_like(matrix)
        np.fill_diagonal(out, diagonal)
        return out

    return Conjugates(*(alike(matrix) for matrix in conjugates))


def start_of(problem: LoraProblem) -> Overlaps:
    """Where the iteration begins: an adapter that has found most of the target."""
    r, r_0, q_0 = problem.rank, problem.target_rank, problem.strength
    learned = min(r, r_0)
    sizes = np.array([q_0] * learned + [0.2 * q_0] * (r - learned))
    return Overlaps(0.9 * q_0 * np.eye(r, r_0), np.diag(sizes), usual_response(problem) * np.eye(r))


def usual_response(problem: LoraProblem) -> float:
    """About the response v of an adapter; it falls with the samples, and a softmax says less than a linear output."""
    v = (0.15 if problem.linear else 2.0) / (problem.alpha * problem.strength * max(problem.n_tokens - 1, 1))
    return min(v, 3.0 / problem.strength)


def allowed(problem: LoraProblem, overlaps: Overlaps) -> bool:
    """Whether a state is one: positive responses, and an adapter no shorter than its part along the target."""
    m, q, v = overlaps
    if not np.all(np.isfinite(m)) or not np.all(np.diag(v) > LEAST * usual_response(problem)):
        return False
    return bool(np.linalg.eigvalsh(q - m @ m.T / problem.strength)[0] >= INSIDE * problem.strength)


def bounded(overlaps: Overlaps, problem: LoraProblem) -> Overlaps:
    """The same with a response that is positive: far from any answer samples may push v below zero."""
    usual = usual_response(problem)
    v = np.diag(np.clip(np.diag(overlaps.v), LEAST * usual, MOST_RESPONSE * usual))
    return overlaps._replace(v=v)


def settled_on(problem: LoraProblem, rule: SampleRule, start: Overlaps, *, tol: float = TOL) -> Point:
    """The fixed point on the samples of one rule, from a start.

    Where the minimum of a sample may be elsewhere, it is looked for from everywhere each time that the iteration comes
    to rest, and the iteration goes on until that moves nothing.
    """
    everywhere = False

    def step(overlaps: Overlaps) -> Overlaps:
        nonlocal everywhere
        averages = rule.averages(overlaps, all_starts=everywhere)
        everywhere = False
        conjugates = conjugates_of(problem, averages, overlaps, derivative=rule.derivative_form)
        return bounded(overlaps_of(conjugates, problem.strength * np.eye(problem.target_rank)), problem)

    here, residual = start, np.inf
    for _ in range(ROUNDS if rule.searches else 1):
        found = settled(here, step, lambda state: allowed(problem, state), tol=tol, most=MOST)
        here, residual, everywhere = found.overlaps, found.residual, True
        if found.steps <= 2:
            break
    return Point(here, rule.averages(here, slopes=True), residual)
