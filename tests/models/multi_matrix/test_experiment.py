"""Real matrices: their loss, their trainers, and what is measured of them."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import presage as ps
from presage.models.multi_matrix.experiment import amp
from presage.models.multi_matrix.experiment.objective import Objective, factors_of, matrices_of
from presage.models.multi_matrix.experiment.samples import draw_matrices, draw_samples, quadratic_forms
from presage.models.multi_matrix.experiment.simulate import put_right
from presage.protocol.ensemble import streams
from tests.models.multi_matrix.instance import PROBLEM, solution


def drawn(problem, d, seed=0):
    """Matrices of a target, and an objective on samples of it."""
    for_target, for_data, *_ = streams(seed, d)
    S_0 = draw_matrices(problem, d, for_target)
    samples = draw_samples(problem, S_0, problem.samples(d), for_data, 1)
    return S_0, Objective(problem.link, samples, problem.weight_decay)


def some_matrices(count, d, seed=3):
    S = np.random.default_rng(seed).standard_normal((count, d, d)) / np.sqrt(d)
    return S + S.transpose(0, 2, 1)


def test_quadratic_forms_have_the_variance_of_their_matrix():
    S, rng = draw_matrices(PROBLEM, 40, np.random.default_rng(0)), np.random.default_rng(1)
    X = rng.standard_normal((20_000, 40))
    z = quadratic_forms(X, S)
    by_hand = [(x @ S[1] @ x - np.trace(S[1])) / np.sqrt(80.0) for x in X[:5]]
    assert z[:5, 1] == pytest.approx(by_hand)
    assert np.var(z, axis=0) == pytest.approx(np.sum(S**2, axis=(1, 2)) / 40, rel=0.05)
    assert np.mean(z, axis=0) == pytest.approx([0.0, 0.0], abs=0.03)
    assert np.sum(S**2, axis=(1, 2)) / 40 == pytest.approx(PROBLEM.sizes, rel=1e-9)


def test_gradient_agrees_with_differences():
    problem = PROBLEM.replace(link=ps.OwnMatrixLink(lambda a, b: a + np.sin(b) * a, 2))
    _, objective = drawn(problem, 8)
    S, turn, step = some_matrices(2, 8), some_matrices(2, 8, seed=4), 1e-6
    slope = float(np.sum(objective.at_S(S).gradient * turn))
    moved = (objective.at_S(S + step * turn).value - objective.at_S(S - step * turn).value) / (2.0 * step)
    assert slope == pytest.approx(moved, rel=1e-5)
    W, turn = np.random.default_rng(5).standard_normal((2, 2, 2, 8, 8))
    slope = float(np.sum(objective.at_W(W).gradient * turn))
    moved = (objective.at_W(W + step * turn).value - objective.at_W(W - step * turn).value) / (2.0 * step)
    assert slope == pytest.approx(moved, rel=1e-5)


def test_factors_have_the_least_weight_decay_of_their_matrices():
    S = some_matrices(2, 10)
    _, objective = drawn(PROBLEM, 10)
    W = factors_of(S)
    assert matrices_of(W) == pytest.approx(S)
    assert PROBLEM.weight_decay * np.sum(W * W) == pytest.approx(objective.penalty_at(S))
    assert objective.at_W(W).value == pytest.approx(objective.at_S(S).value + objective.penalty_at(S))


def test_divergence_agrees_with_differences():
    Theta, step = some_matrices(1, 7)[0], 1e-6
    _, divergence = amp.shrink(Theta, 0.6)
    total = 0.0
    for i in range(7):
        for j in range(i + 1):
            turn = np.zeros((7, 7))
            turn[i, j] = turn[j, i] = step if i == j else step / np.sqrt(2.0)
            change = amp.shrink(Theta + turn, 0.6)[0] - amp.shrink(Theta - turn, 0.6)[0]
            total += float(np.sum(change * turn)) / (2.0 * step**2)
    assert divergence == pytest.approx(total, rel=1e-5)


def test_a_linear_label_is_trained_to_the_minimum_of_a_convex_loss():
    """Random weights and the target lead to one minimum, whose certificate is small."""
    problem = ps.multi_matrix(ps.MarchenkoPastur(0.5), ps.PowersLink(1), alpha=1.0, weight_decay=0.5, noise=0.25)
    trained = [ps.simulate(problem, d=16, seeds=2, start=start, processes=1) for start in ("target", "random")]
    assert trained[0].train_loss == pytest.approx(trained[1].train_loss, rel=1e-5)
    assert trained[0].estimation_error_1 == pytest.approx(trained[1].estimation_error_1, rel=1e-2)
    assert trained[0].converged.all()
    assert trained[0].residual.max() < 1e-3
    assert np.isnan(trained[0].estimation_error_2).all()
    assert [one.name for one in trained[0].measured][-1] == "rank_1"
    assert trained[0].departures == trained[1].departures == ()  # where it began makes no difference


def test_where_training_began_is_told():
    starts = {
        "target": "training began at the target, which nobody knows",
        "random": "training began at random weights",
    }
    for start, words in starts.items():
        found = ps.simulate(PROBLEM, d=10, seeds=2, start=start, processes=1)
        assert found.converged.all()
        assert [line.startswith(words) for line in found.caveats] == [True]
        told = ps.compare(solution(), found).caveats
        assert [line.startswith(words) for line in told].count(True) == 1, told
        assert f"d = 10: {words}" not in " ".join(told)
    by_messages = ps.simulate(PROBLEM, d=16, seeds=1, trainer=ps.MatricesAMP(steps=5), processes=1)
    assert "training began at a part of the target" in by_messages.caveats[-1]


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        (ps.LBFGS(steps=30), "seed 0: L-BFGS stopped after 30 steps with a relative gradient of "),
        (ps.LBFGS(tol=1e-13), "seed 0: L-BFGS stopped where no step lowers the loss any more with a relative gradient"),
        (
            ps.MatricesAMP(steps=5),
            "seed 0: message passing stopped after 5 steps, the last of which moved the matrices",
        ),
    ],
)
def test_a_training_that_stops_early_says_so(trainer, words):
    found = ps.simulate(PROBLEM, d=10, seeds=1, trainer=trainer, processes=1)
    assert not found.converged.any()
    assert found.caveats[0].startswith(words)


def test_the_tolerance_of_training_is_kept():
    """A looser one stops earlier, is converged by its own rule, and leaves more of the slope."""
    loose, tight = (ps.simulate(PROBLEM, d=10, seeds=2, trainer=ps.LBFGS(tol=tol), processes=1) for tol in (1e-3, 1e-6))
    assert loose.converged.all()
    assert tight.converged.all()
    assert loose.residual.min() > 1e-4
    assert tight.residual.max() < 1e-5


def test_certificate_is_zero_at_a_minimum_only():
    S_0, objective = drawn(PROBLEM, 16)
    trained = ps.simulate(PROBLEM, d=16, seeds=1, trainer=ps.LBFGS(tol=1e-6), keep="weights", processes=1)
    S = trained.weights[0]
    assert trained.targets[0] == pytest.approx(S_0)
    assert objective.certify(S).residual < 1e-4
    assert objective.certify(1.05 * S).residual > 1e-2
    assert objective.certify(S_0).residual > 1e-2
    assert objective.at_S(S).value / objective.d**2 < trained.train_loss[0]
    values = np.linalg.eigvalsh(S)
    assert objective.certify(S).ranks == pytest.approx(np.mean(np.abs(values) > 1e-3, axis=1))


def test_message_passing_ends_in_a_stationary_point():
    by_messages = ps.simulate(PROBLEM, d=24, seeds=[1], trainer=ps.MatricesAMP(m_0=0.9, v_0=0.2, tol=1e-7), processes=1)
    by_descent = ps.simulate(PROBLEM, d=24, seeds=[1], processes=1)
    assert by_messages.converged.all()
    for one in by_messages.measured:
        assert by_messages.mean(one.name) == pytest.approx(by_descent.mean(one.name), rel=1e-4)
    S_0, objective = drawn(PROBLEM, 24)
    without = amp.message_passing(objective, 0.9 * S_0, 0.2, 0.5, onsager=0.0)
    assert objective.certify(next(islice(without, 60, None)).S).residual > 0.1


def test_signs_and_order_are_put_right():
    S_0 = draw_matrices(PROBLEM, 12, np.random.default_rng(0))
    order, signs = put_right(ps.PowersLink(2, 2), np.array([-S_0[1], S_0[0]]), S_0)
    assert (order, list(signs)) == ([1, 0], [1.0, -1.0])
    order, signs = put_right(ps.PowersLink(1, 2), np.array([-S_0[0], -S_0[1]]), S_0)
    assert (order, list(signs)) == ([0, 1], [1.0, -1.0])  # labels tell the sign of the first


def test_what_is_refused():
    with pytest.raises(ps.InputError, match="`trainer` must be a LBFGS or a MatricesAMP"):
        ps.simulate(PROBLEM, d=10, trainer=ps.Adam())
    with pytest.raises(ps.InputError, match="`start` must be left out here: message passing begins"):
        ps.simulate(PROBLEM, d=10, trainer=ps.MatricesAMP(), start="random")
    with pytest.raises(ps.InputError, match='`start` must be "target" or "random"'):
        ps.simulate(PROBLEM, d=10, start="zero")
    with pytest.raises(ps.InputError, match="`m_0` must be a finite number > 0 and <= 1"):
        ps.MatricesAMP(m_0=0.0)
    with pytest.raises(ps.InputError, match="`alpha` must be larger at d = 4"):
        ps.simulate(PROBLEM.replace(alpha=0.05), d=4)
