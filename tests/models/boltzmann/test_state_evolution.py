"""State evolution: iterates and fixed points that are known, and the oracle of Gaussian units."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import presage as ps
from presage.models.boltzmann.theory.fixed_point import reached
from presage.models.boltzmann.theory.sample_means import fields, sample_means
from presage.models.boltzmann.theory.state_evolution import iterates, usual_mixing
from presage.solving.vector_state_evolution import Overlaps

ONE = ps.boltzmann(alpha=8.0, signal=1.0)
TWO = ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2, latents="signs")
TWO_START = Overlaps(np.array([[0.5, 0.2], [-0.1, 0.4]]).T, np.array([[0.8, 0.1], [0.1, 0.8]]), 0.1 * np.eye(2))


def scalars(m, q, v):
    return Overlaps(np.array([[m]]), np.array([[q]]), np.array([[v]]))


def after(problem, start, steps, mixing=None):
    mixing = usual_mixing(problem) if mixing is None else mixing
    return [one.overlaps for one in islice(iterates(problem, start, mixing), steps + 1)]


def test_iterates_of_one_unit():
    """Three iterations from a given start, against numbers that are known."""
    seen = [[float(part[0, 0]) for part in one] for one in after(ONE, scalars(0.3, 0.5, 0.1), 3)[1:]]
    wanted = [(0.80217, 1.20009, 0.45924), (0.92420, 1.22382, 0.26902), (0.90585, 1.11457, 0.24752)]
    np.testing.assert_allclose(seen, wanted, atol=2e-5)


def test_iterates_of_two_units():
    """Two iterations of matrices from a given start, against numbers that are known."""
    _, first, second = after(TWO, TWO_START, 2)
    np.testing.assert_allclose(first.m.T.ravel(), [1.3407, 0.3007, -0.2889, 0.7341], atol=2e-4)
    np.testing.assert_allclose([*first.q[0], first.q[1, 1]], [2.2102, 0.0957, 1.0191], atol=2e-4)
    np.testing.assert_allclose([*first.v[0], first.v[1, 1]], [0.2978, -0.0768, 0.3435], atol=2e-4)
    np.testing.assert_allclose(second.m.T.ravel(), [1.3511, 0.2864, -0.2525, 0.9945], atol=2e-4)


def test_iterates_of_gaussian_units():
    """Iterates that are known, where the price is that of the new weights."""
    problem = ps.boltzmann(ps.GaussianUnits(), alpha=4.0, signal=1.0)
    _, first, _, third = after(problem, scalars(0.2, 0.3, 0.1), 3)
    np.testing.assert_allclose([float(part[0, 0]) for part in first], [0.3658, 0.4181, 0.4115], atol=2e-4)
    np.testing.assert_allclose([float(part[0, 0]) for part in third], [0.5867, 0.6051, 0.2016], atol=2e-4)


@pytest.mark.parametrize("latents", ["gaussian", "signs"])
def test_gaussian_units_end_in_principal_components(latents):
    """The iteration of two units, from overlaps in general position, ends in what eigenvalues of covariances say."""
    problem = ps.boltzmann(ps.GaussianUnits(), alpha=6.0, signal=[2.0, 0.8], units=2, latents=latents)
    start = Overlaps(np.array([[0.3, -0.1], [0.1, 0.2]]), 0.3 * np.eye(2), 0.1 * np.eye(2))
    m, q, v = after(problem, start, 60)[-1]
    known = ps.solve(problem)
    np.testing.assert_allclose(np.linalg.eigvalsh(q), np.sort(np.diag(known.Q)), atol=1e-8)
    np.testing.assert_allclose(np.linalg.eigvalsh(v), np.sort(np.diag(known.V)), atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(m, axis=0), np.linalg.norm(known.M, axis=1), atol=1e-8)
    one = ps.solve(ps.boltzmann(ps.GaussianUnits(), alpha=4.0, signal=1.0))
    np.testing.assert_allclose([one.overlap, one.size, one.V[0, 0], one.replicon], [0.6, 0.6, 0.2, 0.25], atol=1e-12)


# alpha, signal, latents: m, q, v, replicon (checks 3 and 4).
POINTS = [
    (8.0, 1.0, "gaussian", 0.92665, 1.15334, 0.25, 0.22521),
    (8.0, 0.5, "gaussian", 0.54166, 0.87529, 0.375, 0.80571),
    (4.0, 1.0, "gaussian", 0.86997, 1.43193, 0.5, 0.60326),
    (2.0, 2.0, "gaussian", 1.23118, 2.45637, 0.75, 0.72259),
    (16.0, 0.5, "gaussian", 0.65363, 0.66808, 0.1875, 0.33773),
    (8.0, 1.0, "signs", 0.98722, 1.23258, 0.22805, 0.16140),
    (4.0, 2.0, "signs", 1.40853, 2.33125, 0.32616, 0.08808),
    (2.0, 2.0, "signs", 1.38938, 2.67946, 0.65835, 0.31210),
]


@pytest.mark.parametrize(("alpha", "signal", "latents", "m", "q", "v", "replicon"), POINTS)
def test_fixed_points_of_one_unit(alpha, signal, latents, m, q, v, replicon):
    found = ps.solve(ps.boltzmann(alpha=alpha, signal=signal, latents=latents))
    np.testing.assert_allclose(
        [found.overlap, found.size, found.V[0, 0], found.replicon], [m, q, v, replicon], atol=2e-5
    )
    assert found.is_stable
    assert found.caveats == ()


def test_fixed_point_of_two_units():
    """Overlaps that are known, and the identity ``alpha (1 + tanh Q12)(V11 + V12) = 1 + 1/lam_1``."""
    found = ps.solve(ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2))
    np.testing.assert_allclose(np.abs(found.M), [[0.86164] * 2, [0.68421] * 2], atol=2e-5)
    np.testing.assert_allclose([found.Q[0, 0], found.Q[0, 1]], [1.47938, 0.17322], atol=2e-5)
    np.testing.assert_allclose([found.V[0, 0], found.V[0, 1]], [0.23090, -0.07085], atol=2e-5)
    assert found.replicon == pytest.approx(0.2108, abs=2e-4)
    identity = 8.0 * (1.0 + np.tanh(found.Q[0, 1])) * (found.V[0, 0] + found.V[0, 1])
    assert identity == pytest.approx(1.5, abs=1e-9)


def test_rows_are_eigenvectors_for_gaussian_latents():
    """``M_a alpha S V = (1 + 1/lam_a) M_a``, of each direction that is seen: another two units."""
    problem = ps.boltzmann(alpha=6.0, signal=[3.0, 1.5], units=2)
    found = ps.solve(problem)
    turned = found.M @ (problem.alpha * problem.hidden.S(found.Q) @ found.V)
    np.testing.assert_allclose(turned, found.M * (1.0 + 1.0 / problem.signals)[:, None], atol=1e-8)


def test_sign_latents_take_a_unit_each():
    """Two binary units on two directions of signs are two machines of one unit."""
    found = ps.solve(TWO)
    one, other = (ps.solve(ps.boltzmann(alpha=8.0, signal=lam, latents="signs")) for lam in (2.0, 1.0))
    np.testing.assert_allclose(found.M, np.diag([one.overlap, other.overlap]), atol=1e-8)
    np.testing.assert_allclose(found.Q, np.diag([one.size, other.size]), atol=1e-8)
    assert found.replicon == pytest.approx(max(one.replicon, other.replicon), abs=1e-8)
    assert found.train_likelihood == pytest.approx(one.train_likelihood + other.train_likelihood, abs=1e-8)


@pytest.mark.slow
def test_units_that_are_mixed_are_the_same_machine():
    """``h = B s`` with s binary is the machine of s with the weights W B: same loss, other overlaps."""
    B = np.array([[1.0, 0.0], [0.5, 0.5]])
    s = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)
    plain = ps.solve(ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2))
    mixed = ps.solve(ps.boltzmann(ps.JointUnits(s @ B.T), alpha=8.0, signal=[2.0, 1.0], units=2))
    assert mixed.train_likelihood == pytest.approx(plain.train_likelihood, abs=1e-8)
    np.testing.assert_allclose(mixed.alignments, plain.alignments, atol=1e-8)
    assert mixed.replicon == pytest.approx(plain.replicon, abs=1e-8)


def test_values_twice_as_large_are_weights_half_as_large():
    plain = ps.solve(ONE)
    double = ps.solve(ps.boltzmann(ps.FiniteUnits([-2, 2]), alpha=8.0, signal=1.0))
    np.testing.assert_allclose([2 * double.overlap, 4 * double.size], [plain.overlap, plain.size], rtol=1e-9)
    assert double.test_likelihood == pytest.approx(plain.test_likelihood, abs=1e-10)


def test_ternary_units():
    """Units that may be zero: the fixed point against numbers that are known."""
    found = ps.solve(ps.boltzmann(ps.FiniteUnits([-1, 0, 1], [0.25, 0.5, 0.25]), alpha=8.0, signal=1.0))
    values = [found.overlap, found.size, found.V[0, 0], found.replicon]
    np.testing.assert_allclose(values, [1.13723, 1.69702, 0.35701, 0.16177], atol=2e-5)


def test_units_with_a_mean_see_nothing():
    """h in {0, 1}: m = 0 although the signal is far above where principal components see it, and stable."""
    found = ps.solve(ps.boltzmann(ps.FiniteUnits([0, 1]), alpha=8.0, signal=1.0))
    assert found.overlap < 1e-6
    assert found.size == pytest.approx(0.429, abs=1e-3)
    assert found.is_stable
    assert found.pca_alignment > 0.7


def test_undamped_price_of_two_binary_units_does_not_settle():
    """r = 1: Q12 jumps between signs for ever; r = 0.3 settles."""
    settled, wild = after(TWO, TWO_START, 150), after(TWO, TWO_START, 150, mixing=1.0)
    assert np.abs(settled[-1].m - settled[-2].m).max() < 1e-9
    late = [np.abs(one.m - other.m).max() for one, other in zip(wild[-20:], wild[-21:-1], strict=True)]
    assert min(late) > 0.1
    assert max(late) > 0.5


def test_gauss_hermite_with_a_solve_is_wrong():
    """81 nodes of om with a solve for p give m = .925 instead of .870 at alpha = 4, lam = 1."""
    x, w = np.polynomial.hermite_e.hermegauss(81)
    w = w / w.sum()
    alpha, lam, m, q, v = 4.0, 1.0, 0.87, 1.43, 0.5
    for _ in range(400):
        om = np.sqrt(q + lam * m * m) * x
        p = om.copy()
        for _ in range(60):
            g = np.tanh(p)
            p -= (p - om - v * g) / (1.0 - v * (1.0 - g * g))
        g = np.tanh(p)
        H = 1.0 - g * g
        D = alpha * w @ (H / (1.0 - v * H))
        v, m, q = (
            1.0 / (alpha - D),
            D * lam * m / (alpha - D),
            (alpha * w @ (g * g) + (D * lam * m) ** 2) / (alpha - D) ** 2,
        )
    assert m == pytest.approx(0.925, abs=2e-3)
    assert ps.solve(ps.boltzmann(alpha=4.0, signal=1.0)).overlap == pytest.approx(0.870, abs=1e-3)


def test_means_over_p_are_means_over_om():
    """The change of variables: the whole mass is one, and Stein's lemma holds, ``E[om g] = sigma^2 E[dg]``."""
    overlaps = scalars(0.7, 1.1, 0.4)
    problem = ps.boltzmann(alpha=1.0, signal=1.3)
    sigma2 = 1.1 + 1.3 * 0.49
    rng = np.random.default_rng(0)
    om = np.sqrt(sigma2) * rng.standard_normal(400_000)
    p = om.copy()
    for _ in range(80):
        p = om + 0.4 * np.tanh(p)
    found = sample_means(problem, overlaps)
    g = np.tanh(p)
    H = 1.0 - g * g
    assert found.q_hat[0, 0] == pytest.approx(np.mean(g * g), abs=2e-3)
    assert found.D[0, 0] == pytest.approx(np.mean(H / (1.0 - 0.4 * H)), abs=2e-3)
    assert found.replicon == pytest.approx(0.16 * np.mean((H / (1.0 - 0.4 * H)) ** 2), abs=2e-3)
    assert found.phi == pytest.approx(np.mean(np.log(np.cosh(p))), abs=4e-3)


