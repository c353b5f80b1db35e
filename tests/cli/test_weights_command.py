"""`presage weights` as people type it, wrongly too."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from presage.cli.app import app

H, h, d = 2, 24, 60


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    rng = np.random.default_rng(0)
    names = [f"encoder.layer.{n}.attention.self.{one}.weight" for n in range(2) for one in ("query", "key")]
    for name in ("model.npz", "later.npz"):
        arrays: dict[str, Any] = {one: rng.standard_normal((H * h, d)) for one in names}
        np.savez(folder / name, **arrays)
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PRESAGE_CACHE", str(tmp_path_factory.getbasetemp() / "weights-cache"))


def run(*args):
    found = CliRunner().invoke(app, ["weights", *map(str, args)])
    return found.exit_code, found.stdout, found.stderr


def words(out):
    """What was printed as one line: where lines break depends on how long the path of the file is."""
    return " ".join(out.split())


def test_a_table_of_every_layer(place):
    code, out, _ = run(place / "model.npz", "--heads", H, "--flips", 5)
    assert code == 0
    assert "4 heads, 0 whole matrices" in words(out)
    assert "Furthest from random" in words(out)
    assert "4 random" in words(out)


def test_json_and_csv(place, tmp_path):
    code, out, _ = run(place / "model.npz", "--heads", H, "--flips", 0, "--json", "--plot", tmp_path / "model.png")
    assert code == 0
    assert len(json.loads(out)["heads"]) == 4
    assert (tmp_path / "model.png").exists()
    code, out, _ = run(place / "model.npz", "--heads", H, "--flips", 0, "--csv", "--only", "layer.1")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["layer"], row["head"]) for row in rows] == [("1", "0"), ("1", "1")]


def test_what_changed(place):
    code, out, _ = run(place / "later.npz", "--before", place / "model.npz", "--heads", H, "--flips", 5)
    assert code == 0
    assert "4 heads, 4 matrices changed" in words(out)


def test_whole_matrices(place):
    code, out, _ = run(place / "model.npz", "--heads", H, "--flips", 0, "--matrices", "--json")
    assert code == 0
    assert len(json.loads(out)["matrices"]) == 4


def test_families():
    code, out, _ = run("--families", "--csv")
    assert code == 0
    assert "gpt_neox" in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "`FILE` must be named"),
        (("nothing.safetensors",), "does not exist"),
        (("{model}",), "--heads"),
        (("{model}", "--heads", "7"), "`FILE` must"),
        (("{model}", "--heads", "2", "--flips", "1"), "`--flips` must be 0, or 3 or more"),
        (("{model}", "--heads", "2", "--family", "gpt5"), "family"),
        (("{model}", "--heads", "2", "--only", "nowhere"), "nowhere"),
        (("{model}", "--before", "{model}", "--fold-norm"), "`--fold-norm` must be left out beside --before"),
        (("{model}", "--families"), "`FILE` must be left out beside --families"),
        (("{model}", "--json", "--csv"), "exclude each other"),
        (("{model}", "--plot", "picture.gif"), "must end in .png"),
    ],
)
def test_mistakes_are_a_sentence_and_a_code(place, args, said):
    code, out, told = run(*(str(arg).replace("{model}", str(place / "model.npz")) for arg in args))
    assert code == 2
    assert out == ""
    assert said in told
    assert told.count("\n") == 1
    assert "Traceback" not in told


def test_a_damaged_file_is_a_sentence(tmp_path):
    for name in ("a.safetensors", "b.bin", "c.npz", "d.gguf", "e.onnx", "f.whl"):
        (tmp_path / name).write_bytes(b"\x00\x01 no weights at all" * 3)
        code, _, said = run(tmp_path / name)
        assert code == 2
        assert said.startswith("presage: `FILE` must")
        assert name in said
