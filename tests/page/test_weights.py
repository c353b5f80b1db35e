"""A file of weights that is dropped on the page: its heads, and what is refused."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.page.conversation import Served

CONFIG = json.dumps({"model_type": "bert", "num_attention_heads": 2, "hidden_size": 60}).encode()


@pytest.fixture(scope="module")
def client():
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


def test_another_page_is_refused(client):
    answer = client.post("/weights?name=model.npz", content=body(CONFIG, file()), headers={"origin": "null"})
    assert answer.status_code == 403
