"""Population flows from Gaussian weights: drawn starts, each followed by the Riccati equation."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from presage.laws.empirical import Empirical
from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.power_law import PowerLaw
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.population_flow import PopulationFlow
from presage.models.attention.problem import Problem
from presage.models.attention.theory.flows.population import LONGEST, gaussian_starts, half_times, riccati
from presage.models.attention.theory.flows.smooth_pieces import along
from presage.protocol import checks

RUNS = 8  # Gaussian starts behind an error bar, unless they are given
USUAL, LARGEST = 100, 2000  # dimension of Gaussian starts, where the target has none of its own; and at most
SETTLED = 1e-13  # relative: S is its target to the last digits


class DrawnStarts(NamedTuple):
    """What independent starts of networks of one size show on their way."""

    tables: Floats  # run x (estimation error, part learned, local exponent) x time
    d: int
    width: int
    half_times: Floats | None  # of features far apart, the strongest first; None where features are drawn


def drawn_starts(problem: Problem, trainer: PopulationFlow, d: Any, runs: Any, seed: Any) -> DrawnStarts:
    """Draw starts and follow each."""
    law, deviation = problem.target, float(trainer.deviation or 0.0)
    d = _dimension(law, d)
    reason, remedy = "an error bar is the spread of independent starts", f"Use for example <runs={RUNS}>."
    runs = checks.integer(
        "runs", RUNS if runs is None else runs, at_least=2, at_most=1000, reason=reason, remedy=remedy
    )
    reason, remedy = "it begins random numbers", "Use <seed=0>."
    seed = checks.integer("seed", 0 if seed is None else seed, at_least=0, reason=reason, remedy=remedy)
    width = max(1, round(problem.kappa * d))
    tables = []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        s_0 = _eigenvalues(law, d, rng)
        V = deviation * rng.standard_normal((d, width)) / (width * d) ** 0.25
        tables.append(_followed(s_0, V, trainer.times))
    s = strengths(law)
    halves = None if s is None or _own(law) != d else _half_times(s, width, d, deviation)
    return DrawnStarts(np.array(tables), d, width, halves)


def strengths(law: SpectralLaw) -> Floats | None:
    """The features of a target that has a dimension of its own, the strongest first; None where there are too many."""
    d = _own(law)
    if d is None or d > LARGEST:
        return None
    s = law.quantile((np.arange(d) + 0.5) / d)[::-1]
    return np.asarray(s[s > 0.0])


def _half_times(s: Floats, width: int, d: int, deviation: float) -> Floats:
    """When half of each feature is learned, if they are far apart; infinite where the network has no weights left."""
    found, seen = np.full(len(s), np.inf), min(width, len(s))
    found[:seen] = half_times(s[:seen], gaussian_starts(width, d, deviation)[:seen])
    return found


def _followed(s_0: Floats, V: Floats, times: Floats) -> Floats:
    """Rows of estimation errors, of parts learned and of local exponents of one start, in the frame of its target."""
    target, positive, tiny = np.diag(s_0), s_0 > 0.0, np.finfo(float).tiny

    def look(V: Floats, time: float) -> Floats:
        """Logarithm of the error, local exponent and what is learned of each feature."""
        S = V @ V.T
        left = target - S
        falling = left @ V
        error = max(float(np.vdot(left, left)), tiny)
        exponent = -4.0 * time * float(np.vdot(falling, falling)) / error
        return np.concatenate([[np.log(error / len(s_0)), exponent], S.diagonal()[positive]])

    def advance(V: Floats, duration: float) -> Floats:
        """The state after a while; before many steps it is seen whether it is the target to the last digits."""
        if s_0.max() * duration > LONGEST and np.linalg.norm(target - V @ V.T) <= SETTLED * np.linalg.norm(s_0):
            return V
        return riccati(s_0, V, duration)

    found = along(times, V, advance, look)
    halves = found[:, 2:] >= 0.5 * s_0[positive]
    learned = np.mean(halves, axis=1) if positive.any() else np.zeros(len(times))
    return np.array([np.exp(found[:, 0]), learned, found[:, 1]])


def _eigenvalues(law: SpectralLaw, d: int, rng: np.random.Generator) -> Floats:
    """Eigenvalues of a target as networks have it: of Gaussian factors those of the matrix itself."""
    if isinstance(law, MarchenkoPastur):
        W_0 = rng.standard_normal((d, max(1, round(law.kappa_0 * d))))
        values = np.linalg.svd(W_0, compute_uv=False) ** 2 / sqrt(W_0.shape[1] * d)
        return np.concatenate([values, np.zeros(d - len(values))])
    return law.sample(d, rng)


def _own(law: SpectralLaw) -> int | None:
    """The dimension that a target has of its own, if it has one."""
    return law.d if isinstance(law, PowerLaw) else int(np.size(law.eigenvalues)) if isinstance(law, Empirical) else None


def _dimension(law: SpectralLaw, d: Any) -> int:
    own = _own(law) or USUAL
    reason = "Gaussian starts are those of networks of a dimension, and each step of their flow takes d^3 operations"
    remedy = f"Use for example <d={min(own, USUAL)}>."
    return checks.integer("d", own if d is None else d, at_least=2, at_most=LARGEST, reason=reason, remedy=remedy)
