"""Arrays of NumPy: equal to what NumPy loads, headers first, and no pickled object."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from tests.checkpoints.files import samples


@pytest.mark.parametrize("packed", [False, True])
def test_arrays_are_those_that_numpy_loads(tmp_path, packed):
    path = samples.npz_file(tmp_path / "model.npz", packed)
    ours = open_checkpoint(path)
    with np.load(path) as theirs:
        assert set(ours.tensors) == set(theirs)
        for name in theirs:
            np.testing.assert_array_equal(ours.tensors[name].read().values, theirs[name])


def test_an_array_of_columns_is_read_by_rows(tmp_path):
    array = np.asfortranarray(np.random.default_rng(0).standard_normal((4, 3, 2)))
    np.save(tmp_path / "model.npy", array)
    tensor = open_checkpoint(tmp_path / "model.npy").tensors["tensor"]
    np.testing.assert_array_equal(tensor.read().values, array)
    np.testing.assert_array_equal(tensor.read(slice(1, 3)).values, array[1:3])


def test_objects_and_big_endian_numbers_are_skipped(tmp_path):
    path = tmp_path / "model.npz"
    bad: dict = {
        "object": np.array([{}], object),
        "big": np.ones(3, ">f4"),
        "complex": np.ones(2, complex),
        "text": np.array("a"),
    }
    np.savez(path, w=np.ones(2), **bad)
    ours = open_checkpoint(path)
    assert set(ours.tensors) == {"w"}
    assert {row.name for row in ours.skipped} == set(bad)
    assert all("not real numbers" in row.reason for row in ours.skipped)


def header(shape):
    text = str({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize("shape", [(2**62,), (2**40, 2**40), (3,), (-1,)])
def test_a_size_that_is_not_there_is_refused_before_anything_is_reserved(tmp_path, shape):
    (tmp_path / "model.npy").write_bytes(header(shape) + bytes(8))
    with pytest.raises(CheckpointError, match=r"model\.npy"):
        open_checkpoint(tmp_path / "model.npy")


def test_a_damaged_array_is_skipped_and_the_rest_is_read(tmp_path):
    good = io.BytesIO()
    np.save(good, np.arange(3.0))
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        archive.writestr("good.npy", good.getvalue())
        archive.writestr("long.npy", header((2**62,)) + bytes(8))
        archive.writestr("none.npy", b"abc")
    ours = open_checkpoint(tmp_path / "model.npz")
    np.testing.assert_array_equal(ours.tensors["good"].read().values, np.arange(3.0))
    assert {row.name for row in ours.skipped} == {"long", "none"}
