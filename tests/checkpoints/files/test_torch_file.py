"""Files of PyTorch, read without it: equal to `torch.load`, and nothing of them is run."""

from __future__ import annotations

import io
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.nested import nested
from presage.checkpoints.files.open_checkpoint import open_checkpoint

torch = pytest.importorskip("torch")
LEGACY = pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])


def saved(path, content, legacy):
    torch.save(content, path, _use_new_zipfile_serialization=not legacy)
    return path


def same(path):
    theirs = {
        name: leaf
        for name, leaf in nested(torch.load(path, weights_only=True, map_location="cpu"))
        if isinstance(leaf, torch.Tensor)
    }
    ours = open_checkpoint(path)
    assert ours.skipped == ()
    assert set(ours.tensors) == set(theirs)
    for name, tensor in theirs.items():
        values = ours.tensors[name].read().values
        assert values.shape == ours.tensors[name].shape == tuple(tensor.shape)
        np.testing.assert_array_equal(values, tensor.detach().double().numpy())
        if tensor.ndim and len(tensor) > 2:
            np.testing.assert_array_equal(ours.tensors[name].read(slice(1, 3)).values, values[1:3])
    return ours


def contents(legacy):
    generator = torch.Generator().manual_seed(0)
    whole = torch.randn(6, 8, generator=generator)
    kinds = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16]
    kinds += [torch.int8, torch.uint8, torch.bool]
    if not legacy:  # PyTorch does not load these from the old format
        kinds += [torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32]
    return {
        **{str(kind): (9 * whole.abs()).to(kind) for kind in kinds},
        "transposed": whole.T,
        "shared": whole,
        "rows": whole[2:5],
        "columns": whole[:, 1::3],
        "permuted": torch.randn(2, 3, 4, generator=generator).permute(2, 0, 1),
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(3.5),
        "parameter": torch.nn.Parameter(whole),
    }


@LEGACY
def test_tensors_are_those_that_pytorch_loads(tmp_path, legacy):
    ours = same(saved(tmp_path / "model.bin", contents(legacy), legacy))
    assert ours.tensors["torch.bfloat16"].dtype == "BF16"
    assert legacy or ours.tensors["torch.float8_e4m3fn"].dtype == "F8_E4M3"


@LEGACY
def test_a_state_dict_of_a_module_is_read(tmp_path, legacy):
    torch.manual_seed(0)
    module = torch.nn.TransformerEncoderLayer(8, 2, 16)
    ours = same(saved(tmp_path / "model.pt", module.state_dict(), legacy))
    assert ours.tensors["self_attn.in_proj_weight"].shape == (24, 8)


@LEGACY
def test_nested_dicts_are_walked_and_other_leaves_are_no_weights(tmp_path, legacy):
    weight = torch.ones(2, 3)
    module = torch.nn.Linear(2, 2)
    optimiser = torch.optim.Adam(module.parameters())
    module(torch.ones(2)).sum().backward()
    optimiser.step()
    content = {
        "model": {"deep": {"weight": weight}},
        "optimiser": optimiser.state_dict(),
        "epoch": 3,
        "loss": [0.5, 0.25],
        "shape": torch.Size([1, 2]),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
        "none": None,
        "words": "text",
    }
    ours = same(saved(tmp_path / "model.pth", content, legacy))
    assert "model.deep.weight" in ours.tensors


@LEGACY
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_pickles_is_read(tmp_path, legacy, protocol):
    path = tmp_path / "model.pt"
    torch.save({"a": {"w": torch.ones(3), "many": list(range(300))}}, path, pickle_protocol=protocol,
               _use_new_zipfile_serialization=not legacy)  # fmt: skip
    np.testing.assert_array_equal(open_checkpoint(path).tensors["a.w"].read().values, np.ones(3))


@LEGACY
def test_a_tensor_alone_is_called_tensor(tmp_path, legacy):
    ours = open_checkpoint(saved(tmp_path / "model.pt", torch.arange(4.0), legacy))
    np.testing.assert_array_equal(ours.tensors["tensor"].read().values, np.arange(4.0))


