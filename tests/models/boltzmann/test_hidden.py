"""Laws of the hidden units: derivatives, closed forms beside sums over states, and what is refused."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.boltzmann.hidden import Moments, States, UnitsWithStates, is_symmetric
from presage.models.boltzmann.theory.two_time import descend

boltzmann: Any = ps.boltzmann  # for what its types refuse
LAWS = {
    "binary": ps.BinaryUnits(),
    "gaussian": ps.GaussianUnits(),
    "ternary": ps.FiniteUnits([-1, 0, 1], [0.25, 0.5, 0.25]),
    "skew": ps.FiniteUnits([0.0, 1.0, 2.5], [0.5, 0.3, 0.2]),
    "joint": ps.JointUnits([[1, 1], [-1, -1], [1, 0], [-1, 0.5]], [0.1, 0.4, 0.3, 0.2]),
}


@pytest.mark.parametrize("name", LAWS)
def test_moments_are_derivatives(name):
    law, step = LAWS[name], 1e-5
    u = np.random.default_rng(0).normal(size=(7, 2))
    at = law.moments(u)
    Q = np.array([[0.4, 0.15], [0.15, 0.3]])
    S = law.S(Q)
    for i in range(2):
        nudge = step * np.eye(2)[i]
        up, down = law.moments(u + nudge), law.moments(u - nudge)
        np.testing.assert_allclose((up.phi - down.phi) / (2 * step), at.g[:, i], atol=1e-9)
        np.testing.assert_allclose((up.g - down.g) / (2 * step), at.H[:, i], atol=1e-9)
        for j in range(2):
            change = np.zeros((2, 2))
            change[i, j] += 0.5 * step
            change[j, i] += 0.5 * step
            slope = (law.psi(Q + change) - law.psi(Q - change)) / (2 * step)
            assert slope == pytest.approx(0.5 * S[i, j], abs=1e-9)
    np.testing.assert_allclose(law.S(np.zeros((2, 2))), law.second_moment(2), atol=1e-14)
    np.testing.assert_allclose(law.moments(np.zeros((1, 2))).g[0], law.mean(2), atol=1e-14)


def test_binary_units_are_those_of_two_values():
    """Closed forms beside sums over the states, also far out, where exponentials overflow."""
    u = np.array([[0.3, -1.2], [400.0, -900.0], [0.0, 0.0]])
    for one, other in zip(ps.BinaryUnits().moments(u), ps.FiniteUnits([-1, 1]).moments(u), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)
    Q = np.array([[0.9, 0.4], [0.4, 1.7]])
    assert ps.BinaryUnits().psi(Q) == pytest.approx(0.5 * (0.9 + 1.7) + log(np.cosh(0.4)), rel=1e-14)
    t = np.tanh(0.4)
    np.testing.assert_allclose(ps.BinaryUnits().S(Q), [[1.0, t], [t, 1.0]], rtol=1e-14)
    np.testing.assert_allclose(ps.BinaryUnits().S(np.array([[5.0]])), [[1.0]])


def test_gaussian_units_are_the_limit_of_many_values():
    """A grid of values with Gaussian chances."""
    h = np.linspace(-6.0, 6.0, 31)
    chances = np.exp(-0.5 * h**2)
    law = ps.FiniteUnits(h, chances / chances.sum())
    u, Q = np.array([[0.4, -0.7]]), np.array([[0.3, 0.1], [0.1, 0.2]])
    for one, other in zip(ps.GaussianUnits().moments(u), law.moments(u), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert ps.GaussianUnits().psi(Q) == pytest.approx(law.psi(Q), abs=1e-4)
    np.testing.assert_allclose(ps.GaussianUnits().S(Q), law.S(Q), atol=2e-3)
    assert ps.GaussianUnits().psi(np.array([[1.1]])) == np.inf


def test_partition_function_of_gaussian_visible_units():
    """The partition function is exact at every d, here d = 2 by quadrature over the visible units too."""
    W = np.array([[0.9, -0.4], [0.3, 0.7]])
    assert ps.BinaryUnits().psi(W.T @ W / 2) == pytest.approx(0.3903098672, abs=2e-10)
    x, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    v = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    phi = ps.BinaryUnits().moments(v @ W / np.sqrt(2)).phi
    assert log(np.outer(w, w).ravel() @ np.exp(phi)) == pytest.approx(0.3903098672, abs=2e-10)


def test_values_that_are_there_twice_are_twice_as_likely():
    u = np.linspace(-2, 2, 9)[:, None]
    for one, other in zip(ps.FiniteUnits([-1, 0, 0, 1]).moments(u), LAWS["ternary"].moments(u), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-15)


def test_rows_that_are_there_twice_are_twice_as_likely():
    twice, once = ps.JointUnits([[1, 1], [1, 1], [-1, -1]]), ps.JointUnits([[1, 1], [-1, -1]], [2 / 3, 1 / 3])
    assert not is_symmetric(twice, 2)
    assert not is_symmetric(once, 2)
    assert is_symmetric(ps.JointUnits([[1, 1], [1, 1], [-1, -1], [-1, -1]]), 2)
    for one, other in zip(twice.states(2), once.states(2), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-15)
    ways = []
    for law in (twice, once):
        problem = ps.boltzmann(law, alpha=3.0, signal=[2.0, 1.0], units=2, latents="signs")
        ways.append(descend(problem, 0.2 * np.eye(2), 0.3 * np.eye(2), 0.1, 3, 256, 0))
    np.testing.assert_allclose(ways[0].M, ways[1].M, atol=1e-12)
    np.testing.assert_allclose(ways[0].Q, ways[1].Q, atol=1e-12)


class Repeated(UnitsWithStates):
    """A law of one's own, which tells a state twice."""

    largest = 1.0

    def states(self, units):
        return States(np.array([[1.0] * units, [1.0] * units, [-1.0] * units]), np.array([0.25, 0.5, 0.25]))


