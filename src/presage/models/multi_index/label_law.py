"""The law of a label, and what it says of each feature: both witnesses weigh samples by their labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import pi, sqrt
from typing import Any, final

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.multi_index.gaussian_means import moments, values
from presage.models.multi_index.problem import MultiIndexProblem

FARTHEST, NEAREST = 7.3, 4.5  # standard deviations of a score: what is beyond has a chance of 3e-13, and of 7e-6
GAUSSIAN = 8.0  # standard deviations of many small parts, and of the noise in its transform
FOLLOWED = 64  # features whose part in a label is followed one by one
EXPLICIT = 2000  # features whose law is taken as it is; that of the others by four cumulants
SEEN = 1e-11  # density, in units of the largest, below which rounding is all there is
NODES = 16  # of Gauss and Legendre in a panel of scores
MOST_NODES = 24_000  # of scores
MOST_STEPS = 1500  # of a transform
TRANSFORMS = 1024  # places at which transforms are computed, at least; between them they are interpolated
AT_ONCE = 2_000_000  # values of a kernel that are held together


@final
@dataclass(frozen=True, eq=False)
class LabelLaw:
    """Labels, centred and over their standard deviation, on a grid: u, weights, and ``E[z_k^2 - 1 | u]`` by feature.

    Features are followed up to `followed`; of a committee there is one row for all.
    """

    u: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    excess: Floats = field(repr=False)  # E[z_k^2 - 1 | u], one row a feature
    error: float  # of the mean, variance or mass of the labels, whichever is largest

    @property
    def followed(self) -> int:
        """Features that have a row."""
        return len(self.excess)


def label_law(problem: MultiIndexProblem) -> LabelLaw:
    """The law of a label of a problem; alpha and the ways of learning play no part."""
    return _law(problem.link, problem.features, problem.decay, problem.noise, problem.signal)


@lru_cache(maxsize=128)
def _law(link: Any, features: int, decay: float, noise: float, signal: float) -> LabelLaw:
    """By characteristic functions, the product of ``exp(-Delta t^2/2)`` and all ``psi_0(a_k t)``.

    With ``psi_0(t) = E exp(i t f)`` and ``psi_2(t) = E (z^2-1) exp(i t f)``, f centred, the density is the inverse
    transform of the product, and that of ``E[z_k^2 - 1 | y]`` times the density the same with ``psi_2`` in the place
    of factor k.

    Equation: derived: scores and noise are independent.
    Checked: tests/models/multi_index/test_label_law.py::test_law_of_drawn_labels
        tests/models/multi_index/test_label_law.py::test_single_feature_has_the_law_of_the_toolbox
    """
    problem = MultiIndexProblem(link, 1.0, features, decay, noise, signal)
    known = moments(link)
    weights, scale = problem.weights, sqrt(problem.label_variance)
    equal = decay == 0.0
    last = GAUSSIAN / sqrt(noise)
    rest = GAUSSIAN * sqrt(problem.label_variance - known.variance * weights[0] ** 2)
    farthest, low, high = _range(link, known.coefficients[0], weights[0], rest, MOST_STEPS * 2.0 * pi / last)
    steps = int(np.ceil(last * (high - low) / (2.0 * pi))) + 8
    t: Floats = 2.0 * pi / (high - low) * np.arange(steps, dtype=np.float64)
    scores = _scores(link, known.coefficients[0], weights[0] * t[-1], farthest)
    whole = np.exp(-0.5 * noise * t * t)
    if equal:
        psi_0, psi_2 = _transforms(*scores, weights[0] * t).T
        whole = whole * psi_0**features
        factors = (psi_2 / psi_0)[None, :]
    else:
        grid = np.linspace(0.0, weights[0] * t[-1], max(TRANSFORMS, 4 * steps))
        found = _transforms(*scores, grid)
        psi_0, psi_2 = (scipy.interpolate.make_interp_spline(grid, found[:, i], k=7) for i in range(2))
        explicit = weights[:EXPLICIT]
        for start in range(0, len(explicit), FOLLOWED):
            whole = whole * psi_0(np.outer(explicit[start : start + FOLLOWED], t)).prod(axis=0)
        whole = whole * _small_parts(weights[EXPLICIT:], known, t)
        inner = np.outer(weights[:FOLLOWED], t)
        factors = psi_2(inner) / psi_0(inner)
    count = 4 * steps + 1
    y = low + (high - low) / count * np.arange(count)
    spacing = (high - low) / count
    kernel = _waves(-t[1] * y, steps) * (t[1] / pi)
    kernel[0] *= 0.5
    density = (whole @ kernel).real
    parts = ((factors * whole) @ kernel).real
    kept = density > SEEN * density.max()
    u, weight = y[kept] / scale, density[kept] * spacing
    mass, mean, second = weight.sum(), weight @ u, weight @ (u * u)
    error = float(max(abs(mass - 1.0), abs(mean), abs(second - 1.0)))
    return LabelLaw(u, weight, parts[:, kept] / density[kept], error)


def _range(link: Any, centre: float, weight: float, rest: float, most: float) -> tuple[float, float, float]:
    """How far scores are followed, and the least and the largest label of that: of a narrower range for heavy tails."""
    z = np.linspace(0.0, FARTHEST, 2001)
    labels = weight * (values(link, z) - centre)
    least, largest = np.minimum.accumulate(labels), np.maximum.accumulate(labels)
    wide = (largest - least + 2.0 * rest > most) & (z > NEAREST)
    at = int(np.argmax(wide)) if wide.any() else len(z) - 1
    return float(z[at]), float(least[at] - rest), float(largest[at] + rest)


def _scores(link: Any, centre: float, last: float, farthest: float) -> tuple[Floats, Floats]:
    """Values of the centred link on panels of scores, and their weights, times 1 and times ``z^2 - 1``.

    Beyond the farthest score the link keeps its value, and panels are as close as its waves up to `last` need them.
    """
    places = np.linspace(0.0, farthest, 400)
    steepest = float(np.abs(np.diff(values(link, places))).max() / places[1])
    cycles = FARTHEST * steepest * last / (2.0 * pi)
    panels = int(min(30.0 + 5.0 * cycles / NODES, MOST_NODES / NODES))
    at, gauss = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(0.0, FARTHEST, panels + 1)
    half = 0.5 * np.diff(edges)
    z = (0.5 * (edges[:-1] + edges[1:])[:, None] + half[:, None] * at).ravel()
    weight = (half[:, None] * gauss).ravel() * np.exp(-0.5 * z * z) * sqrt(2.0 / pi)
    weight /= weight.sum()
    f = values(link, np.minimum(z, farthest)) - centre
    return f, np.stack([weight, weight * (z * z - weight @ (z * z))], axis=1)


def _transforms(f: Floats, both: Floats, t: Floats) -> Any:
    """``psi_0`` and ``psi_2`` at places that are equally far from each other, from zero on: a column each."""
    block = max(1, AT_ONCE // len(t))
    parts = range(0, len(f), block)
    return np.sum([_waves(t[1] * f[i : i + block], len(t)) @ both[i : i + block] for i in parts], axis=0)


def _waves(phase: Floats, count: int) -> Any:
    """``exp(i j phase)`` for j = 0, 1, ... in rows: each half of them is the other times one power."""
    rows = np.empty((count, len(phase)), dtype=np.complex128)
    rows[0] = 1.0
    done = 1
    while done < count:
        more = min(done, count - done)
        np.multiply(rows[:more], np.exp(1j * done * phase), out=rows[done : done + more])
        done += more
    return rows


def _small_parts(weights: Floats, known: Any, t: Floats) -> Any:
    """Characteristic function of a sum of many small parts, by its cumulants up to the fourth."""
    if not len(weights):
        return 1.0
    cumulants = known.variance, known.third, known.fourth - 3.0 * known.variance**2
    two, three, four = (float(np.sum(weights**power)) * c for power, c in zip((2, 3, 4), cumulants, strict=True))
    return np.exp(-0.5 * two * t**2 - 1j * three * t**3 / 6.0 + four * t**4 / 24.0)
