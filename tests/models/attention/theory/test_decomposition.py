"""The error in parts and feature by feature: check values, sums, sampled matrices, and a control that must fail."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.decomposition import parts, threshold


@cache
def solved(gamma: float, d: int, n: float, weight_decay: float, noise: float) -> ps.Solution:
    law = ps.PowerLaw(gamma, d)
    return ps.solve(ps.quadratic_network(law, alpha=n / d**2, weight_decay=weight_decay, noise=noise))


PHASES = {  # (gamma, d, n, weight decay, noise)
    "Ia": (2.0, 1000, 100.0, 1e-3, 0.5),
    "Ib": (1.25, 1000, 1e4, 2.0, 0.5),
    "II": (1.25, 1000, 1e8, 100.0, 0.5),
    "III": (0.75, 300, 9e7, 1.0, 1e-5),
    "IV": (1.25, 1000, 2e4, 1e-3, 0.5),
    "V": (2.0, 1000, 1e5, 1e-3, 0.5),
    "peak": (2.0, 1000, 2.5e5, 1e-3, 0.5),
    "VIa": (1.25, 1000, 1e7, 1e-3, 0.5),
    "VIb": (1.25, 300, 9e8, 0.01, 1e-5),
    "carries signal": (0.75, 1000, 1e6, 1.0, 0.5),
    "without noise": (2.0, 400, 1e5, 0.01, 0.0),
}


# --- numbers


def test_check_values():
    """Points 1 and 2, to every digit shown."""
    one = solved(1.25, 1000, 1e5, 0.01, 0.5)
    assert one.estimation_error == pytest.approx(0.2363295585, abs=0.5e-10)
    assert one.decomposition.overfitting == pytest.approx(0.15646118, abs=0.5e-8)
    assert one.decomposition.not_learned == pytest.approx(0.016927473, abs=0.5e-9)
    assert one.decomposition.approximation == pytest.approx(0.062940901, abs=0.5e-9)
    assert one.features.number_learned == 9
    assert len(one.outliers) == 7
    two = solved(1.25, 400, 4e4, 0.05, 0.5)
    assert two.decomposition.overfitting == pytest.approx(0.33417763, abs=0.5e-8)
    assert two.decomposition.not_learned == pytest.approx(0.019949804, abs=0.5e-9)
    assert two.decomposition.approximation == pytest.approx(0.11565956, abs=0.5e-8)


@pytest.mark.parametrize(
    ("i", "F", "e", "digits"),
    [(1, 16.948563, 1.4400895, 1e-7), (8, 1.1705294, 0.69982464, 1e-8), (50, 0.41417605, 0.44634175, 1e-8)],
)
def test_check_values_of_features(i, F, e, digits):
    """Point 3; the isolated formula says .263 for the eighth, which is inside of the bulk."""
    table = solved(1.25, 400, 4e4, 0.05, 0.5).features
    assert table.F[i - 1] == pytest.approx(F, abs=5 * digits)
    assert table.e[i - 1] == pytest.approx(e, abs=0.5 * digits)


@pytest.mark.parametrize(("n_eff", "learned"), [(150, 10), (200, 9), (245, 5), (252, 3), (260, 4), (300, 9), (400, 14)])
def test_features_are_forgotten_at_the_peak(n_eff, learned):
    found = solved(1.25, 1000, 1e3 * n_eff, 1e-4, 0.5)
    assert found.features.number_learned == learned
    assert round(1000 * found.decomposition.learned) == learned


# --- identities


@pytest.mark.parametrize("phase", PHASES)
def test_the_parts_sum_to_the_error(phase):
    found = solved(*PHASES[phase])
    assert found.decomposition.total == pytest.approx(found.estimation_error, rel=1e-9)
    assert found.decomposition.rescaling == pytest.approx(0.0, abs=1e-9 * found.estimation_error)


@pytest.mark.parametrize("phase", PHASES)
def test_errors_of_the_features_sum_to_the_error(phase):
    """The other way to the same error: overlaps, one by one, instead of their mean."""
    found = solved(*PHASES[phase])
    table = found.features
    assert table.mass @ table.e == pytest.approx(found.estimation_error, rel=2e-9)
    assert table.unresolved < 1e-9
    assert table.mass @ table.F**2 <= found.overlaps.q * (1 + 1e-9)  # what is learned along is part of what is learned


def test_the_phases_lie_on_both_sides_of_the_noise():
    chi = {phase: solved(*PHASES[phase]).cutoff / solved(*PHASES[phase]).delta for phase in PHASES}
    assert {phase for phase in PHASES if chi[phase] > 2.0} == {"Ib", "II", "III", "without noise"}


@pytest.mark.parametrize("phase", ["IV", "V", "peak", "VIa", "carries signal"])
def test_parts_are_sums_over_the_features(phase):
    """By the overlap of every single feature: ``overfitting = int f^2 mu - 2 mean s_i F_i`` of the bulk."""
    found = solved(*PHASES[phase])
    t, c, split = found.delta**2, found.cutoff, found.decomposition.split
    x = c + split * (np.arange(4000) + 0.5) / 4000  # the midpoint rule, with nothing of the quadrature above
    rho, h = found._free.density(x), found._free.hilbert(x)
    s = found.problem.target.atoms.positions
    overlap = t / (((x - t * h)[:, None] - s) ** 2 + ((np.pi * t * rho) ** 2)[:, None])
    F = (rho * (x - c)) @ overlap * split / len(x)
    square = float(np.mean(rho * (x - c) ** 2)) * split
    assert square - 2.0 * np.mean(s * F) == pytest.approx(found.decomposition.overfitting, abs=1e-4 * square)
    assert abs(square - np.mean(s * F) - found.decomposition.overfitting) > 1e-3 * square  # 1 in place of 2


@pytest.mark.parametrize("target", [ps.MarchenkoPastur(0.3), ps.Semicircle(1.0, 0.5), ps.PointMasses([0, 1, 3.0])])
@pytest.mark.parametrize("weight_decay", [0.01, 3.0])
def test_any_law_has_its_parts(target, weight_decay):
    found = ps.solve(ps.quadratic_network(target, alpha=0.5, weight_decay=weight_decay, noise=0.2))
    assert found.decomposition.total == pytest.approx(found.estimation_error, rel=1e-9)
    assert found.decomposition.not_learned <= target.second_moment


def test_a_learned_feature_is_one_whose_eigenvalue_is_kept():
    rng = np.random.default_rng(0)
    for delta, c, s in rng.uniform(0.01, 3.0, (2000, 3)):
        kept = s > delta and s + delta**2 / s > c
        assert (s > threshold(delta, c)) == kept


@pytest.mark.parametrize("w", [1e-3, 1e-2, 0.1])
def test_an_outlier_is_more_than_a_learned_feature(w):
    """An atom of mass w has a band of its own from ``delta (w^(1/3) + (1-w)^(1/3))^(3/2)`` on."""
    separate = (w ** (1 / 3) + (1 - w) ** (1 / 3)) ** 1.5
    for factor, bands in ((0.999, 1), (1.001, 2)):
        law = ps.PointMasses([0.0, separate * factor], [1 - w, w])
        assert len(ps.FreeConvolution(law, 1.0).bands) == bands
    assert separate > 1.0 == threshold(1.0, 0.0)
    one = solved(1.25, 1000, 1e5, 0.01, 0.5)
    assert len(one.outliers) < one.features.number_learned


def test_a_narrow_student_has_no_part_below_what_it_keeps():
    """Of width 26 at d = 400: no noise is kept, and the features that are not are lost."""
    kappa = 26 / 400
    problem = ps.quadratic_network(
        ps.PowerLaw(1.25, 400), alpha=1.0, weight_decay=0.1 / sqrt(kappa), noise=0.1, kappa=kappa
    )
    found = ps.solve(problem)
    assert found.estimation_error == pytest.approx(0.00788236758, rel=1e-6)
    assert found.decomposition.total == pytest.approx(found.decomposition.error, rel=1e-9)
    assert found.decomposition.error == pytest.approx(found.estimation_error, rel=1e-6)
    assert found.decomposition.overfitting == 0.0
    assert found.features.mass @ found.features.e == pytest.approx(found.decomposition.error, rel=1e-8)
    assert found.learned_above > found.delta


def test_attention_has_the_parts_of_its_rescaled_matrix():
    problem = ps.attention(ps.PowerLaw(1.25, 200), alpha=0.2, weight_decay=0.01, noise=0.5)
    found = ps.solve(problem)
    rescaled = found.q / found.scale**2 - 2 * found.m / found.scale + problem.Q_0
    said = found.decomposition
    assert said.total == pytest.approx(rescaled, rel=1e-9)
    assert said.total + said.rescaling == pytest.approx(found.estimation_error, rel=1e-9)
    assert found.features.mass @ found.features.e == pytest.approx(rescaled, rel=1e-9)
    assert any("the estimation error has" in line for line in said.caveats)
    assert 0.0 < said.bars["overfitting"] < 1e-2 * said.error
    isolated = found.features.position[0]
    assert found.spectrum.quantile(1.0) == pytest.approx(isolated, rel=0.1)


# --- experiments: sampled matrices


def draws(found: ps.Solution, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parts, F and e of S_0 + delta GOE, shrunk: sums over its eigenvectors, and no formula of the theory."""
    s = found.problem.target.atoms.positions[::-1]
    d, rng = len(s), np.random.default_rng(5)
    split, learned = found.decomposition.split, found.features.learned
    rows, along, error = [], [], []
    for _ in range(count):
        gaussian = rng.standard_normal((d, d))
        x, w = np.linalg.eigh(np.diag(s) + found.delta * (gaussian + gaussian.T) / sqrt(2 * d))
        f = np.maximum(x - found.cutoff, 0.0)
        S = (w * f) @ w.T
        bulk = (w * np.where(f <= split, f, 0.0)) @ w.T
        out = S - bulk
        over = np.sum(bulk**2) - 2 * np.sum(bulk * np.diag(s))
        rest = np.sum(out**2) - 2 * np.sum(out * np.diag(s)) + np.sum(s[learned] ** 2)
        rows.append([over / d, rest / d, (np.sum(bulk**2) - np.sum(bulk * np.diag(s))) / d])
        along.append(np.diag(S))
        error.append(np.sum((S - np.diag(s)) ** 2, axis=0))
    return np.array(rows), np.array(along), np.array(error)