def test_symmetry_of_a_law_that_tells_a_state_twice():
    assert not is_symmetric(Repeated(), 1)


class Mine(ps.HiddenUnits):
    """A law of one's own: uniform between -a and a."""

    largest = 1.0

    def moments(self, u):
        h, w = np.polynomial.legendre.leggauss(40)
        weight = 0.5 * w * np.exp(u[..., 0, None] * h)
        total = weight.sum(axis=-1)
        g = (weight @ h) / total
        H = (weight @ h**2) / total - g**2
        return Moments(np.log(total), g[..., None], H[..., None, None])

    def psi(self, Q):
        h, w = np.polynomial.legendre.leggauss(40)
        return float(np.log(0.5 * w @ np.exp(0.5 * Q[0, 0] * h**2)))

    def S(self, Q):
        h, w = np.polynomial.legendre.leggauss(40)
        weight = w * np.exp(0.5 * Q[0, 0] * h**2)
        return np.array([[weight @ h**2 / weight.sum()]])

    def second_moment(self, units):
        return np.eye(units) / 3.0

    def mean(self, units):
        return np.zeros(units)


class Wild(Mine):
    """Values without a second moment."""

    def second_moment(self, units):
        return np.full((units, units), np.inf)


def test_a_law_of_ones_own():
    """Uniform values, beside a fine grid of them: the same prediction."""
    fine = ps.FiniteUnits((np.arange(32) + 0.5) / 16.0 - 1.0)
    own, known = (ps.solve(ps.boltzmann(law, alpha=8.0, signal=2.0)) for law in (Mine(), fine))
    assert own.alignment == pytest.approx(known.alignment, abs=2e-4)
    assert own.train_likelihood == pytest.approx(known.train_likelihood, rel=2e-3)


def test_symmetry():
    assert is_symmetric(Mine(), 1)
    assert [is_symmetric(LAWS[name], 2) for name in LAWS] == [True, True, True, False, False]


