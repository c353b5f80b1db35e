"""The interpolation threshold of real networks: the largest number of samples that gradient training fits."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import presage as ps
from presage.models.attention.experiment.data import Samples, sample, sample_target
from presage.models.attention.experiment.objective import Objective

BETA = 0.3  # the threshold does not depend on it; sharper labels have flat losses, in which training gets stuck
FITTED = 1e-6 * BETA**2  # loss a sample; labels that cannot be fitted leave ten times that and more
TRIES = 2


def is_fitted(samples: Samples, channel: ps.Channel, rng: np.random.Generator) -> bool:
    """Whether L-BFGS without weight decay brings the loss to zero, from one of a few starts."""
    d, n = samples.d, samples.n
    objective = Objective(samples, channel, ps.NuclearPSD(0.0), d)

    def value_and_gradient(flat):
        evaluation = objective.at_W(flat.reshape(d, d))
        return evaluation.value / n, evaluation.gradient.ravel() / n

    def stop(intermediate_result):
        if intermediate_result.fun < FITTED:
            raise StopIteration

    options: Any = {"maxiter": 4000, "maxfun": 8000, "maxcor": 20, "ftol": 1e-12, "gtol": 0.0}
    for _ in range(TRIES):
        W = 0.3 * sqrt(objective.scale) * rng.standard_normal(d * d)
        lbfgs: Any = minimize  # the stubs know nothing of StopIteration in a callback
        found = lbfgs(value_and_gradient, W, jac=True, method="L-BFGS-B", callback=stop, options=options)
        if found.fun < FITTED:
            return True
        if found.fun > 1e-2:
            return False
    return False


def most_samples(problem: ps.Problem, predicted: float, d: int, seed: int) -> float:
    """Largest n/d^2 that is fitted, by bisection over the first samples of one data set."""
    rng = np.random.default_rng([seed, d])
    S_0 = sample_target(problem.target, d, rng)
    low, high = (round(factor * predicted * d * d) for factor in (0.75, 1.3))
    T = problem.channel.n_tokens
    data = sample(S_0, problem.channel, high, rng, tokens=ps.Gaussian(), noise=problem.noise)
    while high - low > max(1, 0.02 * predicted * d * d):
        n = (low + high) // 2
        part = Samples(data.tokens[: n * T], data.z_0[:n], data.labels[:n], data.gram)
        low, high = (n, high) if is_fitted(part, problem.channel, rng) else (low, n)
    return 0.5 * (low + high) / d**2


@pytest.mark.slow
@pytest.mark.parametrize("n_tokens", [2, 3])
@pytest.mark.parametrize(("kappa_0", "noise"), [(0.5, 0.5), (0.2, 1.0)])
def test_networks_fit_up_to_the_threshold(kappa_0, noise, n_tokens):
    """Within three standard errors and the finite size, 3/d; counting L_in components a sample it is far off.

    Networks fit fewer samples than the limit, by 6-17 % at d = 20 and 1-5 % at d = 60.
    """
    law, d, seeds = ps.MarchenkoPastur(kappa_0), 60, 3
    problem = ps.attention(law, alpha=0.1, weight_decay=0.0, noise=noise, n_tokens=n_tokens, beta=BETA)
    predicted = ps.thresholds(problem).interpolation
    found = np.array([most_samples(problem, predicted, d, seed) for seed in range(seeds)]) / predicted
    allowed = 3.0 * found.std(ddof=1) / sqrt(seeds) + 3.0 / d
    assert abs(found.mean() - 1.0) < allowed, found
    n_active = problem.channel.n_active
    wrong = n_active / (n_active + 1)
    assert abs(found.mean() - wrong) > 0.5 * (1.0 - wrong), found
