"""What a spectral method makes of a label before it weighs a sample by it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import hermite_e

from presage.laws.spectral_law import Floats
from presage.models.multi_index.label_law import LabelLaw, label_law
from presage.models.multi_index.noise_sensitivity import known_exponent
from presage.models.multi_index.problem import MultiIndexProblem

BOUND = 3.0  # standard deviations that a bounded label comes near to
LEAST = 1e-3  # E[z^2 | y] below this counts as this: there the best weight is -1/E[z^2 | y]


def preprocessing(problem: MultiIndexProblem) -> Callable[[Floats], Floats]:
    """T as a function of standardised labels ``u = (y - E y)/V_y^(1/2)``; all but the best are centred later.

        identity  T = u
        bounded   T = u/sqrt(1 + (u/3)^2)
        hermite   T = He_b(u), b the noise sensitivity exponent
        best      T = 1 - 1/E[z^2 | y]

    Equation: [DKLM26a], [DKLM26b]; the best one [MM18], [LL19].
    Checked: tests/models/multi_index/test_theory.py::test_no_preprocessing_beats_the_best
    Checked: tests/models/multi_index/test_formulas.py::test_weights_of_labels
    """
    kind = problem.preprocessing
    if kind == "identity":
        return lambda u: np.asarray(u, dtype=np.float64)
    if kind == "bounded":
        return lambda u: np.asarray(u / np.sqrt(1.0 + (u / BOUND) ** 2))
    if kind == "hermite":
        degree = known_exponent(problem.link)
        return lambda u: np.asarray(hermite_e.hermeval(u, [0.0] * degree + [1.0]))
    law = label_law(problem)
    table = 1.0 - 1.0 / np.maximum(1.0 + law.excess[0], LEAST)
    return lambda u: np.interp(u, law.u, table)


def centred(problem: MultiIndexProblem) -> bool:
    """Whether the mean of T is taken off: the best one has the mean that it needs."""
    return problem.preprocessing != "best"


def weights_of(problem: MultiIndexProblem, law: LabelLaw) -> Floats:
    """T at the grid of a law of labels, centred where it is to be."""
    T = preprocessing(problem)(law.u)
    return T - (law.weight @ T) / law.weight.sum() if centred(problem) else T
