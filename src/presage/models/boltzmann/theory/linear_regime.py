"""Descent while the weights are small: power iteration on the covariance of the samples, exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from presage.laws.spectral_law import Floats
from presage.spectra.spiked import spiked_wishart

POINTS = 4000  # of the contour
MARGIN = 0.1  # by which the contour is wider than the spectrum, relative

Transform = Callable[[Floats], Floats]


def bulk_transform(z: Floats, alpha: float) -> Floats:
    """Stieltjes transform of the eigenvalues of ``X'X/n`` for noise, ``s = E 1/(x - z)``.

        (1/alpha) z s^2 + (z - 1 + 1/alpha) s + 1 = 0,   s ~ -1/z

    Equation: derived: the law of Marchenko and Pastur.
    Checked: tests/models/boltzmann/test_two_time.py::test_linear_regime
    """
    b = z - 1.0 + 1.0 / alpha
    root = np.sqrt(b * b - 4.0 * z / alpha + 0j)
    both = np.stack([-b + root, -b - root]) * alpha / (2.0 * z)
    # The transform of a positive law maps the upper half plane into itself.
    first = both[0].imag * z.imag > 0.0
    return np.asarray(np.where(first, both[0], both[1]))


def spike_transform(z: Floats, alpha: float, signal: float) -> Floats:
    """The same along a direction: ``w'(X'X/n - z)^-1 w`` of a direction of length one.

        G = -1/(z (1 + (1 + lam) mu)),   mu = -(1 - 1/alpha)/z + s/alpha

    Equation: derived: the other directions are noise, and independent of it.
    Checked: tests/models/boltzmann/test_two_time.py::test_linear_regime
    """
    mu = -(1.0 - 1.0 / alpha) / z + bulk_transform(z, alpha) / alpha
    # mu is the transform of X X'/n, whose quadratic forms appear in the Schur complement of the direction.
    return np.asarray(-1.0 / (z * (1.0 + (1.0 + signal) * mu)))


def grown(transform: Transform, alpha: float, signal: float, rate: float, powers: Floats) -> Floats:
    """Mean of a power of what a step multiplies by, over the law of a transform.

        -(1/2 pi i) oint (1 + rate (z - 1))^t G(z) dz

    around all eigenvalues.

    Equation: derived: the residue theorem.
    Checked: tests/models/boltzmann/test_two_time.py::test_linear_regime
    """
    top = max(float(spiked_wishart(signal, alpha).outlier), (1.0 + alpha**-0.5) ** 2)
    centre = 0.5 * top
    angle = 2.0 * np.pi * (np.arange(POINTS) + 0.5) / POINTS
    away = centre * (1.0 + MARGIN) * np.exp(1j * angle)
    z = centre + away
    # Powers by their logarithm: at late times they are large.
    log_step = np.log(1.0 + rate * (z - 1.0))
    weight = transform(z) * away / POINTS
    return np.array([-np.sum(np.exp(power * log_step) * weight).real for power in np.atleast_1d(powers)])


def linear_overlaps(
    alpha: float, signals: Floats, rate: float, M_0: Floats, Q_0: Floats, steps: int
) -> tuple[Floats, Floats]:
    """M and Q of weights so small that units are linear in their fields, at times 0 to `steps`.

        W(t) = (1 + rate (X'X/n - 1))^t W(0)
        M_a(t) = M_a(0) <w_a|(...)^t|w_a>
        Q(t) = sum_a M_a(0)' M_a(0) <w_a|(...)^2t|w_a> + (Q_0 - M_0'M_0) tr(...)^2t/d

    Equation: derived: units have mean zero and variance one, and a price of the weights of one.
    Checked: tests/models/boltzmann/test_two_time.py::test_linear_regime
    """
    times = np.arange(steps + 1.0)
    M = np.empty((steps + 1, *M_0.shape))
    spread = grown(lambda z: bulk_transform(z, alpha), alpha, float(signals.max()), rate, 2.0 * times)
    Q = spread[:, None, None] * (Q_0 - M_0.T @ M_0)
    for index, signal in enumerate(signals):

        def along(z: Floats, signal: float = float(signal)) -> Floats:
            return spike_transform(z, alpha, signal)

        M[:, index] = grown(along, alpha, float(signal), rate, times)[:, None] * M_0[index]
        Q += grown(along, alpha, float(signal), rate, 2.0 * times)[:, None, None] * np.outer(M_0[index], M_0[index])
    return M, Q
