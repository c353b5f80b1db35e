"""Softmax attention with many samples: which quadratic network it is, and what no amount of data takes away.

The weight side of softmax attention is that of a quadratic network: ``S/scale`` is the shrunk ``S_0 + delta GOE``. Only
the map from samples and weight decay to noise level and cutoff is another one. With many samples it is explicit, with
three numbers of the channel: the best scale s, the curvature M and the noise V of a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt
from typing import NamedTuple

import scipy

from presage.laws.power_law import PowerLaw
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.rule import Averages
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.scaling.softmax_pairs import PairAverages, grid_step, pair_averages
from presage.models.attention.theory.solution import Solution
from presage.protocol import checks

SCATTERED = Sobol(4096, 16)  # for more than two tokens
HALF_WIDTH = 2.2  # standard errors of a 95 % interval of 16 estimates


class WellSampled(NamedTuple):
    """What many samples make of softmax attention."""

    scale: float  # s: the best factor on the target, below one where labels are noisy
    test_floor: float  # test error with infinitely many samples
    estimation_floor: float  # (1 - s)^2 Q_0
    M: float  # curvature of a sample: c = lambda~/(alpha M)
    V: float  # noise of a sample: delta^2 = V/(2 alpha)
    bars: dict[str, float]


class EffectiveNetwork(NamedTuple):
    """The quadratic network of the same noise level and cutoff, at the same weight decay."""

    alpha: float
    noise: float


def well_sampled(channel: Softmax, Q_0: float, noise: float) -> WellSampled:
    """Scale, floors, curvature and noise of a sample with infinitely many samples.

        s = argmin_s E l(z_0, s z_s) = M/E tr d^2 l/dz^2,   M = -E tr d^2 l/dz dz_0,   V = E |dl/dz|^2/M^2

    ``z_s`` is the score of the target and ``z_0 = z_s + sqrt(noise/2) xi``; all averages are at ``z = s z_s``.

    Equation: derived: state evolution where ``Sigma -> 0`` and ``S = s S_0``.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_floors_of_two_tokens
        tests/models/attention/theory/scaling/test_softmax_map.py::test_scale_is_the_best_one
        tests/models/attention/theory/scaling/test_softmax_map.py::test_many_samples_have_this_map
    """
    checks.instance(
        "channel",
        channel,
        Softmax,
        reason="the map is that of a softmax",
        remedy="For a linear channel it is known for any number of samples: use <solve()>.",
    )
    if not Q_0 > 0.0:
        remedy = "Give the target an eigenvalue that is not zero."
        raise checks.complaint("Q_0", "be positive", "without a target there is nothing to learn", Q_0, remedy)
    return _two_tokens(channel, Q_0, noise) if channel.n_tokens == 2 else _more_tokens(channel, Q_0, noise)


def noise_level(found: WellSampled, alpha: float) -> float:
    """``delta^2 = V/(2 alpha)`` with many samples; returned is delta.

    Equation: derived: ``q_hat = 2 alpha E |dl/dz|^2``, ``m_hat = 2 alpha M``.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_many_samples_have_this_map
    """
    return sqrt(found.V / (2.0 * alpha))


def cutoff(found: WellSampled, alpha: float, lambda_tilde: float) -> float:
    """``c = lambda~/(alpha M)`` with many samples.

    Equation: derived: ``c = 2 lambda~/m_hat``, ``m_hat = 2 alpha M``.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_many_samples_have_this_map
    """
    return lambda_tilde / (alpha * found.M)


def effective_network(found: WellSampled, alpha: float) -> EffectiveNetwork:
    """The quadratic network of the same noise level and cutoff: ``alpha' = alpha M/4``, ``Delta' = M V/2``.

    Equation: derived: with many samples that one has ``delta^2 = Delta'/(4 alpha')``, ``c = lambda~/(4 alpha')``.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_many_samples_are_a_quadratic_network
    """
    return EffectiveNetwork(0.25 * alpha * found.M, 0.5 * found.M * found.V)


def ridgeless_alpha(channel: Softmax, alpha: float) -> float:
    """Samples of the quadratic network that has the same `ridgeless` limit, ``(L_in - 1) alpha``, the noise the same.

    Equation: derived: before interpolation every active direction of a sample is fitted exactly, whatever the loss.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_ridgeless_is_that_of_a_quadratic_network
    """
    return channel.n_active * alpha


def clean_noise(channel: Softmax, Q_0: float) -> float:
    """Noise of a sample with clean labels, over R': what is not learned, ``delta^2 = V_1 R'/(2 alpha)``.

        V_1 = E |d^2 l/dz^2|_F^2/M^2   at ``z = (beta_0/beta) z_0``

    Equation: derived: ``dl/dz = (d^2 l/dz^2) (z - z_0)`` near the target.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_clean_labels
    """
    ratio = channel.beta_ratio
    rule = GaussHermite(48, dropped=1e-14) if channel.n_tokens == 2 else SCATTERED
    found = rule.averages(channel, Q_0, Overlaps(ratio * Q_0, ratio**2 * Q_0, 0.0))
    return float(found.square_slope.mean() / found.slope_z_0.mean() ** 2) * ratio**2


def r_prime(solution: Solution) -> float:
    """``|S/scale - S_0|^2/d = q/scale^2 - 2 m/scale + Q_0``: the error of the shrunk matrix, whatever its scale.

    It has the phases and laws of a quadratic network; the estimation error has not.

    Equation: derived from ``q = |S|^2/d``, ``m = tr(S S_0)/d``.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_r_prime_is_the_risk_of_the_shrunk_matrix
    """
    scale = solution.scale
    return solution.q / scale**2 - 2.0 * solution.m / scale + solution.problem.Q_0


def error_at_the_edge(found: WellSampled, target: PowerLaw, alpha: float) -> float:
    """R' with many samples where the cutoff is at the edge of the noise, ``c = 2 delta``: the rate of the best one.

        C_IV Z^(-1/(2 gamma)) (V/(2 n/d))^(1 - 1/(2 gamma)),   C_IV = 24 gamma^3/((1 + gamma)(4 gamma^2 - 1))

    For a target of second moment one. Entries that stand out of the noise cost ``delta^2 (6 - 8/u + 3/u^2)``, ``u =
    s_i/delta``, those below are lost.

    Equation: derived: the law of a quadratic network in phase IV at ``delta^2 = V/(2 alpha)``.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_laws_of_many_samples
    """
    g, d = target.gamma, target.d
    Z = float(scipy.special.zeta(2.0 * g, 1.0) - scipy.special.zeta(2.0 * g, d + 1.0))
    C_IV = 24.0 * g**3 / ((1.0 + g) * (4.0 * g**2 - 1.0))
    return float(C_IV * Z ** (-0.5 / g) * (found.V / (2.0 * alpha * d)) ** (1.0 - 0.5 / g))


def loss_above_floor(found: WellSampled, R_prime: float) -> float:
    """Test error above its floor that an error R' makes: ``s M R'/2``.

    Equation: derived: the expected loss to second order in the error of the scores, ``(s^2 R'/2) E tr d^2 l/dz^2``.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_laws_of_many_samples
    """
    return 0.5 * found.scale * found.M * R_prime


def _two_tokens(channel: Softmax, Q_0: float, noise: float) -> WellSampled:
    """Two tokens: every average is over a pair of logits, on a grid; a coarser one says how far it may be off."""

    def at(step: float) -> tuple[float, PairAverages]:
        def excess(log_s: float) -> float:
            s = exp(log_s)
            there = pair_averages(channel, Q_0, noise, s, step)
            return s * there.curvature - there.M

        s = exp(_root(excess, log(channel.beta_ratio)))
        return s, pair_averages(channel, Q_0, noise, s, step)

    step = grid_step(channel, Q_0, noise)
    (s, fine), (rough_s, rough) = at(step), at(1.25 * step)
    off = {
        "scale": abs(s - rough_s),
        "test_floor": abs(fine.loss - rough.loss),
        "M": abs(fine.M - rough.M),
        "V": abs(fine.square / fine.M**2 - rough.square / rough.M**2),
    }
    bars = {name: bar + 1e-12 for name, bar in off.items()}
    bars["estimation_floor"] = 2.0 * abs(1.0 - s) * Q_0 * bars["scale"]
    return WellSampled(s, fine.loss, (1.0 - s) ** 2 * Q_0, fine.M, fine.square / fine.M**2, bars)


def _more_tokens(channel: Softmax, Q_0: float, noise: float) -> WellSampled:
    """More tokens: scrambled points, the spread of independent estimates as error bar."""

    def averages(s: float) -> Averages:
        return SCATTERED.averages(channel, Q_0 + 0.5 * noise, Overlaps(s * Q_0, s**2 * Q_0, 0.0))

    def excess(log_s: float) -> float:
        s = exp(log_s)
        there = averages(s)
        return float((-s * there.slope_z - there.slope_z_0).mean())

    log_s = _root(excess, log(channel.beta_ratio), xtol=1e-5)
    s = exp(log_s)
    there, step = averages(s), 1e-2
    M = there.slope_z_0
    rise = (excess(log_s + step) - excess(log_s - step)) / (2.0 * step)
    estimates = {
        "scale": s - s * (-s * there.slope_z - M) / rise,
        "test_floor": there.test_error,
        "M": M,
        "V": there.square / M**2,
    }
    bars = {name: HALF_WIDTH * float(each.std(ddof=1)) / sqrt(len(each)) for name, each in estimates.items()}
    bars["estimation_floor"] = 2.0 * abs(1.0 - s) * Q_0 * bars["scale"]
    V = float(estimates["V"].mean())
    return WellSampled(s, float(there.test_error.mean()), (1.0 - s) ** 2 * Q_0, float(M.mean()), V, bars)


def _root(excess: Callable[[float], float], top: float, xtol: float = 1e-15) -> float:
    """The best scale: noise makes it less than the ratio of the temperatures, at which clean labels have it."""
    high, low = top + 0.1, top - 0.1
    while excess(low) > 0.0:
        high, low = low, low - 1.0
    return float(scipy.optimize.brentq(excess, low, high, xtol=xtol))
