"""Numbers that were found another way: check value 8, and what is said where nothing is predicted."""

from __future__ import annotations

import pytest

import presage as ps
from presage.models.multi_matrix.theory import state_evolution
from presage.models.multi_matrix.theory.sample_means import rule
from presage.models.multi_matrix.theory.solution import observed
from presage.models.multi_matrix.theory.state_evolution import fixed_point, start
from presage.models.multi_matrix.theory.weight_side import shrunk
from tests.models.multi_matrix.instance import PROBLEM, solution


def test_two_atoms():
    found = solution()
    assert found.estimation_error_1 == pytest.approx(0.0736, abs=2e-4)
    assert found.estimation_error_2 == pytest.approx(0.0290, abs=4e-4)
    assert found.train_loss == pytest.approx(0.934, abs=1e-3)
    assert (found.rank_1, found.rank_2) == pytest.approx((0.690, 0.807), abs=1e-3)
    assert found.test_error == pytest.approx(0.439, abs=3e-3)
    assert pytest.approx([0.143, 0.064], abs=1e-3) == found.V
    assert all(found.error_bars[name] < 0.012 * getattr(found, name) for name in found.compared)
    assert found.estimation_error_1 == pytest.approx(1.0 - 2.0 * found.m[0] + found.q[0], rel=1e-9)


def test_status_and_starts_are_told():
    found = solution()
    assert found.is_claimed
    assert not found.is_hard
    assert found.uninformed is not None
    assert found.uninformed["train_loss"] == pytest.approx(found.informed["train_loss"], rel=1e-4)
    assert found.caveats[0].startswith("exact as state evolution is: replica symmetry")
    assert any(line.startswith("labels do not tell the sign of S_2") for line in found.caveats)
    assert "estimation_error_3" not in str(found)
    assert found.off_diagonal < 0.01
    assert found.jumps < 0.01


def test_a_wrong_factor_is_seen(monkeypatch):
    """Responses without the second side of the spectrum miss the check value."""

    def one_sided(*arguments):
        right = shrunk(*arguments)
        return right._replace(v=right.v / 2.0)

    monkeypatch.setattr(state_evolution, "shrunk", one_sided)
    found = fixed_point(PROBLEM, start(PROBLEM, 0.9), rule(2, 2**10, 0), 1e-3)
    assert abs(observed(PROBLEM, found)["train_loss"] - 0.934) > 0.05


@pytest.mark.slow
def test_two_atoms_with_more_samples():
    found = ps.solve(PROBLEM.replace(alpha=3.0))
    assert found.estimation_error_1 == pytest.approx(0.0429, abs=2e-4)
    assert found.estimation_error_2 == pytest.approx(0.0154, abs=3e-4)
    assert found.train_loss == pytest.approx(1.179, abs=2e-3)
    assert found.test_error == pytest.approx(0.354, abs=3e-3)


@pytest.mark.slow
def test_nothing_is_predicted_where_samples_jump():
    found = ps.solve(PROBLEM.replace(alpha=1.0, weight_decay=0.2))
    assert not found.is_claimed
    assert any(line.startswith("no prediction: ") and "jump" in line for line in found.caveats)
    assert any(line.startswith("hard phase: ") for line in found.caveats)


@pytest.mark.slow
def test_two_fixed_points_are_reported():
    """Three matrices: from a tenth of the target state evolution ends in a far worse place."""
    found = ps.solve(PROBLEM.replace(link=ps.PowersLink(1, 2, 2), alpha=4.0))
    assert found.is_hard
    assert found.train_loss == pytest.approx(found.informed["train_loss"], rel=0.02)
    assert found.uninformed["train_loss"] > 5.0 * found.train_loss
    told = next(line for line in found.caveats if line.startswith("hard phase: there are two fixed points"))
    assert "those of the informed one" in told
    assert f"train_loss {found.uninformed['train_loss']:.4g}" in told
    assert {one.name for one in found.observables} >= {"estimation_error_3", "rank_3"}
