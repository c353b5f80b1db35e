"""Check values of the specification: state evolution solved by other code, and trained networks beside it."""

from __future__ import annotations

import pytest

import presage as ps
from tests.models.untied.problems import LOW, cross, itself


def test_two_keys_of_half_rank():
    found = ps.solve(cross())
    assert (found.m, found.q, found.Sigma) == pytest.approx((0.8352, 0.8542, 2.668), rel=5e-4)
    assert (found.delta, found.cutoff, found.rank) == pytest.approx((0.507, 0.1387, 0.867), abs=4e-4)
    assert (found.test_error, found.train_loss) == pytest.approx((0.1167, 0.0566), abs=1e-4)
    assert found.estimation_error == pytest.approx(0.184, abs=5e-4)
    assert max(found.error_bars[name] / getattr(found, name) for name in found.compared) < 1e-4


def test_two_keys_of_low_rank():
    found = ps.solve(cross(target=LOW, alpha=0.5, weight_decay=0.005, noise=0.1))
    assert (found.m, found.q) == pytest.approx((0.876, 0.9357), abs=3e-4)
    assert found.Sigma == pytest.approx(14.75, abs=5e-3)
    assert (found.test_error, found.train_loss) == pytest.approx((0.0808, 0.0072), abs=5e-5)
    assert (found.rank, found.estimation_error) == pytest.approx((0.789, 0.183), abs=5e-4)


def test_three_tokens_that_look_at_each_other():
    found = ps.solve(cross(mask="off-diagonal", n_tokens=3, alpha=0.7))
    assert (found.test_error, found.train_loss) == pytest.approx((0.1713, 0.0596), abs=1e-4)
    assert (found.rank, found.estimation_error) == pytest.approx((0.874, 0.174), abs=5e-4)


@pytest.mark.slow
def test_three_keys_have_bars_of_a_thousandth():
    found = ps.solve(cross(n_keys=3))
    assert max(found.error_bars[name] / getattr(found, name) for name in found.compared) < 1e-3


@pytest.mark.slow
def test_three_keys_by_finer_averages():
    found, finer = ps.solve(cross(n_keys=3)), ps.solve(cross(n_keys=3), accuracy=1e-4)
    for name in found.compared:
        assert abs(getattr(found, name) - getattr(finer, name)) < found.error_bars[name] + finer.error_bars[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "values"),
    [
        (
            itself(alpha=0.4, weight_decay=0.1, output="linear"),
            {"symmetric_error": 0.073, "antisymmetric_error": 0.198, "rank": 0.803, "test_error": 1.822},
        ),
        (itself(), {"test_error": 0.1135, "rank": 0.837, "train_loss": 0.0572, "symmetric_error": 0.0658}),
        (
            itself(target=ps.MarchenkoPastur(0.5)),
            {"symmetric_error": 0.101, "antisymmetric_error": 0.114, "test_error": 0.0894, "rank": 0.803},
        ),
    ],
)
def test_a_token_that_looks_at_itself(problem, values):
    """The other code's numbers, of two or three drawings at d = 200.

    Its antisymmetric error of a linear output, .192, is one such drawing's: 30 of d = 160 have .1990(3), as have 120 of
    d = 48, and the number here is that of networks of d = 100, .198(2).
    """
    found = ps.solve(problem)
    assert max(found.error_bars[name] / abs(getattr(found, name)) for name in found.compared) <= 0.0105
    for name, value in values.items():
        assert getattr(found, name) == pytest.approx(value, rel=0.02), name
        assert abs(getattr(found, name) - value) < found.error_bars[name] + 0.015 * value, name
    assert found.estimation_error == pytest.approx(found.symmetric_error + found.antisymmetric_error)


def test_error_bars_of_what_is_drawn_follow_the_accuracy():
    fine, rough = (ps.solve(itself(), accuracy=accuracy) for accuracy in (0.01, 0.05))
    for found, accuracy in ((fine, 0.01), (rough, 0.05)):
        assert max(found.error_bars[name] / abs(getattr(found, name)) for name in found.compared) < 1.05 * accuracy
    for name in fine.compared:
        off = abs(getattr(fine, name) - getattr(rough, name))
        assert off < fine.error_bars[name] + rough.error_bars[name], name
    assert 3.0 * max(fine.bars.values()) < 2.0 * max(rough.bars.values())


@pytest.mark.slow
@pytest.mark.parametrize("size", [24, 160])
def test_the_size_of_drawn_matrices_plays_no_part(size, monkeypatch):
    """What a finite size is off by is in the error bars, and is small: here beside 60 drawings of d = 100."""
    from presage.solving import parts_state_evolution

    problem = itself(alpha=0.4, weight_decay=0.1, output="linear")
    monkeypatch.setattr(parts_state_evolution, "FIRST", 60)
    found = ps.solve(problem)
    monkeypatch.setattr(parts_state_evolution, "size_for", lambda accuracy: size)
    monkeypatch.setattr(parts_state_evolution, "FIRST", {24: 200, 160: 24}[size])
    other = ps.solve(problem)
    for name in found.compared:
        off = abs(getattr(found, name) - getattr(other, name))
        assert off < 0.004 * getattr(found, name) + 0.5 * (found.error_bars[name] + other.error_bars[name]), name


@pytest.mark.slow
def test_a_ridge_on_a_token_that_looks_at_itself():
    found = ps.solve(itself(weight_decay=0.01, penalty="frobenius"))
    assert (found.symmetric_error, found.antisymmetric_error) == pytest.approx((0.0762, 0.225), rel=0.012)
    assert (found.test_error, found.train_loss) == pytest.approx((0.1296, 0.0386), rel=0.005)
