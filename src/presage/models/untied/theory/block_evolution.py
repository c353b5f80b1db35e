"""State evolution of a head whose tokens look at themselves too: symmetric and antisymmetric parts.

A ridge is closed. Weight decay is the nuclear norm of the sum of two parts with curvatures of their own, for which no
law is known: it is solved at a finite size, several times, and the spread over the drawings is the error bar.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats
from presage.models.untied.problem import UntiedProblem
from presage.models.untied.theory.block_rows import (
    SEEN,
    BlockConjugates,
    linear_conjugates,
    softmax_conjugates,
    softmax_rows,
)
from presage.protocol import checks
from presage.solving.block_channel import BlockChannel, BlockHats, BlockOverlaps
from presage.solving.sampled_weights import Prox, SampledWeights, in_random_frame, wigner

SIZE, COPIES = 150, 3  # of the matrices that are drawn, and how many
NODES, SCRAMBLES = 4096, 4  # of the average over scores, and of those for a ridge, whose weights have no spread
DAMPING = 0.8
MOST_STEPS = 300
SAMPLED, CLOSED = 3e-4, 1e-6  # largest relative change of a hat at which an iteration has settled
CAREFUL_EVERY = 5  # steps after which proximal points are looked for from all starts again
NOT_ZERO = 1e-7  # singular values above it, relative to the largest, are none of rounding
DRAWN = (
    "a token that looks at itself sees the symmetric part of S only, and no law is known for a nuclear norm of two "
    "parts with stiffnesses of their own: the weights were solved for at d = {} in {} drawings, whose spread is the "
    "error bar (networks of d = 80 to 140 had errors 2-7 % above such predictions, and that of the antisymmetric part "
    "showed no sign of closing in)."
)


class BlockAnswer(NamedTuple):
    """Numbers of a head with their bars."""

    values: dict[str, float]
    bars: dict[str, float]
    residual: float
    settled: float  # residual that is an answer
    evaluations: int
    singular_values: Floats | None
    notes: tuple[str, ...]


class Weights(Protocol):
    """What the weights make of the hats."""

    @property
    def Q_0(self) -> Floats: ...
    def overlaps(self, hats: BlockHats) -> BlockOverlaps: ...


Data = Callable[[BlockOverlaps, bool], BlockConjugates]


class Settled(NamedTuple):
    """Where an iteration came to rest."""

    overlaps: BlockOverlaps
    conjugates: BlockConjugates
    residual: float
    steps: int


class Ridge:
    """Weights with a ridge, closed for each part.

        Sigma_g = 1/(Sigma_hat_g + 4 tau),  m_g = Q_0g m_hat_g Sigma_g,  q_g = (m_hat_g^2 Q_0g + q_hat_g) Sigma_g^2

    Equation: derived, the minimum of `SampledWeights` with the penalty ``tau |S|_F^2``.
    Checked: tests/models/untied/theory/test_blocks.py::test_a_ridge_is_that_of_drawn_matrices
    """

    def __init__(self, Q_0: Floats, tau: float) -> None:
        self.Q_0, self.tau = Q_0, tau

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        m_hat, q_hat, Sigma_hat = (np.diag(hat) for hat in hats)
        Q_0 = np.diag(self.Q_0)
        Sigma = 1.0 / (Sigma_hat + 4.0 * self.tau)
        m, q = Q_0 * m_hat * Sigma, (m_hat**2 * Q_0 + q_hat) * Sigma**2
        return BlockOverlaps(np.diag(m), np.diag(q), np.diag(Sigma))


class DrawnWeights:
    """Weights with decay on both factors, of one drawing of target and noise."""

    def __init__(self, problem: UntiedProblem, d: int, rng: np.random.Generator) -> None:
        assert problem.weight_decay is not None
        S_0 = drawn_target(problem, d, rng)
        noise = rng.standard_normal((d, d))
        noises = np.stack([wigner(d, rng), (noise - noise.T) / sqrt(2.0 * d)])
        self.sampled = SampledWeights(parts(S_0), noises, nuclear(2.0 * problem.weight_decay))
        self.Q_0 = np.diag(np.diag(self.sampled.Q_0))

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        found = self.sampled.overlaps(hats)
        return BlockOverlaps(*(np.diag(np.diag(matrix)) for matrix in found))

    @property
    def singular_values(self) -> Floats:
        """Of the matrix as it stands, increasing, what is rounding set to zero."""
        values = np.linalg.svd(self.sampled.S.sum(axis=0), compute_uv=False)[::-1]
        return np.where(values > NOT_ZERO * max(values[-1], 1e-300), values, 0.0)


def drawn_target(problem: UntiedProblem, d: int, rng: np.random.Generator) -> Floats:
    """A target of size d, symmetric if it has a law of eigenvalues."""
    target = problem.target
    if isinstance(target, RectangularLaw):
        return target.sample(d, d, rng)
    return in_random_frame(target.sample(d, rng), rng)


def parts(S: Floats) -> Floats:
    """Symmetric and antisymmetric part of a matrix."""
    return np.stack([0.5 * (S + S.T), 0.5 * (S - S.T)])


def nuclear(threshold: float) -> Prox:
    """Proximal map of ``threshold |S_s + S_a|_*`` in the two parts: singular values of their sum move down."""

    def prox(blocks: Floats, step: float) -> Floats:
        left, values, right = scipy.linalg.svd(blocks.sum(axis=0), check_finite=False)
        kept = np.maximum(values - threshold * step, 0.0)
        return parts((left * kept) @ right)

    return prox


def block_answer(problem: UntiedProblem) -> BlockAnswer:
    """Numbers of a head whose tokens look at themselves too.

    Equation: derived, the state evolution of two parts.
    Checked: tests/models/untied/theory/test_check_values.py::test_a_token_that_looks_at_itself
    Checked: tests/models/untied/theory/test_check_values.py::test_a_ridge_on_a_token_that_looks_at_itself
    """
    strength = problem.weight_decay
    if not strength:
        raise checks.complaint(
            "weight_decay",
            "be above 0 where a token looks at itself",
            "the limit of no weight decay is known for scores of distinct tokens only",
            strength,
            'Use a small value such as <weight_decay=1e-3>, or <mask="off-diagonal">.',
        )
    ridge = problem.penalty == "frobenius"
    copies = (1 if not problem.softmax else SCRAMBLES) if ridge else COPIES
    found, values, spectra, steps = [], [], [], 0
    for copy in range(copies):
        weights: Ridge | DrawnWeights
        if ridge:
            weights = Ridge(np.diag(sizes(problem)), strength)
        else:
            weights = DrawnWeights(problem, SIZE, np.random.default_rng([20, copy]))
        one = settled(problem, weights, seed=copy, tol=CLOSED if ridge else SAMPLED)
        found.append(one)
        steps += one.steps
        spectrum = None if isinstance(weights, Ridge) else weights.singular_values
        values.append(numbers(problem, one, np.diag(weights.Q_0), spectrum))
        spectra += [] if spectrum is None else [spectrum]
    residual = max(one.residual for one in found)
    mean = {name: float(np.mean([one[name] for one in values])) for name in values[0]}
    bars = {name: spread([one[name] for one in values]) + 10.0 * residual * abs(mean[name]) for name in mean}
    notes = () if ridge else (DRAWN.format(SIZE, COPIES),)
    drawn = np.sort(np.concatenate(spectra)) if spectra else None
    return BlockAnswer(mean, bars, residual, 10.0 * (CLOSED if ridge else SAMPLED), steps, drawn, notes)


def sizes(problem: UntiedProblem) -> Floats:
    """Q_0 of the two parts: halves of a target whose frames are independent, all and nothing of a symmetric one."""
    return problem.Q_0 * (np.array([1.0, 0.0]) if problem.symmetric else np.array([0.5, 0.5]))


def spread(values: list[float]) -> float:
    """Half width of a 95 % interval of the mean, by Student's t; of a single value that is closed, its rounding."""
    if len(values) == 1:
        return 1e-12 * abs(values[0])
    t = float(scipy.special.stdtrit(len(values) - 1, 0.975))
    return t * float(np.std(values, ddof=1)) / sqrt(len(values))


