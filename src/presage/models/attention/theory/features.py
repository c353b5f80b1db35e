"""What becomes of each eigenvector of the target: how much of it is learned, and its share of the error."""

from __future__ import annotations

from math import inf

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.theory.decomposition import threshold
from presage.protocol import checks
from presage.protocol.feature_table import FeatureTable
from presage.protocol.njit import njit
from presage.spectra.curve import Curve
from presage.spectra.quadrature import Panels, panels
from presage.spectra.spiked import spiked_wigner
from presage.spectra.symmetric.free import FreeConvolution

TAIL = 1e-6  # of the Legendre coefficients: integrals to about its square
LOST = 1e-11  # mass of an overlap that nodes for all features may miss; beyond it the feature gets nodes of its own
AT_ONCE = 32  # features that share nodes of their own


def made_of_atoms(target: SpectralLaw) -> bool:
    """Whether a law has nothing but single eigenvalues."""
    return float(target.atoms.masses.sum()) > 1.0 - 1e-9


def feature_table(
    target: SpectralLaw, free: FreeConvolution, cutoff: float, scale: float, start: float, k: int | None = None
) -> FeatureTable:
    """The first `k` features of a target made of atoms, where eigenvalues above `cutoff` and `start` are kept.

    ``O(x, s_i) = t/((u - s_i)^2 + v^2)`` is the squared overlap of the eigenvector of ``s_i`` with one of
    ``S_0 + delta GOE`` at ``x``, over 1/d, with ``u = x - t h`` and ``v = pi t rho``; it has the mean one over
    ``mu_delta``. With ``f(x) = (x - c)_+``, zero below `start`,

    ``F_i = scale int f O mu``, ``e_i = int (f - s_i)^2 O mu``,

    and the mean of ``e_i`` is the error ``R'``, exactly.

    Equation: derived, from Biane's parameters of the free convolution.
    Checked: tests/models/attention/theory/test_decomposition.py::test_features_of_sampled_matrices
    Checked: tests/models/attention/theory/test_decomposition.py::test_errors_of_the_features_sum_to_the_error
    """
    positions, masses = target.atoms
    if not made_of_atoms(target):
        raise checks.complaint(
            "target",
            "be made of single eigenvalues here",
            "a feature is one eigenvalue with its eigenvector, and this law has a continuous part",
            target,
            "Use PowerLaw(1.25, d=400), PointMasses or Empirical; `decomposition` takes any law.",
        )
    reason, remedy = (
        "it is how many features are told of",
        "Use for example <k=10>, or leave it out.",
    )
    count = len(positions) if k is None else checks.integer("k", k, at_least=1, reason=reason, remedy=remedy)
    s, mass = positions[::-1][:count].copy(), masses[::-1][:count].copy()
    least = max(cutoff, start)
    along, error, unresolved = _sums(free, cutoff, least, s)
    edge = threshold(free.delta, least)
    learned = s > edge
    alone = spiked_wigner(s, free.delta)
    overlap = np.where(learned, alone.overlap, 0.0)
    position = np.where((s > free.delta) & (alone.outlier > least), scale * (alone.outlier - cutoff), 0.0)
    number = np.arange(1, len(s) + 1)
    return FeatureTable(number, s, mass, learned, position, overlap, scale * along, error, edge, scale, unresolved)


def _sums(free: FreeConvolution, c: float, least: float, s: Floats) -> tuple[Floats, Floats, float]:
    """``int f O mu`` and ``int (f-s)^2 O mu`` for every s, and what is missing of the mass of their overlaps."""
    nodes = _nodes(free, least, np.zeros(0))
    mass, along, error = _overlap_sums(*_flat(nodes, free.t, c, least), free.t, s)
    lost = np.abs(mass - 1.0)
    for first in range(0, int((poor := np.flatnonzero(lost > LOST)).size), AT_ONCE):
        some = poor[first : first + AT_ONCE]
        own = _nodes(free, least, s[some])
        mass[some], along[some], error[some] = _overlap_sums(*_flat(own, free.t, c, least), free.t, s[some])
    return along, error, float(np.abs(mass - 1.0).max())


def _nodes(free: FreeConvolution, least: float, s: Floats) -> list[Panels]:
    """Nodes below and above what is kept, fine enough for the overlaps with every s."""
    t = free.t

    def integrands(point: Curve) -> Floats:
        one = np.ones_like(point.x)
        u, v = point.x - t * point.h, np.pi * t * point.rho
        overlaps = [t / ((u - position) ** 2 + v**2) for position in s]
        return np.stack([one, point.x * point.x, *overlaps])

    at = free.parameter_above(least)
    edges = [(-inf, at), (at, inf)]
    bands = free.bands
    return [
        panels(free.law, t, bands, integrands, tail=TAIL, u_from=low, u_to=high)
        for low, high in edges
        if bool(np.any((bands[:, 1] > low) & (bands[:, 0] < high)))
    ]


def _flat(nodes: list[Panels], t: float, c: float, least: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Parameter, squared height, mass and f at every node."""
    u, x, rho, mass = (np.concatenate([getattr(p, name).ravel() for p in nodes]) for name in ("u", "x", "rho", "mass"))
    return u, (np.pi * t * rho) ** 2, mass, np.where(x > least, x - c, 0.0)


@njit(cache=True, error_model="numpy")
def _overlap_sums(u, height, mass, f, t, s):  # type: ignore[no-untyped-def]
    """For every s the sums of ``O``, ``f O`` and ``(f-s)^2 O`` over the nodes."""
    total, along, error = np.zeros(s.size), np.zeros(s.size), np.zeros(s.size)
    for i in range(s.size):
        for k in range(u.size):
            gap = u[k] - s[i]
            weight = mass[k] * t / (gap * gap + height[k])
            off = f[k] - s[i]
            total[i] += weight
            along[i] += weight * f[k]
            error[i] += weight * off * off
    return total, along, error
