"""Symmetric and antisymmetric part of one matrix, where samples see the two through different numbers of scores.

Scores of a token with itself see the symmetric part only. ``S = S_s + S_a``: with z_ab (a <= b) normals of variance
``|S_s|^2/d`` and t_ab (a < b) of variance ``|S_a|^2/d`` they are ``R_aa = sqrt(2) z_aa``, ``R_ab = z_ab + t_ab`` and
``R_ba = z_ab - t_ab``; noise of variance Delta on every score adds Delta/2 to both variances of the target.

A ridge is closed. A nuclear norm of the sum of two parts with stiffnesses of their own has no known law: it is solved
at a finite size, several times, and the spread over the drawings is the error bar.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.solving.block_channel import BlockHats, BlockOverlaps
from presage.solving.sampled_weights import Prox, SampledWeights, wigner
from presage.solving.vector_state_evolution import mean_and_bar

SIZE, COPIES = 150, 3  # of the matrices that are drawn, and how many
DAMPING = 0.8
MOST_STEPS = 300
SAMPLED, CLOSED = 3e-4, 1e-8  # largest relative change of a hat at which an iteration has settled
CAREFUL_EVERY = 5  # steps after which a sample is looked at from all starts again
NOT_ZERO = 1e-7  # singular values above it, relative to the largest, are none of rounding
DRAWN = (
    "a token that looks at itself sees the symmetric part of S only, and no law is known for a nuclear norm of two "
    f"parts with stiffnesses of their own: the weights were solved for at d = {SIZE} in {COPIES} drawings, whose "
    "spread is the error bar (networks of d = 80 to 140 had errors 2-7 % above such predictions, and that of the "
    "antisymmetric part showed no sign of closing in)."
)


class PartConjugates(NamedTuple):
    """Hats of the two parts (all diagonal), the two errors of a sample, and a gain where one is learned."""

    hats: BlockHats
    test: float
    train: float
    gain: float | None = None


Data = Callable[[BlockOverlaps, bool], PartConjugates]  # of overlaps, and whether to look from all starts


class Weights(Protocol):
    """What the weights make of the hats."""

    @property
    def Q_0(self) -> Floats: ...
    def overlaps(self, hats: BlockHats) -> BlockOverlaps: ...


class Settled(NamedTuple):
    """Where an iteration came to rest."""

    overlaps: BlockOverlaps
    conjugates: PartConjugates
    residual: float
    steps: int


class PartsAnswer(NamedTuple):
    """Numbers of a trained matrix with their bars."""

    values: dict[str, float]
    bars: dict[str, float]
    residual: float
    settled: float  # residual that is an answer
    steps: int
    singular_values: Floats | None  # of the drawn matrices, increasing; None where they are not drawn


def linear_parts(tokens: int, alpha: float, rho_0: Floats, overlaps: BlockOverlaps) -> PartConjugates:
    """Conjugates of scores that are shown as they are, any number of tokens T.

        L_s = T (T+1)/2,  L_a = T (T-1)/2,  m_hat_g = Sigma_hat_g = 8 alpha L_g/(1 + 4 Sigma_g)
        q_hat_g = Sigma_hat_g^2 (rho_0g - 2 m_g + q_g)/(2 alpha L_g)

    Equation: derived: the loss of a sequence is ``2 sum_g sum (z_0^g - z^g)^2`` over the L_g components of part g.
    Checked: tests/solving/test_matrix_parts.py::test_scores_as_they_are_through_proximal_maps
    """
    L = np.array([tokens * (tokens + 1) / 2.0, tokens * (tokens - 1) / 2.0])
    rho, m, q, Sigma = (np.diag(matrix) for matrix in (rho_0, *overlaps))
    error, gives = rho - 2.0 * m + q, 1.0 + 4.0 * Sigma
    stiffness = 8.0 * alpha * L / gives
    noise = stiffness**2 * error / (2.0 * alpha * L)
    hats = BlockHats(np.diag(stiffness), np.diag(noise), np.diag(stiffness))
    return PartConjugates(hats, float(2.0 * L @ error), float(2.0 * L @ (error / gives**2)))


class RidgeParts:
    """Weights with a ridge ``tau d |S|_F^2``, closed for each part; least squares at tau = 0.

        Sigma_g = 1/(Sigma_hat_g + 4 tau),  m_g = Q_0g m_hat_g Sigma_g,  q_g = (m_hat_g^2 Q_0g + q_hat_g) Sigma_g^2

    Equation: derived, the minimum of `SampledWeights` with the penalty ``tau |S|_F^2``.
    Checked: tests/solving/test_matrix_parts.py::test_a_ridge_is_that_of_drawn_matrices
    """

    def __init__(self, Q_0: Floats, tau: float) -> None:
        self.Q_0, self.tau = np.diag(Q_0), tau

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        m_hat, q_hat, Sigma_hat = (np.diag(hat) for hat in hats)
        Q_0 = np.diag(self.Q_0)
        Sigma = 1.0 / (Sigma_hat + 4.0 * self.tau)
        m, q = Q_0 * m_hat * Sigma, (m_hat**2 * Q_0 + q_hat) * Sigma**2
        return BlockOverlaps(np.diag(m), np.diag(q), np.diag(Sigma))


class DrawnParts:
    """Weights with the penalty ``threshold d |S|_*``, of one target and one noise of a size.

        S = argmin threshold |S|_* + sum_g [(Sigma_hat_g/4)|S_g|^2 - <S_g, m_hat_g S_0g + sqrt(q_hat_g) G_g>/2]

    G_s is symmetric Gaussian, G_a antisymmetric with entries N(0, 1/d).

    Equation: derived, `SampledWeights` for two parts under the nuclear norm of their sum.
    Checked: tests/solving/test_matrix_parts.py::test_equal_hats_of_the_parts_are_one_matrix
    """

    def __init__(self, S_0: Floats, threshold: float, rng: np.random.Generator) -> None:
        d = len(S_0)
        noise = rng.standard_normal((d, d))
        noises = np.stack([wigner(d, rng), (noise - noise.T) / sqrt(2.0 * d)])
        self.sampled = SampledWeights(parts(S_0), noises, nuclear(threshold))
        self.Q_0 = np.diag(np.diag(self.sampled.Q_0))

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        found = self.sampled.overlaps(hats)
        return BlockOverlaps(*(np.diag(np.diag(matrix)) for matrix in found))

    @property
    def singular_values(self) -> Floats:
        """Of the matrix as it stands, increasing, what is rounding set to zero."""
        values = np.linalg.svd(self.sampled.S.sum(axis=0), compute_uv=False)[::-1]
        return np.where(values > NOT_ZERO * max(values[-1], 1e-300), values, 0.0)


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


def settled(data: Data, weights: Weights, *, start: BlockOverlaps, tol: float) -> Settled:
    """Iterate between data and weights, damped, until the hats stay where they are."""
    overlaps, residual = start, np.inf
    hats = data(overlaps, True).hats
    for step in range(1, MOST_STEPS + 1):
        overlaps = weights.overlaps(hats)
        conjugates = data(overlaps, step % CAREFUL_EVERY == 1)
        before, new = (np.array([np.diag(hat) for hat in some]) for some in (hats, conjugates.hats))
        residual = float(np.max(np.abs(new - before) / (np.abs(before) + 1e-300)))
        if residual < tol:
            break
        hats = BlockHats(*(np.diag(row) for row in before + DAMPING * (new - before)))
    return Settled(overlaps, conjugates, residual, step)


def solve_ridge_parts(
    make_data: Callable[[Floats, int], Data], Q_0: Floats, *, alpha: float, noise: float, tau: float, seeds: int
) -> PartsAnswer:
    """A ridge on both parts; `make_data` is asked with the variances of the target's scores and a seed.

    Equation: derived, ``loss/d^2 = alpha train + tau (q_s + q_a)``.
    Checked: tests/models/untied/theory/test_check_values.py::test_a_ridge_on_a_token_that_looks_at_itself
    """
    found = []
    for seed in range(seeds):
        weights = RidgeParts(Q_0, tau)
        one = settled(make_data(_seen(Q_0, noise), seed), weights, start=_half(Q_0, alpha), tol=CLOSED)
        cost = tau * float(np.trace(one.overlaps.q))
        found.append((one, _numbers(one, Q_0, alpha, cost) | {"rank": 1.0}))
    return _averaged(found, CLOSED, None)


def solve_drawn_parts(
    make_data: Callable[[Floats, int], Data],
    draw: Callable[[int, np.random.Generator], Floats],
    *,
    alpha: float,
    noise: float,
    threshold: float,
) -> PartsAnswer:
    """The nuclear norm, ``threshold d |S|_*``, with targets that are drawn; their own size is that of their scores too.

    Equation: derived, ``loss/d^2 = alpha train + threshold |S|_*/d``.
    Checked: tests/models/untied/theory/test_check_values.py::test_a_token_that_looks_at_itself
    """
    found, spectra = [], []
    for copy in range(COPIES):
        rng = np.random.default_rng([20, copy])
        weights = DrawnParts(draw(SIZE, rng), threshold, rng)
        Q_0 = np.diag(weights.Q_0)
        one = settled(make_data(_seen(Q_0, noise), copy), weights, start=_half(Q_0, alpha), tol=SAMPLED)
        spectrum = weights.singular_values
        values = _numbers(one, Q_0, alpha, threshold * float(spectrum.mean()))
        found.append((one, values | {"rank": float(np.mean(spectrum > 0.0))}))
        spectra.append(spectrum)
    return _averaged(found, SAMPLED, np.sort(np.concatenate(spectra)))


def _seen(Q_0: Floats, noise: float) -> Floats:
    return np.diag(Q_0 + 0.5 * noise)


def _half(Q_0: Floats, alpha: float) -> BlockOverlaps:
    """Half learned, as stiff as two tokens make it."""
    stiff = 1.0 / (1.0 + 8.0 * alpha)
    return BlockOverlaps(np.diag(0.5 * Q_0), np.diag(0.6 * Q_0 + 0.05 * Q_0.sum()), stiff * np.eye(2))


def _numbers(found: Settled, Q_0: Floats, alpha: float, cost: float) -> dict[str, float]:
    m, q = (np.diag(matrix) for matrix in found.overlaps[:2])
    error, train = Q_0 - 2.0 * m + q, found.conjugates.train
    gain = {} if found.conjugates.gain is None else {"gain": found.conjugates.gain}
    return {
        "test_error": found.conjugates.test,
        "train_error": train,
        "train_loss": alpha * train + cost,
        "estimation_error": float(error.sum()),
        "symmetric_error": float(error[0]),
        "antisymmetric_error": float(error[1]),
        "m": float(m.sum()),
        "q": float(q.sum()),
        **gain,
    }


def _averaged(found: list[tuple[Settled, dict[str, float]]], tol: float, spectrum: Floats | None) -> PartsAnswer:
    residual, steps = max(one.residual for one, _ in found), sum(one.steps for one, _ in found)
    columns = {name: [values[name] for _, values in found] for name in found[0][1]}
    mean = {name: float(np.mean(column)) for name, column in columns.items()}
    bars = {name: _spread(column) + 10.0 * residual * abs(mean[name]) for name, column in columns.items()}
    return PartsAnswer(mean, bars, residual, 10.0 * tol, steps, spectrum)


def _spread(values: list[float]) -> float:
    """Half width of a 95 % interval of the mean, by Student's t; none of a single value, which is closed."""
    return mean_and_bar(values)[1] if len(values) > 1 else 0.0