@LEGACY
def test_tensors_that_are_no_real_numbers_are_skipped(tmp_path, legacy):
    content = {"complex": torch.ones(2, dtype=torch.complex64), "expanded": torch.ones(1).expand(5), "w": torch.ones(2)}
    ours = open_checkpoint(saved(tmp_path / "model.pt", content, legacy))
    assert set(ours.tensors) == {"w"}
    np.testing.assert_array_equal(ours.tensors["w"].read().values, np.ones(2))
    reasons = dict(ours.skipped)
    assert "C64" in reasons["complex"]
    assert "asks for 5 numbers, and 1 are stored" in reasons["expanded"]


def test_names_that_meet_are_told(tmp_path):
    content = {"a.b": torch.ones(2), "a": {"b": torch.zeros(2)}}
    ours = open_checkpoint(saved(tmp_path / "model.pt", content, False))
    assert [row.name for row in ours.skipped] == ["a.b"]


class Harm:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@LEGACY
@pytest.mark.parametrize("protocol", [2, 4])
def test_what_the_file_asks_for_is_refused_and_not_run(tmp_path, legacy, protocol):
    trace, path = tmp_path / "trace", tmp_path / "model.bin"
    torch.save({"w": torch.ones(2), "x": Harm(trace)}, path, pickle_protocol=protocol,
               _use_new_zipfile_serialization=not legacy)  # fmt: skip
    with pytest.raises(CheckpointError, match=f"the file asks for {os.system.__module__}.system"):
        open_checkpoint(path)
    assert not trace.exists()


@pytest.mark.parametrize("protocol", range(6))
def test_a_plain_pickle_that_asks_for_a_command_is_refused(tmp_path, protocol):
    trace, path = tmp_path / "trace", tmp_path / "model.bin"
    path.write_bytes(pickle.dumps({"x": Harm(trace)}, protocol=protocol))
    with pytest.raises(CheckpointError, match=f"the file asks for {os.system.__module__}.system"):
        open_checkpoint(path)
    assert not trace.exists()


@pytest.mark.parametrize("text", [b"cposix\nsystem\n(S'ls'\ntR.", b"(S'ls'\niposix\nsystem\n."])
def test_commands_in_the_oldest_protocol_are_refused(tmp_path, text):
    (tmp_path / "model.bin").write_bytes(text)
    with pytest.raises(CheckpointError, match=r"the file asks for posix\.system"):
        open_checkpoint(tmp_path / "model.bin")


@LEGACY
def test_scalars_of_numpy_and_other_classes_are_refused_by_name(tmp_path, legacy):
    with pytest.raises(CheckpointError, match=r"asks for numpy\..*scalar"):
        open_checkpoint(saved(tmp_path / "model.pt", {"w": torch.ones(2), "loss": np.float64(3.0)}, legacy))
    with pytest.raises(CheckpointError, match=r"asks for torch\.nn\.modules\.linear\.Linear"):
        open_checkpoint(saved(tmp_path / "model.pt", torch.nn.Linear(2, 2), legacy))


def test_a_pickle_of_something_else_is_refused(tmp_path):
    (tmp_path / "model.bin").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CheckpointError, match="something else than tensors"):
        open_checkpoint(tmp_path / "model.bin")


@LEGACY
def test_dicts_deeper_than_fifty_are_refused(tmp_path, legacy):
    content = {"w": torch.ones(2)}
    for _ in range(49):
        content = {"d": content}
    same(saved(tmp_path / "model.pt", content, legacy))
    with pytest.raises(CheckpointError, match="more than 50 deep"):
        open_checkpoint(saved(tmp_path / "model.pt", {"d": content}, legacy))


def test_a_list_that_holds_itself_is_refused(tmp_path):
    endless: list = []
    endless.append(endless)
    with pytest.raises(CheckpointError, match="more than 50 deep"):
        open_checkpoint(saved(tmp_path / "model.pt", {"w": torch.ones(2), "e": endless}, False))


def zipped(path, pickled, storages=None, byteorder=b"little"):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", byteorder)
        archive.writestr("archive/version", b"3\n")
        for key, content in (storages or {}).items():
            archive.writestr(f"archive/data/{key}", content)
    return path


def test_doublings_that_would_never_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("presage.checkpoints.files.nested.MOST", 10_000)
    # t = (t, t) forty times: hashed as a key, or walked, it is 2^40 values.
    doubling = b"\x80\x02)" + b"q\x000h\x00h\x00\x86" * 40
    with pytest.raises(CheckpointError, match="a key that is a tuple"):
        open_checkpoint(zipped(tmp_path / "key.pt", b"\x80\x02}(" + doubling[2:] + b"K\x01u."))
    lists = b"\x80\x02]q\x00" + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(40)) + b"."
    with pytest.raises(CheckpointError, match="values are nested"):
        open_checkpoint(zipped(tmp_path / "walk.pt", lists))


