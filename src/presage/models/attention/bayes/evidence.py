"""What one sample tells the best of all methods: the square of its score, and its entropy."""

from __future__ import annotations

from functools import cache, singledispatch
from math import inf, log, nan, pi, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.hardmax import Hardmax, signs_posterior
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.posterior import gaussian_nodes, no_posterior, posterior, writes_score
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.theory.rules.sobol import scattered_points

FAR = 8.0  # a sign whose mean is that many deviations off zero is known
POINTS, REPLICATES = 8192, 4  # scrambled points for a score that a channel writes itself
NODES = 64  # of Gauss's rule over the range in which signs are unknown


class Evidence(NamedTuple):
    """Average over the samples, at posterior variance V of a component whose mean has variance q."""

    square: float  # E |g|^2, g the score
    entropy: float  # of a label given the posterior; relative to a unit Gaussian where labels are continuous
    error: float = 0.0  # relative standard error of the square


@singledispatch
def evidence(channel: Channel, q: float, V: float) -> Evidence:
    """Average square of the score, and entropy of a label.

    Equation: [BTEZ25]; the average is over ``omega ~ N(0, q)`` and the labels that follow from it.
    Checked: tests/models/attention/bayes/test_bayes.py::test_evidence_is_the_average_of_the_score
    """
    if writes_score(channel):
        return _sampled(channel, q, V)
    if channel.labels is not None:
        return _over_labels(channel, q, V)
    if channel.label_fixes_target:
        return _gaussian(channel.n_active, V)
    raise no_posterior(channel)


def _over_labels(channel: Channel, q: float, V: float) -> Evidence:
    """``sum_y P_y |g_y|^2`` and ``- sum_y P_y log P_y``, averaged over omega by quadrature."""
    basis = channel.active_basis
    nodes, weights = gaussian_nodes(basis.shape[1])
    omega = sqrt(q) * nodes @ basis.T
    square = entropy = 0.0
    for y in np.asarray(channel.labels, dtype=np.float64):
        P, g = posterior(channel, np.broadcast_to(y, (len(omega), *y.shape)), omega, V)
        square += float(weights @ (P * np.sum(g * g, axis=-1)))
        entropy -= float(weights @ (P * np.log(np.maximum(P, 1e-300))))
    return Evidence(square if V > 0.0 else inf, entropy)


def _sampled(channel: Channel, q: float, V: float) -> Evidence:
    """Average over scrambled points of a score that the channel writes itself; the entropy is not known."""
    if V <= 0.0:
        return Evidence(inf, nan)
    estimates = []
    for seed in range(REPLICATES):
        points = scattered_points(2 * channel.n_in, POINTS, seed)
        omega = sqrt(q) * points[:, : channel.n_in]
        z_0 = omega + sqrt(V) * points[:, channel.n_in :]
        label = channel.draw_labels(z_0, np.random.default_rng(seed))
        estimates.append(float(np.mean(np.sum(channel.score(label, omega, V) ** 2, axis=-1))))
    mean = float(np.mean(estimates))
    return Evidence(mean, nan, float(np.std(estimates, ddof=1)) / sqrt(REPLICATES) / mean)


@evidence.register
def linear(channel: Linear, q: float, V: float) -> Evidence:
    """The label is the pre-activation: the score is ``(z_0 - omega)/V`` in each component."""
    return _gaussian(channel.n_in, V)


@evidence.register
def softmax(channel: Softmax, q: float, V: float) -> Evidence:
    """The label is the pre-activation up to a shift, at any beta: one component less.

    Equation: [BTEZ25], and derived for noisy labels: the noise sits before the softmax, which can be inverted.
    Checked: tests/models/attention/bayes/test_bayes.py::test_softmax_is_linear_with_one_component_less
    """
    return _gaussian(channel.n_active, V)


def _gaussian(components: int, V: float) -> Evidence:
    return Evidence(components / V, 0.5 * components * log(V)) if V > 0.0 else Evidence(inf, -inf)


@evidence.register
def hardmax(channel: Hardmax, q: float, V: float) -> Evidence:
    """Signs of the two rows of a hard maximum.

    ``|g|^2 = (3 d_1^2 + 3 d_2^2 + 2 s_1 s_2 d_1 d_2)/(3V)``, where ``(k_1, k_2)`` is a Gaussian pair of variance q/V
    and correlation ``s_1 s_2/3``. Where one sign is known (``k > 8``) the other is left alone.

    Equation: [BTEZ25].
    Departs: the published numbers come from a score with the bivariate density in place of its derivative.
    Erratum 8.
    Checked: tests/models/attention/bayes/test_bayes.py::test_hardmax_check_values
    Checked: tests/models/attention/bayes/test_bayes.py::test_entropy_of_a_label_falls_with_the_square_of_the_score
    Checked: tests/models/attention/bayes/test_bayes.py::test_entropy_of_signs_of_which_nothing_is_known
    """
    if V <= 0.0:
        return Evidence(inf, 0.0)
    spread = sqrt(q / V)
    reach = min(FAR, 9.0 * spread)
    square = entropy = 0.0
    for r in (1.0 / 3.0, -1.0 / 3.0):
        if spread == 0.0:
            k, weight = np.zeros(1), np.ones((1, 1))
        else:
            abscissae, weights = _legendre()
            k = reach * abscissae
            quadratic = (k[:, None] ** 2 - 2.0 * r * np.outer(k, k) + k**2) / (spread**2 * (1.0 - r * r))
            density = np.exp(-0.5 * quadratic) / (2.0 * pi * spread**2 * sqrt(1.0 - r * r))
            weight = reach**2 * np.outer(weights, weights) * density
        k_1, k_2 = np.broadcast_arrays(k[:, None], k[None, :])
        Z, d_1, d_2 = signs_posterior(k_1, k_2, np.full(k_1.shape, r))
        # Both signs of the pair alike: the two labels with this product of signs count twice.
        square += 2.0 * float(np.sum(weight * Z * (3.0 * d_1**2 + 3.0 * d_2**2 + 6.0 * r * d_1 * d_2))) / (3.0 * V)
        entropy -= 2.0 * float(np.sum(weight * Z * np.log(Z)))
        if reach == FAR:
            alone = _one_sign_known(k, reach * _legendre()[1], spread, r)
            square, entropy = square + 4.0 * alone.square / V, entropy + 4.0 * alone.entropy
    return Evidence(square, entropy)


def _one_sign_known(k: Floats, weights: Floats, spread: float, r: float) -> Evidence:
    """The part of the average where the other row is beyond FAR, so that only this sign is in doubt."""
    density = np.exp(-0.5 * (k / spread) ** 2) / (sqrt(2.0 * pi) * spread)
    beyond = scipy.special.ndtr((r * k - FAR) / (spread * sqrt(1.0 - r * r)))
    log_Z = scipy.special.log_ndtr(k)
    d = np.exp(-0.5 * k**2 - log_Z) / sqrt(2.0 * pi)
    weight = weights * density * beyond * np.exp(log_Z)
    return Evidence(float(np.sum(weight * d**2)), -float(np.sum(weight * log_Z)))


@cache
def _legendre() -> tuple[Floats, Floats]:
    abscissae, weights = np.polynomial.legendre.leggauss(NODES)
    return abscissae, weights
