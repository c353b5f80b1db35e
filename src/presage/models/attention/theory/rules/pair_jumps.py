"""Where the proximal map of two tokens jumps along a line, and what a jump gives to averages; compiled.

Lines that are to be cut have ``b2 = t`` and a fixed label. Along them the least value ``V(t)`` of the proximal problem,
less ``z^2/2``, is a minimum of functions linear in t, so that p moves to one side only. Where it jumps, two minima A
and B have one value, ``D = V_A - V_B = 0`` with ``dD/dt = sigma (p_B - p_A)_2``: Newton's method finds the cut.
"""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.pair_prox import pair_report
from presage.models.attention.channels.prox_report import LOSS_AT_P, REPORTED, ROOT_2, SQUARE_Z
from presage.models.attention.theory.rules.pair_places import (
    NUMBERS,
    are_apart,
    followed,
    is_rough,
    lowest_at,
    sample_at,
    store,
    stored,
    terms_of,
)
from presage.protocol.njit import njit

HALVINGS = 3  # of a rough interval, before what is still rough is taken for a jump
CUT = 1e-9  # accuracy of where a line is cut

# What is summed over jumps: the slopes in z and in the anchor, |f_B - f_A|^2 over the surface, and the derivatives of
# f.a, f.b, |f|^2, l(p), |df/dz|^2 (rows) in mean, sigma, Sigma (columns).
JUMP_SLOPE, JUMP_ANCHOR, JUMP_SQUARE, JUMP_DERIVATIVES = 0, 1, 2, 3
JUMPED = JUMP_DERIVATIVES + 15


@njit(cache=True, error_model="numpy")
def _jump_between(line, setting, left, right, scan):  # type: ignore[no-untyped-def]
    """Where the lowest minimum changes from that of `left` to that of `right`: both there, and whether they differ."""
    t = 0.5 * (left.t + right.t)
    for _ in range(60):
        A, value_A = followed(line, setting, left, t)
        B, value_B = followed(line, setting, right, t)
        ahead = B.e2 - A.e2
        if are_apart(A, B, setting.beta) and ahead > 0.0:
            # D = V_A - V_B grows at the rate sigma (p_B - p_A)_2.
            excess = value_A - value_B
            new = t - excess / (setting.sigma * ahead)
            if abs(new - t) < CUT:
                return A, B, True
            if excess < 0.0:
                left = A
            else:
                right = B
            t = new if left.t < new < right.t else 0.5 * (left.t + right.t)
        else:
            # One of them has ended before t: the lowest minimum says which.
            C, _, _ = lowest_at(line, setting, t, scan)
            from_left = (C.e1 - left.e1) ** 2 + (C.e2 - left.e2) ** 2
            from_right = (C.e1 - right.e1) ** 2 + (C.e2 - right.e2) ** 2
            if from_left < from_right:
                left = C
            else:
                right = C
            t = 0.5 * (left.t + right.t)
        if right.t - left.t < CUT:
            break
    return left, right, are_apart(left, right, setting.beta) and right.e2 > left.e2


@njit(cache=True, error_model="numpy")
def _break(breaks, found, place):  # type: ignore[no-untyped-def]
    """Begin a new piece at a place where nothing jumps, unless one begins there already; return how many breaks."""
    if found > 0 and place.t <= breaks[found - 1, NUMBERS]:
        return found
    store(breaks[found, :NUMBERS], place)
    store(breaks[found, NUMBERS : 2 * NUMBERS], place)
    breaks[found, 2 * NUMBERS] = 0.0
    return found + 1


