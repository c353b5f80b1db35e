"""What a channel sees, found by trying it: its active directions, how far from convex its loss is, where it is least.

A channel of the user's own says only what its output and its loss are; whatever else the solvers want to know is read
off at random points, always the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.differences import (
    STEP,
    likelihood_slope,
    loss_and_slope,
    loss_terms,
    target_slope,
    writes,
)
from presage.protocol import checks

POINTS = 400  # where the slopes are looked at
SIZES = (0.03, 0.3, 1.0, 3.0)  # of the points: a flat output at one size may be steep at another
BLIND = 1e-5  # relative slope below which a direction is not seen: differences are good to 1e-8
FLAT = 1e-10  # slope below which nothing at all is seen


@final
@dataclass(frozen=True, eq=False)
class Traits:
    """Facts about a channel that hold for every sample."""

    basis: Floats  # n_in x k, orthonormal: the directions that loss or label see
    lowest_curvature: float  # the most negative eigenvalue of the curvature of the loss that was seen, at most 0
    ratio: float  # r for which r z_0 fits the labels of a z_0 of unit size best
    folds: tuple[int, ...]  # directions of the basis whose sign, in z_0 and z together, changes no loss
    stepping: bool  # whether labels are constant but for steps, so that their slope says nothing


def find_traits(channel: Channel) -> Traits:
    """Find the traits of a channel; complain about one that cannot be worked with."""
    z_0, z, label = probes(channel)
    everything = np.eye(channel.n_in)
    with np.errstate(all="ignore"):
        loss, slope = loss_and_slope(channel, label, z, everything)
        slope = _without_steps(slope, loss_and_slope(channel, label, z, everything, 0.03 * STEP)[1])
        pull = _pull_of_target(channel, z_0, z, everything)
    if loss.shape != z.shape[:-1] or not np.isfinite(loss).all():
        raise checks.complaint(
            "channel",
            "have one finite loss for each sample",
            f"{len(z)} samples gave losses of shape {loss.shape}, {np.count_nonzero(~np.isfinite(loss))} not finite",
            channel,
            "Call check_channel(channel): it says what is wrong.",
        )
    if not np.abs(slope).max() > FLAT * max(float(np.abs(loss).max()), 1.0):
        raise checks.complaint(
            "channel",
            "have an output that changes smoothly with z",
            "training follows the slope of the loss, and this one is flat wherever it was looked at",
            channel,
            "Replace a step by a smooth output, for example np.tanh(sharpness * z), and a hard maximum by a Softmax.",
        )
    stepping = not np.abs(pull).max() > FLAT * np.abs(slope).max()
    basis = _row_space(np.concatenate([slope, pull / max(float(np.abs(pull).max()), 1e-300) * np.abs(slope).max()]))
    if _label_moves(channel, z_0, basis):
        basis = everything  # a step sees a direction in which no slope shows
    basis, folds = _symmetries(channel, z_0, z, basis)
    if writes(channel, "active_basis"):
        basis, folds = np.asarray(channel.active_basis, dtype=np.float64), ()
    with np.errstate(all="ignore"):
        curvature = loss_terms(channel, label, z @ basis, basis).curvature
    lowest = float(np.linalg.eigvalsh(curvature[np.isfinite(curvature).all(axis=(-2, -1))]).min(initial=0.0))
    lowest = min(lowest, _lowest_secant(channel, label, z, basis))
    ratio = best_ratio(channel, np.random.default_rng(21).standard_normal((POINTS, channel.n_in)))
    return Traits(basis, lowest if lowest < -1e-6 else 0.0, ratio, folds, stepping)


def _lowest_secant(channel: Channel, label: Floats, z: Floats, basis: Floats) -> float:
    """Most negative slope of the slope between two points: a kink downwards has no curvature at any point."""
    here = z @ basis
    there = here + 0.3 * np.random.default_rng(23).standard_normal(here.shape) * np.abs(here).mean()
    with np.errstate(all="ignore"):
        slopes = [loss_and_slope(channel, label, x, basis)[1] for x in (here, there)]
        secant = np.sum((slopes[1] - slopes[0]) * (there - here), axis=-1) / np.sum((there - here) ** 2, axis=-1)
    return float(secant[np.isfinite(secant)].min(initial=0.0))


def probes(channel: Channel) -> tuple[Floats, Floats, Floats]:
    """Random ``z_0`` and ``z`` of several sizes, some of them close to each other, and a label for each."""
    rng = np.random.default_rng(20)
    size = np.resize(SIZES, (POINTS, 1))
    z_0, z = size * rng.standard_normal((2, POINTS, channel.n_in))
    z[: POINTS // 4] = z_0[: POINTS // 4] + 0.1 * z[: POINTS // 4]
    return z_0, z, channel.draw_labels(z_0, rng)


def best_ratio(channel: Channel, z_0: Floats) -> float:
    """The factor r for which ``r z_0`` fits the labels of ``z_0`` best: one where learner and target agree."""

    def misfit(r: float) -> float:
        return float(channel.loss_at(z_0, r * z_0).mean())

    tried = np.geomspace(1.0 / 16.0, 16.0, 33)
    found = [misfit(r) for r in tried]
    at = min(max(int(np.argmin(found)), 1), len(tried) - 2)
    from scipy.optimize import minimize_scalar

    low, high = float(tried[at - 1]), float(tried[at + 1])
    return float(minimize_scalar(misfit, bounds=(low, high), method="bounded", options={"xatol": 1e-6 * high}).x)


def _pull_of_target(channel: Channel, z_0: Floats, z: Floats, basis: Floats) -> Floats:
    """How what is observed changes with ``z_0``: slope of the loss through the label, or of the likelihoods."""
    if channel.labels is None:
        pull, closer = (target_slope(channel, z_0, z, basis, step) for step in (STEP, 0.03 * STEP))
        return _without_steps(pull, closer)
    rows = []
    for y in np.asarray(channel.labels, dtype=np.float64):
        label = np.broadcast_to(y, (len(z_0), *y.shape))
        pull, closer = (likelihood_slope(channel, label, z_0, basis, step) for step in (STEP, 0.03 * STEP))
        rows.append(_without_steps(pull, closer))
    return np.concatenate(rows)


def _without_steps(slope: Floats, closer: Floats) -> Floats:
    """Slopes that do not change when looked at from closer by, and zero for the others: there a step was crossed."""
    same = np.abs(slope - closer) <= 0.5 * np.abs(slope)
    return np.where(same.all(axis=-1, keepdims=True), slope, 0.0)


def _row_space(rows: Floats) -> Floats:
    """Orthonormal basis (columns) of the directions in which the rows are not zero, steepest first."""
    _, size, right = np.linalg.svd(rows[np.isfinite(rows).all(axis=-1)], full_matrices=False)
    return np.ascontiguousarray(right[size > BLIND * size[0]].T)


def _symmetries(channel: Channel, z_0: Floats, z: Floats, basis: Floats) -> tuple[Floats, tuple[int, ...]]:
    """Turn a basis of two directions so that the symmetries of the loss are changes of sign; say which may be folded.

    Tried are the exchange of two tokens, the change of all signs, and both together.
    """
    if basis.shape[1] != 2 or channel.labels is not None:
        return basis, ()
    exchange = np.eye(channel.n_in)[::-1] if channel.n_tokens == 2 else np.eye(channel.n_in)
    with np.errstate(all="ignore"):
        here = channel.loss_at(z_0, z)
        kept = [
            mirror
            for mirror in (exchange, -exchange, -np.eye(channel.n_in))
            if np.allclose(channel.loss_at(z_0 @ mirror, z @ mirror), here, rtol=1e-9, atol=1e-12)
        ]
    for mirror in kept[:1]:
        basis = basis @ np.linalg.eigh(basis.T @ mirror @ basis)[1]
    signs = {tuple(np.round(np.diag(basis.T @ mirror @ basis)).astype(int).tolist()) for mirror in kept}
    if {(-1, 1), (1, -1)} <= signs:
        return basis, (0, 1)
    flipped = [sign.index(-1) for sign in sorted(signs) if -1 in sign]
    return basis, tuple(flipped[:1])


def _label_moves(channel: Channel, z_0: Floats, basis: Floats) -> bool:
    """Whether the label depends on a direction that the basis leaves out."""
    if basis.shape[1] == basis.shape[0]:
        return False
    moved = z_0 + z_0[::-1] - z_0[::-1] @ basis @ basis.T
    if channel.labels is None:
        return not np.allclose(channel.target_output(moved), channel.target_output(z_0), rtol=1e-6, atol=1e-9)
    each = [np.broadcast_to(y, (len(z_0), *y.shape)) for y in np.asarray(channel.labels, dtype=np.float64)]
    return not all(
        np.allclose(channel.likelihood(label, moved), channel.likelihood(label, z_0), rtol=1e-6, atol=1e-9)
        for label in each
    )
