"""What the theory says about several heads that are learned together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

from presage.models.multihead.declaration import MEASURED
from presage.models.multihead.problem import MultiheadProblem
from presage.models.multihead.theory.averaged_heads import Found, kind_of, solve_averaged
from presage.models.multihead.theory.separate_heads import solve_side_by_side, solve_summed
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.observables import Observable
from presage.protocol.prediction import Prediction


@final
@dataclass(frozen=True)
class MultiheadSolution(Prediction):
    """Prediction for heads that are learned together; a number that a problem does not have is None."""

    problem: MultiheadProblem
    test_error: float  # loss of a fresh, noisy sample
    train_loss: float  # the whole minimum, penalty included, over d^2
    train_error: float  # loss a sample at the minimum
    estimation_error: float  # |S_h - S_0h|_F^2/d, mean over heads
    rank: float  # fraction of non-zero eigenvalues, mean over heads
    overlap: float  # Tr S_h S_0h/d, mean over heads
    cross_target_overlap: float | None = None  # Tr S_h S_0k/d, mean over pairs of different heads
    cross_overlap: float | None = None  # Tr S_h S_k/d, mean over pairs of different heads
    gain: float | None = None  # learned factor on the output
    bars: dict[str, float] = field(default_factory=dict, repr=False, hash=False)
    said: tuple[str, ...] = ()

    observables = MEASURED

    @property
    def known_observables(self) -> tuple[Observable, ...]:
        """Those that this problem has: overlaps between heads of more than one, a gain where one is learned."""
        return tuple(observable for observable in MEASURED if self.problem.has(observable))

    @property
    def compared(self) -> tuple[str, ...]:  # type: ignore[override]
        """All of them: networks have each."""
        return tuple(observable.name for observable in self.known_observables)

    @property
    def error_bars(self) -> dict[str, float]:
        """Spread over independent rules, or over copies where weights were drawn."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        return (*self.problem.notes, *(line for line in self.said if line not in self.problem.notes))


def solve(problem: MultiheadProblem, *, accuracy: float = 0.01, throw: bool = True) -> MultiheadSolution:
    """Predict what training of several heads ends in.

    `accuracy` is the largest relative error bar that is aimed at where softmax heads are averaged or a gain is learned:
    it sets how many points, copies and entries of drawn matrices there are. Heads that are learned apart have the error
    bars of one head, which are smaller. With ``throw=False`` what did not settle is returned with a caveat.

    Raises:
        SolveError: where the iteration does not settle, or heads are narrower than what they would learn.
    """
    accuracy = checks.real(
        "accuracy",
        accuracy,
        at_least=1e-4,
        at_most=0.2,
        reason="it is the relative error bar that is aimed at",
        remedy="Use for example <accuracy=0.01>.",
    )
    found = _found(problem, accuracy, throw)
    answer = MultiheadSolution(problem, **found.values, bars=found.bars, said=found.said)
    failure = _failure(problem, found)
    if failure is None:
        return answer
    error = SolveError(*failure, answer)
    if throw:
        raise error
    return replace(answer, said=(str(error), *answer.said))


def _found(problem: MultiheadProblem, accuracy: float, throw: bool) -> Found:
    if problem.combine == "sum":
        return solve_summed(problem, throw)
    if problem.combine == "concatenate" or (problem.n_heads == 1 and problem.target_gain is None):
        return solve_side_by_side(problem, accuracy, throw)
    return solve_averaged(problem, accuracy)


def _failure(problem: MultiheadProblem, found: Found) -> tuple[str, str] | None:
    """What is wrong with an answer, and what to do; None where nothing is."""
    if not found.states:
        return None
    if not found.residual <= found.settled:
        return (
            f"The overlaps of the heads do not settle (they still move by {found.residual:.1e}).",
            "Use a larger <alpha>, <noise> or <weight_decay>.",
        )
    if kind_of(problem) == "sampled" and found.values["rank"] > problem.kappa:
        return (
            f"Heads of width {problem.kappa:g} d are narrower than the rank {found.values['rank']:.3g} d that they "
            "would learn, and several narrow heads are not solved.",
            "Use a larger <kappa>, or a larger <weight_decay>.",
        )
    return None