@njit(cache=True, error_model="numpy")
def breaks_of(line, setting, places, breaks, stack, scan):  # type: ignore[no-untyped-def]
    """Where pieces end, ascending, as rows (A, B, whether p jumps from A to B); return how many.

    Intervals between places are halved where p is rough, and what is still rough then is cut where it jumps; pieces
    become shorter towards there.
    """
    found = 0
    for k in range(1, places.shape[0]):
        store(stack[0, :NUMBERS], stored(places[k - 1]))
        store(stack[0, NUMBERS : 2 * NUMBERS], stored(places[k]))
        stack[0, 2 * NUMBERS] = 0.0
        depth = 1
        while depth > 0 and found < breaks.shape[0] - 3:
            depth -= 1
            left, right, halvings = (
                stored(stack[depth, :NUMBERS]),
                stored(stack[depth, NUMBERS : 2 * NUMBERS]),
                stack[depth, 2 * NUMBERS],
            )
            rough = is_rough(left, right, setting)
            if not rough and halvings == 0.0:
                continue
            found = _break(breaks, found, left)
            if rough and halvings < HALVINGS:
                middle, _, _ = lowest_at(line, setting, 0.5 * (left.t + right.t), scan)
                # The left half is on top, so that breaks come in order.
                store(stack[depth, :NUMBERS], middle)
                store(stack[depth, NUMBERS : 2 * NUMBERS], right)
                store(stack[depth + 1, :NUMBERS], left)
                store(stack[depth + 1, NUMBERS : 2 * NUMBERS], middle)
                stack[depth, 2 * NUMBERS] = stack[depth + 1, 2 * NUMBERS] = halvings + 1.0
                depth += 2
                continue
            if rough:
                A, B, jumps = _jump_between(line, setting, left, right, scan)
                store(breaks[found, :NUMBERS], A)
                store(breaks[found, NUMBERS : 2 * NUMBERS], B)
                breaks[found, 2 * NUMBERS] = 1.0 if jumps else 0.0
                found += 1
            found = _break(breaks, found, right)
    return found


@njit(cache=True, error_model="numpy")
def add_jump(jumped, weight, line, setting, A, B):  # type: ignore[no-untyped-def]
    """Add what a jump from A to B gives to slopes and derivatives.

    Where ``D(x) = V_A - V_B`` changes sign, ``dF/dx`` has the point mass ``(F_B - F_A) delta(D) dD/dx``, and along the
    line ``delta(D)`` is one over ``dD/dt = sigma (p_B - p_A)_2``; ``dD/dz = p_B - p_A``, ``dD/dSigma = l_A - l_B``, and
    ``dD/d(anchor) = Sigma (dl_A - dl_B)/d(anchor)``.
    """
    Sigma, beta = setting.Sigma, setting.beta
    t = 0.5 * (A.t + B.t)
    report_A, report_B = np.empty(REPORTED), np.empty(REPORTED)
    s1, s2, z2 = A.s1, A.s2, sample_at(line, setting, t).z2
    f_A, _, _ = pair_report(terms_of(A), s1, s2, line.z1, z2, Sigma, beta, report_A)
    f_B, _, _ = pair_report(terms_of(B), s1, s2, line.z1, z2, Sigma, beta, report_B)
    p1, p2 = B.e1 - A.e1, B.e2 - A.e2
    f1, f2 = f_B[0] - f_A[0], f_B[1] - f_A[1]
    mass = weight * np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi) / (setting.sigma * p2)
    jumped[JUMP_SLOPE] += mass * (f1 * p1 + f2 * p2)
    # The slope of a row's loss 2 (out - s)^2 in its own anchor is -4 (out - s) ds.
    x1 = -4.0 * beta * s1 * (1.0 - s1) * (A.output_1 - B.output_1)
    x2 = -4.0 * beta * s2 * (1.0 - s2) * (A.output_2 - B.output_2)
    jumped[JUMP_ANCHOR] += mass * Sigma * (f1 * (x1 - x2) + f2 * ROOT_2 * (x1 + x2))
    jumped[JUMP_SQUARE] += mass * (f1 * f1 + f2 * f2) * np.sqrt(p1 * p1 + p2 * p2)
    along_mean = p1 * line.a1 + p2 * line.a2
    along_sigma = p1 * line.b1 + p2 * t
    along_Sigma = report_A[LOSS_AT_P] - report_B[LOSS_AT_P]
    changes = (
        f1 * line.a1 + f2 * line.a2,
        f1 * line.b1 + f2 * t,
        f_B[0] ** 2 + f_B[1] ** 2 - f_A[0] ** 2 - f_A[1] ** 2,
        report_B[LOSS_AT_P] - report_A[LOSS_AT_P],
        report_B[SQUARE_Z] - report_A[SQUARE_Z],
    )
    for k in range(len(changes)):
        jumped[JUMP_DERIVATIVES + 3 * k] += mass * changes[k] * along_mean
        jumped[JUMP_DERIVATIVES + 3 * k + 1] += mass * changes[k] * along_sigma
        jumped[JUMP_DERIVATIVES + 3 * k + 2] += mass * changes[k] * along_Sigma
