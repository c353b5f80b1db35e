"""GGUF: equal to what its own package reads, with the rounding that the blocks have."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind

import presage as ps
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.heads_of import heads_of
from presage.checkpoints.files import gguf_steps
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from presage.protocol import extras
from tests.checkpoints.files import samples

LINEAR = [Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0]
UNEVEN = [Kind.IQ4_NL, Kind.IQ4_XS]  # steps of 11 to 24 units, 10 to 12 in the middle
CODED = [*LINEAR, Kind.Q2_K, Kind.Q3_K, Kind.Q4_K, Kind.Q5_K, Kind.Q6_K, *UNEVEN]


def written(path, tensors, fields=lambda writer: None, architecture="llama"):
    writer = gguf.GGUFWriter(path, architecture)
    fields(writer)
    for name, (content, kind) in tensors.items():
        writer.add_tensor(name, content, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_tensors_are_those_that_the_package_reads(tmp_path):
    path = samples.gguf_file(tmp_path / "model.gguf")
    ours = open_checkpoint(path)
    theirs = gguf.GGUFReader(path)
    assert list(ours.tensors) == [tensor.name for tensor in theirs.tensors]
    for tensor in theirs.tensors:
        mine = ours.tensors[tensor.name]
        assert mine.dtype == tensor.tensor_type.name
        assert mine.shape == tuple(tensor.shape[::-1].tolist())
        values, error = mine.read()
        np.testing.assert_array_equal(values, gguf.quants.dequantize(tensor.data, tensor.tensor_type))
        part = mine.read(slice(2, 5))
        np.testing.assert_array_equal(part.values, values[2:5])
        np.testing.assert_array_equal(part.error, error[2:5])


def test_fields_are_the_keys_of_a_config(tmp_path):
    assert open_checkpoint(samples.gguf_file(tmp_path / "model.gguf")).config == {
        "model_type": "llama",
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "head_dim": 16,
    }


def test_a_count_a_layer_is_one_number_or_a_list_or_told(tmp_path):
    def fields(writer):
        writer.add_head_count([8, 8])
        writer.add_head_count_kv([2, 4])
        writer.add_array("llama.embedding_length", [16, 32])

    ours = open_checkpoint(written(tmp_path / "model.gguf", {"w": (np.ones((2, 2), np.float32), None)}, fields))
    assert ours.config["num_attention_heads"] == 8
    assert ours.config["num_key_value_heads"] == [2, 4]
    assert "hidden_size" not in ours.config
    assert [row.name for row in ours.skipped] == ["llama.embedding_length"]


def test_heads_of_layers_that_have_different_numbers_of_them(tmp_path):
    """As OpenELM is stored."""
    rng = np.random.default_rng(0)
    rows = {"blk.0.attn_q": 32, "blk.0.attn_k": 8, "blk.1.attn_q": 64, "blk.1.attn_k": 32}
    tensors = {
        f"{name}.weight": (rng.standard_normal((count, 24)).astype(np.float32), None) for name, count in rows.items()
    }

    def fields(writer):
        writer.add_head_count([4, 8])
        writer.add_head_count_kv([1, 4])
        writer.add_key_length(8)

    first, second = heads_of(open_checkpoint(written(tmp_path / "model.gguf", tensors, fields))).layers
    assert (len(first.heads), len(second.heads)) == (4, 8)
    np.testing.assert_array_equal(second.heads[5].W_K, tensors["blk.1.attn_k.weight"][0][16:24].T)


@pytest.mark.parametrize("architecture", ["llama", "phi2"])
@pytest.mark.parametrize("turned", [None, 8, 16])
def test_planes_of_rotary_positions_where_they_turn_a_whole_head(tmp_path, architecture, turned):
    rng = np.random.default_rng(0)
    tensors = {f"blk.0.attn_{side}.weight": (rng.standard_normal((32, 24)).astype(np.float32), None) for side in "qk"}

    def fields(writer):
        writer.add_head_count(2)
        if turned is not None:
            writer.add_rope_dimension_count(turned)

    report = ps.read_weights(written(tmp_path / "model.gguf", tensors, fields, architecture), flips=0)
    partly = turned == 8
    assert [len(head.planes) for head in report.every_head] == [0 if partly else 8] * 2
    assert ("Only 8 of 16 coordinates are turned." in str(report)) is partly
    for head in report.every_head:
        assert partly or sum(head.planes) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", LINEAR, ids=lambda kind: kind.name)
def test_the_error_is_that_of_the_rounding(tmp_path, kind):
    exact = np.random.default_rng(0).standard_normal((4, 32 * 400)).astype(np.float32) * np.array(
        [[1], [2], [5], [0.1]]
    )
    exact = exact.astype(np.float32)
    path = written(tmp_path / "model.gguf", {"w": (gguf.quants.quantize(exact, kind), kind)})
    values, error = open_checkpoint(path).tensors["w"].read()
    rounding = np.sqrt(np.mean((values - exact).astype(np.float64) ** 2, axis=1))
    np.testing.assert_allclose(error, rounding, rtol=0.05)


def random_blocks(kind, rng):
    """Two rows of blocks of any bytes, with scales that are small numbers."""
    block, size = gguf.constants.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (2, 3, size), dtype=np.uint8)
    scales = {
        Kind.Q4_1: [0, 2],
        Kind.Q5_1: [0, 2],
        Kind.Q2_K: [80, 82],
        Kind.Q3_K: [108],
        Kind.Q4_K: [0, 2],
        Kind.Q5_K: [0, 2],
        Kind.Q6_K: [208],
    }
    for place in scales.get(kind, [0]):
        blocks[..., place : place + 2] = rng.uniform(0.01, 0.1, (2, 3, 1)).astype("<f2").view(np.uint8)
    return blocks, block, size


@pytest.mark.parametrize("kind", CODED, ids=lambda kind: kind.name)
def test_steps_are_the_distances_of_neighbouring_codes(kind):
    blocks, _, size = random_blocks(kind, np.random.default_rng(1))
    rows = blocks.reshape(2, -1)
    values = gguf.quants.dequantize(rows, kind)
    told = gguf_steps.block_rounding(
        rows, values, kind.name, size, lambda content: gguf.quants.dequantize(content, kind)
    )
    if kind in LINEAR:
        steps = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float64)
        expected = np.sqrt(np.mean(steps**2, axis=(1, 2)) / 12.0)
        np.testing.assert_allclose(told, expected, rtol=1e-4)
    else:  # numbers that share a step differ by multiples of it: the smallest distance is one, where there are enough
        group = 32 if kind in (Kind.Q4_K, Kind.Q5_K, *UNEVEN) else 16
        distances = np.diff(np.sort(values.reshape(2, -1, group), axis=-1), axis=-1)
        tiny = 1e-4 * np.abs(values).max()
        smallest = np.where(distances > tiny, distances, np.inf).min(axis=-1)
        smallest = np.where(np.isfinite(smallest), smallest, 0.0)
        ratio = told / np.sqrt(np.mean(smallest**2, axis=1) / 12.0)
        low, high = (1.3, 1.7) if kind in UNEVEN else (0.6, 1.01)
        assert ((low < ratio) & (ratio < high)).all()


def test_vectors_of_blocks_and_other_formats_are_read(tmp_path):
    rng = np.random.default_rng(2)
    vector = rng.standard_normal(64).astype(np.float32)
    ternary = rng.standard_normal((2, 256)).astype(np.float32)
    tensors = {
        "vector": (gguf.quants.quantize(vector, Kind.Q8_0), Kind.Q8_0),
        "ternary": (gguf.quants.quantize(ternary, Kind.TQ1_0), Kind.TQ1_0),
        "bf16": (gguf.quants.quantize(vector, Kind.BF16), Kind.BF16),
    }
    ours = open_checkpoint(written(tmp_path / "model.gguf", tensors)).tensors
    for name, (content, kind) in tensors.items():
        values, error = ours[name].read()
        np.testing.assert_array_equal(values, gguf.quants.dequantize(content, kind))
        assert (error > 0.0).all()
    np.testing.assert_array_equal(ours["vector"].read(slice(3, 40)).values, ours["vector"].read().values[3:40])


def test_a_file_that_promises_more_than_it_has_is_refused_at_once(tmp_path):
    path = samples.gguf_file(tmp_path / "model.gguf")
    content = bytearray(path.read_bytes())
    for place in (8, 16):  # how many tensors, how many fields
        damaged = content.copy()
        damaged[place : place + 8] = (2**62).to_bytes(8, "little")
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"model\.gguf"):
            open_checkpoint(path)


def test_a_list_that_is_longer_than_the_file_is_refused_at_once(tmp_path):
    def text(word):
        return len(word).to_bytes(8, "little") + word

    number = (5).to_bytes(4, "little")  # int32
    endless = (9).to_bytes(4, "little") + number + (2**62).to_bytes(8, "little")
    (tmp_path / "model.gguf").write_bytes(
        b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (1).to_bytes(8, "little") + text(b"a") + endless
    )
    with pytest.raises(CheckpointError, match="ends within its header"):
        open_checkpoint(tmp_path / "model.gguf")


@pytest.mark.parametrize(("version", "reason"), [(1, "of version 1"), (0x3000000, "big-endian")])
def test_other_versions_are_refused(tmp_path, version, reason):
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + version.to_bytes(4, "little") + bytes(16))
    with pytest.raises(CheckpointError, match=reason):
        open_checkpoint(tmp_path / "model.gguf")


def test_a_tensor_beyond_the_end_is_skipped(tmp_path):
    path = samples.gguf_file(tmp_path / "model.gguf")
    path.write_bytes(path.read_bytes()[:-100])
    ours = open_checkpoint(path)
    assert [row.name for row in ours.skipped] == ["coded_Q8_0"]
    assert len(ours.tensors) == 3


def test_without_the_package_the_sentence_says_how_to_have_it(tmp_path, monkeypatch):
    path = samples.gguf_file(tmp_path / "model.gguf")
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(CheckpointError, match="pip install gguf onnx"):
        open_checkpoint(path)
