"""Theory beside samples: below and above every threshold, with a tail, and controls that must fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.lofi.experiment.simulate import Known, second_level_r2
from presage.models.lofi.experiment.surrogate import covariances, draw_labels, select

ONE, THREE = ps.SquaresLink([1.0]), ps.SquaresLink([1.0, -0.7, 0.5])
LARGEST = 4.0  # standard errors by which prediction and samples may differ


def test_compare_at_eight_samples_a_coordinate():
    problem = ps.lofi(THREE, alpha=8.0)
    found = ps.compare(ps.solve(problem), *(ps.simulate(problem, d=d, seeds=8, processes=1) for d in (150, 300)))
    assert found.agrees
    assert max(abs(row.z) for row in found.rows) < LARGEST
    assert np.abs(found.features.z).max() < LARGEST


@pytest.mark.parametrize("tail", [1.0, 4.0])
def test_compare_with_a_tail(tail):
    problem = ps.lofi(THREE, alpha=12.0, tail=tail)
    samples = ps.simulate(problem, d=150, seeds=6, processes=1)
    assert max(abs(row.z) for row in ps.compare(ps.solve(problem), samples).rows) < LARGEST
    without = ps.solve(problem.replace(tail=0.0))  # a control: what is predicted without a tail does not hold
    error = samples.standard_error("largest_eigenvalue")
    assert abs(samples.mean("largest_eigenvalue") - without.largest_eigenvalue) > LARGEST * error


def test_the_overlap_of_the_second_level_does_not_depend_on_fresh_samples():
    problem = ps.lofi(ps.NestedLink(3), alpha=10.0)
    few, many = (ps.simulate(problem, d=60, seeds=2, processes=1, n_test=n) for n in (60, 20_000))
    assert np.array_equal(few.deep_overlap, many.deep_overlap)


def test_the_overlap_of_the_second_level_is_that_of_a_regression():
    """On so many samples that what a regression fits by chance is below a thousandth."""
    link, rng = ps.NestedLink(2), np.random.default_rng(0)
    A = np.eye(12, 4)
    known = Known.of(A, A @ rng.standard_normal((4, 4)) + 0.7 * rng.standard_normal((12, 4)))
    s = rng.standard_normal((60_000, 4))
    g = (known.draw(s, rng) ** 2 - 1.0) @ link.second_level.T
    products = np.column_stack([np.ones(len(s)), *(s[:, i] * s[:, j] for i in range(4) for j in range(i + 1))])
    rest = g - products @ np.linalg.lstsq(products, g, rcond=None)[0]
    exact = second_level_r2(link, known)
    assert 0.1 < exact < 0.9
    assert exact == pytest.approx(np.mean(1.0 - np.var(rest, axis=0) / np.var(g, axis=0)), abs=0.015)


def test_eigenvalues_and_edges_are_where_they_are_predicted():
    problem = ps.lofi(THREE, alpha=8.0)
    theory, seen = ps.solve(problem), ps.simulate(problem, d=400, seeds=6, processes=1)
    ordered = np.sort(seen.eigenvalues, axis=1)
    error = ordered.std(axis=0, ddof=1).max() / np.sqrt(6)
    assert error < 0.01
    assert ordered.mean(axis=0) == pytest.approx([-0.5307, 0.5016, 0.6617], abs=4 * error)
    assert seen.edges.mean(axis=0) == pytest.approx([theory.lower_edge, theory.upper_edge], abs=0.02)
    assert seen.edges.mean(axis=0)[1] > 1.05 * -seen.edges.mean(axis=0)[0]  # of skewed labels both differ


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "seeds"), [(0.55, 8), (1.8, 8)])
@pytest.mark.parametrize("tail", [0.0, 1.0])
@pytest.mark.parametrize("feature", [0, 1, 2])
def test_compare_below_and_above_every_threshold(feature, factor, tail, seeds):
    problem = ps.lofi(THREE, alpha=1.0, tail=tail)
    problem = problem.replace(alpha=float(factor * ps.thresholds(problem).alpha[feature]))
    theory = ps.solve(problem)
    assert (theory.overlaps[feature] > 0.0) == (factor > 1.0)
    sizes = (300, 600) if tail == 0.0 else (150, 300)
    found = ps.compare(theory, *(ps.simulate(problem, d=d, seeds=seeds, processes=1) for d in sizes))
    assert max(abs(row.z) for row in found.rows) < LARGEST
    seen = ps.simulate(problem, d=sizes[1], seeds=seeds, processes=1).overlaps.mean(axis=0)[feature]
    assert (seen < 0.12) if factor < 1.0 else abs(seen - theory.overlaps[feature]) < 0.12


@pytest.mark.slow
def test_near_a_threshold_at_a_large_size():
    """Three samples a coordinate: the third feature is just below its threshold."""
    problem = ps.lofi(THREE, alpha=3.0)
    theory, seen = ps.solve(problem), ps.simulate(problem, d=1200, seeds=6, processes=1)
    assert theory.overlaps == pytest.approx([0.430, 0.322, 0.0], abs=6e-4)
    assert theory.eigenvalues[:2] == pytest.approx([0.924, -0.789], abs=6e-4)
    assert seen.overlaps.mean(axis=0)[:2] == pytest.approx([0.430, 0.322], abs=0.04)
    one = ps.simulate(ps.lofi(ONE, alpha=2.0), d=1500, seeds=4, processes=1)
    assert one.mean("first_overlap") == pytest.approx(0.3852, abs=4 * one.standard_error("first_overlap"))
    assert one.mean("largest_eigenvalue") == pytest.approx(1.2699, abs=4 * one.standard_error("largest_eigenvalue"))


@pytest.mark.slow
def test_nested_features_below_and_above_their_threshold():
    for alpha, emerged in ((4.0, 0), (50.0, 8)):
        problem = ps.lofi(ps.NestedLink(), alpha=alpha)
        theory = ps.solve(problem)
        assert theory.emerged == emerged
        found = ps.compare(theory, *(ps.simulate(problem, d=d, seeds=4, processes=1) for d in (200, 400)))
        assert max(abs(row.z) for row in found.rows) < LARGEST


def test_an_edge_is_approached_more_slowly_than_an_outlier():
    below, above = (ps.solve(ps.lofi(THREE, alpha=alpha)) for alpha in (0.5, 8.0))
    powers = [{one.name: one.correction for one in found.known_observables} for found in (below, above)]
    assert [power["largest_eigenvalue"] for power in powers] == [pytest.approx(2 / 3), 1.0]
    assert below.largest_eigenvalue == max(below.upper_edge, -below.lower_edge)


def test_by_the_size_of_eigenvalues_the_bulk_comes_before_a_feature():
    """A negative control: of skewed labels one edge is far out, and hides an outlier at the other side.

    Labels are rarely large and positive: the bulk ends further above than below, where the feature comes out.
    """
    problem = ps.lofi(ps.OwnFeatureLink(skewed, 2), alpha=2.5)
    theory = ps.solve(problem)
    assert theory.upper_edge > abs(theory.eigenvalues[1])
    assert theory.overlaps[1] > 0.2
    sides, size = (
        ps.simulate(problem, d=200, seeds=6, trainer=ps.LowDegreeFilter(pick), processes=1)
        for pick in ("sides", "size")
    )
    assert sides.overlaps.mean(axis=0)[1] == pytest.approx(theory.overlaps[1], abs=0.12)
    assert size.overlaps.mean(axis=0)[1] < 0.1


def skewed(h):
    """Large where the first feature is; small and negative where the second is."""
    return 4.0 * (np.abs(h[:, 0]) > 2.0) - 0.8 * np.tanh(h[:, 1] ** 2 - 1.0)


def test_the_matrix_is_a_sum_over_samples():
    problem, D = ps.lofi(THREE, alpha=2.0), 20
    rng = np.random.default_rng(0)
    h, y = draw_labels(problem, 40, rng)
    assert y.sum() == pytest.approx(0.0, abs=1e-12)
    C, _ = covariances(h, y, rng.permutation(y), D, np.random.default_rng(5), 1)
    parts = np.random.default_rng(5).spawn(8)
    x = np.concatenate([part.standard_normal((5, D), dtype=np.float32) for part in parts]).astype(np.float64)
    x[:, :3] = h
    assert pytest.approx(sum(y[mu] * np.outer(x[mu], x[mu]) for mu in range(40)) / 40, abs=1e-6) == C


@pytest.mark.parametrize("alpha", [0.7, 3.0])
def test_few_samples_with_a_tail_are_diagonalised_at_once(alpha, monkeypatch):
    """The same eigenvalues and directions whether all eigenvectors are computed or some are looked for."""
    problem = ps.lofi(THREE, alpha=alpha, tail=0.5)
    dense = select(problem, 120, "sides", np.random.default_rng(2), 1)
    monkeypatch.setattr("presage.models.lofi.experiment.surrogate.DENSE", 0)
    sparse = select(problem, 120, "sides", np.random.default_rng(2), 1)
    assert sparse.values == pytest.approx(dense.values, rel=1e-7)
    assert np.abs(np.sum(sparse.vectors * dense.vectors, axis=0)) == pytest.approx(np.ones(3), abs=1e-5)
    assert sparse.edges == pytest.approx(dense.edges, rel=1e-7)
    assert sparse.largest == pytest.approx(dense.largest, rel=1e-7)


def test_eigenvalues_that_do_not_settle_are_told(monkeypatch):
    def stuck(*_, **__):
        raise scipy.sparse.linalg.ArpackNoConvergence("no", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", stuck)
    with pytest.raises(ps.TrainError, match="of 720 samples with a tail did not settle"):
        select(ps.lofi(THREE, alpha=6.0, tail=0.5), 120, "sides", np.random.default_rng(2), 1)


def test_numbers_do_not_depend_on_threads_or_processes():
    problem = ps.lofi(THREE, alpha=4.0)
    one, two = (select(problem, 120, "sides", np.random.default_rng(1), threads) for threads in (1, 2))
    assert np.array_equal(one.vectors, two.vectors)
    first, second = (ps.simulate(problem, d=60, seeds=2, processes=p) for p in (1, 2))
    assert np.array_equal(first.floor, second.floor)


def test_the_model_is_checked():
    assert "nothing found" in str(ps.check_model(ps.lofi(THREE, alpha=10.0), d=(100, 200)))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: ps.lofi(anything(np.tanh), alpha=2.0), "`link` must be a FeatureLink"),
        (lambda: ps.lofi(ONE, alpha=0.0), "`alpha` must be a finite number >= 0.001"),
        (lambda: ps.lofi(ONE, alpha=1.0, tail=-1.0), "`tail` must be a finite number >= 0"),
        (lambda: ps.SquaresLink([]), "`strengths` must be a list of 1 to 12 numbers"),
        (lambda: ps.SquaresLink([1.0, 0.0]), "`strengths` must be no zero"),
        (lambda: ps.NestedLink(9), "`size` must be a whole number >= 2 and <= 6"),
        (lambda: ps.OwnFeatureLink(anything("f"), 2), "`function` must be a function"),
        (lambda: ps.lofi(ps.OwnFeatureLink(unbounded, 1), alpha=1.0), "`link` must be bounded.*Clip or squash them"),
        (lambda: ps.lofi(ps.OwnFeatureLink(constant, 1), alpha=1.0), "`link` must differ between samples"),
        (lambda: ps.lofi(ps.OwnFeatureLink(two_columns, 2), alpha=1.0), "`link` must give one finite number a row"),
        (lambda: ps.simulate(ps.lofi(THREE, alpha=9.0), d=3), "`d` must be larger than 6: 3 features are directions"),
        (lambda: ps.simulate(ps.lofi(THREE, alpha=0.1), d=20), "`alpha` must be larger at d = 20"),
        (lambda: ps.simulate(ps.lofi(THREE, alpha=9.0), d=20, trainer=ps.LBFGS()), "`trainer` must be a LowDegree"),
        (lambda: ps.LowDegreeFilter(anything("all")), '`pick` must be "sides" or "size"'),
    ],
)
def test_wrong_problems_are_told_in_a_sentence(made, said):
    with pytest.raises(ps.InputError, match=said):
        made()


def anything(value: Any) -> Any:
    return value


def unbounded(h):
    return h[:, 0] ** 2


def constant(h):
    return np.ones(len(h))


def two_columns(h):
    return h
