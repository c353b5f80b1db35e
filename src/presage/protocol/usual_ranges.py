"""What networks show that follow a law: ranges for the means of a few of them, told from a finite number of draws.

The level is one for all measures together: networks that follow the law are outside of any range in about that part of
all cases, however many networks there are and however few were drawn.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy

from presage.protocol.ensemble import Floats

LEVEL = 0.01  # part of the networks that follow the law and are refused all the same, over all measures
# Ends of ranges that a number can be beyond: two of rank, top, bottom and outside, and the upper one of two distances.
ENDS = 10
SKEWED = 2.0  # standard errors of a skewness by which it may be larger than the draws show
MOST, FEWEST = 200, 4  # draws
AFFORDED, AT = 10, 1000  # so many draws at this d take some ten seconds; a draw costs d^3
POINTS = 200  # at which the distribution function is tabulated where the draws are
BEYOND = 25  # and on either side from there to values that were given
BESIDE = 1e-12  # relative: how far below zero the mass of the negative values ends
ROUNDING = 1e-9  # relative: how far beyond an end a number is still at it
DISTANCES = ("wasserstein", "kolmogorov_smirnov")


class Range(NamedTuple):
    """The mean over the draws, and where means of as many networks as were given are."""

    expected: float
    low: float
    high: float


def draws_for(d: int) -> int:
    """How many networks of this size are drawn where nothing else is asked for: it depends on d alone, not on a clock.

    A square in place of the cube of the cost: draws of larger networks fluctuate less, but a few are needed.
    """
    return int(np.clip(AFFORDED * (AT / d) ** 2, FEWEST, MOST))


def mean_range(drawn: Floats, count: int, *, grain: float = 0.0, share: int = 1) -> Range:
    """Where the mean of `count` new numbers is, told from those that were drawn; each end is missed by LEVEL/ENDS.

    ``mean +- s v^(1/2) (t + c)`` with ``v = 1/k + 1/n`` for k of them: s and the mean are those of n draws, so t is a
    quantile of Student's law with n - 1 degrees of freedom. For numbers of skewness g the difference of both means over
    ``s v^(1/2)`` has the mean ``g v^(-1/2)/(2 n)`` and the skewness
    ``g ((1/k^2 - 1/n^2) v^(-3/2) + 3 v^(-1/2)/n)``, as draws without the long tail have a smaller mean and
    a smaller s; c is what this adds to a normal quantile. Of either tail g is taken two standard errors longer than the
    draws show, since few seldom show a long tail, and never shorter. Numbers in steps of `grain` have at least the
    spread of the rounding, and half a step more. With `share` the level of an end is divided by it again.

    Equation: derived: a prediction interval with the first term of the expansion of Cornish and Fisher.
    Checked: tests/protocol/test_trained_elsewhere.py::test_a_range_is_missed_as_often_as_it_says
    """
    n, mean = len(drawn), float(drawn.mean())
    spread = max(float(drawn.std(ddof=1)), grain / sqrt(12.0))
    each = LEVEL / (ENDS * share)
    student, normal = -float(scipy.special.stdtrit(n - 1, each)), -float(scipy.special.ndtri(each))
    variance = 1.0 / count + 1.0 / n
    third = float(np.mean((drawn - mean) ** 3)) / spread**3 if spread > 0.0 else 0.0
    root = sqrt(variance)
    skewed = (1.0 / count**2 - 1.0 / n**2) / root**3 + 3.0 / (n * root)
    longer = 0.5 / (n * root) + skewed * (normal**2 - 1.0) / 6.0
    unseen = SKEWED * sqrt(6.0 / n)
    below, above = (spread * root * (student + longer * max(sign * third + unseen, 0.0)) for sign in (-1.0, 1.0))
    step = 0.5 * grain / count
    return Range(mean, mean - below - step, mean + above + step)


def ranges(drawn: dict[str, Floats], count: int, grain: float) -> dict[str, Range]:
    """The range of every measure for the mean over `count` networks; `grain` is the step of the rank."""
    found = {name: mean_range(values, count, grain=grain if name == "rank" else 0.0) for name, values in drawn.items()}
    near = {name: found[name]._replace(low=0.0) for name in DISTANCES}  # nothing is too near to the law
    rank = found["rank"]
    return {**found, **near, "rank": rank._replace(low=max(rank.low, 0.0), high=min(rank.high, 1.0))}


def fence(drawn: dict[str, Floats], count: int) -> tuple[float, float]:
    """Between which all values of all of `count` networks are."""
    bottom, top = (mean_range(drawn[name], 1, share=count) for name in ("bottom", "top"))
    return bottom.low - ROUNDING * abs(bottom.low), top.high + ROUNDING * abs(top.high)


class Table(NamedTuple):
    """A distribution function at many points, two of them at zero: before and after its mass there."""

    x: Floats
    below: Floats

    @classmethod
    def of(cls, law: Any, drawn: Floats, given: Floats) -> Table:
        """Dense where the draws are, so that one value far away takes no point from them."""
        low, high = min(float(drawn.min()), 0.0), max(float(drawn.max()), 0.0)
        size = max(high - low, np.finfo(np.float64).tiny)
        dense = np.linspace(low - BESIDE * size, high, POINTS)
        left = np.linspace(min(float(given.min()), low), low, BEYOND)
        right = np.linspace(high, max(float(given.max()), high), BEYOND)
        x = np.unique(np.concatenate([left, dense, right, [-BESIDE * size, 0.0]]))
        return cls(x, np.asarray(law.cdf(x), dtype=np.float64))

    @property
    def zero(self) -> float:
        """The mass at zero."""
        at = int(np.searchsorted(self.x, 0.0))
        return float(self.below[at] - self.below[at - 1])

    def measured(self, rows: Floats) -> dict[str, Floats]:
        """Every measure of each network but those that are outside."""
        apart = np.array([self._distances(row) for row in rows])
        return {
            "rank": np.mean(rows != 0.0, axis=1),
            "wasserstein": apart[:, 0],
            "kolmogorov_smirnov": apart[:, 1],
            "top": rows[:, -1],
            "bottom": rows[:, 0],
        }

    def _distances(self, row: Floats) -> tuple[float, float]:
        """Of one network: the area between the two distribution functions, and their largest difference."""
        steps = np.searchsorted(row, self.x, side="right") / len(row)
        apart = np.abs(steps - self.below)
        area = float(np.sum(0.5 * (apart[1:] + apart[:-1]) * np.diff(self.x)))
        return area, float(apart.max())
