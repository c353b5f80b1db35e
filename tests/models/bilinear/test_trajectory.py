"""The steps of Bayes-optimal message passing for a matrix without symmetry, beside real ones."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps

PROBLEM = ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.8, noise=0.2)


def test_it_ends_at_the_bayes_error():
    found, end = ps.trajectory(PROBLEM, steps=40), ps.bayes_optimal(PROBLEM)
    assert found.estimation_error[0] == PROBLEM.Q_0
    assert found.estimation_error[-1] == pytest.approx(end.mmse, rel=1e-7)
    assert found.test_error[-1] == pytest.approx(end.test_error, rel=1e-7)
    assert np.all(np.diff(found.estimation_error) < 1e-9)


@pytest.mark.slow
def test_message_passing_goes_this_way():
    found = ps.trajectory(PROBLEM, steps=8)
    networks = [
        ps.simulate(PROBLEM, d=d, seeds=12, trainer=found.trainer, keep="trajectory", n_test=500, processes=1)
        for d in (20, 40)
    ]
    compared = ps.compare(found, *networks)
    assert compared.agrees, str(compared)
    other = ps.trajectory(PROBLEM.replace(alpha=0.5), steps=8)
    moved = ps.Trajectory(PROBLEM, found.trainer, found.observables, found.times, other.values, other.error_bars)
    assert not ps.compare(moved, *networks).agrees


def test_tokens_have_their_caveat_and_a_denoiser_must_be_one():
    attention = ps.untied_linear_attention(ps.GaussianProduct(0.5), alpha=0.8, weight_decay=None, noise=0.2)
    assert any("drift away from this way without damping" in line for line in ps.trajectory(attention, steps=3).caveats)
    with pytest.raises(ps.InputError, match=r"`denoiser` must be a denoiser of matrices: .*=SingularValueDenoiser"):
        ps.PlainBayesAMP(3.0)
