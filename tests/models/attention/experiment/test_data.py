"""Targets, tokens and samples at finite d have the laws that section 1 of the theory gives them."""

from __future__ import annotations

from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage import (
    Embeddings,
    Empirical,
    Gaussian,
    Linear,
    MarchenkoPastur,
    PointMasses,
    PowerLaw,
    Rademacher,
    Semicircle,
    Softmax,
)
from presage.models.attention.experiment.data import Samples, sample, sample_target, stream, token_means

CHANNELS = [Softmax(2), Softmax(3, 1.5, 0.7), Softmax(5, 0.4), Linear(1), Linear(3)]


def target(d, seed=0):
    """A symmetric matrix that is neither positive nor traceless, so that the centring shows."""
    A = np.random.default_rng(seed).standard_normal((d, d))
    return (A + A.T) / sqrt(d) + 0.7 * np.eye(d)


def draw(S_0, channel, n, seed=0, **options) -> Samples:
    chosen: dict[str, Any] = {"tokens": Gaussian()} | options
    return sample(S_0, channel, n, np.random.default_rng(seed), **chosen)


def by_sample(samples):
    return samples.tokens.reshape(samples.n, samples.n_tokens, samples.d)


def naive_scores(X, S):
    """R_ab = (x_a' S x_b - delta_ab Tr S)/sqrt(d), entry by entry as it is written."""
    n, T, d = X.shape
    R = np.empty((n, T, T))
    for a, b in product(range(T), repeat=2):
        R[:, a, b] = np.einsum("ni,ij,nj->n", X[:, a], S, X[:, b]) - (np.trace(S) if a == b else 0.0)
    return R / sqrt(d)


# --- targets


