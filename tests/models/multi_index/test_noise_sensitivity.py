"""The noise sensitivity exponent: known functions, what quadrature cannot tell, and functions that have none."""

from __future__ import annotations

from math import exp, inf, isnan, pi, sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.multi_index.gaussian_means import jumps, moments, nodes, second_order
from presage.models.multi_index.label_law import _law as label_law_cache
from presage.models.multi_index.noise_sensitivity import _exponent
from presage.models.multi_index.thresholds import weak_signal_threshold

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


def gaussian(z):
    return exp(-0.5 * z * z) / sqrt(2.0 * pi)


def test_what_quadrature_cannot_tell_is_said():
    """A staircase of 1300 steps and one more that takes its part of degree two away: the mean is zero, to an error."""
    weight = sum(c * gaussian(c) for c in 0.01 * np.arange(1, 1301)) / gaussian(1.0)

    def stairs(z):
        return np.floor(100.0 * np.abs(z)) + weight * (np.abs(z) < 1.0)

    found = ps.noise_sensitivity(stairs)
    assert isnan(found.exponent)
    assert not found.sure
    assert abs(found.coefficient) < 4 * found.error
    assert found.decision.startswith("cannot tell: E[f^1 (z^2 - 1)]")
    assert "below its own error" in found.decision
    assert isnan(weak_signal_threshold(ps.single_index(stairs, alpha=9.0)))
    assert weak_signal_threshold(ps.single_index(infinite, alpha=9.0)) == inf
    with pytest.raises(ps.InputError, match="noise sensitivity exponent"):
        ps.solve(ps.single_index(stairs, alpha=9.0, preprocessing="hermite"))


@pytest.mark.parametrize("c", [*np.random.default_rng(0).uniform(0.05, 4.0, 60), 0.5, 1.0])
def test_steps_are_integrated_within_their_error(c):
    """``E 1{|z|<c} (z^2 - 1) = -2 c phi(c)``, by parts; of a kink ``E (|z|-c)_+ (z^2 - 1) = 2 phi(c)``."""
    step, kink = ps.OwnLink(lambda z: np.abs(z) < c), ps.OwnLink(lambda z: np.maximum(np.abs(z) - c, 0.0))
    found, other = second_order(step, 1), second_order(kink, 1)
    assert abs(found.value + 2.0 * c * gaussian(c)) < found.error < 1e-14
    assert abs(other.value - 2.0 * gaussian(c)) < other.error < 1e-14


def test_jumps_are_found():
    jumping = ps.OwnLink(lambda z: (np.abs(z) < 0.7) + 2.0 * (np.abs(z) < 0.7004) + np.cos(z))
    assert jumps(jumping) == pytest.approx((0.7, 0.7004), abs=1e-14)
    assert jumps(ps.OwnLink(lambda z: np.abs(np.abs(z) - 1.3))) == pytest.approx((1.3,), abs=1e-8)
    for smooth in (ps.AbsoluteLink(), ps.HermiteLink(6), ps.CosineLink(), ps.OwnLink(lambda z: np.cos(50.0 * z))):
        assert jumps(smooth) == ()


@pytest.mark.parametrize(("a", "b"), [(0.542857, 1.9), *np.sort(np.random.default_rng(1).uniform(0.2, 3.0, (60, 2)))])
def test_balanced_steps_have_exponent_two(a, b):
    """``f = 1{|z|<a} - k 1{|z|<b}`` with no part of degree two, whose square has ``(1 - k)`` times that of a step."""
    weight = a * gaussian(a) / (b * gaussian(b))
    found = ps.noise_sensitivity(lambda z: (np.abs(z) < a) - weight * (np.abs(z) < b))
    assert (found.exponent, found.sure) == (2, True)
    assert found.coefficient == pytest.approx(-2.0 * (1.0 - weight) * a * gaussian(a), abs=found.error)


