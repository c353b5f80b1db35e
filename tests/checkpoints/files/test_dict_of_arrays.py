"""Weights in memory: what NumPy or PyTorch holds, without a copy where none is needed."""

from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from tests.checkpoints.files import samples


def test_arrays_are_as_they_were_given():
    arrays = samples.arrays()
    ours = open_checkpoint({**arrays, "list": [[1, 2], [3, 4]], "nested": {"deep": {"w": np.ones(3)}}})
    assert ours.name == "a dict of arrays"
    for name, array in arrays.items():
        np.testing.assert_array_equal(ours.tensors[name].read().values, array)
    np.testing.assert_array_equal(ours.tensors["list"].read(slice(1, 2)).values, [[3, 4]])
    assert ours.tensors["nested.deep.w"].dtype == "F64"
    assert np.shares_memory(ours.tensors["layers.0.q"].read().values, arrays["layers.0.q"])


def test_tensors_of_pytorch_are_taken_in_their_own_type():
    torch = pytest.importorskip("torch")
    matrix = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    kinds = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16, "F8_E4M3": torch.float8_e4m3fn}
    given = {name: torch.nn.Parameter(matrix.to(dtype), requires_grad=False) for name, dtype in kinds.items()}
    ours = open_checkpoint({**given, "grad": torch.nn.Parameter(matrix), "complex": matrix + 1j})
    for name in kinds:
        assert ours.tensors[name].dtype == name
        np.testing.assert_array_equal(ours.tensors[name].read().values, given[name].float().numpy())
    assert "grad" in ours.tensors
    assert [row.name for row in ours.skipped] == ["complex"]
    bf16, f32 = ours.tensors["BF16"].read().error, ours.tensors["F32"].read().error
    np.testing.assert_allclose(bf16 / f32, 2.0**16, rtol=0.01)


def test_small_floats_of_ml_dtypes_are_known():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    tensor = open_checkpoint({"w": np.ones((2, 2), ml_dtypes.bfloat16)}).tensors["w"]
    assert tensor.dtype == "BF16"
    assert (tensor.read().values == 1.0).all()


def test_what_holds_no_numbers_is_refused():
    bad = {"object": np.array([{}], object), "text": "hello", "none": None, "ragged": [[1], [2, 3]], "complex": 1j}
    ours = open_checkpoint({**bad, "w": np.ones(2)})
    assert set(ours.tensors) == {"w"}
    assert {row.name for row in ours.skipped} == set(bad)
    with pytest.raises(CheckpointError, match="'object': it holds object, not real numbers"):
        open_checkpoint({"object": bad["object"]})
    with pytest.raises(CheckpointError, match="none in it"):
        open_checkpoint({})


def test_a_dict_that_holds_itself_is_refused():
    endless: dict = {"w": np.ones(2)}
    endless["again"] = endless
    with pytest.raises(CheckpointError, match="more than 50 deep"):
        open_checkpoint(endless)
