"""Samples of a law of noise at one size, and what a fit and its statistics do on them."""

from __future__ import annotations

import zlib
from functools import cached_property, lru_cache
from typing import NamedTuple, final

import numpy as np

from presage.checkpoints.nulls.kept import kept
from presage.checkpoints.nulls.noise_law import GAUSSIAN, RANDOM, SHRUNK, SHRUNK_TIED, TIED, NoiseLaw
from presage.laws.spectral_law import Floats
from presage.spectra.bulks.tracy_widom import exceedance
from presage.spectra.random_products import TW_DEVIATION, TW_MEAN

LAWS = {
    "random": RANDOM,
    "tied": TIED,
    "shrunk": SHRUNK,
    "shrunk-tied": SHRUNK_TIED,
    "gaussian": GAUSSIAN,
}
STEP = 8  # spikes of a whole matrix after which the next table is sampled
TOP = 0.25  # of the values: left out of the fit that tells whether the largest stands out
MOST_TABLES = 160  # in memory


class Line(NamedTuple):
    """Values as a line in the means of a law: ``s = slope x + shift``; arrays where there are several spectra."""

    slope: Floats
    shift: Floats


def fitted(values: Floats, means: Floats, shifted: bool) -> Line:
    """Least squares of values on the mean order statistics of a law, along the last axis.

        slope = <m - mean m, s>/<m - mean m, m>,   shift = mean s - slope mean m;   without a shift <m, s>/<m, m>

    Equation: derived: the normal equations.
    Checked: tests/checkpoints/test_bulk_fit.py::test_a_fit_finds_scale_and_shift
    """
    if not shifted:
        slope = values @ means / (means @ means)
        return Line(slope, np.zeros_like(slope))
    centred = means - means.mean()
    slope = values @ centred / (centred @ means)
    return Line(slope, values.mean(axis=-1) - slope * means.mean())


@final
class NoiseTable:
    """Draws of the n ordered values of a law, one a row."""

    def __init__(self, law: NoiseLaw, samples: Floats) -> None:
        self.law, self.samples = law, samples

    @property
    def n(self) -> int:
        """Values of a draw."""
        return int(self.samples.shape[1])

    @cached_property
    def means(self) -> Floats:
        """Mean order statistics."""
        return np.asarray(self.samples.mean(axis=0))

    def beyond(self, values: Floats) -> Floats:
        """The largest value in units of the law, by a fit that leaves out the top quarter.

            e = (s_1 - shift)/slope

        Equation: derived: what stands out must not have a say in where the bulk ends.
        Checked: tests/checkpoints/test_bulk_fit.py::test_spikes_do_not_move_the_edge
        """
        below = max(int(np.ceil(TOP * self.n)), 1)
        line = fitted(values[..., below:], self.means[below:], self.law.shifted)
        return np.asarray((values[..., 0] - line.shift) / line.slope)

    @cached_property
    def _largest(self) -> tuple[float, float]:
        """Mean and standard deviation of `beyond` over the draws."""
        e = self.beyond(self.samples)
        return float(e.mean()), float(e.std(ddof=1))

    def p_largest(self, values: Floats) -> float:
        """Probability that the largest value of noise goes as far.

            P(gamma law with the skewness of TW_1, mean and deviation of e over the draws, > e)

        Equation: derived: the calibration of [C14]'s gamma law by the draws, since the scale is fitted.
        Checked: tests/checkpoints/test_calibration.py::test_levels_on_noise
        """
        mean, deviation = self._largest
        return float(exceedance(TW_MEAN + TW_DEVIATION * (float(self.beyond(values)) - mean) / deviation))

    def p_bulk(self, values: Floats) -> float:
        """How often noise is as far from its own fit, with the observed values pooled with the draws: exact.

            G = mean_i (s_i - fit_i)^2/var_i,   p = rank of G among the draws and the observed values

        Means, variances and fits are those of the pool, to which the observed values belong as every draw does.

        Equation: derived: a permutation test; under the law all rows of the pool are exchangeable.
        Checked: tests/checkpoints/test_calibration.py::test_levels_on_noise
        Checked: tests/checkpoints/test_bulk_fit.py::test_the_pooled_rank_is_uniform
        """
        line = fitted(values, self.means, self.law.shifted)
        own = (values - line.shift) / line.slope
        count = len(self.samples) + 1
        means = self.means + (own - self.means) / count
        squares = self._sum_of_squares + own * own
        variance = squares / count - means * means
        G_table, G = (
            _misfit(self.samples, means, variance, self.law.shifted),
            _misfit(own, means, variance, self.law.shifted),
        )
        return float((1 + np.sum(G_table >= G)) / count)

    @cached_property
    def _sum_of_squares(self) -> Floats:
        return np.asarray(np.sum(self.samples**2, axis=0))


