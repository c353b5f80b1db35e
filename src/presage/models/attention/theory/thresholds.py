"""How many samples are needed: the thresholds of a problem, each in ``alpha = n/d^2``."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isinf
from typing import final

from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.declaration import THRESHOLDS
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.problem import Problem
from presage.models.attention.theory import low_rank, recovery
from presage.models.attention.theory.interpolation import interpolation_threshold
from presage.protocol import checks
from presage.protocol.prediction import SampleSizes

LOW_RANK = 0.1  # above it there is no sharp onset of learning: a linear shrinkage of the labels gains visibly at once


@final
@dataclass(frozen=True)
class Thresholds(SampleSizes):
    """Thresholds in ``alpha = n/d^2``; where there is none it is infinite."""

    interpolation: float  # most samples that the model fits exactly as its penalty vanishes
    perfect_recovery: float  # the factorised model finds the target exactly (clean labels, vanishing weight decay)
    unfactorized_recovery: float  # so does a model that trains S itself (clean labels, vanishing ridge)
    bayes_recovery: float  # so does the best of all methods (clean labels)
    weak_recovery: float  # anything is learned at all: in the limit of low rank, 0 where the rank is not low
    caveats: tuple[str, ...] = ()
    problem: Problem | None = field(default=None, repr=False)

    observables = THRESHOLDS


def thresholds(problem: Problem) -> Thresholds:
    """Thresholds of a problem: how many samples it fits, and from how many on the target is found.

    They follow from those of a quadratic network: a sample of linear attention is worth ``L_in`` of its labels, one of
    softmax attention ``L_in - 1``, since a common shift of the scores leaves no trace.

    Equation: [BETKZ25], with [ETZK25] and [MTMKZ24] for the quadratic network.
    Departs: recovery without factors is at 1/2 in units of (L_in - 1) alpha, not of alpha. Erratum 6.
    Checked: tests/models/attention/theory/test_thresholds.py::test_thresholds_count_the_components_of_a_sample
    Checked: tests/models/attention/theory/test_thresholds.py::test_thresholds_speak
    Checked: tests/models/attention/theory/test_thresholds.py::test_a_narrow_student_cannot_be_the_target
    Checked: tests/models/attention/theory/test_thresholds.py::test_learning_begins_at_once_where_the_rank_is_not_low
    """
    checks.instance(
        "channel",
        problem.channel,
        (Linear, Softmax),
        reason="thresholds are known where a label fixes what the channel sees of the pre-activation",
        remedy="Use Linear or Softmax, or look where the error of <solve()> falls as <alpha> grows.",
    )
    target, noise, components = problem.target, problem.noise, problem.channel.n_active
    trains_S = isinstance(problem.penalty, Frobenius)
    interpolation = recovery.unfactorized_recovery() if trains_S else interpolation_threshold(target, noise)
    caveats = [*problem.notes]
    if noise > 0.0:
        caveats.append("recovery is for clean labels: with this noise the error falls as 1/alpha, and never to zero.")
    else:
        caveats.append("clean labels can always be fitted, by the target: interpolation is the limit of little noise.")
    weak = low_rank.weak_recovery(target, noise)
    if target.nonzero > LOW_RANK:
        weak = 0.0
        caveats.append(
            f"weak recovery is for low rank: at rank {target.nonzero:.3g} learning begins gradually, with the first "
            "samples."
        )
    perfect = recovery.perfect_recovery(target)
    if not trains_S and problem.kappa < target.nonzero:
        perfect = inf
        caveats.append(
            f"a student of width {problem.kappa:g} d cannot be the target of rank {target.nonzero:.3g} d; the "
            "interpolation threshold is that of a wide one."
        )
    if isinf(recovery.perfect_recovery(target)):
        caveats.append("the target has negative eigenvalues, which a positive semidefinite student cannot learn.")
    return Thresholds(
        interpolation=interpolation / components,
        perfect_recovery=perfect / components,
        unfactorized_recovery=recovery.unfactorized_recovery() / components,
        bayes_recovery=recovery.bayes_recovery(target) / components,
        weak_recovery=weak / components,
        caveats=tuple(caveats),
        problem=problem,
    )
