"""The proximal map of one column and a linear output: exact, and the global minimum, by a secular equation.

Everything is in the eigenbasis of what is seen, ``B = chi_0 chi_0' - q_0 + sqrt(Delta) N``, which does not depend on
the state: a sample is its eigenvalues and two vectors.
"""

from __future__ import annotations

from presage.protocol.njit import njit

SUMS = 8  # what `linear_sums` adds up over the samples
CLOSE = 1e-14  # relative, of the root
MOST = 200


@njit(cache=True)
def secular_root(field, a, v, start):  # type: ignore[no-untyped-def]
    """``s = |p|^2`` of the minimum of ``|A - p p'|^2 + |p - omega|^2/(2v)``, a the eigenvalues of A.

        sum_i omega_i^2/(1 + 4 v (s - a_i))^2 = s,   s > max(0, a_max - 1/(4 v))

    Equation: derived: stationarity ``(1 + 4 v (s - a_i)) p_i = omega_i``; the left side falls, so the root is one.
    Checked: tests/models/lora/test_prox.py::test_the_secular_root_is_the_global_minimum
    """
    top, size = a[0], 0.0
    for i in range(len(a)):
        top = max(top, a[i])
        size += field[i] * field[i]
    low = max(0.0, top - 0.25 / v)
    high = max(top, 0.0) + size
    s = start if low < start < high else 0.5 * (low + high)
    for _ in range(MOST):
        excess, slope = -s, -1.0
        for i in range(len(a)):
            u = 1.0 / (1.0 + 4.0 * v * (s - a[i]))
            square = field[i] * field[i] * u * u
            excess += square
            slope -= 8.0 * v * square * u
        if excess > 0.0:
            low = s
        else:
            high = s
        new = s - excess / slope
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - s) <= CLOSE * (abs(new) + 1e-300) or high - low <= CLOSE * high:
            return new
        s = new
    return s


@njit(cache=True)
def linear_sums(values, chi, xi, m, q, v, q_0, roots, out):  # type: ignore[no-untyped-def]
    """Sums over samples of the proximal map ``p`` of ``omega = (m/q_0) chi_0 + sqrt(q - m^2/q_0) xi``.

    With ``g = (p - omega)/v`` these are ``|g|^2``, the traces of ``dg/dchi_0`` and of ``dg/domega``, ``g.omega``,
    ``Tr h = 2 Tr(p p' - A)``, the loss ``|A - p p'|^2``, ``|1 - dp/domega|_F^2`` and ``g.chi_0``. `roots` has where to
    begin each search and is left with what was found.
    """
    n, T = values.shape
    along, across = m / q_0, max(q - m * m / q_0, 0.0) ** 0.5
    for k in range(SUMS):
        out[k] = 0.0
    field = values[0].copy()
    a = values[0].copy()
    for sample in range(n):
        for i in range(T):
            field[i] = along * chi[sample, i] + across * xi[sample, i]
            a[i] = values[sample, i] + q
        s = secular_root(field, a, v, roots[sample])
        roots[sample] = s
        # H = 4 (s - a) + 8 p p' + 1/v in this basis, and its inverse by Sherman and Morrison.
        squares, with_target, trace, bent, bent_target = 0.0, 0.0, 0.0, 0.0, 0.0
        loss, trace_h, u_squares, bent_squares = s * s, 0.0, 0.0, 0.0
        pull, pull_field, pull_target = 0.0, 0.0, 0.0
        for i in range(T):
            u = 1.0 / (1.0 + 4.0 * v * (s - a[i]))
            p = u * field[i]
            g = (p - field[i]) / v
            squares += g * g
            with_target += chi[sample, i] * p
            trace += u
            pull += u * p * p
            bent += (u * p) * (u * p)
            bent_target += u * p * chi[sample, i]
            u_squares += (1.0 - u) * (1.0 - u)
            bent_squares += (1.0 - u) * (u * p) * (u * p)
            loss += a[i] * a[i] - 2.0 * a[i] * p * p
            trace_h += 2.0 * (p * p - a[i])
            pull_field += g * field[i]
            pull_target += g * chi[sample, i]
        c = 8.0 * v / (1.0 + 8.0 * v * pull)
        response = trace - c * bent  # trace of dp/domega = H^-1/v
        # dp/dchi_0 = 4 H^-1 (chi_0.p + chi_0 p'), and its trace over v is that of dg/dchi_0
        out[0] += squares
        out[1] += 4.0 * (with_target * response + bent_target - c * pull * bent_target)
        out[2] += (response - T) / v
        out[3] += pull_field
        out[4] += trace_h
        out[5] += loss
        out[6] += u_squares + 2.0 * c * bent_squares + c * c * bent * bent
        out[7] += pull_target
