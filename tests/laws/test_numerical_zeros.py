"""A matrix of low rank has that rank: what rounding leaves of its zeros counts for nothing, and is said."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.laws.numerical_zeros import with_numerical_zeros


def product(d, rank, seed=0, kind=np.float64):
    W = np.random.default_rng(seed).standard_normal((d, rank)).astype(kind)
    return W @ W.T / np.sqrt(kind(rank * d))


def rectangular(rows, columns, rank, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns)) / np.sqrt(rank * rows)


@pytest.mark.parametrize(("d", "rank"), [(40, 10), (200, 50), (300, 1), (30, 90)])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_matrix_of_low_rank_has_that_rank(d, rank, kind):
    law, found = ps.Empirical(product(d, rank, kind=kind)), min(rank, d)
    assert law.nonzero == pytest.approx(found / d)
    assert law.support[0, 0] >= 0.0
    assert law.rounded == d - found
    assert len(law.atoms.positions) == found + (found < d)
    listed = ps.Empirical(np.linalg.eigvalsh(product(d, rank, kind=kind)))
    assert listed.nonzero == pytest.approx(found / d)


def test_small_eigenvalues_above_rounding_stay():
    values = np.array([1e-12, 1e-10, -1e-9, 0.5, 1.0])
    law = ps.Empirical(values)
    assert law.rounded == 0
    assert law.notes == ()
    np.testing.assert_array_equal(np.sort(values), law.eigenvalues)
    np.testing.assert_array_equal(with_numerical_zeros(values, 5), values)


def test_single_precision_loses_no_tail_of_a_power_law():
    values = np.arange(1, 4097, dtype=np.float64) ** -1.25
    law = ps.Empirical(values.astype(np.float32))
    assert law.nonzero == 1.0
    assert law.notes == ()


@pytest.mark.parametrize("make", [ps.Empirical, ps.SingularValueMasses, ps.SingularValueMasses.of_matrix])
def test_half_precision_is_refused(make):
    with pytest.raises(ValueError, match=r"must be of single or double precision: .* Got .*float16"):
        make(np.eye(3, dtype=np.float16) if make != ps.SingularValueMasses else np.ones(3, dtype=np.float16))


def test_what_is_zero_is_no_rounding_and_another_law_has_notes_of_its_own():
    assert ps.SingularValueMasses.of_matrix(np.diag([1.0, 2.0, 0.0])).notes == ()
    assert ps.Empirical(np.diag([1.0, 2.0, 0.0])).notes == ()
    problem = ps.quadratic_network(ps.Empirical([1e-20, 1.0, 2.0]), alpha=1.0, weight_decay=0.1)
    assert "1 of the 3 eigenvalues" in problem.notes[0]
    assert problem.replace(eigenvalues=[1.0, 2.0, 3.0, 4.0]).notes == ()
    assert "rounded" not in problem.names()


def test_the_rounding_scales_with_the_matrix_and_its_size():
    values = np.array([1e-15, 1.0])
    assert with_numerical_zeros(values, 10)[0] == 0.0
    assert with_numerical_zeros(values, 2)[0] == 1e-15
    assert with_numerical_zeros(1e-30 * values, 10)[0] == 0.0
    assert with_numerical_zeros(1e-30 * values, 2)[0] > 0.0
    assert with_numerical_zeros(np.array([1e-7, 1.0]), 2, np.float32)[0] == 0.0
    assert with_numerical_zeros(np.array([2e-6, 1.0]), 4096, np.float32)[0] > 0.0
    assert with_numerical_zeros(np.zeros(3), 3).tolist() == [0.0, 0.0, 0.0]


def test_a_matrix_of_ones_own_has_the_thresholds_of_its_rank():
    """Recovery depends on the rank alone: that of Marchenko-Pastur at kappa_0 = 1/4, but for the atoms' own weights."""
    own = ps.attention(ps.Empirical(product(200, 50)), alpha=0.5, weight_decay=0.01)
    known = ps.thresholds(own.replace(target=ps.MarchenkoPastur(0.25)))
    found = ps.thresholds(own)
    assert found.perfect_recovery == pytest.approx(known.perfect_recovery, rel=1e-12)
    assert found.interpolation == pytest.approx(known.interpolation, rel=1e-9)
    assert found.bayes_recovery == pytest.approx(0.109, abs=5e-4)
    assert not any("negative" in line for line in found.caveats)
    assert found.caveats[0].startswith("150 of the 200 eigenvalues of the target are below rounding")


