"""The proximal map of any channel: damped Newton in the active directions, on many samples at a time.

``p = argmin_h |h-z|^2/2 + Sigma l(label, h)`` for each sample, through ``f = (p-z)/Sigma = -dl/dz(p)``, which stays
accurate when Sigma is tiny. Where the objective may have several minima it is first looked at along a line, Newton
starts in each basin seen there, and the lowest minimum is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.differences import Terms, loss_of, loss_terms, mixed_trace, writes
from presage.models.attention.channels.prox_report import (
    LOSS_AT_P,
    LOSS_AT_Z,
    OTHER_MINIMUM,
    REPORTED,
    SQUARE_Z,
    TRACE_ANCHOR,
    TRACE_Z,
)
from presage.protocol import checks
from presage.protocol.njit import njit

CHUNK = 2048  # samples at a time: what a loss makes of them stays in the cache
MOST_STEPS = 60  # of Newton's method
MARGIN = 1.3  # on the most negative curvature, which was seen at some points only
LOOKS = (0.0, 0.25, 0.5, 0.75, 1.0)  # where on the line from z to the anchor the objective is looked at
DONE = 1e-13  # squared relative length of a step after which Newton's method has converged: the next is its square
SMALL = 1e-8  # squared relative length below which a step needs no further proof


class Proxes(NamedTuple):
    """Proximal points of many samples, along the active basis."""

    p: Floats  # n x k
    terms: Terms  # of the loss at p
    jumps: Floats  # 1 where the starts ended in different minima


def may_have_two_minima(channel: Channel, Sigma: float) -> bool:
    """Whether ``1 + Sigma l''`` can be negative, with some margin."""
    return 1.0 + MARGIN * Sigma * channel.traits.lowest_curvature <= 0.0


def numeric_prox(
    channel: Channel,
    label: Floats,
    z: Floats,
    Sigma: float,
    *,
    z_0: Floats | None = None,
    guess: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return ``f`` (n x n_in) and the report (n x REPORTED) of each sample.

    ``z_0`` says where to look for the label's own minimum, where the label is known to come from it; `guess` is a
    point to start from where p is nearly known.
    """
    basis = channel.active_basis
    f, report = np.empty_like(z), np.empty((len(z), REPORTED))
    for start in range(0, len(z), CHUNK):
        part = slice(start, start + CHUNK)
        target = None if z_0 is None else z_0[part]
        near = None if guess is None else guess[part] @ basis
        active, report[part] = active_prox(channel, label[part], z[part] @ basis, Sigma, z_0=target, guess=near)
        f[part] = active @ basis.T
    return f, report


def active_prox(
    channel: Channel,
    label: Floats,
    z: Floats,
    Sigma: float,
    *,
    z_0: Floats | None = None,
    guess: Floats | None = None,
    pull: bool = False,
) -> tuple[Floats, Floats]:
    """`numeric_prox` of one chunk, with ``z``, `guess` and f along the active basis.

    A prox of the channel's own is polished; with `pull` the slope of f in ``z_0`` is reported too.
    """
    basis = channel.active_basis
    starts = [z if guess is None else guess]
    if z_0 is not None and writes(channel, "prox"):
        starts = [np.asarray(channel.prox(z_0, z @ basis.T, Sigma)) @ basis] if Sigma > 0.0 else starts
    elif may_have_two_minima(channel, Sigma):
        starts += _look(channel, label, z, Sigma, _anchor(channel, label, z, Sigma, z_0))
    with np.errstate(over="ignore", invalid="ignore"):  # a step into an overflow is not taken
        found = minimise(channel, label, z, Sigma, starts)
    report = np.empty((len(z), REPORTED))
    A = np.empty_like(found.terms.curvature)
    _report(found.terms.curvature, Sigma, A, report)
    report[:, LOSS_AT_P] = found.terms.loss
    report[:, LOSS_AT_Z] = loss_of(channel, label, z @ basis.T)
    report[:, OTHER_MINIMUM] = found.jumps
    report[:, TRACE_ANCHOR] = 0.0
    if pull and z_0 is not None and not channel.traits.stepping:
        report[:, TRACE_ANCHOR] = -mixed_trace(channel, z_0, found.p, basis, A)
    f = -found.terms.slope
    if not (np.isfinite(f).all() and np.isfinite(report).all()):
        raise checks.complaint(
            "channel",
            "have a loss with finite slopes everywhere",
            "the proximal map of a sample ended where it is not a number",
            channel,
            "Write the loss so that it does not overflow, for example with np.logaddexp; see check_channel(channel).",
        )
    return f, report