def _misfit(values: Floats, means: Floats, variance: Floats, shifted: bool) -> Floats:
    """Mean of squared residuals over the variances, one a spectrum."""
    line = fitted(values, means, shifted)
    residual = values - line.slope[..., None] * means - line.shift[..., None]
    return np.asarray((residual * residual) @ (1.0 / variance) / len(means))


def draws_for(law: NoiseLaw, n: int, spikes: int) -> int:
    """How many draws a table has: fewer of whole matrices and of what few heads ask for."""
    if law is not GAUSSIAN:
        return 999 if law.shrinks or not spikes else 399
    return 199 if n <= 512 else 99 if n <= 1024 else 39


@lru_cache(maxsize=MOST_TABLES)
def noise_table(name: str, n: int, rows: int, columns: int, spikes: int = 0, *, exact: bool = False) -> NoiseTable:
    """The table of a law for n values of a matrix of rows x columns, beside so many spikes.

    Random factors beside r spikes are random factors of width n - r and height d - r. Whole matrices have a table every
    eight spikes, between which order statistics are interpolated. Shrunk noise has one for all, by which values are
    tested one after the other, and where `exact` is asked for its own. All tables of a matrix are in units of the whole
    matrix, as entries keep their variance beside spikes.
    """
    law = LAWS[name]
    if law is GAUSSIAN and spikes % STEP:
        known = spikes - spikes % STEP
        smaller = _smaller(law, rows, columns, spikes) / _smaller(law, rows, columns, known)
        return _interpolated(noise_table(name, n, rows, columns, known), n - spikes, smaller)
    if spikes and not law.shrinks and not exact:
        return _beside_spikes(noise_table(name, n, rows, columns), rows, columns, spikes)
    smaller = _smaller(law, rows, columns, spikes)
    n, rows, columns = n - spikes, rows - spikes, columns - spikes
    draws = draws_for(law, n, spikes)

    def made() -> Floats:
        seed = zlib.crc32(f"{name} {n} {rows} {columns}".encode())
        return law.sample(n, rows, columns, draws, np.random.default_rng(seed))

    return NoiseTable(law, smaller * kept(f"{name}-{n}-{rows}-{columns}-{draws}", made))


def _interpolated(table: NoiseTable, n: int, smaller: float) -> NoiseTable:
    """The same law with a few values less, by the places of its order statistics."""
    return NoiseTable(table.law, smaller * _at_places(table.samples, (np.arange(n) + 0.5) * table.n / n - 0.5))


def _beside_spikes(table: NoiseTable, rows: int, columns: int, spikes: int) -> NoiseTable:
    """The largest values of noise that r spikes have taken r dimensions from, by those of all dimensions.

        x_i(d - r) = ((d_q - r)(d_k - r)/(d_q d_k))^(1/4) x_j(d),   (i - 1/2)/(d - r) = (j - 1/2)/d,   d = min(d_q, d_k)

    Entries keep their variance, so that the noise that is left is smaller by the root of its size.

    Equation: derived: the quantiles of the bulk do not depend on its size but for the scale.
    Checked: tests/checkpoints/test_bulk_fit.py::test_tables_of_all_dimensions_serve_beside_spikes
    """
    d = min(rows, columns)
    places = (np.arange(table.n - spikes) + 0.5) * d / (d - spikes) - 0.5
    return NoiseTable(table.law, _smaller(table.law, rows, columns, spikes) * _at_places(table.samples, places))


def _smaller(law: NoiseLaw, rows: int, columns: int, spikes: int) -> float:
    """How much smaller noise of entries of the same variance is without the dimensions of the spikes."""
    return law.unit(rows - spikes, columns - spikes) / law.unit(rows, columns)


def _at_places(samples: Floats, places: Floats) -> Floats:
    """Order statistics at places between whole numbers, of every draw."""
    first = np.minimum(places.astype(np.int64), samples.shape[1] - 2)
    part = places - first
    return np.asarray(samples[:, first] * (1.0 - part) + samples[:, first + 1] * part)
