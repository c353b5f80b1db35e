"""Laws of eigenvalues that are their own mirror images: matrices of them have no trace, and estimates of these none."""

from __future__ import annotations

import numpy as np

from presage.laws.spectral_law import SpectralLaw

ZERO = 1e-9  # relative difference of two Stieltjes transforms that is rounding
PLACES = (0.3 + 0.7j, 1.1 + 0.4j, 2.3 + 1.5j, 0.05 + 0.1j)  # where laws are compared, in units of their size


def is_symmetric(law: SpectralLaw) -> bool:
    """Whether a law is its own mirror image: ``G(-z') = -G(z)'`` with the prime for the complex conjugate."""
    z = np.sqrt(law.second_moment) * np.array(PLACES)
    here, there = law.stieltjes(z), law.stieltjes(-z.conj())
    return bool(np.abs(here + there.conj()).max() <= ZERO * np.abs(here).max())
