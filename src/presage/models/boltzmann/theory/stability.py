"""Where replica symmetry is stable, and where replica-symmetric weights begin to see a direction."""

from __future__ import annotations

from math import exp, inf, isfinite, log, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.models.boltzmann.declaration import ALPHA, SIGNAL
from presage.models.boltzmann.hidden import BinaryUnits, GaussianUnits, is_symmetric
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.spikes import Spikes
from presage.models.boltzmann.theory.fixed_point import FixedPoint, fixed_point, nearby, reached
from presage.models.boltzmann.theory.sample_means import SUPPORTED, sample_means
from presage.models.boltzmann.theory.state_evolution import usual_mixing
from presage.protocol.errors import SolveError
from presage.solving.vector_state_evolution import Overlaps
from presage.spectra.spiked import spiked_wishart

STEP = 1.5  # factor of alpha or the signal between two places where stability is looked at
SETTLED = 1e-9
ACCURACY = 1e-9  # of a line, relative
SEEN = 1e-4  # overlap with a direction that is seen


class Closed(NamedTuple):
    """Overlaps of one binary unit and a Gaussian latent, from one equation for one number."""

    m: float
    q: float
    v: float
    replicon: float


def closed_form(alpha: float, signal: float) -> Closed:
    """One binary unit, one direction with a Gaussian latent, which is seen (m is not zero).

        v = (1 + lam)/(alpha lam),   E[dg](sigma) = 1/(1 + lam)
        m^2 = (sigma^2 - alpha v^2 E[g^2])/(1 + lam),   q = sigma^2 - lam m^2,   replicon = alpha v^2 E[dg^2]

    Everything is nan where v is not below one, or where no direction is seen.

    Equation: derived: ``m (alpha v) = (1 + 1/lam) m`` by Stein's lemma, in the equations of state evolution.
    Checked: tests/models/boltzmann/test_stability.py::test_one_equation_is_the_fixed_point_of_state_evolution
    """
    v = (1.0 + signal) / (alpha * signal)
    if not v < 1.0:
        return Closed(nan, nan, v, nan)
    one = BoltzmannProblem(BinaryUnits(), alpha, signal)

    def means(sigma: float) -> tuple[float, float, float]:
        """``E dg``, ``E g^2`` and ``E dg^2``."""
        overlaps = Overlaps(np.zeros((1, 1)), np.array([[sigma**2]]), np.array([[v]]))
        found = sample_means(one, overlaps)
        return float(found.D[0, 0]) / alpha, float(found.q_hat[0, 0]) / alpha, found.replicon / (alpha * v * v)

    low, high = 1e-3, 10.0 * (1.0 + sqrt(signal)) * (1.0 + signal)
    sigma = float(scipy.optimize.brentq(lambda s: means(s)[0] - 1.0 / (1.0 + signal), low, high, xtol=1e-14))
    _, square, slopes = means(sigma)
    m2 = (sigma**2 - alpha * v * v * square) / (1.0 + signal)
    if m2 <= 0.0:
        return Closed(nan, nan, v, nan)
    return Closed(sqrt(m2), sigma**2 - signal * m2, v, alpha * v * v * slopes)


def uninformed(problem: BoltzmannProblem) -> FixedPoint:
    """The fixed point of one unit that sees no direction: it fits noise.

    Raises:
        SolveError: where the iteration does not come to rest.
    """
    one = _alone(problem).replace(signal=0.0)
    start = Overlaps(np.zeros((1, 1)), np.array([[1.5]]), np.array([[0.1]]))
    found = reached(one, start, usual_mixing(one), SETTLED)
    if found is None or found.residual > SETTLED:
        raise SolveError("State evolution without a direction does not come to rest.", "Use more <alpha>.", found)
    return found


def onset_signal(problem: BoltzmannProblem) -> float:
    """Signal from which on replica-symmetric weights see the strongest direction.

        lam_RS = 1/(alpha v E[dg]) at M = 0

    It is never below ``1/sqrt(alpha)``, and equal to it for Gaussian units.

    Equation: derived: the iteration linearised in M.
    Checked: tests/models/boltzmann/test_stability.py::test_onset_of_replica_symmetric_weights
    """
    if isinstance(problem.hidden, GaussianUnits):
        return float(spiked_wishart(0.0, problem.alpha).threshold)
    found = uninformed(problem)
    return 1.0 / float(found.overlaps.v[0, 0] * found.means.D[0, 0])


