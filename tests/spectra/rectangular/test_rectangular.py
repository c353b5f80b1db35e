"""Singular values of information plus noise: the parametrisation against the quartic, b = 1, and drawn matrices."""

from __future__ import annotations

import numpy as np
import pytest

from presage.laws.gaussian_product import GaussianProduct
from presage.laws.point_masses import PointMasses
from presage.laws.product_squares import ProductSquares
from presage.laws.rectangular_law import RectangularLaw
from presage.laws.singular_value_masses import SingularValueMasses
from presage.laws.spectral_law import SpectralLaw
from presage.spectra.rectangular import curve as rectangular_curve
from presage.spectra.rectangular.convolution import RectangularConvolution, rectangular_functionals
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.functionals import functionals

LAWS: list[tuple[RectangularLaw, float, float]] = [
    (GaussianProduct(0.5), 0.7, 0.9),
    (GaussianProduct(0.5, 2.0), 0.7, 1.5),
    (GaussianProduct(0.2, 2.0), 0.3, 0.9),
    (GaussianProduct(1.5, 3.0), 1.2, 2.0),
    (GaussianProduct(1.0), 0.3, 0.4),
    (SingularValueMasses([0.0, 1.0, 3.0], [0.5, 0.3, 0.2], 1.5), 0.4, 0.8),
    (SingularValueMasses([1.0, 3.0]), 0.2, 0.8),
]


def quartic(x: float, rank: float, b: float, variance: float) -> complex:
    """Symmetrised Stieltjes transform of the noisy Gaussian product, from the quartic of [ETBMZ24]."""
    phi, psi, eta, zeta, z2 = rank / b, rank, (1 + variance) * np.sqrt(b), np.sqrt(b), x**2
    a0 = -(psi**3)
    a1 = psi * (zeta * (psi - phi) + psi * (eta * (phi - psi) + psi * z2))
    a2 = -(zeta**2) * (phi - psi) ** 2 + zeta * (eta * (phi - psi) ** 2 + psi * z2 * (2 * phi - psi))
    a2 -= eta * psi**2 * z2 * phi
    a3 = -zeta * z2 * phi * (2 * zeta * psi - 2 * zeta * phi - 2 * eta * psi + 2 * eta * phi + psi * z2)
    a4 = zeta * z2**2 * phi**2 * (eta - zeta)
    g = x * np.roots([a4, a3, a2, a1, a0])
    return complex(g[np.argmax(g.imag)])


@pytest.mark.parametrize(
    ("rank", "b", "delta"), [(0.5, 1.0, 0.7), (0.5, 2.0, 0.7), (0.2, 2.0, 0.3), (1.5, 3.0, 1.2), (0.1, 5.0, 0.2)]
)
def test_curve_solves_the_quartic(rank, b, delta):
    convolution = RectangularConvolution(GaussianProduct(rank, b), delta)
    u = np.concatenate([left + (right - left) * np.linspace(0.02, 0.98, 9) for left, right in convolution.bands])
    point = convolution.curve(u)
    for x, rho, h in zip(point.x, point.rho, point.h, strict=True):
        g = quartic(x, rank, b, delta**2)
        assert rho == pytest.approx(g.imag / np.pi, abs=1e-11)
        assert h == pytest.approx(g.real, abs=1e-11)
    assert convolution.density(point.x) == pytest.approx(2 * point.rho, abs=1e-10)


def test_a_wrong_aspect_does_not_solve_the_quartic():
    x, delta = np.array([1.5]), 0.7
    wrong = RectangularConvolution(GaussianProduct(0.5, 2.2), delta).density(x)[0]
    assert abs(wrong - 2 * quartic(1.5, 0.5, 2.0, delta**2).imag / np.pi) > 1e-3


def test_height_solves_its_equation():
    """``f = eps (B + sqrt((b-1) A + |w|^2 A^2)) = 1`` on the curve, with A and B summed over the atoms one by one."""
    values, weights, b, eps = np.array([0.0, 1.0, 3.0]), np.array([0.5, 0.3, 0.2]), 1.7, 0.4
    squared = SingularValueMasses(values, weights, b).squared
    u = np.array([0.1, 0.4, 0.9, 2.9])
    v = rectangular_curve.height(squared, b, eps, u)
    w = (u + 1j * v) ** 2
    A = np.sum(weights / np.abs(w[:, None] - values**2) ** 2, axis=1)
    B = np.sum(weights * values**2 / np.abs(w[:, None] - values**2) ** 2, axis=1)
    assert eps * (B + np.sqrt((b - 1) * A + np.abs(w) ** 2 * A**2)) == pytest.approx(1.0, abs=1e-12)


