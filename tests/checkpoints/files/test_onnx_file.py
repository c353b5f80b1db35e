"""ONNX: constants as the package reads them, the graph, and numbers outside of the model in its own folder alone."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from presage.protocol import extras
from tests.checkpoints.files import samples


def model(*tensors, nodes=()):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1,))
    return helper.make_model(helper.make_graph(list(nodes), "g", [x], [x], list(tensors)))


def test_constants_are_those_that_the_package_reads(tmp_path):
    path = samples.onnx_file(tmp_path / "model.onnx")
    ours = open_checkpoint(path)
    graph = onnx.load(path).graph
    theirs = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    theirs["shape"] = np.array([0, -1, 3])
    assert set(ours.tensors) == set(theirs)
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours.tensors[name].read().values, array)
        np.testing.assert_array_equal(ours.tensors[name].read(slice(0, 1)).values, array[:1])
    assert ours.tensors["coded"].dtype == "I8"
    assert (ours.tensors["coded"].read().error == 0.0).all()
    assert [node.op_type for node in ours.graph.node] == ["Constant", "MatMul"]


@pytest.mark.parametrize(
    "kind",
    ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2", "INT32", "UINT8", "INT4", "UINT4", "BOOL"],
)
@pytest.mark.parametrize("raw", [False, True])
def test_every_type_is_read_whether_listed_or_raw(tmp_path, kind, raw):
    number = getattr(TensorProto, kind)
    values = np.array([0, 1, 1, 0, 1, 1] if kind == "BOOL" else [0, 1, 2, 3, 4, 5])
    array = values.reshape(2, 3).astype(helper.tensor_dtype_to_np_dtype(number))
    listed = array.ravel().tolist()
    proto = numpy_helper.from_array(array, "w") if raw else helper.make_tensor("w", number, (2, 3), listed)
    onnx.save_model(model(proto), tmp_path / "model.onnx")
    tensor = open_checkpoint(tmp_path / "model.onnx").tensors["w"]
    np.testing.assert_array_equal(tensor.read().values, values.reshape(2, 3))
    np.testing.assert_array_equal(tensor.read(slice(1, 2)).values, values.reshape(2, 3)[1:2])


def external(location, **more):
    proto = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=(2, 3), data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        proto.external_data.add(key=key, value=str(value))
    return proto


def test_numbers_beside_the_model_are_read(tmp_path):
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    (tmp_path / "model.data").write_bytes(bytes(16) + array.tobytes())
    onnx.save_model(model(external("model.data", offset=16, length=24)), tmp_path / "model.onnx")
    tensor = open_checkpoint(tmp_path / "model.onnx").tensors["w"]
    np.testing.assert_array_equal(tensor.read().values, array)
    np.testing.assert_array_equal(tensor.read(slice(1, 2)).values, array[1:])


@pytest.mark.parametrize(
    ("location", "more", "reason"),
    [
        ("../secret", {}, "no plain name"),
        ("/etc/passwd", {}, "no plain name"),
        ("..", {}, "outside of its folder"),
        ("sub/model.data", {}, "no plain name"),
        ("link", {}, "outside of its folder"),
        ("missing", {}, "not beside the model"),
        ("", {}, "outside of its folder"),
        ("model.data", {"offset": 2**62}, "ends at byte"),
        ("model.data", {"offset": -8}, "ends at byte"),
        ("model.data", {"length": 2**62}, "ends at byte"),
        ("model.data", {"length": 8}, "does not fill its 8 bytes"),
        ("model.data", {"offset": "a"}, "invalid literal"),
    ],
)
def test_numbers_elsewhere_are_refused(tmp_path, location, more, reason):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(24))
    (folder / "model.data").write_bytes(bytes(24))
    (folder / "link").symlink_to(tmp_path / "secret")
    good = numpy_helper.from_array(np.ones(2, np.float32), "good")
    onnx.save_model(model(external(location, **more), good), folder / "model.onnx")
    ours = open_checkpoint(folder / "model.onnx")
    assert set(ours.tensors) == {"good"}
    ((name, why),) = ours.skipped
    assert name == "w"
    assert reason in why


def test_what_is_not_looked_at_is_told(tmp_path):
    branch = helper.make_graph([], "branch", [], [])
    choice = helper.make_node("If", ["x"], ["y"], name="choice", then_branch=branch, else_branch=branch)
    words = helper.make_tensor("words", TensorProto.STRING, (1,), [b"a"])
    short = TensorProto(name="short", data_type=TensorProto.FLOAT, dims=(2**40, 2**40), raw_data=bytes(8))
    negative = TensorProto(name="negative", data_type=TensorProto.FLOAT, dims=(-2, -1), raw_data=bytes(8))
    good = numpy_helper.from_array(np.ones(2, np.float32), "good")
    onnx.save_model(model(words, short, negative, good, good, nodes=[choice]), tmp_path / "model.onnx")
    ours = open_checkpoint(tmp_path / "model.onnx")
    assert set(ours.tensors) == {"good"}
    assert [row.name for row in ours.skipped] == ["choice", "words", "short", "negative", "good"]


def test_metadata_of_the_model_is_its_config(tmp_path):
    made = samples.onnx_model()
    helper.set_model_props(made, {"num_attention_heads": "12", "model_type": "bert", "author": "a"})
    onnx.save_model(made, tmp_path / "model.onnx")
    assert open_checkpoint(tmp_path / "model.onnx").config == {"num_attention_heads": 12, "model_type": "bert"}


def test_what_is_no_message_is_refused(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"hello there")
    with pytest.raises(CheckpointError, match=r"model\.onnx"):
        open_checkpoint(tmp_path / "model.onnx")


def test_without_the_package_the_sentence_says_how_to_have_it(tmp_path, monkeypatch):
    path = samples.onnx_file(tmp_path / "model.onnx")
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(CheckpointError, match="pip install gguf onnx"):
        open_checkpoint(path)
