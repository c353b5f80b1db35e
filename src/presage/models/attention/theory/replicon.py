"""The replicon: when it is below one, the replica-symmetric solution is stable and message passing converges to it."""

from __future__ import annotations

from math import inf, pi, sqrt

import numpy as np

from presage.laws.spectral_law import SpectralLaw
from presage.spectra.quadrature import panels
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.path import subordinate
from presage.spectra.symmetric.shrunk import Shrunk

CLOSE = 1e-6  # of the width of the spectrum: points nearer than this count as one
BLOCK = 2000  # nodes a block of the double integral: 2000^2 numbers are 32 MB


def weight_factor(target: SpectralLaw, delta: float, c: float, start: float = -np.inf) -> float:
    """``int int mu mu ((xi(x) - xi(y))/(x - y))^2`` with ``xi = (x - c)_+`` and ``mu = mu_delta``.

    A narrow student has ``xi = 0`` below `start`, where xi jumps: inside a bulk the integral then diverges (like the
    logarithm of the distance of the eigenvalues), in a gap between two bulks it does not.

    Pairs above the cutoff give one, pairs below it nothing, and the mixed ones ``((x - c)/(x - y))^2``, which is
    bounded but has a corner at ``x = y = c``: the panels get finer towards it from both sides.

    Equation: [BETKZ25] (10), second factor.
    Departs: the subscript sqrt(q_hat/m_hat) of mu in print means sqrt(q_hat)/m_hat. Erratum 5.
    Checked: tests/models/attention/theory/test_replicon.py::test_weight_factor_agrees_with_a_sampled_matrix
    Checked:
        tests/models/attention/theory/test_rank_limited.py::test_the_replicon_is_infinite_inside_a_bulk_and_finite_in_a_gap
    Checked: tests/models/attention/theory/test_replicon.py::test_a_cutoff_in_a_gap_or_outside_is_no_trouble
    """
    free = FreeConvolution(target, delta)
    begin = max(c, start)
    where = subordinate(target, free.t, begin)
    if where.imag == 0.0 and where.real < target.support[0, 0]:
        return 1.0  # everything is kept
    u = free.parameter_above(begin)
    if u == np.inf:
        return 0.0
    if begin > c and ((free.support[:, 0] < begin) & (begin < free.support[:, 1])).any():
        return inf

    def mass(point):  # type: ignore[no-untyped-def]
        return np.ones_like(point.x)[None]

    above = panels(target, free.t, free.bands, mass, tail=1e-6, u_from=u, sharp=True)
    rank = float(above.mass.sum())
    below = panels(target, free.t, free.bands, mass, tail=1e-6, u_to=u, sharp=True)
    x, x_mass = above.x.ravel(), above.mass.ravel()
    y, y_mass = below.x.ravel(), below.mass.ravel()
    mixed = 0.0
    for i in range(0, x.size, BLOCK):
        for j in range(0, y.size, BLOCK):
            xs, ys = x[i : i + BLOCK, None], y[None, j : j + BLOCK]
            ratio = (xs - c) / np.maximum(xs - ys, 1e-300)
            ratio = np.clip(ratio, 0.0, 1.0) if begin == c else ratio
            mixed += float(x_mass[i : i + BLOCK] @ ratio**2 @ y_mass[j : j + BLOCK])
    return rank**2 + 2.0 * mixed


def weight_factor_of_map(shrunk: Shrunk) -> float:
    """``int int mu mu ((s(x) - s(y))/(x - y))^2`` for any increasing map s; infinite where s jumps inside a bulk.

    Pairs that are too close for a difference count by the slope there.

    Equation: [BETKZ25] (10), second factor, with s in place of xi.
    Checked:
        tests/models/attention/penalties/test_penalties_of_users.py::test_own_re_implementations_solve_to_the_same_numbers
    Checked: tests/models/attention/penalties/test_penalties_of_users.py::test_a_jump_inside_a_bulk_is_said
    """
    support = shrunk.free.support
    for left, _ in shrunk.jumps:
        if ((support[:, 0] < left) & (left < support[:, 1])).any():
            return inf
    nodes = shrunk.nodes(sharp=True)
    x, s, mass = nodes.x, nodes.s, nodes.mass
    near = CLOSE * (support[-1, 1] - support[0, 0])
    slope = (shrunk.map(x + near) - shrunk.map(x - near)) / (2.0 * near)
    total = 0.0
    for i in range(0, x.size, BLOCK):
        for j in range(0, x.size, BLOCK):
            apart = x[i : i + BLOCK, None] - x[None, j : j + BLOCK]
            close = np.abs(apart) <= near
            rise = s[i : i + BLOCK, None] - s[None, j : j + BLOCK]
            ratio = np.where(close, slope[i : i + BLOCK, None], rise / np.where(close, 1.0, apart))
            total += float(mass[i : i + BLOCK] @ ratio**2 @ mass[j : j + BLOCK])
    return total


def jump_term(alpha: float, jump_square: float, weight: float) -> float:
    """What jumps of the proximal map add to the replicon, times the root of the distance eta of two copies.

    Two copies of message passing whose scores differ by a variance eta have, where p jumps from A to B over a surface,

    ``E |f - f'|^2 = eta E |df/dz|_F^2 + sqrt(2 eta/pi) int |f_B - f_A|^2 rho dS``

    since the chance that a pair straddles the surface is its density times the mean of the distance across it. The
    second term is not of order eta: however small the jumps, copies that are close enough move apart. `jump_square` is
    the surface integral.

    Equation: derived from [BETKZ25] (10), for a proximal map that jumps.
    Checked: tests/models/attention/theory/test_replicon.py::test_two_copies_move_apart_at_jumps
    """
    return 2.0 * alpha * sqrt(2.0 / pi) * jump_square * weight


def separation(replicon: float, jump_term: float) -> float:
    """Distance ``|S - S'|_F^2/d`` at which two copies stay, ``eta = R eta + J sqrt(eta)``; inf where there is none.

    R is the replicon and J the jump term.

    Equation: derived.
    Checked: tests/models/attention/theory/test_replicon.py::test_copies_stay_where_they_neither_meet_nor_part
    """
    return (jump_term / (1.0 - replicon)) ** 2 if replicon < 1.0 else inf


def replicon(alpha: float, square_slope: float, weight: float) -> float:
    """``2 alpha E |dp/dz - 1|_F^2/Sigma^2 int int mu mu ((xi(x)-xi(y))/(x-y))^2/Sigma_hat^2``, below one when stable.

    `square_slope` is ``E |df/dz|^2 = E |dp/dz - 1|^2/Sigma^2``; `weight` is the second factor, divided by
    ``Sigma_hat^2``.

    Equation: [BETKZ25] (10).
    Checked: tests/models/attention/theory/test_replicon.py::test_replicon_of_a_linear_channel
    """
    return 2.0 * alpha * square_slope * weight
