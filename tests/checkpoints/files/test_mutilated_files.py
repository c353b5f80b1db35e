"""Files with random damage, read from the first byte to the last number of a report.

Each is read or refused in a sentence, nothing else comes out, and nothing is written beside them.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from tests.checkpoints.files import samples

H, SIZE, WIDTH = 2, 3, 6  # of attention that is small enough to be measured in a millisecond


def attention(layers=1):
    """The arrays of a small Llama, with biases and norms, and one matrix in another type."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for start in (f"model.layers.{layer}." for layer in range(layers)):
        for side in "qk":
            found[f"{start}self_attn.{side}_proj.weight"] = rng.standard_normal((H * SIZE, WIDTH)).astype(np.float32)
            found[f"{start}self_attn.{side}_norm.weight"] = rng.uniform(0.5, 2.0, SIZE)
        found[f"{start}self_attn.q_proj.bias"] = rng.standard_normal(H * SIZE).astype(np.float16)
        found[f"{start}self_attn.o_proj.weight"] = rng.integers(-9, 9, (WIDTH, H * SIZE)).astype(np.int8)
        found[f"{start}input_layernorm.weight"] = rng.uniform(0.5, 2.0, WIDTH).astype(np.float32)
    return found


CONFIG = {"model_type": "llama", "num_attention_heads": H, "num_key_value_heads": H, "head_dim": SIZE}


def safetensors_file(path):
    from safetensors.numpy import save_file

    save_file(attention(), path)
    return path


def npz_file(path):
    np.savez(path, **attention())
    return path


def torch_file(path, legacy=False):
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(array) for name, array in attention().items()}
    tensors = {name: tensor.T.contiguous().T if tensor.ndim == 2 else tensor for name, tensor in tensors.items()}
    torch.save({"model": tensors, "step": 3}, path, _use_new_zipfile_serialization=not legacy)
    return path