def minimise(channel: Channel, label: Floats, z: Floats, Sigma: float, starts: list[Floats]) -> Proxes:
    """Minimise from each of the starts (rows of NaN: none) and keep the lowest minimum of each sample."""
    best = np.full(len(z), np.inf)
    jumps = np.zeros(len(z))
    p = np.zeros_like(z)
    terms = Terms(np.empty(len(z)), np.empty_like(z), np.empty((*z.shape, z.shape[1])))
    for start in starts:
        rows = np.flatnonzero(np.isfinite(start[:, 0]))
        if not rows.size:
            continue
        whole = rows.size == len(z)
        value, end, there = _newton(
            channel, label if whole else label[rows], z if whole else z[rows], Sigma, start[rows]
        )
        apart = np.sum((end - p[rows]) ** 2, axis=1) > 1e-8 * (1.0 + np.sum(end**2, axis=1))
        jumps[rows[apart & np.isfinite(best[rows])]] = 1.0
        lower = (value < best[rows]) | ~np.isfinite(best[rows])
        to = rows[lower]
        best[to], p[to] = value[lower], end[lower]
        for mine, new in zip(terms, there, strict=True):
            mine[to] = new[lower]
    return Proxes(p, terms, jumps)


def _anchor(channel: Channel, label: Floats, z: Floats, Sigma: float, z_0: Floats | None) -> Floats:
    """Where the loss of the label has its own minimum: ``z_0`` scaled; without ``z_0``, a long step downhill."""
    if z_0 is not None:
        return np.asarray(channel.traits.ratio * (z_0 @ channel.active_basis))
    return z - Sigma * loss_terms(channel, label, z, channel.active_basis).slope


def _look(channel: Channel, label: Floats, z: Floats, Sigma: float, anchor: Floats) -> list[Floats]:
    """Further starts: the anchor and the local minima among the points looked at between ``z`` and it."""
    way = anchor - z
    length = np.sum(way**2, axis=1)
    basis = channel.active_basis
    values = np.stack(
        [0.5 * t * t * length + Sigma * loss_of(channel, label, (z + t * way) @ basis.T) for t in LOOKS], axis=-1
    )
    padded = np.pad(values, ((0, 0), (1, 1)), constant_values=np.inf)
    lowest = (values <= padded[:, :-2]) & (values < padded[:, 2:])
    lowest[:, 0], lowest[:, -1] = False, True
    order = np.cumsum(lowest, axis=1)
    starts = []
    for count in range(1, int(order[:, -1].max(initial=1)) + 1):
        chosen = lowest & (order == count)
        t = np.where(chosen.any(axis=1), np.take(LOOKS, chosen.argmax(axis=1)), np.nan)
        starts.append(z + t[:, None] * way)
    return starts


def _newton(channel: Channel, label: Floats, z: Floats, Sigma: float, x: Floats) -> tuple[Floats, Floats, Terms]:
    """Damped Newton from `x`; samples that have converged are not evaluated again.

    Return the value of the objective, the minimum, and the terms of the loss there.
    """
    basis = channel.active_basis
    lowest = channel.traits.lowest_curvature
    reach = 2.0 / np.sqrt(-lowest) if lowest < 0.0 else np.inf  # longer steps leave the basin they start in
    x = x.copy()
    terms = Terms(*(term.copy() for term in loss_terms(channel, label, x, basis)))
    value = 0.5 * np.sum((x - z) ** 2, axis=1) + Sigma * terms.loss
    step, descent = np.empty_like(x), np.empty(len(x))
    _steps(x, z, terms.slope, terms.curvature, Sigma, reach, step, descent)
    length = np.ones(len(x))
    rows = np.arange(len(x))
    for _ in range(MOST_STEPS):
        if not rows.size:
            break
        taken = length[rows, None] * step[rows]
        trial, centre = x[rows] + taken, z[rows]
        there = loss_terms(channel, label[rows], trial, basis)
        new = 0.5 * np.sum((trial - centre) ** 2, axis=1) + Sigma * there.loss
        size = np.sum(taken**2, axis=1) / (1.0 + np.sum(trial**2, axis=1))
        level = value[rows]
        # A step so small that rounding hides its gain is taken on trust, unless it leads uphill by more than that.
        trusted = (size <= SMALL) & (new <= level + 1e-11 * (1.0 + np.abs(level)))
        good = trusted | (new <= level + 1e-4 * length[rows] * descent[rows])
        to = rows[good]
        x[to], value[to] = trial[good], new[good]
        for mine, fresh in zip(terms, there, strict=True):
            mine[to] = fresh[good]
        ahead, fall = np.empty_like(x[to]), np.empty(len(to))
        _steps(x[to], centre[good], terms.slope[to], terms.curvature[to], Sigma, reach, ahead, fall)
        step[to], descent[to] = ahead, fall
        length[to] = 1.0
        length[rows[~good]] *= 0.3
        rows = rows[~((good & (size <= DONE)) | (~good & (size <= 1e-2 * DONE)))]
    return value, x, terms