@pytest.mark.parametrize(("a", "b"), np.sort(np.random.default_rng(2).uniform(0.2, 3.0, (20, 2))))
def test_balanced_tents_do_not_have_exponent_one(a, b):
    """``E (a - |z|)_+ (z^2 - 1) = 2 (phi(a) - phi(0))``, by parts."""
    weight = (gaussian(a) - gaussian(0.0)) / (gaussian(b) - gaussian(0.0))
    found = ps.noise_sensitivity(lambda z: np.maximum(a - np.abs(z), 0.0) - weight * np.maximum(b - np.abs(z), 0.0))
    assert found.exponent != 1


def test_too_many_jumps_have_an_honest_error():
    """A staircase of 1300 steps, none of which is cut: ``floor(100 |z|)``, a sum of steps."""
    steps = ps.OwnLink(lambda z: np.floor(100.0 * np.abs(z)))
    found, exact = second_order(steps, 1), sum(2.0 * c * gaussian(c) for c in 0.01 * np.arange(1, 1301))
    assert jumps(steps) == ()
    assert abs(found.value - exact) < found.error < 0.1


def test_functions_may_work_in_place():
    def in_place(z):
        z *= z
        return z

    before = ps.solve(ps.multi_index(np.abs, alpha=40.0, features=2, decay=1.0)).overlaps
    problem = ps.multi_index(in_place, alpha=40.0, features=2, decay=1.0)
    assert ps.solve(problem).overlaps == pytest.approx(ps.solve(problem.replace(link=ps.OwnLink(np.square))).overlaps)
    found = ps.simulate(problem, d=30, seeds=1, n_test=1000, processes=1)
    other = ps.simulate(problem.replace(link=ps.OwnLink(np.square)), d=30, seeds=1, n_test=1000, processes=1)
    assert found.values("overlaps") == pytest.approx(other.values("overlaps"))
    for clear in (label_law_cache.cache_clear, moments.cache_clear, jumps.cache_clear):
        clear()
    assert ps.solve(ps.multi_index(np.abs, alpha=40.0, features=2, decay=1.0)).overlaps == pytest.approx(before, rel=0)
    assert not any(one.flags.writeable for one in (*nodes(26), moments(ps.AbsoluteLink()).coefficients))


def test_functions_without_a_value_at_zero():
    """``E log|z| (z^2 - 1) = 1`` by parts; labels of it have no law that is followed."""

    def logarithm(z):
        return np.log(np.abs(z))

    assert ps.noise_sensitivity(logarithm).coefficient == pytest.approx(1.0, abs=1e-13)
    for link in (logarithm, lambda z: np.abs(z) ** -0.3):
        with pytest.raises(ps.InputError, match="`link` must be finite at zero: the law of a label is followed along"):
            ps.multi_index(link, alpha=10.0, features=2, decay=1.0)


def test_functions_that_can_change_get_a_sentence():
    class Changing:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, z):
            return z**2

    with pytest.raises(ps.InputError, match="`link` must be hashable: what is known of it is kept"):
        ps.multi_index(Changing(), alpha=10.0, features=2, decay=1.0)
    with pytest.raises(ps.InputError, match="`f` must be hashable"):
        ps.noise_sensitivity(Changing())
    for cached in (nodes, jumps, moments, label_law_cache, _exponent):
        assert cached.cache_parameters()["maxsize"] is not None


@pytest.mark.parametrize(
    ("f", "sentence"),
    [
        (np.sin, r"`f` must be an even function, and not an odd one: an odd part is seen in the mean of y x"),
        (np.exp, r"`f` must be an even function: an odd part"),
        (lambda z: np.exp(z**2), r"`f` must have a variance that is known to be finite"),
        (
            lambda z: np.exp(z**2 / 5.0),
            r"known to be finite: E f\(z\)\^2, .* cannot be told to be finite by quadrature",
        ),
        (lambda z: 1.0 / np.abs(z), r"`f` must have a variance that is known to be finite"),
        (lambda z: np.full_like(z, np.nan), r"`f` must be finite at every place"),
        (lambda z: 3.0, r"`f` must have one value at each place: .* of shape \(\) at 416 places"),
        (lambda z: np.full(len(z), "a"), r"`f` must have real numbers as values: .* of the type <U1"),
        (lambda z: 1j * z**2, r"`f` must have real numbers as values: .* of the type complex128"),
        (np.zeros_like, r"`f` must not be zero everywhere"),
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