def test_a_law_without_compiled_code_has_the_same_curve():
    class Plain(SpectralLaw):
        inner = ProductSquares(0.5, 2.0)

        def stieltjes_pair(self, z):
            return self.inner.stieltjes_pair(z)

        @property
        def support(self):
            return self.inner.support

    u = np.linspace(0.3, 3.0, 7)
    compiled = rectangular_curve.height(Plain.inner, 2.0, 0.3, u)
    assert rectangular_curve.height(Plain(), 2.0, 0.3, u) == pytest.approx(compiled, rel=1e-11)


def test_square_matrices_are_a_free_convolution():
    """b = 1: the symmetrised singular values are freely convolved with a semicircle."""
    values, weights, delta, c = [0.5, 2.0], [0.6, 0.4], 0.45, 0.7
    symmetrised = PointMasses([-2.0, -0.5, 0.5, 2.0], [0.2, 0.3, 0.3, 0.2])
    free, square = (
        FreeConvolution(symmetrised, delta),
        RectangularConvolution(SingularValueMasses(values, weights), delta),
    )
    x = np.linspace(0.05, 2.8, 12)
    assert square.density(x) == pytest.approx(2 * free.density(x), abs=1e-11)
    assert square.hilbert(x) == pytest.approx(free.hilbert(x), abs=1e-9)
    assert square.support.ravel() == pytest.approx(free.support[free.support[:, 1] > 0].ravel().clip(0), abs=1e-9)
    mine, theirs = rectangular_functionals(square.law, delta, c), functionals(symmetrised, delta, c)
    assert (mine.rank, mine.first, mine.J) == pytest.approx(
        (2 * theirs.rank, 2 * theirs.first, 2 * theirs.J), rel=1e-11
    )
    assert pytest.approx(4 * theirs.I, rel=1e-11) == mine.I


@pytest.mark.parametrize(("law", "delta", "c"), LAWS)
def test_mass_and_second_moment(law, delta, c):
    convolution = RectangularConvolution(law, delta)
    assert convolution.mass == pytest.approx(1.0, abs=1e-11)
    assert convolution.moment(2) == pytest.approx(convolution.second_moment, rel=1e-11)
    f = rectangular_functionals(law, delta, c)
    assert convolution.cdf(c) == pytest.approx(1 - f.rank, abs=1e-11)
    below = convolution.second_moment - (f.J + 2 * c * f.first + c**2 * f.rank)
    assert f.below == pytest.approx(below, abs=1e-11 * convolution.second_moment)


@pytest.mark.parametrize("delta", [1e-4, 1e-2, 1e2])
def test_small_and_large_noise(delta):
    for law in (GaussianProduct(0.5, 1.5), SingularValueMasses(np.linspace(0.0, 2.0, 40), None, 2.0)):
        convolution = RectangularConvolution(law, delta)
        assert convolution.mass == pytest.approx(1.0, abs=1e-8)
        assert convolution.moment(2) == pytest.approx(convolution.second_moment, rel=1e-8)


@pytest.mark.parametrize(("law", "delta", "c"), LAWS)
def test_derivatives_agree_with_differences(law, delta, c):
    f, step = rectangular_functionals(law, delta, c), 1e-5
    up, down = (rectangular_functionals(law, delta * (1 + s), c) for s in (step, -step))
    assert f.dI_ddelta == pytest.approx((up.I - down.I) / (2 * step * delta), rel=1e-6, abs=1e-8)
    assert f.drisk_ddelta == pytest.approx((up.risk - down.risk) / (2 * step * delta), rel=1e-6, abs=1e-8)
    up, down = (rectangular_functionals(law, delta, c * (1 + s)) for s in (step, -step))
    assert f.dI_dc == pytest.approx((up.I - down.I) / (2 * step * c), rel=1e-6, abs=1e-8)
    assert f.drisk_dc == pytest.approx((up.risk - down.risk) / (2 * step * c), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("law", "delta", "c"), LAWS)
