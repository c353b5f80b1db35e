"""Means over scattered points for a softmax of three or more tokens, of which few need a proximal map.

A proximal map takes ten times as long as a guess at it, and a guess ten times as long as one row of the softmax. What
an average has in common with a quicker one, which is therefore known better, is taken from that one (control variates,
on two levels): from the guesses at several times as many points, and of what these say from single rows. A sum over
the rows has the mean of one of them times their number, an average over ``2(T - 1)`` dimensions instead of
``(T - 1)(T + 2)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.prox_report import OTHER_MINIMUM, REPORTED
from presage.models.attention.channels.softmax import Softmax, blind_direction
from presage.models.attention.channels.tokens_guess import GUESSED, guesses
from presage.models.attention.channels.tokens_prox import tokens_prox
from presage.models.attention.theory.rules.rule import Gaussian

ROWS, MOST_ROWS = 16, 2**16  # points for the mean of a row, for each point with a proximal map, and how many are enough
BLOCK = 32  # points, in their order, whose means are compared to find what a control has in common with an average
FEW = 4  # tokens
PART = 1024  # points at a time
FEWEST = 256  # such blocks; fewer points than that are averaged as they are


def points_needed(n_tokens: int, nodes: int) -> tuple[int, int]:
    """Points of a sample that are guessed at, and points of a row, where the proximal map is taken at `nodes` points.

    With few tokens a guess costs little beside a proximal map, and says less.
    """
    return (8 if n_tokens <= FEW else 4) * nodes, min(ROWS * nodes, MOST_ROWS)


def token_sums(
    channel: Softmax,
    gaussian: Gaussian,
    Sigma: float,
    nodes: int,
    points: Sequence[Floats],
    rows: Sequence[Floats],
    starts: int = 0,
) -> Floats:
    """Means of the report, of ``|f|^2``, ``f.a`` and ``f.b``: one row for each set of points, with its set of rows.

    The proximal map is taken at the first `nodes` points of each set, with `starts` at random beside the usual ones.

    Checked: tests/models/attention/theory/test_expectations.py::test_controls_leave_the_mean
    Checked:
        tests/models/attention/theory/test_expectations.py::test_averages_over_the_active_directions_are_those_over_all_components
    """
    guessed = [_guessed(channel, gaussian, Sigma, x) for x in points]
    expected = controlled(guessed, [x[:, GUESSED // 2 :] for x in guessed], _expected_rows(channel, gaussian, rows))
    values = [_values(channel, gaussian, Sigma, x[:nodes], starts) for x in points]
    means = controlled(values, [x[:nodes] for x in guessed], expected)
    means[:, OTHER_MINIMUM] = [x[:, OTHER_MINIMUM].mean() for x in values]  # seen, not estimated: it is never negative
    return means


def controlled(values: Sequence[Floats], controls: Sequence[Floats], expected: Floats) -> Floats:
    """Means of the values of each set of points, ``mean X - (mean C - E C) . w``, where controls C are expected.

    The weights w of a set are those of least variance by the other sets (by its own if it is alone), so that they know
    nothing of the error that they are to remove. What is left to remove is what means over neighbours in a sequence
    still have, which are spread evenly already: they are fitted, not the single points. Beside their spread counts that
    of what is expected.
    """
    means, found = (np.array([x.mean(axis=0) for x in part]) for part in (values, controls))
    block = min(BLOCK, sum(len(x) for x in values) // FEWEST)
    if block == 0:
        return np.asarray(means)
    squares, products = [], []
    count = len(values[0]) // block
    for pair in zip(values, controls, strict=True):
        x, c = (u[: count * block].reshape(count, block, -1).mean(axis=1) for u in pair)
        off = c - c.mean(axis=0)
        squares.append(off.T @ off)
        products.append(off.T @ x)
    sets = len(values)
    own = 1.0 if sets > 1 else 0.0
    square, product = (np.sum(part, axis=0) - own * np.array(part) for part in (squares, products))
    if sets > 2:
        spreads = [np.cov(np.delete(expected, k, axis=0), rowvar=False, ddof=1) for k in range(sets)]
        square += (sets - 1) * count**2 * np.array(spreads)
    scale = 1.0 / np.sqrt(np.einsum("rii->ri", square) + 1e-300)
    weights = np.linalg.pinv(scale[:, :, None] * square * scale[:, None, :], rcond=1e-9, hermitian=True)
    weights = scale[:, :, None] * (weights @ (scale[:, :, None] * product))
    return np.asarray(means - np.einsum("rc,rcv->rv", found - expected, weights))


def _samples(channel: Softmax, gaussian: Gaussian, points: Floats) -> tuple[Floats, Floats]:
    """Anchor and pre-activation, in components, at each point ``(a, b)`` of the active directions."""
    basis = active_basis(channel.n_tokens)
    a, b = points[:, : channel.n_active], points[:, channel.n_active :]
    anchor = (channel.beta_ratio * gaussian.root_rho) * (a @ basis.T)
    return anchor, (gaussian.mean * a + gaussian.sigma * b) @ basis.T


def _guessed(channel: Softmax, gaussian: Gaussian, Sigma: float, points: Floats) -> Floats:
    """What is said without a proximal map, at every point."""
    out = np.empty((len(points), GUESSED))
    for part in _parts(points):
        A, Z = (channel.matrix(h) for h in _samples(channel, gaussian, points[part]))
        guesses(A, Z, Sigma, channel.beta, out[part])
    return out


def _parts(points: Floats) -> Iterator[slice]:
    """Points few enough for a processor to have all that is made of them at hand."""
    return (slice(start, start + PART) for start in range(0, len(points), PART))


def _values(channel: Softmax, gaussian: Gaussian, Sigma: float, points: Floats, starts: int = 0) -> Floats:
    """Report, ``|f|^2``, ``f.a`` and ``f.b`` at every point."""
    anchor, z = _samples(channel, gaussian, points)
    f, values = np.empty_like(z), np.empty((len(z), REPORTED + 3))
    tokens_prox(anchor, z, Sigma, channel.beta, channel.n_tokens, f, values[:, :REPORTED], starts)
    active = f @ active_basis(channel.n_tokens)
    a, b = points[:, : channel.n_active], points[:, channel.n_active :]
    for k, pair in enumerate(((f, f), (active, a), (active, b))):
        values[:, REPORTED + k] = np.einsum("ij,ij->i", *pair)
    return values


def _expected_rows(channel: Softmax, gaussian: Gaussian, rows: Sequence[Floats]) -> Floats:
    """Means over a sample of what `guesses` says at z, from those of one row; one estimate for each set of points."""
    T = channel.n_tokens
    basis = _row_basis(T)
    means = []
    for points in rows:
        total = np.zeros(GUESSED // 2)
        for part in _parts(points):
            a, b = basis @ points[part, : T - 1].T, basis @ points[part, T - 1 :].T
            x_0 = (channel.beta_ratio * gaussian.root_rho) * a
            total += _row(x_0, gaussian.mean * a + gaussian.sigma * b, channel.beta).sum(axis=-1)
        means.append(T * total / len(points))
    return np.array(means)


def _row(x_0: Floats, x: Floats, beta: float) -> Floats:
    """Loss ``|r|^2`` of one row of the softmax at ``x``, ``r = s - y``, and its slope ``g_b = 2 beta s_b (r_b - s.r)``.

    Of the slope half of its square and of its products with anchor and pre-activation. Entries of the row are the first
    axis: long axes come last, where numpy is quick.
    """
    y, s = _softmax(beta * x_0), _softmax(beta * x)
    r = s - y
    g = 2.0 * beta * s * (r - np.sum(s * r, axis=0))
    pairs = ((r, r), (0.5 * g, g), (0.5 * g, x_0), (0.5 * g, x))
    return np.stack([np.sum(u * v, axis=0) for u, v in pairs])


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


@cache
def active_basis(n_tokens: int) -> Floats:
    """Orthonormal basis (columns) of the components orthogonal to the shift that softmax cannot see."""
    blind = blind_direction(n_tokens)
    basis, _ = np.linalg.qr(np.column_stack([blind, np.eye(blind.size)[:, :-1]]))
    return np.ascontiguousarray(basis[:, 1:])


@cache
def _row_basis(n_tokens: int) -> Floats:
    """Pre-activations (columns) of the first row for each direction that it sees: its components without its shift."""
    shift = np.r_[1.0 / sqrt(2.0), np.ones(n_tokens - 1)]
    basis, _ = np.linalg.qr(np.column_stack([shift, np.eye(n_tokens)[:, :-1]]))
    return np.ascontiguousarray(basis[:, 1:] * np.r_[sqrt(2.0), np.ones(n_tokens - 1)][:, None])