@njit(cache=True, error_model="numpy")
def _factor(K):  # type: ignore[no-untyped-def]
    """Cholesky factor of a symmetric matrix, into its lower half; False where it is not safely positive."""
    k = K.shape[0]
    for i in range(k):
        for j in range(i + 1):
            total = K[i, j]
            for m in range(j):
                total -= K[i, m] * K[j, m]
            if i == j:
                if not total > 1e-3:
                    return False
                K[i, i] = np.sqrt(total)
            else:
                K[i, j] = total / K[j, j]
    return True


@njit(cache=True, error_model="numpy")
def _back(K, v):  # type: ignore[no-untyped-def]
    """Solve with a factor, in place."""
    k = K.shape[0]
    for i in range(k):
        for j in range(i):
            v[i] -= K[i, j] * v[j]
        v[i] /= K[i, i]
    for i in range(k - 1, -1, -1):
        for j in range(i + 1, k):
            v[i] -= K[j, i] * v[j]
        v[i] /= K[i, i]


@njit(cache=True, error_model="numpy")
def _shifted_factor(K, curvature, Sigma, first, growth):  # type: ignore[no-untyped-def]
    """Factor ``1 + Sigma l''`` into `K`; where it is not positive it is shifted, more and more, until it is."""
    shift = 0.0
    while True:
        for i in range(K.shape[0]):
            for j in range(i + 1):
                K[i, j] = Sigma * curvature[i, j]
            K[i, i] += 1.0 + shift
        if _factor(K) or not shift < 1e12:
            break
        shift = first if shift == 0.0 else growth * shift


@njit(cache=True, error_model="numpy")
def _steps(x, z, slope, curvature, Sigma, reach, step, descent):  # type: ignore[no-untyped-def]
    """Newton's step of each sample, no longer than `reach`, and the slope of the objective along it.

    Where ``1 + Sigma l''`` is not positive it is shifted (Levenberg) until it is.
    """
    n, k = x.shape
    K = np.empty((k, k))
    for s in range(n):
        _shifted_factor(K, curvature[s], Sigma, 0.3, 3.0)
        for i in range(k):
            step[s, i] = -(x[s, i] - z[s, i] + Sigma * slope[s, i])
        _back(K, step[s])
        length = np.sqrt(np.sum(step[s] ** 2))
        if length > reach:
            step[s] *= reach / length
        descent[s] = 0.0
        for i in range(k):
            descent[s] += step[s, i] * (x[s, i] - z[s, i] + Sigma * slope[s, i])


@njit(cache=True, error_model="numpy")
def _report(curvature, Sigma, A, report):  # type: ignore[no-untyped-def]
    """Write ``A = (1 + Sigma H)^-1`` and the traces of ``df/dz = -H A`` and of its square."""
    n, k = curvature.shape[0], curvature.shape[1]
    K = np.empty((k, k))
    for s in range(n):
        _shifted_factor(K, curvature[s], Sigma, 1e-3, 2.0)
        for i in range(k):
            for j in range(k):
                A[s, i, j] = 1.0 if i == j else 0.0
            _back(K, A[s, i])
        trace = 0.0
        square = 0.0
        for i in range(k):
            for j in range(k):
                entry = 0.0
                for m in range(k):
                    entry += curvature[s, i, m] * A[s, m, j]
                if i == j:
                    trace -= entry
                square += entry * entry
        report[s, TRACE_Z] = trace
        report[s, SQUARE_Z] = square
