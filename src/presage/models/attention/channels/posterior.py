"""The posterior of a pre-activation for a channel of one's own: by quadrature over what its labels leave open."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.differences import STEP, writes
from presage.models.attention.channels.gaussian_ball import gaussian_ball
from presage.models.attention.channels.traits import probes
from presage.protocol import checks

NODES = {1: 81, 2: 33, 3: 15}  # a direction, by the number of directions that are averaged over
BLOCK = 2**20  # values of the likelihood at a time
TRIED = 12  # labels that are inverted, each from several starts


class Posterior(NamedTuple):
    """Of each sample: probability of its label, and the score ``d log probability/d omega`` in the components."""

    probability: Floats
    score: Floats


def posterior(channel: Channel, label: Floats, omega: Floats, V: float) -> Posterior:
    """Average the likelihood L of a label over ``z_0 ~ N(omega, V)``: ``P = E L``, ``g = E[(z_0 - omega) L]/(V P)``."""
    basis = channel.active_basis
    if V <= 0.0:
        return Posterior(channel.likelihood(label, omega), np.zeros_like(omega))
    nodes, weights = gaussian_nodes(basis.shape[1])
    steps = sqrt(V) * nodes @ basis.T
    probability, score = np.empty(len(omega)), np.empty_like(omega)
    size = max(1, BLOCK // len(nodes))
    for start in range(0, len(omega), size):
        block = slice(start, start + size)
        z = omega[block, None, :] + steps
        seen = label[block, None] if label.ndim == 1 else label[block][:, None]
        L = channel.likelihood(np.broadcast_to(seen, (*z.shape[:-1], *label.shape[1:])), z)
        P = np.maximum(L @ weights, 1e-300)
        probability[block] = P
        score[block] = (L * weights) @ steps / (V * P[:, None])
    return Posterior(probability, score)


def gaussian_nodes(k: int) -> tuple[Floats, Floats]:
    """Nodes and weights of a standard Gaussian in the k active directions of a channel, as many as are affordable."""
    if k not in NODES:
        raise checks.complaint(
            "channel",
            "have at most three active directions, or write score(label, omega, V)",
            "its posterior is averaged over them by quadrature",
            k,
            "Write score(self, label, omega, V): the slope of log P(label | omega, V) in omega.",
        )
    return gaussian_ball(k, NODES[k])


def writes_score(channel: Channel) -> bool:
    """Whether the channel writes its own score."""
    return writes(channel, "score")


def inverts_labels(channel: Channel) -> bool:
    """Whether a label gives back the ``z_0`` that it came from, in the active directions.

    Seen by trying: the slope of the label has full rank, and from several starts no other ``z_0`` is found for it.
    """
    from scipy.optimize import least_squares

    if channel.labels is not None or channel.traits.stepping:
        return False
    z_0, _, _ = probes(channel)
    basis = channel.active_basis
    inner = z_0[1::4][:TRIED] @ basis  # of moderate size
    rng = np.random.default_rng(22)

    def label(x: Floats) -> Floats:
        return np.asarray(channel.target_output(x @ basis.T)).reshape(len(x), -1)

    k = basis.shape[1]
    slopes = np.stack([(label(inner + STEP * e) - label(inner - STEP * e)) / (2 * STEP) for e in np.eye(k)], axis=-1)
    size = np.linalg.svd(slopes, compute_uv=False)
    if size.shape[-1] < k or not np.median(size[:, -1] / size[:, 0]) > 1e-6:
        return False
    for x in inner:
        seen = label(x[None])[0]
        for start in (-x, *rng.standard_normal((3, k))):
            found = least_squares(_misfit(label, seen), start, xtol=1e-12, ftol=1e-12)
            exact = np.abs(found.fun).max() < 1e-7 * max(float(np.abs(seen).max()), 1e-3)
            if exact and np.abs(found.x - x).max() > 1e-2:
                return False
    return True


def _misfit(label: Callable[[Floats], Floats], seen: Floats) -> Callable[[Floats], Floats]:
    return lambda x: label(x[None])[0] - seen


def no_posterior(channel: Channel) -> ValueError:
    """Complaint about a channel whose posterior cannot be worked out."""
    return checks.complaint(
        "channel",
        "say what its labels tell about z_0",
        "they do not fix it, and have no probabilities",
        channel,
        "Write score(self, label, omega, V), the slope of log P(label | omega, V); or `labels` and likelihood.",
    )
