"""The free convolution of a law with a semicircle: mass, moments, edges, integrals above a cutoff."""

from __future__ import annotations

import json
from math import pi, sqrt
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage import FreeConvolution, MarchenkoPastur, PointMasses, PowerLaw, Semicircle, SpectralLaw, functionals
from presage.spectra.symmetric import biane
from tests.spectra.symmetric.reference import mp_functionals

# mpmath 1.4 wants the coefficients of a polynomial in the other order, which 1.3 does not know.
pytestmark = pytest.mark.filterwarnings("ignore:Descending:DeprecationWarning")


class Uniform(SpectralLaw):
    """A law of the user's own, on which nothing runs in compiled code."""

    support = np.array([[-1.0, 2.0]])

    def stieltjes_pair(self, z):
        with np.errstate(divide="ignore"):
            return np.log((z + 1) / (z - 2)) / 3, (1 / (z + 1) - 1 / (z - 2)) / 3

    def moment(self, k):
        return (2.0 ** (k + 1) - (-1.0) ** (k + 1)) / (3 * (k + 1))


LAWS: dict[str, SpectralLaw] = {
    "MP(0.05)": MarchenkoPastur(0.05),
    "MP(0.5)": MarchenkoPastur(0.5),
    "MP(0.98)": MarchenkoPastur(0.98),
    "MP(1)": MarchenkoPastur(1.0),
    "MP(2)": MarchenkoPastur(2.0),
    "point masses": PointMasses([-1.0, 0.5, 3.0], [0.2, 0.5, 0.3]),
    "power law": PowerLaw(1.25, 300),
    "semicircle": Semicircle(1.7, 0.4),
    "user's own": Uniform(),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
REFERENCE = json.loads(Path(__file__).with_name("reference_values.json").read_text())["rows"]
NAMES = {
    "mass_above": "rank",
    "first": "first",
    "J": "J",
    "I": "I",
    "hilbert_above": "hilbert",
    "cubic": "cubic",
}
every_reference_point = pytest.mark.parametrize("row", REFERENCE, ids=[str(row["point"]) for row in REFERENCE])


@every_reference_point
def test_functionals_agree_with_the_high_precision_reference(row):
    kappa_0, delta, c = row["point"]
    found = functionals(MarchenkoPastur(kappa_0), delta, c)
    for name, ours in NAMES.items():
        # Below the spectrum the integrals of h and of the cubic vanish exactly: no relative error there.
        expected = pytest.approx(float(row["values"][name]), rel=1e-11, abs=1e-14)
        assert getattr(found, ours) == expected, ours


def along_a_contour(law: SpectralLaw, delta: float, c: float) -> dict[str, float]:
    """The same integrals for any law, off the real axis, where nothing is singular.

    With ``z(w) = w + t G_0(w)``, ``int_c (x-c)^k g^n dx`` is the integral of ``(z-c)^k G_0^n z' dw`` over any path
    in the upper half plane from the point where ``z = c`` to a real ``w`` right of everything.
    """
    t = delta**2
    u = FreeConvolution(law, delta).parameter(np.array([c]))
    w = u + 1j * biane.height(law, t, u)
    for _ in range(3):
        g, slope = law.stieltjes_pair(w)
        w = w - (w + t * g - c) / (1 + t * slope)
    start, end = w[0], law.support[-1, 1] + 2 * delta + 1
    height = 1j * (delta + end - start.real)
    rise = start + height * np.concatenate([[0.0], 0.5 ** np.arange(16, -1, -1)])
    fall = end + height * np.array([1.0, 0.75, 0.5, 0.25, 0.0])
    corners = np.concatenate([rise, np.linspace(rise[-1], fall[0], 5)[1:-1], fall])
    nodes, weights = np.polynomial.legendre.leggauss(24)
    middle, half = (corners[1:] + corners[:-1]) / 2, (corners[1:] - corners[:-1]) / 2
    w = (middle[:, None] + half[:, None] * nodes).ravel()
    g, slope = law.stieltjes_pair(w)
    element = (half[:, None] * weights).ravel() * (1 + t * slope)

    def integral(k, n):
        return -np.sum((w + t * g - c) ** k * g**n * element).imag / (n * pi)

    powers = {"rank": (0, 1), "first": (1, 1), "J": (2, 1), "I": (1, 2), "hilbert": (0, 2), "cubic": (0, 3)}
    return {name: integral(*power) for name, power in powers.items()}


@every_law
@pytest.mark.parametrize("delta", [0.05, 0.6, 20.0])
@pytest.mark.parametrize("p", [0.01, 0.45, 0.97])
def test_functionals_agree_with_a_contour_in_the_upper_half_plane(law, delta, p):
    c = float(FreeConvolution(law, delta).quantile(p))
    found = functionals(law, delta, c)
    assert found.rank == pytest.approx(1 - p, rel=1e-11)
    for name, value in along_a_contour(law, delta, c).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-10), name


