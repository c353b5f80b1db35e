"""What the theory says about the weights of greatest likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite, sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.declaration import MEASURED, PREDICTED
from presage.models.boltzmann.hidden import GaussianUnits
from presage.models.boltzmann.order_of_units import order_of_units
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.theory.fixed_point import FixedPoint, fixed_point, nearby, trained_likelihood
from presage.models.boltzmann.theory.probabilistic_pca import component_overlaps
from presage.models.boltzmann.theory.sample_means import SUPPORTED, mean_phi, sample_means
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.observables import Observable
from presage.protocol.prediction import Prediction
from presage.protocol.trainer import TOL
from presage.solving.vector_state_evolution import Overlaps
from presage.spectra.spiked import spiked_wishart

COARSER = 1.5  # grid by which quadrature is judged
ROUNDING = 1e-12
NONE = 1e-6  # overlap below which a direction is not seen at all
NEAR = 0.1  # relative distance of the signal from where principal components see it


@final
@dataclass(frozen=True, eq=False)
class BoltzmannSolution(Prediction):
    """Prediction for the weights of greatest likelihood, as the visible units grow at fixed ``alpha = n/d``."""

    problem: BoltzmannProblem
    alignment: float  # squared cosine of the strongest direction with the span of the weights
    overlap: float  # |M_1|
    last_alignment: float  # squared cosine of the weakest direction with the span
    size: float  # Tr Q/k
    test_likelihood: float  # a fresh sample, over that of noise
    train_likelihood: float
    pca_alignment: float  # squared cosine of the strongest direction with the first principal component
    replicon: float  # below one replica symmetry is stable
    M: Floats = field(repr=False)  # k_0 x k: overlaps of directions and weights, up to the order of units and signs
    Q: Floats = field(repr=False)  # k x k
    V: Floats = field(repr=False)  # k x k: response of the weights
    alignments: Floats = field(repr=False)  # squared cosine of every direction with the span of the weights
    least_slope: float = field(repr=False)  # above zero training moves fields without jumps
    residual: float = field(repr=False)  # change of overlaps by one more iteration
    bars: dict[str, float] = field(repr=False)

    observables = PREDICTED
    compared = tuple(observable.name for observable in MEASURED)

    @property
    def train_loss(self) -> float:
        """What training minimises: ``f = -L/d``."""
        return -self.problem.alpha * self.train_likelihood

    @property
    def is_stable(self) -> bool:
        """Whether replica symmetry is stable, so that the prediction is for the minimum that training finds."""
        return self.least_slope > ROUNDING and self.replicon < 1.0 - ROUNDING

    @property
    def is_found(self) -> bool:
        """Whether the weights see the strongest direction."""
        return self.overlap > NONE

    @property
    def error_bars(self) -> Mapping[str, float]:
        """Half widths by quadrature and by what is left of the iteration; replica symmetry is taken as given."""
        return dict(self.bars)

    @property
    def known_observables(self) -> tuple[Observable, ...]:
        """Overlaps with a direction that is not seen are chance: their length is of order ``d^-1/2``, squares 1/d."""
        unseen = {"alignment": 1.0, "last_alignment": 1.0, "pca_alignment": 1.0, "overlap": 0.5}
        values = {name: getattr(self, name) for name in unseen}
        return tuple(
            replace(one, correction=unseen[one.name], fluctuation=unseen[one.name])
            if one.name in unseen and values[one.name] < NONE
            else one
            for one in PREDICTED
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        said = list(self.problem.notes)
        gaussian, problem = isinstance(self.problem.hidden, GaussianUnits), self.problem
        if not self.is_stable and not gaussian:
            how = f"the replicon is {self.replicon:.3g}, not below 1"
            if self.least_slope <= ROUNDING:
                how = "training makes fields of samples jump"
            said.append(
                f"replica symmetry is broken here, since {how}: the numbers are those of the replica-symmetric "
                "equations, and no claim; training ends in one of many minima."
            )
        if problem.units > len(problem.signals):
            said.append("there are more units than directions: those that are left fit noise.")
        edge = float(spiked_wishart(0.0, problem.alpha).threshold)
        if any(abs(lam / edge - 1.0) < NEAR for lam in problem.signals):
            said.append(
                f"a signal is within {NEAR:.0%} of {edge:.4g}, where principal components begin to see a direction: "
                "finite sizes smear that."
            )
        if len(set(problem.signals)) < len(problem.signals) and problem.signal > 0.0:
            said.append("directions of equal signals share an eigenvalue: which of them a unit finds is chance.")
        return tuple(said)


def solve(problem: BoltzmannProblem, *, tol: float = 1e-10) -> BoltzmannSolution:
    """Predict overlaps and likelihoods of the weights of greatest likelihood, by state evolution.

    `tol` is how far one more iteration may move an overlap. Of several fixed points the one of greatest training
    likelihood is taken.

    Raises:
        SolveError: where the iteration does not come to rest, or does not on the coarser grid behind the error bars.
    """
    tol = TOL.checked("tol", tol)
    if isinstance(problem.hidden, GaussianUnits):
        overlaps = component_overlaps(problem)
        found = FixedPoint(overlaps, sample_means(problem, overlaps), 0.0, 0)
        beside = found
    else:
        must_be_supported(problem)
        found = fixed_point(problem, tol)
        coarse = nearby(problem, found.overlaps, COARSER)
        if coarse is None:
            what = "A coarser grid, by which error bars are judged, leaves the possible overlaps."
            raise SolveError(what, "Use more <alpha> or <signal>.", found)
        beside = coarse
    ordered = found._replace(overlaps=in_order(problem, found.overlaps))
    values, others = observed(problem, ordered), observed(problem, beside, COARSER)
    bars = {
        name: (abs(value - others[name]) if isfinite(value) else 0.0) + _left(problem, found, value)
        for name, value in values.items()
    }
    m, q, v = ordered.overlaps
    return BoltzmannSolution(
        problem,
        **values,
        M=m.T,
        Q=q,
        V=v,
        alignments=alignments(ordered.overlaps),
        least_slope=found.means.least_slope,
        residual=found.residual,
        bars=bars,
    )


def must_be_supported(problem: BoltzmannProblem) -> None:
    """Complain where means over the law of a sample would need a grid of too many dimensions."""
    if problem.units > SUPPORTED:
        raise checks.complaint(
            "units",
            f"be at most {SUPPORTED} here",
            "means over the fields of more units need a grid of as many dimensions, which is not done",
            problem.units,
            "Use <units=2>, or Gaussian units; <simulate()> trains machines of more.",
        )


def alignments(overlaps: Overlaps) -> Floats:
    """Squared cosine of every direction with the span of the weights.

        cos^2_a = M_a Q^-1 M_a'

    Equation: derived: the projection of a direction on the columns of W, over its length.
    Checked: tests/models/boltzmann/test_solution.py::test_alignment_is_a_projection
    """
    return np.asarray(np.sum(overlaps.m * (np.linalg.pinv(overlaps.q, hermitian=True) @ overlaps.m), axis=0))


def observed(problem: BoltzmannProblem, found: FixedPoint, coarser: float = 1.0) -> dict[str, float]:
    """The observables of a fixed point."""
    m, q, _ = found.overlaps
    aligned = alignments(found.overlaps)
    equal = int(np.sum(problem.signals == problem.signals[0]))  # directions that share the first component
    return {
        "alignment": float(aligned[0]),
        "overlap": float(np.linalg.norm(m[:, 0])),
        "last_alignment": float(aligned[-1]),
        "size": float(np.trace(q)) / len(q),
        "test_likelihood": fresh_likelihood(problem, m, q, coarser),
        "train_likelihood": trained_likelihood(problem, found),
        "pca_alignment": float(spiked_wishart(problem.strongest, problem.alpha).overlap) / equal,
        "replicon": found.means.replicon if found.means.least_slope > ROUNDING else inf,
    }


def fresh_likelihood(problem: BoltzmannProblem, m: Floats, q: Floats, coarser: float = 1.0) -> float:
    """Log-likelihood of a fresh sample, over that of noise: ``E phi(om) - psi(Q)``.

    Equation: derived: the likelihood of `BoltzmannProblem`.
    Checked: tests/models/boltzmann/test_solution.py::test_likelihoods
    """
    return mean_phi(problem, m, q, coarser) - problem.hidden.psi(q)


def in_order(problem: BoltzmannProblem, overlaps: Overlaps) -> Overlaps:
    """The same overlaps with the units in their usual order."""
    m, q, v = overlaps
    m = np.where(np.abs(m) < ROUNDING, 0.0, m)
    places, signs = order_of_units(problem, m.T)
    turned, pairs = signs[:, None] * signs, np.ix_(places, places)
    return Overlaps(signs[:, None] * m[places], turned * q[pairs], turned * v[pairs])


def _left(problem: BoltzmannProblem, found: FixedPoint, value: float) -> float:
    """What rounding and the end of the iteration leave; near a threshold it is multiplied by the slowness there."""
    slow = 1.0 / max(abs(1.0 - found.means.replicon), 1e-3)
    size = max(abs(value), 1.0) if isfinite(value) else 0.0
    return (found.residual * slow + ROUNDING) * size * sqrt(problem.units)