def z(values: np.ndarray, predicted: np.ndarray | float) -> np.ndarray:
    return np.abs(values.mean(axis=0) - predicted) / (values.std(axis=0, ddof=1) / sqrt(len(values)))


def test_parts_of_sampled_matrices():
    """Within four standard errors; with the coefficient 1 in place of 2, as it has been told, not within twenty."""
    found = solved(1.25, 200, 2e4, 0.05, 0.5)
    rows, _, _ = draws(found, 24)
    said = found.decomposition
    assert z(rows[:, 0], said.overfitting) < 4.0
    assert z(rows[:, 1], said.approximation) < 4.0
    assert z(rows[:, 2], said.overfitting) > 20.0


def test_features_of_sampled_matrices():
    found = solved(1.25, 200, 2e4, 0.05, 0.5)
    _, along, error = draws(found, 24)
    table = found.features
    assert z(along, table.F)[:40].max() < 4.5
    assert z(error, table.e)[:40].max() < 4.5
    alone = found.features.overlap * found.features.position
    edge = found.features.number_learned - 1
    assert z(along, alone)[edge] > 10.0  # a feature that has just been learned is not isolated


# --- words


def test_a_negative_part_is_told_and_not_clipped():
    said = solved(*PHASES["carries signal"]).decomposition
    assert said.overfitting < 0.0
    assert "overfitting is negative" in str(said)
    assert "overfitting is negative" not in str(solved(1.25, 1000, 1e5, 0.01, 0.5).decomposition)


