"""A law that is none gives an error and no number; `check_law` says what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import presage as ps
from presage.laws.check_law import around
from presage.laws.product_squares import ProductSquares
from presage.laws.spectral_law import Atoms


@dataclass(frozen=True)
class Own(ps.SpectralLaw):
    """A semicircle of variance 1 about 3, by a square root whose cut is where it should be."""

    def stieltjes_pair(self, z):
        root = np.sqrt(z - 1.0) * np.sqrt(z - 5.0)
        return 0.5 * (z - 3.0 - root), 0.5 * (1.0 - (z - 3.0) / root)

    @property
    def support(self):
        return np.array([[1.0, 5.0]])


class WrongBranch(Own):
    def stieltjes_pair(self, z):
        root = np.sqrt((z - 3.0) ** 2 - 4.0)  # its cut is the line Re z = 3 as well
        return 0.5 * (z - 3.0 - root), 0.5 * (1.0 - (z - 3.0) / root)


class Growing(Own):
    def stieltjes_pair(self, z):
        root = np.sqrt(z - 1.0) * np.sqrt(z - 5.0)
        return 0.5 * (z - 3.0 + root), 0.5 * (1.0 + (z - 3.0) / root)


class TooNarrow(Own):
    @property
    def support(self):
        return np.array([[1.0, 4.0]])


class Half(Own):
    def stieltjes_pair(self, z):
        G, slope = super().stieltjes_pair(z)
        return 0.5 * G, 0.5 * slope


class LostAtom(Own):
    """Half of the mass is at zero, in the transform and in the support; `atoms` was forgotten."""

    def stieltjes_pair(self, z):
        G, slope = super().stieltjes_pair(z)
        return 0.5 * G + 0.5 / z, 0.5 * slope - 0.5 / z**2

    @property
    def support(self):
        return np.array([[0.0, 0.0], [1.0, 5.0]])


class WithAtom(LostAtom):
    @property
    def atoms(self):
        return Atoms(np.array([0.0]), np.array([0.5]))


class OtherMoment(Own):
    def moment(self, k):
        return 2.0 * super().moment(k) if k == 2 else super().moment(k)


class WrongSlope(Own):
    def stieltjes_pair(self, z):
        G, slope = super().stieltjes_pair(z)
        return G, -slope


class Mixed(Own):
    def stieltjes_pair(self, z):
        G, slope = super().stieltjes_pair(z)
        return G * np.linspace(1.0, 1.0 + 1e-4, z.size), slope


class Backwards(Own):
    @property
    def support(self):
        return np.array([[5.0, 1.0]])


class Endless(Own):
    @property
    def support(self):
        return np.array([[1.0, np.inf]])


class OneArray(Own):
    def stieltjes_pair(self, z):
        return super().stieltjes_pair(z)[0]


class Nothing(Own):
    def stieltjes_pair(self, z):
        return None


class Single(Own):
    def stieltjes_pair(self, z):
        return 1.0, 2.0


class Listed(Own):
    @property
    def support(self):
        return [[1.0, 5.0]]


class NoNumber(Own):
    def stieltjes_pair(self, z):
        return np.full(z.shape, np.nan), np.full(z.shape, np.nan)


class Raises(Own):
    def stieltjes_pair(self, z):
        raise KeyError("no such branch")


@pytest.mark.parametrize("law", [Own(), WithAtom(), ps.MarchenkoPastur(0.3), ps.Semicircle(2.0, -1.0)])
def test_nothing_is_found_in_a_law(law):
    report = ps.check_law(law)
    assert report.ok, str(report)
    assert "branch, mass, derivative, moments" in str(report)


@pytest.mark.parametrize(
    "law",
    [
        *(ps.MarchenkoPastur(kappa_0) for kappa_0 in (1e-6, 0.1, 1.0, 1e6)),
        *(ps.Semicircle(variance, centre) for variance in (1e-9, 1e9) for centre in (0.0, -7.0)),
        *(ProductSquares(rank, aspect) for rank in (0.02, 1.0, 30.0) for aspect in (1.0, 2.0, 100.0)),
    ],
)
def test_laws_that_are_not_looked_at_are_laws(law):
    assert law.proven
    found = around(law)
    assert found.mass == pytest.approx(1.0, abs=1e-9)
    assert found.mass_of_slope == pytest.approx(1.0, abs=1e-9)
    # A square product of full rank has a density that diverges as y^(-2/3): its quadrature is right to 4e-5.
    assert float(law.cdf(law.support[-1, 1])) == pytest.approx(1.0, abs=1e-4)


def test_moments_around_a_law_are_its_moments():
    for law in (Own(), ps.MarchenkoPastur(0.4), ps.PointMasses([0.0, 1.0, 4.0], [0.5, 0.25, 0.25])):
        found = around(law)
        c = found.middle
        assert found.mass == pytest.approx(1.0, abs=1e-12)
        assert found.first == pytest.approx(law.mean - c, abs=1e-9)
        assert found.second == pytest.approx(law.second_moment - 2.0 * c * law.mean + c**2, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (WrongBranch, "a wrong branch"),
        (Growing, "a wrong branch"),
        (TooNarrow, "a support or atoms that leave something out"),
        (Half, "has the mass 0.5 around the support"),
        (LostAtom, "sum to 0.5 over the support"),
        (OtherMoment, "its second moment about 3"),
        (WrongSlope, "must return G(z) and G'(z)"),
        (Mixed, "depends on the others"),
        (Backwards, "not sorted and disjoint"),
        (Endless, "is not finite"),
        (Raises, "the law raised KeyError"),
        (OneArray, "does not return two arrays"),
        (Nothing, "does not return two arrays"),
        (Single, "must return one number for each"),
        (Listed, "its `support` is a list, and must be an array"),
        (NoNumber, "the transform is not finite"),
    ],
)
def test_what_is_wrong_with_a_law_is_said(kind, said):
    report = ps.check_law(kind())
    assert not report.ok
    assert said in str(report)


def test_what_is_no_law_is_said():
    assert "derive the class from presage.SpectralLaw" in str(ps.check_law(3.0))


WRONG = [WrongBranch, Growing, TooNarrow, Half, LostAtom, OtherMoment, WrongSlope, Backwards]


@pytest.mark.parametrize("kind", [*WRONG, OneArray, Nothing, Single, Listed, NoNumber])
def test_no_number_comes_of_what_is_no_law(kind):
    with pytest.raises(ValueError, match=r"`target` must be a law: .* Mend its class: `check_law\(target\)` says more"):
        ps.quadratic_network(kind(), alpha=1.0, weight_decay=0.1, noise=0.5)
    with pytest.raises(ValueError, match="`target` must be a law"):
        ps.diagonal_network(kind(), alpha=1.0, weight_decay=0.1)


def test_a_law_of_squared_singular_values_is_looked_at_too():
    @dataclass(frozen=True)
    class Rectangular(ps.RectangularLaw):
        law: ps.SpectralLaw
        aspect: float = 1.0

        @property
        def squared(self):
            return self.law

    assert ps.bilinear_regression(Rectangular(Own()), alpha=1.0).target.nonzero == 1.0
    with pytest.raises(ValueError, match="`target` must be a law"):
        ps.bilinear_regression(Rectangular(WrongBranch()), alpha=1.0)


def test_a_law_of_ones_own_is_solved_as_its_like():
    for verb in (ps.solve, ps.bayes_optimal):
        own = verb(ps.quadratic_network(Own(), alpha=0.3, weight_decay=0.1, noise=0.5))
        known = verb(ps.quadratic_network(ps.Semicircle(1.0, 3.0), alpha=0.3, weight_decay=0.1, noise=0.5))
        assert own.test_error == pytest.approx(known.test_error, rel=1e-8)
