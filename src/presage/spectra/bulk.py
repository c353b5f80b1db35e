"""A bulk of a spectrum, as predictions tell of it."""

from __future__ import annotations

from typing import NamedTuple


class Bulk(NamedTuple):
    """An interval of the learned spectrum and the fraction of the eigenvalues in it."""

    left: float
    right: float
    mass: float
