"""Penalties: what the learner pays for its matrix ``S``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf

from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.penalties.numeric_shrink import numeric_shrink
from presage.protocol.fields import Declared


class Penalty(Declared, ABC):
    """A rotation-invariant penalty on ``S``: a function of its eigenvalues, ``d sum_i r(s_i)`` in the loss.

    A penalty of one's own defines `value`. It may set `lowest` (0.0 for positive semidefinite students) and `kinks`
    (where r has a corner or a jump), and override `shrink` where that is known in closed form. See
    docs/add-a-penalty.md, and `check_penalty` for a check of the result.
    """

    lowest: float = -inf  # least eigenvalue that the student may have
    kinks: tuple[float, ...] = (0.0,)  # r is smooth between them
    scaled_by: str | None = None  # field that multiplies the whole of r, where there is one
    factorized: bool = False  # whether it is paid for a factor W of S, not for S itself
    closed_form: bool = False  # whether its gradient, its dual and what it makes of a spectrum are known in closed form

    @property
    def scaling(self) -> float:
        """The number in the field that `scaled_by` names; one where there is none."""
        return 1.0 if self.scaled_by is None else float(getattr(self, self.scaled_by))

    @property
    def vanishes(self) -> bool:
        """Whether nothing is paid at all, so that the minimum of the loss need not be unique."""
        return self.scaling == 0.0

    @abstractmethod
    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        """``r(s)`` of each eigenvalue, for a student of relative width `kappa`."""

    def shrink(self, x: ArrayLike, Sigma_hat: float, kappa: float) -> Floats:
        """``argmin_s r(s) + (Sigma_hat/4) s^2 - (1/2) s x`` for each ``x``, over the allowed ``s``."""

        def r(s: Floats) -> Floats:
            return self.value(s, kappa)

        return numeric_shrink(r, x, Sigma_hat, lowest=self.lowest, kinks=self.kinks)
