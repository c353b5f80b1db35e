"""How much of the response of samples is jumps between two minima, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from presage.laws.spectral_law import Floats

DOUBTFUL = 0.01  # part of a response that is jumps
JUMPS = (
    "{:.2g} of the response of a sample is jumps between two minima of its loss: where samples jump, replica symmetry "
    "is doubtful and training may end elsewhere."
)


def notes_of(jumps: float) -> tuple[str, ...]:
    """The caveat, where there is reason for it."""
    return (JUMPS.format(jumps),) if jumps > DOUBTFUL else ()


def surely(copies: Sequence[Floats]) -> float:
    """Largest entry of the mean over copies beyond twice its standard error: what is more than their noise."""
    values = np.array([np.ravel(copy) for copy in copies])
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(np.max(np.maximum(np.abs(values.mean(axis=0)) - 2.0 * error, 0.0)))
