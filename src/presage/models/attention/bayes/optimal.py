"""The best that any method can do: the Bayes-optimal error, for who knows the law of the target and the channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import acos, exp, inf, isnan, log, nan, pi, sqrt
from typing import final

import numpy as np
import scipy

from presage.models.attention.bayes.evidence import evidence
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.differences import writes
from presage.models.attention.channels.hardmax import Hardmax
from presage.models.attention.channels.posterior import writes_score
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.declaration import BAYES
from presage.models.attention.problem import Problem
from presage.models.attention.theory.expected_loss import expected_loss
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.recovery import bayes_recovery
from presage.protocol.errors import SolveError
from presage.protocol.prediction import Prediction
from presage.spectra.symmetric.denoising import Denoiser

SAMPLES = 2**18  # for the test error of a channel of one's own
RELATIVE = 1e-9  # error of the averages behind the equation
ROOT = "one root in the noise level"
LOWEST = 60.0  # e-folds below the start at which the search for the noise level gives up


@final
@dataclass(frozen=True)
class BayesSolution(Prediction):
    """Bayes-optimal prediction for a problem in the high-dimensional limit; its penalty plays no part."""

    problem: Problem
    delta: float  # noise level 1/sqrt(q_hat) at which the target is seen; 0 where it is recovered
    mmse: float  # |E[S_0 | data] - S_0|_F^2/d
    evaluations: int
    residual: float
    message: str
    channel_error: float = field(default=0.0, repr=False)  # relative standard error of the average over a sample

    observables = BAYES
    compared = ("estimation_error",)  # what else message passing measures depends on how its estimate is used
    minimises = False

    @property
    def estimation_error(self) -> float:
        """The least mean squared error, by its name in `Solution`."""
        return self.mmse

    @property
    def q(self) -> float:
        """Overlap ``Q_0 - MMSE`` of the estimate with the target, and with itself."""
        return self.problem.Q_0 - self.mmse

    @property
    def q_hat(self) -> float:
        """Signal-to-noise ratio ``1/delta^2`` of the matrix that the data amount to."""
        return 1.0 / self.delta**2 if self.delta > 0.0 else inf

    @cached_property
    def _test_error_and_bar(self) -> tuple[float, float]:
        return least_test_error(self.problem.channel, self.problem.rho_0, self.mmse + 0.5 * self.problem.noise)

    @property
    def test_error(self) -> float:
        """Least expected loss on a fresh, noisy sample: that of the posterior mean of its output."""
        return self._test_error_and_bar[0]

    @cached_property
    def mutual_information(self) -> float:
        """Information of the labels about the target, over d^2, in nats; infinite for clean continuous labels.

        ``I = I_denoising(q_hat) - (q_hat/4) MMSE + alpha [H(label | data) - H(label | target)]``.

        Equation: [MTMKZ24], [BTEZ25]: the free entropy of the posterior, with its sign turned and less the noise.
        Checked: tests/models/attention/bayes/test_bayes.py::test_mutual_information_is_stationary
        """
        problem = self.problem
        known = evidence(problem.channel, problem.Q_0, 0.5 * problem.noise).entropy
        if known == -inf or self.delta == 0.0:
            return inf
        doubt = evidence(problem.channel, self.q, problem.rho_0 - self.q).entropy
        return self.denoiser.information(self.delta) - 0.25 * self.mmse * self.q_hat + problem.alpha * (doubt - known)

    @property
    def denoiser(self) -> Denoiser:
        """Map of the eigenvalues that turns the matrix which the data amount to into the estimate."""
        return Denoiser(self.problem.target)

    @cached_property
    def error_bars(self) -> dict[str, float]:
        """Half width of a 95 % interval for every number."""
        relative = 10.0 * (self.residual + RELATIVE) + 3.0 * self.channel_error
        bars = {"mmse": relative * self.mmse, "estimation_error": relative * self.mmse, "q": relative * self.mmse}
        bars["delta"] = relative * self.delta
        bars["test_error"] = self._test_error_and_bar[1] + relative * self.test_error
        return bars

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: what of this prediction is not known, and why."""
        if isnan(self.test_error):
            unknown = "the least test error is known for squared losses only: it is NaN for this channel."
            return (*self.problem.notes, unknown)
        return self.problem.notes


def least_test_error(channel: Channel, rho_0: float, V: float) -> tuple[float, float]:
    """Least expected squared loss on a fresh sample, and its error bar, at posterior variance V of a component.

    Given the data, two outcomes of a fresh label differ by twice the variance of one: the error is half the loss
    between the labels of two pre-activations of variance ``rho_0`` and covariance ``rho_0 - V``.

    Equation: derived, as above.
    Checked: tests/models/attention/bayes/test_bayes.py::test_least_test_error_of_a_sampled_posterior
    """
    if channel.linear:
        return 2.0 * channel.n_in * V, 0.0
    if isinstance(channel, Hardmax):
        # Each row flips with probability angle/pi.
        return 2.0 * acos(max(1.0 - V / rho_0, -1.0)) / pi, 0.0
    if not isinstance(channel, Softmax):
        return _half_the_loss_between_labels(channel, rho_0, V)
    if V == 0.0:  # two outcomes are the same; sums over nodes would leave their rounding
        return 0.0, 0.0
    matched = Softmax(channel.n_tokens, channel.target_beta, channel.target_beta)
    overlaps, sigma = Overlaps(rho_0 - V, rho_0, 0.0), sqrt(max(V * (2.0 * rho_0 - V) / rho_0, 0.0))
    value, bar = expected_loss(matched, rho_0, overlaps, sigma)
    return 0.5 * value, 0.5 * bar