@pytest.mark.parametrize("verb", [ps.solve, ps.ridgeless, ps.bayes_optimal])
def test_every_answer_says_what_counts_as_zero(verb):
    problem = ps.quadratic_network(ps.Empirical(product(40, 10)), alpha=0.6, weight_decay=0.01)
    answer = verb(problem)
    assert any("30 of the 40 eigenvalues" in line for line in answer.caveats)
    assert not any("negative" in line for line in answer.caveats)
    if verb is ps.ridgeless:
        assert answer.estimation_error == 0.0
        assert answer.rank == pytest.approx(0.25)


def test_singular_values_of_a_matrix_of_low_rank():
    matrix = rectangular(60, 120, 15)
    for law in (
        ps.SingularValueMasses.of_matrix(matrix),
        ps.SingularValueMasses.of_matrix(matrix.T),
        ps.SingularValueMasses(np.linalg.svd(matrix, compute_uv=False), aspect=2.0),
    ):
        assert law.aspect == 2.0
        assert law.nonzero == pytest.approx(0.25)
        assert "45 of the 60 singular values" in law.notes[0]
        problem = ps.bilinear_regression(law, alpha=1.0, weight_decay=0.01)
        like = ps.thresholds(problem.replace(target=ps.GaussianProduct(0.25, 2.0)))
        found = ps.thresholds(problem)
        assert found.minimal_nuclear_norm == pytest.approx(like.minimal_nuclear_norm, rel=1e-12)
        assert found.strong_recovery == pytest.approx(like.strong_recovery, rel=1e-2)
        for verb in (ps.thresholds, ps.solve, ps.bayes_optimal):
            assert any("singular values" in line for line in verb(problem).caveats)


def test_a_small_singular_value_is_not_lost_in_its_square():
    law = ps.SingularValueMasses([1e-9, 1.0])
    assert law.nonzero == 1.0
    assert law.squared.atoms.positions[0] == pytest.approx(1e-18)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((0, 2)), [["a", "b"]]])
def test_what_is_no_matrix_is_refused(bad):
    with pytest.raises(ValueError, match="`matrix` must"):
        ps.SingularValueMasses.of_matrix(bad)


def test_values_with_weights_are_kept_and_spoken_of():
    """A law that somebody writes down is what it says; eigenvalues that somebody computed are better given as such."""
    assert ps.PointMasses([0.0, 1e-6, 1.0]).notes == ()
    law = ps.PointMasses(np.linalg.eigvalsh(product(40, 10)))
    assert law.nonzero == 1.0
    assert "use Empirical" in law.notes[0]
    assert law.notes[0] in ps.thresholds(ps.quadratic_network(law, alpha=1.0, weight_decay=0.1)).caveats


def test_trained_networks_have_zeros_and_no_rounding():
    problem = ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=1.0, weight_decay=0.5, noise=0.1)
    networks = ps.simulate(problem, d=20, seeds=2, n_test=50, processes=1)
    for eigenvalues, rank in zip(networks.eigenvalues, networks.rank, strict=True):
        tiny = (eigenvalues != 0.0) & (np.abs(eigenvalues) < 1e-14)
        assert not tiny.any()
        assert np.count_nonzero(eigenvalues) >= round(20 * rank)
    matrices = ps.bilinear_regression(ps.GaussianProduct(0.2), alpha=1.0, weight_decay=0.5, noise=0.1)
    fits = ps.simulate(matrices, d=20, seeds=2, n_test=50, processes=1)
    for values, rank in zip(fits.singular_values, fits.rank, strict=True):
        assert np.count_nonzero(values) == round(20 * rank) < 20
