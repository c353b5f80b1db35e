"""Safetensors: equal to what its own package reads, by rows too, and strict about its header."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from tests.checkpoints.files import samples


def written(path, header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(begin, end, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_tensors_are_those_that_the_package_reads(tmp_path):
    path = samples.safetensors_file(tmp_path / "model.safetensors")
    theirs, ours = load_file(path), open_checkpoint(path)
    assert set(ours.tensors) == set(theirs)
    assert ours.skipped == ()
    for name, array in theirs.items():
        tensor = ours.tensors[name]
        values, error = tensor.read()
        assert values.shape == tensor.shape == array.shape
        assert values.dtype == (np.float64 if array.dtype in (np.float64, np.int64) else np.float32)
        np.testing.assert_array_equal(values, array)
        assert error.shape == (array.shape[0] if array.ndim else 1,)


def test_small_floats_are_those_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    matrix = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    kinds = {"BF16": torch.bfloat16, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2}
    theirs = {name: matrix.to(dtype) for name, dtype in kinds.items()}
    save_file(theirs, tmp_path / "model.safetensors")
    ours = open_checkpoint(tmp_path / "model.safetensors").tensors
    for name, tensor in theirs.items():
        assert ours[name].dtype == name
        np.testing.assert_array_equal(ours[name].read().values, tensor.float().numpy())


@pytest.mark.parametrize("rows", [slice(1, 3), slice(None, 2), slice(-2, None), slice(4, 1), slice(None, None, 2)])
def test_rows_are_those_of_the_slice(tmp_path, rows):
    path = samples.safetensors_file(tmp_path / "model.safetensors")
    for tensor in open_checkpoint(path).tensors.values():
        if tensor.shape:
            values, error = tensor.read()
            part = tensor.read(rows)
            np.testing.assert_array_equal(part.values, values[rows])
            np.testing.assert_array_equal(part.error, error[rows])


def test_only_the_rows_that_are_asked_for_are_read(tmp_path, monkeypatch):
    from presage.checkpoints.files.byte_range import ByteRange

    path = tmp_path / "model.safetensors"
    written(path, {"a": entry(0, 4000, [100, 10])}, bytes(4000))
    tensor = open_checkpoint(path).tensors["a"]
    counts = []
    read = ByteRange.read

    def counted(self, offset, count):
        counts.append(count)
        return read(self, offset, count)

    monkeypatch.setattr(ByteRange, "read", counted)
    tensor.read(slice(10, 12))
    assert counts == [2 * 10 * 4]


def test_a_number_without_rows_says_so(tmp_path):
    tensor = open_checkpoint(samples.safetensors_file(tmp_path / "model.safetensors")).tensors["scalar"]
    assert tensor.read().values == 2.5
    with pytest.raises(CheckpointError, match="'scalar' is a single number"):
        tensor.read(slice(0, 1))


@pytest.mark.parametrize(
    ("header", "data", "reason"),
    [
        ({"a": entry(0, 8, [2]), "b": entry(4, 12, [2])}, bytes(12), "'b' overlaps another"),
        ({"a": entry(0, 8, [2]), "b": entry(12, 16, [1])}, bytes(16), "'b' leaves a gap"),
        ({"a": entry(4, 8, [1])}, bytes(8), "'a' leaves a gap"),
        ({"a": entry(0, 8, [2])}, bytes(4), "its tensors take 8 bytes, and 4 follow"),
        ({"a": entry(0, 8, [2])}, bytes(12), "its tensors take 8 bytes, and 12 follow"),
        ({"a": entry(0, 2**62, [2**60])}, bytes(8), "its tensors take 4611686018427387904 bytes"),
        ({"a": entry(8, 0, [2])}, bytes(8), "'a' no place"),
        ({"a": entry(-8, 0, [2])}, bytes(8), "'a' no place"),
        ({"a": entry(0.0, 8, [2])}, bytes(8), "'a' no place"),
        ({"a": 3}, b"", "'a' no place"),
        ([1, 2], b"", "a list, not an object"),
        (b'{"a": ', b"", "not valid"),
        (b'{"\xff": 1}', b"", "not valid"),
        (b'{"a": {}, "a": {}}', b"", "'a' occurs twice"),
        (b"[" * 100_000, b"", "nested too deeply"),
        ({}, b"", "none in it that can be read"),
    ],
)
def test_a_header_that_does_not_fit_its_file_is_refused(tmp_path, header, data, reason):
    with pytest.raises(CheckpointError, match=r"model\.safetensors") as error:
        open_checkpoint(written(tmp_path / "model.safetensors", header, data))
    assert reason in str(error.value)


@pytest.mark.parametrize("length", [2**63, 2**62, 100_000_001, 9])
def test_a_header_longer_than_the_file_is_refused_unread(tmp_path, length):
    path = tmp_path / "model.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + b"{}")
    with pytest.raises(CheckpointError, match=f"header is said to have {length} bytes"):
        open_checkpoint(path)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (entry(0, 8, [3]), "3 numbers, and 2 are stored"),
        (entry(0, 8, [1]), "does not fill its 8 bytes"),
        (entry(0, 8, [2**62, 2**62]), "asks for"),
        (entry(0, 8, [-2]), "whole numbers"),
        (entry(0, 8, [2.0]), "whole numbers"),
        (entry(0, 8, [True, 2]), "whole numbers"),
        (entry(0, 8, "2"), "whole numbers"),
        (entry(0, 8, [1] * 40), "more than 32 axes"),
        (entry(0, 8, [1], "C64"), "'C64' is not known"),
        (entry(0, 8, [1], ["F32"]), "is not known"),
    ],
)
def test_a_bad_tensor_is_skipped_and_the_rest_is_read(tmp_path, bad, reason):
    data = np.array([0.0, 0.0, 5.0], "<f4").tobytes()
    checkpoint = open_checkpoint(written(tmp_path / "x.safetensors", {"bad": bad, "good": entry(8, 12, [1])}, data))
    assert checkpoint.tensors["good"].read().values == 5.0
    ((name, why),) = checkpoint.skipped
    assert name == "bad"
    assert reason in why


def test_a_file_that_is_cut_while_it_is_open_is_a_sentence(tmp_path):
    path = samples.safetensors_file(tmp_path / "model.safetensors")
    checkpoint = open_checkpoint(path)
    path.write_bytes(path.read_bytes()[:-200])
    read = [tensor.read for tensor in checkpoint.tensors.values()]
    with pytest.raises(CheckpointError, match="became shorter"):
        _ = [one() for one in read]
    path.unlink()
    with pytest.raises(CheckpointError, match="which does not exist"):
        checkpoint.tensors["counts"].read()
