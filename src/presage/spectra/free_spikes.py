"""A direction in noise of any law without preferred directions: how strong it is, by the values of the noise itself.

What is seen is ``theta u v' + X`` with noise X whose singular vectors are anywhere; the values that are left when those
that stand out are taken away stand for the law of X.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats


class FreeSpike(NamedTuple):
    """What is behind values that stand out; arrays, one entry a value."""

    strength: Floats  # theta
    overlap_left: Floats  # squared cosine of the left singular vector with the direction u
    overlap_right: Floats
    shrunk: Floats  # the value that is nearest to theta u v' in the mean square


def free_spikes(seen: Floats, noise: Floats, rows: int, columns: int) -> FreeSpike:
    """Strength and overlaps of the directions behind singular values `seen`, beyond those of the noise.

        phi_p(y) = (1/p) [sum_i y/(y^2 - s_i^2) + (p - n)/y],   phi_q the same with q,   D = phi_p phi_q
        theta = D^(-1/2),   cos^2 = -2 phi_p/(theta^2 D') and -2 phi_q/(theta^2 D'),   best = -2 D/D'

    For a square matrix ``theta = 1/phi``, ``cos^2 = -phi^2/phi'`` and the best value is -phi/phi'.

    Args:
        seen: values that stand out.
        noise: the n singular values of the noise that are not zero.
        rows: p, of the matrix that is seen.
        columns: q, likewise.

    Equation: [BGN12], Theorems 2.8 and 2.9; the shrinkage [N14].
    Checked: tests/spectra/test_free_spikes.py::test_strengths_and_overlaps_of_sampled_matrices
    Checked: tests/spectra/test_free_spikes.py::test_gaussian_noise_gives_the_closed_form
    """
    y = np.atleast_1d(np.asarray(seen, dtype=np.float64))[:, None]
    s2, n = np.asarray(noise, dtype=np.float64)[None, :] ** 2, len(noise)
    pull = np.sum(y / (y * y - s2), axis=1)
    fall = -np.sum((y * y + s2) / (y * y - s2) ** 2, axis=1)
    y = y[:, 0]
    phi_p, phi_q = (pull + (rows - n) / y) / rows, (pull + (columns - n) / y) / columns
    dphi_p, dphi_q = (fall - (rows - n) / y**2) / rows, (fall - (columns - n) / y**2) / columns
    D, dD = phi_p * phi_q, dphi_p * phi_q + phi_p * dphi_q
    return FreeSpike(D**-0.5, -2.0 * D * phi_p / dD, -2.0 * D * phi_q / dD, -2.0 * D / dD)
