"""Whole matrices: the reader and `classify` say the same where both apply."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps


def spiked(n, k, rng):
    W = rng.standard_normal((n, n))
    U, V = (np.linalg.qr(rng.standard_normal((n, k)))[0] for _ in range(2))
    return W + 4.0 * np.sqrt(n) * U @ V.T


def heavy(n, rng):
    frame = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return frame * (1.0 - rng.random(n)) ** (-1.0 / 1.6)


def test_classify_and_the_reader_agree():
    rng = np.random.default_rng(10)
    for _ in range(3):
        W = rng.standard_normal((200, 200))
        assert (ps.read_matrix(W).verdict, ps.classify(W, factor=True).kind) == ("random", "random-like")
        W = spiked(200, 4, rng)
        read, typed = ps.read_matrix(W), ps.classify(W, factor=True)
        assert (read.verdict, typed.kind) == ("noise bulk + spikes", "bulk+spikes")
        assert read.fit is not None
        assert read.fit.spikes == len(typed.spikes) == 4
        W = heavy(300, rng)
        assert ps.read_matrix(W).verdict == "no noise bulk"
        assert ps.classify(W, factor=True).kind in {"heavy-tailed", "bulk-decay", "cannot tell"}
    low = np.outer(rng.standard_normal(100), rng.standard_normal(100))
    assert ps.classify(low, factor=True).kind == "rank-collapse"
    assert ps.read_matrix(low).verdict == "too few values"
    assert ps.read_matrix(low).n == 1


def test_the_exponent_of_a_tail_is_that_of_classify():
    rng = np.random.default_rng(1)
    W = heavy(400, rng)
    tail = ps.read_matrix(W).tail
    assert tail is not None
    assert tail.exponent == pytest.approx(ps.classify(W, factor=True, bootstrap=0).exponent, rel=1e-6)


def test_flips_gate_spikes_of_matrices():
    rng = np.random.default_rng(2)
    rows = np.exp(rng.normal(0.0, 0.5, (256, 1)))
    found = [ps.read_matrix(rows * rng.standard_normal((256, 256))) for _ in range(5)]
    assert not any(one.verdict == "noise bulk + spikes" for one in found)


def test_rounding_is_not_rank():
    """A matrix of rank 40 in single precision has 40 values, and not 200."""
    rng = np.random.default_rng(3)
    W = (rng.standard_normal((200, 40)) @ rng.standard_normal((40, 200))).astype(np.float32)
    assert ps.read_matrix(W).n == ps.read_matrix(W.astype(np.float64), dtype="F32").n == 40
    assert ps.read_matrix(W.astype(np.float64)).n == 200  # as far as double precision is told


def test_without_flips_nothing_is_said_about_them():
    read = ps.read_matrix(spiked(200, 4, np.random.default_rng(10)), flips=0)
    assert read.verdict == "cannot tell"
    assert "no signs were flipped" in read.sentence


def test_a_matrix_is_asked_for():
    with pytest.raises(ValueError, match=r"`matrix` must be a matrix: it is a weight matrix"):
        ps.read_matrix(np.ones(5))
    with pytest.raises(ValueError, match=r"`matrix` must be finite numbers"):
        ps.read_matrix([[1.0, np.nan]])
