"""The shrinkage from the values alone, against closed forms and brute force; and what `check_penalty` finds."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from tests.models.attention.penalties.users_penalties import (
    Box,
    Count,
    DoubleWell,
    Lasso,
    Logarithm,
    OwnNuclear,
    OwnRidge,
)

X = np.linspace(-4.0, 4.0, 1601) + 7e-4  # no point at a threshold, where rounding decides


def soft(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)


CLOSED = {
    "nuclear": (OwnNuclear(), lambda x, S: np.maximum(x - 0.1, 0.0) / S),
    "ridge": (OwnRidge(), lambda x, S: x / (S + 0.2)),
    "lasso": (Lasso(), lambda x, S: soft(x, 0.6) / S),
    "elastic": (ps.ElasticSpectral(0.2, 0.1), lambda x, S: soft(x, 0.4) / (S + 0.4)),
    "count": (Count(), lambda x, S: np.where(x**2 > 0.8 * S, x / S, 0.0)),
    "box": (Box(), lambda x, S: np.clip(soft(x, 0.2) / S, -1.0, 1.0)),
}


@pytest.mark.parametrize("Sigma_hat", [0.02, 1.1, 30.0])
@pytest.mark.parametrize("name", CLOSED)
def test_the_shrinkage_is_that_of_the_closed_form(name, Sigma_hat):
    penalty, closed = CLOSED[name]
    s, expected = penalty.shrink(X, Sigma_hat, 1.0), closed(X, Sigma_hat)
    np.testing.assert_allclose(s, expected, rtol=0, atol=1e-11 * max(np.abs(expected).max(), 1.0))
    assert np.array_equal(s == 0.0, expected == 0.0)


@pytest.mark.parametrize("Sigma_hat", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("penalty", [Logarithm(), DoubleWell(), Count()], ids=lambda p: type(p).__name__)
def test_the_lower_of_two_minima_is_found(penalty, Sigma_hat):
    s = penalty.shrink(X, Sigma_hat, 1.0)
    grid = np.unique(np.concatenate([np.linspace(-8 / Sigma_hat, 8 / Sigma_hat, 100_001), np.linspace(-4, 4, 100_001)]))
    grid = np.append(grid, 0.0)
    phi = penalty.value(grid, 1.0) + 0.25 * Sigma_hat * grid**2
    found = penalty.value(s, 1.0) + 0.25 * Sigma_hat * s**2 - 0.5 * s * X
    best = np.array([np.min(phi - 0.5 * x * grid) for x in X[::16]])
    assert (found[::16] - best).max() < 1e-12
    assert np.diff(s).min() >= 0.0


@pytest.mark.parametrize("penalty", [Lasso(), Logarithm(), OwnRidge()], ids=lambda p: type(p).__name__)
def test_an_eigenvalue_is_shrunk_the_same_in_any_company(penalty):
    together = penalty.shrink(X, 1.3, 1.0)
    alone = [float(penalty.shrink(np.array([x]), 1.3, 1.0)[0]) for x in X[::100]]
    np.testing.assert_allclose(alone, together[::100], rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(penalty.shrink(X.reshape(1, -1), 1.3, 1.0)[0], together)
    assert penalty.shrink(np.empty(0), 1.3, 1.0).shape == (0,)
    assert penalty.shrink(0.0, 1.3, 1.0) == 0.0


def test_a_least_eigenvalue_above_zero_is_kept():
    class AtLeastOne(ps.Penalty):
        lowest = 1.0

        def value(self, eigenvalues, kappa):
            return 0.1 * np.asarray(eigenvalues)

    s = AtLeastOne().shrink(X, 1.0, 1.0)
    np.testing.assert_allclose(s, np.maximum(X - 0.2, 1.0), atol=1e-12)


def test_a_least_eigenvalue_below_zero_is_kept():
    class AtLeast(ps.Penalty):
        lowest = -0.5

        def value(self, eigenvalues, kappa):
            return 0.1 * np.abs(eigenvalues)

    np.testing.assert_allclose(AtLeast().shrink(X, 1.0, 1.0), np.maximum(soft(X, 0.2), -0.5), atol=1e-12)


# --- check_penalty


@pytest.mark.parametrize(
    "penalty",
    [*(penalty for penalty, _ in CLOSED.values()), Logarithm(), DoubleWell(), ps.NuclearPSD(0.1), ps.Frobenius(0.1)],
    ids=lambda p: type(p).__name__,
)
def test_nothing_is_wrong_with_a_right_penalty(penalty):
    report = ps.check_penalty(penalty, kappa=0.5)
    assert report.ok, str(report)
    assert str(report).startswith(f"{type(penalty).__name__}: nothing found.")


class WrongFactor(Lasso):
    def shrink(self, x, Sigma_hat, kappa):
        return soft(np.asarray(x), 0.3) / Sigma_hat


class WrongBranch(Count):
    """A stationary point, but not the lower one."""

    def shrink(self, x, Sigma_hat, kappa):
        return np.asarray(x) / Sigma_hat


class Decreasing(Lasso):
    def shrink(self, x, Sigma_hat, kappa):
        return -np.asarray(x)


class BelowLowest(OwnNuclear):
    def shrink(self, x, Sigma_hat, kappa):
        return np.asarray(x) / Sigma_hat


class WrongShape(Lasso):
    def shrink(self, x, Sigma_hat, kappa):
        return 0.0


class Summed(ps.Penalty):
    def value(self, eigenvalues, kappa):
        return np.sum(np.abs(eigenvalues))


class Scalar(ps.Penalty):
    def value(self, eigenvalues, kappa):
        return abs(eigenvalues) if eigenvalues > 0 else 0.0


class RootOfNegative(ps.Penalty):
    def value(self, eigenvalues, kappa):
        return np.sqrt(eigenvalues)


class Ranked(ps.Penalty):
    """Invariant, but no sum over single eigenvalues."""

    def value(self, eigenvalues, kappa):
        s = np.asarray(eigenvalues)
        return np.abs(s) / (1.0 + np.abs(s).max())


class Hidden(ps.Penalty):
    """A jump where none is announced."""

    def value(self, eigenvalues, kappa):
        return np.floor(5.0 * np.asarray(eigenvalues))


class NoWidth(ps.Penalty):
    def value(self, eigenvalues, kappa):
        return np.sqrt(np.float64(1.5 - kappa)) * np.abs(eigenvalues)


class OddLowest(Lasso):
    lowest = float("nan")


class Crash(Lasso):
    def shrink(self, x, Sigma_hat, kappa):
        raise KeyError("no such branch")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (WrongFactor, "`shrink` is not the argmin"),
        (WrongBranch, "`shrink` is not the argmin"),
        (Decreasing, "`shrink` decreases in x"),
        (BelowLowest, "below `lowest` = 0"),
        (WrongShape, "`shrink` returns shape ()"),
        (Summed, "not their sum"),
        (Scalar, "while looking at value, the penalty raised ValueError"),
        (RootOfNegative, "Set `lowest` to the least allowed eigenvalue"),
        (Ranked, "depends on the others"),
        (Hidden, "when the matrix is turned"),
        (NoWidth, "`value` is nan at kappa = 10"),
        (OddLowest, "`lowest` is nan"),
        (Crash, "while looking at shrink, the penalty raised KeyError: 'no such branch'"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_wrong_with_a_penalty_is_said(kind, said):
    report = ps.check_penalty(kind())
    assert not report.ok
    assert said in str(report)
    assert len(report.findings) == 1


def test_what_is_no_penalty_is_said():
    assert "derive its class from presage.Penalty" in str(ps.check_penalty(Lasso))
    assert "derive its class from presage.Penalty" in str(ps.check_penalty(0.1))
