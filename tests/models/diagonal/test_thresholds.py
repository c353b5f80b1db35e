"""Where the least l1 norm finds a vector, and where any labels can be fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, linprog, minimize_scalar
from scipy.stats import norm

import presage as ps
from presage.models.diagonal.theory.explicit_map import diagonal_map
from presage.models.diagonal.thresholds import minimal_l1_norm


@pytest.mark.parametrize("r", [0.01, 0.1, 0.2, 0.5, 0.9])
def test_threshold_is_the_least_minimax_risk(r):
    """The same curve as the least of ``r (1 + chi^2) + 2 (1-r) [(1 + chi^2) Q - chi phi]`` over chi."""

    def risk(chi):
        return r * (1 + chi**2) + 2 * (1 - r) * ((1 + chi**2) * norm.sf(chi) - chi * norm.pdf(chi))

    assert minimal_l1_norm(r) == pytest.approx(minimize_scalar(risk, bounds=(0, 10), method="bounded").fun, rel=1e-9)


@pytest.mark.parametrize("draw", ["fixed", "gaussian"])
@pytest.mark.parametrize(
    "law", [ps.PointMasses([0.0, 1.0], [0.9, 0.1]), ps.PointMasses([-2.0, 0.0, 1.0], [0.1, 0.6, 0.3])]
)
def test_interpolator_finds_the_target_at_the_threshold(law, draw):
    threshold = minimal_l1_norm(law.nonzero)
    problem = ps.diagonal_network(law, alpha=1.02 * threshold, weight_decay=0.0, draw=draw)
    found = ps.solve(problem)
    assert (found.estimation_error, found.nonzero) == (0.0, law.nonzero)
    with pytest.raises(AttributeError, match="the fit is the target itself"):
        found.entries  # noqa: B018
    assert ps.solve(problem.replace(weight_decay=1e-5)).estimation_error < 1e-6
    errors = [ps.solve(problem.replace(alpha=f * threshold)).estimation_error for f in (0.9, 0.99, 1 - 1e-4)]
    assert errors[0] > 1e-3
    assert errors[0] > errors[1] > errors[2] > 0
    # On the map at lambda = 0 and no noise, alpha tends to the closed form as delta does to zero.
    delta = 1e-6
    c = brentq(lambda c: diagonal_map(law, 0.0, delta, c, draw=draw)[1], 0.05 * delta, 8 * delta, xtol=1e-20)
    assert diagonal_map(law, 0.0, delta, c, draw=draw)[0] == pytest.approx(threshold, rel=2e-5)


def test_linear_programs_find_the_target_on_one_side_only():
    """Basis pursuit at d = 200, a few draws: found 30 % above the threshold, not found 30 % below."""
    d, r = 200, 0.1
    for factor, recovered in ((1.3, True), (0.7, False)):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            theta = np.where(np.arange(d) < r * d, 1.0, 0.0) * rng.choice([-1.0, 1.0], d)
            A = rng.standard_normal((round(factor * minimal_l1_norm(r) * d), d))
            pursuit: Any = linprog(np.ones(2 * d), A_eq=np.hstack([A, -A]), b_eq=A @ theta, method="highs").x
            assert (np.abs(pursuit[:d] - pursuit[d:] - theta).max() < 1e-6) == recovered


def test_ends_of_the_range():
    assert (minimal_l1_norm(0.0), minimal_l1_norm(1.0)) == (0.0, 1.0)
    said = ps.thresholds(ps.diagonal_network(ps.PowerLaw(1.0, 50), alpha=0.5, weight_decay=0.1, noise=0.1))
    assert (said.interpolation, said.minimal_l1_norm) == (1.0, 1.0)
    assert "for clean labels" in said.caveats[0]
    assert "the least l1 norm finds it from here  alpha = 1" in str(said)
