"""A law of noise set beside a spectrum: how many values stand out of it, and whether the rest is as noise is."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from presage.checkpoints.nulls.noise_table import LAWS, NoiseTable, fitted, noise_table
from presage.laws.spectral_law import Floats

LEVEL = 0.01  # at which a value stands out, and below which a bulk is rejected
FEWEST, FEWEST_IN_BULK = 24, 12  # values that a law is fitted to, and those of them that must be left as bulk
FLAT = 1e-6  # range of values, over the largest, below which they are equal: no law of noise has such


@final
class BulkFit(NamedTuple):
    """What a law of noise leaves of a spectrum."""

    law: str  # the key of `LAWS`
    spikes: int  # values that stand out
    p_spikes: tuple[float, ...]  # of each of them, and of the first that does not
    p_bulk: float  # of the rest; nan where too few are left
    slope: float  # a delta, in units of the law
    shift: float
    distance: float  # root mean square residual over the range of the bulk
    placebo: float  # the same of equally spaced values

    @property
    def name(self) -> str:
        """The law as people call it."""
        return LAWS[self.law].name

    @property
    def accepted(self) -> bool:
        """Whether the bulk is as noise of this law is."""
        return self.p_bulk >= LEVEL

    @property
    def cutoff(self) -> float:
        """What weight decay has cut away, in units of the noise: c/delta; 0 for laws without a shift."""
        return -self.shift / self.slope if self.slope else float("nan")


def fit_bulk(law: str, values: Floats, rows: int, columns: int) -> BulkFit:
    """Set a law of noise beside decreasing values that are not zero, of a matrix of rows x columns.

    Values are tested from the largest on, each beside the table of what is left, and the first that does not stand out
    at level 0.01 ends it: by the nesting of the tests, more spikes than there are come out with probability 0.01.
    Values that are all equal, such as those of an orthogonal matrix, are those of no noise.

    Equation: derived: nested tests of `p_largest`, then `p_bulk` of the rest.
    Checked: tests/checkpoints/test_calibration.py::test_levels_on_noise
    Checked: tests/checkpoints/test_calibration.py::test_planted_directions_are_found
    Checked: tests/checkpoints/test_bulk_fit.py::test_equal_values_are_no_noise
    """
    n = len(values)
    p_spikes: list[float] = []
    r = 0
    while True:
        if values[r] - values[-1] <= FLAT * values[r]:
            return BulkFit(law, r, (*p_spikes, 0.0), 0.0, 0.0, float(values[-1]), 0.0, 0.0)
        table = noise_table(law, n, rows, columns, r)
        p_spikes.append(table.p_largest(values[r:]))
        if p_spikes[-1] > LEVEL or r + 1 > n // 2 or n - r - 1 < FEWEST_IN_BULK:
            break
        r += 1
    bulk, table = values[r:], noise_table(law, n, rows, columns, r, exact=True)
    line = fitted(bulk, table.means, table.law.shifted)
    p_bulk = table.p_bulk(bulk) if len(bulk) >= FEWEST_IN_BULK and p_spikes[-1] > LEVEL else float("nan")
    even = np.linspace(bulk[0], bulk[-1], len(bulk))
    return BulkFit(
        law,
        r,
        tuple(p_spikes),
        p_bulk,
        float(line.slope),
        float(line.shift),
        _distance(bulk, table),
        _distance(even, table),
    )


def _distance(values: Floats, table: NoiseTable) -> float:
    """Root mean square residual of the fit over the range of the values."""
    line = fitted(values, table.means, table.law.shifted)
    residual = values - line.slope * table.means - line.shift
    return float(np.sqrt(np.mean(residual**2)) / (values[0] - values[-1])) if values[0] > values[-1] else 0.0
