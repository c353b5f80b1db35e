"""Whole matrices of a file: each comes as it is stored, or with the reason why it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.matrices_of import LARGEST_VOCABULARY, SMALLEST, Matrix, matrices_of
from presage.checkpoints.tensor import Numbers, Tensor
from tests.checkpoints.cutting.packing import made

RNG = np.random.default_rng(0)
GOOD = RNG.standard_normal((24, 30)).astype(np.float32)


def only_row(arrays) -> Any:
    (row,) = matrices_of(made(arrays))
    return row


def test_matrices_come_in_the_order_of_the_file_with_their_numbers():
    arrays = {name: RNG.standard_normal((24, 40)) for name in ("b.weight", "a.weight", "c.weight")}
    rows = list(matrices_of(made(arrays)))
    assert [row.name for row in rows] == list(arrays)
    for row in rows:
        assert isinstance(row, Matrix)
        np.testing.assert_array_equal(row.numbers.values, arrays[row.name])


@pytest.mark.parametrize("shape", [(40,), (SMALLEST - 1, 40), (40, SMALLEST - 1), (24, 24, 24), ()])
def test_what_is_too_small_or_no_matrix_is_not_asked(shape):
    assert [row.name for row in matrices_of(made({"weight": np.ones(shape), "good": GOOD}))] == ["good"]


def test_the_smallest_side_counts():
    assert isinstance(only_row({"weight": np.ones((SMALLEST, SMALLEST))}), Matrix)


def test_numbers_that_are_none_are_said():
    bad = GOOD.copy()
    bad[0, :3] = np.nan, np.inf, -np.inf
    row = only_row({"weight": bad})
    assert row == Skipped("weight", "3 of its numbers are NaN or infinite")


def test_a_bad_matrix_does_not_stop_the_next():
    rows = list(matrices_of(made({"bad": np.full((24, 24), np.nan), "good": GOOD})))
    assert [type(row) for row in rows] == [Skipped, Matrix]


@pytest.mark.parametrize("name", ["model.embed_tokens.weight", "wte.weight", "lm_head.weight", "shared.weight"])
def test_large_embeddings_are_left_out_and_small_ones_are_not(name):
    large = np.zeros((LARGEST_VOCABULARY + 1, SMALLEST), dtype=np.float16)
    assert "an embedding of 20001 words" in only_row({name: large}).reason
    assert isinstance(only_row({name: large[:-1]}), Matrix)
    assert isinstance(only_row({"layers.0.mlp.up_proj.weight": large}), Matrix)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_whole_numbers_without_scales_are_said(dtype):
    assert "whole numbers" in only_row({"weight": np.ones((24, 24), dtype=dtype)}).reason


def test_packed_matrices_are_said():
    row = only_row({"fc.weight": GOOD, "fc.weight_scale": np.ones(24)})
    assert row.name == "fc.weight"
    assert "'fc.weight_scale'" in row.reason


def test_only_keeps_matrices_by_whole_words():
    arrays = {f"layers.{layer}.fc.weight": GOOD for layer in (1, 10, 11)}
    assert [row.name for row in matrices_of(made(arrays), "layers.1")] == ["layers.1.fc.weight"]
    assert len(list(matrices_of(made(arrays), "fc"))) == 3
    with pytest.raises(CheckpointError, match=r"'layers\.2'"):
        list(matrices_of(made(arrays), "layers.2"))


def watched(tensor: Tensor, read: list[str]) -> Tensor:
    """A tensor that notes when it is read."""

    def reader(rows: slice | None) -> Numbers:
        read.append(tensor.name)
        return tensor.read(rows)

    return replace(tensor, reader=reader)


def test_matrices_are_read_one_at_a_time():
    checkpoint, read = made(dict.fromkeys("abc", GOOD)), list[str]()
    tensors = {name: watched(tensor, read) for name, tensor in checkpoint.tensors.items()}
    rows = matrices_of(replace(checkpoint, tensors=tensors))
    assert read == []
    next(rows)
    assert read == ["a"]
    next(rows)
    assert read == ["a", "b"]