def gguf_file(path):
    import gguf

    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_head_count([H])
    writer.add_head_count_kv(H)
    writer.add_key_length(SIZE)
    writer.add_rope_dimension_count(SIZE - 1)
    for side in "qk":
        writer.add_tensor(f"blk.0.attn_{side}.weight", rng.standard_normal((H * SIZE, WIDTH)).astype(np.float32))
        coded = gguf.quants.quantize(
            rng.standard_normal((H * SIZE, 32)).astype(np.float32), gguf.GGMLQuantizationType.Q4_1
        )
        writer.add_tensor(f"blk.1.attn_{side}.weight", coded, raw_dtype=gguf.GGMLQuantizationType.Q4_1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def onnx_file(path):
    pytest.importorskip("onnx")
    from tests.checkpoints.cutting.graphs import Graph

    rng = np.random.default_rng(0)
    graph = Graph()

    def heads(value):
        return graph.heads(value, H, SIZE)

    def matrix(columns=H * SIZE):
        return graph.constant(rng.standard_normal((WIDTH, columns)).astype(np.float32))

    bias = graph.constant(rng.standard_normal(H * SIZE).astype(np.float32))
    graph.attention(
        heads(graph.node("Add", graph.node("MatMul", "x", matrix()), bias)),
        heads(graph.node("Gemm", "x", matrix(), bias)),
    )
    fused = graph.node("MatMul", "x", matrix(3 * H * SIZE))
    queries, keys, _ = graph.node("Split", fused, outputs=3, axis=-1, num_outputs=3)
    graph.attention(heads(queries), heads(keys))
    turned = graph.node("Transpose", graph.reshaped(fused, [0, -1, 3, H, SIZE]), perm=[2, 0, 3, 1, 4])
    graph.attention(*(graph.node("Gather", turned, graph.constant(np.int64(place)), axis=0) for place in range(2)))
    whole, scale = rng.integers(-99, 99, (WIDTH, H * SIZE)).astype(np.int8), rng.uniform(0.1, 1.0, H * SIZE)
    coded = [
        graph.constant(whole),
        graph.constant(scale.astype(np.float32)),
        graph.constant(np.zeros(H * SIZE, np.int8)),
    ]
    product = graph.node("MatMul", "x", graph.node("DequantizeLinear", *coded, axis=1))
    limits = [graph.constant(np.array([place])) for place in (0, 2, 3)]
    graph.attention(graph.node("Slice", heads(product), *limits), graph.node("Slice", heads(product), *limits))
    graph.saved(path)
    return path


def wheel_file(path):
    from safetensors.numpy import save

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/model/config.json", json.dumps(CONFIG))
        archive.writestr("package/model/model.safetensors", save(attention()))
    return path


def damaged_bytes(content, rng):
    """The content with a few bits turned, a stretch overwritten or repeated, or its end cut off."""
    damaged = bytearray(content)
    near = rng.integers(min(512, len(content)))  # headers, at either end, are where damage is worst
    place = int(rng.choice([rng.integers(len(content)), near, len(content) - 1 - near]))
    match rng.integers(6):
        case 0:
            for where in rng.integers(max(0, place - 50), min(len(content), place + 50), 3):
                damaged[where] ^= 1 << rng.integers(8)
        case 1:
            damaged = damaged[:place]
        case 2:
            damaged[place : place + 8] = rng.bytes(8)
        case 3:
            damaged[place : place + 8] = bytes([rng.choice([0, 255, 127, 128])]) * 8
        case 4:
            damaged[place : place + 8] = (2 ** int(rng.integers(64))).to_bytes(8, "little")
        case _:
            damaged[place:place] = damaged[place // 2 : place // 2 + int(rng.integers(64))]
    return bytes(damaged)


def damaged_graph(content, rng):
    """A graph in which inputs, operators, attributes and constants are others: a valid message, and no model."""
    import onnx

    model = onnx.load_model_from_string(content)
    nodes, constants = model.graph.node, model.graph.initializer
    values = [name for node in nodes for name in node.output] + [constant.name for constant in constants] + ["x", ""]
    for _ in range(rng.integers(1, 4)):
        node = nodes[rng.integers(len(nodes))]
        other = nodes[rng.integers(len(nodes))]
        constant = constants[rng.integers(len(constants))]
        match rng.integers(9):
            case 0 if node.input:
                node.input[rng.integers(len(node.input))] = str(rng.choice(values))
            case 1:
                del node.input[rng.integers(len(node.input) + 1) :]
            case 2:
                del node.output[rng.integers(len(node.output) + 1) :]
            case 3:
                node.op_type = other.op_type
            case 4 if node.attribute:
                attribute = node.attribute[rng.integers(len(node.attribute))]
                attribute.i = int(rng.integers(-5, 5))
                attribute.ints[:] = rng.integers(-5, 5, rng.integers(5)).tolist()
            case 5:
                del node.attribute[:]
            case 6:
                constant.dims[:] = (
                    rng.permutation([*constant.dims, *[[], [1], [0]][rng.integers(3)]]).astype(int).tolist()
                )
            case 7:
                size = int(rng.integers(5))
                constant.CopyFrom(onnx.numpy_helper.from_array(rng.integers(-9, 9, size), constant.name))
            case _:
                node.input.append(str(rng.choice(values)))
    return model.SerializeToString()


def damaged_arrays(rng):
    """Arrays, numbers and a configuration of which some are others."""
    arrays, config = attention(2), dict(CONFIG)
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice(list(arrays)))
        match rng.integers(6):
            case 0:
                arrays[name] = rng.standard_normal(rng.integers(0, 8, rng.integers(4)))
            case 1:
                arrays[name] = arrays[name] * 10.0 ** rng.integers(-320, 300)
            case 2:
                arrays[name] = np.zeros_like(arrays[name])
            case 3:
                arrays[str(rng.choice([name.replace("1", "1" * 5000), name[:-1], name + ".weight"]))] = arrays.pop(name)
            case 4:
                arrays[name] = arrays[name][: rng.integers(4)]
            case _:
                wrong = [0, -1, 1, 7, 10**9, 10**400, 1.5, "2", None, [3], [], [2, 2], True, float("nan")]
                config[
                    str(rng.choice([*list(CONFIG), "rotary_dim", "partial_rotary_factor", "attention_multiplier"]))
                ] = wrong[rng.integers(len(wrong))]
    return arrays, config


KINDS = {
    "model.safetensors": (safetensors_file, damaged_bytes),
    "model.pt": (torch_file, damaged_bytes),
    "model.bin": (lambda path: torch_file(path, legacy=True), damaged_bytes),
    "model.npz": (npz_file, damaged_bytes),
    "model.gguf": (gguf_file, damaged_bytes),
    "model.onnx": (onnx_file, damaged_bytes),
    "graph.onnx": (onnx_file, damaged_graph),
    "package.whl": (wheel_file, damaged_bytes),
}
EVERY_KIND = pytest.mark.parametrize("name", KINDS)


def generator(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def told(source, rng):
    """How many heads a source has, read in one of the ways to read it, or the sentence that refuses it."""
    folded = bool(rng.integers(2)) and not str(source).endswith(".onnx")
    heads = H if rng.integers(4) else None
    try:
        report = ps.read_weights(source, heads=heads, fold_norm=folded, flips=0, progress=False)
    except CheckpointError as refused:
        return 0, str(refused)
    assert report.every_head or report.left_out  # a table is never empty without a reason
    for head in report.every_head:
        assert np.isfinite(head.singular_values).all()
        assert head.row()["sentence"]
    return len(report.every_head), str(report)


def outcomes(folder, name, count):
    """How many of such files had heads, and how many were refused."""
    writer, damaged = KINDS[name]
    content = writer(folder / name).read_bytes()
    rng = generator(name)
    read = refused = 0
    assert told(folder / name, np.random.default_rng(1))[0] > 0
    for _ in range(count):
        (folder / name).write_bytes(damaged(content, rng))
        heads, text = told(folder / name, rng)
        assert name in text
        assert heads or "\n" not in text or "Skipped: " in text
        read, refused = read + (heads > 0), refused + (heads == 0)
        assert [path.name for path in folder.iterdir()] == [name]
    return read, refused


@EVERY_KIND
def test_heads_of_thirty_mutilated_files_of_a_kind(tmp_path, name):
    read, refused = outcomes(tmp_path, name, 30)
    assert read > 0
    assert refused > 0


@pytest.mark.slow
@EVERY_KIND
def test_heads_of_a_thousand_mutilated_files_of_a_kind(tmp_path, name):
    read, refused = outcomes(tmp_path, name, 1000)
    assert read > 50
    assert refused > 50


def outcomes_of_arrays(folder, count):
    """How many whole files of wrong arrays and configurations had heads, and how many were refused."""
    from safetensors.numpy import save_file

    rng = generator("arrays")
    read = refused = 0
    for _ in range(count):
        arrays, config = damaged_arrays(rng)
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config))
        heads, _ = told(folder / "model.safetensors", rng)
        read, refused = read + (heads > 0), refused + (heads == 0)
    return read, refused