def is_continuous(channel: Channel) -> bool:
    """Whether a label is a continuous function of the pre-activation that fixes what the channel sees of it."""
    return not writes_score(channel) and channel.label_fixes_target


def _half_the_loss_between_labels(channel: Channel, rho_0: float, V: float) -> tuple[float, float]:
    """For a channel of one's own with the squared loss, by sampling; NaN for other losses and random labels."""
    if channel.labels is not None or writes(channel, "loss"):
        return nan, nan
    shared, own = sqrt(max(rho_0 - V, 0.0)), sqrt(V)
    first, second, third = np.random.default_rng(0).standard_normal((3, SAMPLES, channel.n_in))
    labels = (channel.target_output(shared * first + own * other) for other in (second, third))
    losses = 0.5 * channel.loss(*labels)
    return float(losses.mean()), 2.0 * float(losses.std()) / sqrt(SAMPLES)


def bayes_optimal(problem: Problem) -> BayesSolution:
    """Least error of any method that knows the law of the target, the channel and the noise.

    ``q_hat = 2 alpha E |g|^2``, g the score of a label at posterior variance ``V = MMSE + Delta/2``, and
    ``MMSE = MMSE(1/q_hat)`` that of the denoiser of ``S_0 + GOE/sqrt(q_hat)``. For linear and softmax channels it is
    ``delta^2 = (MMSE(delta^2) + Delta/2)/(2 alpha n_active)``.

    Equation: [MTMKZ24] for quadratic networks, [BTEZ25] for attention.
    Checked: tests/models/attention/bayes/test_bayes.py::test_check_values
    Checked: tests/models/attention/bayes/test_bayes.py::test_hardmax_check_values
    Checked: tests/models/attention/bayes/test_bayes.py::test_known_targets_and_a_sentence
    """
    target, channel, alpha, half_noise = problem.target, problem.channel, problem.alpha, 0.5 * problem.noise
    denoiser = Denoiser(target)
    variance = max(target.second_moment - target.mean**2, 0.0)
    errors: dict[float, float] = {}  # of the denoiser, at each log t that was tried

    def seen_again(log_t: float, error: float) -> float:
        """Logarithm of ``t = 1/q_hat`` that the channel gives at this error, less the t that led to it."""
        return -log(2.0 * alpha * evidence(channel, problem.Q_0 - error, error + half_noise).square) - log_t

    def excess(log_t: float) -> float:
        if log_t not in errors:
            errors[log_t] = min(denoiser.mmse(exp(0.5 * log_t)), variance)
        return seen_again(log_t, errors[log_t])

    def rough_excess(log_t: float) -> float:
        return seen_again(log_t, 1.0 / (1.0 / variance + exp(-log_t) / (2.0 * bayes_recovery(target))))

    continuous = is_continuous(channel)
    if continuous and problem.noise == 0.0 and alpha * channel.n_active >= bayes_recovery(target):
        return BayesSolution(problem, 0.0, 0.0, 0, 0.0, "beyond the threshold of recovery")
    if variance + half_noise == 0.0:
        return BayesSolution(problem, 0.0, 0.0, 0, 0.0, "the law of the target says what it is")
    # Nothing is known of the target but its law: the least informative point, from which message passing begins.
    high = seen_again(0.0, variance)
    start = _largest_root(rough_excess, high, high) if continuous and variance > 0.0 else high
    log_t = _largest_root(excess, high, start)
    residual, error = abs(excess(log_t)), errors[log_t]
    spread = evidence(channel, problem.Q_0 - error, error + half_noise).error
    return BayesSolution(problem, exp(0.5 * log_t), error, len(errors), residual, ROOT, spread)


def _largest_root(excess: Callable[[float], float], high: float, start: float) -> float:
    """Largest root at or below `high` of a function that is negative there: secants, and brackets where they fail."""
    x, gap = start, excess(start)
    last: tuple[float, float] | None = None
    for _ in range(30):
        if abs(gap) < 1e-13:
            return x
        slope = (gap - last[1]) / (x - last[0]) if last and x != last[0] else -0.7
        if slope >= 0.0:  # rising: rounding, or another root is near
            break
        last, x = (x, gap), min(max(x - gap / slope, high - LOWEST), high)
        if x == last[0]:
            return x
        gap = excess(x)
    low = min(x, high)
    while excess(low) < 0.0:
        low -= 0.5
        if low < high - LOWEST:
            raise SolveError(
                "The Bayes-optimal noise level was not found.", "Use a little <noise>, or a smaller <alpha>."
            )
    return float(scipy.optimize.brentq(excess, low, high, xtol=1e-13, rtol=1e-14)) if excess(high) < 0.0 else high
