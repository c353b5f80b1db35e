"""Small valid files of every kind, written by the packages that own the formats."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def arrays(seed: int = 0) -> dict[str, Any]:
    """Arrays of several shapes and types."""
    rng = np.random.default_rng(seed)
    return {
        "layers.0.q": rng.standard_normal((6, 5)).astype(np.float32),
        "layers.0.k": rng.standard_normal((4, 5)),
        "layers.0.half": rng.standard_normal((3, 4, 2)).astype(np.float16),
        "counts": rng.integers(-100, 100, 7).astype(np.int64),
        "small": rng.integers(-100, 100, (2, 3)).astype(np.int8),
        "mask": rng.integers(0, 2, 5).astype(bool),
        "scalar": np.array(2.5, np.float32),
    }


def safetensors_file(path: Path) -> Path:
    from safetensors.numpy import save_file

    save_file(arrays(), path)
    return path


def npz_file(path: Path, packed: bool = False) -> Path:
    (np.savez_compressed if packed else np.savez)(path, **arrays())
    return path


def torch_file(path: Path, legacy: bool = False) -> Path:
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays().items()}
    tensors["transposed"] = torch.arange(12.0).reshape(3, 4).T
    saved = {"model": tensors, "step": 3, "rate": 0.1, "name": "a", "sizes": [torch.Size([2, 3])]}
    torch.save(saved, path, _use_new_zipfile_serialization=not legacy)
    return path


def gguf_file(path: Path) -> Path:
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_embedding_length(64)
    writer.add_block_count(1)
    writer.add_key_length(16)
    writer.add_token_list(["a", "b", "c"])
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((8, 64)).astype(np.float32)
    writer.add_tensor("plain", matrix)
    writer.add_tensor("half", matrix.astype(np.float16))
    for kind in (gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.Q8_0):
        writer.add_tensor(f"coded_{kind.name}", gguf.quants.quantize(matrix, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def onnx_model() -> Any:
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    weight = numpy_helper.from_array(rng.standard_normal((5, 6)).astype(np.float32), "weight")
    coded = numpy_helper.from_array(rng.integers(-128, 128, (5, 6)).astype(np.int8), "coded")
    listed = helper.make_tensor("listed", TensorProto.FLOAT, (2, 2), [1.0, 2.0, 3.0, 4.0])
    shape = helper.make_node(
        "Constant", [], ["shape"], value=numpy_helper.from_array(np.array([0, -1, 3]), "shape_value")
    )
    product = helper.make_node("MatMul", ["x", "weight"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 5))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 6))
    return helper.make_model(helper.make_graph([shape, product], "g", [x], [y], [weight, coded, listed]))


def onnx_file(path: Path) -> Path:
    import onnx

    onnx.save_model(onnx_model(), path)
    return path


def wheel_file(path: Path) -> Path:
    from safetensors.numpy import save

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("package/__init__.py", "")
        archive.writestr("package/model/config.json", json.dumps({"model_type": "bert"}))
        archive.writestr("package/model/model.safetensors", save(arrays()))
    return path
