"""The Bayes-optimal answer for a matrix without symmetry: its error, its denoiser, its information."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import exp, inf, log, log1p, sqrt
from typing import final

import numpy as np
import scipy

from presage.models.bilinear.declaration import BAYES
from presage.models.bilinear.problem import BilinearProblem
from presage.models.bilinear.theory.solution import caveats_of
from presage.models.bilinear.thresholds import strong_recovery
from presage.protocol.prediction import Prediction
from presage.spectra.legendre_panels import ABSCISSAE, WEIGHTS
from presage.spectra.rectangular.denoising import SingularValueDenoiser

SMALLEST = 1e-6  # relative noise level below which the target counts as recovered


@final
@dataclass(frozen=True)
class BilinearBayes(Prediction):
    """Least possible error for a problem, given unlimited computation."""

    problem: BilinearProblem
    delta: float  # standard deviation of the effective noise on the entries of S; 0 where the target is recovered
    mmse: float  # |S_fit - S_0|_F^2/(d L)
    bars: dict[str, float] = field(repr=False, hash=False)

    observables = BAYES
    compared = ("estimation_error",)
    minimises = False

    @property
    def estimation_error(self) -> float:
        """The same as `mmse`."""
        return self.mmse

    @property
    def test_error(self) -> float:
        """Expected loss on a fresh, noisy sample: summed over its scores."""
        return self.problem.components * (self.mmse + self.problem.noise)

    @property
    def q_hat(self) -> float:
        """Precision ``1/delta^2`` of the effective observation."""
        return 1.0 / self.delta**2 if self.delta > 0 else inf

    @cached_property
    def mutual_information(self) -> float:
        """Information of the labels about the target, in nats an entry; infinite for clean labels.

        ``(1/2) int_0^q_hat MMSE dq + (alpha/2) log(1 + MMSE/Delta) - q_hat MMSE/2``, alpha counting measurements.

        Equation: derived: I-MMSE for the matrix, and ``d/dalpha`` of it is the capacity of one more measurement.
        Checked: tests/models/bilinear/test_bilinear.py::test_information_grows_by_the_capacity_of_a_measurement
        """
        problem = self.problem
        if problem.noise == 0.0:
            return inf
        Q_0, denoiser = problem.Q_0, self.denoiser
        # In t = log(1 + q Q_0) the integrand (1 + q Q_0) MMSE/Q_0 is bounded: MMSE falls from Q_0 like 1/q.
        half = 0.5 * log1p(self.q_hat * Q_0)
        q = np.expm1(half * (1.0 + np.concatenate([0.5 * (ABSCISSAE - 1.0), 0.5 * (ABSCISSAE + 1.0)]))) / Q_0
        integrand = np.array([denoiser.mmse(1.0 / sqrt(at)) for at in q]) * (1.0 + q * Q_0) / Q_0
        of_matrix = 0.5 * half * 0.5 * float(np.tile(WEIGHTS, 2) @ integrand)
        capacity = 0.5 * problem.alpha_eff * log1p(self.mmse / problem.noise)
        return of_matrix + capacity - 0.5 * self.q_hat * self.mmse

    @property
    def denoiser(self) -> SingularValueDenoiser:
        """Map of the singular values that turns the matrix which the data amount to into the estimate."""
        return SingularValueDenoiser(self.problem.target)

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off, from quadrature and from the root."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: what is heuristic here."""
        return caveats_of(self.problem)


def bayes_optimal(problem: BilinearProblem) -> BilinearBayes:
    """Solve ``alpha delta^2 = Delta + MMSE(delta)`` for the Bayes-optimal noise level.

    Equation: [ETBMZ24], ``q_hat = alpha/(Delta + 1 - q)``, with alpha counting measurements.
    Checked: tests/models/bilinear/test_bilinear.py::test_bayes_check_values
    Checked: tests/models/bilinear/test_bilinear.py::test_bayes_solves_its_equation
    Checked: tests/models/bilinear/test_bilinear.py::test_bayes_error_scales_with_the_target
    """
    target, noise, alpha = problem.target, problem.noise, problem.alpha_eff
    denoiser = SingularValueDenoiser(target)
    names = ("mmse", "estimation_error", "test_error", "delta")
    if noise == 0.0 and alpha >= strong_recovery(target):
        return BilinearBayes(problem, 0.0, 0.0, dict.fromkeys(names, 0.0))

    def excess(log_delta: float) -> float:
        variance = exp(2.0 * log_delta)
        return (noise + denoiser.mmse(sqrt(variance))) / (alpha * variance) - 1.0

    largest = 0.5 * log((problem.Q_0 + noise) / alpha)
    low, high = largest - 0.5, largest
    while excess(low) <= 0.0:
        low, high = low - 0.5, low
        if low < log(SMALLEST) + largest:  # just below strong recovery
            break
    root = float(scipy.optimize.brentq(excess, low, high + 1e-9, xtol=1e-13)) if excess(low) > 0.0 else low
    delta = exp(root)
    mmse = denoiser.mmse(delta)
    bar = 1e-9 * delta**2 + 1e-10 * mmse
    bars = dict.fromkeys(names, bar) | {"test_error": bar * problem.components, "delta": 1e-9 * delta}
    return BilinearBayes(problem, delta, mmse, bars)
