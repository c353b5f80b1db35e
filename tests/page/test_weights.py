"""A file of weights that is dropped on the page: its heads, and what is refused."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.page import weights
from presage.page.bounds import BOUNDS
from presage.page.weights import own_folder
from tests.page.conversation import Served

CONFIG = json.dumps({"model_type": "bert", "num_attention_heads": 2, "hidden_size": 60}).encode()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A server with a temporary folder of its own: another may be reading weights at the same time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        served = Served()
        yield served
        served.end()


def body(config: bytes, content: bytes) -> bytes:
    return len(config).to_bytes(8, "little") + config + content


def file() -> bytes:
    rng = np.random.default_rng(0)
    names = [f"encoder.layer.{n}.attention.self.{one}.weight" for n in range(2) for one in ("query", "key")]
    out = io.BytesIO()
    arrays: dict[str, Any] = {name: rng.standard_normal((48, 60)) for name in names}
    np.savez(out, **arrays)
    return out.getvalue()


def folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("presage-weights-*"))


def until(true):
    for _ in range(200):
        if true():
            return
        time.sleep(0.05)
    assert true()


def test_the_heads_of_a_file(client):
    before = folders()
    told = client.post("/weights?name=model.npz", content=body(CONFIG, file())).json()
    assert [(one["layer"], one["head"]) for one in told["heads"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert told["summary"][0] == "model.npz: 4 heads, 0 whole matrices."
    assert len(told["bands"]["24 60 60"]["low"]) == len(told["heads"][0]["values"]) == 24
    assert all(one["verdict"] == "random" for one in told["heads"])
    assert folders() <= before


def test_what_is_missing_is_named(client):
    answer = client.post("/weights?name=model.npz", content=body(b"", file()))
    assert answer.status_code == 422
    assert "heads=" in answer.json()["message"]
    assert answer.json()["field"] == "heads"
    assert "presage-weights" not in answer.json()["message"]
    answer = client.post("/weights?name=model.npz&heads=2", content=body(b"", file()))
    assert len(answer.json()["heads"]) == 4


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "empty"), (body(b"", b"nothing that is known"), "`file` must"), (body(b"{", file()), "config")],
)
def test_what_is_no_file_of_weights_is_refused(client, content, words):
    before = folders()
    answer = client.post("/weights?name=../../model.safetensors", content=content)
    assert answer.status_code == 422
    assert words in answer.json()["message"]
    assert folders() <= before


def test_a_number_that_is_none_is_named(client):
    answer = client.post("/weights?name=model.npz&kv_heads=two", content=body(CONFIG, file()))
    assert answer.status_code == 422
    assert answer.json()["field"] == "kv_heads"
    assert answer.json()["message"].startswith("`kv_heads` must be a whole number")


def test_a_full_disk_is_a_sentence(client, monkeypatch):
    """Neither a folder that cannot be made nor a file that cannot be written is an error of the server."""
    full = OSError(errno.ENOSPC, "No space left on device")

    def no_room(*_):
        raise full

    for place in ("kept", "own_folder"):
        with monkeypatch.context() as patched:
            patched.setattr(f"presage.page.weights.{place}", no_room)
            patched.setattr("presage.page.app.own_folder", no_room if place == "own_folder" else own_folder)
            before = folders()
            answer = client.post("/weights?name=model.npz", content=body(CONFIG, file()))
        assert answer.status_code == 422
        assert answer.json()["message"].startswith("The file must lie on the disk of the server while it is read")
        assert "No space left on device" in answer.json()["message"]
        assert folders() <= before


def test_what_comes_is_written_beside_the_loop(tmp_path):
    """The loop that answers everybody never waits for the disk, and pieces of any length make the same file."""
    content = body(b'{"a": 1}', bytes(range(256)) * 40)
    threads = set()

    async def pieces(length):
        for at in range(0, len(content), length):
            yield content[at : at + length]

    def written(out, part):
        threads.add(threading.get_ident())
        out.write(part)

    for length in (1, 7, 4096, len(content)):
        folder = tmp_path / str(length)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(weights, "kept", written)
            patched.setattr(weights, "PIECE", 1000)
            place = asyncio.run(weights.received(pieces(length), folder, "model.npz"))
        assert place.read_bytes() == bytes(range(256)) * 40
        assert (folder / "config.json").read_bytes() == b'{"a": 1}'
    assert threading.get_ident() not in threads


def test_only_some_files_lie_on_the_disk_at_a_time(client):
    """Others wait before a byte of them is taken, and are read in their turn; one that goes away makes room."""
    before, content = folders(), body(CONFIG, file())
    head = f"POST /weights?name=model.npz HTTP/1.1\r\nHost: {client.host}\r\nContent-Length: {len(content)}\r\n\r\n"
    most = BOUNDS["files"].most
    lines = [socket.create_connection(client.host.split(":")) for _ in range(most + 2)]
    for line in lines:
        line.sendall(head.encode() + content[:100])
    until(lambda: len(folders() - before) == most)
    time.sleep(0.3)
    assert len(folders() - before) == most
    for line in lines[:most]:
        line.close()
    for line in lines[most:]:
        line.sendall(content[100:])
        line.settimeout(60)
        assert line.recv(100).startswith(b"HTTP/1.1 200")
        line.close()
    until(lambda: folders() <= before)


def test_who_sends_nothing_any_more_makes_room(client, monkeypatch):
    monkeypatch.setattr("presage.page.weights.PATIENCE", 0.2)
    head = f"POST /weights?name=model.npz HTTP/1.1\r\nHost: {client.host}\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection(client.host.split(":")) as line:
        line.sendall(head.encode() + b"abc")
        line.settimeout(60)
        told = b""
        while b"seconds" not in told and (more := line.recv(2000)):
            told += more
    assert told.startswith(b"HTTP/1.1 422")
    assert b"Nothing more of the file came" in told


def test_a_head_of_zeros_has_no_ratio(client):
    out = io.BytesIO()
    arrays: dict[str, Any] = {
        f"encoder.layer.0.attention.self.{one}.weight": np.zeros((48, 60)) for one in ("query", "key")
    }
    np.savez(out, **arrays)
    told = client.post("/weights?name=model.npz", content=body(CONFIG, out.getvalue())).json()
    assert [one["ratio"] for one in told["heads"]] == [None, None]
    assert [one["values"] for one in told["heads"]] == [[0.0] * 24] * 2


def test_another_page_is_refused(client):
    answer = client.post("/weights?name=model.npz", content=body(CONFIG, file()), headers={"origin": "null"})
    assert answer.status_code == 403
