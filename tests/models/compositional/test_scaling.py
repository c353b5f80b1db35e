"""Strengths that fall as a power: number of learned features, exponents, prefactors."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.compositional.theory.scaling import PHASES, PowerFeatures, error_of_all_learned

MANY = 30_000  # features


def slope_of(values: np.ndarray, alpha: np.ndarray) -> float:
    return float(np.polyfit(np.log(alpha), np.log(values), 1)[0])


def test_number_of_learned_features():
    """m = (2 Z^2 alpha)^(1/2g), up to the integer below it: [WTDKL26]."""
    for decay in (0.3, 1.0, 1.5):
        for alpha in (50.0, 2000.0):
            p = PowerFeatures(decay, MANY, alpha)
            problem = ps.compositional(alpha=alpha, features=MANY, decay=decay)
            assert ps.solve(problem).learned == min(int(p.learned), MANY)


@pytest.mark.parametrize("decay", [0.75, 1.0, 1.5, 2.0])
def test_slope_of_the_error_is_the_published_one(decay):
    """``-1 + 1/(2g)`` for g > 1/2, fitted over two decades of the whole sum: [WTDKL26] states the exponent.

    Where tens of features are learned: below, the noise of the first few, 4/alpha, makes it steeper. What the features
    beyond the last one would weigh is given back, since a power law of any number of features is meant.
    """
    alpha = np.geomspace(1e4, 1e6, 25)
    p = PowerFeatures(decay, MANY, 1.0)
    beyond = p.Z2 * MANY ** (1 - 2 * decay) / (2 * decay - 1)
    errors = np.array([ps.solve(ps.compositional(alpha=a, features=MANY, decay=decay)).test_error for a in alpha])
    assert slope_of(errors + beyond, alpha) == pytest.approx(-1 + 0.5 / decay, abs=0.05)
    assert abs(slope_of(errors + beyond, alpha) + 1) > 0.2  # a negative control: that of a fixed number of features


@pytest.mark.parametrize("decay", [0.2, 0.25, 0.35])
def test_slow_strengths_are_learned_at_the_published_rate(decay):
    """What is learned grows as ``alpha^(1/(2g) - 1)`` for g < 1/2: [WTDKL26], and here its prefactor.

    A sum from the first feature on is an integral and a constant, zeta(2g), which falls as a small power of their
    number only: it is given back.
    """
    p = PowerFeatures(decay, MANY, 1.0)
    last = 0.5 / p.Z2 * MANY ** (2 * decay)
    i = np.arange(1.0, 1e6 + 1)
    zeta = np.sum(i ** (-2 * decay)) - i[-1] ** (1 - 2 * decay) / (1 - 2 * decay) - 0.5 * i[-1] ** (-2 * decay)
    alpha = np.geomspace(last / 20, last / 2, 9)
    learned = np.array([1 - ps.solve(ps.compositional(alpha=a, features=MANY, decay=decay)).test_error for a in alpha])
    whole = learned - p.Z2 * zeta
    assert slope_of(whole, alpha) == pytest.approx(0.5 / decay - 1, abs=0.05)
    for a, value in zip(alpha[4:], whole[4:], strict=True):  # hundreds of features and more
        assert 1 - PHASES["slow"].law(p._replace(alpha=float(a))) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize("decay", [0.8, 1.0, 1.5])
def test_prefactor_of_the_law_in_sequence(decay):
    """The integral beside the sum, where some tens of features are learned: 6 % and the tail beyond the last one."""
    p = PowerFeatures(decay, MANY, 1.0)
    alpha = 0.5 / p.Z2 * 60.5 ** (2 * decay)
    found = ps.scaling(ps.compositional(alpha=alpha, features=MANY, decay=decay))
    tail = p.Z2 * MANY ** (1 - 2 * decay) / (2 * decay - 1)
    assert (found.phase, found.learned) == ("sequence", 60)
    assert found.law_value - tail == pytest.approx(found.error, rel=0.06)
    assert found.composite == pytest.approx(found.error, rel=1e-9)
    assert found.exponent_n == pytest.approx(-1 + 0.5 / decay)


def test_error_of_many_samples():
    for decay, features in ((0.3, 5), (1.0, 8)):
        found = ps.scaling(ps.compositional(alpha=1e6, features=features, decay=decay))
        assert found.phase == "all"
        assert found.error == pytest.approx((features + 4) / 1e6, rel=1e-3)
        assert found.local_exponent_n == pytest.approx(-1, abs=1e-3)
        assert found.law_value == error_of_all_learned(PowerFeatures(decay, features, 1e6))


def test_phases_and_their_walls():
    problem = ps.compositional(alpha=1.0, features=30, decay=1.0)
    first, last = (getattr(ps.thresholds(problem), name) for name in ("first_feature", "all_features"))
    for alpha, phase in ((0.5 * first, "none"), (3 * first, "sequence"), (2 * last, "all")):
        found = ps.scaling(problem.replace(alpha=alpha))
        assert found.phase == phase
        assert [wall.value for wall in found.boundaries] == pytest.approx([first, last])
        assert {name for name, _, _ in found.curve().passed} <= set(PHASES)
        assert "phase" in str(found)
    slow = ps.scaling(ps.compositional(alpha=100.0, features=200, decay=0.3))
    assert slow.phase == "slow"
    assert any("has no exponent" in line for line in slow.caveats)
    assert np.isnan(slow.exponent_n)


@pytest.mark.parametrize(("decay", "close"), [(0.49, True), (0.51, True), (0.55, False)])
def test_near_one_half_the_law_is_said_to_be_of_no_use(decay, close):
    found = ps.scaling(ps.compositional(alpha=100.0, features=200, decay=decay))
    assert any("no use near 1/2" in line for line in found.caveats) == close


def test_a_curve_can_be_drawn():
    axes = ps.plot(ps.scaling(ps.compositional(alpha=30.0, features=30, decay=1.0)))
    assert len(axes.get_lines()) >= 4
    assert "law of sequence" in [text.get_text() for text in axes.get_legend().get_texts()]
