"""How many samples are needed: the thresholds of a problem, each in ``alpha = n/d^2``."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf
from typing import final, overload

from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.problem import Problem
from presage.models.attention.theory import low_rank, recovery
from presage.models.attention.theory.interpolation import interpolation_threshold
from presage.models.bilinear.problem import BilinearProblem
from presage.models.bilinear.thresholds import BilinearThresholds, bilinear_thresholds
from presage.protocol import checks

LOW_RANK = 0.1  # above it there is no sharp onset of learning


@final
@dataclass(frozen=True)
class Thresholds:
    """Thresholds in ``alpha = n/d^2``; where there is none it is infinite."""

    interpolation: float  # most samples that the model fits exactly as its penalty vanishes
    perfect_recovery: float  # the factorised model finds the target exactly (clean labels, vanishing weight decay)
    unfactorized_recovery: float  # so does a model that trains S itself (clean labels, vanishing ridge)
    bayes_recovery: float  # so does the best of all methods (clean labels)
    weak_recovery: float  # anything is learned at all, in the limit of low rank
    caveats: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = {
            "interpolation": "labels are fitted exactly up to",
            "perfect_recovery": "weight decay finds the target from",
            "unfactorized_recovery": "training S itself finds it from",
            "bayes_recovery": "the best of all methods from",
            "weak_recovery": "something is learned from (low rank)",
        }
        lines = [
            f"{text:<37} " + ("no alpha" if isinf(value := getattr(self, name)) else f"alpha = {value:.6g}")
            for name, text in words.items()
        ]
        return "\n".join([*lines, *(f"caveat: {line}" for line in self.caveats)])


@overload
def thresholds(problem: Problem) -> Thresholds: ...


@overload
def thresholds(problem: BilinearProblem) -> BilinearThresholds: ...


def thresholds(problem: Problem | BilinearProblem) -> Thresholds | BilinearThresholds:
    """Thresholds of a problem: how many samples it fits, and from how many on the target is found.

    They follow from those of a quadratic network: a sample of linear attention is worth ``L_in`` of its labels, one of
    softmax attention ``L_in - 1``, since a common shift of the scores leaves no trace.

    Equation: [BETKZ25], with [ETZK25] and [MTMKZ24] for the quadratic network.
    Departs: recovery without factors is at 1/2 in units of (L_in - 1) alpha, not of alpha. Erratum 6.
    Checked: tests/models/attention/theory/test_thresholds.py::test_thresholds_count_the_components_of_a_sample
    Checked: tests/models/attention/theory/test_thresholds.py::test_thresholds_speak
    Checked: tests/models/attention/theory/test_thresholds.py::test_a_narrow_student_cannot_be_the_target
    """
    if isinstance(problem, BilinearProblem):
        return bilinear_thresholds(problem)
    checks.instance(
        "problem",
        problem,
        Problem,
        reason="thresholds are those of a learning problem",
        remedy="Make one with attention(...) or quadratic_network(...).",
    )
    checks.instance(
        "channel",
        problem.channel,
        (Linear, Softmax),
        reason="thresholds are known where a label fixes what the channel sees of the pre-activation",
        remedy="Use Linear or Softmax, or look where the error of solve(problem) falls as alpha grows.",
    )
    target, noise, components = problem.target, problem.noise, problem.channel.n_active
    trains_S = isinstance(problem.penalty, Frobenius)
    interpolation = recovery.unfactorized_recovery() if trains_S else interpolation_threshold(target, noise)
    caveats = []
    if noise > 0.0:
        caveats.append("recovery is for clean labels: with this noise the error falls as 1/alpha, and never to zero.")
    else:
        caveats.append("clean labels can always be fitted, by the target: interpolation is the limit of little noise.")
    if target.nonzero > LOW_RANK:
        caveats.append(f"weak recovery is for low rank: at rank {target.nonzero:.3g} learning begins gradually.")
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
        weak_recovery=low_rank.weak_recovery(target, noise) / components,
        caveats=tuple(caveats),
    )
