"""What the theory says about matrices that minimise the training loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.declaration import OfTheMatrices
from presage.models.multi_matrix.mirror_images import is_symmetric
from presage.models.multi_matrix.problem import MultiMatrixProblem
from presage.models.multi_matrix.symmetries import invisible, untold_pairs
from presage.models.multi_matrix.theory.sample_means import rule
from presage.models.multi_matrix.theory.state_evolution import (
    INFORMED,
    UNINFORMED,
    FixedPoint,
    fixed_point,
    polished,
    start,
)
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.prediction import Prediction
from presage.protocol.trainer import TOL
from presage.solving.vector_state_evolution import change, mean_and_bar

RULES, POINTS = 4, 2**12  # independent quadratures, whose spread is the error bar, and points of each
APART = 0.02  # relative difference of overlaps of two fixed points that are two
JUMPS = 0.03  # part of a response that jumps make, from which on nothing is claimed
UNSEEN = 0.05  # squared cosine with the target below which a matrix is not seen
STATUS = (
    "exact as state evolution is: replica symmetry and Gaussian equivalents of the quadratic forms are assumed, and "
    "signs that labels do not tell keep the matrices apart. Errors of networks of a finite size lie above it, by 13 % "
    "at d = 50 where it was checked, and by less as 1/d."
)


@final
@dataclass(frozen=True, eq=False)
class MultiMatrixSolution(Prediction):
    """Prediction for the matrices of least training loss, as the dimension grows at fixed ``alpha = n/d^2``."""

    problem: MultiMatrixProblem
    test_error: float  # squared error on a fresh, noisy label
    train_loss: float  # the whole loss over d^2
    train_error: float  # squared error a training sample
    m: Floats = field(repr=False)  # <S_h, S_0h>/d
    q: Floats = field(repr=False)  # |S_h|_F^2/d
    V: Floats = field(repr=False)  # response of every matrix
    several: float = field(repr=False)  # fraction of samples whose proximal point is one of several minima
    jumps: float = field(repr=False)  # relative difference of the two forms of v_hat, the largest: none without jumps
    off_diagonal: float = field(repr=False)  # largest correlation of hats of two matrices: quadrature alone makes it
    residual: float = field(repr=False)  # change of overlaps by one more iteration
    informed: Mapping[str, float] = field(repr=False)  # observables of the fixed point that is reached from the target
    uninformed: Mapping[str, float] | None = field(repr=False)  # and from an overlap of a tenth; None if at no rest
    bars: Mapping[str, float] = field(repr=False)
    estimation_error_1: float = nan
    rank_1: float = nan
    estimation_error_2: float = nan
    rank_2: float = nan
    estimation_error_3: float = nan
    rank_3: float = nan

    observables = OfTheMatrices()

    @property
    def compared(self) -> tuple[str, ...]:  # type: ignore[override]
        """All of them."""
        return tuple(observable.name for observable in self.observables)

    @property
    def error_bars(self) -> Mapping[str, float]:
        """Half widths of 95 % intervals from independent quadratures; replica symmetry is taken as given."""
        return dict(self.bars)

    @property
    def is_hard(self) -> bool:
        """Whether the two starts of state evolution end in two fixed points."""
        return self.uninformed is None or any(
            abs(self.uninformed[name] - self.informed[name]) > APART * abs(self.informed[name])
            for name in ("train_loss", "test_error")
        )

    @property
    def is_claimed(self) -> bool:
        """Whether samples do not jump between minima, where replica symmetry is broken and nothing is predicted."""
        return self.jumps < JUMPS

    @property
    def caveats(self) -> tuple[str, ...]:
        said = [*self.problem.notes, STATUS]
        if not self.is_claimed:
            said.append(
                f"no prediction: {self.several:.1%} of the samples have several minima, and training makes them jump "
                f"between these ({self.jumps:.0%} of a response is jumps), so that replica symmetry is broken: the "
                "numbers are those of the replica-symmetric equations, and no claim."
            )
        unseen = [
            h + 1
            for h, (m, q, size) in enumerate(zip(self.m, self.q, self.problem.sizes, strict=True))
            if not m * m > UNSEEN * q * size
        ]
        if unseen:
            named = " and ".join(f"matrix {h}" for h in unseen)
            said.append(f"no prediction for {named}: state evolution loses sight of it, from the target too.")
        if self.uninformed is None:
            said.append(
                "hard phase: from an overlap of a tenth state evolution comes to no rest; the numbers are those of "
                "a start near the target, and training from random weights may end higher."
            )
        elif self.is_hard:
            chosen, other = ("informed", "uninformed"), self.uninformed
            if abs(self.train_loss - other["train_loss"]) < abs(self.train_loss - self.informed["train_loss"]):
                chosen, other = ("uninformed", "informed"), self.informed
            said.append(
                f"hard phase: there are two fixed points. The numbers are those of the {chosen[0]} one, which has the "
                f"smaller loss; the {chosen[1]} one has train_loss {other['train_loss']:.4g} and test_error "
                f"{other['test_error']:.4g}, and training may sit on the worse one."
            )
        blind = [h + 1 for h in _of_unknown_sign(self.problem)]
        if blind:
            named = " and ".join(f"S_{h}" for h in blind)
            said.append(
                f"labels do not tell the sign of {named}, so that seeing nothing of it is a fixed point at any alpha: "
                "training from random weights may stay there, and from the target it does not."
            )
        return tuple(said)


def _of_unknown_sign(problem: MultiMatrixProblem) -> list[int]:
    """Matrices whose sign labels do not tell, whatever that of the others is."""
    same = tuple(range(problem.matrices))
    signs = [one.signs for one in invisible(problem.link) if one.order == same]
    return [h for h in range(problem.matrices) if any(s[h] < 0 for s in signs)]


def solve(problem: MultiMatrixProblem, *, tol: float = 1e-6) -> MultiMatrixSolution:
    """Predict errors and ranks of the matrices of least training loss, by state evolution from both ends.

    `tol` is how far one more iteration may move an overlap, relative. Of two fixed points the one of smaller training
    loss is told, and both are kept, `informed` and `uninformed`.

    Raises:
        InputError: where matrices are not kept apart by signs that labels do not tell.
        SolveError: where the iteration from the target does not come to rest.
    """
    tol = TOL.checked("tol", tol)
    must_keep_matrices_apart(problem)
    first = rule(problem.matrices, POINTS, 0)
    informed = fixed_point(problem, start(problem, INFORMED), first, tol)
    try:
        uninformed = fixed_point(problem, start(problem, UNINFORMED), first, tol)
    except SolveError:
        uninformed = None
    found = informed
    if uninformed is not None and change(informed.overlaps, uninformed.overlaps) > APART:
        found = min(informed, uninformed, key=lambda one: observed(problem, one)["train_loss"])
    others = [
        polished(problem, found.overlaps, rule(problem.matrices, POINTS, seed), tol, found.means.p)
        for seed in range(1, RULES)
    ]
    every = [found, *others]
    by_rule = [observed(problem, one) for one in every]
    told = {name: mean_and_bar([values[name] for values in by_rule]) for name in by_rule[0]}
    m, q, V = (np.mean([one.overlaps[part] for one in every], axis=0) for part in range(3))
    forms = np.mean([one.means.stein / one.means.hats.v_hat for one in every], axis=0)
    return MultiMatrixSolution(
        problem,
        **{name: value for name, (value, _) in told.items()},
        m=m,
        q=q,
        V=V,
        several=float(np.mean([one.means.several for one in every])),
        jumps=float(np.abs(forms - 1.0).max()),
        off_diagonal=max(one.means.off_diagonal for one in every),
        residual=max(one.residual for one in every),
        informed=observed(problem, informed),
        uninformed=None if uninformed is None else observed(problem, uninformed),
        bars={name: bar + 10.0 * tol * abs(value) for name, (value, bar) in told.items()},
    )


def must_keep_matrices_apart(problem: MultiMatrixProblem) -> None:
    """Complain where hats between two matrices need not vanish: equations are known for those that signs keep apart."""
    untold = untold_pairs(problem.link)
    if untold:
        h, k = (one + 1 for one in untold[0])
        raise checks.complaint(
            "link",
            f"have a sign symmetry that tells z_{h} from z_{k}",
            f"without one, such as g(z_{h}, -z_{k}) = g(z_{h}, z_{k}) or its negative, the matrices are coupled and "
            "have to be shrunk together, for which no law is known",
            problem.link,
            "Use for example <link=PowersLink(1, 2)>, or train networks by <simulate()>.",
        )
    skewed = [h + 1 for h, law in enumerate(problem.laws) if not is_symmetric(law)]
    if len(skewed) > 1:
        raise checks.complaint(
            "target",
            "have laws that are their own mirror images, but for one at the most",
            f"matrices {skewed[0]} and {skewed[1]} and their estimates may have traces, and then overlap by chance",
            problem.laws,
            "Use for example <target=Semicircle()>, or PointMasses with masses at x and -x.",
        )


def observed(problem: MultiMatrixProblem, found: FixedPoint) -> dict[str, float]:
    """The observables of a fixed point.

        train_loss = alpha train_error + weight_decay sum_h |S_h|_*/d,   estimation_error_h = Q_0 - 2 m + q

    Equation: derived: the definitions, with the overlaps of the fixed point.
    Checked: tests/models/multi_matrix/test_check_values.py::test_two_atoms
    """
    m, q, _ = found.overlaps
    errors = problem.sizes - 2.0 * m + q
    nuclear = sum(one.nuclear for one in found.weights)
    values = {
        "test_error": found.means.test_error,
        "train_loss": problem.alpha * found.means.train_error + problem.weight_decay * nuclear,
        "train_error": found.means.train_error,
    }
    for h, (error, weights) in enumerate(zip(errors, found.weights, strict=True), start=1):
        values |= {f"estimation_error_{h}": float(error), f"rank_{h}": weights.rank}
    return values
