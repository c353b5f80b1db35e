"""One order of the hidden units, and one sign of each: which machine is meant does not depend on either."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.hidden import is_symmetric
from presage.models.boltzmann.problem import BoltzmannProblem

ALIKE = 9  # digits to which two overlaps are looked at as one


def order_of_units(problem: BoltzmannProblem, M: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Places and signs of the units: by falling overlap with the strongest direction, and most of it positive.

    M has a row a direction and a column a unit. Units of a law of their own may change places, and signs where that
    law is symmetric; of a law of all units together only the sign of all is free.
    """
    k = problem.units
    joint = not problem.hidden.independent
    places: NDArray[np.intp] = (
        np.arange(k, dtype=np.intp) if joint else np.argsort(-np.round(np.abs(M[0]), ALIKE), kind="stable")
    )
    ordered = M[:, places]
    if not is_symmetric(problem.hidden, k if joint else 1):
        return places, np.ones(k)
    largest = np.argmax(np.abs(ordered) > 0.5 * np.abs(ordered).max(axis=0), axis=0)
    signs = np.where(ordered[largest, np.arange(k)] < 0.0, -1.0, 1.0)
    return places, np.asarray(np.full(k, signs[0]) if joint else signs)
