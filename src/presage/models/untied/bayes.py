"""The Bayes-optimal answer for an untied head: bilinear regression on what the labels of its rows tell."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.bayes.optimal import BayesSolution
from presage.models.attention.bayes.optimal import bayes_optimal as tied_bayes
from presage.models.attention.channels.linear import Linear
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.problem import Problem
from presage.models.bilinear.bayes import BilinearBayes
from presage.models.bilinear.bayes import bayes_optimal as bilinear_bayes
from presage.models.bilinear.problem import bilinear_regression
from presage.models.untied.declaration import BAYES
from presage.models.untied.problem import UntiedProblem
from presage.models.untied.theory.solution import UNIVERSAL
from presage.models.untied.theory.wide_row import contrasts
from presage.models.untied.thresholds import distinct_target
from presage.protocol.prediction import Prediction
from presage.solving.block_channel import normal_points
from presage.solving.vector_state_evolution import mean_and_bar
from presage.spectra.rectangular.denoising import SingularValueDenoiser
from presage.spectra.symmetric.denoising import Denoiser

REACH, ACROSS = 7.0, 80  # of the plane integral of two keys
POINTS, SCRAMBLES = 4096, 4  # of longer rows
NUDGE = 1e-3  # relative step of the mmse, for the slope of the test error in it


@final
@dataclass(frozen=True)
class UntiedBayes(Prediction):
    """Least possible error for a problem, given unlimited computation."""

    problem: UntiedProblem
    delta: float  # standard deviation of the effective noise on the entries of S; 0 where the target is recovered
    mmse: float  # |S_fit - S_0|_F^2/d
    test_error: float  # loss of the best prediction of a fresh, noisy label
    bars: dict[str, float] = field(repr=False, hash=False)

    observables = BAYES
    compared = ("estimation_error",)
    minimises = False

    @property
    def estimation_error(self) -> float:
        """The same as `mmse`."""
        return self.mmse

    @property
    def q_hat(self) -> float:
        """Precision ``1/delta^2`` of the effective observation."""
        return 1.0 / self.delta**2 if self.delta > 0 else inf

    @property
    def denoiser(self) -> SingularValueDenoiser | Denoiser:
        """Map of the singular values, or eigenvalues, that turns what the data amount to into the estimate."""
        target = self.problem.target
        return Denoiser(target) if isinstance(target, SpectralLaw) else SingularValueDenoiser(target)

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off, from quadrature and from the root."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: what is assumed."""
        return (*self.problem.notes, UNIVERSAL)


def bayes_optimal(problem: UntiedProblem) -> UntiedBayes:
    """Least error of any method: noise enters before the softmax, so a label tells differences of noisy scores.

    A gain of the target is no secret, it is the sum of any row of a label: labels over v_0 are those without a gain. Of
    a symmetric target only the symmetric part of ``x_a z_b'`` is seen, by half as many entries, as by one tied head:

        2 alpha_eff delta^2 = Delta + MMSE(delta),   MMSE of S_0 from ``S_0 + delta GOE``

    Equation: derived: [ETBMZ24] at ``alpha_eff``; the K - 1 orthonormal differences of a row have noise Delta each.
    Checked: tests/models/untied/test_thresholds.py::test_bayes_is_that_of_bilinear_regression
    Checked: tests/models/untied/test_thresholds.py::test_the_best_prediction_is_better_than_a_trained_one
    Checked: tests/models/untied/theory/test_gain.py::test_the_gain_of_the_target_is_no_secret
    Checked: tests/models/untied/test_symmetric_targets.py::test_who_knows_the_symmetry_needs_half_the_samples
    """
    target = distinct_target(problem, "bayes_optimal")
    found: BilinearBayes | BayesSolution
    if isinstance(problem.target, SpectralLaw):  # one token of a quadratic network has noise Delta/2 a component
        one_token = Problem(problem.target, Linear(1), Frobenius(1.0), problem.alpha_eff, 2.0 * problem.noise)
        found = tied_bayes(one_token)
    else:
        found = bilinear_bayes(bilinear_regression(target, alpha=problem.alpha_eff, noise=problem.noise))
    bars = {name: found.error_bars[name] for name in ("mmse", "estimation_error", "delta")}
    test, bar = best_prediction(problem, found.mmse)
    if bars["mmse"] > 0.0:  # what is not known of the one is not known of the other
        step = max(NUDGE * found.mmse, bars["mmse"])
        bar += abs(best_prediction(problem, found.mmse + step)[0] - test) * bars["mmse"] / step
    return UntiedBayes(problem, found.delta, found.mmse, test, bars | {"test_error": bar})


def best_prediction(problem: UntiedProblem, mmse: float) -> tuple[float, float]:
    """Error of the posterior mean of a fresh label, and how far it may be off.

    Given the data a score of the target is ``N(r, mmse + Delta)`` around its posterior mean r ~ N(0, Q_0 - mmse); the
    best prediction is the mean of the softmax over that, times v_0, its error the variance.

    Equation: derived: the posterior of a fresh score is Gaussian.
    Checked: tests/models/untied/test_thresholds.py::test_the_best_prediction_is_better_than_a_trained_one
    """
    spread, known = mmse + problem.noise, max(problem.Q_0 - mmse, 0.0)
    if not problem.softmax:
        return problem.components * spread, 1e-9 * problem.components * spread
    total = bar = 0.0
    for keys, rows in Counter(problem.keys).items():
        if keys > 1:  # the softmax of one key is 1
            one, off = _pair(problem, known, spread) if keys == 2 else _wide(problem, keys, known, spread)
            total, bar = total + rows * one, bar + rows * off
    scale = problem.v_0**2
    return scale * total, scale * bar


def _pair(problem: UntiedProblem, known: float, spread: float) -> tuple[float, float]:
    """``2 E Var s(beta_0 u0)`` for the difference u0 of two scores, by two trapezoidal rules."""
    if spread == 0.0:  # clean labels of a target that is found
        return 0.0, 0.0
    values = []
    for points in (ACROSS // 2, ACROSS):
        x = 2.0 * REACH / points * (np.arange(points) - 0.5 * (points - 1))
        weight = np.exp(-0.5 * x * x)
        weight /= weight.sum()
        u0 = sqrt(2.0 * known) * x[:, None] + sqrt(2.0 * spread) * x
        s = 0.5 * (1.0 + np.tanh(0.5 * problem.target_beta * u0))
        values.append(2.0 * float(weight @ ((s * s) @ weight - (s @ weight) ** 2)))
    return values[1], abs(values[1] - values[0]) + 1e-12


def _wide(problem: UntiedProblem, keys: int, known: float, spread: float) -> tuple[float, float]:
    """``E |sigma|^2 - E |E[sigma|r]|^2``, the second with two independent posteriors; scrambled points, four times."""
    basis = contrasts(keys)
    found = []
    for seed in range(SCRAMBLES):
        z = normal_points(3 * (keys - 1), POINTS, seed)
        r, first, second = (z[:, k * (keys - 1) : (k + 1) * (keys - 1)] @ basis.T for k in range(3))
        one, other = (_softmax(problem, sqrt(known) * r + sqrt(spread) * noise) for noise in (first, second))
        found.append(float(np.mean(np.sum(0.5 * (one - other) ** 2, axis=1))))
    return mean_and_bar(found)


def _softmax(problem: UntiedProblem, r: Floats) -> Floats:
    raised = np.exp(problem.target_beta * (r - r.max(axis=1, keepdims=True)))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
