"""The best estimate of a matrix without symmetry from a noisy one: each singular value is moved, the frames stay."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.spectra.rectangular.convolution import RectangularConvolution


@final
@dataclass(frozen=True)
class SingularValueDenoiser:
    """Posterior mean of a matrix of known singular values and unknown frames, given ``M + delta Z``.

    Called with the singular values of the noisy matrix and with delta it returns those of the estimate.
    """

    law: RectangularLaw

    def __post_init__(self) -> None:
        checks.instance(
            "law",
            self.law,
            RectangularLaw,
            reason="a denoiser knows the law of the singular values that it looks for",
            remedy="Use for example SingularValueDenoiser(GaussianProduct(0.5)).",
        )

    def __call__(self, x: ArrayLike, delta: float) -> Floats:
        """Move each singular value, ``x -> x - (delta^2/sqrt(b)) [(b-1)/x + 2 h(x)]``.

        Equation: [ETBMZ24], its denoiser.
        Checked: tests/models/bilinear/test_bilinear.py::test_denoiser_reaches_the_least_error
        Checked: tests/models/bilinear/test_bilinear.py::test_the_posterior_mean_is_orthogonal_to_its_error
        """
        values = np.asarray(x, dtype=np.float64)
        convolution = RectangularConvolution(self.law, delta)
        pull = 2.0 * convolution.hilbert(values)
        if self.law.aspect > 1.0:
            pull = pull + (self.law.aspect - 1.0) / np.maximum(values, 1e-300)
        return np.maximum(values - convolution.eps * pull, 0.0)

    def mmse(self, delta: float) -> float:
        """Least mean squared error an entry, over ``1/sqrt(p N)``.

        ``delta^2 - (delta^4/b^{3/2}) [(b-1)^2 int nu/x^2 + (4 pi^2/3) int rho^2 nu]``.

        Equation: [ETBMZ24], its equation for q.
        Checked: tests/models/bilinear/test_bilinear.py::test_bayes_check_values
        Checked: tests/models/bilinear/test_bilinear.py::test_the_posterior_mean_is_orthogonal_to_its_error
        """
        b = self.law.aspect
        n = RectangularConvolution(self.law, delta).nodes()
        bracket = (2.0 * pi * n.rho) ** 2 / 3.0
        if b > 1.0:
            bracket = bracket + ((b - 1.0) / n.x) ** 2
        explained = delta**2 * float(n.mass @ bracket) / float(b**1.5)
        return float(delta**2 * max(1.0 - explained, 0.0))
