"""The matrices that a target is made of: a law of eigenvalues each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.multi_matrix.declaration import MOST_MATRICES
from presage.protocol import checks

ZERO = 1e-9  # relative difference of two Stieltjes transforms that is rounding
PLACES = (0.3 + 0.7j, 1.1 + 0.4j, 2.3 + 1.5j, 0.05 + 0.1j)  # where laws are compared, in units of their size
REASON = "each matrix of the target has a law of eigenvalues"
REMEDY = "Use for example <target=[Semicircle(), Semicircle()]>, or one law for all matrices."


@final
@dataclass(frozen=True)
class MatrixTargets:
    """Laws of the eigenvalues of up to three symmetric matrices, whose eigenvectors know nothing of each other."""

    laws: Any  # kept as a tuple of laws

    def __post_init__(self) -> None:
        given = (self.laws,) if isinstance(self.laws, SpectralLaw) else self.laws
        listed = isinstance(given, Sequence) and not isinstance(given, str)
        if not listed or not 1 <= len(given) <= MOST_MATRICES:
            must = f"be a law or a list of 1 to {MOST_MATRICES} laws"
            raise checks.complaint("target", must, REASON, self.laws, REMEDY)
        for law in given:
            checks.instance("target", law, SpectralLaw, reason=REASON, remedy=REMEDY)
            law.check_itself("target")
            if not law.second_moment > 0.0:
                raise checks.complaint("target", "not be zero", "there is nothing to learn of it", law, REMEDY)
        object.__setattr__(self, "laws", tuple(given))

    def __len__(self) -> int:
        return len(self.laws)

    @property
    def sizes(self) -> Floats:
        """``Q_0 = |S_0|_F^2/d`` of every matrix."""
        return np.array([law.second_moment for law in self.laws])

    @property
    def symmetric(self) -> tuple[bool, ...]:
        """Whether each law is its own mirror image, so that its matrices have no trace, and estimates of them none."""
        return tuple(is_symmetric(law) for law in self.laws)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the laws have to say."""
        return tuple(dict.fromkeys(line for law in self.laws for line in law.notes))


def is_symmetric(law: SpectralLaw) -> bool:
    """Whether a law is its own mirror image: ``G(-z') = -G(z)'`` with the prime for the complex conjugate."""
    z = np.sqrt(law.second_moment) * np.array(PLACES)
    here, there = law.stieltjes(z), law.stieltjes(-z.conj())
    return bool(np.abs(here + there.conj()).max() <= ZERO * np.abs(here).max())


def as_targets(target: Any, matrices: int) -> Any:
    """A law as that of all of so many matrices, a list as it is; what is neither is for the declared field to judge."""
    if isinstance(target, SpectralLaw):
        return MatrixTargets((target,) * matrices)
    return MatrixTargets(tuple(target)) if isinstance(target, list | tuple) else target
