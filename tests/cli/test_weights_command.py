"""`presage weights` as people type it, wrongly too."""

from __future__ import annotations

import csv
import io
import json
import zipfile
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


def test_one_table_has_heads_and_matrices_and_what_was_skipped(place):
    """Nothing that was computed is dropped: the first column says what a row is."""
    code, out, _ = run(place / "model.npz", "--heads", H, "--flips", 0, "--matrices", "--csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["what"] for row in rows] == ["head"] * 4 + ["matrix"] * 4
    assert rows[0]["name"] == "layer 0 head 0"
    assert rows[4]["name"] == "encoder.layer.0.attention.self.query.weight"
    assert (rows[4]["rows"], rows[4]["layer"]) == (str(H * h), "")
    code, out, _ = run(place / "model.npz", "--before", place / "model.npz", "--heads", H, "--flips", 0, "--csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["what"] for row in rows] == ["head"] * 4 + ["skipped"] * 4
    assert {row["sentence"] for row in rows} == {"the head is as it was.", "it did not change"}


def test_a_network_without_attention(tmp_path):
    arrays: dict[str, Any] = {"layers.0.weight": np.random.default_rng(0).standard_normal((40, 30))}
    np.savez(tmp_path / "network.npz", **arrays)
    code, out, _ = run(tmp_path / "network.npz", "--flips", 0, "--matrices")
    assert code == 0
    assert "0 heads, 1 whole matrices" in words(out)
    assert "no tensor is named as the queries and keys" in words(out)
    code, out, said = run(tmp_path / "network.npz", "--flips", 0, "--matrices", "--plot", tmp_path / "network.png")
    assert code == 2
    assert "1 whole matrices" in words(out)  # the numbers are there
    assert "`--plot` must be left out of a file without heads" in said
    assert not (tmp_path / "network.png").exists()
    code, _, said = run(tmp_path / "network.npz", "--flips", 0)
    assert code == 2
    assert "have attention" in said


def test_members_of_two_archives(place, tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for name in ("model.npz", "later.npz"):
            archive.write(place / name, name)
    two = tmp_path / "two.zip"
    asked = (two, "--before", two, "--member", "later.npz", "--heads", H, "--flips", 0, "--json")
    code, out, _ = run(*asked, "--before-member", "model.npz")
    assert code == 0
    inside = json.loads(out)
    outside = json.loads(run(place / "later.npz", "--before", place / "model.npz", *asked[5:])[1])
    assert [one["change"] for one in inside["heads"]] == [one["change"] for one in outside["heads"]]
    assert inside["before"].endswith("two.zip/model.npz")
    assert run(*asked)[0] == 2  # which of the two it began from is not known


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
        (("{model}", "--before", "{model}", "--tol", "0"), "`--tol` must be left out beside --before"),
        (("{model}", "--families"), "`FILE` must be left out beside --families"),
        (("--families", "--heads", "3"), "`--heads` must be left out beside --families"),
        (("--families", "--plot", "x.png"), "`--plot` must be left out beside --families"),
        (("--families", "--tol", "1"), "`--tol` must be left out beside --families"),
        (("--families", "--flips", "19"), "`--flips` must be left out beside --families"),
        (("--families", "--before", "{model}"), "`--before` must be left out beside --families"),
        (("--families", "--fold-norm"), "`--fold-norm` must be left out beside --families"),
        (("{model}", "--before-member", "base"), "`--before-member` must be left out without --before"),
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
