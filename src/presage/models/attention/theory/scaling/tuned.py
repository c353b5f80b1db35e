"""What tuning can do for a power law: the best weight decay and its rate, beside the best of all methods."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, nan, pi, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.power_law import PowerLaw
from presage.laws.spectral_law import Floats
from presage.models.attention.bayes.optimal import bayes_optimal
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory.best_cutoff import solve_best_point
from presage.models.attention.theory.regularization import optimal_regularization
from presage.models.attention.theory.scaling.constants import C_BO, C_IV, best_ratio, summable
from presage.protocol import checks
from presage.solving.newton import NoConvergenceError

SHARP = 1e-3  # relative accuracy of the best weight decay
CROWDED = 1.0  # a correction this large beside the cutoff of 2 delta is none
NO_PLATEAU = (
    "for gamma below 1 neither the error at the best weight decay nor its ratio to the Bayes-optimal one has a plateau "
    "below d = 1e6: what is not learned shifts the bulk by its mean, which the best method knows."
)
LEADING = (
    "the laws of the best weight decay and of the Bayes-optimal error are leading orders, for 1 << n/d << d^(2 gamma)."
)


class PowerLawNetwork(NamedTuple):
    """A linear channel whose target is a power law, in the numbers that its laws are written in."""

    gamma: float
    d: int
    largest: float  # s_1: eigenvalue i of the target is largest i^-gamma
    alpha: float  # times the number of components of a sample
    noise: float

    @property
    def eigenvalues(self) -> Floats:
        """Of the target, the largest first."""
        return np.asarray(self.largest * np.arange(1, self.d + 1, dtype=np.float64) ** -self.gamma)

    def delta(self, error: float) -> float:
        """Noise level of an estimation error: ``2 alpha delta^2 = R + Delta/2``."""
        return sqrt((error + 0.5 * self.noise) / (2.0 * self.alpha))

    def features_above(self, s: float) -> float:
        """How many features are stronger than s, as a real number: ``(s_1/s)^(1/gamma)``."""
        return float((self.largest / s) ** (1.0 / self.gamma))


def power_law_network(problem: Problem) -> PowerLawNetwork:
    """The numbers of a quadratic network or of linear attention whose target is a power law, or a complaint."""
    reason, remedy = "the answer is about a learning problem", "Use for example <quadratic_network()>."
    checks.instance("problem", problem, Problem, reason=reason, remedy=remedy)
    target = problem.target
    reason = "scaling laws are those of eigenvalues i^-gamma"
    checks.instance("target", target, PowerLaw, reason=reason, remedy="Use for example PowerLaw(1.25, 400).")
    assert isinstance(target, PowerLaw)
    if not problem.channel.linear or not isinstance(problem.penalty, NuclearPSD):
        reason = "these laws are known for the square loss of a linear output, with weight decay on the factors"
        remedy = "Use <quadratic_network> or <linear_attention>."
        raise checks.complaint("problem", "be a quadratic network or linear attention", reason, problem, remedy)
    summable(target.gamma)
    alpha = problem.alpha * problem.channel.n_in
    return PowerLawNetwork(target.gamma, target.d, float(target.atoms.positions[-1]), alpha, problem.noise)


def solved_error(network: PowerLawNetwork, C: Callable[[float], float]) -> float:
    """Solve ``R = C(K/d) t K/d`` for R, with ``2 alpha t = R + Delta/2`` and K features above ``delta = sqrt(t)``.

    For a constant C it is ``R = C Z^(-1/2g) ((R + Delta/2)/(2 n_eff))^(1-1/2g)``.

    Equation: derived: a sum over the features as an integral.
    Checked: tests/models/attention/theory/scaling/test_tuned.py::test_law_is_solved_for_the_error
    """

    def excess(log_R: float) -> float:
        delta = network.delta(exp(log_R))
        K = network.features_above(delta)
        return log_R - log(C(K / network.d) * delta**2 * K / network.d)

    low = high = log(network.largest**2)
    while excess(low) > 0.0:
        low -= 20.0
    while excess(high) < 0.0:
        high += 5.0
    return exp(scipy.optimize.brentq(excess, low, high, xtol=1e-14, rtol=1e-14))


def cutoff_correction(gamma: float, learned: float) -> float:
    """How far the best cutoff is below the edge ``2 delta`` of the bulk, over delta; `learned` is K/d.

    ``eta = [(15 pi/2) (g/(1+g)) K/d]^(2/5)``.

    Equation: derived: what the top of a semicircle costs, of order eta^(7/2), against what the features gain.
    Checked: tests/models/attention/theory/scaling/test_tuned.py::test_best_weight_decay_of_check_value_18
    """
    return float((7.5 * pi * gamma / (1.0 + gamma) * learned) ** 0.4)


class WeightDecayLaw(NamedTuple):
    """Leading law of the best weight decay; nan where so many features are learned that it has none."""

    learned: float  # K, features above the noise level
    eta: float
    chi: float  # cutoff over delta, 2 - eta
    lambda_tilde: float  # weight decay at kappa = 1: grows as n^(1/2)
    error: float  # grows as n^exponent
    exponent: float


def best_weight_decay_law(problem: Problem) -> WeightDecayLaw:
    """Where the best weight decay is, and the error there, to leading order.

    ``L = 4 alpha chi delta`` with ``chi = 2 - eta``, ``R = (t K/d) [C_IV - (20/7) (g/(1+g)) eta]``.

    Equation: derived: the least of the law of phase IV and of the bulk above the cutoff.
    Checked: tests/models/attention/theory/scaling/test_tuned.py::test_best_weight_decay_of_check_value_18
    Checked: tests/models/attention/theory/scaling/test_tuned.py::test_ratios_that_were_seen
    """
    network = power_law_network(problem)
    g = network.gamma

    def C(learned: float) -> float:
        return C_IV(g) - 20.0 / 7.0 * g / (1.0 + g) * min(cutoff_correction(g, learned), CROWDED)

    error = solved_error(network, C)
    delta = network.delta(error)
    K = network.features_above(delta)
    eta, exponent = cutoff_correction(g, K / network.d), -1.0 + 0.5 / g
    if eta > CROWDED:
        return WeightDecayLaw(K, eta, nan, nan, nan, exponent)
    return WeightDecayLaw(K, eta, 2.0 - eta, 4.0 * network.alpha * (2.0 - eta) * delta, error, exponent)


class BestWeightDecay(NamedTuple):
    """The best weight decay of a wide student: its law, and the exact number."""

    law: WeightDecayLaw
    lambda_tilde: float  # weight decay at kappa = 1; at another kappa divide by sqrt(kappa)
    chi: float  # cutoff over delta there
    error: float
    rank: float  # fraction of the eigenvalues that is kept there
    evaluations: int  # of the equations
    notes: tuple[str, ...]


def best_weight_decay(problem: Problem) -> BestWeightDecay:
    """The weight decay of least estimation error of a wide student, exactly, from its law on.

    Where its equation has no root near there, it is searched: without noise vanishing weight decay may be best.
    """
    network, law = power_law_network(problem), best_weight_decay_law(problem)
    error, chi = (law.error, law.chi) if law.chi > 0.0 else (0.0 if network.noise > 0.0 else problem.Q_0, 1.0)
    delta = network.delta(error)
    notes = _about_law(network, law)
    try:
        best = solve_best_point(problem.target, network.noise, network.alpha, delta=delta, c=chi * delta)
    except NoConvergenceError:
        return _searched(problem, law, 4.0 * network.alpha * chi * delta, notes)
    f = best.functionals
    return BestWeightDecay(law, best.lambda_tilde, f.c / f.delta, f.risk, f.rank, best.evaluations, notes)


def _searched(problem: Problem, law: WeightDecayLaw, start: float, notes: tuple[str, ...]) -> BestWeightDecay:
    wide = problem.replace(kappa=1.0, weight_decay=start)
    best = optimal_regularization(wide, measure="estimation_error", tol=SHARP)
    chi = best.solution.cutoff / best.solution.delta if best.solution.delta > 0.0 else nan
    notes = (*notes, *best.notes)
    return BestWeightDecay(law, best.value, chi, best.estimation_error, best.solution.rank, best.evaluations, notes)


def _about_law(network: PowerLawNetwork, law: WeightDecayLaw) -> tuple[str, ...]:
    """Where the law of the best weight decay does not apply, in words."""
    if law.learned < 1.0:
        return ("no feature is above the noise level: the law of the best weight decay is for many.",)
    if law.eta > CROWDED:
        fraction = f"a fraction {law.learned / network.d:.2g} of the features is above the noise level"
        return (f"{fraction}, too many for the law of the best weight decay: it is left out.",)
    return ()


class BayesRate(NamedTuple):
    """Least error of any method: its leading law, solved for the error, and the exact number."""

    law: float
    exponent: float  # in n
    error: float


def bayes_rate(problem: Problem) -> BayesRate:
    """The Bayes-optimal error of a power law, and its rate.

    ``R = C_BO Z^(-1/2g) ((R + Delta/2)/(2 n_eff))^(1-1/2g)``.

    Equation: derived: a learned feature costs ``2 - 1/u^2`` in units of ``t/d``.
    Checked: tests/models/attention/theory/scaling/test_tuned.py::test_ratios_that_were_seen
    """
    network = power_law_network(problem)
    law = solved_error(network, lambda learned: C_BO(network.gamma))
    return BayesRate(law, -1.0 + 0.5 / network.gamma, bayes_optimal(problem).mmse)


class Tuned(NamedTuple):
    """The best weight decay beside the best of all methods."""

    weight_decay: BestWeightDecay
    bayes: BayesRate
    ratio: float  # of the two errors
    ratio_limit: float  # 3 gamma/(1 + gamma), reached slowly, as (K/d)^(2/5)
    notes: tuple[str, ...]


def tuned(problem: Problem) -> Tuned:
    """The best weight decay of a wide student and the Bayes-optimal error: laws, exact numbers, and their ratio."""
    gamma = power_law_network(problem).gamma
    best, bayes = best_weight_decay(problem), bayes_rate(problem)
    notes = (LEADING, *([NO_PLATEAU] if gamma < 1.0 else []), *best.notes)
    ratio = best.error / bayes.error if bayes.error > 0.0 else nan
    return Tuned(best, bayes, ratio, best_ratio(gamma), notes)