def above_a_gap(law: PointMasses, delta: float, c: float) -> dict[str, float]:
    """The same integrals for atoms when ``c`` is in a gap: the contour closes, and residues at the atoms are left."""
    t = delta**2
    s, w = law.atoms
    with np.errstate(divide="ignore"):
        inverse = np.where(s[:, None] == s, 0.0, 1 / (s[:, None] - s))
    force, slope = inverse @ w, -(inverse**2) @ w  # G_0 and G_0' of the other atoms, at each atom
    s, w, force, slope = (array[s > c] for array in (s, w, force, slope))
    cubic = np.sum(w**2 * slope + w * force**2)
    I = np.sum(w**2 / 2 + (s - c) * w * force)
    first = np.sum(w * (s - c)) + t * np.sum(w * force)
    J = np.sum(w * (s - c) ** 2) + 2 * t * I + t**2 * cubic
    return {"rank": w.sum(), "first": first, "J": J, "I": I + t * cubic, "hilbert": np.sum(w * force), "cubic": cubic}


@pytest.mark.parametrize("delta", [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.2])
@pytest.mark.parametrize("c", [0.2, 1.5, 2.3])
def test_force_on_a_single_atom_is_that_of_the_others(delta, c):
    """Where the bands are narrow, h is huge and odd in each: what is left of it is the force between the atoms."""
    law = PointMasses([-1.0, 1.0, 2.0, 3.0], [0.2, 0.3, 0.1, 0.4])
    free, found = FreeConvolution(law, delta), functionals(law, delta, c)
    assert len(free.support) == 4
    exact = above_a_gap(law, delta, c)
    for name in ("rank", "first", "J", "I", "hilbert"):
        assert getattr(found, name) == pytest.approx(exact[name], rel=3e-10), name
    # The integrand of the cubic is of the order of 1/t, of which eps/delta is lost to the rounding of x.
    assert found.cubic == pytest.approx(exact["cubic"], rel=1e-11, abs=1e-16 / delta**3)


@pytest.mark.parametrize("delta", [1e-5, 1e-3, 1.0])
def test_stated_relative_error_covers_the_error(delta):
    found = functionals(MarchenkoPastur(0.5), delta, 0.05)
    exact = mp_functionals(0.5, delta, 0.05)
    for name in ("mass_above", "first", "J", "I"):
        assert abs(getattr(found, NAMES[name]) / exact[name] - 1) <= 5 * found.relative_error, name
    law = PointMasses([-1.0, 1.0, 2.0, 3.0], [0.2, 0.3, 0.1, 0.4])
    if delta < 0.1:
        found, atoms = functionals(law, delta, 1.5), above_a_gap(law, delta, 1.5)
        for name in ("rank", "first", "J", "I"):
            assert abs(getattr(found, name) / atoms[name] - 1) <= 5 * found.relative_error, name


@every_law
@pytest.mark.parametrize("delta", [1e-3, 0.3, 10.0])
def test_height_solves_its_equation(law, delta):
    t = delta**2
    bands = FreeConvolution(law, delta).bands
    u = (bands[:, :1] + (bands[:, 1:] - bands[:, :1]) * np.linspace(0.01, 0.99, 21)).ravel()
    v = biane.height(law, t, u)
    assert ((v > 0) & (v <= delta)).all()
    np.testing.assert_allclose(-t * law.stieltjes(u + 1j * v).imag, v, rtol=3e-15)
    # The compiled steps are those that run for a law of the user's own.
    np.testing.assert_allclose(biane.height.registry[object](law, t, u), v, rtol=2e-13)
    gaps = np.concatenate([[bands[0, 0] - delta], (bands[1:, 0] + bands[:-1, 1]) / 2, [bands[-1, 1] + delta]])
    assert (biane.height(law, t, gaps) == 0).all()


