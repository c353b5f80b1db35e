"""Slope and curvature of a channel's loss by central differences, for channels that do not write their own.

One stencil around a point gives the loss, its slope and its curvature, along the columns of an orthonormal `basis`:
a point ``x`` stands for the components ``z = basis x``. The labels have the same leading axes as the points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel

# Truncation is of order STEP^2 and rounding 1e-16/STEP^2 in the curvature: both about 1e-8 beside a loss of order one.
STEP = 3e-4


class Terms(NamedTuple):
    """The loss at each point and its first two derivatives along the basis."""

    loss: Floats
    slope: Floats  # ... x k
    curvature: Floats  # ... x k x k


def loss_of(channel: Channel, label: Floats, z: Floats) -> Floats:
    """Loss of the learner's output at the components ``z``."""
    return np.asarray(channel.loss(label, channel.output(z)), dtype=np.float64)


def writes(channel: Channel, method: str) -> bool:
    """Whether the class of the channel has its own version of a method that `Channel` has a default for."""
    return getattr(type(channel), method) is not getattr(Channel, method)


def loss_and_slope(
    channel: Channel, label: Floats, x: Floats, basis: Floats, step: float = STEP
) -> tuple[Floats, Floats]:
    """Loss and its slope along the basis, without the curvature."""
    z = x @ basis.T
    loss = loss_of(channel, label, z)
    if writes(channel, "slope"):
        return loss, np.asarray(channel.slope(label, z)) @ basis
    plus, minus = _axes(channel, label, z, step * basis.T)
    return loss, np.moveaxis(plus - minus, 0, -1) / (2.0 * step)


def loss_terms(channel: Channel, label: Floats, x: Floats, basis: Floats) -> Terms:
    """Loss, slope and curvature along the basis, from the channel's own derivatives as far as it has them."""
    z = x @ basis.T
    loss = loss_of(channel, label, z)
    if writes(channel, "slope"):
        return Terms(loss, np.asarray(channel.slope(label, z)) @ basis, _curvature_of_slope(channel, label, z, basis))
    k = basis.shape[1]
    plus, minus = _axes(channel, label, z, STEP * basis.T)
    slope = np.moveaxis(plus - minus, 0, -1) / (2.0 * STEP)
    if writes(channel, "curvature"):
        return Terms(loss, slope, basis.T @ np.asarray(channel.curvature(label, z)) @ basis)
    curvature = np.empty((*loss.shape, k, k))
    for i in range(k):
        curvature[..., i, i] = plus[i] - 2.0 * loss + minus[i]
        for j in range(i):
            # The two diagonal points of the plane (i, j), less what the axes already say.
            move = STEP * (basis[:, i] + basis[:, j])
            far = loss_of(channel, label, z + move) + loss_of(channel, label, z - move)
            mixed = 0.5 * (far + 2.0 * loss - plus[i] - minus[i] - plus[j] - minus[j])
            curvature[..., i, j] = mixed
            curvature[..., j, i] = mixed
    curvature /= STEP * STEP
    return Terms(loss, slope, curvature)


def mixed_trace(channel: Channel, z_0: Floats, x: Floats, basis: Floats, A: Floats) -> Floats:
    """``sum_j d/dz_0j (A_j . dl/dz)`` with the label that ``z_0`` gives: how the label pulls on the slope at ``x``.

    Along each direction j of ``z_0`` only the component of the slope along the row ``A_j`` is needed, so that four
    losses a direction are enough.
    """
    z = x @ basis.T
    total = np.zeros(z.shape[:-1])
    for j in range(basis.shape[1]):
        ahead, behind = (channel.target_output(z_0 + sign * STEP * basis[:, j]) for sign in (1.0, -1.0))
        along = A[..., j, :] @ basis.T
        if writes(channel, "slope"):
            change = np.asarray(channel.slope(ahead, z)) - np.asarray(channel.slope(behind, z))
            total += np.sum(change * along, axis=-1) / (2.0 * STEP)
            continue
        size = np.linalg.norm(along, axis=-1, keepdims=True) + 1e-300
        move = along * (STEP / size)
        change = loss_of(channel, ahead, z + move) - loss_of(channel, behind, z + move)
        change -= loss_of(channel, ahead, z - move) - loss_of(channel, behind, z - move)
        total += size[..., 0] * change / (4.0 * STEP * STEP)
    return total


def likelihood_slope(channel: Channel, label: Floats, z_0: Floats, basis: Floats, step: float = STEP) -> Floats:
    """Slope of the probability of a label along the basis, in ``z_0``."""
    moves = step * basis.T
    columns = [channel.likelihood(label, z_0 + move) - channel.likelihood(label, z_0 - move) for move in moves]
    return np.stack(columns, axis=-1) / (2.0 * step)


def target_slope(channel: Channel, z_0: Floats, z: Floats, basis: Floats, step: float = STEP) -> Floats:
    """Slope of the loss along the basis in ``z_0``, through the label that it gives."""
    columns = []
    for move in step * basis.T:
        ahead, behind = (loss_of(channel, channel.target_output(z_0 + sign * move), z) for sign in (1.0, -1.0))
        columns.append((ahead - behind) / (2.0 * step))
    return np.stack(columns, axis=-1)


def _axes(channel: Channel, label: Floats, z: Floats, moves: Floats) -> tuple[Floats, Floats]:
    """Losses one step ahead and one step back along each direction, stacked in front."""
    plus = np.stack([loss_of(channel, label, z + move) for move in moves])
    minus = np.stack([loss_of(channel, label, z - move) for move in moves])
    return plus, minus


def _curvature_of_slope(channel: Channel, label: Floats, z: Floats, basis: Floats) -> Floats:
    """The channel's own curvature along the basis, or differences of its own slope."""
    if writes(channel, "curvature"):
        return np.asarray(basis.T @ np.asarray(channel.curvature(label, z)) @ basis)
    columns = []
    for move in STEP * basis.T:
        change = np.asarray(channel.slope(label, z + move)) - np.asarray(channel.slope(label, z - move))
        columns.append(change @ basis / (2.0 * STEP))
    curvature = np.stack(columns, axis=-1)
    return 0.5 * (curvature + np.swapaxes(curvature, -1, -2))