def test_thirty_files_of_wrong_arrays(tmp_path):
    assert min(outcomes_of_arrays(tmp_path, 30)) > 0


@pytest.mark.slow
def test_a_thousand_files_of_wrong_arrays(tmp_path):
    assert min(outcomes_of_arrays(tmp_path, 1000)) > 50


# Every type of number, and what is no attention: opened, and each tensor read.

WRITERS = {
    "model.safetensors": samples.safetensors_file,
    "model.pt": samples.torch_file,
    "model.bin": lambda path: samples.torch_file(path, legacy=True),
    "model.npz": samples.npz_file,
    "model.gguf": samples.gguf_file,
    "model.onnx": samples.onnx_file,
    "package.whl": samples.wheel_file,
}
EVERY_WRITER = pytest.mark.parametrize("name", WRITERS)


def read_all(path):
    """Open a file and read all its tensors; the sentences that came of it."""
    sentences = []
    try:
        checkpoint = open_checkpoint(path)
    except CheckpointError as refused:
        return False, [str(refused)]
    for tensor in checkpoint.tensors.values():
        try:
            values, error = tensor.read()
        except CheckpointError as refused:
            sentences.append(str(refused))
        else:
            assert values.shape == tensor.shape
            assert error.shape == (tensor.shape[0] if tensor.shape else 1,)
            assert values.dtype in (np.float32, np.float64)
    return True, sentences


def opened_and_refused(folder, name, count):
    """How many of such files were opened, and how many were refused."""
    content = WRITERS[name](folder / name).read_bytes()
    rng = generator(name)
    opened = 0
    for _ in range(count):
        (folder / name).write_bytes(damaged_bytes(content, rng))
        whole, sentences = read_all(folder / name)
        opened += whole
        assert all(name in sentence and "\n" not in sentence for sentence in sentences)
        assert [path.name for path in folder.iterdir()] == [name]
    return opened, count - opened


@EVERY_WRITER
def test_sixty_mutilated_files_of_a_kind(tmp_path, name):
    opened, refused = opened_and_refused(tmp_path, name, 60)
    assert opened > 0
    assert refused > 0


@pytest.mark.slow
@EVERY_WRITER
def test_a_thousand_mutilated_files_of_a_kind(tmp_path, name):
    opened, refused = opened_and_refused(tmp_path, name, 1000)
    assert opened > 50
    assert refused > 50