@every_reference_point
def test_bands_of_marchenko_pastur_are_the_critical_points_of_its_inverse(row):
    """At an edge ``z(g) = 1/g + kappa_0/(sqrt(kappa_0) - g) + t g`` is stationary, and ``u = z - t g``."""
    kappa_0, delta, _ = row["point"]
    free = FreeConvolution(MarchenkoPastur(kappa_0), delta)
    edges = np.array(row["edges"], dtype=np.float64)
    size = np.abs(edges).max()
    np.testing.assert_allclose(free.support.ravel(), edges, rtol=0, atol=1e-15 * size)
    with mp.workdps(50):
        s, t = mp.sqrt(mp.mpf(kappa_0)), mp.mpf(delta) ** 2
        quartic = [t, -2 * s * t, s**2 * t + kappa_0 - 1, 2 * s, -(s**2)]
        roots = mp.polyroots(quartic, maxsteps=500, extraprec=500)
        u = [1 / g + s**2 / (s - g) for g in map(mp.re, filter(lambda g: abs(mp.im(g)) < 1e-30, roots))]
    np.testing.assert_allclose(free.bands.ravel(), np.sort(np.array(u, dtype=float)), rtol=0, atol=2e-15 * size)


@pytest.mark.parametrize("gap", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("weight", [0.05, 0.5, 0.8])
def test_the_gap_of_two_atoms_closes_at_its_own_noise(weight, gap):
    """``w/u^2 + (1-w)/(gap-u)^2`` is least where it is ``(w^(1/3) + (1-w)^(1/3))^3/gap^2``."""
    law = PointMasses([-1.0, gap - 1.0], [weight, 1.0 - weight])
    closing = gap / (np.cbrt(weight) + np.cbrt(1.0 - weight)) ** 1.5
    assert [len(biane.bands(law, (f * closing) ** 2)) for f in (0.3, 1 - 1e-5, 1 + 1e-5, 3.0)] == [2, 2, 1, 1]


EIGHTH_ORDER = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def difference(function, x: float, step: float) -> float:
    return (
        sum(
            weight * (function(x + k * step) - function(x - k * step)) for k, weight in enumerate(EIGHTH_ORDER, start=1)
        )
        / step
    )


@pytest.mark.parametrize("name", ["MP(0.5)", "MP(1)", "point masses", "semicircle", "user's own"])
@pytest.mark.parametrize(("delta", "p"), [(0.1, 0.85), (0.4, 0.3), (2.0, 0.8)])
def test_derivatives_agree_with_differences(name, delta, p):
    law = LAWS[name]
    c = float(FreeConvolution(law, delta).quantile(p))
    found = functionals(law, delta, c)
    step = 1e-2 * delta
    for integral in ("J", "I"):
        slope = difference(lambda x, integral=integral: getattr(functionals(law, x, c), integral), delta, step)
        assert getattr(found, f"d{integral}_ddelta") == pytest.approx(slope, rel=1e-11)
        slope = difference(lambda x, integral=integral: getattr(functionals(law, delta, x), integral), c, step)
        assert getattr(found, f"d{integral}_dc") == pytest.approx(slope, rel=1e-11)
    assert found.dJ_ddelta == 4 * delta * found.I


@pytest.mark.parametrize("kappa_0", [0.05, 0.5, 2.0])
@pytest.mark.parametrize(("delta", "c"), [(0.3, 0.2), (1e-5, 1e-4)])
def test_risk_is_the_distance_to_the_target(kappa_0, delta, c):
    found = functionals(MarchenkoPastur(kappa_0), delta, c)
    exact = mp_functionals(kappa_0, delta, c)
    with mp.workdps(40):
        m = exact["J"] + mp.mpf(c) * exact["first"] - 2 * mp.mpf(delta) ** 2 * exact["I"]
        deficit = 1 + mp.mpf(kappa_0) - m
        risk = deficit - m + exact["J"]
    assert found.risk == pytest.approx(float(risk), rel=1e-14)
    assert found.deficit == pytest.approx(float(deficit), rel=1e-14)
    naive = 1 + kappa_0 - 2 * (found.overlap - 2 * delta**2 * found.I) + found.J
    lost = abs(naive / float(risk) - 1)
    assert lost < 1e-12 if delta > 0.1 else lost > 1e-9  # near perfect recovery the differences cancel


@every_law
def test_risk_of_any_law_is_the_distance_to_the_target(law):
    for delta, c in ((0.05, 0.1), (0.6, 0.3), (5.0, 2.0)):
        f = functionals(law, delta, c)
        m, q = f.overlap - 2 * delta**2 * f.I, f.J
        assert f.risk == pytest.approx(law.second_moment - 2 * m + q, rel=1e-12, abs=1e-12)
        assert f.deficit == pytest.approx(law.second_moment - m, rel=1e-12, abs=1e-12)


@every_law
@pytest.mark.parametrize("delta", np.geomspace(1e-6, 1e3, 10))
def test_mass_is_one_and_moments_are_those_of_the_sum(law, delta):
    free = FreeConvolution(law, delta)
    assert free.mass == pytest.approx(1, abs=1e-10)
    size = np.sqrt(law.second_moment + delta**2)
    assert free.mean == pytest.approx(law.mean, abs=1e-10 * size)
    assert free.second_moment == pytest.approx(size**2, rel=1e-10)


atoms = st.lists(
    st.tuples(st.floats(-5, 5), st.floats(1e-3, 1.0)), min_size=1, max_size=6, unique_by=lambda atom: atom[0]
)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(atoms=atoms, log_delta=st.floats(-4, 2))
def test_any_point_masses_keep_mass_and_mean_and_gain_delta_squared(atoms, log_delta):
    values, weights = np.array(atoms).T
    law, delta = PointMasses(values, weights / weights.sum()), 10.0**log_delta
    free = FreeConvolution(law, delta)
    whole = law.second_moment + delta**2
    assert free.mass == pytest.approx(1, abs=1e-11)
    assert free.mean == pytest.approx(law.mean, abs=1e-11 * sqrt(whole))
    assert free.second_moment == pytest.approx(whole, rel=1e-11)
    assert (np.diff(free.support.ravel()) > 0).all()


@every_law
def test_a_wrong_factor_of_sqrt_2_violates_the_second_moment(law):
    """Negative control: a semicircle of the other convention of the GOE must not pass."""
    for delta in (0.1, 10.0):
        wrong = FreeConvolution(law, delta * sqrt(2))
        assert wrong.second_moment - law.second_moment == pytest.approx(2 * delta**2, rel=1e-8)
        assert wrong.second_moment != pytest.approx(law.second_moment + delta**2, rel=1e-3)


@pytest.mark.parametrize("delta", [1e-3, 1.3, 30.0])
def test_semicircle_plus_semicircle_is_a_semicircle(delta):
    free, exact = FreeConvolution(Semicircle(1.7, 0.4), delta), Semicircle(1.7 + delta**2, 0.4)
    left, right = exact.support[0]
    np.testing.assert_allclose(free.support, exact.support, rtol=1e-15)
    x = np.linspace(left, right, 101)
    np.testing.assert_allclose(free.cdf(x), exact.cdf(x), rtol=0, atol=2e-14)
    x = x[1:-1]  # at an edge the square root of a rounding is not small
    np.testing.assert_allclose(free.density(x), exact.density(x), rtol=1e-12)
    np.testing.assert_allclose(free.hilbert(x), (x - 0.4) / (2 * exact.variance), rtol=0, atol=1e-13 / right)


@every_law
@pytest.mark.parametrize("delta", [0.05, 0.6, 20.0])
def test_density_cdf_quantile_and_hilbert_part_belong_together(law, delta):
    free = FreeConvolution(law, delta)
    p = np.linspace(0.003, 0.997, 41)
    x = free.quantile(p)
    assert (np.diff(x) > 0).all()
    np.testing.assert_allclose(free.cdf(x), p, rtol=0, atol=1e-11)
    np.testing.assert_allclose(biane.curve(law, free.t, free.parameter(x)).x, x, rtol=0, atol=1e-13 * (delta + 3))
    # The transform just above the axis, away from the edges where it has square roots.
    inner = np.min(np.abs(x[:, None] - free.support.ravel()), axis=1) > 0.02 * delta
    boundary = free.hilbert(x) - 1j * pi * free.density(x)
    above = free.stieltjes(x + 1e-9j * delta)
    np.testing.assert_allclose(above[inner], boundary[inner], rtol=0, atol=1e-7 / delta)
    # cdf' = density, by differences within the distance to the nearest edge.
    step = 2e-3 * delta
    slope = difference(lambda shift: free.cdf(x[inner] + shift), 0.0, step)
    np.testing.assert_allclose(slope, free.density(x[inner]), rtol=1e-6)
    left, right = free.support[0, 0], free.support[-1, 1]
    np.testing.assert_allclose(free.cdf([left - delta, left, right, right + delta]), [0, 0, 1, 1], atol=1e-11)
    assert free.density([left - delta, right + delta]).tolist() == [0, 0]


@every_law
@pytest.mark.parametrize("delta", [0.05, 0.6, 20.0])
def test_stieltjes_transform_solves_the_subordination_equation(law, delta):
    free = FreeConvolution(law, delta)
    left, right = free.support[0, 0], free.support[-1, 1]
    x, y = np.meshgrid(np.linspace(left - delta, right + delta, 23), delta * np.geomspace(1e-3, 1e2, 6))
    z = (x + 1j * y).ravel()
    g = free.stieltjes(z)
    assert (g.imag < 0).all()
    np.testing.assert_allclose(g, law.stieltjes(z - delta**2 * g), rtol=1e-12)
    turn = np.exp(2j * pi * np.arange(64) / 64)
    slope = np.mean(free.stieltjes(z[:, None] + z.imag[:, None] / 2 * turn) / turn, axis=1) / (z.imag / 2)
    np.testing.assert_allclose(free.stieltjes_derivative(z), slope, rtol=1e-10)
    outside = np.array([left - delta, left - 100 * delta, right + delta, right + 100 * delta])
    g = free.stieltjes(outside)
    np.testing.assert_allclose(g.imag, 0, atol=1e-14 / delta)
    np.testing.assert_allclose(free.hilbert(outside), law.stieltjes(outside - delta**2 * g).real, rtol=1e-12)


@pytest.mark.parametrize("delta", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("ratio", [0.5, 0.9, 1.1, 1.5, 4.0])
def test_a_spike_leaves_the_bulk_iff_it_is_above_delta(ratio, delta):
    weight, s = 1e-4, ratio * delta
    bulks = FreeConvolution(PointMasses([0.0, s], [1 - weight, weight]), delta).support
    assert len(bulks) == (2 if s > delta else 1)
    if s > delta:
        np.testing.assert_allclose(bulks[1], s + delta**2 / s, rtol=0, atol=2 * delta * sqrt(weight))
        free = FreeConvolution(PointMasses([0.0, s], [1 - weight, weight]), delta)
        assert 1 - free.cdf(bulks[1, 0]) == pytest.approx(weight, rel=1e-7)
    np.testing.assert_allclose(bulks[0], [-2 * delta, 2 * delta], rtol=10 * weight)


@pytest.mark.parametrize("name", ["MP(0.5)", "MP(2)", "point masses", "power law", "semicircle"])
def test_eigenvalues_of_a_sum_follow_the_law(name):
    d, delta, rng = 800, 0.6, np.random.default_rng(11)
    target = np.diag(LAWS[name].sample(d, rng))
    gaussian = rng.standard_normal((d, d))
    eigenvalues = np.linalg.eigvalsh(target + delta * (gaussian + gaussian.T) / sqrt(2 * d))
    level = FreeConvolution(LAWS[name], delta).cdf(eigenvalues)
    step = np.arange(d + 1) / d
    assert max(np.abs(level - step[:-1]).max(), np.abs(level - step[1:]).max()) < 0.01
    wrong = FreeConvolution(LAWS[name], delta * sqrt(2)).cdf(eigenvalues)
    assert np.abs(wrong - step[1:]).max() > 0.02  # negative control


def test_a_hundred_thousand_atoms():
    law, delta = PowerLaw(1.0, 100_000), 0.1
    free = FreeConvolution(law, delta)
    assert free.mass == pytest.approx(1, abs=1e-11)
    assert free.second_moment == pytest.approx(1 + delta**2, rel=1e-10)
    assert len(free.support) > 10
    rank = functionals(law, delta, 0.05).rank
    assert rank == pytest.approx(1 - free.cdf(0.05), rel=1e-11)


@pytest.mark.parametrize(("delta", "c"), [(0.4, 0.3), (1.1, 0.9), (0.7, -0.2)])
def test_derivatives_of_the_risk_agree_with_differences(delta, c):
    law, h = MarchenkoPastur(0.5), 1e-5
    f = functionals(law, delta, c)
    in_delta = (functionals(law, delta + h, c).risk - functionals(law, delta - h, c).risk) / (2 * h)
    in_c = (functionals(law, delta, c + h).risk - functionals(law, delta, c - h).risk) / (2 * h)
    assert f.drisk_ddelta == pytest.approx(in_delta, rel=1e-7)
    assert f.drisk_dc == pytest.approx(in_c, rel=1e-7)
