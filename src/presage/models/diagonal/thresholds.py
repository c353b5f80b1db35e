"""How many samples fit a vector, and how many find it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, pi, sqrt
from typing import final

import scipy

from presage.models.diagonal.declaration import THRESHOLDS
from presage.models.diagonal.problem import DiagonalProblem
from presage.protocol.prediction import SampleSizes


@final
@dataclass(frozen=True)
class DiagonalThresholds(SampleSizes):
    """Sample ratios ``alpha = n/d`` of a problem; recovery is that of clean labels, whatever its noise."""

    interpolation: float  # noisy labels can all be fitted
    minimal_l1_norm: float  # the interpolator of least l1 norm is the target
    caveats: tuple[str, ...] = ()
    problem: DiagonalProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS


def thresholds(problem: DiagonalProblem) -> DiagonalThresholds:
    """Collect the thresholds in ``alpha = n/d``: d numbers fit any d labels, and recovery depends on the zeros only."""
    clean = "minimal_l1_norm is for clean labels: with this noise the error is never zero."
    recovery = minimal_l1_norm(problem.target.nonzero)
    return DiagonalThresholds(1.0, recovery, (*problem.notes, *([clean] if problem.noise > 0.0 else [])), problem)


def minimal_l1_norm(r: float) -> float:
    """Samples an entry above which the interpolator of least l1 norm is the target, for clean labels.

    ``alpha = r + 2 (1 - r) Q(chi)`` with ``r chi = 2 (1 - r) (phi(chi) - chi Q(chi))``, r the fraction of entries that
    are not zero. Their values do not matter.

    Equation: derived: the equations of the LASSO at ``lambda = 0``, in their limit ``delta -> 0``, ``c = chi delta``.
    Checked: tests/models/diagonal/test_thresholds.py::test_interpolator_finds_the_target_at_the_threshold
    """
    if r >= 1.0:
        return 1.0
    if r <= 0.0:
        return 0.0

    def Q(chi: float) -> float:
        return float(scipy.special.ndtr(-chi))

    def excess(chi: float) -> float:
        phi = exp(-0.5 * chi * chi) / sqrt(2.0 * pi)
        return 2.0 * (1.0 - r) * (phi - chi * Q(chi)) - r * chi

    chi = float(scipy.optimize.brentq(excess, 0.0, 40.0, xtol=1e-14))
    return r + 2.0 * (1.0 - r) * Q(chi)
