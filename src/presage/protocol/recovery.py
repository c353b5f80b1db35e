"""Sequential recovery: at which sample sizes each feature of a target is learned, forgotten and learned again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from presage.protocol import checks
from presage.protocol.columns import Columns
from presage.protocol.ensemble import Floats


@final
@dataclass(frozen=True, eq=False)
class Recovery(Columns):
    """Every crossing of the features of a target, in the order of the samples: one row a crossing."""

    problem: Any
    s: Floats = field(repr=False)  # eigenvalue of every feature that was followed, the largest first
    feature: NDArray[np.int64] = field(repr=False)  # of each crossing, counted from 1
    alpha: Floats = field(repr=False)
    learned: NDArray[np.bool_] = field(repr=False)
    followed: tuple[float, float]  # range of alpha in which every crossing is found
    d: int | None  # dimension of the target, where it has one: number of its eigenvalues
    relative_error: float  # of alpha
    notes: tuple[str, ...] = field(default=(), repr=False)
    order: str = field(default="the largest first", repr=False)  # of the features, in words
    strength: str = field(default="its eigenvalue in the target", repr=False)  # what s is, in words
    counted_by: str = field(default="d^2 at the d that you mean", repr=False)  # what alpha times is n, in words

    @classmethod
    def of_thresholds(
        cls,
        problem: Any,
        s: Floats,
        each: Floats,
        *,
        relative_error: Any,
        notes: tuple[str, ...],
        margin: float = 10.0,
        **words: str,
    ) -> Recovery:
        """Where every feature is learned from its threshold on and none is forgotten; infinite ones are never learned.

        `relative_error` is one for all, or one each; `margin` is how far before the first crossing and beyond the last
        is said to be followed. `words` are `order`, `strength` and `counted_by`, where a model has its own.
        """
        seen = np.flatnonzero(np.isfinite(each))
        order = seen[np.argsort(each[seen], kind="stable")]
        alpha = each[order]
        followed = (float(alpha[0]) / margin, float(alpha[-1]) * margin) if len(alpha) else (0.0, np.inf)
        errors = np.broadcast_to(relative_error, each.shape)[order]
        return cls(
            problem,
            s=s,
            feature=np.asarray(order + 1, dtype=np.int64),
            alpha=alpha,
            learned=np.ones(len(alpha), dtype=np.bool_),
            followed=followed,
            d=None,
            relative_error=float(errors.max(initial=0.0)),
            notes=notes,
            **words,
        )

    @property
    def meanings(self) -> Mapping[str, str]:
        """The columns in words; the number of samples is one where the target has a dimension."""
        n = {"n": f"number of samples at d = {self.d}"} if self.d is not None else {}
        return {
            "feature": f"number of the feature, {self.order}",
            "eigenvalue": self.strength,
            "alpha": "samples over what alpha counts by, where it happens",
            **n,
            "learned": "whether it is learned from here on, or forgotten",
        }

    @property
    def eigenvalue(self) -> Floats:
        """Eigenvalue of the target that each crossing is about."""
        return np.asarray(self.s[self.feature - 1])

    @property
    def n(self) -> Floats:
        """Number of samples of each crossing, at the dimension of the target."""
        return np.asarray(self.alpha * self.problem.samples_at_one(self._dimension))

    @property
    def _dimension(self) -> int:
        if self.d is None:
            reason = "its features have weights and no number, so that alpha stands for any n"
            remedy = f"Use `alpha`, times {self.counted_by}."
            raise checks.complaint("target", "be made of d eigenvalues of equal weight", reason, self.d, remedy)
        return self.d

    def learned_at(self, feature: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Every alpha at which a feature, counted from 1, is learned (True) or forgotten (False)."""
        reason, remedy = "it is the number of a feature that was followed", "Use for example <feature=1>."
        last = len(self.s)
        number = checks.integer("feature", feature, at_least=1, at_most=last, reason=reason, remedy=remedy)
        own = self.feature == number
        return self.alpha[own], self.learned[own]

    def count(self, alpha: ArrayLike) -> NDArray[np.int64]:
        """How many of the features that were followed are learned at these sample sizes: the staircase."""
        steps = np.concatenate([[0], np.cumsum(np.where(self.learned, 1, -1))])
        return np.asarray(steps[np.searchsorted(self.alpha, np.asarray(alpha, dtype=np.float64))])

    @property
    def forgotten(self) -> tuple[int, ...]:
        """Features that are learned, forgotten and learned again."""
        return tuple(int(i) for i in np.unique(self.feature[~self.learned]))

    @property
    def head(self) -> str:
        known = len(np.unique(self.feature[self.learned]))
        low, high = self.followed
        told = f"{known} of the first {len(self.s)} features are learned between alpha = {low:.3g} and {high:.3g}"
        lost = self.forgotten
        return f"{told}; forgotten on the way and learned again: {_listed(lost)}" if lost else told

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where the features were not followed to their end."""
        return (*self.problem.notes, *self.notes)


def _listed(numbers: tuple[int, ...]) -> str:
    """Numbers in words: runs of them as a range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
