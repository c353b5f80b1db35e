"""Vanishing regularisation: the limit of weight decay or ridge going to zero, below and above interpolation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf, sqrt
from typing import final

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.declaration import MEASURED
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory.expected_loss import expected_loss
from presage.models.attention.theory.interpolation import interpolating_point, interpolation_threshold
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.recovery import perfect_recovery, unfactorized_recovery
from presage.models.attention.theory.solve import ExplicitMap, Solver, StateEvolution, with_accuracy
from presage.models.attention.theory.state_evolution import WeightSide, deviation_given_target, thresholded
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.prediction import Prediction
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.learned import LearnedSpectrum

RELATIVE = 1e-9  # error of quadrature and roots
ACCURACY = 1e-3  # relative, above interpolation: many samples jump there, and digits cost seconds
SHARP = 10.0  # variance of the target's logits beyond which their labels saturate
NO_NOISE = 1e-9  # noise level of a spectrum that has none


@final
@dataclass(frozen=True)
class RidgelessSolution(Prediction):
    """Prediction for a problem whose weight decay or ridge goes to zero."""

    problem: Problem
    interpolates: bool  # whether every label is fitted exactly
    test_error: float
    train_error: float  # loss a sample at the minimum
    estimation_error: float
    rank: float
    delta: float  # noise level at which the learner sees the target; 0 where it is recovered
    cutoff: float  # eigenvalues below it are zero; -inf where S itself is trained
    scale: float  # factor on the eigenvalues that are kept
    message: str
    bars: dict[str, float] = field(repr=False, hash=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    observables = MEASURED

    @property
    def train_loss(self) -> float:
        """The whole minimum over d^2: nothing is paid for the weights."""
        return self.problem.alpha * self.train_error

    @cached_property
    def spectrum(self) -> SpectralLaw:
        """Law of the eigenvalues of ``S_fit``."""
        if self.delta == 0.0 and self.scale == 1.0:
            return self.problem.target
        level = self.delta or NO_NOISE * sqrt(self.problem.Q_0)
        return LearnedSpectrum(FreeConvolution(self.problem.target, level), self.scale, self.cutoff)

    @property
    def target_law(self) -> SpectralLaw:
        """Law of the eigenvalues of the target."""
        return self.problem.target

    @property
    def error_bars(self) -> dict[str, float]:
        """Half width of a 95 % interval for every number."""
        return self.bars

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where this prediction is outside the claim that supports it."""
        said = [*self.problem.notes, *self.notes]
        channel = self.problem.channel
        if isinstance(channel, Softmax) and self.interpolates and channel.target_beta**2 * self.problem.rho_0 > SHARP:
            said.append("labels of so sharp a softmax are nearly 0 or 1: the limit is approached very slowly.")
        if self.delta == 0.0:
            said.append("the rank is that of the target; at any small weight decay further, tiny eigenvalues are left.")
        if self.problem.penalty.factorized and self.problem.kappa < self.rank - self.bars["rank"]:
            said.append(
                f"kappa = {self.problem.kappa:g} is below the rank {self.rank:.4g}: outside the claim, "
                "which needs a student at least as wide as the rank it would learn."
            )
        return tuple(said)


def ridgeless(problem: Problem, *, solver: Solver | None = None, accuracy: float | None = None) -> RidgelessSolution:
    """Predict the limit in which weight decay, or the ridge, goes to zero; its value in `problem` plays no part.

    As long as all labels can be fitted, the limit is the fit of least weight; a softmax then holds the same as a
    linear channel with one component less, ``alpha_eff = (L_in - 1) alpha``. Beyond, nothing is paid for the weights
    any more, and a softmax has equations of its own, which `solver` solves, or `StateEvolution` to this `accuracy`.

    Equation: [BETKZ25] (63)-(65).
    Departs: see `interpolation.interpolating_point`. Erratum 3.
    Checked: tests/models/attention/theory/test_ridgeless.py::test_small_weight_decay_approaches_the_limit
    Checked:
        tests/models/attention/theory/test_ridgeless.py::test_small_weight_decay_of_a_target_with_negative_eigenvalues
    Checked: tests/models/attention/theory/test_ridgeless.py::test_a_fitted_softmax_is_linear_with_one_component_less
    Checked: tests/models/attention/theory/test_ridgeless.py::test_small_ridge_approaches_the_limit
    Checked: tests/models/attention/theory/test_ridgeless.py::test_clean_labels_are_recovered_without_factors
    """
    reason = "the limit is known where labels can be fitted exactly and the penalty has one strength"
    for name, kinds in (("channel", (Linear, Softmax)), ("penalty", (NuclearPSD, Frobenius))):
        remedy = f"Use {' or '.join(kind.__name__ for kind in kinds)}, or <solve()> with a weak penalty."
        checks.instance(name, getattr(problem, name), kinds, reason=reason, remedy=remedy)
    if accuracy is not None:
        solver = with_accuracy(accuracy, solver, exact=problem.channel.linear)
    problem = problem.replace(**{str(problem.penalty.scaled_by): 0.0})
    alpha = problem.alpha * problem.channel.n_active
    whole = not problem.penalty.factorized  # S itself is trained, and has to be neither low nor positive
    if problem.noise == 0.0 and alpha >= (unfactorized_recovery() if whole else perfect_recovery(problem.target)):
        return _recovered(problem)
    if whole:
        fits = alpha < unfactorized_recovery()
        return _smallest_symmetric(problem, alpha) if fits else _beyond(problem, solver)
    clean = problem.noise == 0.0 and problem.target.support[0, 0] >= 0.0  # the target itself fits
    if clean or alpha < interpolation_threshold(problem.target, problem.noise):
        return _least_weight(problem, alpha)
    return _beyond(problem, solver)


