"""What the theory says about the nuclear-norm fit of a matrix without symmetry."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.root_law import RootLaw
from presage.laws.spectral_law import Floats
from presage.models.bilinear.declaration import MEASURED
from presage.models.bilinear.problem import BilinearProblem
from presage.models.bilinear.theory.explicit_map import solve_bilinear_point
from presage.models.bilinear.thresholds import minimal_nuclear_norm
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.prediction import Prediction
from presage.solving.drawn_targets import square_target
from presage.solving.matrix_parts import Data, linear_parts
from presage.solving.parts_state_evolution import solve_drawn_parts
from presage.spectra.rectangular.convolution import RectangularConvolution
from presage.spectra.rectangular.drawn import DrawnSingularValues

ACCURATE = 1e-2  # largest relative error bar of what is drawn
SOLVED = 1e-6  # residual of an answer; narrow bands far from zero leave more than Newton's goal
UNIVERSAL = (
    "the measurements q_a k_b' of tokens are replaced by Gaussian matrices of the same covariance (heuristic; "
    "the scores of one sample share their tokens)."
)
ISOTROPIC = (
    'pairs="all": the T scores of a token with itself see the symmetric part of S only, so S + S\' has T(T+1) alpha '
    "measurements an entry and S - S' only T(T-1) alpha; this answer takes T^2 alpha for both, an approximation. "
    'It is consistent for pairs="cross" and pairs="distinct".'
)


def caveats_of(problem: BilinearProblem) -> tuple[str, ...]:
    """What is heuristic about an answer that counts all scores alike, in plain sentences."""
    if problem.n_tokens is None:
        return problem.notes
    return (*problem.notes, UNIVERSAL, *([ISOTROPIC] if problem.pairs == "all" else []))


@final
@dataclass(frozen=True)
class LearnedSingularValues:
    """Law of the singular values of the fit: ``(x - c)_+`` for the singular values x of ``M_0 + delta Z``."""

    convolution: RectangularConvolution | None  # None where the target itself is found
    cutoff: float
    rank: float

    @property
    def zero(self) -> float:
        """Fraction of singular values that are zero."""
        return 1.0 - self.rank

    def density(self, s: ArrayLike) -> Floats:
        """Density on ``s > 0``, of total mass `rank`."""
        points = np.asarray(s, dtype=np.float64)
        return np.where(points > 0, self._noisy.density(np.maximum(points, 0.0) + self.cutoff), 0.0)

    def cdf(self, s: ArrayLike) -> Floats:
        """Fraction of singular values at or below ``s``, zeros included."""
        points = checks.places(s)
        found = [self._noisy.cdf(x + self.cutoff) if x >= 0.0 else 0.0 for x in points.ravel().tolist()]
        return np.array(found).reshape(points.shape)

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Image of the singular values of one random matrix ``M_0 + delta Z`` whose shorter side is ``d``."""
        return np.maximum(self._noisy.sample(d, rng) - self.cutoff, 0.0)

    @property
    def support(self) -> Floats:
        """Bands of the singular values that are not zero, as rows."""
        edges = np.maximum(self._noisy.support - self.cutoff, 0.0)
        return np.asarray(edges[edges[:, 1] > 0])

    def moment(self, k: int) -> float:
        """``int s^k``, k >= 1, zeros included."""
        u = self._noisy.parameter_above(self.cutoff)
        if u == np.inf:
            return 0.0
        n = self._noisy.nodes(u_from=u, cutoff=self.cutoff)
        return float(n.mass @ (n.x - self.cutoff) ** k)

    @property
    def _noisy(self) -> RectangularConvolution:
        if self.convolution is None:
            raise AttributeError("the fit is the target itself: its singular values are those of `problem.target`.")
        return self.convolution