def test_functionals_agree_with_a_sampled_matrix(law, delta, c):
    rng = np.random.default_rng(0)
    p = 300
    N = round(p * law.aspect)
    M, Z = law.sample(p, N, rng), rng.standard_normal((p, N)) / (p * N) ** 0.25
    left, x, right = np.linalg.svd(M + delta * Z, full_matrices=False)
    kept = np.maximum(x - c, 0.0)
    apart = x[:, None] ** 2 - x**2 + np.eye(p)
    pairs = (x * kept)[:, None] - x * kept
    divergence = np.sum(pairs / apart) + np.sum(x > c) + (N - p) * np.sum(kept / x)
    f = rectangular_functionals(law, delta, c)
    assert f.rank == pytest.approx(np.mean(x > c), abs=2 / p)
    assert pytest.approx(np.mean(kept), rel=10 / p) == f.first
    assert pytest.approx(divergence / (p * N), rel=8 / p) == f.I
    error = np.sum(((left * kept) @ right - M) ** 2) / np.sqrt(p * N)
    assert f.risk == pytest.approx(error, rel=10 / p)


@pytest.mark.parametrize(("rank", "b"), [(0.5, 1.0), (0.5, 2.0), (1.0, 1.0), (2.0, 1.0), (1.5, 3.0), (0.05, 1.5)])
def test_squares_of_a_gaussian_product(rank, b):
    squared = GaussianProduct(rank, b).squared
    matrix = GaussianProduct(rank, b).sample(240, round(240 * b), np.random.default_rng(1))
    eigenvalues = np.linalg.eigvalsh(matrix @ matrix.T)
    z = np.array([1 + 0.5j, -1 + 1e-3j, -0.5, 1.3 * squared.support[-1, 1]])
    assert squared.stieltjes(z) == pytest.approx(np.mean(1 / (z[:, None] - eigenvalues), axis=1), rel=0.02)
    step = 1e-6
    difference = (squared.stieltjes(z + step) - squared.stieltjes(z - step)) / (2 * step)
    assert squared.stieltjes_derivative(z) == pytest.approx(difference, rel=1e-6)
    assert squared.moment(0) == pytest.approx(1.0, abs=1e-4)
    assert super(ProductSquares, squared).moment(2) == pytest.approx(squared.moment(2), rel=1e-6)
    assert float(squared.cdf(2.0)) == pytest.approx(np.mean(eigenvalues <= 2.0), abs=0.02)


def test_sampled_matrices_have_the_law():
    rng = np.random.default_rng(2)
    law = SingularValueMasses([0.0, 1.0, 2.0], [0.5, 0.25, 0.25], 1.5)
    matrix = law.sample(60, 40, rng)
    assert np.linalg.svd(matrix, compute_uv=False)[::-1] == pytest.approx(
        np.repeat([0.0, 1.0, 2.0], [20, 10, 10]), abs=1e-12
    )
    assert np.sum(matrix**2) / np.sqrt(2400) == pytest.approx(law.second_moment)
    assert law.nonzero == 0.5
    assert law == SingularValueMasses([2.0, 0.0, 1.0], [0.25, 0.5, 0.25], 1.5) != SingularValueMasses([1.0])
    convolution = RectangularConvolution(law, 0.4)
    assert np.mean(convolution.sample(80, rng) ** 2) == pytest.approx(convolution.second_moment, rel=0.03)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: GaussianProduct(0.0), "`rank` must be a finite number >= 1e-06"),
        (lambda: GaussianProduct(0.5, 0.5), "`aspect` must be a finite number >= 1"),
        (lambda: SingularValueMasses([-1.0]), "`values` must be zero or positive"),
        (lambda: SingularValueMasses([1.0], [0.5]), "`weights` must sum to one"),
        (
            lambda: GaussianProduct(0.5).sample(10, 20, np.random.default_rng(0)),
            "`shape` must have sides in the ratio 1",
        ),
        (lambda: RectangularConvolution(GaussianProduct(0.5), 0.0), "`delta` must be a finite number > 0"),
        (lambda: rectangular_functionals(GaussianProduct(0.5), 1.0, -1.0), "`cutoff` must be a finite number >= 0"),
    ],
)
def test_bad_input_is_said_in_words(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize("aspect", [1.0, 1.001, 2.0, 30.0])
@pytest.mark.parametrize("rank", [0.01, 0.0256, 0.1, 0.5, 0.99])
def test_transform_of_a_product_is_that_of_its_zeros_near_zero(rank, aspect):
    """Between the atom and the lower edge a, ``w G(w)`` is below the mass of the atom by ``r w/(a-w)`` at most."""
    law = GaussianProduct(rank, aspect).squared
    edge = law.support[-1, 0]
    w = edge * np.logspace(-30.0, -1.0, 59)
    found = w * law.stieltjes(w)
    assert (found.imag == 0.0).all()
    assert (found.real <= 1.0 - rank + 1e-12).all()
    assert (found.real >= 1.0 - rank - rank * w / (edge - w) - 1e-12).all()
