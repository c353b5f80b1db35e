"""A token that looks at itself too: what a sequence says about the symmetric and antisymmetric part of the matrix."""

from __future__ import annotations

from math import ceil, log2

import numpy as np

from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats
from presage.models.untied.problem import UntiedProblem
from presage.protocol import checks
from presage.solving.block_channel import BlockChannel, BlockHats, BlockOverlaps
from presage.solving.block_prox import Loss, LossTerms
from presage.solving.drawn_targets import square_target, symmetric_target
from presage.solving.matrix_parts import (
    NONE,
    Data,
    PartConjugates,
    linear_parts,
)
from presage.solving.parts_state_evolution import PartsAnswer, solve_drawn_parts, solve_ridge_parts

ACCURATE = 1e-2  # largest relative error bar, where none is asked for
NODES = (2**9, 2**15)  # of the average over scores, at least and at most
RULES = (6, 32)  # of them, at first and at most, where nothing else is drawn
# Differences u_1 = R_11 - R_12 and u_2 = R_22 - R_21: A_s A_s' and A_a A_a'; the parts share no component.
SEEN = np.array([[[[3.0, 1.0], [1.0, 3.0]], np.zeros((2, 2))], [np.zeros((2, 2)), [[1.0, -1.0], [-1.0, 1.0]]]])


def solve_own_scores(problem: UntiedProblem, *, accuracy: float, tol: float) -> PartsAnswer:
    """Numbers of a head whose tokens look at themselves too, each with an error bar within the accuracy if it can be.

    Equation: derived, the state evolution of two parts.
    Checked: tests/models/untied/theory/test_check_values.py::test_a_token_that_looks_at_itself
    Checked: tests/models/untied/theory/test_check_values.py::test_a_ridge_on_a_token_that_looks_at_itself
    """
    strength, alpha, noise = problem.weight_decay, problem.alpha, problem.noise
    if not strength:
        raise checks.complaint(
            "weight_decay",
            "be above 0 where a token looks at itself",
            "the limit of no weight decay is known for scores of distinct tokens only",
            strength,
            'Use a small value such as <weight_decay=1e-3>, or <mask="off-diagonal">.',
        )

    nodes = nodes_for(accuracy)

    def data(rho_0: Floats, seed: int) -> Data:
        return data_of(problem, rho_0, nodes, seed)

    if problem.penalty == "frobenius":
        first, most = RULES if problem.softmax else (1, 1)
        return solve_ridge_parts(
            data,
            sizes(problem),
            alpha=alpha,
            noise=noise,
            tau=strength,
            gain=problem.target_gain,
            tol=tol,
            accuracy=accuracy,
            first=first,
            most=most,
        )

    def draw(d: int, rng: np.random.Generator) -> Floats:
        return drawn_target(problem, d, rng)

    return solve_drawn_parts(
        data, draw, alpha=alpha, noise=noise, threshold=2.0 * strength, accuracy=accuracy, gain=problem.target_gain
    )


def nodes_for(accuracy: float) -> int:
    """Points of one average, a power of two: what noise they leave is in the spread over copies."""
    return int(np.clip(2 ** ceil(log2(20.0 / accuracy)), *NODES))


def sizes(problem: UntiedProblem) -> Floats:
    """Q_0 of the two parts: halves of a target whose frames are independent, all and nothing of a symmetric one."""
    return problem.Q_0 * (np.array([1.0, 0.0]) if problem.symmetric else np.array([0.5, 0.5]))


def drawn_target(problem: UntiedProblem, d: int, rng: np.random.Generator) -> Floats:
    """A target of size d, symmetric if it has a law of eigenvalues."""
    target = problem.target
    if isinstance(target, RectangularLaw):
        return square_target(target, d, rng)
    return symmetric_target(target, d, rng)


def data_of(problem: UntiedProblem, rho_0: Floats, nodes: int, seed: int) -> Data:
    """The data's side: closed for a linear output, an average over scattered points for a softmax of two tokens.

    For a softmax ``K = Sigma_s B_s + Sigma_a B_a``, w = 2; the parts share no component, so their hats do not mix. A
    gain v that is learned becomes the one at which the loss of the outputs at the proximal points is least.

    Equation: derived, section 0 of the state evolution with P = 2.
    Checked: tests/models/untied/theory/test_own_scores.py::test_differences_of_scores_see_the_parts_as_said
    """
    if not problem.softmax:
        return lambda overlaps, v, careful: linear_parts(problem.n_tokens, problem.alpha, rho_0, overlaps)
    channel = BlockChannel(SEEN, scale=2.0 * problem.alpha, nodes=nodes, seed=seed)

    def conjugates(overlaps: BlockOverlaps, v: float, careful: bool) -> PartConjugates:
        found = channel.averages(softmax_rows(problem, v), rho_0, overlaps, careful=careful)
        hats = BlockHats(*(np.diag(np.diag(hat)) for hat in found.hats))
        jumps = channel.jumps(found)[:, [0, 1], [0, 1]] if careful else NONE
        gain = None if problem.target_gain is None else best_gain(problem, found.u0, found.points.p)
        return PartConjugates(hats, found.test_error, found.train_error, jumps, gain)

    return conjugates


def best_gain(problem: UntiedProblem, u0: Floats, p: Floats) -> float:
    """``v_0 E <sigma(p), sigma_0>/E |sigma(p)|^2``: the gain at which the loss of the outputs at p is least.

    Equation: derived: the loss is stationary in v at fixed overlaps.
    Checked: tests/models/untied/theory/test_gain.py::test_two_rows_have_the_gain_of_least_loss
    """
    s, s0 = _sigmoid(problem.beta * p), _sigmoid(problem.target_beta * u0)
    along, square = s * s0 + (1.0 - s) * (1.0 - s0), s * s + (1.0 - s) ** 2
    return problem.v_0 * float(np.mean(along) / np.mean(square))


def softmax_rows(problem: UntiedProblem, v: float = 1.0) -> Loss:
    """Loss of two rows of two keys, ``2 sum_i (s(beta u_i) - s(beta_0 u0_i))^2``, with its derivatives.

    With gains a row adds ``(v - v_0)^2/2 + 2 v^2 (s_i - t_i)^2``, ``t_i = 1/2 + (v_0/v) (s0_i - 1/2)``.

    Equation: derived, the squared distance of two softmaxes of two keys.
    Checked: tests/models/untied/theory/test_own_scores.py::test_the_loss_of_two_rows_has_its_derivatives
    """
    beta, beta_0, v_0 = problem.beta, problem.target_beta, problem.v_0
    ratio, stiff, apart = v_0 / v, v * v, (v - v_0) ** 2

    def loss(u0: Floats, u: Floats) -> LossTerms:
        s, s0 = _sigmoid(beta * u), _sigmoid(beta_0 * u0)
        e, slope = s - s0 - (ratio - 1.0) * (s0 - 0.5), s * (1.0 - s)
        bent = 4.0 * stiff * beta**2 * slope * (slope + e * (1.0 - 2.0 * s))
        crossed = -4.0 * stiff * ratio * beta * beta_0 * slope * s0 * (1.0 - s0)
        value = apart + 2.0 * stiff * np.sum(e * e, axis=1)
        return LossTerms(value, 4.0 * stiff * beta * e * slope, _diagonal(bent), _diagonal(crossed))

    return loss


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _diagonal(entries: Floats) -> Floats:
    matrices = np.zeros((*entries.shape, entries.shape[1]))
    matrices[:, [0, 1], [0, 1]] = entries
    return matrices
