"""What weight decay makes of a matrix that is seen in noise: soft thresholds on either side of zero."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.discrete_law import DiscreteLaw
from presage.laws.point_masses import PointMasses
from presage.laws.spectral_law import Atoms, Complexes, Floats, SpectralLaw
from presage.models.multi_matrix.mirror_images import is_symmetric
from presage.spectra.symmetric.functionals import Functionals, functionals

UNSEEN = 1e-7  # of the noise or of the threshold: a signal below it is none


class Shrunk(NamedTuple):
    """What is known of a matrix after its threshold."""

    m: float  # <S, S_0>/d
    q: float  # |S|_F^2/d
    v: float  # response
    rank: float  # fraction of eigenvalues that are not zero
    nuclear: float  # sum of the absolute eigenvalues, over d


@final
class Mirrored(SpectralLaw):
    """The law of ``-x``."""

    proven = True

    def __init__(self, law: SpectralLaw) -> None:
        self.law = law

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        g, slope = self.law.stieltjes_pair(-z.conj())
        return -g.conj(), slope.conj()

    @property
    def support(self) -> Floats:
        return -self.law.support[::-1, ::-1]

    @property
    def atoms(self) -> Atoms:
        positions, masses = self.law.atoms
        return Atoms(-positions[::-1], masses[::-1])


@lru_cache(maxsize=64)
def mirrored(law: SpectralLaw) -> SpectralLaw:
    """The law of the negative eigenvalues; a symmetric law is its own."""
    if is_symmetric(law):
        return law
    if isinstance(law, DiscreteLaw):
        return PointMasses(-law.atoms.positions, law.atoms.masses)
    return Mirrored(law)


def shrunk(law: SpectralLaw, m_hat: float, q_hat: float, v_hat: float, weight_decay: float) -> Shrunk:
    """Overlaps of the matrix that minimises its penalty beside what samples say of it.

        S = argmin (v_hat/4) |S|_F^2 - <S, m_hat S_0 + sqrt(q_hat) G>/2 + weight_decay |S|_*
        delta = sqrt(q_hat)/m_hat,   c = 2 weight_decay/m_hat,   scale = m_hat/v_hat
        q = scale^2 sum J,   v v_hat = 2 sum I,   m = scale [A_+ + A_-],   A = int_c x (x-c) mu_delta - 2 delta^2 I

    The sums are over both sides, ``x > c`` of the law in noise and of its mirror image; G has the semicircle on
    [-2, 2].

    Equation: derived: soft thresholds at c and -c; for a symmetric law both sides are one, twice.
    Checked: tests/models/multi_matrix/test_weight_side.py::test_overlaps_of_a_sampled_matrix
    Checked: tests/models/multi_matrix/test_weight_side.py::test_response_is_a_derivative
    """
    noise, threshold = sqrt(max(q_hat, 0.0)), 2.0 * weight_decay
    seen = law if m_hat >= 0.0 else mirrored(law)  # a negative signal is that of the mirror image
    signal = max(abs(m_hat), UNSEEN * max(noise, threshold))
    noise = max(noise, UNSEEN * signal)
    above = functionals(seen, noise / signal, threshold / signal)
    other = mirrored(seen)
    below = above if other is seen else functionals(other, noise / signal, threshold / signal)
    scale = signal / v_hat
    both = (above, below)
    return Shrunk(
        m=float(np.sign(m_hat)) * scale * sum(_aligned(side) for side in both),
        q=scale**2 * sum(side.J for side in both),
        v=2.0 * sum(side.I for side in both) / v_hat,
        rank=sum(side.rank for side in both),
        nuclear=scale * sum(side.first for side in both),
    )


def _aligned(side: Functionals) -> float:
    """``A = int_c x (x-c) mu_delta - 2 delta^2 I``: overlap with the target at scale one."""
    return side.overlap - 2.0 * side.delta**2 * side.I