def settled(problem: UntiedProblem, weights: Weights, *, seed: int, tol: float) -> Settled:
    """Iterate between data and weights, damped, from half learned; the sampled size of the target is the data's too."""
    Q_0 = np.diag(weights.Q_0)
    rho_0 = np.diag(Q_0 + 0.5 * problem.noise)
    data = data_of(problem, rho_0, seed)
    stiff = 1.0 / (1.0 + 4.0 * problem.alpha_eff)
    overlaps = BlockOverlaps(np.diag(0.5 * Q_0), np.diag(0.6 * Q_0 + 0.05 * Q_0.sum()), stiff * np.eye(2))
    hats = data(overlaps, True).hats
    residual = np.inf
    for step in range(1, MOST_STEPS + 1):
        overlaps = weights.overlaps(hats)
        conjugates = data(overlaps, step % CAREFUL_EVERY == 1)
        before, new = (np.array([np.diag(hat) for hat in some]) for some in (hats, conjugates.hats))
        residual = float(np.max(np.abs(new - before) / (np.abs(before) + 1e-300)))
        if residual < tol:
            break
        mixed = before + DAMPING * (new - before)
        hats = BlockHats(*(np.diag(row) for row in mixed))
    return Settled(overlaps, conjugates, residual, step)


def data_of(problem: UntiedProblem, rho_0: Floats, seed: int) -> Data:
    """The data's side, closed for a linear output."""
    if not problem.softmax:
        return lambda overlaps, careful: linear_conjugates(problem, rho_0, overlaps)
    channel = BlockChannel(SEEN, scale=2.0 * problem.alpha, nodes=NODES, seed=seed)
    loss = softmax_rows(problem)
    return lambda overlaps, careful: softmax_conjugates(channel, loss, rho_0, overlaps, careful=careful)


def numbers(problem: UntiedProblem, found: Settled, Q_0: Floats, spectrum: Floats | None) -> dict[str, float]:
    """Observables of one drawing; ``loss/d^2 = alpha train + 2 lambda |S|_*/d``, or the ridge in its place."""
    strength = problem.weight_decay
    assert strength is not None
    m, q = (np.diag(matrix) for matrix in found.overlaps[:2])
    error = Q_0 - 2.0 * m + q
    cost = strength * float(q.sum()) if spectrum is None else 2.0 * strength * float(spectrum.mean())
    train = found.conjugates.train
    return {
        "test_error": found.conjugates.test,
        "train_error": train,
        "train_loss": problem.alpha * train + cost,
        "estimation_error": float(error.sum()),
        "symmetric_error": float(error[0]),
        "antisymmetric_error": float(error[1]),
        "rank": 1.0 if spectrum is None else float(np.mean(spectrum > 0.0)),
        "m": float(m.sum()),
        "q": float(q.sum()),
    }
