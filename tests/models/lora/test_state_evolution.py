"""The state evolution: two forms of its derivatives, its gauge, its ridge, and what goes wrong without them."""

from __future__ import annotations

import numpy as np
import pytest

from presage.models.lora.theory import state_evolution
from presage.models.lora.theory.averages import rule_of
from presage.models.lora.theory.state_evolution import (
    conjugates_of,
    in_gauge,
    settled_on,
    start_of,
    stein_derivatives,
)
from presage.solving.vector_state_evolution import Conjugates, overlaps_of
from tests.models.lora.fixed_points import agrees, layer, linear, measured, only_noise, plainly_settled, points, softmax


@pytest.mark.parametrize(
    ("problem", "before"),
    [
        (linear(2, 3.0, 0.5), only_noise(0.5)),
        (linear(3, 6.0, 0.5, rank=2, target_rank=2), only_noise(0.5)),
        (softmax(2, 10.0, 0.05), layer(1.46236, 1.38094, 1.75)),
    ],
    ids=["linear", "two columns", "softmax"],
)
def test_stein_and_derivative_forms_agree(problem, before):
    """Means of derivatives of the map, and of its products with the Gaussian fields, on the same samples."""
    found = points(problem, before, 2**12, 4)
    for target in (True, False):
        differences = []
        for point in found:
            by_products = stein_derivatives(point.averages, point.overlaps, problem.strength)[0 if target else 1]
            slopes = point.averages.slope_target if target else point.averages.slope_field
            assert slopes is not None
            differences.append(by_products[0, 0] / slopes[0, 0] - 1.0)
        assert abs(np.mean(differences)) < 0.01 + 3.0 * np.std(differences) / 2.0
        assert np.std(differences) < 0.1


def _with(monkeypatch, changed):
    """Let the conjugates be those that `changed` makes of the right ones."""
    right = conjugates_of

    def wrong(problem, averages, overlaps, *, derivative):
        return changed(right(problem, averages, overlaps, derivative=derivative), problem, averages)

    monkeypatch.setattr(state_evolution, "conjugates_of", wrong)


def test_the_centring_is_part_of_the_ridge(monkeypatch):
    """Negative control: without the second term of the ridge the digits of a check value are lost."""
    problem, before = linear(3, 3.0, 5.0), only_noise(0.5)
    assert agrees(measured(problem, before, 2**12)["q"], 0.92430, 2e-5)
    _with(monkeypatch, lambda c, problem, averages: c._replace(ridge=2.0 * problem.weight_decay * np.eye(1)))
    found = measured(problem, before, 2**12)
    assert abs(found["q"].mean - 0.92430) > 10.0 * found["q"].bar
    assert abs(found["m"].mean - 0.95289) > 10.0 * found["m"].bar


def test_a_wrong_sign_of_a_derivative_is_seen(monkeypatch):
    """Negative control: v_hat = + alpha' d_2 has no answer with a positive response, or another one."""
    problem, before = linear(2, 3.0, 0.5), only_noise(0.5)
    _with(monkeypatch, lambda c, problem, averages: c._replace(v_hat=-c.v_hat))
    found = measured(problem, before, 2**10, 4)
    assert not agrees(found["overlap"], 0.97983, 1e-3)


def test_without_a_gauge_two_columns_never_settle(monkeypatch):
    """Negative control: sampling errors turn the columns into each other, and there is no fixed point."""
    problem, before = softmax(2, 8.0, 0.05, rank=2, target_rank=2), layer(1.2, 1.1, 1.75)
    rule = rule_of(problem, before, 2**8, 0)

    def step(overlaps):
        averages = rule.averages(overlaps)
        c = conjugates_of(problem, averages, overlaps, derivative=False)
        return overlaps_of(c, np.eye(2))

    turned = start_of(problem)
    angle = 0.3
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned = turned._replace(m=turn @ turned.m)
    fixed = plainly_settled(turned, step, tol=1e-5, most=40)
    monkeypatch.setattr(state_evolution, "in_gauge", lambda c: c)
    free = plainly_settled(turned, step, tol=1e-5, most=40)
    assert fixed.residual < 1e-3
    assert free.residual > 10.0 * fixed.residual


def test_the_gauge_keeps_what_cannot_be_turned():
    rng = np.random.default_rng(0)
    c = Conjugates(*(rng.standard_normal(shape) for shape in ((3, 2), (3, 3), (3, 3), (3, 3))))
    fixed = in_gauge(c)
    assert np.trace(fixed.q_hat) == pytest.approx(np.trace(c.q_hat))
    assert np.trace(fixed.m_hat[:2]) == pytest.approx(np.trace(c.m_hat[:2]))
    assert fixed.q_hat[0, 0] == fixed.q_hat[1, 1] != fixed.q_hat[2, 2]
    assert np.count_nonzero(fixed.m_hat) == 2


@pytest.mark.parametrize("start", [0.05, 0.5, 0.99])
def test_every_start_leads_to_the_same_point(start):
    """By plain, damped steps; what begins with hardly any overlap takes longer."""
    problem, before = linear(2, 3.0, 0.5), only_noise(0.5)
    rule = rule_of(problem, before, 2**11, 0)
    usual = settled_on(problem, rule, start_of(problem)).overlaps

    def step(overlaps):
        c = conjugates_of(problem, rule.averages(overlaps), overlaps, derivative=True)
        return overlaps_of(c, np.eye(1))

    other = start_of(problem)._replace(m=np.array([[start]]))
    found = plainly_settled(other, step, tol=1e-8, most=200, damping=0.5).overlaps
    assert np.ravel(found) == pytest.approx(np.ravel(usual), rel=1e-5)


def test_damping_and_mixing_end_at_one_point():
    """The quick iteration and the plain one have one fixed point."""
    problem, before = linear(3, 3.0, 0.5), only_noise(0.5)
    rule = rule_of(problem, before, 2**11, 0)
    quick = settled_on(problem, rule, start_of(problem)).overlaps

    def step(overlaps):
        c = conjugates_of(problem, rule.averages(overlaps), overlaps, derivative=True)
        return overlaps_of(c, np.eye(1))

    plain = plainly_settled(start_of(problem), step, tol=1e-9, most=200, damping=0.5)
    assert plain.residual < 1e-8
    assert np.ravel(plain.overlaps) == pytest.approx(np.ravel(quick), rel=1e-6)


def test_a_fixed_point_is_one():
    problem, before = softmax(2, 6.0, 0.05), layer(1.46236, 1.38094, 1.75)
    rule = rule_of(problem, before, 2**10, 0)
    point = settled_on(problem, rule, start_of(problem), tol=1e-6)
    c = conjugates_of(problem, rule.averages(point.overlaps, all_starts=True), point.overlaps, derivative=False)
    again = overlaps_of(c, np.eye(1))
    assert np.ravel(again) == pytest.approx(np.ravel(point.overlaps), rel=1e-4)
