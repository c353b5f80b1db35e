"""Descent while the weights are small: power iteration on the covariance of the samples, exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.errors import SolveError
from presage.spectra.spiked import spiked_wishart

POINTS = 4096  # of the angle that runs through the bulk: more than twice the steps, of which sums are exact


class Law(NamedTuple):
    """Eigenvalues of the covariance as a direction sees them: places, and weights that are positive and sum to one."""

    places: Floats
    weights: Floats


def eigenvalue_law(alpha: float, signal: float, points: int = POINTS) -> Law:
    """Law of the eigenvalues of ``X'X/n`` along a direction of the data; without a signal that of the noise.

        rho(x) = (1 + lam) sqrt((x - a)(b - x))/(2 pi x ((1 + lam)(lam + 1/alpha) - lam x)),   a < x < b

    between the edges ``(1 -+ alpha^(-1/2))^2``, with the outlier of `spiked_wishart` where there is one, and with zero,
    of weight ``(1 - alpha)/(1 + alpha lam)``, where samples are fewer than visible units.

    Equation: derived: the imaginary part of ``-1/(z (1 + (1 + lam) mu))``, mu the transform of Marchenko and Pastur.
    Checked: tests/models/boltzmann/test_two_time.py::test_linear_regime
    Checked: tests/models/boltzmann/test_two_time.py::test_linear_regime_at_late_times
    """
    least = alpha**-0.5
    half = 0.5 * np.pi * (np.arange(points) + 0.5) / points  # of the angle
    # x = 1 + 1/alpha - r cos(angle), and the other factor at x, without differences of large numbers
    x = (1.0 - least) ** 2 + 4.0 * least * np.sin(half) ** 2
    rest = (signal - least) ** 2 + 4.0 * signal * least * np.cos(half) ** 2
    bulk = (1.0 + signal) * (2.0 * least * np.sin(2.0 * half)) ** 2 / (2.0 * x * rest) / points
    spike = spiked_wishart(signal, alpha)
    zero = max(0.0, 1.0 - alpha) / (1.0 + alpha * signal)
    return Law(np.append(x, [float(spike.outlier), 0.0]), np.append(bulk, [float(spike.overlap), zero]))


def rough_law(alpha: float, signal: float) -> Law:
    """The same on half of the points, by which error bars are judged; what it lacks is put at the largest place."""
    places, weights = eigenvalue_law(alpha, signal, POINTS // 2)
    # An outlier next to the edge is missed by both grids alike: what the finer one lacks counts once more.
    weights[-2] += 2.0 - weights.sum() - eigenvalue_law(alpha, signal).weights.sum()
    return Law(places, weights)


def grown(law: Law, rate: float, powers: Floats) -> Floats:
    """Mean of a power of what a step multiplies by, over a law of eigenvalues.

        sum_i w_i (1 + rate (x_i - 1))^t

    Equation: derived: power iteration, in the eigenvectors.
    Checked: tests/models/boltzmann/test_two_time.py::test_linear_regime
    """
    step = 1.0 + rate * (law.places - 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.array([law.weights @ step**power for power in np.atleast_1d(powers)])
    if not np.isfinite(found).all():
        raise SolveError("The weights have left the linear regime.", "Use fewer <steps>, or a smaller <rate>.")
    return found


def linear_overlaps(
    alpha: float, signals: Floats, rate: float, M_0: Floats, Q_0: Floats, steps: int, *, rough: bool = False
) -> tuple[Floats, Floats]:
    """M and Q of weights so small that units are linear in their fields, at times 0 to `steps`.

        W(t) = (1 + rate (X'X/n - 1))^t W(0)
        M_a(t) = M_a(0) <w_a|(...)^t|w_a>
        Q(t) = sum_a M_a(0)' M_a(0) <w_a|(...)^2t|w_a> + (Q_0 - M_0'M_0) tr(...)^2t/d

    Equation: derived: units have mean zero and variance one, and a price of the weights of one.
    Checked: tests/models/boltzmann/test_two_time.py::test_linear_regime
    """
    law_of = rough_law if rough else eigenvalue_law
    times = np.arange(steps + 1.0)
    M = np.empty((steps + 1, *M_0.shape))
    spread = grown(law_of(alpha, 0.0), rate, 2.0 * times)
    Q = spread[:, None, None] * (Q_0 - M_0.T @ M_0)
    for index, signal in enumerate(signals):
        law = law_of(alpha, float(signal))
        M[:, index] = grown(law, rate, times)[:, None] * M_0[index]
        Q += grown(law, rate, 2.0 * times)[:, None, None] * np.outer(M_0[index], M_0[index])
    return M, Q
