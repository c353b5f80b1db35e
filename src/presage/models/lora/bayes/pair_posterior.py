"""Posterior of the projections of the new target in one sample of a softmax over two tokens."""

from __future__ import annotations

from math import exp, log, sqrt

from presage.protocol.njit import njit

FAR = 40.0  # a weight of exp(-FAR) beside the largest counts for nothing


@njit(cache=True)
def pair_moments(crossed, along, fields, V, noise, out):  # type: ignore[no-untyped-def]
    """Posterior moments ``E s, E d, E s^2, E s d, E d^2`` of ``chi = (s, d)``, s along (1, 1)/sqrt(2) and d across.

    A label of a softmax gives the scores up to a common shift, that is all of ``A = chi chi' + sqrt(noise) N`` but its
    component along (1, 1): `crossed` is ``A_sd`` and `along` is ``A_dd``.

        p(s, d) ~ exp[-(2 (s d - A_sd)^2 + (d^2 - A_dd)^2)/(4 Delta) - |chi - omega|^2/(2V)]

    Given d, s is Gaussian with precision ``1/V + d^2/Delta`` and field ``omega_s/V + d A_sd/Delta``; d is summed over
    by the trapezoid rule.

    Equation: derived: the component of the noise along (1, 1) is not seen.
    Checked: tests/models/lora/test_bayes.py::test_posterior_moments_of_a_pair_by_brute_force
    """
    for k in range(len(crossed)):
        s_0, d_0 = fields[k, 0], fields[k, 1]
        A_sd, A_dd = crossed[k], along[k]
        # What is seen can outweigh its weight at d_0 by this much, and no d further from there counts.
        P, F = 1.0 / V + d_0 * d_0 / noise, s_0 / V + d_0 * A_sd / noise
        here = -d_0 * d_0 * (d_0 * d_0 - 2.0 * A_dd) / (4.0 * noise) + 0.5 * F * F / P - 0.5 * s_0 * s_0 / V
        most = (0.25 * A_dd * A_dd + 0.5 * A_sd * A_sd) / noise - here + 0.5 * log(V * P) + FAR
        reach = sqrt(2.0 * V * most)
        low, high = d_0 - reach, d_0 + reach
        width = 1.0 / sqrt(1.0 / V + (2.0 * max(A_dd, 0.0) + abs(A_sd)) / noise)
        step = min(0.5 * width, sqrt(noise / V) / 5.0)
        count = int((high - low) / step) + 2
        largest = -1e300
        for turn in range(2):
            Z, one, two, three, four, five = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(count):
                d = low + j * step
                P = 1.0 / V + d * d / noise
                F = s_0 / V + d * A_sd / noise
                weight = -d * d * (d * d - 2.0 * A_dd) / (4.0 * noise) - (d - d_0) ** 2 / (2.0 * V)
                weight += 0.5 * F * F / P - 0.5 * log(P)
                if turn == 0:
                    largest = max(largest, weight)
                    continue
                if weight < largest - FAR:
                    continue
                weight = exp(weight - largest)
                s = F / P
                Z += weight
                one += weight * s
                two += weight * d
                three += weight * (1.0 / P + s * s)
                four += weight * s * d
                five += weight * d * d
            if turn == 1:
                out[k, 0], out[k, 1], out[k, 2] = one / Z, two / Z, three / Z
                out[k, 3], out[k, 4] = four / Z, five / Z
