"""Where the matrix of an untied head is found: bilinear regression, counted in what rows of a softmax show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.theory.recovery import bayes_recovery
from presage.models.bilinear.thresholds import LOW_RANK, minimal_nuclear_norm, strong_recovery, weak_recovery
from presage.models.untied.declaration import THRESHOLDS
from presage.models.untied.problem import UntiedProblem
from presage.protocol import checks
from presage.protocol.prediction import SampleSizes

SYMMETRIC = (
    "strong_recovery and weak_recovery are for methods that know that the target is symmetric; queries and keys of "
    "their own do not."
)


@final
@dataclass(frozen=True)
class UntiedThresholds(SampleSizes):
    """Sample ratios ``alpha`` of a problem; recovery is that of clean labels, whatever the noise of the problem."""

    strong_recovery: float  # the Bayes-optimal error vanishes
    weak_recovery: float  # something is learned at all: to leading order in a small rank, 0 where it is not small
    minimal_nuclear_norm: float  # the fit of least nuclear norm is the target
    caveats: tuple[str, ...] = ()
    problem: UntiedProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS


def thresholds(problem: UntiedProblem) -> UntiedThresholds:
    """Thresholds in ``alpha = n/d^2``: those of bilinear regression over the numbers that a sample shows.

    A label of a row with K keys tells the K - 1 differences of its noisy scores (a linear output all K of them), so
    that ``alpha_eff = alpha sum_rows (K - 1)`` linear measurements an entry are made. The least nuclear norm sees the
    singular values of the target only; who knows that it is symmetric has half as many entries to find, those of one
    tied head.

    Equation: derived; [ETBMZ24] for the thresholds of bilinear regression.
    Checked: tests/models/untied/test_thresholds.py::test_thresholds_count_what_rows_show
    Checked: tests/models/untied/test_thresholds.py::test_the_limit_of_no_weight_decay_finds_the_target_there
    Checked: tests/models/untied/test_symmetric_targets.py::test_who_knows_the_symmetry_needs_half_the_samples
    """
    target = distinct_target(problem, "thresholds")
    count = problem.components
    caveats, weak, strong = [*problem.notes], weak_recovery(target, problem.noise), strong_recovery(target)
    if isinstance(problem.target, SpectralLaw):
        weak, strong = 0.5 * weak, bayes_recovery(problem.target)
        caveats.append(SYMMETRIC)
    if problem.noise > 0.0:
        caveats.append(
            "strong_recovery and minimal_nuclear_norm are for clean labels: with this noise the error is never zero."
        )
    if problem.penalty == "frobenius":
        caveats.append("minimal_nuclear_norm is for weight decay: a ridge finds the target from alpha_eff = 1.")
    if target.nonzero > LOW_RANK:
        weak = 0.0
        caveats.append(
            f"weak recovery is for low rank: at rank {target.nonzero:.3g} learning begins gradually, with the first "
            "samples."
        )
    return UntiedThresholds(
        strong / count,
        weak / count,
        minimal_nuclear_norm(target.nonzero, target.aspect) / count,
        tuple(caveats),
        problem,
    )


def distinct_target(problem: UntiedProblem, what: str) -> RectangularLaw:
    """Law of singular values where scores are those of distinct tokens; a complaint where a token looks at itself."""
    if problem.mask == "self":
        raise checks.complaint(
            "mask",
            f'not be "self" for {what}',
            "symmetric and antisymmetric part are then seen through different numbers of scores, and neither the best "
            "method nor recovery is known for such a pair",
            problem.mask,
            'Use <mask="off-diagonal">, <mask="causal"> or <mask="cross">.',
        )
    return problem.singular_values
