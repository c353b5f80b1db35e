"""Wheels and zips: members are read in place or unpacked outside of memory, and none is trusted."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files import archive as archives
from presage.checkpoints.files.archive import Archive
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from tests.checkpoints.files import samples

PACKING = pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])


def zipped(path, members, packing=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def weights(value):
    return save({"w": np.full((2, 2), value, np.float32)})


def two_models(path):
    models = {f"package/{name}/model.safetensors": weights(value) for name, value in (("one", 1.0), ("two", 2.0))}
    configs = {f"package/{name}/config.json": json.dumps({"model_type": name}) for name in ("one", "two")}
    return zipped(path, {**models, **configs, "package/one/training_args.bin": b"\x80\x02.", "package/a.bin": b"words"})


@PACKING
def test_members_are_the_bytes_that_python_unpacks(tmp_path, packing):
    content = np.random.default_rng(0).integers(0, 9, 100_000, dtype=np.uint8).tobytes()
    path = zipped(tmp_path / "a.zip", {"x": b"", "folder/data": content, "y": b"abc"}, packing)
    archive = Archive(ByteRange.of_file(path, "a"))
    assert archive.names == ["x", "folder/data", "y"]
    member = archive.member("folder/data")
    assert member.size == len(content)
    assert member.read(70_000, 500) == content[70_000:70_500]
    assert member.read(10, 5) == content[10:15]
    assert archive.head("folder/data", 7) == content[:7]
    assert archive.member("x").read(0, 0) == b""


@PACKING
@pytest.mark.parametrize("kind", ["safetensors", "torch", "legacy", "npz", "gguf", "onnx"])
def test_every_kind_of_file_is_read_inside_an_archive(tmp_path, packing, kind):
    write = {
        "safetensors": samples.safetensors_file,
        "torch": samples.torch_file,
        "legacy": lambda path: samples.torch_file(path, legacy=True),
        "npz": samples.npz_file,
        "gguf": samples.gguf_file,
        "onnx": samples.onnx_file,
    }[kind]
    suffix = {"torch": "pt", "legacy": "bin"}.get(kind, kind)
    path = write(tmp_path / f"model.{suffix}")
    alone = open_checkpoint(path)
    inside = open_checkpoint(zipped(tmp_path / "a.whl", {f"p/model.{suffix}": path.read_bytes()}, packing))
    assert set(inside.tensors) == set(alone.tensors)
    for name, tensor in alone.tensors.items():
        np.testing.assert_array_equal(inside.tensors[name].read().values, tensor.read().values)


def test_one_model_is_taken_with_the_config_beside_it(tmp_path):
    ours = open_checkpoint(samples.wheel_file(tmp_path / "package.whl"))
    assert ours.name.endswith("package.whl/package/model/model.safetensors")
    assert ours.config == {"model_type": "bert"}


def test_of_several_one_must_be_named(tmp_path):
    path = two_models(tmp_path / "package.whl")
    with pytest.raises(
        CheckpointError, match=r"2 files.*package/one/model\.safetensors, package/two/model\.safetensors"
    ):
        open_checkpoint(path)
    for member in ("package/two/model.safetensors", "package/two", "package/two/", "two"):
        ours = open_checkpoint(path, member=member)
        assert ours.config == {"model_type": "two"}
        assert (ours.tensors["w"].read().values == 2.0).all()
    with pytest.raises(CheckpointError, match=r"member=three is none of its files.*package/one"):
        open_checkpoint(path, member="three")
    with pytest.raises(CheckpointError, match="is the name of 2 files"):
        open_checkpoint(path, member="model.safetensors")
    with pytest.raises(CheckpointError, match="2 files of weights"):
        open_checkpoint(path, member="package")


@pytest.mark.parametrize("name", ["../model.safetensors", "a/../../model.safetensors", "/model.safetensors"])
def test_names_that_lead_out_of_the_archive_are_refused(tmp_path, name):
    with pytest.raises(CheckpointError, match="names a place outside of it"):
        open_checkpoint(zipped(tmp_path / "a.zip", {name: weights(1.0)}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_occurs_twice_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for value in (1.0, 2.0):
            archive.writestr("model.safetensors", weights(value))
    with pytest.raises(CheckpointError, match="occurs 2 times"):
        open_checkpoint(tmp_path / "a.zip")


def test_a_member_that_unpacks_to_two_hundred_times_its_size_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"model.safetensors": bytes(10_000_000)})
    with pytest.raises(CheckpointError, match="bytes that unpack to 10000000, more than is trusted"):
        open_checkpoint(path)


def test_a_member_that_unpacks_to_more_than_the_limit_is_refused(tmp_path, monkeypatch):
    path = samples.wheel_file(tmp_path / "a.whl")
    monkeypatch.setattr(archives, "LARGEST", 100)
    with pytest.raises(CheckpointError, match="more than is trusted"):
        open_checkpoint(path)


def test_a_member_that_unpacks_to_more_than_it_says_is_cut_and_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"model.safetensors": weights(1.0) + bytes(10_000)})
    content = path.read_bytes()
    true = (len(weights(1.0)) + 10_000).to_bytes(4, "little")
    assert content.count(true) == 2
    path.write_bytes(content.replace(true, len(weights(1.0)).to_bytes(4, "little")))
    with pytest.raises(CheckpointError, match="CRC"):
        open_checkpoint(path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(tmp_path, packing):
    with pytest.raises(CheckpointError, match="packed in a way that is not known"):
        open_checkpoint(zipped(tmp_path / "a.zip", {"model.safetensors": weights(1.0)}, packing))


def test_an_archive_inside_an_archive_is_refused(tmp_path):
    inner = zipped(tmp_path / "inner.zip", {"model.safetensors": weights(1.0)}).read_bytes()
    with pytest.raises(CheckpointError, match="archive inside of an archive"):
        open_checkpoint(zipped(tmp_path / "a.zip", {"model.pt": inner}))


def test_an_archive_without_weights_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="none of its 1 files"):
        open_checkpoint(zipped(tmp_path / "a.zip", {"readme.txt": "hello"}))
    with pytest.raises(CheckpointError, match="Keras"):
        open_checkpoint(zipped(tmp_path / "a.keras", {"model.weights.h5": "hello"}))


def test_nothing_is_left_in_the_folder_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    ours = open_checkpoint(samples.wheel_file(tmp_path / "a.whl"))
    ours.tensors["layers.0.q"].read()
    del ours
    assert list((tmp_path / "temporary").iterdir()) == []
