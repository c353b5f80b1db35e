"""What the samples say about the weights, given their overlaps: means over the law of a training sample.

A sample sees the weights through a field ``om``, and training moves it to p, which solves ``p = om + g(p) V``. Instead
of solving for p at nodes of om, all means are taken over p: om is a known function of it.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.hidden import GaussianUnits, HiddenUnits, Moments, is_symmetric
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.theory.pair_sums import SMALLEST, pair_sums
from presage.solving.vector_state_evolution import Overlaps

REACH = 8.5  # standard deviations of the field that are looked at
A_DEVIATION, A_VALUE = 5.0, 4.0  # points a standard deviation of the field, and over one over the largest value of h
LEAST = {1: 801, 2: 91}  # points along a direction, by the number of directions
MOST = {1: 400_001, 2: 1201}
ONE = np.eye(1)
SUPPORTED = 2  # units that a grid is made for


class SampleMeans(NamedTuple):
    """Means over the law of a training sample, times alpha where they are conjugates."""

    m_hat: Floats  # k x k_0: alpha E[g sqrt(lam) s]
    q_hat: Floats  # k x k: alpha E[g g']
    D: Floats  # k x k: alpha E[dg/d om]
    phi: float  # E phi(p)
    replicon: float  # spectral radius of the map of a small difference between two copies
    least_slope: float  # least eigenvalue of 1 - V^1/2 H V^1/2 over p: at zero p(om) jumps


class Fields(NamedTuple):
    """Law of the field of a fresh sample: a mixture of Gaussian ones, one for each pattern of latents."""

    chances: Floats  # of each pattern
    patterns: Floats  # of the latents, one a row; of Gaussian latents, which are integrated out, none
    centres: Floats  # one row a pattern
    covariance: Floats


def fields(problem: BoltzmannProblem, m: Floats, q: Floats) -> Fields:
    """Law of the field ``om = W'x/sqrt(d)`` of a fresh sample, given overlaps.

        om = sqrt(lam) s M + N(0, Q);   Gaussian s: om ~ N(0, Q + M' diag(lam) M)

    Equation: derived: x is Gaussian given its latents.
    Checked: tests/models/boltzmann/test_state_evolution.py::test_fields_of_sampled_data
    """
    lam = problem.signals
    if problem.latents == "gaussian":
        return Fields(np.ones(1), np.zeros((1, 0)), np.zeros((1, len(q))), q + (m * lam) @ m.T)
    signs = np.array(list(product((1.0, -1.0), repeat=len(lam))))
    if is_symmetric(problem.hidden, problem.units):  # a pattern and its opposite say the same
        signs = signs[: len(signs) // 2]
    return Fields(np.full(len(signs), 1.0 / len(signs)), signs, (signs * np.sqrt(lam)) @ m.T, q)


def sample_means(problem: BoltzmannProblem, overlaps: Overlaps, coarser: float = 1.0) -> SampleMeans:
    """Conjugates that the samples make of overlaps; `coarser` widens the grid, to see what it costs.

        m_hat = alpha E[g sqrt(lam) s],   q_hat = alpha E[g g'],   D = alpha E[dg],   dg = H (1 - V H)^-1
        E F = int dp det(1 - V H(p)) N(p - V g(p); centre, covariance) F(p)

    With Gaussian latents ``m_hat = D m diag(lam)``. The replicon is the spectral radius of
    ``Delta -> alpha V E[dg Delta dg'] V``.

    Equation: derived: message passing for the likelihood of `BoltzmannProblem`; the change of variables from om to p.
    Checked: tests/models/boltzmann/test_state_evolution.py::test_iterates_of_one_unit
    Checked: tests/models/boltzmann/test_state_evolution.py::test_iterates_of_two_units
    """
    m, q, v = overlaps
    if isinstance(problem.hidden, GaussianUnits):
        return _gaussian_means(problem, overlaps)
    alpha, lam, k = problem.alpha, problem.signals, problem.units
    law = fields(problem, m, q)
    p, cell = grid(law, v, problem.hidden, coarser)
    at = problem.hidden.moments(p)
    sums = (_one_unit if k == 1 else _two_units)(p, at, v, law, cell)
    D = alpha * sums.dg
    gaussian = problem.latents == "gaussian"
    m_hat = D @ m * lam if gaussian else alpha * sums.g @ law.patterns * np.sqrt(lam)
    spectrum = np.linalg.eigvals(sums.pairs) if k > 1 else sums.pairs
    replicon = alpha * float(np.abs(spectrum).max())
    return SampleMeans(m_hat, alpha * sums.gg, D, sums.phi, replicon, _least_slope(v, at.H))


class Sums(NamedTuple):
    """Means over the law of p, of a sample that was trained on."""

    g: Floats  # k x patterns, each times the chance of its pattern
    gg: Floats  # k x k
    dg: Floats  # k x k
    phi: float
    pairs: Floats  # k^2 x k^2: of products of two entries of V dg


def _one_unit(p: Floats, at: Moments, v: Floats, law: Fields, cell: float) -> Sums:
    """Sums over a line."""
    g, H, response = at.g[:, 0], at.H[:, 0, 0], float(v[0, 0])
    slope = 1.0 - response * H
    density = cell * law.chances[:, None] * _densities(p - response * at.g, law)
    plain = density.sum(axis=0)
    weight = plain * slope
    safe = np.where(np.abs(slope) > SMALLEST, slope, SMALLEST)
    pairs = response**2 * float(plain @ (H * H / safe))
    return Sums(
        (density * slope * g).sum(axis=1)[None, :],
        np.array([[weight @ (g * g)]]),
        np.array([[plain @ H]]),
        float(weight @ at.phi),
        np.array([[pairs]]),
    )


def _two_units(p: Floats, at: Moments, v: Floats, law: Fields, cell: float) -> Sums:
    """Sums over a plane."""
    inverse, size = _whitening(law)
    found = pair_sums(p, at.phi, at.g, np.ascontiguousarray(at.H), v, inverse, law.centres, law.chances, cell * size)
    g, gg, dg, phi, pairs, _ = found
    return Sums(g, gg, dg, float(phi), pairs)


def _gaussian_means(problem: BoltzmannProblem, overlaps: Overlaps) -> SampleMeans:
    """The same for Gaussian units, where everything is linear.

        g = p = om (1 - V)^-1,   dg = (1 - V)^-1

    Equation: derived: H = 1.
    Checked: tests/models/boltzmann/test_state_evolution.py::test_gaussian_units_end_in_principal_components
    """
    m, q, v = overlaps
    alpha, k = problem.alpha, problem.units
    dg = np.asarray(np.linalg.inv(np.eye(k) - v), dtype=np.float64)
    second = dg @ (q + (m * problem.signals) @ m.T) @ dg
    turned = v @ dg
    replicon = alpha * float(np.abs(np.linalg.eigvals(np.kron(turned, turned))).max())
    least = float(1.0 - np.linalg.eigvalsh(v)[-1])
    m_hat = alpha * dg @ m * problem.signals
    return SampleMeans(m_hat, alpha * second, alpha * dg, 0.5 * float(np.trace(second)), replicon, least)


def mean_phi(problem: BoltzmannProblem, m: Floats, q: Floats, coarser: float = 1.0) -> float:
    """``E phi(om)`` over the field of a fresh sample.

    Equation: derived: the likelihood of `BoltzmannProblem` on samples that were not trained on.
    Checked: tests/models/boltzmann/test_solution.py::test_likelihoods
    """
    law = fields(problem, m, q)
    if isinstance(problem.hidden, GaussianUnits):
        centres = law.chances @ np.sum(law.centres**2, axis=1)
        return 0.5 * float(centres + np.trace(law.covariance))
    p, cell = grid(law, np.zeros_like(q), problem.hidden, coarser)
    return float(cell * law.chances @ _densities(p, law) @ problem.hidden.moments(p).phi)


def grid(law: Fields, v: Floats, hidden: HiddenUnits, coarser: float = 1.0) -> tuple[Floats, float]:
    """Places p on a uniform grid along the axes of the covariance, one a row, and the volume of a cell.

    They reach 8.5 standard deviations of the field beyond its centres, and as far as training moves a field.
    """
    k = len(v)
    # Of a single unit there is nothing to diagonalise, and asking for it takes longer than all sums.
    variances, axes = np.linalg.eigh(law.covariance) if k > 1 else (law.covariance[0], ONE)
    deviations = np.sqrt(np.maximum(variances, 1e-12 * max(float(variances[-1]), 1e-300)))
    longest = float(np.linalg.norm(v, 2)) if k > 1 else abs(float(v[0, 0]))
    moved = longest * hidden.largest * np.sqrt(k)
    half = REACH * deviations + np.abs(law.centres @ axes).max(axis=0) + moved
    step = np.minimum(deviations / A_DEVIATION, 1.0 / (A_VALUE * hidden.largest))
    count = np.clip(np.ceil(2.0 * half / step), LEAST[k] - 1, MOST[k] - 1) / coarser
    # Zero is among the places: there a field gives way most.
    lines = [np.linspace(-wide, wide, 1 + 2 * int(np.ceil(0.5 * many))) for wide, many in zip(half, count, strict=True)]
    cell = float(np.prod([line[1] - line[0] for line in lines]))
    if k == 1:
        return lines[0][:, None], cell
    places = np.stack([axis.ravel() for axis in np.meshgrid(*lines, indexing="ij")], axis=1)
    return places @ axes.T, cell


def _densities(x: Floats, law: Fields) -> Floats:
    """Gaussian densities of the field at places, one row a pattern."""
    inverse, size = _whitening(law)
    white, centres = x @ inverse.T, law.centres @ inverse.T
    away = np.sum((white - centres[:, None, :]) ** 2, axis=2)
    return np.asarray(size * np.exp(-0.5 * away))


def _whitening(law: Fields) -> tuple[Floats, float]:
    """What makes a field standard Gaussian, and the largest value of its density."""
    if len(law.covariance) == 1:
        variance = float(law.covariance[0, 0])
        if not variance > 0.0:
            raise np.linalg.LinAlgError("the field has no variance")
        return np.array([[variance**-0.5]]), (2.0 * np.pi * variance) ** -0.5
    root = np.linalg.cholesky(law.covariance)
    return np.linalg.inv(root), (2.0 * np.pi) ** (-0.5 * len(root)) / float(np.prod(np.diag(root)))


def _least_slope(v: Floats, H: Floats) -> float:
    """Least eigenvalue of ``1 - V^1/2 H V^1/2`` over the grid: at zero two solutions p meet."""
    if len(v) == 1:
        return float(1.0 - v[0, 0] * H.max()) if v[0, 0] > 0.0 else 1.0
    values, vectors = np.linalg.eigh(v)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    seen = root @ H @ root
    middle, half = 0.5 * (seen[:, 0, 0] + seen[:, 1, 1]), 0.5 * (seen[:, 0, 0] - seen[:, 1, 1])
    return float(1.0 - np.max(middle + np.sqrt(half**2 + seen[:, 0, 1] ** 2)))