def test_fields_of_sampled_data():
    """The covariance of ``W'x/sqrt(d)`` of data that are really drawn, and its kurtosis for latents of signs."""
    from presage.models.boltzmann.experiment.samples import draw_directions, draw_samples, weights_with_overlaps

    d, rng = 60, np.random.default_rng(1)
    for latents in ("gaussian", "signs"):
        problem = ps.boltzmann(alpha=1.0, signal=[3.0, 1.0], units=2, latents=latents)
        M, Q = np.array([[0.5, 0.2], [-0.1, 0.4]]), np.array([[0.8, 0.1], [0.1, 0.8]])
        directions = draw_directions(d, 2, rng)
        W = weights_with_overlaps(directions, M, Q, rng)
        u = draw_samples(problem, directions, 40_000, rng).A @ W
        law = fields(problem, M.T, Q)
        centred = law.covariance + (law.centres.T * law.chances) @ law.centres
        np.testing.assert_allclose(np.cov(u.T), centred, atol=0.05)
        second = np.mean(u[:, 0] ** 2)
        a, b = np.sqrt(3.0) * 0.5, 0.1
        excess = -2.0 * (a**4 + b**4) if latents == "signs" else 0.0
        assert np.mean(u[:, 0] ** 4) - 3.0 * second**2 == pytest.approx(excess, abs=0.2)


def test_where_the_iteration_goes_from_a_start():
    found = reached(ONE, scalars(0.3, 0.5, 0.1), 1.0, 1e-10)
    assert found is not None
    assert found.residual < 1e-10
    assert found.overlaps.m[0, 0] == pytest.approx(ps.solve(ONE).overlap, abs=1e-9)
