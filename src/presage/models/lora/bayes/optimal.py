"""The least error of any method that sees the frozen layer and the samples of the fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import final

import scipy

from presage.models.lora.bayes.linear_posterior import LinearPosterior
from presage.models.lora.bayes.sample_beliefs import SampleBeliefs, beliefs_of
from presage.models.lora.bayes.weak_recovery import weak_recovery
from presage.models.lora.declaration import BAYES
from presage.models.lora.problem import LoraProblem
from presage.models.lora.theory.effective_noise import known_noise
from presage.models.lora.theory.pretrained import Pretrained, Stage, pretrained
from presage.protocol import checks
from presage.protocol.observables import Observable
from presage.protocol.prediction import Prediction
from presage.solving.vector_state_evolution import mean_and_bar

RULES = 8
NODES = (2**9, 2**11, 2**13)  # of each rule
NOTHING, ALL = 1e-5, 1e-9  # of q/q_0: below, nothing is known; short of 1 by this, everything is
CLOSE = 1e-6  # of q/q_0, of the root
NEAR = 0.05  # relative distance of alpha from its threshold within which finite sizes smear it
ABRUPT = 0.01  # of the squared strength: with one token and less noise than this q may jump
CLEAN = 1e-6  # of the squared strength: less noise than this leaves nothing to estimate


@final
@dataclass(frozen=True)
class LoraBayes(Prediction):
    """Least possible error of a fine-tuning, given the frozen layer and unlimited computation."""

    problem: LoraProblem
    overlap: float  # sqrt(q/q_0)
    q: float  # squared size of the posterior mean over d
    effective_noise: float  # what the frozen scores leave of a component of the target's
    weak_recovery: float  # samples from which on q is not zero
    before: Pretrained
    bars: dict[str, float] = field(repr=False, hash=False)
    said: tuple[str, ...] = ()

    observables = BAYES
    minimises = False

    @property
    def known_observables(self) -> tuple[Observable, ...]:
        """The test error is known for a linear output."""
        return BAYES if self.problem.linear else tuple(one for one in BAYES if one.name != "test_error")

    @property
    def compared(self) -> tuple[str, ...]:  # type: ignore[override]
        """What message passing has too."""
        return ("overlap", "test_error") if self.problem.linear else ("overlap",)

    @property
    def test_error(self) -> float:
        """Loss of a fresh, noisy sample of a linear output.

            E' = T(T+1) [Delta_eff + q_0^2 - q^2]

        Equation: derived: the error of a student with ``m = q``, which a posterior mean has.
        Checked: tests/models/lora/test_bayes.py::test_many_samples
        """
        if not self.problem.linear:
            raise AttributeError("the least test error is known for a linear output: this is a softmax.")
        T, q_0 = self.problem.n_tokens, self.problem.strength
        return T * (T + 1) * (self.effective_noise + q_0**2 - self.q**2)

    @property
    def posterior(self) -> LinearPosterior:
        """What message passing needs to know of a sample: hand it to `PosteriorAMP`."""
        if not self.problem.linear:
            raise AttributeError("message passing is known for a linear output: this is a softmax.")
        return LinearPosterior(self.before.slope, self.effective_noise, self.problem.strength)

    @property
    def error_bars(self) -> dict[str, float]:
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        return (*self.problem.notes, *self.said)


def bayes_optimal(problem: LoraProblem, *, accuracy: float = 3e-3) -> LoraBayes:
    """Solve ``q = q_0^2 q_hat/(1 + q_0 q_hat)`` for the squared size of the posterior mean.

        q_hat = alpha' E|g|^2,   g = (E chi - omega)/V,   V = q_0 - q

    The posterior is that of ``chi chi'`` in noise of variance ``Delta/2 + Q_0 - M^2/Q``, what the frozen scores leave.
    `accuracy` is the error bar of q, relative to q_0, that is aimed at, and a third of that of the threshold.

    Equation: derived: the state evolution of Bayes-optimal message passing, with a Gaussian new target.
    Checked: tests/models/lora/test_bayes.py::test_bayes_check_values
    Checked: tests/models/lora/test_bayes.py::test_posterior_means_are_honest_about_themselves
    """
    accuracy = checks.real(
        "accuracy",
        accuracy,
        at_least=1e-6,
        at_most=0.1,
        reason="it is the error bar that is aimed at",
        remedy="Use for example <accuracy=3e-3>.",
    )
    stage, noise = frozen_layer(problem)
    q_0 = problem.strength
    threshold, threshold_bar = recovered_from(problem, noise, accuracy)
    q, bar = 0.0, 0.0
    if problem.alpha > threshold - threshold_bar:
        q, bar = posterior_size(problem, noise, accuracy)
    said = list(stage.caveats)
    if abs(problem.alpha / threshold - 1.0) < NEAR:
        said.append(f"alpha is within {NEAR:.0%} of {threshold:.4g}, where the new task is first seen.")
    if problem.n_tokens == 1 and noise < ABRUPT * q_0**2:
        said.append(
            f"one token and an effective noise of {noise:.2g}: the overlap may jump as samples are added, and more "
            "than one value of it may solve the equations. The threshold is where knowing nothing becomes unstable."
        )
    q_bar, m_bar = stage.bars
    slope, T = stage.numbers.slope, problem.n_tokens
    noise_bar = slope**2 * q_bar + 2.0 * slope * m_bar + 1e-12 * noise
    overlap = sqrt(q / q_0)
    bars = {
        "q": bar + CLOSE * q_0,
        "overlap": min(bar / (2.0 * q_0 * max(overlap, 1e-3)), sqrt(bar / q_0)) + CLOSE,
        "effective_noise": noise_bar,
        "weak_recovery": threshold_bar,
    }
    if problem.linear:
        bars["test_error"] = T * (T + 1) * (noise_bar + 2.0 * q * bars["q"])
    return LoraBayes(problem, overlap, q, noise, threshold, stage.numbers, bars, tuple(said))


def recovered_from(problem: LoraProblem, noise: float, accuracy: float) -> tuple[float, float]:
    """The threshold and its error bar, three times the accuracy relative to it or less."""
    threshold, bar = 0.0, 0.0
    for nodes in NODES[1:]:
        threshold, bar = weak_recovery([beliefs_of(problem, noise, nodes, seed) for seed in range(1, RULES + 1)])
        if bar <= 3.0 * accuracy * threshold:
            break
    return threshold, bar


def posterior_size(problem: LoraProblem, noise: float, accuracy: float) -> tuple[float, float]:
    """The root q and its error bar; a finer rule looks about where a coarser one has found it."""
    near, q, bar = (0.0, problem.strength), 0.0, 0.0
    for nodes in NODES:
        rules = [beliefs_of(problem, noise, nodes, seed) for seed in range(1, RULES + 1)]
        q, bar = mean_and_bar([fixed_point(problem.alpha, rule, near) for rule in rules])
        if bar <= accuracy * problem.strength:
            break
        near = (q - 2.0 * bar, q + 2.0 * bar)
    return q, bar


def fixed_point(alpha: float, rule: SampleBeliefs, near: tuple[float, float] = (0.0, inf)) -> float:
    """The root of the equation on one rule, looked for in a range first; 0 where there is none."""
    q_0 = rule.strength

    def gained(part: float) -> float:
        q_hat = alpha * rule.precision(part * q_0)
        return q_0 * q_hat / (1.0 + q_0 * q_hat) - part

    low, high = max(near[0] / q_0, NOTHING), min(near[1] / q_0, 1.0 - ALL)
    if low > NOTHING and gained(low) <= 0.0:
        low = NOTHING
    if low == NOTHING and gained(low) <= 0.0:
        return 0.0
    if high < 1.0 - ALL and gained(high) >= 0.0:
        high = 1.0 - ALL
    return q_0 * float(scipy.optimize.brentq(gained, low, high, xtol=CLOSE))


def frozen_layer(problem: LoraProblem) -> tuple[Stage, float]:
    """The layer before fine-tuning and the effective noise that it leaves.

    A problem whose least error is not known is complained about before anything is solved.
    """
    if problem.target_rank != 1:
        reason, remedy = "the posterior is known for one new column", "Use <target_rank=1>."
        raise checks.complaint("target_rank", "be 1 here", reason, problem.target_rank, remedy)
    if problem.reuse != "nothing":
        reason = "the posterior is known for sequences that the frozen layer has not seen"
        raise checks.complaint("reuse", 'be "nothing" here', reason, problem.reuse, 'Use <reuse="nothing">.')
    if not problem.linear and problem.n_tokens != 2:
        reason, remedy = "the posterior of a softmax is known for two tokens", "Use <n_tokens=2>."
        raise checks.complaint("n_tokens", "be 2 here", reason, problem.n_tokens, remedy)
    stage = pretrained(problem.pretraining)
    noise = known_noise(stage.numbers)
    if noise <= CLEAN * problem.strength**2:
        raise checks.complaint(
            "noise",
            "be larger here",
            "the frozen layer and clean labels leave no noise, and the posterior of a sample is a point",
            problem.noise,
            "Use for example <noise=0.1>.",
        )
    return stage, noise