def _least_weight(problem: Problem, alpha: float) -> RidgelessSolution:
    """Least weight among the positive semidefinite S that fit every label: ``S = ratio (x - c)_+``."""
    point = interpolating_point(problem.target, problem.noise, alpha)
    ratio = problem.channel.beta_ratio
    message = "the fit of least weight, by the map to a linear channel"
    return _interpolating(problem, thresholded(point.functionals, ratio, inf), point.delta, point.c, ratio, message)


def _smallest_symmetric(problem: Problem, alpha: float) -> RidgelessSolution:
    """Least norm among the symmetric S that fit every label: ``S = ratio 2 alpha (S_0 + delta GOE)``.

    At ratio one the estimation error is ``Q_0 (1 - 2 alpha) + alpha Delta/(1 - 2 alpha)``.

    Equation: [BETKZ25] (66) at a vanishing ridge.
    Checked: tests/models/attention/theory/test_ridgeless.py::test_small_ridge_approaches_the_limit
    Checked: tests/models/attention/theory/test_ridgeless.py::test_another_temperature_scales_the_fit
    """
    Q_0, gain = problem.Q_0, 2.0 * alpha
    t = (Q_0 * (1.0 - gain) ** 2 + 0.5 * problem.noise) / (gain * (1.0 - gain))
    scale = gain * problem.channel.beta_ratio
    overlaps = Overlaps(m=scale * Q_0, q=scale**2 * (Q_0 + t), Sigma=inf)
    error = Q_0 * (1.0 - scale) ** 2 + scale**2 * t
    side = WeightSide(overlaps, 0.0, 0.0, 1.0, error, Q_0 * (1.0 - scale))
    return _interpolating(problem, side, sqrt(t), -inf, scale, "the fit of least norm, in closed form")


def _recovered(problem: Problem) -> RidgelessSolution:
    """Clean labels, and enough of them: ``S = ratio S_0``."""
    ratio, Q_0 = problem.channel.beta_ratio, problem.Q_0
    overlaps = Overlaps(m=ratio * Q_0, q=ratio**2 * Q_0, Sigma=inf)
    error, deficit = (1.0 - ratio) ** 2 * Q_0, (1.0 - ratio) * Q_0
    side = WeightSide(overlaps, 0.0, 0.0, problem.target.nonzero, error, deficit)
    cutoff = 0.0 if problem.penalty.factorized else -inf
    return _interpolating(problem, side, 0.0, cutoff, ratio, "beyond the threshold of perfect recovery")


def _interpolating(
    problem: Problem, side: WeightSide, delta: float, cutoff: float, scale: float, message: str
) -> RidgelessSolution:
    test_error, bar = expected_loss(
        problem.channel, problem.rho_0, side.overlaps, deviation_given_target(problem, side)
    )
    if delta == 0.0:
        test_error, bar = 0.0, 0.0  # the output is the label
    values = {
        "test_error": test_error,
        "train_error": 0.0,
        "estimation_error": side.estimation_error,
        "rank": side.rank,
    }
    bars = {name: RELATIVE * abs(value) for name, value in values.items()}
    bars["test_error"] += bar
    geometry = {"delta": delta, "cutoff": cutoff, "scale": scale}
    return RidgelessSolution(problem, True, **values, **geometry, message=message, bars=bars, notes=())


def _beyond(problem: Problem, solver: Solver | None) -> RidgelessSolution:
    """More labels than can be fitted: the equations without a penalty."""
    if solver is None:
        solver = ExplicitMap() if problem.channel.linear else StateEvolution(accuracy=ACCURACY)
    try:
        # The limit is that of a student of sufficient width; the caveats say where this one is too narrow.
        found = solver.solve(problem.replace(kappa=max(problem.kappa, 1.0)), init=None, tol=1e-6)
    except SolveError as failure:
        raise SolveError(
            "No finite minimum without a penalty was found: a little above interpolation, or where labels are sharp, a "
            "softmax pays less and less for ever larger weights.",
            "Use <solve()> with a small penalty, or another <alpha>.",
            failure.partial,
        ) from None
    values = {name: getattr(found, name) for name in ("test_error", "train_error", "estimation_error", "rank")}
    return RidgelessSolution(
        problem,
        False,
        **values,
        delta=found.delta,
        cutoff=found.cutoff,
        scale=found.scale,
        message=found.message,
        bars={name: found.error_bars[name] for name in values},
        notes=found.notes,
    )