def test_a_memo_of_any_number_takes_no_memory(tmp_path):
    pickled = b"\x80\x02K\x01r\xff\xff\xff\xff."
    with pytest.raises(CheckpointError, match="none in it that can be read"):
        open_checkpoint(zipped(tmp_path / "model.pt", pickled))


def tensor_pickle(shape, strides, offset=0, key="0", count=4):
    """A pickle of one tensor with any numbers in it."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return ("storage", torch.FloatStorage, key, "cpu", count) if obj == "here" else None

    class Tensor:
        def __reduce__(self):
            return torch._utils._rebuild_tensor_v2, ("here", offset, shape, strides, False, None)

    stream = io.BytesIO()
    Pickler(stream, protocol=2).dump({"w": Tensor()})
    return stream.getvalue()


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({"shape": (5,), "strides": (1,)}, "asks for 5 numbers"),
        ({"shape": (2,), "strides": (9,)}, "lead beyond the 4 numbers"),
        ({"shape": (2,), "strides": (1,), "offset": 3}, "lead beyond"),
        ({"shape": (2,), "strides": (1,), "offset": -1}, "offset is not made of whole numbers"),
        ({"shape": (2,), "strides": (-1,), "offset": 3}, "strides is not made of whole numbers"),
        ({"shape": (2**62,), "strides": (0,)}, "asks for 4611686018427387904 numbers"),
        ({"shape": (2, 2), "strides": (1,)}, "2 axes and 1 strides"),
        ({"shape": (2,), "strides": (2**62,)}, "lead beyond"),
        ({"shape": ("a",), "strides": (1,)}, "shape is not made of whole numbers"),
        ({"shape": 3, "strides": (1,)}, "shape is not made of whole numbers"),
        ({"shape": (2,), "strides": (1,), "key": "../../0"}, "has no storage"),
        ({"shape": (2,), "strides": (1,), "count": 2**62}, "its storage should have"),
    ],
)
def test_a_tensor_outside_of_its_storage_is_skipped(tmp_path, numbers, reason):
    path = zipped(tmp_path / "model.pt", tensor_pickle(**numbers), {"0": bytes(16)})
    with pytest.raises(CheckpointError, match="'w'") as error:
        open_checkpoint(path)
    assert reason in str(error.value)


def test_big_endian_files_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="big-endian"):
        open_checkpoint(zipped(tmp_path / "model.pt", tensor_pickle((2,), (1,)), {"0": bytes(16)}, b"big"))


def test_a_packed_archive_of_pytorch_is_read_too(tmp_path):
    path = saved(tmp_path / "model.pt", {"w": torch.arange(1000.0)}, False)
    packed = tmp_path / "packed.pt"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    np.testing.assert_array_equal(open_checkpoint(packed).tensors["w"].read().values, np.arange(1000.0))


def test_a_legacy_file_that_is_cut_keeps_its_first_tensors(tmp_path):
    path = saved(tmp_path / "model.bin", {str(i): torch.full((100,), float(i)) for i in range(5)}, True)
    path.write_bytes(path.read_bytes()[:-500])
    ours = open_checkpoint(path)
    assert len(ours.tensors) == 3
    assert all("ends before its storage" in row.reason for row in ours.skipped)
    for name, tensor in ours.tensors.items():
        assert (tensor.read().values == float(name)).all()


def before(*values):
    """The first pickles of a legacy file, and these."""
    return b"".join(pickle.dumps(value, protocol=2) for value in [0x1950A86A20F9469CFC6C, 1001, *values])


def nulls(path, count, zip_file):
    """A file whose pickle is as many empty dicts, on the stack and nowhere else."""
    pickled = b"\x80\x02" + b"}" * count + b"."
    if zip_file:
        return zipped(path, pickled)
    path.write_bytes(before({}) + pickled)
    return path


@pytest.mark.parametrize("zip_file", [True, False], ids=["zip", "legacy"])
def test_a_pickle_of_more_instructions_than_tensors_need_is_refused(tmp_path, monkeypatch, zip_file):
    path = nulls(tmp_path / "model.bin", 20_000, zip_file)
    monkeypatch.setattr("presage.checkpoints.files.torch_pickle.MOST_ON_STACK", 10_000)
    with pytest.raises(CheckpointError, match="puts more than 10000 things on its stack"):
        open_checkpoint(path)
    monkeypatch.setattr("presage.checkpoints.files.torch_pickle.MOST_STEPS", 5_000)
    with pytest.raises(CheckpointError, match="more than 5000 instructions"):
        open_checkpoint(path)


@pytest.mark.parametrize("zip_file", [True, False], ids=["zip", "legacy"])
def test_a_small_file_cannot_take_much_memory(tmp_path, zip_file):
    """Three million empty dicts were 224 MB, and a zip has them in 19 kB."""
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="on its stack"):
        open_checkpoint(nulls(tmp_path / "model.bin", 1_000_000, zip_file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_a_model_of_three_thousand_tensors_is_within_the_bounds(tmp_path):
    many = {f"layers.{i}.weight": torch.zeros(1) for i in range(3_000)}
    assert len(open_checkpoint(saved(tmp_path / "model.pt", many, False)).tensors) == 3_000


def test_the_pickles_of_a_legacy_file_are_bounded_together(tmp_path, monkeypatch):
    path = saved(tmp_path / "model.bin", {"w": torch.ones(2), "text": ["a" * 900, "b" * 900]}, True)
    same(path)
    monkeypatch.setattr("presage.checkpoints.files.torch_legacy.LARGEST_PICKLE", 2_000)
    with pytest.raises(CheckpointError, match="its pickles have more than 2000 bytes"):
        open_checkpoint(path)


DOUBLED = b")" + b"q\x000h\x00h\x00\x86" * 40  # t = (t, t) forty times: spelled out it has 2^40 brackets


@pytest.mark.parametrize(
    ("pickled", "reason"),
    [
        (b"\x80\x04" + DOUBLED + b"\x8c\x04name\x93.", "a name that is no text"),
        (
            b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\n" + DOUBLED + b"X\x03\x00\x00\x00cpuK\x04tQ.",
            "a storage whose key is no name",
        ),
        (b"\x80\x02}" + DOUBLED + b"K\x01s.", "a key that is a tuple"),
        (b"\x80\x02}\x8a\x0a" + b"\xff" * 9 + b"\x00K\x01s.", "a key that is a number of more than 19 digits"),
    ],
    ids=["global", "storage", "tuple", "number"],
)
def test_what_would_take_for_ever_to_spell_or_to_hash_is_refused(tmp_path, pickled, reason):
    with pytest.raises(CheckpointError, match=reason):
        open_checkpoint(zipped(tmp_path / "model.pt", pickled))


def test_keys_of_storages_that_would_take_for_ever_to_spell_are_refused(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(before({}, {}) + b"\x80\x02](" + DOUBLED + b"e.")
    with pytest.raises(CheckpointError, match="none in it that can be read"):
        open_checkpoint(path)


def test_one_list_made_into_many_dicts_is_refused(tmp_path, monkeypatch):
    """A list of 2000 pairs that is handed on 2000 times makes four million entries out of six thousand instructions."""
    monkeypatch.setattr("presage.checkpoints.files.torch_pickle.MOST_STEPS", 100_000)
    pairs = b"](" + b"K\x01K\x02\x86" * 2000 + b"e\x85q\x00"
    pickled = b"\x80\x02ccollections\nOrderedDict\nq\x010" + pairs + b"0" + b"h\x01h\x00R0" * 2000 + b"}."
    with pytest.raises(CheckpointError, match=r"more than \d+ instructions"):
        open_checkpoint(zipped(tmp_path / "model.pt", pickled))
    rebuilt = b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ccollections\nOrderedDict\nN" + pairs + b"NtR."
    with pytest.raises(CheckpointError, match="something is called that is no builder of tensors"):
        open_checkpoint(zipped(tmp_path / "model.pt", rebuilt))


def test_names_that_repeat_a_long_text_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("presage.checkpoints.files.nested.MOST_TEXT", 100_000)
    weight = torch.ones(1)
    with pytest.raises(CheckpointError, match="names of more than 100000 letters"):
        open_checkpoint(saved(tmp_path / "model.pt", {"a" * 10_000: {str(i): weight for i in range(20)}}, False))
