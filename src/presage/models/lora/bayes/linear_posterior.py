"""Posterior of the projections of the new target in one sample of a linear output, by a one-dimensional integral."""

from __future__ import annotations

from dataclasses import dataclass
from math import atan, cos, exp, log, sin
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.njit import njit

REACH = 5.5  # of the integral, in units of 1/sqrt(noise): exp(-30) is left beyond
FINE = 12.0  # steps in the distance of the nearest pole, whose tail is heavy
NARROW = 0.5  # a step at most, in the width of the saddle: that of a sharp belief is far narrower than its pole is far
NEGLIGIBLE = 1e-17


@njit(cache=True)
def linear_moments(values, fields, V, noise, means, squares):  # type: ignore[no-untyped-def]
    """Posterior means and second moments of chi in the eigenbasis of what is seen, ``A = chi chi' + sqrt(noise) N``.

        p(chi) ~ exp[-(|chi|^4 - 2 chi'A chi)/(4 Delta) - |chi - omega|^2/(2V)]

    The fourth power is a Gaussian integral, ``exp(-s^2/(4 Delta)) ~ int dt exp(-Delta t^2 + i t s)``; at
    ``t = u + i tau`` chi is Gaussian with precisions ``G_i = 1/V - a_i/Delta + 2 tau - 2 i u`` and the weight

        exp[-Delta t^2 + sum_i (-log(G_i)/2 + b_i^2/(2 G_i))],  b = omega/V

    is integrated over u by the trapezoid rule, tau where it is largest on the imaginary axis. The step is small beside
    the distance of the nearest pole, which counts where V is large, and beside the width of the saddle, which counts
    where V is small and the pole is as far as 1/V: means are off by 6e-8 at most for V from 1e-4 to 0.7 and noise from
    1e-3 to 1. Off the diagonal second moments vanish at ``omega = 0`` only; `squares` has the diagonal.

    Equation: derived: Hubbard and Stratonovich's identity.
    Checked: tests/models/lora/test_bayes.py::test_posterior_moments_of_a_sample_by_brute_force
    """
    n, T = values.shape
    b, x = np.empty(T), np.empty(T)
    for k in range(n):
        least = 1e300
        for i in range(T):
            b[i] = fields[k, i] / V
            x[i] = 1.0 / V - values[k, i] / noise
            least = min(least, x[i])
        # the root of the slope in tau, which rises from minus infinity at the first pole
        low, high, tau = -0.5 * least, 1e300, max(-0.5 * least, 0.0) + 0.5 / V
        for _ in range(200):
            slope, bend = 2.0 * noise * tau, 2.0 * noise
            for i in range(T):
                G = x[i] + 2.0 * tau
                slope -= 1.0 / G + b[i] * b[i] / (G * G)
                bend += 2.0 / (G * G) + 4.0 * b[i] * b[i] / (G * G * G)
            if slope > 0.0:
                high = tau
            else:
                low = tau
            new = tau - slope / bend
            if not low < new < high:
                new = 0.5 * (low + high) if high < 1e300 else 2.0 * tau - low + 1.0
            if abs(new - tau) <= 1e-12 * (1.0 + abs(tau)):
                break
            tau = new
        for i in range(T):
            x[i] += 2.0 * tau
            means[k, i] = 0.0
            squares[k, i] = 0.0
        nearest = least + 2.0 * tau
        step, total, u, weight = min(nearest / FINE, NARROW / bend**0.5), 0.0, 0.0, 0.5
        while u <= REACH / noise**0.5:
            size, phase, product = -noise * u * u, -2.0 * noise * u * tau, 1.0
            for i in range(T):
                whole = x[i] * x[i] + 4.0 * u * u
                product *= whole / (x[i] * x[i])
                size += 0.5 * b[i] * b[i] * (x[i] / whole - 1.0 / x[i])
                phase += 0.5 * atan(2.0 * u / x[i]) + b[i] * b[i] * u / whole
            size = exp(size - 0.25 * log(product))
            if size < NEGLIGIBLE:
                break
            real, imaginary = weight * size * cos(phase), weight * size * sin(phase)
            total += real
            for i in range(T):
                whole = x[i] * x[i] + 4.0 * u * u
                over, under = x[i] / whole, 2.0 * u / whole  # 1/G
                means[k, i] += b[i] * (real * over - imaginary * under)
                squares[k, i] += real * over - imaginary * under
                squares[k, i] += b[i] * b[i] * (real * (over * over - under * under) - imaginary * 2.0 * over * under)
            u, weight = u + step, 1.0
        for i in range(T):
            means[k, i] /= total
            squares[k, i] /= total


@final
@dataclass(frozen=True)
class LinearPosterior:
    """What a sample of a linear output says about the new target, for message passing."""

    slope: float  # M/Q, of the target's scores on the frozen ones
    noise: float  # variance of a component that the frozen scores leave
    strength: float  # |w_0|^2/d

    def moments(self, seen: Floats, omega: Floats, V: float) -> tuple[Floats, Floats]:
        """Posterior means (n x T) and traces of the posterior covariances, given ``chi chi'`` with noise."""
        values, vectors = np.linalg.eigh(seen)
        fields = np.ascontiguousarray(np.einsum("nij,ni->nj", vectors, omega))
        means, squares = np.empty_like(fields), np.empty_like(fields)
        linear_moments(values, fields, V, self.noise, means, squares)
        return np.einsum("nij,nj->ni", vectors, means), np.sum(squares - means**2, axis=1)
