"""One whole weight matrix beside a matrix of independent entries."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from presage.checkpoints.bulk_fit import FEWEST, BulkFit, fit_bulk
from presage.checkpoints.flips import FLIPS, at_least, flipped_tops
from presage.checkpoints.measures import MeanAndDeviation, effective_rank, ranks_of_noise, stable_rank, zero_up_to
from presage.checkpoints.nulls.noise_table import noise_table
from presage.checkpoints.tail import Tail, tail_of
from presage.checkpoints.told import Told
from presage.checkpoints.verdicts import (
    COLLAPSE,
    COLLAPSED,
    NO_BULK,
    RANDOM,
    SPIKES,
    TOO_FEW,
    UNEVEN,
    UNFLIPPED,
    UNKNOWN,
)
from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.tabulated import plain

if TYPE_CHECKING:
    import pandas as pd

LAW = "gaussian"


@final
@dataclass(frozen=True, eq=False)
class MatrixReport(Told):
    """What is known of one matrix, and what may be said of it."""

    name: str
    rows: int
    columns: int
    dtype: str
    singular_values: Floats = field(repr=False)  # decreasing, those that are zero set to zero
    floor: float  # up to this they may be the rounding of the stored numbers
    flips: tuple[float, ...] = field(repr=False)
    fit: BulkFit | None  # None where there are too few values

    @property
    def n(self) -> int:
        """Values that are not zero."""
        return int(np.sum(self.singular_values > 0.0))

    @property
    def below_floor(self) -> int:
        """How many are not zero and may be the rounding of the stored numbers."""
        return int(np.sum((self.singular_values > 0.0) & (self.singular_values <= self.floor)))

    @property
    def stable_rank(self) -> float:
        """``|W|_F^2/s_1^2``."""
        return float(stable_rank(self.singular_values)) if self.n else nan

    @property
    def effective_rank(self) -> float:
        """The exponential of the entropy of the squares."""
        return float(effective_rank(self.singular_values)) if self.n else nan

    @property
    def ranks_of_noise(self) -> tuple[MeanAndDeviation, MeanAndDeviation]:
        """Stable and effective rank of matrices of independent entries of this shape."""
        return ranks_of_noise(LAW, len(self.singular_values), self.rows, self.columns)

    @property
    def at_least(self) -> int | None:
        """Values above those of every flip of signs; None where none were made."""
        return at_least(self.singular_values, np.array(self.flips)) if self.flips else None

    @cached_property
    def tail(self) -> Tail | None:
        """A power law in the squares of the values, beside the exponents of noise; None where there is no value."""
        if self.n < 2:
            return None
        return tail_of(
            self.singular_values[: self.n], noise_table(LAW, len(self.singular_values), self.rows, self.columns).samples
        )

    @property
    def verdict(self) -> str:
        """What kind of matrix it is."""
        return self._told[0]

    @property
    def sentence(self) -> str:
        """The verdict with its numbers."""
        return self._told[1]

    @cached_property
    def _told(self) -> tuple[str, str]:
        if self.n < FEWEST or (self.fit is None and not self.below_floor):
            return TOO_FEW, f"{self.n} values are not zero, and a law is fitted to {FEWEST} or more."
        if self.effective_rank < COLLAPSED:
            return COLLAPSE, f"the effective rank is {self.effective_rank:.2g}."
        if self.fit is None:
            return UNKNOWN, f"{self.below_floor} of {self.n} values may be the rounding of the stored numbers."
        if np.isnan(self.fit.p_bulk):
            return UNKNOWN, "too many values stand out for a bulk to be tested."
        if not self.fit.accepted:
            known = "" if self.at_least is None else f"; {self.at_least} values are above those of flipped signs"
            return NO_BULK, f"the bulk is not that of independent entries (p = {self.fit.p_bulk:.2g}){known}."
        bulk = f"the bulk is as that of independent entries (p = {self.fit.p_bulk:.2g})"
        if not self.fit.spikes:
            return RANDOM, f"{bulk}, and no value stands out."
        if self.at_least is None:
            return UNKNOWN, f"{bulk}; {self.fit.spikes} values stand out, but {UNFLIPPED}"
        if not self.at_least:
            return UNEVEN, f"{bulk}; {self.fit.spikes} values stand out, but flipped signs do not show it."
        return SPIKES, f"{bulk}, and {self.fit.spikes} stand{'s' if self.fit.spikes == 1 else ''} out."

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before believing it."""
        return ()

    def row(self) -> dict[str, Any]:
        """Its line in a table."""
        stable, _ = self.ranks_of_noise
        fit = self.fit
        return {
            "name": self.name,
            "rows": self.rows,
            "columns": self.columns,
            "top": float(self.singular_values[0]),
            "stable_rank": self.stable_rank,
            "stable_rank_null": stable.mean,
            "effective_rank": self.effective_rank,
            "rank": self.n,
            "below_floor": self.below_floor,
            "at_least": self.at_least,
            "spikes": None if fit is None or not fit.accepted else fit.spikes,
            "p_bulk": nan if fit is None else fit.p_bulk,
            "distance": nan if fit is None else fit.distance,
            "placebo": nan if fit is None else fit.placebo,
            "verdict": self.verdict,
            "sentence": self.sentence,
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and words."""
        return {key: plain(value) for key, value in {**self.row(), "singular_values": self.singular_values}.items()}

    def to_dataframe(self) -> pd.DataFrame:
        """A table of pandas with one row."""
        import pandas as pd

        return pd.DataFrame([self.row()])

    def __repr__(self) -> str:
        return f"<MatrixReport of {self.name}: {self.verdict}>"

    def __str__(self) -> str:
        said = f"{self.name}, {self.rows} x {self.columns}: {self.verdict}: {self.sentence}"
        return said if self.tail is None else f"{said}\ntail: {self.tail.words}"


def read_matrix(
    matrix: ArrayLike,
    *,
    name: str = "matrix",
    flips: int = FLIPS,
    seed: int = 0,
    error: float = 0.0,
    dtype: str | None = None,
) -> MatrixReport:
    """Set a whole weight matrix beside a matrix of independent entries of its shape.

    Args:
        matrix: the weights.
        name: what it is called.
        flips: random signs of the entries; 0 for none.
        seed: of the flips.
        error: root mean square rounding of the stored numbers.
        dtype: how they were stored, such as "F32" or "BF16"; by default as the array has them.

    Checked: tests/checkpoints/test_matrix_report.py::test_classify_and_the_reader_agree
    """
    reason, remedy = "it is a weight matrix", "Pass a two-dimensional array of numbers."
    W = checks.finite("matrix", matrix, reason=reason, remedy=remedy)
    if W.ndim != 2 or 0 in W.shape:
        raise checks.complaint("matrix", "be a matrix", reason, f"an array of shape {W.shape}", remedy)
    stored = dtype or ("F64" if np.asarray(matrix).dtype.itemsize >= 8 else "F32")
    if W.shape[0] < W.shape[1]:
        W = W.T
    values: Floats = np.asarray(np.linalg.svd(W, compute_uv=False), dtype=np.float64)
    long, short = W.shape
    values = np.where(values > zero_up_to(float(values[0]), stored, long), values, 0.0)
    floor = error * (np.sqrt(long) + np.sqrt(short))
    n = int(np.sum(values > 0.0))
    fit = fit_bulk(LAW, values[:n], *_of_rank(n, long, short)) if n >= FEWEST and values[n - 1] > floor else None
    tops = _flipped(W, flips, np.random.default_rng(seed)) if flips and n else ()
    rows, columns = np.shape(np.asarray(matrix))
    return MatrixReport(name, rows, columns, stored, values, float(floor), tops, fit)


def _of_rank(n: int, long: int, short: int) -> tuple[int, int]:
    """The shape of a matrix of noise that has n values: the longer side is the matrix's own."""
    return (short, long) if n == short else (n, long)


def _flipped(W: Floats, flips: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Largest singular values with random signs: roots of those of the factor times its transpose."""
    return tuple(map(float, np.sqrt(flipped_tops(W, None, flips, rng))))
