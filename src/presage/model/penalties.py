"""Penalties: what the learner pays for its matrix ``S``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage import _check
from presage.model.laws import Floats
from presage.model.numeric_shrink import numeric_shrink


class Penalty(ABC):
    """A rotation-invariant penalty on ``S``: a function of its eigenvalues, ``d sum_i r(s_i)`` in the loss.

    A penalty of one's own defines `value`. It may set `lowest` (0.0 for positive semidefinite students) and `kinks`
    (where r has a corner or a jump), and override `shrink` where that is known in closed form. See
    docs/add-a-penalty.md, and `check_penalty` for a check of the result.
    """

    lowest: float = -inf  # least eigenvalue that the student may have
    kinks: tuple[float, ...] = (0.0,)  # r is smooth between them

    @property
    def vanishes(self) -> bool:
        """Whether nothing is paid at all, so that the minimum of the loss need not be unique."""
        return False

    @abstractmethod
    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        """``r(s)`` of each eigenvalue, for a student of relative width `kappa`."""

    def shrink(self, x: ArrayLike, Sigma_hat: float, kappa: float) -> Floats:
        """``argmin_s r(s) + (Sigma_hat/4) s^2 - (1/2) s x`` for each ``x``, over the allowed ``s``."""

        def r(s: Floats) -> Floats:
            return self.value(s, kappa)

        return numeric_shrink(r, x, Sigma_hat, lowest=self.lowest, kinks=self.kinks)


@final
@dataclass(frozen=True)
class NuclearPSD(Penalty):
    """Weight decay ``weight_decay |W|_F^2`` on the factor of ``S = W W'/sqrt(m d) >= 0``.

    In terms of S it is ``d lambda~ Tr S`` with ``lambda~ = sqrt(kappa) weight_decay``: a nuclear norm.
    """

    weight_decay: float
    lowest = 0.0

    def __post_init__(self) -> None:
        number = _check.real(
            "weight_decay",
            self.weight_decay,
            at_least=0.0,
            at_most=1e6,
            reason="it is the price of the weights",
            remedy="Use for example weight_decay=0.01, or weight_decay=0.0 with ridgeless(problem).",
        )
        object.__setattr__(self, "weight_decay", number)

    @property
    def vanishes(self) -> bool:
        return self.weight_decay == 0.0

    def lambda_tilde(self, kappa: float) -> float:
        """``lambda~ = sqrt(kappa) lambda``."""
        return sqrt(kappa) * self.weight_decay

    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        return self.lambda_tilde(kappa) * np.asarray(eigenvalues, dtype=np.float64)

    def shrink(self, x: ArrayLike, Sigma_hat: float, kappa: float) -> Floats:
        return np.maximum(np.asarray(x, dtype=np.float64) - 2.0 * self.lambda_tilde(kappa), 0.0) / Sigma_hat


@final
@dataclass(frozen=True)
class Frobenius(Penalty):
    """Ridge ``d ridge |S|_F^2`` on a symmetric matrix S that is trained entry by entry."""

    ridge: float

    def __post_init__(self) -> None:
        number = _check.real(
            "ridge",
            self.ridge,
            at_least=0.0,
            at_most=1e6,
            reason="it is the price of the weights",
            remedy="Use for example ridge=0.01, or ridge=0.0 with ridgeless(problem).",
        )
        object.__setattr__(self, "ridge", number)

    @property
    def vanishes(self) -> bool:
        return self.ridge == 0.0

    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        return self.ridge * np.asarray(eigenvalues, dtype=np.float64) ** 2

    def shrink(self, x: ArrayLike, Sigma_hat: float, kappa: float) -> Floats:
        return np.asarray(x, dtype=np.float64) / (Sigma_hat + 4.0 * self.ridge)
