"""Theory beside trained networks at two sizes."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import presage as ps
from presage.models.multi_matrix.experiment import amp
from tests.models.multi_matrix.instance import PROBLEM, TWO_ATOMS, solution
from tests.models.multi_matrix.test_experiment import drawn

LINEAR = ps.multi_matrix(ps.MarchenkoPastur(0.5), ps.PowersLink(1), alpha=1.0, weight_decay=0.5, noise=0.25)


def furthest(found):
    return max(abs(row.z) for row in found.rows)


def test_one_matrix_and_a_linear_label():
    """Eigenvalues of either sign, of a law that is not its own mirror image."""
    trained = [ps.simulate(LINEAR, d=d, seeds=6, processes=1) for d in (16, 32)]
    assert furthest(ps.compare(ps.solve(LINEAR), *trained)) < 3.0


def test_the_model_keeps_its_promises():
    found = ps.check_model(LINEAR.replace(target=ps.Semicircle()), d=(10, 20))
    assert found.ok, str(found)


@pytest.mark.slow
def test_two_matrices():
    trained = [ps.simulate(PROBLEM, d=d, seeds=seeds, processes=1) for d, seeds in ((24, 8), (40, 5))]
    assert furthest(ps.compare(solution(), *trained)) < 3.0
    assert np.abs(np.mean(trained[1].overlaps, axis=0)[0, 1]) < 0.1
    wrong = ps.solve(PROBLEM.replace(weight_decay=0.5 * np.sqrt(2.0)), tol=1e-4)
    off = abs(wrong.train_loss - trained[1].mean("train_loss"))
    assert off > 10.0 * trained[1].standard_error("train_loss")


@pytest.mark.slow
def test_a_square():
    """Of ``y = z^2`` labels do not tell the sign of the matrix; it is found from near the target."""
    problem = ps.multi_matrix(TWO_ATOMS, ps.PowersLink(2), alpha=1.5, weight_decay=0.5, noise=0.25)
    trained = [ps.simulate(problem, d=d, seeds=6, processes=1) for d in (20, 32)]
    assert furthest(ps.compare(ps.solve(problem), *trained)) < 3.0


def product(z_1, z_2):
    return z_1 * z_2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "sizes"),
    [
        (PROBLEM.replace(alpha=3.0), {20: 6, 32: 4}),
        (PROBLEM.replace(link=ps.OwnMatrixLink(product, 2)), {24: 6, 36: 5}),
        (PROBLEM.replace(link=ps.PowersLink(1, 2, 2), alpha=3.0), {16: 6, 26: 3}),
    ],
    ids=["more samples", "a product", "three matrices"],
)
def test_other_labels(problem, sizes):
    """The instance with more samples, the product of two numbers, and three matrices two of which are squared."""
    found, trainer = ps.solve(problem), ps.LBFGS(tol=1e-3)
    trained = [ps.simulate(problem, d=d, seeds=n, trainer=trainer, processes=1) for d, n in sizes.items()]
    assert all(one.converged.all() for one in trained)
    comparison = ps.compare(found, *trained)
    assert len(comparison.rows) == 3 + 2 * problem.matrices
    assert furthest(comparison) < 3.0
    wrong = replace(found, train_loss=found.train_loss / np.sqrt(2.0))
    assert abs(ps.compare(wrong, *trained)["train_loss"].z) > 3.0


@pytest.mark.slow
def test_responses_of_message_passing_are_those_of_state_evolution():
    S_0, objective = drawn(PROBLEM, 60)
    last = next(islice(amp.message_passing(objective, 0.5 * S_0, 1.0, 0.5), 90, None))
    assert objective.certify(last.S).residual < 0.02
    assert pytest.approx(solution().V, rel=0.15) == last.V
    assert last.loss / 3600.0 == pytest.approx(solution().train_loss, rel=0.02)
    error = np.sum((last.S - S_0) ** 2, axis=(1, 2)) / 60
    assert error == pytest.approx([0.088, 0.033], rel=0.15)  # as was seen at this size
