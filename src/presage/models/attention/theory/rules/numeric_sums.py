"""Averages over the pre-activations of one sample for a channel of the user's own.

As in `rule`, ``z_0 = sqrt(rho_0) a`` and ``z = (m/sqrt(rho_0)) a + sigma b`` along the active directions; the
average over (a, b) is a product rule where there are at most two of them and a set of scattered points otherwise.
Random labels are summed over with their probabilities given ``z_0``, which leaves a smooth integrand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.differences import likelihood_slope
from presage.models.attention.channels.numeric_prox import CHUNK, active_prox
from presage.models.attention.channels.prox_report import (
    LOSS_AT_P,
    LOSS_AT_Z,
    OTHER_MINIMUM,
    SQUARE_Z,
    TRACE_ANCHOR,
    TRACE_Z,
)

MOST_PRODUCT = 2  # active directions for which a product rule, of twice as many dimensions, is worth its nodes


class Sums(NamedTuple):
    """Weighted means over one set of nodes."""

    slope_z: float
    slope_z_0: float
    square: float  # of f
    square_slope: float
    train_error: float
    test_error: float
    jumps: float
    f_a: float  # f.a and f.b: what Stein's lemma needs
    f_b: float


@cache
def product_nodes(
    k: int, nodes: int, angle: float, dropped: float, folds: tuple[int, ...] = ()
) -> tuple[Floats, Floats, Floats]:
    """Nodes a, b (n x k) and weights of a product rule; each plane (a_i, b_i) is turned by `angle`.

    The lightest nodes, of total weight `dropped`, are left out, and half of each plane that may be folded.
    """
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.meshgrid(*[x] * (2 * k), indexing="ij")
    weight = np.ones(1)
    for _ in range(2 * k):
        weight = np.multiply.outer(weight, w / w.sum())
    flat = weight.ravel()
    order = np.argsort(flat)
    kept = order[np.searchsorted(np.cumsum(flat[order]), dropped) :]
    first, second = (np.stack([grid[i].ravel()[kept] for i in part], axis=-1) for part in (range(k), range(k, 2 * k)))
    half = (first[:, list(folds)] > 0.0).all(axis=1)
    first, second, weight = first[half], second[half], flat[kept][half]
    cosine, sine = np.cos(angle), np.sin(angle)
    return cosine * first - sine * second, sine * first + cosine * second, weight / weight.sum()


def sums(
    channel: Channel, root_rho: float, mean: float, sigma: float, Sigma: float, a: Floats, b: Floats, weight: Floats
) -> Sums:
    """Average everything over nodes (a, b) with these weights.

    The slope of f in ``z_0`` comes from the mixed derivative of the loss where the label follows from ``z_0``, from the
    slope of the likelihood where it is random, ``E sum_y (dP(y|z_0)/dz_0) . f(y, z)``, and from ``E f.a`` where the
    label moves by steps only.

    Equation: derived from [BETKZ25] (43) for a general likelihood of the labels.
    Checked: tests/models/attention/channels/test_channels_of_users.py::test_stein_and_hessian_forms_agree
    Checked: tests/models/attention/channels/test_channels_of_users.py::test_sums_of_an_own_linear_channel_are_exact
    Checked:
        tests/models/attention/channels/test_channels_of_users.py::test_slope_of_labels_that_step_is_their_jump_at_zero
    """
    basis = channel.active_basis
    total = np.zeros(len(Sums._fields))
    for start in range(0, len(a), CHUNK):
        part = slice(start, start + CHUNK)
        z_0, z = root_rho * a[part], mean * a[part] + sigma * b[part]
        for label, chance, tilt in _labels(channel, z_0 @ basis.T, basis):
            known = None if tilt is not None else z_0 @ basis.T
            f, report = active_prox(channel, label, z, Sigma, z_0=known, pull=True)
            columns = np.empty((len(Sums._fields), len(f)))
            columns[0], columns[3] = report[:, TRACE_Z], report[:, SQUARE_Z]
            columns[1] = report[:, TRACE_ANCHOR]
            columns[2] = np.sum(f * f, axis=1)
            columns[4], columns[5], columns[6] = report[:, [LOSS_AT_P, LOSS_AT_Z, OTHER_MINIMUM]].T
            columns[7], columns[8] = np.sum(f * a[part], axis=1), np.sum(f * b[part], axis=1)
            total += columns @ (weight[part] * chance)
            if tilt is not None and not channel.traits.stepping:
                total[1] += float(weight[part] @ np.sum(tilt * f, axis=1))
    found = Sums(*total.tolist())
    if channel.traits.stepping:
        return found._replace(slope_z_0=(found.f_a - mean * found.slope_z) / root_rho)
    return found


def _labels(channel: Channel, z_0: Floats, basis: Floats) -> Iterator[tuple[Floats, Floats, Floats | None]]:
    """Each label that these samples can have, its probability, and the slope of that in ``z_0`` if it is random."""
    if channel.labels is None:
        yield np.asarray(channel.target_output(z_0), dtype=np.float64), np.ones(len(z_0)), None
        return
    for y in np.asarray(channel.labels, dtype=np.float64):
        label = np.broadcast_to(y, (len(z_0), *y.shape))
        yield label, channel.likelihood(label, z_0), likelihood_slope(channel, label, z_0, basis)