def test_a_discrete_law_of_size_d_gives_exactly_its_atoms():
    values = np.array([-1.0, 0.2, 0.2, 0.9, 3.0, 7.0])
    for law, expected in (
        (PowerLaw(1.3, 40), np.sort(PowerLaw(1.3, 40).atoms.positions)),
        (PowerLaw(0.6, 25, normalized=False), np.arange(25, 0, -1.0) ** -0.6),
        (Empirical(values), values),
    ):
        S_0 = sample_target(law, len(expected), np.random.default_rng(1))
        np.testing.assert_allclose(np.linalg.eigvalsh(S_0), expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("law", [MarchenkoPastur(0.4), MarchenkoPastur(1.7), PowerLaw(1.0, 12), Semicircle(0.5)])
def test_a_target_is_a_symmetric_matrix_of_the_size_asked(law):
    S_0 = sample_target(law, 12, np.random.default_rng(2))
    assert S_0.shape == (12, 12)
    assert S_0.dtype == np.float64
    np.testing.assert_allclose(S_0, S_0.T, rtol=0, atol=1e-14 * np.abs(S_0).max())


@pytest.mark.parametrize("kappa_0", [0.3, 0.5, 1.5])
def test_a_marchenko_pastur_target_has_rank_m_0_and_second_moment_one_plus_kappa_0(kappa_0):
    d, draws, rng = 40, 200, np.random.default_rng(3)
    drawn = [sample_target(MarchenkoPastur(kappa_0), d, rng) for _ in range(draws)]
    assert {int(np.linalg.matrix_rank(S)) for S in drawn} == {min(d, round(kappa_0 * d))}
    assert min(np.linalg.eigvalsh(S)[0] for S in drawn) > -1e-13
    # E Tr S^2/d = 1 + kappa_0 + 1/d exactly, E Tr S/d = sqrt(kappa_0): five standard errors of the mean.
    for power, expected in ((1, sqrt(kappa_0)), (2, 1 + kappa_0 + 1 / d)):
        moments = [np.trace(np.linalg.matrix_power(S, power)) / d for S in drawn]
        assert abs(np.mean(moments) - expected) < 5 * np.std(moments, ddof=1) / sqrt(draws)


def test_a_target_narrower_than_one_column_still_has_one():
    assert np.linalg.matrix_rank(sample_target(MarchenkoPastur(0.001), 10, np.random.default_rng(4))) == 1


@pytest.mark.parametrize("law", [PointMasses([3.0, 1.0, -1.0, 0.0]), MarchenkoPastur(0.5)])
def test_the_eigenvectors_of_a_target_are_uniform_over_all_rotations(law):
    """Second moments of the entries of U D U' are known for a uniform U; a fixed frame would give D_11^2 and 0."""
    d, draws, rng = 4, 20_000, np.random.default_rng(5)
    drawn = np.array([sample_target(law, d, rng) for _ in range(draws)])
    first = np.trace(drawn, axis1=1, axis2=2)
    second = np.sum(drawn**2, axis=(1, 2))

    def five_errors(difference):  # paired with the same draws: standard errors of the mean, five of them
        return abs(np.mean(difference)) < 5 * np.std(difference, ddof=1) / sqrt(draws)

    for i, j in product(range(d), repeat=2):
        entry = drawn[:, i, j]
        if i == j:
            assert five_errors(entry - first / d)
            assert five_errors(entry**2 - (first**2 + 2 * second) / (d * (d + 2)))
        else:
            assert five_errors(entry)
            assert five_errors(entry**2 - (d * second - first**2) / (d * (d - 1) * (d + 2)))
            assert five_errors(entry * drawn[:, i, i])  # a reflection of axis j turns its sign
    fixed = np.diag(np.linalg.eigvalsh(drawn[0]))  # negative control: without a rotation the diagonal is not equal
    assert np.ptp(np.diag(fixed)) > 10 * np.ptp(np.mean(drawn, axis=0).diagonal())


# --- samples


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_scores_of_the_target_are_those_of_section_1(channel):
    S_0 = target(7)
    samples = draw(S_0, channel, 30)
    expected = naive_scores(by_sample(samples), S_0)
    # Sums of 49 products of order one: rounding is far below 1e-13.
    np.testing.assert_allclose(channel.matrix(samples.z_0), expected, rtol=0, atol=1e-13)
    assert (samples.n, samples.d, samples.n_tokens) == (30, 7, channel.n_tokens)
    assert samples.z_0.shape == (30, channel.n_in)
    uncentred = expected + np.eye(channel.n_tokens) * np.trace(S_0) / sqrt(7)
    assert np.abs(channel.matrix(samples.z_0) - uncentred).max() > 0.5  # negative control: the trace matters


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_labels_are_the_output_of_the_channel_at_the_noisy_scores(channel):
    samples = draw(target(6), channel, 40, noise=0.8)
    np.testing.assert_array_equal(samples.labels, channel.target_output(samples.z_0))
    clean = draw(target(6), channel, 40)
    np.testing.assert_array_equal(clean.tokens, samples.tokens)
    assert np.abs(clean.labels - samples.labels).max() > 0.01


def test_noise_has_variance_delta_on_the_diagonal_and_half_of_it_off_and_is_symmetric():
    channel, noise, n = Linear(3), 0.6, 40_000
    samples = draw(target(4), channel, n, noise=noise)
    added = samples.labels - naive_scores(by_sample(samples), target(4))
    np.testing.assert_allclose(added, np.swapaxes(added, 1, 2), rtol=0, atol=1e-13)
    rows, columns = np.triu_indices(3)
    entries = added[:, rows, columns]
    covariance = entries.T @ entries / n
    variance = noise * np.where(rows == columns, 1.0, 0.5)
    # A sample variance v has standard error v sqrt(2/n), a covariance sqrt(v v'/n): five of them.
    errors = 5 * np.sqrt(np.outer(variance, variance) * (1 + np.eye(6)) / n)
    assert (np.abs(covariance - np.diag(variance)) < errors).all()
    assert (np.abs(entries.mean(axis=0)) < 5 * np.sqrt(variance / n)).all()


def test_scores_of_gaussian_tokens_have_variance_q_times_one_plus_delta():
    S_0, n = target(20), 40_000
    R = Linear(2).matrix(draw(S_0, Linear(2), n).z_0)
    Q = np.sum(S_0**2) / 20
    for a, b, factor in ((0, 0, 2), (1, 1, 2), (0, 1, 1)):
        # The fourth cumulant at d = 20 widens the standard error v sqrt(2/n): eight of them are room enough.
        assert np.var(R[:, a, b]) == pytest.approx(factor * Q, rel=8 * sqrt(2 / n))
        assert abs(np.mean(R[:, a, b])) < 5 * sqrt(factor * Q / n)


@pytest.mark.parametrize("channel", [Softmax(3), Linear(1)], ids=repr)
def test_a_sequence_task_has_the_gram_matrix_of_the_tokens(channel):
    samples = draw(target(6), channel, 25, task="sequence", noise=0.1)
    X = by_sample(samples)
    np.testing.assert_allclose(samples.gram, np.einsum("nai,nbi->nab", X, X) / 6, rtol=0, atol=1e-14)
    plain = draw(target(6), channel, 25, noise=0.1)
    assert plain.gram.shape == (0, channel.n_tokens, channel.n_tokens)
    np.testing.assert_array_equal(plain.labels, samples.labels)


def test_token_means_are_the_average_outer_products():
    samples = draw(target(5), Softmax(3), 17)
    X = by_sample(samples)
    expected = np.einsum("nai,nbj->abij", X, X) / 17
    np.testing.assert_allclose(token_means(samples), expected, rtol=0, atol=1e-14)


def test_single_precision_halves_the_tokens_and_keeps_six_digits():
    S_0, options = target(30), {"task": "sequence", "noise": 0.3}
    single = draw(S_0, Softmax(2), 50, dtype=np.float32, **options)
    assert single.tokens.dtype == np.float32
    assert {array.dtype for array in (single.z_0, single.labels, single.gram)} == {np.dtype(np.float64)}
    X = by_sample(single).astype(np.float64)
    clean = draw(S_0, Softmax(2), 50, dtype=np.float32)
    # Sums of 900 rounded products: 2^-24 sqrt(900) of scores of order ten at most.
    np.testing.assert_allclose(Softmax(2).matrix(clean.z_0), naive_scores(X, S_0), rtol=0, atol=3e-5)
    assert np.abs(Softmax(2).matrix(clean.z_0) - naive_scores(X, S_0)).max() > 1e-12  # it is single precision


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tokens_on_disk_are_the_same_and_go_when_the_samples_go(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    in_memory = draw(target(8), Softmax(2), 300, task="sequence", noise=0.2, dtype=dtype)
    assert list(tmp_path.iterdir()) == []
    on_disk = draw(target(8), Softmax(2), 300, task="sequence", noise=0.2, dtype=dtype, storage="disk")
    for name in ("tokens", "z_0", "labels", "gram"):
        np.testing.assert_array_equal(getattr(on_disk, name), getattr(in_memory, name))
    assert isinstance(on_disk.tokens, np.memmap)
    assert on_disk.tokens.nbytes == in_memory.tokens.nbytes
    # The file has no name from the start: nothing can be left behind, whatever happens to the process.
    assert list(tmp_path.iterdir()) == []


def test_threads_do_not_change_the_samples(monkeypatch):
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    one, two = (draw(target(9), Softmax(3), 101, task="sequence", noise=0.2, threads=threads) for threads in (1, 2))
    for name in ("tokens", "z_0", "labels", "gram"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("tokens", [Gaussian(), Rademacher()], ids=repr)
def test_small_blocks_give_the_same_laws_and_gaussians_the_same_numbers(monkeypatch, tokens):
    whole = draw(target(9), Softmax(3), 50, tokens=tokens)
    monkeypatch.setattr("presage.training.ordered_sums.BLOCK", 480)
    pieces = draw(target(9), Softmax(3), 50, tokens=tokens)
    if isinstance(tokens, Gaussian):
        np.testing.assert_array_equal(pieces.tokens, whole.tokens)
    np.testing.assert_allclose(
        Softmax(3).matrix(pieces.z_0), naive_scores(by_sample(pieces), target(9)), rtol=0, atol=1e-13
    )


def test_one_sample_is_enough():
    samples = draw(target(3), Softmax(2), 1, noise=0.1)
    assert (samples.n, samples.tokens.shape) == (1, (2, 3))


def test_a_stream_gives_the_right_total_in_blocks_and_again_the_same():
    def blocks(block):
        options: dict[str, Any] = {"tokens": Gaussian(), "noise": 0.4, "task": "sequence"}
        return [*stream(target(5), Softmax(2), 23, np.random.default_rng(6), block=block, **options)]

    first, again = blocks(10), blocks(10)
    assert [samples.n for samples in first] == [10, 10, 3]
    assert [samples.n for samples in blocks(30)] == [23]
    assert [samples.n for samples in blocks(23)] == [23]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.gram, other.gram)
    everything = np.concatenate([samples.z_0 for samples in first])
    assert len(np.unique(everything)) == everything.size  # no block repeats another


# --- tokens


def test_tokens_have_mean_zero_and_covariance_one():
    n, d = 40_000, 5
    vectors = np.random.default_rng(7).exponential(size=(300, d)) @ np.diag([5.0, 3.0, 1.0, 0.5, 0.1])
    for tokens in (Gaussian(), Rademacher(), Embeddings(vectors)):
        for dtype in (np.float64, np.float32):
            out = np.empty((n, d), dtype=dtype)
            tokens.fill(out, np.random.default_rng(8))
            X = out.astype(np.float64)
            assert (np.abs(X.mean(axis=0)) < 5 / sqrt(n)).all(), tokens
            products = np.einsum("ni,nj->nij", X, X)
            errors = 5 * products.std(axis=0) / sqrt(n) + 1e-6  # signs have x^2 = 1 with no error at all
            assert (np.abs(products.mean(axis=0) - np.eye(d)) < errors).all(), tokens


def test_rademacher_tokens_are_signs_for_any_size():
    for shape in ((3, 3), (1, 1), (16, 5)):
        out = np.empty(shape)
        Rademacher().fill(out, np.random.default_rng(9))
        assert set(np.unique(out)) <= {-1.0, 1.0}


def test_the_score_of_a_sign_token_with_itself_loses_the_diagonal():
    """Var x'Sx/sqrt(d) = 2 (Q - sum_i S_ii^2/d) over all 2^d signs; of two tokens it is Q, as for Gaussian ones."""
    d, S = 8, target(8)
    Q, diagonal = np.sum(S**2) / d, np.sum(np.diag(S) ** 2) / d
    signs = np.array([*product([-1.0, 1.0], repeat=d)])
    own = np.einsum("ni,ij,nj->n", signs, S, signs) / sqrt(d)
    assert np.var(own) == pytest.approx(2 * (Q - diagonal), rel=1e-12)
    cross = signs @ S @ signs.T / sqrt(d)
    assert np.var(cross) == pytest.approx(Q, rel=1e-12)
    n = 40_000
    R = Linear(2).matrix(draw(S, Linear(2), n, tokens=Rademacher()).z_0)
    for a, b, expected in ((0, 0, np.var(own)), (1, 1, np.var(own)), (0, 1, Q)):
        squares = (R[:, a, b] - R[:, a, b].mean()) ** 2
        assert abs(squares.mean() - expected) < 5 * squares.std() / sqrt(n)
    assert abs(np.var(R[:, 0, 0]) - 2 * Q) > 0.2 * Q  # negative control: the Gaussian value is far away


def embeddings(rows, columns, seed=10):
    rng = np.random.default_rng(seed)
    mixing = np.linalg.qr(rng.standard_normal((columns, columns)))[0] * np.geomspace(5.0, 0.1, columns)
    return rng.laplace(size=(rows, columns)) @ mixing.T + 3.0


def test_embeddings_are_whitened_exactly():
    tokens = Embeddings(embeddings(200, 6))
    W = tokens.whitened
    np.testing.assert_allclose(W.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(W.T @ W / 200, np.eye(6), atol=1e-13)
    out = np.empty((500, 6))
    tokens.fill(out, np.random.default_rng(11))
    rows = {row.tobytes() for row in W}
    assert {row.tobytes() for row in out} <= rows
    assert len({row.tobytes() for row in out}) > 100


def test_fewer_dimensions_than_columns_keep_the_directions_of_largest_variance():
    vectors = embeddings(300, 6)
    out = np.empty((400, 2))
    Embeddings(vectors).fill(out, np.random.default_rng(12))
    centred = vectors - vectors.mean(axis=0)
    variance, directions = np.linalg.eigh(centred.T @ centred / 300)
    leading = centred @ directions[:, ::-1][:, :2] / np.sqrt(variance[::-1][:2])
    drawn = np.unique(np.round(np.abs(out), 8), axis=0)
    allowed = np.unique(np.round(np.abs(leading), 8), axis=0)  # signs of eigenvectors are arbitrary
    distance = np.abs(drawn[:, None] - allowed[None]).max(axis=2).min(axis=1)
    assert distance.max() < 1e-7
    trailing = np.abs(centred @ directions[:, :2] / np.sqrt(variance[:2]))
    assert np.abs(drawn[:, None] - trailing[None]).max(axis=2).min(axis=1).max() > 0.01  # negative control


def test_single_precision_embeddings_are_whitened_in_double():
    whitened = Embeddings(embeddings(200, 4).astype(np.float32)).whitened
    assert whitened.dtype == np.float64
    np.testing.assert_allclose(whitened.T @ whitened / 200, np.eye(4), atol=1e-13)


def bad_embeddings() -> dict[str, tuple[Any, str]]:
    good = embeddings(50, 4)
    hole, flat = good.copy(), good.copy()
    hole[3, 1] = np.nan
    flat[:, 2] = flat[:, 0] - flat[:, 1]
    return {
        "NaN": (hole, r"`vectors` must be finite.*1 bad entries.*Drop those rows"),
        "1-d": (good[:, 0], r"`vectors` must be a two-dimensional array of floats.*Got vectors=\(50,\)"),
        "3-d": (good.reshape(5, 10, 4), r"`vectors` must be a two-dimensional array of floats"),
        "integers": (np.arange(20).reshape(10, 2), r"`vectors` must be a two-dimensional array of floats"),
        "strings": (np.array([["a", "b"]] * 5), r"`vectors` must be a two-dimensional array of floats"),
        "wide": (good[:3], r"`vectors` must have more rows than columns.*Got vectors=\(3, 4\)"),
        "square": (good[:4], r"`vectors` must have more rows than columns"),
        "empty": (np.empty((5, 0)), r"`vectors` must have more rows than columns"),
        "flat": (flat, r"`vectors` must vary in every direction.*1 of 4 directions are flat"),
        "constant": (np.ones((10, 2)), r"`vectors` must vary in every direction.*2 of 2 directions are flat"),
    }


@pytest.mark.parametrize("name", bad_embeddings())
def test_embeddings_that_cannot_be_whitened_are_refused(name):
    vectors, message = bad_embeddings()[name]
    with pytest.raises(ValueError, match=message):
        Embeddings(vectors).check(2)


def test_a_dimension_that_the_embeddings_do_not_have_is_refused():
    tokens = Embeddings(embeddings(50, 4))
    tokens.check(4)
    with pytest.raises(ValueError, match=r"`d` must be at most 4: the embeddings have 4 dimensions\. Got d=5"):
        tokens.check(5)


def test_embeddings_read_from_a_list_and_a_file_are_alike(tmp_path: Path):
    vectors = embeddings(30, 3)
    np.save(tmp_path / "vectors.npy", vectors)
    from_list: Any = vectors.tolist()
    for given in (from_list, np.load(tmp_path / "vectors.npy", mmap_mode="r")):
        np.testing.assert_array_equal(Embeddings(given).whitened, Embeddings(vectors).whitened)
