"""What trained vectors show of each entry of the target: the largest first, so that seeds can be averaged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.diagonal.experiment.training import DiagonalFit


@final
@dataclass(frozen=True, eq=False)
class MeasuredCoordinates:
    """One row an entry of the target, the largest first: means over vectors, and their standard errors."""

    i: NDArray[np.int64] = field(repr=False)  # rank, from 1
    fit: Floats = field(repr=False)  # theta_fit theta_0/theta, theta the entry or its standard deviation
    error: Floats = field(repr=False)  # (theta_fit - theta_0)^2
    nonzero: Floats = field(repr=False)  # part of the vectors in which it is there
    fit_bar: Floats = field(repr=False)
    error_bar: Floats = field(repr=False)
    nonzero_bar: Floats = field(repr=False)


def by_rank(fit: DiagonalFit, theta_0: Floats, sizes: Floats) -> dict[str, Floats]:
    """Fit, error and presence of every entry, ordered by the sizes that the law gave them."""
    order = np.argsort(-np.abs(sizes), kind="stable")
    along = np.divide(theta_0, np.abs(sizes), out=np.ones_like(theta_0), where=sizes != 0.0)
    return {
        "coordinate_fit": (fit.theta * along)[order],
        "coordinate_error": ((fit.theta - theta_0) ** 2)[order],
        "coordinate_nonzero": np.asarray(fit.support, dtype=np.float64)[order],
    }


def measured_coordinates(fit: Floats, error: Floats, nonzero: Floats) -> MeasuredCoordinates:
    """Means of columns with one row a vector; standard errors are NaN with a single vector."""
    means = [column.mean(axis=0) for column in (fit, error, nonzero)]
    several = len(fit) > 1
    bars = [
        column.std(axis=0, ddof=1) / np.sqrt(len(column)) if several else np.full(column.shape[1], np.nan)
        for column in (fit, error, nonzero)
    ]
    return MeasuredCoordinates(np.arange(1, fit.shape[1] + 1), *means, *bars)
