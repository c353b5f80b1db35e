"""What a solution tells: spectrum, singular values, bulks and outliers, bars on every number, words."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import presage as ps
from presage.spectra.symmetric.learned import LearnedSpectrum

MP = ps.MarchenkoPastur
ATTENTION = ps.attention(MP(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
PROBLEMS = {
    "attention": ATTENTION,
    "much data": ATTENTION.replace(alpha=40.0),
    "quadratic network": ps.quadratic_network(MP(0.2), alpha=0.5, weight_decay=0.02, noise=0.5),
    "power law": ps.quadratic_network(ps.PowerLaw(1.25, 400), alpha=0.2, weight_decay=0.02, noise=0.5),
    "atoms": ps.linear_attention(ps.PointMasses([0.0, 3.0], [0.7, 0.3]), alpha=0.5, weight_decay=0.05, noise=0.3),
    "all zero": ps.quadratic_network(MP(0.2), alpha=0.1, weight_decay=10.0, noise=0.5),
    "ridge": ps.unfactorized_attention(MP(0.5), alpha=0.5, ridge=0.05, noise=0.5),
    "linear ridge": ps.Problem(MP(0.5), ps.Linear(1), ps.Frobenius(0.05), 0.5, 0.5),
}
FACTORIZED = [name for name in PROBLEMS if "ridge" not in name]
LEARNED = [name for name in FACTORIZED if name != "all zero"]


@cache
def solved(name: str) -> ps.Solution:
    return ps.solve(PROBLEMS[name])


@pytest.mark.parametrize("name", PROBLEMS)
def test_second_moment_of_the_spectrum_is_q(name):
    s = solved(name)
    assert s.spectrum.moment(2) == pytest.approx(s.overlaps.q, rel=1e-11)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_penalty_is_an_average_over_the_spectrum(name):
    s = solved(name)
    penalty = s.train_loss - s.problem.alpha * s.train_error
    if isinstance(s.problem.penalty, ps.NuclearPSD):
        expected = s.problem.penalty.lambda_tilde(s.problem.kappa) * s.spectrum.moment(1)
    else:
        expected = 0.05 * s.spectrum.moment(2)
    assert penalty == pytest.approx(expected, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize(("name", "excess"), [("attention", 0.126), ("much data", 0.299)])
def test_with_the_scale_of_print_the_second_moment_is_not_q(name, excess):
    """Negative control: [BETKZ25] (13) has scale = 1, and is 13 to 30 % off here; for linear channels it is right."""
    s = solved(name)
    printed = LearnedSpectrum(s.spectrum.free, 1.0, s.cutoff)
    assert printed.moment(2) / s.overlaps.q - 1 == pytest.approx(excess, abs=1e-3)
    assert solved("quadratic network").scale == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("name", LEARNED)
def test_singular_values_are_square_roots(name):
    s = solved(name)
    law, singular = s.spectrum, s.singular_values
    for k in (1, 2, 3):
        assert singular.moment(2 * k) == pytest.approx(law.moment(k), rel=1e-11)
    x = np.linspace(0.05, 1.1 * np.sqrt(law.support[-1, 1]), 40)
    np.testing.assert_allclose(singular.cdf(x), law.cdf(x**2), atol=1e-12)
    np.testing.assert_allclose(singular.density(x), 2 * x * law.density(x**2), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(singular.support, np.sqrt(law.support), rtol=1e-12)
    levels = np.linspace(0.02, 0.98, 9)
    np.testing.assert_allclose(singular.quantile(levels) ** 2, law.quantile(levels), rtol=1e-9, atol=1e-12)
    draws = [law_.sample(50, np.random.default_rng(1)) for law_ in (singular, law)]
    np.testing.assert_allclose(draws[0] ** 2, draws[1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["ridge", "linear ridge"])
def test_a_matrix_trained_entry_by_entry_has_no_singular_values(name):
    s = solved(name)
    with pytest.raises(AttributeError, match="trains S itself"):
        _ = s.singular_values
    assert s.rank == 1.0
    assert s.cutoff == -np.inf
    assert s.spectrum.atoms.masses.size == 0


@pytest.mark.parametrize("name", FACTORIZED)
def test_rank_is_the_mass_above_zero(name):
    s = solved(name)
    assert s.rank == pytest.approx(1.0 - s.spectrum.cdf(0.0), abs=1e-12)
    assert s.spectrum.atoms.masses.sum() == pytest.approx(1.0 - s.rank, abs=1e-12)
    x = np.linspace(-1.0, 1.1 * s.spectrum.support[-1, 1] + 0.1, 200)
    assert np.all(np.diff(s.spectrum.cdf(x)) >= 0)
    assert s.spectrum.cdf(x[-1]) == pytest.approx(1.0, abs=1e-12)
    assert not s.spectrum.cdf(-1e-9)


@pytest.mark.parametrize("name", LEARNED)
def test_the_density_integrates_to_the_mass_of_each_bulk(name):
    s = solved(name)
    angle, weights = np.polynomial.legendre.leggauss(400)
    for bulk in s.bulks:
        middle, half = 0.5 * (bulk.left + bulk.right), 0.5 * (bulk.right - bulk.left)
        x = middle + half * np.sin(0.5 * np.pi * angle)
        mass = 0.5 * np.pi * half * np.sum(weights * np.cos(0.5 * np.pi * angle) * s.spectrum.density(x))
        assert mass == pytest.approx(bulk.mass, rel=5e-9)


@pytest.mark.parametrize("name", LEARNED)
def test_bulks_and_outliers_hold_the_whole_rank(name):
    s = solved(name)
    outliers = len(s.outliers) / len(s.problem.target.atoms.masses) if name == "power law" else 0.0
    assert sum(bulk.mass for bulk in s.bulks) + outliers == pytest.approx(s.rank, abs=1e-12)
    edges = [edge for bulk in s.bulks for edge in (bulk.left, bulk.right)]
    assert edges == sorted(edges)
    assert edges[0] >= 0.0


def test_nothing_learned_means_no_bulk():
    s = solved("all zero")
    assert s.bulks == ()
    assert s.outliers.size == 0
    assert s.spectrum.moment(2) == 0.0
    assert s.spectrum.quantile(0.9) == 0.0


def test_after_the_split_the_right_bulk_is_the_target():
    """At alpha = 40 two bulks; the right one holds a fraction kappa_0 of the eigenvalues."""
    left, right = solved("much data").bulks
    assert left.left == 0.0
    assert left.right < right.left
    assert right.mass == pytest.approx(0.5, abs=1e-6)
    assert len(solved("attention").bulks) == 1


def test_outliers_are_the_features_that_left_the_bulk():
    """At s + t sum_j 1/(d (s - s_j)) to first order, and where a sampled matrix of that size has them."""
    s = solved("power law")
    atoms, t = s.problem.target.atoms.positions, s.delta**2
    spikes = atoms[-len(s.outliers) :]
    pushed = [x + t * np.sum(1.0 / (x - atoms[atoms != x])) / atoms.size for x in spikes]
    assert len(s.outliers) == 5
    assert np.all(spikes > s.delta)
    np.testing.assert_allclose(s.outliers, s.scale * (np.array(pushed) - s.cutoff), rtol=1e-3)
    assert s.outliers[0] > s.bulks[-1].right
    sampled = np.mean([s.spectrum.sample(400, np.random.default_rng(seed)) for seed in range(6)], axis=0)
    np.testing.assert_allclose(sampled[-5:], s.outliers, atol=3 * s.delta * np.sqrt(2 / 400 / 6))


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_number_has_a_finite_error_bar(name):
    s = solved(name)
    numbers = ("test_error", "train_error", "train_loss", "estimation_error", "rank", "replicon")
    derived = ("delta", "scale", "cutoff")
    parts = {**s.overlaps._asdict(), **s.conjugates._asdict()}
    for key in (*numbers, *derived):
        value = getattr(s, key)
        assert isinstance(value, float), key
        assert np.isfinite(value) or (key == "cutoff" and "ridge" in name), key
    assert set(s.error_bars) == {*numbers, *derived, *parts}
    for key, bar in s.error_bars.items():
        assert np.isfinite(bar), key
        assert bar >= 0.0, key
    for key in ("spectrum", "bulks", "outliers", "caveats", "message", "residual", "evaluations"):
        assert hasattr(s, key), key
    assert 0.0 <= s.rank <= 1.0


def test_a_solution_prints_as_a_table_of_numbers_with_bars():
    lines = str(solved("attention")).splitlines()
    assert [line.split()[0] for line in lines] == [
        "test_error",
        "train_loss",
        "train_error",
        "estimation_error",
        "rank",
        "replicon",
    ]
    assert lines[0].startswith("test_error        0.13599 +- ")
    assert all(" +- " in line for line in lines)
    narrow = str(ps.solve(PROBLEMS["quadratic network"].replace(kappa=0.3)))
    assert "caveat: kappa = 0.3 is below the rank" in narrow


def test_a_solution_cannot_be_changed():
    s = solved("attention")
    with pytest.raises(dataclasses.FrozenInstanceError):
        s.rank = 1.0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        s.overlaps.q = 1.0  # type: ignore[misc]
