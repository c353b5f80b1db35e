"""Levels on noise and power on planted structure, by heads and matrices of seeds that were never looked at before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.checkpoints.bulk_fit import fit_bulk
from presage.checkpoints.flips import flipped_tops, pooled_p
from presage.checkpoints.measures import singular_values
from presage.checkpoints.nulls.noise_table import noise_table
from presage.checkpoints.nulls.samplers import gaussian_values, product_values
from tests.checkpoints.planted import noise, planted, shrunk

SHAPES = ((16, 64), (16, 256), (32, 128), (32, 256), (32, 512), (64, 256), (64, 512), (128, 512), (128, 1024))


def at_most(count: int, of: int, level: float) -> bool:
    """Whether so many rejections of so many are not above the level by more than three standard errors."""
    return count <= level * of + 3.0 * np.sqrt(level * (1.0 - level) * of)


def test_levels_on_noise():
    """Six hundred spectra of random factors: the level of each test is its own, above and below."""
    table = noise_table("random", 32, 256, 256)
    drawn = product_values(32, 256, 256, 600, np.random.default_rng(11)) * 3.0
    p_top = np.array([table.p_largest(values) for values in drawn])
    p_bulk = np.array([table.p_bulk(values) for values in drawn])
    for p in (p_top, p_bulk):
        assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.03)
        assert np.mean(p <= 0.5) == pytest.approx(0.5, abs=0.07)
    assert at_most(sum(fit_bulk("random", values, 256, 256).spikes > 0 for values in drawn[:300]), 300, 0.01)
    rng = np.random.default_rng(12)
    heads = [noise(24, 60, rng) for _ in range(150)]
    tops = np.array([flipped_tops(Q, K, 19, rng) for Q, K in heads])
    p = pooled_p(np.array([singular_values(Q, K)[0] for Q, K in heads]), tops)
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.05)
    assert np.mean(p <= 0.5) == pytest.approx(0.5, abs=0.12)


def test_planted_directions_are_found():
    rng = np.random.default_rng(13)
    found = [ps.read_head(*planted(64, 512, 3, 2.0, rng)) for _ in range(10)]
    fits = [next(fit for fit in one.measured.fits if fit.law == "random") for one in found]
    assert sum(fit.spikes == 3 for fit in fits) >= 9
    named = [one for one in found if one.law == "random"]
    assert named
    assert np.mean([one.strengths.mean() for one in named]) == pytest.approx(2.0, abs=0.1)
    learned = [ps.read_head(*shrunk(32, 128, [3.0, 3.0], 1.3, 0.37, rng)) for _ in range(6)]
    fits = [next(fit for fit in one.measured.fits if fit.law == "shrunk") for one in learned]
    assert sum(fit.spikes == 2 for fit in fits) >= 5
    assert np.mean([fit.cutoff for fit in fits]) == pytest.approx(1.3, abs=0.06)
    assert np.mean([fit.slope for fit in fits]) == pytest.approx(0.37, rel=0.06)


@pytest.mark.slow
def test_levels_on_heads_of_every_shape(capsys):
    rng = np.random.default_rng(101)
    count = {"heads": 0, "p_random": 0, "spikes": 0, "flips": 0, "bulk": 0}
    for h, d in SHAPES:
        for _ in range(75 if d < 1024 else 24):
            one = ps.read_head(*noise(h, d, rng), seed=int(rng.integers(1 << 30)))
            fit = next((fit for fit in one.measured.fits if fit.law == "random"), None)
            count["heads"] += 1
            count["p_random"] += one.p_random < 0.05
            count["flips"] += bool(one.at_least)
            count["spikes"] += fit is not None and fit.spikes > 0
            count["bulk"] += one.measured.p_spectrum_bulk < 0.01
    with capsys.disabled():
        print(f"\nnoise heads: {count}")
    n = count["heads"]
    assert n >= 600
    for name, level in (("p_random", 0.05), ("flips", 0.05), ("spikes", 0.01), ("bulk", 0.01)):
        assert at_most(count[name], n, level), name
    assert count["flips"] > 0.02 * n


@pytest.mark.slow
def test_levels_on_matrices(capsys):
    """Half of the matrices have uniform entries; beside spikes too, of which none is counted too many."""
    rng = np.random.default_rng(102)
    count = {"matrices": 0, "spikes": 0, "bulk": 0, "with spikes": 0, "too many": 0, "bulk beside spikes": 0}
    for p, q, times in ((64, 64, 150), (128, 384, 120), (256, 256, 80), (384, 384, 40), (1024, 1024, 12)):
        for at in range(times):
            W = rng.standard_normal((p, q)) if at % 2 else rng.uniform(-1.0, 1.0, (p, q))
            fit = fit_bulk("gaussian", np.asarray(np.linalg.svd(W, compute_uv=False), dtype=np.float64), p, q)
            count["matrices"] += 1
            count["spikes"] += fit.spikes > 0
            count["bulk"] += fit.spikes == 0 and fit.p_bulk < 0.01
    for spikes in (8, 20):
        for _ in range(100):
            values = np.concatenate(
                [np.linspace(90.0, 60.0, spikes), gaussian_values(256 - spikes, 256 - spikes, 256 - spikes, 1, rng)[0]]
            )
            fit = fit_bulk("gaussian", values, 256, 256)
            count["with spikes"] += 1
            count["too many"] += fit.spikes > spikes
            count["bulk beside spikes"] += fit.p_bulk < 0.01
            assert fit.spikes >= spikes
    with capsys.disabled():
        print(f"\nmatrices: {count}")
    assert count["matrices"] >= 400
    for name, of in (
        ("spikes", "matrices"),
        ("bulk", "matrices"),
        ("too many", "with spikes"),
        ("bulk beside spikes", "with spikes"),
    ):
        assert at_most(count[name], count[of], 0.01), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("h", "d", "k", "gain", "least"), [(64, 512, 3, 2.0, 57), (64, 512, 3, 5.0, 56), (64, 768, 5, 1.5, 50)]
)
def test_directions_of_both_factors(capsys, h, d, k, gain, least):
    rng = np.random.default_rng(103)
    right, strengths = 0, []
    for _ in range(60):
        values = singular_values(*planted(h, d, k, gain, rng))
        fit = fit_bulk("random", values, d, d)
        right += fit.spikes == k
        if fit.spikes == k:
            from presage.spectra.free_spikes import free_spikes

            strengths.append(free_spikes(values[:k], values[k:], d, d).strength.mean() / fit.slope)
    with capsys.disabled():
        strength = f"{np.mean(strengths):.3f} +- {np.std(strengths):.3f}"
        print(f"\n({h}, {d}) k = {k}, gain {gain}: {right}/60, strength {strength}")
    assert right >= least
    assert np.mean(strengths) == pytest.approx(gain, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("h", "d", "theta", "cutoff", "least"), [(64, 512, 1.6, 1.0, 37), (32, 256, 3.0, 1.3, 37)])
def test_directions_in_shrunk_noise(capsys, h, d, theta, cutoff, least):
    rng = np.random.default_rng(104)
    right, found = 0, []
    for _ in range(40):
        one = ps.read_head(*shrunk(h, d, [theta] * 3, cutoff, 0.37, rng), flips=0)
        fit = next(fit for fit in one.measured.fits if fit.law == "shrunk")
        right += fit.spikes == 3
        found.append(fit.cutoff)
    with capsys.disabled():
        cut = f"{np.mean(found):.3f} +- {np.std(found):.3f}"
        print(f"\nshrunk ({h}, {d}) theta {theta}: {right}/40, c/delta {cut}")
    assert right >= least
    assert np.mean(found) == pytest.approx(cutoff, abs=0.02)


@pytest.mark.slow
def test_other_entries_and_pooled_flips(capsys):
    """Flips keep their level for any entries, pooled at three shapes; p_random is for even rows alone."""
    rng = np.random.default_rng(105)
    made: dict[str, Callable[[tuple[int, int, int]], Any]] = {
        "uniform": lambda shape: rng.uniform(-1.0, 1.0, shape),
        "t5": lambda shape: rng.standard_t(5, shape),
        "uneven rows": lambda shape: np.exp(rng.normal(0.0, 0.3, (*shape[:2], 1))) * rng.standard_normal(shape),
    }
    said = []
    for name, drawn in made.items():
        reports = [ps.read_head(*drawn((2, 512, 64))) for _ in range(60)]
        random = sum(one.p_random < 0.05 for one in reports)
        flips = sum(bool(one.at_least) for one in reports)
        said.append(f"{name}: p_random {random}/60, flips {flips}/60")
        assert at_most(flips, 60, 0.05)
        assert at_most(random, 60, 0.05) == (name == "uniform")
    for h, d in ((32, 256), (16, 64), (64, 512)):
        heads = [np.exp(rng.normal(0.0, 0.3, (2, d, 1))) * noise(h, d, rng) for _ in range(200)]
        tops = np.array([flipped_tops(Q, K, 19, rng) for Q, K in heads])
        p = pooled_p(np.array([singular_values(Q, K)[0] for Q, K in heads]), tops)
        counts = [int(np.sum(p <= level)) for level in (0.05, 0.01)]
        said.append(f"pooled ({h}, {d}): {counts[0]}/200 at .05, {counts[1]}/200 at .01")
        assert at_most(counts[0], 200, 0.05)
        assert at_most(counts[1], 200, 0.01)
    with capsys.disabled():
        print("\n" + "\n".join(said))
