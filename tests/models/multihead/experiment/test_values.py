"""A whole value matrix behind the softmax: its loss, the elimination of the matrix, and what networks make of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import presage as ps
from presage.models.multihead.experiment.objective import Objective
from presage.models.multihead.experiment.sequences import draw, sample_targets
from presage.models.multihead.experiment.values import beside_the_target, outputs_of, sample_values
from tests.models.multihead.experiment.test_objective import naive_outputs, symmetric

LAW = ps.MarchenkoPastur(0.5)
GAIN = ps.multihead_attention(LAW, alpha=0.5, weight_decay=0.2, noise=0.5, n_heads=1, target_gain=1.5)
KINDS = [{}, {"n_heads": 2, "combine": "mean", "beta": 1.3, "beta_0": 0.7}, {"penalty": "frobenius"}]
every_kind = pytest.mark.parametrize("options", KINDS, ids=str)


def build(options, *, d=6, n=23, seed=0):
    """An objective with a value matrix, and that of the target."""
    problem, rng = GAIN.replace(**options), np.random.default_rng(seed)
    sequences = draw(problem, sample_targets(problem, d, rng), n, rng)
    V_0 = sample_values(problem.v_0, d, rng)
    return Objective(problem, sequences, outputs=outputs_of(sequences, V_0, problem.v_0)), V_0


@every_kind
def test_gradients_are_differences_of_the_least_loss(options):
    (objective, _), rng, h = build(options), np.random.default_rng(2), 1e-5
    H, none = objective.problem.n_heads, np.ones(1)
    A, E = rng.standard_normal((2, H, 6, 6)) if objective.factorized else (symmetric(H, 3), symmetric(H, 4))
    found = objective.whole(A, none)
    up, down = (objective.whole(A + step * E, none).value for step in (h, -h))
    assert np.sum(found.gradient * E) == pytest.approx((up - down) / (2.0 * h), rel=1e-6)
    assert found.slopes.tolist() == [0.0]


@every_kind
def test_the_value_matrix_is_that_of_least_squares(options):
    """By a solver of least squares on outputs that are written out."""
    objective, V_0 = build(options)
    problem, X = objective.problem, objective.sequences.tokens
    S = symmetric(problem.n_heads)
    sigma = naive_outputs(problem, X, S, problem.beta, np.ones(1))[0]
    seen = np.einsum("nab,nbi->nai", sigma, X.reshape(23, 2, 6)).reshape(46, 6)
    sigma_0 = objective.sequences.labels[0] / problem.v_0
    labels = np.einsum("nab,nbi,ij->naj", sigma_0, X.reshape(23, 2, 6), V_0).reshape(46, 6)
    V = np.linalg.lstsq(seen, labels)[0]
    np.testing.assert_allclose(objective.values_at(S), V, rtol=1e-8, atol=1e-10)
    loss = np.sum((seen @ V - labels) ** 2) / 6
    assert objective.loss_at(S, np.ones(1)) == pytest.approx(loss, rel=1e-9)
    assert objective.loss_with(S, V_0) == pytest.approx(np.sum((seen @ V_0 - labels) ** 2) / 6, rel=1e-10)
    assert objective.loss_with(S, V_0) > loss


def test_a_multiple_of_the_target_is_a_gain():
    """With ``V = v V_0/v_0`` the loss is that of a gain v where d is large, and not where it is small."""
    off = {}
    for d in (8, 400):
        ratios = []
        for seed in range(4):
            objective, V_0 = build({}, d=d, n=1000, seed=seed)
            S = symmetric(1, d=d)
            plain = Objective(objective.problem, objective.sequences)
            ratios.append(objective.loss_with(S, 1.2 / 1.5 * V_0) / plain.loss_at(S, np.array([1.2])) - 1.0)
        off[d] = np.sqrt(np.mean(np.square(ratios)))
    assert off[400] < 0.01
    assert off[8] > 3.0 * off[400]


def test_the_nearest_multiple():
    rng = np.random.default_rng(0)
    V_0 = sample_values(1.5, 7, rng)
    assert np.sum(V_0**2) == pytest.approx(7 * 1.5**2, rel=1e-12)
    beside = rng.standard_normal((7, 7))
    beside -= np.vdot(beside, V_0) / np.vdot(V_0, V_0) * V_0
    found = beside_the_target(1.1 * V_0 + beside, V_0, 1.5)
    assert found.gain == pytest.approx(1.65, rel=1e-12)
    assert found.error == pytest.approx(np.sum(beside**2) / np.sum(V_0**2), rel=1e-12)


def test_networks_say_what_they_learned():
    whole, plain = (ps.simulate(GAIN, d=8, seeds=2, values=values, processes=1) for values in ("matrix", "gain"))
    assert whole.converged.all()
    assert (whole.value_error > 0.0).all()
    assert np.isnan(plain.value_error).all()
    assert "values a whole matrix" in str(whole)
    assert "a whole value matrix was learned" in whole.departures[0]
    assert plain.departures == ()
    with pytest.raises(ps.InputError, match="`ensembles` must"):
        ps.compare(ps.solve(GAIN), whole, replace(plain, d=10))


@pytest.mark.parametrize(
    ("changes", "values", "words"),
    [
        ({"target_gain": None}, "matrix", "`values` must be left out here: without a target_gain nothing is learned"),
        ({"n_heads": 2}, "matrix", "`values` must be left out here: heads side by side have a value matrix each"),
        ({}, "vector", '`values` must be "gain" or "matrix"'),
        ({"alpha": 0.02}, "matrix", "`alpha` must be above 0.1 at d = 10: a value matrix has d"),
    ],
)
def test_what_is_refused(changes, values, words):
    with pytest.raises(ps.InputError, match=words):
        ps.simulate(GAIN.replace(**changes), d=10, seeds=1, values=values)


@pytest.mark.slow
def test_a_value_matrix_is_found_up_to_the_gain_that_is_predicted():
    trained = [ps.simulate(GAIN, d=d, seeds=n, values="matrix", processes=1) for d, n in ((20, 12), (40, 8))]
    found = ps.compare(ps.solve(GAIN), *trained)
    z = {name: found[name].z for name in ("gain", "rank", "train_loss", "test_error")}
    assert {name: value for name, value in z.items() if not abs(value) < 3.0} == {}
    wrong = replace(found.solution, gain=1.5)  # that of the target
    assert abs(ps.compare(wrong, *trained)["gain"].z) > 5.0
    left = [one.mean("value_error") * one.d for one in trained]
    assert left[1] == pytest.approx(left[0], rel=0.1)
    # In alpha likewise, where more samples no longer change the heads much.
    many = [ps.simulate(GAIN.replace(alpha=a), d=16, seeds=8, values="matrix", processes=1) for a in (2.0, 4.0)]
    left = [one.mean("value_error") * one.problem.alpha for one in many]
    assert left[1] == pytest.approx(left[0], rel=0.1)


@pytest.mark.slow
def test_averaged_heads_share_a_value_matrix():
    """It takes a part of about 1/d of the loss, more than nothing, and leaves the gain."""
    problem = ps.multihead_attention(LAW, alpha=2.0, weight_decay=0.02, noise=0.2, combine="mean", target_gain=1.5)
    for d in (10, 16):
        whole, plain = (ps.simulate(problem, d=d, seeds=2, values=name, processes=1) for name in ("matrix", "gain"))
        assert whole.converged.all()
        assert whole.gain == pytest.approx(plain.gain, rel=3e-3)
        taken = d * (1.0 - whole.train_loss / plain.train_loss)
        assert (taken > 0.5).all()
        assert (taken < 1.5).all()
        assert (d * whole.value_error < 0.004).all()
