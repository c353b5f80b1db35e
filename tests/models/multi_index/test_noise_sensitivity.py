"""The noise sensitivity exponent: known functions, what quadrature cannot tell, and functions that have none."""

from __future__ import annotations

from math import exp, inf, isnan, pi, sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.multi_index.gaussian_means import moments, second_order

BALANCED = ps.CosineLink(exp(1.5) / 4.0)  # no part of degree two


@pytest.mark.parametrize("degree", [2, 4, 6])
def test_expectations_of_polynomials(degree):
    """``E h_n (z^2-1)`` is sqrt(2) for n = 2 and zero above; ``E h_n^2 (z^2-1) = 2n``."""
    link = ps.HermiteLink(degree)
    first, second = second_order(link, 1), second_order(link, 2)
    assert first.value == pytest.approx(sqrt(2.0) if degree == 2 else 0.0, abs=first.error)
    assert second.value == pytest.approx(2.0 * degree, abs=second.error)
    assert first.error < 1e-12 * first.size
    assert moments(link).variance == pytest.approx(1.0, rel=1e-13)


def test_expectations_of_other_functions():
    assert second_order(ps.AbsoluteLink(), 1).value == pytest.approx(sqrt(2.0 / pi), rel=1e-12)
    assert second_order(ps.CosineLink(), 1).value == pytest.approx(-exp(-0.5), rel=1e-12)
    assert moments(ps.AbsoluteLink()).variance == pytest.approx(1.0 - 2.0 / pi, rel=1e-12)
    assert moments(ps.AbsoluteLink()).coefficients[2] == pytest.approx(1.0 / sqrt(pi), rel=1e-12)


def infinite(z):
    """Places where it is equal have a mean z^2 of one: no power of it has a part of degree two."""
    return z**2 * np.exp(-(z**2))


@pytest.mark.parametrize(
    ("link", "exponent", "coefficient"),
    [
        (ps.HermiteLink(2), 1, sqrt(2.0)),
        (ps.AbsoluteLink(), 1, sqrt(2.0 / pi)),
        (ps.CosineLink(), 1, -exp(-0.5)),
        (np.square, 1, 2.0),
        (ps.HermiteLink(4), 2, 8.0),
        (ps.HermiteLink(6), 2, 12.0),
        (BALANCED, 2, 0.51755),  # seen in theory/spiked
    ],
)
def test_exponents_of_known_functions(link, exponent, coefficient):
    found = ps.noise_sensitivity(link)
    assert found.sure
    assert found.exponent == exponent
    assert found.coefficient == pytest.approx(coefficient, rel=1e-5)
    assert found.error < 1e-9 * abs(found.coefficient)
    assert f"E[f^{exponent} (z^2 - 1)]" in found.decision


def test_a_function_without_any_has_an_infinite_exponent():
    found = ps.noise_sensitivity(infinite, most=6)
    assert (found.exponent, found.most, len(found.values)) == (inf, 6, 6)
    assert not found.sure
    assert found.decision.startswith("no power up to 6")
    assert ps.noise_sensitivity(lambda z: infinite(z) + 1e-3 * z**2, most=6).exponent == 1  # a negative control


def test_what_quadrature_cannot_tell_is_said():
    """Two steps whose parts of degree two cancel: the mean is zero, and steps between nodes leave an error of 1e-4."""
    a, b = 0.777, 1.333
    weight = a * np.exp(-0.5 * a * a) / (b * np.exp(-0.5 * b * b))
    found = ps.noise_sensitivity(lambda z: (np.abs(z) < a) - weight * (np.abs(z) < b))
    assert isnan(found.exponent)
    assert not found.sure
    assert abs(found.coefficient) < 4 * found.error
    assert found.decision.startswith("cannot tell: E[f^1 (z^2 - 1)]")
    assert "below its own error" in found.decision
    with pytest.raises(ps.InputError, match="noise sensitivity exponent"):
        ps.solve(
            ps.single_index(lambda z: (np.abs(z) < a) - weight * (np.abs(z) < b), alpha=9.0, preprocessing="hermite")
        )


@pytest.mark.parametrize(
    ("f", "sentence"),
    [
        (np.sin, r"`f` must be an even function, and not an odd one: an odd part is seen in the mean of y x"),
        (np.exp, r"`f` must be an even function: an odd part"),
        (lambda z: np.exp(z**2), r"`f` must have a finite variance"),
        (lambda z: 1.0 / np.abs(z), r"`f` must have a finite variance"),
        (lambda z: np.full_like(z, np.nan), r"`f` must be finite at every place"),
        (lambda z: 3.0, r"`f` must be finite at every place"),
        (np.ones_like, r"`f` must not be constant"),
        (2.0, r"`f` must be a function"),
    ],
)
def test_functions_that_have_none_get_a_sentence(f, sentence):
    with pytest.raises(ValueError, match=sentence):
        ps.noise_sensitivity(f)
    if callable(f):
        with pytest.raises(ValueError, match=sentence.replace("`f`", "`link`")):
            ps.multi_index(f, alpha=10.0, features=2, decay=1.0)


def test_links_are_refused_in_words():
    with pytest.raises(ValueError, match=r"`degree` must be even: an odd function"):
        ps.HermiteLink(3)
    with pytest.raises(ValueError, match=r"`link` must be a Link.*HermiteLink\(2\)"):
        ps.multi_index(3.0, alpha=10.0, features=2, decay=1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`function` must be a function"):
        ps.OwnLink(3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`most` must be a whole number >= 1"):
        ps.noise_sensitivity(np.abs, most=0)
