"""Sums over samples of two tokens along lines, cut where the proximal map jumps; compiled.

A line is a Gauss-Hermite rule along which the proximal point is followed by continuity. Where it is cut, each piece
between two cuts is a Gauss-Legendre rule of its own.
"""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.pair_prox import CONVEX_PAIR, is_lowest, scan_space
from presage.models.attention.channels.prox_report import OTHER_MINIMUM, REPORTED
from presage.models.attention.theory.rules.pair_jumps import HALVINGS, JUMPED, add_jump, breaks_of
from presage.models.attention.theory.rules.pair_places import (
    NUMBERS,
    Line,
    are_apart,
    followed,
    is_rough,
    lowest_at,
    store,
    stored,
    terms_of,
)
from presage.models.attention.theory.rules.sample_sums import SUMMED, add_sample
from presage.protocol.njit import njit

STRIDE = 4  # nodes of a line from one at which all minima are looked for, unless proven the lowest, to the next
MOST_BREAKS = 96  # of a line
END = 6.5  # where lines end
LEAST = 4  # nodes of a piece, beside those for its length


@njit(cache=True, error_model="numpy")
def _add(total, report, weight, line, setting, place):  # type: ignore[no-untyped-def]
    t = place.t
    a2, b2 = line.a2 + t * setting.slope_a, line.b2 + t * setting.slope_b
    z = (line.z1, setting.mean * a2 + setting.sigma * b2)
    point, label = (line.a1, a2, line.b1, b2), (place.s1, place.s2)
    add_sample(total, report, weight, point, terms_of(place), label, z, setting.Sigma, setting.beta)


@njit(cache=True, error_model="numpy")
def _add_pieces(total, report, weight, line, setting, start, breaks, count, legendre, density):  # type: ignore[no-untyped-def]
    """Integrate between the breaks, each piece along its own minimum, from the first place of the line."""
    place = start
    for piece in range(count + 1):
        left, right = place.t, END
        if piece < count:
            right = breaks[piece, 0]
        length = right - left
        if length > 0.0:
            m = min(legendre.shape[1] - 1, LEAST + int(np.ceil(length * density)))
            for k in range(m):
                t = left + length * legendre[0, m, k]
                place, _ = followed(line, setting, place, t)
                share = length * legendre[1, m, k] * np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi)
                _add(total, report, weight * share, line, setting, place)
        if piece < count:
            place = stored(breaks[piece, NUMBERS : 2 * NUMBERS])


@njit(cache=True, error_model="numpy")
def _follow(line, setting, nodes, weights, first, last, places, scan):  # type: ignore[no-untyped-def]
    """Follow the minimum from node to node, into `places`; return whether it moves smoothly and is the lowest.

    The second number returned is the share of nodes that have other minima, of those at which they are looked for.
    """
    convex = setting.Sigma * setting.beta**2 <= CONVEX_PAIR
    place, _, other = lowest_at(line, setting, nodes[first], scan)
    store(places[first], place)
    seen, looked_at = weights[first] * other, weights[first]
    for k in range(first + 1, last + 1):
        new, value = followed(line, setting, place, nodes[k])
        if not convex:
            if is_rough(place, new, setting):
                return False, seen
            if is_lowest(value, setting.Sigma, setting.beta):
                looked_at += weights[k]
            elif (k - first) % STRIDE == 0 or k == last:
                lowest, least, other = lowest_at(line, setting, nodes[k], scan)
                if least < value and are_apart(lowest, new, setting.beta):
                    return False, seen
                seen += weights[k] * other
                looked_at += weights[k]
        place = new
        store(places[k], place)
    return True, seen / looked_at


@njit(cache=True, error_model="numpy")
def _look_everywhere(line, setting, nodes, weights, first, last, places, scan):  # type: ignore[no-untyped-def]
    """Write the lowest minimum at each node into `places`; return the share of nodes that have other minima."""
    seen = looked_at = 0.0
    for k in range(first, last + 1):
        place, _, other = lowest_at(line, setting, nodes[k], scan)
        store(places[k], place)
        seen += weights[k] * other
        looked_at += weights[k]
    return seen / looked_at


@njit(cache=True, error_model="numpy")
def _look(line, setting, nodes, weights, first, last, places, scan):  # type: ignore[no-untyped-def]
    """Write the lowest minimum at every other node and at both ends of the line into `places`.

    Return how many places there are, and the share of nodes that have other minima.
    """
    start, _, _ = lowest_at(line, setting, -END, scan)
    store(places[0], start)
    count, seen, looked_at = 1, 0.0, 0.0
    for k in range(first, last + 1, 2):
        place, _, other = lowest_at(line, setting, nodes[k], scan)
        store(places[count], place)
        count += 1
        seen += weights[k] * other
        looked_at += weights[k]
    end, _, _ = lowest_at(line, setting, END, scan)
    store(places[count], end)
    return count + 1, seen / looked_at


@njit(cache=True, error_model="numpy")
def pair_lines(outer, lightest, nodes, weights, legendre, density, setting):  # type: ignore[no-untyped-def]
    """Sum over all lines ``(a1, b1, a2, b2, weight)`` of `outer`; return the sums over samples and over jumps.

    `nodes` and `weights` are the Gauss-Hermite rule of a line without jumps; samples lighter than `lightest` are left
    out. `legendre` are the rules of pieces by their number of nodes, `density` that number a unit of length; where
    there are none, lines are not cut, and the lowest minimum is looked for at every node of a line that jumps.
    """
    total, jumped = np.zeros(SUMMED), np.zeros(JUMPED)
    report, scan = np.zeros(REPORTED), scan_space()  # other minima are counted at the nodes of lines, not here
    places = np.empty((nodes.size + 2, NUMBERS))
    breaks, stack = np.empty((MOST_BREAKS, 2 * NUMBERS + 1)), np.empty((2 * HALVINGS + 4, 2 * NUMBERS + 1))
    for i in range(outer.shape[0]):
        a1, b1, a2, b2, weight = outer[i]
        first = 0
        while weight * weights[first] < lightest:
            first += 1
        last = nodes.size - 1 - first
        line = Line(a1, b1, a2, b2, setting.mean * a1 + setting.sigma * b1)
        smooth, seen = _follow(line, setting, nodes, weights, first, last, places, scan)
        if not smooth and legendre.shape[1] == 0:
            seen = _look_everywhere(line, setting, nodes, weights, first, last, places, scan)
        if smooth or legendre.shape[1] == 0:
            total[OTHER_MINIMUM] += weight * seen
            for k in range(first, last + 1):
                _add(total, report, weight * weights[k], line, setting, stored(places[k]))
            continue
        known, seen = _look(line, setting, nodes, weights, first, last, places, scan)
        total[OTHER_MINIMUM] += weight * seen
        count = breaks_of(line, setting, places[:known], breaks, stack, scan)
        for k in range(count):
            if breaks[k, 2 * NUMBERS] > 0.0:
                add_jump(
                    jumped,
                    weight,
                    line,
                    setting,
                    stored(breaks[k, :NUMBERS]),
                    stored(breaks[k, NUMBERS : 2 * NUMBERS]),
                )
        _add_pieces(total, report, weight, line, setting, stored(places[0]), breaks, count, legendre, density)
    return total, jumped
