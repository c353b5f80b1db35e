"""Local exponents of the exact error: differences of logarithms over a factor either side."""

from __future__ import annotations

from math import log

from presage.models.attention.problem import Problem
from presage.models.attention.theory import explicit_map
from presage.models.attention.theory.scaling.composite import composite_law
from presage.models.attention.theory.scaling.phase import Place


def exact_error(problem: Problem, place: Place, alpha: float, L: float) -> float:
    """The exact error at another number of samples and weight decay, all at second moment one.

    The composite law says where Newton's method starts.
    """
    start = composite_law(place.units, alpha, L, place.D)
    size = place.units.size
    point = explicit_map.solve_point(
        problem.target, problem.noise, alpha, size * L, start=(size * start.delta, size * start.c)
    )
    return point.functionals.risk / size**2


def local_exponents(problem: Problem, place: Place, factor: float) -> dict[str, float]:
    """Slopes of the exact error: ``[log R(x f) - log R(x/f)]/(2 log f)`` in samples and in weight decay.

    Over a factor and not at a point, since a sum over features is a staircase.

    Equation: derived.
    Checked: tests/models/attention/theory/scaling/test_exponents.py::test_exponents_of_II
    """
    _, alpha, L, _, _ = place
    around = {
        "n": [exact_error(problem, place, alpha * f, L) for f in (factor, 1.0 / factor)],
        "weight_decay": [exact_error(problem, place, alpha, L * f) for f in (factor, 1.0 / factor)],
    }
    return {field: log(above / below) / (2.0 * log(factor)) for field, (above, below) in around.items()}
