"""What a label says about the pre-activation of its sample: the score of the posterior.

If all that is known of the components ``z_0`` (label noise included) is a Gaussian with mean ``omega`` and variance
``V`` each, a label moves their mean to ``omega + V g``; ``g = d log P(label | omega, V)/d omega`` is the score.
"""

from __future__ import annotations

from functools import singledispatch
from math import sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.hardmax import Hardmax, signs_posterior
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.posterior import no_posterior, posterior, writes_score
from presage.models.attention.channels.softmax import Softmax, blind_direction


@singledispatch
def score(channel: Channel, z_0: Floats, labels: Floats, omega: Floats, V: float) -> Floats:
    """Score of each sample, n x n_in; `z_0` is where the label came from, for channels whose label fixes it.

    A channel of one's own may write ``score(label, omega, V)``; else it follows from the likelihood of its labels, or
    from the pre-activation where labels fix it.
    """
    if writes_score(channel):
        return np.asarray(channel.score(labels, omega, V))
    if channel.labels is not None:
        return posterior(channel, labels, omega, V).score
    if channel.label_fixes_target:
        basis = channel.active_basis
        return np.asarray((z_0 - omega) @ basis @ basis.T / V)
    raise no_posterior(channel)


@score.register
def _(channel: Linear, z_0: Floats, labels: Floats, omega: Floats, V: float) -> Floats:
    return (z_0 - omega) / V


@score.register
def _(channel: Softmax, z_0: Floats, labels: Floats, omega: Floats, V: float) -> Floats:
    """The label is ``z_0`` up to a common shift of R, at any beta."""
    blind = blind_direction(channel.n_tokens)
    blind = blind / np.linalg.norm(blind)
    moved = (z_0 - omega) / V
    return np.asarray(moved - np.outer(moved @ blind, blind))


@score.register
def _(channel: Hardmax, z_0: Floats, labels: Floats, omega: Floats, V: float) -> Floats:
    """``g_aa = sqrt2 s_a d_a/sqrt(3V)``, ``g_12 = -(s_1 d_1 + s_2 d_2)/sqrt(3V)``."""
    s_1, s_2 = channel.signs(z_0).T
    unit = sqrt(3.0 * V)
    k_1 = s_1 * (sqrt(2.0) * omega[:, 0] - omega[:, 1]) / unit
    k_2 = s_2 * (sqrt(2.0) * omega[:, 2] - omega[:, 1]) / unit
    _, d_1, d_2 = signs_posterior(k_1, k_2, s_1 * s_2 / 3.0)
    return np.column_stack([sqrt(2.0) * s_1 * d_1, -(s_1 * d_1 + s_2 * d_2), sqrt(2.0) * s_2 * d_2]) / unit
