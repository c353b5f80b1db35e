"""The proximal map of two tokens: two active directions, two sigmoids, everything in closed form but the root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.models.attention.channels.prox_report import (
    FUSED,
    LOSS_AT_P,
    LOSS_AT_Z,
    MOST_STEPS,
    OTHER_MINIMUM,
    REPORTED,
    ROOT_2,
    RUGGED,
    SQUARE_Z,
    TRACE_ANCHOR,
    TRACE_Z,
)
from presage.protocol.njit import njit

Floats = NDArray[np.float64]

# Logits along a sigmoid, dense where it bends.
BENDS = np.concatenate([[-8.0, -6.0], np.arange(-5.0, 5.1, 0.5), [6.0, 8.0]])
BEND_OUTPUTS = 1.0 / (1.0 + np.exp(-BENDS))
# Largest Sigma beta^2 at which the objective is convex for every label: the curvature is above -0.97 beta^2.
CONVEX_PAIR = 1.0
DONE = 1e-17  # squared step of Newton's method, relative, after which the next is lost in rounding
# Half of (16/(6 sqrt 3))^2: see `is_lowest`.
STEEPEST = 32.0 / 27.0
QUICK_STEPS = 10  # of Newton's method without care for how far they lead
SETTLED = 1e-14  # square of a last step of Newton's: the error after it is of the order of this


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def pair_terms(e1, e2, s1, s2, beta):  # type: ignore[no-untyped-def]
    """Loss of two tokens, its slopes and curvatures in the row variables ``u = +-e1 + sqrt2 e2``, and the outputs."""
    p1 = 1.0 / (1.0 + np.exp(-beta * (ROOT_2 * e2 + e1)))
    p2 = 1.0 / (1.0 + np.exp(-beta * (ROOT_2 * e2 - e1)))
    r1, r2 = p1 - s1, p2 - s2
    w1, w2 = beta * p1 * (1.0 - p1), beta * p2 * (1.0 - p2)
    loss = 2.0 * (r1 * r1 + r2 * r2)
    curvature_1 = 4.0 * w1 * (w1 + r1 * beta * (1.0 - 2.0 * p1))
    curvature_2 = 4.0 * w2 * (w2 + r2 * beta * (1.0 - 2.0 * p2))
    return loss, 4.0 * r1 * w1, 4.0 * r2 * w2, curvature_1, curvature_2, p1, p2


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def pair_newton(e1, e2, z1, z2, s1, s2, Sigma, beta, reach):  # type: ignore[no-untyped-def]
    """Damped Newton on ``|e-z|^2/2 + Sigma l(e)`` from ``(e1, e2)``; return the minimum, its value and its terms.

    No step is longer than `reach`.
    """
    terms = pair_terms(e1, e2, s1, s2, beta)
    loss, k1, k2, c1, c2, _, _ = terms
    value = 0.5 * ((e1 - z1) ** 2 + (e2 - z2) ** 2) + Sigma * loss
    for _ in range(MOST_STEPS):
        g1 = e1 - z1 + Sigma * (k1 - k2)
        g2 = e2 - z2 + Sigma * ROOT_2 * (k1 + k2)
        h11 = 1.0 + Sigma * (c1 + c2)
        h22 = 1.0 + 2.0 * Sigma * (c1 + c2)
        h12 = Sigma * ROOT_2 * (c1 - c2)
        determinant = h11 * h22 - h12 * h12
        if h11 <= 0.0 or determinant <= 1e-3 * (h11 + h22):
            # Reflect a negative smaller eigenvalue: a direction of descent that leaves a saddle quickly.
            lowest = 0.5 * (h11 + h22) - np.sqrt(0.25 * (h11 - h22) ** 2 + h12 * h12)
            if lowest < 1e-3:
                shift = max(-lowest, 0.05) - lowest
                h11 += shift
                h22 += shift
                determinant = h11 * h22 - h12 * h12
        d1 = -(h22 * g1 - h12 * g2) / determinant
        d2 = -(h11 * g2 - h12 * g1) / determinant
        size = d1 * d1 + d2 * d2
        scale = 1.0 + e1 * e1 + e2 * e2
        slope = g1 * d1 + g2 * d2
        step = min(1.0, reach / np.sqrt(size)) if size > 0.0 else 1.0
        if size < 1e-8 * scale:
            e1 += d1
            e2 += d2
            terms = pair_terms(e1, e2, s1, s2, beta)
            loss, k1, k2, c1, c2, _, _ = terms
            value = 0.5 * ((e1 - z1) ** 2 + (e2 - z2) ** 2) + Sigma * loss
            if size < DONE * scale:
                break
            continue
        while True:
            n1, n2 = e1 + step * d1, e2 + step * d2
            terms = pair_terms(n1, n2, s1, s2, beta)
            loss, k1, k2, c1, c2, _, _ = terms
            new = 0.5 * ((n1 - z1) ** 2 + (n2 - z2) ** 2) + Sigma * loss
            if new <= value + 1e-4 * step * slope or step < 1e-10:
                break
            step *= 0.5
        e1, e2, value = n1, n2, new
    return e1, e2, value, terms


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _pair_axis(start, end, slack, at_start, label, beta, u, residual):  # type: ignore[no-untyped-def]
    """Trial values of one row variable, ascending: its unpenalised value, its label's, the bends between and around.

    Write them into `u` with the row's output minus its label into `residual`; return how many there are. The other
    variable can drag this one out of the interval, by at most `slack`.
    """
    low, high = min(start, end), max(start, end)
    at_low, at_high = (at_start - label, 0.0) if start <= end else (0.0, at_start - label)
    count = 0
    placed_low = placed_high = False
    for k in range(BENDS.size):
        bend = BENDS[k] / beta
        if bend < low - slack:
            continue
        if bend >= low and not placed_low:
            u[count], residual[count] = low, at_low
            count += 1
            placed_low = True
        if bend >= high and not placed_high:
            u[count], residual[count] = high, at_high
            count += 1
            placed_high = True
        if bend > high + slack:
            break
        u[count], residual[count] = bend, BEND_OUTPUTS[k] - label
        count += 1
    if not placed_low:
        u[count], residual[count] = low, at_low
        count += 1
    if not placed_high:
        u[count], residual[count] = high, at_high
        count += 1
    return count


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _pair_scan(z1, z2, anchor_1, anchor_2, s1, s2, Sigma, beta, scan):  # type: ignore[no-untyped-def]
    """Evaluate the objective on the product of the two axes; write its local minima there into `scan`, return how many.

    The minimum lies near the interval between ``z`` and the anchor in each row variable, and each row's loss is flat
    beyond its bends, so a local minimum of this small table stands for each basin.
    """
    u1, r1, u2, r2, table = scan.u1, scan.r1, scan.u2, scan.r2, scan.table
    start_1, start_2 = ROOT_2 * z2 + z1, ROOT_2 * z2 - z1
    out_1, out_2 = 1.0 / (1.0 + np.exp(-beta * start_1)), 1.0 / (1.0 + np.exp(-beta * start_2))
    end_1, end_2 = ROOT_2 * anchor_2 + anchor_1, ROOT_2 * anchor_2 - anchor_1
    # At fixed u2 the quadratic term has its minimum in u1 at start_1 + (u2 - start_2)/3.
    n1 = _pair_axis(start_1, end_1, abs(end_2 - start_2) / 3.0, out_1, s1, beta, u1, r1)
    n2 = _pair_axis(start_2, end_2, abs(end_1 - start_1) / 3.0, out_2, s2, beta, u2, r2)
    for i in range(n1):
        d1 = u1[i] - start_1
        for j in range(n2):
            d2 = u2[j] - start_2
            # |e - z|^2 in the row variables.
            distance = 0.375 * (d1 * d1 + d2 * d2) - 0.25 * d1 * d2
            table[i, j] = 0.5 * distance + 2.0 * Sigma * (r1[i] * r1[i] + r2[j] * r2[j])
    found = 0
    for i in range(n1):
        for j in range(n2):
            here = table[i, j]
            left, right, down, up = i > 0, i + 1 < n1, j > 0, j + 1 < n2
            if (left and table[i - 1, j] < here) or (right and table[i + 1, j] < here):
                continue
            if (down and table[i, j - 1] < here) or (up and table[i, j + 1] < here):
                continue
            if left and ((down and table[i - 1, j - 1] < here) or (up and table[i - 1, j + 1] < here)):
                continue
            if right and ((down and table[i + 1, j - 1] < here) or (up and table[i + 1, j + 1] < here)):
                continue
            if found < scan.e1.size - 2:
                scan.e1[found] = 0.5 * (u1[i] - u2[j])
                scan.e2[found] = (u1[i] + u2[j]) / (2.0 * ROOT_2)
                found += 1
    return found


class Scan(NamedTuple):
    """Scratch space of `pair_prox`: the two axes, the table of the objective, the starts found in it."""

    u1: Floats
    r1: Floats
    u2: Floats
    r2: Floats
    table: Floats
    e1: Floats
    e2: Floats


@njit(cache=True)
def scan_space():  # type: ignore[no-untyped-def]
    """Allocate the scratch space once for many calls."""
    n = BENDS.size + 2
    return Scan(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty((n, n)), np.empty(8), np.empty(8))


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def pair_label(anchor_1, anchor_2, beta):  # type: ignore[no-untyped-def]
    """What the two rows of a label say: the sigmoids at the point of zero loss."""
    s1 = 1.0 / (1.0 + np.exp(-beta * (ROOT_2 * anchor_2 + anchor_1)))
    s2 = 1.0 / (1.0 + np.exp(-beta * (ROOT_2 * anchor_2 - anchor_1)))
    return s1, s2


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def is_lowest(value, Sigma, beta):  # type: ignore[no-untyped-def]
    """Whether a minimum of ``|e-z|^2/2 + Sigma l(e)`` of this `value` is proven to be the only one as low.

    Call the value v. Wherever the objective is no higher, ``l <= v/Sigma`` and so each row misses its label by
    ``|r| <= R``, ``2 R^2 = v/Sigma``. These points lie in a box of the row variables, and in it each row's curvature is
    above ``-4 beta^2 R/(6 sqrt(3))``, where ``p (1-p) |1-2p|`` is largest. The two together weigh at most four times
    that, so the objective is convex in the box, with one minimum, if ``16 Sigma beta^2 R/(6 sqrt(3)) < 1``.

    Equation: derived, from the curvature of `pair_terms`.
    Checked: tests/models/attention/channels/test_pair_prox.py::test_a_minimum_proven_lowest_is_the_proximal_point
    """
    return STEEPEST * Sigma * beta**4 * value < 1.0 or Sigma * beta * beta <= CONVEX_PAIR


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def pair_minimum(anchor_1, anchor_2, s1, s2, z1, z2, Sigma, beta, scan):  # type: ignore[no-untyped-def]
    """Where ``|e-z|^2/2 + Sigma l(e)`` is least, its value and terms there, and one where other minima were seen."""
    e1, e2, value, terms = pair_newton(z1, z2, z1, z2, s1, s2, Sigma, beta, np.inf)
    if is_lowest(value, Sigma, beta):
        return e1, e2, value, terms, 0.0
    other = 0.0
    found = _pair_scan(z1, z2, anchor_1, anchor_2, s1, s2, Sigma, beta, scan)
    reach = 0.5 / beta  # stay in the basin where the table saw a minimum
    scan.e1[found], scan.e2[found] = anchor_1, anchor_2
    starts = found + 1 if Sigma * beta * beta > RUGGED else found
    for k in range(starts):
        step = reach if k < found else np.inf
        a1, a2, other_value, other_terms = pair_newton(scan.e1[k], scan.e2[k], z1, z2, s1, s2, Sigma, beta, step)
        if (a1 - e1) ** 2 + (a2 - e2) ** 2 > 1e-10 * (1.0 + e1 * e1 + e2 * e2):
            other = 1.0
        if other_value < value:
            e1, e2, value, terms = a1, a2, other_value, other_terms
    return e1, e2, value, terms, other


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def pair_prox(anchor_1, anchor_2, z1, z2, Sigma, beta, report, scan):  # type: ignore[no-untyped-def]
    """Proximal map of two tokens in its two active directions; fill `report`, return ``f`` in them."""
    s1, s2 = pair_label(anchor_1, anchor_2, beta)
    _, _, _, terms, other = pair_minimum(anchor_1, anchor_2, s1, s2, z1, z2, Sigma, beta, scan)
    report[OTHER_MINIMUM] = other
    return pair_report(terms, s1, s2, z1, z2, Sigma, beta, report)[0]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def pair_report(terms, s1, s2, z1, z2, Sigma, beta, report):  # type: ignore[no-untyped-def]
    """Fill `report` but for other minima, from the terms at a minimum; return f, ``-df/dz`` and the slope at z."""
    loss, k1, k2, c1, c2, p1, p2 = terms
    total, difference = c1 + c2, c1 - c2
    # Curvature H of the loss, A = (1 + Sigma H)^-1, and the cross derivative C of the gradient in the anchor.
    H11, H22, H12 = total, 2.0 * total, ROOT_2 * difference
    determinant = (1.0 + Sigma * H11) * (1.0 + Sigma * H22) - (Sigma * H12) ** 2
    A11, A22, A12 = (
        (1.0 + Sigma * H22) / determinant,
        (1.0 + Sigma * H11) / determinant,
        -Sigma * H12 / determinant,
    )
    x1 = -4.0 * beta * p1 * (1.0 - p1) * beta * s1 * (1.0 - s1)
    x2 = -4.0 * beta * p2 * (1.0 - p2) * beta * s2 * (1.0 - s2)
    C11, C22, C12 = x1 + x2, 2.0 * (x1 + x2), ROOT_2 * (x1 - x2)
    B11, B12 = H11 * A11 + H12 * A12, H11 * A12 + H12 * A22
    B22 = H12 * A12 + H22 * A22
    report[TRACE_Z] = -(B11 + B22)
    report[TRACE_ANCHOR] = -(A11 * C11 + 2.0 * A12 * C12 + A22 * C22)
    report[SQUARE_Z] = B11 * B11 + 2.0 * B12 * B12 + B22 * B22
    report[LOSS_AT_P] = loss
    report[LOSS_AT_Z], g1, g2 = pair_terms(z1, z2, s1, s2, beta)[:3]
    return (-(k1 - k2), -ROOT_2 * (k1 + k2)), (B11, B12, B22), (g1 - g2, ROOT_2 * (g1 + g2))


@njit(cache=True, nogil=True, error_model="numpy")
def pairs_prox(anchor, z, Sigma, beta, f, report):  # type: ignore[no-untyped-def]
    """Proximal map of two tokens for each row of the three components; write ``f`` and the report of each row."""
    scan = scan_space()
    for row in range(z.shape[0]):
        anchor_1 = (anchor[row, 0] - anchor[row, 2]) / ROOT_2
        anchor_2 = 0.5 * (anchor[row, 0] + anchor[row, 2] - ROOT_2 * anchor[row, 1])
        z1 = (z[row, 0] - z[row, 2]) / ROOT_2
        z2 = 0.5 * (z[row, 0] + z[row, 2] - ROOT_2 * z[row, 1])
        f1, f2 = pair_prox(anchor_1, anchor_2, z1, z2, Sigma, beta, report[row], scan)
        f[row, 0] = f1 / ROOT_2 + 0.5 * f2
        f[row, 1] = -f2 / ROOT_2
        f[row, 2] = -f1 / ROOT_2 + 0.5 * f2


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def pairs_messages(anchor, labels, z, Sigma, beta, before, f):  # type: ignore[no-untyped-def]
    """Write ``f = (p - omega)/Sigma``, p the proximal point of ``omega = z - Sigma before``, of each row.

    Newton starts from z, where p is when the messages have settled; a stationary point that is not proven to be the
    lowest is not taken, and the whole proximal map is asked. `labels` are the outputs at the anchor. Return the sums of
    ``tr df/domega`` and of the losses at z.
    """
    scan, report = scan_space(), np.empty(REPORTED)
    traces, losses = 0.0, 0.0
    for row in range(z.shape[0]):
        s1, s2 = labels[row, 0, 0], labels[row, 1, 1]
        e1 = (z[row, 0] - z[row, 2]) / ROOT_2
        e2 = 0.5 * (z[row, 0] + z[row, 2] - ROOT_2 * z[row, 1])
        omega_1 = e1 - Sigma * (before[row, 0] - before[row, 2]) / ROOT_2
        omega_2 = e2 - Sigma * 0.5 * (before[row, 0] + before[row, 2] - ROOT_2 * before[row, 1])
        loss, k1, k2, c1, c2, _, _ = pair_terms(e1, e2, s1, s2, beta)
        losses += loss
        settled = False
        for _ in range(QUICK_STEPS):
            g1 = e1 - omega_1 + Sigma * (k1 - k2)
            g2 = e2 - omega_2 + Sigma * ROOT_2 * (k1 + k2)
            h11, h22, h12 = 1.0 + Sigma * (c1 + c2), 1.0 + 2.0 * Sigma * (c1 + c2), Sigma * ROOT_2 * (c1 - c2)
            determinant = h11 * h22 - h12 * h12
            if not (h11 > 0.0 and determinant > 0.0):
                break
            d1, d2 = (h22 * g1 - h12 * g2) / determinant, (h11 * g2 - h12 * g1) / determinant
            e1 -= d1
            e2 -= d2
            loss, k1, k2, c1, c2, _, _ = pair_terms(e1, e2, s1, s2, beta)
            if d1 * d1 + d2 * d2 < SETTLED * (1.0 + e1 * e1 + e2 * e2):
                settled = True
                break
        value = 0.5 * ((e1 - omega_1) ** 2 + (e2 - omega_2) ** 2) + Sigma * loss
        if settled and is_lowest(value, Sigma, beta):
            f1, f2 = -(k1 - k2), -ROOT_2 * (k1 + k2)
            # H = [[c1 + c2, sqrt2 (c1 - c2)], [., 2 (c1 + c2)]]: trace 3 (c1 + c2), determinant 8 c1 c2.
            trace, product = 3.0 * (c1 + c2), 8.0 * c1 * c2
            traces -= (trace + 2.0 * Sigma * product) / (1.0 + Sigma * trace + Sigma * Sigma * product)
        else:
            anchor_1 = (anchor[row, 0] - anchor[row, 2]) / ROOT_2
            anchor_2 = 0.5 * (anchor[row, 0] + anchor[row, 2] - ROOT_2 * anchor[row, 1])
            f1, f2 = pair_prox(anchor_1, anchor_2, omega_1, omega_2, Sigma, beta, report, scan)
            traces += report[TRACE_Z]
        f[row, 0] = f1 / ROOT_2 + 0.5 * f2
        f[row, 1] = -f2 / ROOT_2
        f[row, 2] = -f1 / ROOT_2 + 0.5 * f2
    return traces, losses
