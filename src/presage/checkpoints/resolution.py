"""Whether a law of noise can be told from another at a size: a law is named only where the others would be rejected."""

from __future__ import annotations

import numpy as np

from presage.checkpoints.bulk_fit import LEVEL
from presage.checkpoints.nulls.kept import kept
from presage.checkpoints.nulls.noise_table import noise_table
from presage.laws.spectral_law import Floats

TRIED = 200  # draws of the other law


def resolution(law: str, other: str, n: int, rows: int, columns: int) -> float:
    """How often n values of another law of noise are rejected as values of this one, at level 0.01.

    Equation: derived: the power of `p_bulk` against the draws of the other law.
    Checked: tests/checkpoints/test_bulk_fit.py::test_wrong_laws_are_accepted_as_often_as_was_measured
    """
    table = noise_table(law, n, rows, columns)

    def made() -> Floats:
        draws = _as_learned(other, n, rows, columns)
        return np.array([np.mean([table.p_bulk(values) < LEVEL for values in draws])])

    return float(kept(f"resolution-{law}-{other}-{n}-{rows}-{columns}", made)[0])


def _as_learned(law: str, n: int, rows: int, columns: int) -> Floats:
    """Draws of a law; of shrunk noise as it is where the cut leaves n values, just below the least of all draws."""
    table = noise_table(law, n, rows, columns)
    draws = table.samples[:TRIED]
    if not table.law.shifted:
        return draws
    gap = float(np.mean(draws[:, -2] - draws[:, -1]))
    return np.asarray(draws - draws.min() + gap)
