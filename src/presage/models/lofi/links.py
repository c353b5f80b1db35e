"""Labels as bounded functions of a few features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.lofi.declaration import MOST_FEATURES, SIZE
from presage.protocol import checks
from presage.protocol.fields import Declared, declared

LOOKED_AT = 4000  # random places at which a function is looked at
NEAR, FAR = 8.0, 1e4  # standard deviations, of places beyond which features hardly are
GROWN = 1.5  # by which labels may grow between both and still be bounded
CONSTANT = 1e-12  # spread of labels that is none, relative


class FeatureLink(Declared, ABC):
    """A bounded function of p standard Gaussian features, one row of features a sample."""

    @property
    @abstractmethod
    def features(self) -> int:
        """Number p of features."""

    @abstractmethod
    def __call__(self, h: Floats) -> Floats:
        """Labels, before their mean is taken off, of rows of features."""

    @property
    def even(self) -> bool:
        """Whether labels do not change with the sign of any feature: half of the space is enough then."""
        return False

    @property
    def alike(self) -> tuple[int, ...]:
        """A number for each feature, the same for those that can be exchanged without a change of the labels' law."""
        return tuple(range(self.features))

    @property
    def second_level(self) -> Floats:
        """Weights of ``(h_k^2 - 1)/sqrt(2)`` in the features of the second level, one row each, of unit norm.

        Where labels have one level only these are the squares themselves.
        """
        return np.eye(self.features)

    def check_itself(self, name: str) -> None:
        """Complain where labels are no numbers, where they are constant, or where they have no bound."""
        rng = np.random.default_rng(0)
        h = rng.standard_normal((LOOKED_AT, self.features))
        values = self._looked_at(name, h)
        if float(np.ptp(values)) <= CONSTANT * max(float(np.abs(values).max()), 1e-300):
            raise checks.complaint(
                name,
                "differ between samples",
                "constant labels are zero without their mean, and select nothing",
                f"labels of {values[0]:.6g}",
                "Use for example <link=SquaresLink([1.0, -0.7, 0.5])>.",
            )
        far = h / np.linalg.norm(h, axis=1, keepdims=True)
        near, beyond = (float(np.abs(self._looked_at(name, scale * far)).max()) for scale in (NEAR, FAR))
        if beyond > GROWN * max(near, float(np.abs(values).max())):
            raise checks.complaint(
                name,
                "be bounded",
                "labels without a bound make outliers of their own, for which there is no sharp formula",
                f"labels of {near:.3g} at {NEAR:g} standard deviations and of {beyond:.3g} at {FAR:g}",
                "Clip or squash them, for example by np.tanh.",
            )

    def _looked_at(self, name: str, h: Floats) -> Floats:
        values = np.asarray(self(h.copy()))
        right = values.shape == (len(h),) and values.dtype.kind in "biuf"
        if not right or not np.isfinite(values).all():
            got = "a value that is not finite" if right else f"an array of {values.dtype} of shape {values.shape}"
            reason = f"it is called with rows of {self.features} features, an array of shape {h.shape}"
            remedy = "Use for example <link=SquaresLink([1.0, -0.7, 0.5])>."
            raise checks.complaint(name, "give one finite number a row", reason, got, remedy)
        return np.asarray(values, dtype=np.float64)


@final
@dataclass(frozen=True)
class SquaresLink(FeatureLink):
    """``y = tanh(sum_k lam_k (h_k^2 - 1)/sqrt(2))``; the strengths lam_k are divided by the root of their squares."""

    strengths: Any  # kept as a tuple of numbers

    def __post_init__(self) -> None:
        reason, remedy = "each is the strength of a feature", "Use for example SquaresLink([1.0, -0.7, 0.5])."
        given = checks.finite("strengths", self.strengths, reason=reason, remedy=remedy)
        if given.ndim != 1 or not 1 <= len(given) <= MOST_FEATURES:
            must = f"be a list of 1 to {MOST_FEATURES} numbers"
            raise checks.complaint("strengths", must, reason, f"an array of shape {given.shape}", remedy)
        if not np.all(given) or not 1e-6 < float(np.abs(given).max()) < 1e6:
            worst = float(np.abs(given).min()) if not np.all(given) else float(np.abs(given).max())
            raise checks.complaint("strengths", "be no zero, and of a usual size", reason, worst, remedy)
        object.__setattr__(self, "strengths", tuple(map(float, given)))

    @property
    def features(self) -> int:
        return len(self.strengths)

    @property
    def even(self) -> bool:
        return True

    @property
    def alike(self) -> tuple[int, ...]:
        return tuple(self.strengths.index(one) for one in self.strengths)

    def __call__(self, h: Floats) -> Floats:
        lam = np.array(self.strengths) / sqrt(sum(one**2 for one in self.strengths))
        return np.asarray(np.tanh((h * h - 1.0) @ (lam / sqrt(2.0))))


@final
@dataclass(frozen=True)
class NestedLink(FeatureLink):
    """Features of features: ``y = tanh((g_1^2 - g_2^2)/2)`` with ``g_j = sum_i e_i (h_i^2 - 1)/sqrt(2 m)``.

    Each g_j has m features of its own, of alternating signs e_i: labels are of degree eight, and no feature of the
    second level is seen before those of the first are.
    """

    size: int = field(default=SIZE.default, metadata=declared(SIZE))

    @property
    def features(self) -> int:
        return 2 * self.size

    @property
    def even(self) -> bool:
        return True

    @property
    def alike(self) -> tuple[int, ...]:
        signs = [i % 2 if self.size % 2 else 0 for i in range(self.size)]  # of an odd number the signs do not balance
        return (*signs, *(2 + sign for sign in signs))

    @property
    def second_level(self) -> Floats:
        signs = (-1.0) ** np.arange(self.size) / sqrt(self.size)
        return np.kron(np.eye(2), signs)

    def __call__(self, h: Floats) -> Floats:
        g = (h * h - 1.0) @ (self.second_level.T / sqrt(2.0))
        return np.asarray(np.tanh(0.5 * (g[:, 0] ** 2 - g[:, 1] ** 2)))


@final
@dataclass(frozen=True)
class OwnFeatureLink(FeatureLink):
    """A bounded function of one's own of rows of so many features; to go to other processes it has a name in a module.

    Features are what they are selected as: given the label, no two of them may be correlated. Results with one cannot
    be saved to a file, which has no place for it: derive a frozen dataclass from `FeatureLink` for that.
    """

    function: Callable[[Floats], Any]
    count: int

    def __post_init__(self) -> None:
        if not callable(self.function):
            reason, remedy = "it is called with rows of features", "Use for example <function=my_function>."
            raise checks.complaint("function", "be a function", reason, self.function, remedy)
        reason, remedy = "it is the number of features of the function", "Use for example <count=2>."
        checked = checks.integer("count", self.count, at_least=1, at_most=MOST_FEATURES, reason=reason, remedy=remedy)
        object.__setattr__(self, "count", checked)

    @property
    def features(self) -> int:
        return self.count

    def __call__(self, h: Floats) -> Floats:
        found = np.asarray(self.function(np.array(h)))
        return found.astype(np.float64) if found.dtype.kind in "biuf" else found  # which `check_itself` tells
