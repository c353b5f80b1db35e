"""Whatever weights are in is told by content, read with its config, or refused in one sentence."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from tests.checkpoints.files import samples


def test_a_file_is_told_by_its_content(tmp_path):
    for number, write in enumerate((samples.safetensors_file, samples.gguf_file, samples.torch_file)):
        right = write(tmp_path / f"{number}.pt")
        wrong = tmp_path / f"{number}.bin"
        shutil.copy(right, wrong)
        other = tmp_path / f"{number}.weights"
        shutil.copy(right, other)
        assert set(open_checkpoint(wrong).tensors) == set(open_checkpoint(other).tensors)


def test_the_name_is_the_path_as_it_was_given(tmp_path, monkeypatch):
    samples.safetensors_file(tmp_path / "model.safetensors")
    monkeypatch.chdir(tmp_path)
    assert open_checkpoint("model.safetensors").name == "model.safetensors"
    assert open_checkpoint(Path("model.safetensors")).name == "model.safetensors"
    assert open_checkpoint(".").name == "."


def test_the_config_beside_a_file_is_read_and_a_damaged_one_told(tmp_path):
    path = samples.safetensors_file(tmp_path / "model.safetensors")
    assert open_checkpoint(path).config == {}
    config = tmp_path / "config.json"
    config.write_text('{"num_attention_heads": 4}')
    assert open_checkpoint(path).config == open_checkpoint(tmp_path).config == {"num_attention_heads": 4}
    for damaged in ("{", "[1]", '{"a": 1, "a": 2}', "[" * 100_000):
        config.write_text(damaged)
        with pytest.raises(CheckpointError, match=r"config\.json"):
            open_checkpoint(path)


def test_a_config_beside_says_more_than_the_file(tmp_path):
    path = samples.gguf_file(tmp_path / "model.gguf")
    (tmp_path / "config.json").write_text('{"num_attention_heads": 5}')
    config = open_checkpoint(path).config
    assert config["num_attention_heads"] == 5
    assert config["num_key_value_heads"] == 2


def test_a_folder_with_one_file_is_that_file(tmp_path):
    samples.safetensors_file(tmp_path / "model.safetensors")
    (tmp_path / "readme.txt").write_text("hello")
    (tmp_path / "vocabulary.bin").write_text("hello")
    (tmp_path / "optimizer.pt").write_text("hello")
    ours = open_checkpoint(tmp_path)
    assert set(ours.tensors) == set(samples.arrays())
    assert ours.skipped == ()


def test_of_several_formats_one_is_read_and_the_others_told(tmp_path):
    samples.safetensors_file(tmp_path / "model.safetensors")
    samples.torch_file(tmp_path / "pytorch_model.bin")
    samples.onnx_file(tmp_path / "model.onnx")
    ours = open_checkpoint(tmp_path)
    assert set(ours.tensors) == set(samples.arrays())
    assert [row.name for row in ours.skipped] == ["model.onnx", "pytorch_model.bin"]
    assert open_checkpoint(tmp_path, member="model.onnx").graph is not None


def test_several_files_of_one_format_are_read_together(tmp_path):
    save_file({"a": np.zeros(2)}, tmp_path / "1.safetensors")
    save_file({"b": np.ones(2)}, tmp_path / "2.safetensors")
    assert set(open_checkpoint(tmp_path).tensors) == {"a", "b"}
    save_file({"b": np.ones(2)}, tmp_path / "3.safetensors")
    with pytest.raises(CheckpointError, match=r"same tensors.*1\.safetensors, 2\.safetensors, 3\.safetensors"):
        open_checkpoint(tmp_path)
    assert set(open_checkpoint(tmp_path, member="3.safetensors").tensors) == {"b"}


def test_members_of_a_folder_stay_in_it(tmp_path):
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    samples.safetensors_file(folder / "sub" / "model.safetensors")
    (folder / "sub" / "config.json").write_text('{"model_type": "bert"}')
    samples.safetensors_file(tmp_path / "secret.safetensors")
    for member in ("sub", "sub/model.safetensors"):
        assert open_checkpoint(folder, member=member).config == {"model_type": "bert"}
    (folder / "away").symlink_to(tmp_path)
    for member in ("..", "../secret.safetensors", "away", "away/secret.safetensors"):
        with pytest.raises(CheckpointError, match="outside of its folder"):
            open_checkpoint(folder, member=member)
    with pytest.raises(CheckpointError, match="no file 'none'"):
        open_checkpoint(folder, member="none")


def test_a_member_of_what_has_none_is_refused(tmp_path):
    path = samples.safetensors_file(tmp_path / "model.safetensors")
    for source in (path, {"a": np.ones(2)}):
        with pytest.raises(CheckpointError, match="member=a names a file inside"):
            open_checkpoint(source, member="a")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("model.h5", b"\x89HDF\r\n\x1a\n" + bytes(20), "Keras"),
        ("model.bin", b"\x89HDF\r\n\x1a\n" + bytes(20), "Keras"),
        ("model.keras", b"anything", "Keras"),
        ("flax_model.msgpack", b"\x81\xa6params", "Flax"),
        ("saved_model.pb", b"\x08\x01\x12", "TensorFlow"),
        ("model.tflite", b"TFL3", "TensorFlow Lite"),
        ("model.json", b'{"modelTopology": {}}', "TensorFlow.js"),
        ("model.txt", b"hello", "neither its first bytes nor its name"),
        ("model.safetensors", b"", "length of its header"),
        ("model.bin", b"", "cannot be read"),
        ("model.npz", b"", "cannot be read"),
        ("model.gguf", b"GGUF", "ends within its header"),
        ("model.onnx", b"", "none in it that can be read"),
        ("empty.zip", b"PK\x05\x06" + bytes(18), "none of its 0 files"),
    ],
)
def test_other_files_are_refused_with_what_to_do(tmp_path, name, content, reason):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=name) as error:
        open_checkpoint(path)
    assert reason in str(error.value)
    assert error.value.remedy


def test_what_is_not_there_or_no_path_is_a_sentence(tmp_path):
    with pytest.raises(CheckpointError, match="which does not exist"):
        open_checkpoint(tmp_path / "none.safetensors")
    with pytest.raises(CheckpointError, match="none of its 0 files"):
        open_checkpoint(tmp_path)
    others: list[Any] = [3, None, b"model.bin", [np.ones(2)]]
    for source in others:
        with pytest.raises(CheckpointError, match="is neither"):
            open_checkpoint(source)
    for path in ("a\0b", "x" * 5000):
        with pytest.raises(CheckpointError):
            open_checkpoint(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_pipe_is_refused_unread(tmp_path):
    os.mkfifo(tmp_path / "model.bin")
    with pytest.raises(CheckpointError, match="device or pipe"):
        open_checkpoint(tmp_path / "model.bin")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may read everything")
def test_a_file_that_may_not_be_read_is_a_sentence(tmp_path):
    path = samples.safetensors_file(tmp_path / "model.safetensors")
    path.chmod(0)
    with pytest.raises(CheckpointError, match="may not be read"):
        open_checkpoint(path)
