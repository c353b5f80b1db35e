"""Files with random damage: each is read or refused in a sentence, nothing else comes out, and nothing is written."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from tests.checkpoints.files import samples

WRITERS = {
    "model.safetensors": samples.safetensors_file,
    "model.pt": samples.torch_file,
    "model.bin": lambda path: samples.torch_file(path, legacy=True),
    "model.npz": samples.npz_file,
    "model.gguf": samples.gguf_file,
    "model.onnx": samples.onnx_file,
    "package.whl": samples.wheel_file,
}
KINDS = pytest.mark.parametrize("name", WRITERS)


def mutilated(content, rng):
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


def outcomes(folder, name, count):
    """How many of such files were opened, and how many were refused."""
    content = WRITERS[name](folder / name).read_bytes()
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    opened = 0
    for _ in range(count):
        (folder / name).write_bytes(mutilated(content, rng))
        whole, sentences = read_all(folder / name)
        opened += whole
        assert all(name in sentence and "\n" not in sentence for sentence in sentences)
        assert [path.name for path in folder.iterdir()] == [name]
    return opened, count - opened


@KINDS
def test_sixty_mutilated_files_of_a_kind(tmp_path, name):
    opened, refused = outcomes(tmp_path, name, 60)
    assert opened > 0
    assert refused > 0


@pytest.mark.slow
@KINDS
def test_a_thousand_mutilated_files_of_a_kind(tmp_path, name):
    opened, refused = outcomes(tmp_path, name, 1000)
    assert opened > 50
    assert refused > 50
