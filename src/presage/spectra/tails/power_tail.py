"""A power law in the upper end of positive numbers: where it begins, its exponent, and whether it is one at all."""

from __future__ import annotations

from math import exp, log, log10, sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.njit import njit
from presage.spectra.tails.rival_tails import by_all, lilliefors, vuong_exponential, vuong_lognormal

FEWEST = 25  # numbers of a tail
CANDIDATES = 80  # beginnings that are tried
SAME = 1e-9  # mean of the logarithms of numbers that are the same, over their start
LEVEL = 0.98  # of the interval of the exponent
RIGID = 0.3  # sqrt(m) times the distance; of a hundred samples of independent numbers none or one is as near
DEVIATIONS = 2.33  # of a normal number, at that level


@final
class PowerTail(NamedTuple):
    """The tail of a spectrum, above `start`, as a power law."""

    exponent: float  # a of a density x^-a
    low: float  # interval of the exponent, at 98 %
    high: float
    start: float
    size: int  # eigenvalues in it
    decades: float  # from its start to the largest
    distance: float  # of Kolmogorov and Smirnov
    p_value: float  # how often a true power law is further from its own fit; nan without a bootstrap
    vuong_exponential: float  # normal score of the likelihoods: positive speaks for the power law
    vuong_lognormal: float
    lognormal: float  # Lilliefors' distance of the logarithms of all positive values to a normal law
    gain: float  # log of the likelihood of the tail over that by the lognormal law of all positive values

    @property
    def rigid(self) -> bool:
        """Whether it is nearer to its power law than independent numbers are, as eigenvalues that repel may be."""
        return self.distance * sqrt(self.size) <= RIGID


class Fit(NamedTuple):
    """Exponent, size and distance of the best tail."""

    exponent: float
    size: int
    distance: float


@njit(cache=True)
def _best(logs, counts):  # type: ignore[no-untyped-def]
    """Of increasing logarithms, the tail of least distance to its own power law: exponent, size, distance."""
    r = logs.size
    above = np.empty(r + 1)
    above[0] = 0.0
    for m in range(1, r + 1):
        above[m] = above[m - 1] + logs[r - m]
    best_slope, best_count, best = 0.0, 0, np.inf
    for m in counts:
        start = logs[r - m]
        total = above[m] - m * start
        if total <= SAME * m:
            continue
        slope = m / total
        distance = 0.0
        for i in range(m):
            below = 1.0 - exp(-slope * (logs[r - m + i] - start))
            distance = max(distance, below - i / m, (i + 1) / m - below)
            if distance >= best:
                break
        if distance < best:
            best_slope, best_count, best = slope, m, distance
    return 1.0 + best_slope, best_count, best


def fitted(logs: Floats) -> Fit:
    """The power law of a tail by maximum likelihood, begun where it is nearest to the numbers.

        a = 1 + m/sum ln(x_i/x_min),    x_min of least Kolmogorov distance

    Equation: [CSN09] (3.1), and its section 3.3 for the start.
    Checked: tests/spectra/test_tails.py::test_the_exponent_is_that_of_maximum_likelihood
    """
    largest = len(logs)
    spaced = np.geomspace(min(FEWEST, largest), largest, CANDIDATES)
    return Fit(*_best(logs, np.unique(np.rint(spaced).astype(np.int64))))


def power_tail(values: Floats, *, bootstrap: int, rng: np.random.Generator) -> PowerTail | None:
    """The power law in the upper end of positive numbers; None where all of them are the same.

    The p value is that of the semiparametric bootstrap: numbers below the start are drawn again, those above it are
    drawn from the power law, and the start is chosen anew. The interval is the union of that of resampled numbers,
    start chosen anew, and of the error ``(a - 1)/sqrt(m)`` of maximum likelihood.

    Equation: [CSN09] (3.2), and its section 4.1 for the bootstrap.
    Checked: tests/spectra/test_tails.py::test_the_p_value_tells_a_power_law_from_none
    Checked: tests/spectra/test_classify_rates.py::test_the_rates_of_classify
    """
    logs = np.sort(np.log(values))
    found = fitted(logs)
    if not found.size:
        return None
    first = len(logs) - found.size
    tail = logs[first:] - logs[first]
    likelihood = log(found.exponent - 1.0) - (found.exponent - 1.0) * tail
    error = DEVIATIONS * (found.exponent - 1.0) / sqrt(found.size)
    low, high, p_value = found.exponent - error, found.exponent + error, float("nan")
    if bootstrap:
        p_value = float(
            np.mean([fitted(_drawn(logs, found, rng)).distance >= found.distance for _ in range(bootstrap)])
        )
        again = [fitted(np.sort(rng.choice(logs, len(logs)))).exponent for _ in range(bootstrap)]
        ends = np.quantile(again, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
        low, high = min(low, float(ends[0])), max(high, float(ends[1]))
    return PowerTail(
        exponent=found.exponent,
        low=max(low, 1.0),
        high=high,
        start=exp(logs[first]),
        size=found.size,
        decades=float(tail[-1]) * log10(exp(1.0)),
        distance=found.distance,
        p_value=p_value,
        vuong_exponential=vuong_exponential(tail, likelihood),
        vuong_lognormal=vuong_lognormal(tail, likelihood),
        lognormal=lilliefors(logs),
        gain=float(np.sum(likelihood - by_all(logs, first))),
    )


def _drawn(logs: Floats, found: Fit, rng: np.random.Generator) -> Floats:
    """As many logarithms as there are: below the start from them, above it from the power law."""
    first = len(logs) - found.size
    above = int(rng.binomial(len(logs), found.size / len(logs)))
    tail = logs[first] + rng.exponential(1.0 / (found.exponent - 1.0), above)
    body = rng.choice(logs[:first], len(logs) - above) if first else np.empty(0)
    return np.sort(np.concatenate([body, tail]))