def test_what_has_no_features_says_so():
    found = ps.solve(ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1))
    with pytest.raises(AttributeError, match=r"and this law has a continuous part\. Use `decomposition`"):
        _ = found.features
    with pytest.raises(ps.InputError, match="`target` must be made of single eigenvalues here"):
        found.feature_table(3)
    ridge = ps.solve(ps.unfactorized_attention(ps.MarchenkoPastur(0.5), alpha=0.5, ridge=0.1))
    for name in ("decomposition", "features", "learned_above"):
        with pytest.raises(AttributeError, match=r"Use (NuclearPSD|`decomposition`)"):
            getattr(ridge, name)
    with pytest.raises(ps.InputError, match="`k` must be a whole number >= 1"):
        solved(1.25, 400, 4e4, 0.05, 0.5).feature_table(0)


def test_the_first_features_are_those_of_the_whole_table():
    found = solved(1.25, 400, 4e4, 0.05, 0.5)
    first = found.feature_table(5)
    assert len(first) == 5
    assert pytest.approx(found.features.F[:5], rel=1e-10) == first.F
    assert str(first).startswith("5 of the first 5 features are learned")
    assert "... and 388 rows more" in str(found.features)
    frame = found.features.to_dataframe()
    assert list(frame.columns) == ["s", "mass", "learned", "position", "overlap", "F", "e"]
    assert found.features.as_dict()["columns"]["learned"][:9] == [True] * 8 + [False]


def test_error_bars_follow_from_those_of_noise_level_and_cutoff():
    found = solved(1.25, 400, 4e4, 0.05, 0.5)
    law, delta, c = found.problem.target, found.delta, found.cutoff
    moved = parts(law, delta * 1.001, c * 1.001, 1.0, parts(law, delta, c).cut)
    relative = 1e-3 * found.decomposition.bars["overfitting"] / found._relative("m_hat")
    assert abs(moved.overfitting - found.decomposition.overfitting) < relative
