"""The best estimate of a matrix from a noisy one: each eigenvalue is moved, the eigenvectors stay."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, pi, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.protocol import checks
from presage.spectra.curve import Curve
from presage.spectra.quadrature import panels
from presage.spectra.symmetric.free import FreeConvolution

TAIL_ALLOWED = 1e-6  # of the Legendre coefficients: integrals to about its square


def fisher_information(law: SpectralLaw, delta: float) -> float:
    """Free Fisher information ``Phi = (4 pi^2/3) int rho_delta^3`` of ``mu_delta``; ``delta^2 Phi <= 1``.

    Equation: [MTMKZ24]; it is the integral in the mean squared error of its denoiser.
    Checked: tests/spectra/symmetric/test_denoising.py::test_mmse_is_the_error_of_the_denoiser
    Checked: tests/spectra/symmetric/test_denoising.py::test_the_posterior_mean_is_orthogonal_to_its_error
    """
    free = FreeConvolution(law, delta)

    def integrands(point: Curve) -> Floats:
        return np.stack([np.ones_like(point.x), point.rho**2])

    p = panels(law, free.t, free.bands, integrands, tail=TAIL_ALLOWED)
    return 4.0 * pi**2 / 3.0 * float(np.sum(p.mass * p.rho**2))


@final
@dataclass(frozen=True)
class Denoiser:
    """Posterior mean of a matrix of known spectrum and unknown eigenvectors, given ``S_0 + delta GOE``.

    Called with the eigenvalues of the noisy matrix and with delta it returns those of the estimate; `of_matrix` does
    the same for a matrix.
    """

    law: SpectralLaw

    def __post_init__(self) -> None:
        checks.instance(
            "law",
            self.law,
            SpectralLaw,
            reason="a denoiser knows the law of the eigenvalues that it looks for",
            remedy="Use for example Denoiser(MarchenkoPastur(0.5)).",
        )

    def __call__(self, x: ArrayLike, delta: float) -> Floats:
        """Move each eigenvalue, ``x -> x - 2 delta^2 h(x)``, h the Hilbert part of ``mu_delta``.

        Equation: [BTEZ25]; [MTMKZ24].
        Checked: tests/spectra/symmetric/test_denoising.py::test_mmse_is_the_error_of_the_denoiser
        Checked: tests/spectra/symmetric/test_denoising.py::test_the_posterior_mean_is_orthogonal_to_its_error
        """
        eigenvalues = np.asarray(x, dtype=np.float64)
        return np.asarray(eigenvalues - 2.0 * delta**2 * FreeConvolution(self.law, delta).hilbert(eigenvalues))

    def of_matrix(self, noisy: ArrayLike, delta: float) -> Floats:
        """Estimate of S_0 from the symmetric matrix ``S_0 + delta GOE``."""
        reason, remedy = "noise was added to a symmetric matrix", "Use (noisy + noisy.T)/2 if it should be symmetric."
        eigenvalues, vectors = np.linalg.eigh(checks.symmetric("noisy", noisy, reason=reason, remedy=remedy))
        return np.asarray((vectors * self(eigenvalues, delta)) @ vectors.T)

    def mmse(self, delta: float) -> float:
        """Mean squared error ``|S - S_0|^2/d`` of the estimate: ``MMSE = t - t^2 Phi``, ``t = delta^2``.

        Equation: [MTMKZ24]; [BTEZ25].
        Checked: tests/spectra/symmetric/test_denoising.py::test_mmse_is_the_error_of_the_denoiser
        Checked: tests/spectra/symmetric/test_denoising.py::test_the_posterior_mean_is_orthogonal_to_its_error
        """
        t = delta * delta
        return t * max(1.0 - t * fisher_information(self.law, delta), 0.0)

    def information(self, delta: float) -> float:
        """Mutual information of S_0 and ``S_0 + delta GOE``, over d^2, in nats.

        ``I = (1/4) int_0^{1/t} MMSE d(1/t')``; in ``y = t'/(t' + V)``, V the variance of the law, the integrand is
        smooth up to ``y = 1``.

        Equation: derived: the relation of information and error for a symmetric Gaussian matrix, whose entries off
        the diagonal have variance t/d.
        Checked: tests/spectra/symmetric/test_denoising.py::test_information_is_a_difference_of_logarithmic_energies
        """
        from scipy.integrate import quad

        t = delta * delta
        variance = self.law.second_moment - self.law.mean**2
        if not variance > 0.0:
            return 0.0

        def integrand(log_y: float) -> float:
            y = exp(log_y)
            return self.mmse(sqrt(variance * y / max(1.0 - y, 1e-12))) / (variance * y)

        value, _ = quad(integrand, log(t / (t + variance)), 0.0, epsabs=1e-10, epsrel=1e-9, limit=100)
        return 0.25 * float(value)