BAD = {
    "`signal` must be a finite number >= 0": lambda: ps.boltzmann(alpha=2.0, signal=-1.0),
    "`alpha` must be a finite number >= 0.01": lambda: ps.boltzmann(alpha=0.0, signal=1.0),
    "`alpha` must be a finite number >= 0.01 and <= 1e+06": lambda: ps.boltzmann(alpha=1e7, signal=1.0),
    "`units` must be a whole number >= 1 and <= 6": lambda: ps.boltzmann(alpha=2.0, signal=1.0, units=0),
    "`units` must be a whole number >= 1 and <= 6: a machine of few": (
        lambda: ps.boltzmann(alpha=2.0, signal=1.0, units=7)
    ),
    "`hidden` must be a HiddenUnits": lambda: boltzmann("binary", alpha=2.0, signal=1.0),
    "`values` must be finite numbers": lambda: ps.FiniteUnits([1.0, np.inf]),
    "`values` must be at most 32: likelihoods are sums": lambda: ps.FiniteUnits(range(33)),
    "`values` must be at most 1000 in size": lambda: ps.FiniteUnits([1e4, -1e4]),
    "`values` must not all be zero": lambda: ps.FiniteUnits([0.0]),
    "`values` must be a list of numbers": lambda: ps.FiniteUnits([]),
    "`rows` must be a list of rows of numbers": lambda: ps.JointUnits([1, -1]),
    "`chances` must be 2 positive numbers that sum to one": lambda: ps.FiniteUnits([1, -1], [0.5, 0.6]),
    "`chances` must be 2 positive numbers that sum to one: these are the probabilities of the values. Got chances=": (
        lambda: ps.FiniteUnits([1, -1], [1.0])
    ),
    "`units` must make at most 4096 states": lambda: ps.boltzmann(
        ps.FiniteUnits(range(1, 9)), alpha=2.0, signal=1.0, units=5
    ),
    "`units` must be 2 here: a row has a value of every unit": lambda: ps.boltzmann(
        LAWS["joint"], alpha=2.0, signal=1.0
    ),
    "`relative` must be positive, fall or stay": lambda: ps.Spikes([1.0, 2.0]),
    "`relative` must be a list of 1 to 6 numbers": lambda: ps.Spikes([]),
    "`signal` must be positive numbers that fall": lambda: ps.boltzmann(alpha=2.0, signal=[1.0, 2.0]),
    "`signal` must be a number beside spikes": lambda: ps.boltzmann(
        alpha=2.0, signal=[2.0, 1.0], spikes=ps.Spikes([1.0])
    ),
    '`latents` must be "gaussian" or "signs"': lambda: boltzmann(alpha=2.0, signal=1.0, latents="binary"),
    "`rate` must be a finite number > 0": lambda: ps.BoltzmannDescent(rate=0.0),
    "`m_0` must be finite numbers": lambda: ps.BoltzmannDescent(m_0=np.nan),
    "`m_0` must be a number, or a matrix": lambda: ps.BoltzmannAMP(m_0=[0.1, 0.2]),
    "`mixing` must be a finite number > 0 and <= 1": lambda: ps.BoltzmannAMP(mixing=0.0),
    "`q_0` must be such that q_0 - m_0'm_0 is a covariance": lambda: ps.simulate(
        ps.boltzmann(alpha=2.0, signal=1.0), d=20, trainer=ps.BoltzmannDescent(m_0=1.0, q_0=0.5)
    ),
    "`m_0` must be a number or a matrix of 1 x 1 numbers here": lambda: ps.simulate(
        ps.boltzmann(alpha=2.0, signal=1.0), d=20, trainer=ps.BoltzmannAMP(m_0=np.eye(2))
    ),
    "`q_0` must be a symmetric matrix": lambda: ps.simulate(
        ps.boltzmann(alpha=2.0, signal=1.0, units=2),
        d=20,
        trainer=ps.BoltzmannAMP(m_0=0.0, q_0=[[1.0, 0.5], [0.2, 1.0]]),
    ),
    "`q_0` must be below one here": lambda: ps.simulate(
        ps.boltzmann(ps.GaussianUnits(), alpha=2.0, signal=1.0), d=20, trainer=ps.BoltzmannDescent(q_0=1.5)
    ),
    "`hidden` must have finite moments": lambda: ps.boltzmann(Wild(), alpha=2.0, signal=1.0),
    "`units` must be at most 2 here: means over the fields": lambda: ps.solve(
        ps.boltzmann(alpha=2.0, signal=1.0, units=3)
    ),
    "`trainer` must be a LBFGS or a BoltzmannAMP": lambda: ps.simulate(
        ps.boltzmann(alpha=2.0, signal=1.0), d=20, trainer=ps.Adam()
    ),
    "`start` must be left out here": lambda: ps.simulate(
        ps.boltzmann(alpha=2.0, signal=1.0), d=20, trainer=ps.BoltzmannAMP(), start="target"
    ),
    "`d` must be a whole number >= 4": lambda: ps.simulate(ps.boltzmann(alpha=2.0, signal=1.0), d=1),
    "`alpha` must be larger at d = 10": lambda: ps.simulate(ps.boltzmann(alpha=0.1, signal=1.0), d=10),
}


@pytest.mark.parametrize("said", BAD)
def test_what_is_wrong_is_said(said):
    with pytest.raises(ps.InputError) as error:
        BAD[said]()
    assert str(error.value).startswith(said)


def test_a_machine_is_written_as_a_command_writes_it():
    from presage.cli.written import written

    law = ps.FiniteUnits([-1, 0, 0, 1])
    found = written(ps.boltzmann(law, alpha=8.0, signal=[2.0, 1.0], units=2, latents="signs"))
    assert found.model == "boltzmann"
    assert (found.fields["hidden"], found.fields["spikes"]) == ("values:-1,0,0,1", "spikes:1,0.5")
    with pytest.raises(ps.InputError, match="be one that the command line has a name for"):
        written(ps.boltzmann(LAWS["joint"], alpha=8.0, signal=1.0, units=2))
