"""The bulk of a spectrum and what stands out of it: which law fits best, and how well."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any, NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.spectra.bulks.cut_semicircle import CutSemicircleBulk
from presage.spectra.bulks.family import BulkFamily
from presage.spectra.bulks.given_law import GivenBulk
from presage.spectra.bulks.marchenko_pastur import MarchenkoPasturBulk
from presage.spectra.bulks.semicircle import SemicircleBulk
from presage.spectra.bulks.tracy_widom import exceedance, exceeded_with

SURPRISE = 0.002  # probability with which the largest eigenvalue of noise is called one that stands out
BEYOND = float(exceeded_with(SURPRISE))
ROUNDS = 40  # of fitting without what stands out
MOST_OUT = 1.0 / 3.0  # of the values that are not zero: what stands out is never more
LOOSE = 0.04  # Kolmogorov distance up to which a bulk is told by eye


@final
class Spike(NamedTuple):
    """A value that stands out of the bulk."""

    value: float
    p_value: float  # probability that the largest eigenvalue of noise goes as far, by Tracy and Widom
    far: float  # its distance to the edge over the reach of the bulk
    strength: float  # of the direction behind it, 1 where it would just stand out; nan for a law that is given


@final
class BulkFit(NamedTuple):
    """A law fitted to the bulk, how near it is, and the values that stand out."""

    bulk: BulkFamily
    discrepancy: float  # N times the Kolmogorov distance: eigenvalues that are out of place
    distance: float  # the same over the number of those that are not zero
    spikes: tuple[Spike, ...]  # largest first, those below the bulk after those above it
    settled: bool  # whether the fit without what stands out leaves the same standing out

    @property
    def bound(self) -> float:
        """Discrepancy that noise of this size has in 199 of 200 cases."""
        return strict_bound(self.bulk.size)

    @property
    def strict(self) -> bool:
        """Whether the bulk is as near to the law as noise is."""
        return self.discrepancy <= self.bound

    @property
    def loose(self) -> bool:
        """Whether the bulk looks like the law."""
        return self.strict or self.distance <= LOOSE

    @property
    def farthest(self) -> float:
        """How far the farthest value that stands out is from the edge, over the reach of the bulk; 0 for none."""
        return max((spike.far for spike in self.spikes), default=0.0)


def strict_bound(size: int) -> float:
    """How many eigenvalues may be out of place.

        N KS <= 3.6 + ln(max(N, 50)/100)/2

    Eigenvalues of noise repel, so that their distribution function is within ln(N)/N of its limit.

    Equation: derived: 99.5 % of what noise shows, of every family, at N = 100, 300 and 1000 (3.3, 3.95, 4.2).
    Checked: tests/spectra/test_classify_rates.py::test_the_rates_of_classify
    """
    return 3.6 + 0.5 * log(max(size, 50) / 100.0)


def fit_bulk(values: Floats, zeros: int, law: Any = None) -> BulkFit:
    """The family of least discrepancy, of those that such values can have; first one that leaves nothing to explain.

    Negative values: a semicircle. Positive ones and zeros: a cut semicircle, or a factor of low rank. Positive ones
    alone: a factor, or a semicircle. A `law` that is given replaces them.

    Args:
        values: what is not zero, increasing.
        zeros: how many zeros there are beside.
        law: the law of the bulk, if it is known.
    """
    makers: list[Callable[[Floats, int], BulkFamily]]
    if law is not None:
        makers = [lambda inside, zeros: GivenBulk.of(law, len(inside), zeros)]
    elif values[0] < 0.0:
        makers = [SemicircleBulk.fitted]
    elif zeros:
        makers = [CutSemicircleBulk.fitted, MarchenkoPasturBulk.fitted]
    else:
        makers = [MarchenkoPasturBulk.fitted, SemicircleBulk.fitted]
    fits = [_without_spikes(values, zeros, made) for made in makers]
    return min(fits, key=lambda fit: (bool(fit.spikes) or not fit.strict, fit.discrepancy))


def _without_spikes(values: Floats, zeros: int, made: Callable[[Floats, int], BulkFamily]) -> BulkFit:
    """Fit, take away what stands out, and fit again until the same stands out."""
    most = int(MOST_OUT * len(values))
    below, above, seen = 0, 0, set()
    for _ in range(ROUNDS):
        bulk = made(values[below : len(values) - above], zeros)
        counted = _standing_out(values, bulk, most)
        settled = counted == (below, above)
        if settled or counted in seen:
            break
        seen.add(counted)
        below, above = counted
    inside = values[below : len(values) - above]
    spikes = _spikes(bulk, np.concatenate([values[len(values) - above :][::-1], values[:below]]))
    discrepancy = _discrepancy(bulk, inside)
    return BulkFit(bulk, discrepancy, discrepancy / len(inside), spikes, settled)


def _standing_out(values: Floats, bulk: BulkFamily, most: int) -> tuple[int, int]:
    """How many values are further below and above the bulk than the largest of noise would be."""
    slack = BEYOND * bulk.width
    above = int(np.sum(values > bulk.edge + slack))
    below = int(np.sum(values < bulk.left - slack)) if bulk.two_sided else 0
    return min(below, most // 2), min(above, most - min(below, most // 2))


def _spikes(bulk: BulkFamily, values: Floats) -> tuple[Spike, ...]:
    """Each value with its probability, distance and strength."""
    beyond = np.maximum(values - bulk.edge, bulk.left - values)
    numbers = zip(values, exceedance(beyond / bulk.width), beyond / bulk.reach, strict=True)
    return tuple(Spike(float(x), float(p), float(far), bulk.strength(float(x))) for x, p, far in numbers)


def _discrepancy(bulk: BulkFamily, inside: Floats) -> float:
    """Largest difference between the number of values up to a place and what the law expects there."""
    expected = bulk.size * bulk.cdf(inside)
    # Zeros are below all positive values, and between those of a semicircle that has both signs.
    counted = np.arange(len(inside)) + np.where(inside > 0.0, bulk.zeros, 0)
    return float(max(np.max(np.abs(expected - counted)), np.max(np.abs(expected - counted - 1))))