def stability_signal(problem: BoltzmannProblem) -> float:
    """Signal of the strongest direction from which on replica symmetry is stable, the others in proportion.

        alpha v^2 E[dg^2] = 1

    Equation: derived: the replicon of `sample_means` is one.
    Checked: tests/models/boltzmann/test_stability.py::test_stability_line
    """
    begin, shown = float(spiked_wishart(0.0, problem.alpha).threshold), float(problem.spikes.relative[0])
    if isinstance(problem.hidden, GaussianUnits):
        return begin * shown / min(_learned(problem)) if not _left_over(problem) else inf
    return shown * _crossing(problem, "signal", begin / min(_learned(problem)), SIGNAL.at_most)


def stability_samples(problem: BoltzmannProblem) -> float:
    """Samples, n/d, from which on replica symmetry is stable at the signal of the problem: the line read along alpha.

    Equation: derived: the replicon of `sample_means` is one.
    Checked: tests/models/boltzmann/test_stability.py::test_stability_line
    """
    weakest = problem.signal * min(_learned(problem))
    if weakest <= 0.0:
        return inf
    if isinstance(problem.hidden, GaussianUnits):
        return weakest**-2 if not _left_over(problem) else inf
    return _crossing(problem, "alpha", max(weakest**-2, ALPHA.at_least or 0.0), ALPHA.at_most)


def onset_samples(problem: BoltzmannProblem) -> float:
    """Samples, n/d, from which on replica-symmetric weights see a direction: `onset_signal` read along alpha.

    Equation: derived: the iteration linearised in M.
    Checked: tests/models/boltzmann/test_stability.py::test_onset_of_replica_symmetric_weights
    """
    if problem.strongest <= 0.0:
        return inf
    least = problem.strongest**-2
    if isinstance(problem.hidden, GaussianUnits):
        return least

    def excess(log_alpha: float) -> float:
        alpha = float(np.exp(log_alpha))
        return log(onset_signal(problem.replace(alpha=alpha)) / problem.strongest)

    least, most = max(least, ALPHA.at_least or 0.0), ALPHA.at_most or inf
    low = high = log(least)
    while excess(high) > ACCURACY:  # at very many samples it is that of principal components
        low, high = high, high + log(STEP)
        if high > log(most):
            return nan
    return float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=ACCURACY))) if low < high else least


def _crossing(problem: BoltzmannProblem, field: str, begin: float, most: float | None) -> float:
    """Where replica symmetry gets stable as a field of the problem grows.

    It is infinite where it never is, and nan where no place that was looked at could be solved.
    """
    if problem.units > SUPPORTED:
        return nan
    if _left_over(problem):
        return inf
    place, found, solved = begin, None, False
    while found is None or _excess(found) >= 0.0:
        place *= STEP
        if most is not None and place > most:
            return inf if solved else nan
        try:
            found, solved = fixed_point(problem.replace(**{field: place}), SETTLED), True
        except SolveError:
            found = None
    last = found

    def excess(log_place: float) -> float:
        nonlocal last
        here = problem.replace(**{field: float(np.exp(log_place))})
        near = nearby(here, last.overlaps)
        # A neighbour that is not reached, or sees nothing, says that replica symmetry is broken there.
        if near is None or near.residual > SETTLED or not np.abs(near.overlaps.m).max() > SEEN:
            return 1.0
        last = near if _excess(near) < 0.0 else last
        return _excess(near)

    low, high = log(place / STEP), log(place)
    while excess(low) <= 0.0:  # from above it may be stable where it was not found to be
        low -= log(STEP)
    last = found
    return float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=ACCURACY)))


def _excess(found: FixedPoint) -> float:
    """Below zero where replica symmetry is stable; beyond jumps it is one."""
    replicon = found.means.replicon
    return log(replicon) if found.means.least_slope > 0.0 and isfinite(replicon) and replicon < exp(1.0) else 1.0


def _learned(problem: BoltzmannProblem) -> tuple[float, ...]:
    """Signals of the directions that the units learn, as many as there are units, in units of that of the problem."""
    return tuple(problem.spikes.relative[: problem.units])


def _left_over(problem: BoltzmannProblem) -> bool:
    """Whether there are units without a direction, which fit noise: such minima are never replica symmetric."""
    return problem.units > problem.spikes.count


def _alone(problem: BoltzmannProblem) -> BoltzmannProblem:
    """The same machine with a single unit, on a single direction."""
    return problem.replace(units=1, spikes=Spikes([1.0]))


def has_lines(problem: BoltzmannProblem) -> bool:
    """Whether there is an onset and a line of stability: units are independent, and say nothing before they learn."""
    return problem.hidden.independent and is_symmetric(problem.hidden, 1)
