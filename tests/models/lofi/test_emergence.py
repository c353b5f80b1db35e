"""Where features come out: check values, limits, thresholds, and the formula of weak features beside the sharp one."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.lofi.theory.emergence import (
    many_samples,
    sharp,
    sharp_thresholds,
    sides,
    weak,
    weak_thresholds,
)
from presage.models.lofi.theory.label_law import label_laws
from presage.spectra.spiked import spectral_threshold

ONE, THREE = ps.SquaresLink([1.0]), ps.SquaresLink([1.0, -0.7, 0.5])


@pytest.mark.parametrize(
    ("tail", "threshold", "at"),
    [
        (0.0, 0.6250, {2: (1.2699, 0.3852), 4: (0.94861, 0.63464), 16: (0.72792, 0.90194)}),
        (1.0, 0.6334, {4: (1.2207, 0.60853), 16: (0.79398, 0.89697)}),
    ],
)
def test_sharp_numbers_of_one_feature(tail, threshold, at):
    assert ps.thresholds(ps.lofi(ONE, alpha=1.0, tail=tail)).first == pytest.approx(threshold, abs=1e-4)
    for alpha, (eigenvalue, overlap) in at.items():
        found = ps.solve(ps.lofi(ONE, alpha=alpha, tail=tail))
        assert found.eigenvalues[0] == pytest.approx(eigenvalue, abs=6e-5 if eigenvalue > 1 else 6e-6)
        assert found.overlaps[0] == pytest.approx(overlap, abs=6e-5 if alpha == 2 else 6e-6)
        assert found.largest_eigenvalue == found.eigenvalues[0]


def test_edges_of_the_bulk():
    for alpha, edge in ((4.0, 0.71935), (16.0, 0.30607)):
        assert ps.solve(ps.lofi(ONE, alpha=alpha)).upper_edge == pytest.approx(edge, abs=6e-6)
    found = ps.solve(ps.lofi(ONE, alpha=4.0))
    assert -found.lower_edge < found.upper_edge  # labels are skewed
    assert found.bulks[0].left == found.lower_edge
    assert found.outliers == (found.eigenvalues[0],)


def test_sharp_numbers_of_three_features():
    found = ps.solve(ps.lofi(THREE, alpha=8.0))
    assert found.eigenvalues == pytest.approx([0.6617, -0.5307, 0.5016], abs=6e-5)
    assert found.overlaps == pytest.approx([0.7455, 0.6471, 0.5217], abs=6e-5)
    each = ps.thresholds(ps.lofi(THREE, alpha=1.0))
    assert each.alpha == pytest.approx([0.869, 0.935, 3.013], abs=6e-4)
    assert each.weak == pytest.approx([1.140, 2.187, 2.854], abs=6e-4)
    for alpha, seen in {16.0: (0.869, 0.806, 0.753), 64.0: (0.967, 0.949, 0.939)}.items():
        assert ps.solve(ps.lofi(THREE, alpha=alpha)).overlaps == pytest.approx(seen, abs=6e-4)


def test_weak_numbers():
    law = label_laws(THREE)[0]
    assert weak_thresholds(law.square, law.theta) == pytest.approx(law.square / law.theta**2, rel=1e-14)
    found = weak(law, 8.0)
    assert found.overlap == pytest.approx(1.0 - law.square / (8.0 * law.theta**2), rel=1e-12)
    assert found.eigenvalue == pytest.approx(law.theta + law.square / (8.0 * law.theta), rel=1e-12)
    assert found.edges[1] == pytest.approx(2.0 * np.sqrt(law.square / 8.0), rel=1e-12)
    assert ps.thresholds(ps.lofi(ONE, alpha=1.0)).weak_first == pytest.approx(0.64075, abs=6e-6)


def test_the_weak_formula_is_optimistic():
    """A negative control: at eight samples a coordinate it is too good by a tenth, and by little at many."""
    law = label_laws(THREE)[0]
    few = weak(law, 8.0).overlap - sharp(law, THREE.alike, 8.0, 0.0).overlap
    assert (few > 0.07).all()
    many = weak(law, 2000.0).overlap - sharp(law, THREE.alike, 2000.0, 0.0).overlap
    assert np.abs(many).max() < 2e-3


def test_small_labels_tend_to_the_formula_of_weak_features():
    link = ps.OwnFeatureLink(faint, 1)
    law = label_laws(link)[0]
    alpha = 3.0 * float(weak_thresholds(law.square, law.theta)[0])
    assert alpha > 1000.0
    assert sharp(law, link.alike, alpha, 0.0).overlap == pytest.approx(weak(law, alpha).overlap, abs=0.02)
    for tail in (0.0, 1.0):  # the tail leaves the threshold of weak features where it is
        assert sharp_thresholds(link, tail)[0] == pytest.approx(alpha / 3.0, rel=0.05)


def faint(h):
    return np.cos(6.0 * h[:, 0]) + 0.02 * np.tanh(h[:, 0] ** 2)


def test_many_samples():
    law = label_laws(THREE)[0]
    assert many_samples(law, 32.0) == pytest.approx([0.0656, 0.1041, 0.1219], abs=6e-5)
    exact = 1.0 - sharp(law, THREE.alike, 32.0, 0.0).overlap
    assert exact == pytest.approx([0.0658, 0.1009, 0.1236], abs=6e-5)
    far = 1.0 - sharp(law, THREE.alike, 1e5, 0.0).overlap
    assert far == pytest.approx(many_samples(law, 1e5), rel=1e-3)


@pytest.mark.parametrize("tail", [0.0, 0.14159, 2.0])
def test_nothing_is_seen_below_a_threshold(tail):
    each = ps.thresholds(ps.lofi(THREE, alpha=1.0, tail=tail)).alpha
    for k, threshold in enumerate(each):
        below, above = (ps.solve(ps.lofi(THREE, alpha=f * threshold, tail=tail)).overlaps[k] for f in (0.999, 1.001))
        assert below == 0.0
        assert 0.0 < above < 0.01


def test_a_side_is_that_of_the_signal():
    """The same labels with the other sign: eigenvalues change theirs, overlaps do not."""
    plus, minus = (ps.solve(ps.lofi(ps.OwnFeatureLink(f, 1), alpha=4.0, tail=0.5)) for f in (squashed, minus_squashed))
    assert plus.eigenvalues == pytest.approx(-minus.eigenvalues, rel=1e-9)
    assert plus.overlaps == pytest.approx(minus.overlaps, rel=1e-9)
    assert plus.upper_edge == pytest.approx(-minus.lower_edge, rel=1e-9)


def squashed(h):
    return np.tanh(h[:, 0] ** 2 - 1.0)


def minus_squashed(h):
    return -np.tanh(h[:, 0] ** 2 - 1.0)


def against(h):
    """The second moment of these labels is small and positive; beyond two standard deviations they are negative."""
    size = np.abs(h[:, 0])
    return np.where(size > 2.0, -1.0, np.where(size > 1.2, 0.92, 0.0))


def test_a_feature_comes_out_against_its_second_moment():
    problem = ps.lofi(ps.OwnFeatureLink(against, 1), alpha=4.0)
    assert 0.005 < label_laws(problem.link)[0].theta[0] < 0.015
    assert ps.thresholds(problem).first == pytest.approx(1.443, abs=2e-3)
    found = ps.solve(problem)
    assert found.overlaps[0] == pytest.approx(0.1193, abs=5e-4)
    assert found.eigenvalues[0] < found.lower_edge
    assert not any("both sides" in line for line in found.caveats)
    both = ps.solve(problem.replace(alpha=20.0))
    assert any("feature 1 comes out on both sides" in line for line in both.caveats)
    seen = ps.simulate(problem.replace(alpha=20.0), d=400, seeds=6, processes=1)
    error = seen.overlaps.std(ddof=1) / np.sqrt(6)
    assert error < 0.05
    assert seen.overlaps.mean() == pytest.approx(both.overlaps[0], abs=4 * error)


def test_a_side_that_is_left_out_shows_nothing():
    law = label_laws(THREE)[0]
    assert [sides(law, k) for k in range(3)] == [(1.0,), (-1.0,), (1.0,)]
    for k in range(3):
        other = -sides(law, k)[0]
        assert np.isinf(spectral_threshold(other * law.y, law.labels(k)))
    assert sides(label_laws(ps.OwnFeatureLink(against, 1))[0], 0) == (1.0, -1.0)


def three_of_four(h):
    return THREE(h[:, :3])


def test_a_fourth_feature_that_labels_do_not_contain_is_never_seen():
    """Of more than three features nodes are nets, and what these leave by chance is no signal."""
    problem = ps.lofi(ps.OwnFeatureLink(three_of_four, 4), alpha=8.0)
    found = ps.thresholds(problem)
    assert found.alpha[:3] == pytest.approx([0.869, 0.935, 3.013], rel=0.02)
    assert np.isinf(found.last)
    assert np.isinf(found.weak_last)
    assert found.error_bars["last"] == 0.0
    assert any("never emerge" in line for line in found.caveats)
    assert any("no second moment along feature 4" in line for line in ps.solve(problem).caveats)
    assert list(ps.recovery(problem).feature) == [1, 2, 3]


def test_a_threshold_that_is_finite_by_one_rule_only_has_an_infinite_bar(monkeypatch):
    def by_rule(link, tail, rule=0):
        return ((0.9, np.inf, np.inf), (0.8, 5.0, np.inf))[rule]

    monkeypatch.setattr("presage.models.lofi.thresholds.sharp_thresholds", by_rule)
    found = ps.thresholds(ps.lofi(THREE, alpha=8.0))
    assert found.bars == pytest.approx([0.1, np.inf, 0.0], abs=1e-6)
    assert any("whether feature 2 ever emerges depends" in line for line in found.caveats)


@pytest.mark.parametrize(
    ("tail", "overlaps", "eigenvalues"),
    [(1.0, (0.863, 0.805, 0.738), (0.654, -0.519, 0.482)), (4.0, (0.851, 0.802, 0.702), None)],
)
def test_a_flat_tail(tail, overlaps, eigenvalues):
    found = ps.solve(ps.lofi(THREE, alpha=16.0, tail=tail))
    assert found.overlaps == pytest.approx(overlaps, abs=3e-3)
    if eigenvalues:
        assert found.eigenvalues == pytest.approx(eigenvalues, abs=3e-3)


def test_nested_features():
    each = ps.thresholds(ps.lofi(ps.NestedLink(), alpha=1.0))
    assert each.weak_first == pytest.approx(9.1, abs=0.06)
    for alpha, overlap in {25.0: 0.596, 50.0: 0.777, 100.0: 0.882}.items():
        found = ps.solve(ps.lofi(ps.NestedLink(), alpha=alpha))
        assert found.overlaps == pytest.approx(np.full(8, overlap), abs=2.5e-3)
        assert abs(found.mean_overlap - overlap) < found.error_bars["mean_overlap"] + 1e-3


def test_recovery_has_a_crossing_for_each_feature():
    found = ps.recovery(ps.lofi(THREE, alpha=1.0))
    assert list(found.feature) == [1, 2, 3]
    assert found.alpha == pytest.approx([0.869, 0.935, 3.013], abs=6e-4)
    assert found.meanings["feature"] == "number of the feature, in the order of the link"
    assert found.meanings["eigenvalue"] == "second moment of the labels along it, theta"
    with pytest.raises(ps.InputError, match="Use `alpha`, times the number D of coordinates"):
        _ = found.n


def test_recovery_is_in_the_order_of_the_samples_and_leaves_out_what_is_never_seen():
    found = ps.recovery(ps.lofi(ps.OwnFeatureLink(second_first, 3), alpha=1.0))
    assert list(found.feature) == [2, 1]
    assert np.all(np.diff(found.alpha) > 0.0)
    assert found.followed == (pytest.approx(found.alpha[0] / 10.0), pytest.approx(10.0 * found.alpha[1]))


def second_first(h):
    return np.tanh(0.4 * h[:, 0] ** 2 + h[:, 1] ** 2)


def test_a_feature_without_a_second_moment_is_told():
    link = ps.OwnFeatureLink(one_of_two, 2)
    found = ps.thresholds(ps.lofi(link, alpha=8.0))
    assert np.isinf(found.last)
    assert any("never emerge" in line for line in found.caveats)
    assert any("no second moment along feature 2" in line for line in ps.solve(ps.lofi(link, alpha=8.0)).caveats)


def one_of_two(h):
    return np.tanh(h[:, 0] ** 2)