@final
@dataclass(frozen=True)
class BilinearSolution(Prediction):
    """Prediction for the minimum of the loss in the limit of large matrices."""

    problem: BilinearProblem
    delta: float | None  # standard deviation of the effective noise on the entries of S; None if parts have their own
    cutoff: float | None  # singular values of M_0 + delta Z below it become zero; None if there is no such matrix
    estimation_error: float  # |S_fit - S_0|_F^2/(d L)
    test_error: float  # expected loss on a fresh, noisy sample, summed over its scores
    train_error: float  # loss a sample at the minimum
    train_loss: float  # the whole minimum, penalty included, over d L
    rank: float  # fraction of singular values that are not zero
    residual: float  # what is left of the equations, relative
    evaluations: int
    bars: dict[str, float] = field(repr=False, hash=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    drawn: Floats | None = field(default=None, repr=False, compare=False)  # singular values of matrices of a size

    observables = MEASURED
    compared = tuple(observable.name for observable in MEASURED)
    spectrum_of = "singular values"
    convention = "M = W_1 W_2'/sqrt(d L) of scores <X, M>/(d L)^(1/4), the loss summed over the samples"

    @cached_property
    def spectrum(self) -> LearnedSingularValues | DrawnSingularValues:
        """Law of the singular values of the fit."""
        if self.drawn is not None:
            return DrawnSingularValues(self.drawn)
        if self.delta is None or self.cutoff is None:
            raise AttributeError(
                "the singular values of this fit are not known: its two parts are noisy by themselves."
            )
        noisy = RectangularConvolution(self.problem.target, self.delta) if self.delta > 0 else None
        return LearnedSingularValues(noisy, self.cutoff, self.rank)

    @property
    def target_law(self) -> RootLaw:
        """Law of the singular values of the target."""
        return self.problem.target.singular_values

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off, from quadrature and from the residual of the equations."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: what is heuristic here, and what went wrong."""
        tokens = () if self.problem.n_tokens is None else (UNIVERSAL,)
        return (*self.problem.notes, *tokens, *self.notes)


def solve(
    problem: BilinearProblem, *, accuracy: float = ACCURATE, tol: float = SOLVED, throw: bool = True
) -> BilinearSolution:
    """Predict the minimum of the loss with weight decay on both factors.

    Args:
        problem: what is learned; it must have a weight decay.
        accuracy: largest relative error bar that is good enough. It sets the size and the number of matrices that are
            drawn for ``pairs="all"``; all other answers are integrals, and finer than any that can be asked for.
        tol: residual of the two equations that is still an answer; ``pairs="all"`` has other equations and refuses it.
        throw: whether a failed solve raises; otherwise it returns its partial solution, with a caveat.

    With alpha the measurements an entry, ``loss/(d L) = delta^2 (alpha - I)^2 + (2 lambda/sqrt(b)) int_c (x-c) nu``,
    its first term alpha times the training error of a measurement.

    Equation: derived: the residual of a training sample is that of a fresh one times ``1 - I/alpha``.
    Checked: tests/models/bilinear/test_bilinear.py::test_trained_regression_is_on_the_curve
    Checked: tests/models/bilinear/test_bilinear.py::test_least_squares_at_its_peak_is_an_error_that_says_so
    Checked: tests/models/bilinear/test_bilinear.py::test_loss_grows_with_weight_decay_by_the_nuclear_norm
    Checked: tests/models/bilinear/test_bilinear.py::test_limits_of_the_weight_decay
    Checked: tests/models/bilinear/test_bilinear.py::test_interpolator_finds_the_target_at_the_threshold
    """
    tol = checks.real(
        "tol", tol, above=0.0, at_most=1e-2, reason="it is the residual of the equations", remedy="Use <tol=1e-6>."
    )
    accuracy = checks.real(
        "accuracy", accuracy, at_least=1e-4, at_most=0.1, reason="it is a relative error", remedy="Use <accuracy=0.01>."
    )
    decay, alpha, target, noise = problem.weight_decay, problem.alpha_eff, problem.target, problem.noise
    if decay is None:
        raise checks.complaint(
            "weight_decay",
            "be a number",
            "the fit is a minimum of the loss with weight decay",
            decay,
            "Use <weight_decay=0.1>, or <bayes_optimal()>, which needs none.",
        )
    if problem.n_tokens is not None and problem.pairs == "all":
        if tol != SOLVED:
            reason = "its two parts have equations of their own, settled to a hundredth of the accuracy"
            remedy = "Use <accuracy> instead."
            raise checks.complaint("tol", 'be left out for pairs="all"', reason, tol, remedy)
        return _all_pairs(problem, problem.n_tokens, decay, accuracy, throw)
    if decay == 0.0 and alpha >= 1.0:
        return _least_squares(problem)
    if decay == 0.0 and noise == 0.0 and alpha >= minimal_nuclear_norm(target.nonzero, target.aspect):
        return _solution(problem, 0.0, 0.0, 0.0, 0.0, 0.0, target.nonzero)
    point = solve_bilinear_point(target, noise, alpha, decay)
    f = point.functionals
    fit = (f.delta * decay / f.c) ** 2
    loss = fit + 2.0 * decay * f.first / sqrt(target.aspect)
    solution = _solution(
        problem, f.delta, f.c, f.risk, fit / alpha, loss, f.rank, point.residual, point.evaluations, f.relative_error
    )
    return _settled(solution, tol, throw, "Use a larger <weight_decay>, or <weight_decay=0.0> for its limit.")


def _settled(solution: BilinearSolution, tol: float, throw: bool, remedy: str) -> BilinearSolution:
    """A solution, or what to do where its equations are not solved."""
    if solution.residual > tol:
        failure = SolveError(
            f"The equations are left with a residual of {solution.residual:.1e}.",
            remedy,
            solution,
        )
        if throw:
            raise failure
        return replace(solution, notes=(*solution.notes, str(failure)))
    return solution


def _all_pairs(problem: BilinearProblem, tokens: int, decay: float, accuracy: float, throw: bool) -> BilinearSolution:
    """All pairs of one sequence: symmetric and antisymmetric part are seen by different numbers of scores.

    Equation: derived, the state evolution of two parts; without weight decay, least squares for each of them.
    Checked: tests/models/bilinear/test_bilinear.py::test_scores_of_a_token_with_itself_count_for_one_part
    """
    alpha, noise, target = problem.alpha, problem.noise, problem.target
    if tokens < 2:
        reason = "one token shows the symmetric part of the matrix only"
        raise checks.complaint("n_tokens", 'be at least 2 for pairs="all"', reason, tokens, "Use <n_tokens=2>.")
    if decay == 0.0 and not alpha * tokens * (tokens - 1) > 1.0:
        raise checks.complaint(
            "weight_decay",
            'be above 0 for pairs="all" with fewer than d^2 scores of distinct tokens',
            "the limit of no weight decay is known where both parts of the matrix have more measurements than entries",
            decay,
            'Use a small value such as <weight_decay=1e-3>, or <pairs="distinct">.',
        )
    if decay == 0.0:
        return _least_squares_of_parts(problem, tokens)

    def data(rho_0: Floats, seed: int) -> Data:
        return lambda overlaps, gain, careful: linear_parts(tokens, alpha, rho_0, overlaps)

    def draw(d: int, rng: np.random.Generator) -> Floats:
        return square_target(target, d, rng)

    found = solve_drawn_parts(data, draw, alpha=alpha, noise=noise, threshold=2.0 * decay, accuracy=accuracy)
    names = [observable.name for observable in MEASURED]
    solution = BilinearSolution(
        problem,
        delta=None,
        cutoff=None,
        residual=found.residual,
        evaluations=found.steps,
        bars={name: found.bars[name] for name in names},
        notes=found.notes,
        drawn=found.singular_values,
        **{name: found.values[name] for name in names},
    )
    return _settled(solution, accuracy, throw, "Use a larger <weight_decay>.")


def _least_squares_of_parts(problem: BilinearProblem, tokens: int) -> BilinearSolution:
    """Without weight decay, where both parts have more measurements than entries.

        a = T (T +- 1) alpha,   error = (Delta/2)/(a - 1),   test = T (T +- 1) (error + Delta/2),
        train = T (T +- 1) (Delta/2) (1 - 1/a),   each summed over the symmetric (+) and the antisymmetric (-) part

    Equation: derived: least squares with a measurements an entry, each with half of the noise.
    Checked: tests/models/bilinear/test_bilinear.py::test_least_squares_of_all_pairs
    """
    half = 0.5 * problem.noise
    scores = tokens * (tokens + np.array([1.0, -1.0]))
    a = scores * problem.alpha
    error = half / (a - 1.0)
    train = float(np.sum(scores * half * (1.0 - 1.0 / a)))
    values: dict[str, Any] = {
        "estimation_error": float(np.sum(error)),
        "test_error": float(np.sum(scores * (error + half))),
        "train_error": train,
        "train_loss": problem.alpha * train,
        "rank": 1.0 if problem.noise > 0.0 else problem.target.nonzero,
    }
    bars = {name: 1e-13 * abs(value) for name, value in values.items()}
    return BilinearSolution(problem, delta=None, cutoff=None, residual=0.0, evaluations=0, bars=bars, **values)


def _least_squares(problem: BilinearProblem) -> BilinearSolution:
    """Without weight decay and with more measurements than entries the fit is least squares: nothing is cut."""
    alpha = problem.alpha_eff
    if problem.noise > 0.0 and alpha == 1.0:
        raise SolveError("At alpha = 1 the error of least squares is infinite.", "Use a positive <weight_decay>.")
    variance = problem.noise / (alpha - 1.0) if problem.noise > 0.0 else 0.0
    loss = variance * (alpha - 1.0) ** 2
    rank = 1.0 if variance > 0.0 else problem.target.nonzero
    return _solution(problem, sqrt(variance), 0.0, variance, loss / alpha, loss, rank)


def _solution(
    problem: BilinearProblem,
    delta: float,
    c: float,
    risk: float,
    train: float,
    loss: float,
    rank: float,
    residual: float = 0.0,
    evaluations: int = 0,
    relative_error: float = 0.0,
) -> BilinearSolution:
    count = problem.components
    values: dict[str, Any] = {
        "estimation_error": risk,
        "test_error": count * (risk + problem.noise),
        "train_error": count * train,
        "train_loss": loss,
        "rank": rank,
        "delta": delta,
        "cutoff": c,
    }
    # The residual may be amplified near a threshold; a factor of a hundred is far more than is seen. The risk is a
    # difference of terms of the size of delta^2.
    relative = 100.0 * (residual + relative_error + 1e-15)
    bars = {name: relative * abs(value) for name, value in values.items()}
    bars["estimation_error"] += relative * delta**2
    bars["test_error"] += count * relative * delta**2
    return BilinearSolution(problem, residual=residual, evaluations=evaluations, bars=bars, **values)
