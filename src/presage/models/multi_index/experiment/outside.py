"""Which eigenvectors of a matrix of weighted samples say something: those outside of what the weights alone make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from presage.protocol.ensemble import Floats

FARTHEST = 1e6  # in units of the largest weight
CHANCE = 0.98  # Tracy and Widom: a matrix without a signal has an eigenvalue so far beyond its edge in 5 of 100 cases


class Directions(NamedTuple):
    """Eigenvectors outside of the bulk, one column each, the furthest first, and what the bulk is."""

    vectors: Floats
    values: Floats  # their eigenvalues
    furthest: float  # distance of the furthest eigenvalues from zero: the mean of those that belong together
    edge: float  # beyond which an eigenvector above the bulk counts


def upper_edge(T: Floats, d: int) -> float:
    """Where the eigenvalues of ``(1/n) sum T (x x' - 1)`` end whose weights know nothing of the samples.

    The least value of ``l (d/n + mean[T/(l-T)])`` above the largest weight, less the mean weight.
    """
    n, top, size = len(T), float(T.max()), float(np.abs(T).max())

    def psi(log: float) -> float:
        l = top + np.exp(log)
        return float(l * (d / n + np.mean(T / (l - T))))

    # The largest weight is that of one sample, which makes l as large as its share of the sum at the least.
    found = scipy.optimize.minimize_scalar(
        psi, bounds=(np.log(size / n), np.log(FARTHEST * size)), method="bounded", options={"xatol": 1e-8}
    )
    return float(found.fun - np.mean(T))


def directions(C: Floats, T: Floats, *, above_only: bool, equal: int = 1) -> Directions:
    """Eigenvectors of C whose eigenvalues are outside of the bulk of the weights T, by more than chance allows.

    `equal` is how many of the furthest eigenvalues belong together, as those of equal features do.
    """
    d, n = len(C), len(T)
    chance = CHANCE * np.sqrt(np.mean(T**2) * d / n) * d ** (-2.0 / 3.0)
    high = upper_edge(T, d) + chance
    # Only what is outside is computed, and the ends.
    values, vectors = scipy.linalg.eigh(C, subset_by_value=(high, np.inf), driver="evr")
    ends = scipy.linalg.eigvalsh(C, subset_by_index=(d - equal, d - 1)) if len(values) < equal else values
    if not above_only:
        low = -(upper_edge(-T, d) + chance)
        below, further = scipy.linalg.eigh(C, subset_by_value=(-np.inf, low), driver="evr")
        first = scipy.linalg.eigvalsh(C, subset_by_index=(0, equal - 1)) if len(below) < equal else below
        values, vectors = np.concatenate([values, below]), np.concatenate([vectors, further], axis=1)
        ends = np.concatenate([ends, -first])
    order = np.argsort(-np.abs(values), kind="stable")
    furthest = float(np.mean(np.sort(ends)[-equal:]))
    return Directions(vectors[:, order], values[order], furthest, high)
