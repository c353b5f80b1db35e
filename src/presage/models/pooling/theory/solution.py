"""What the theory says about the first direction of pooled tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.pooling.declaration import MEASURED
from presage.models.pooling.problem import PoolingProblem
from presage.models.pooling.theory.pooled_law import PooledLaw
from presage.models.pooling.theory.transitions import (
    alignment,
    effective_signal,
    gain_of,
    least_samples,
    outlier,
    stands_out,
    table_alignment,
    table_outlier,
)
from presage.protocol.observables import Observable, by_name
from presage.protocol.prediction import Prediction
from presage.spectra.bulk import Bulk

ROUNDING = 1e-12  # relative, of closed forms
FEW_TOKENS = 8  # below, single tokens of a sequence are seen at the lower edge
NO_SIGNAL = "without a signal all that can come out is the chance difference of the two classes of the table."
NEAR = 0.1  # relative distance of alpha from its threshold within which networks are smeared


@final
@dataclass(frozen=True)
class PoolingSolution(Prediction):
    """Prediction for the covariance of pooled tokens, in the limit of large tokens."""

    problem: PoolingProblem
    gain: float  # a/kappa = w'Rw/|w|^2
    effective_signal: float  # t
    alignment: float
    top: float  # largest eigenvalue of C/kappa
    edge: float  # upper edge of the bulk of C/kappa
    rank: float  # fraction of eigenvalues that are not zero

    observables = MEASURED
    compared = tuple(observable.name for observable in MEASURED)
    spectrum_measured_as = "eigenvalues"
    convention = "eigenvalues of the covariance (1/N) sum x x' of centred pooled tokens, over |w|^2"

    @property
    def delta(self) -> float:
        """``d/V``."""
        return 1.0 / self.problem.vocabulary

    @property
    def gamma(self) -> float:
        """``d/N``."""
        return 1.0 / self.problem.alpha

    @cached_property
    def spectrum(self) -> PooledLaw:
        """Law of the eigenvalues of ``C/kappa``; the one of the class is in `outliers`."""
        return PooledLaw(self.delta, self.gamma)

    @property
    def bulks(self) -> tuple[Bulk, ...]:
        """The one bulk."""
        return (Bulk(self.spectrum.lower_edge, self.edge, self.rank),)

    @property
    def outliers(self) -> Floats:
        """The eigenvalue of the class, where it stands out."""
        return np.array([self.top] if self.is_found else [])

    @property
    def is_found(self) -> bool:
        """Whether the class stands out of the bulk."""
        return stands_out(self.effective_signal, self.delta, self.gamma)

    @property
    def known_observables(self) -> tuple[Observable, ...]:
        """Where nothing stands out the largest eigenvalue is at the edge, and approaches it as an edge does."""
        if self.is_found:
            return MEASURED
        edge = by_name(MEASURED)["edge"]
        return tuple(
            replace(one, correction=edge.correction, fluctuation=edge.fluctuation) if one.name == "top" else one
            for one in MEASURED
        )

    @property
    def table_alignment(self) -> float:
        """With all sequences of a table: squared cosine of the first direction with the empirical mean direction."""
        return table_alignment(self.effective_signal, self.delta)

    @property
    def table_outlier(self) -> float:
        """With all sequences of a table: eigenvalue of the class over kappa, or the edge where it is in the bulk."""
        return table_outlier(self.effective_signal, self.delta)

    @property
    def error_bars(self) -> dict[str, float]:
        """Closed forms: rounding is all there is."""
        return {one.name: ROUNDING * abs(getattr(self, one.name)) for one in self.observables}

    @property
    def caveats(self) -> tuple[str, ...]:
        said = list(self.problem.notes)
        if self.problem.tokens_that_count < FEW_TOKENS - ROUNDING:
            said.append(
                f"a pooled sequence is a sum of about {self.problem.tokens_that_count:.2g} tokens, which is not "
                f"Gaussian: below {FEW_TOKENS} the edges of the bulk deviate, the lower one most."
            )
        least = least_samples(self.effective_signal, self.delta)
        if abs(self.problem.alpha / least - 1.0) < NEAR:
            said.append(
                f"alpha is within {NEAR:.0%} of {least:.4g}, where the class comes out: finite sizes smear that."
            )
        if self.problem.signal == 0.0:
            said.append(NO_SIGNAL)
        return tuple(said)


def solve(problem: PoolingProblem) -> PoolingSolution:
    """Predict the spectrum of the covariance of pooled tokens and the alignment of its first direction."""
    delta, gamma = 1.0 / problem.vocabulary, 1.0 / problem.alpha
    law = PooledLaw(delta, gamma)
    gain = gain_of(problem)
    t = effective_signal(gain, problem.signal, delta)
    found = stands_out(t, delta, gamma)
    values: dict[str, Any] = {
        "alignment": alignment(t, delta, gamma, problem.signal) if found else 0.0,
        "top": outlier(t, delta, gamma) if found else law.upper_edge,
        "edge": law.upper_edge,
        "rank": 1.0 - law.zero,
    }
    return PoolingSolution(problem, gain, t, **values)
