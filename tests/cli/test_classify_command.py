"""`presage classify`: files of every kind, laws, saved results; what it prints is what the library says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import presage as ps
from presage.cli.app import app
from tests.spectra.noise import wigner

VALUES = wigner(200, np.random.default_rng(0), (3.0, 2.0))


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["classify", *arguments], prog_name="presage", env={"COLUMNS": "300"})
    assert result.exit_code == code, (arguments, result.output, result.exception)
    return result


def from_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(name: str) -> str:
    """A file with the eigenvalues, or with a matrix that has them."""
    frame = np.linalg.qr(np.random.default_rng(1).standard_normal((200, 200)))[0]
    matrix = (frame * VALUES) @ frame.T
    shown = 0.5 * (matrix + matrix.T) if name.startswith("matrix") else VALUES
    if name.endswith(".npy"):
        np.save(name, shown)
    elif name.endswith(".csv"):
        np.savetxt(name, shown, delimiter=",")
    else:
        np.savetxt(name, shown)
    return name


@pytest.mark.parametrize("name", ["list.npy", "list.csv", "list.txt", "matrix.npy", "matrix.csv", "matrix.txt"])
def test_every_kind_of_file_is_read(name):
    found = from_json(written(name))
    known: Any = ps.classify(VALUES)
    assert found["type"] == known.kind == "bulk+spikes"
    assert found["reason"] == known.reason
    assert [spike["value"] for spike in found["spikes"]] == pytest.approx([s.value for s in known.spikes])
    assert found["observables"]["edge"] == pytest.approx(known.edge)


def test_a_table_says_what_the_library_says():
    out = run(written("list.npy")).stdout
    known: Any = ps.classify(VALUES)
    assert f"list.npy: {known.verdict}" in out
    assert "strength" in out
    for spike in known.spikes:
        assert f"{spike.value:.6g}" in out


def test_csv_has_a_line_a_spectrum():
    (row,) = csv.DictReader(io.StringIO(run(written("list.npy"), "--csv").stdout))
    assert row["type"] == "bulk+spikes"
    assert [float(value) for value in row["spikes"].split()] == [s.value for s in ps.classify(VALUES).spikes]
    (tail,) = csv.DictReader(io.StringIO(run("power:1.25,1000", "--csv").stdout))
    assert float(tail["tail_exponent"]) == pytest.approx(1.804, abs=5e-4)


def test_a_heading_is_told():
    Path("head.csv").write_text("eigenvalue\n" + "\n".join(map(str, VALUES)), encoding="utf-8")
    found = from_json("head.csv")
    assert found["type"] == "bulk+spikes"
    assert found["caveats"] == ["the first line of head.csv is taken as its heading: eigenvalue."]


def test_a_factor_and_a_law():
    factor = np.random.default_rng(2).standard_normal((150, 100))
    np.save("w.npy", factor)
    assert "Use --factor if it is a factor W" in run("w.npy", code=2).stderr
    found = from_json("w.npy", "--factor")
    assert (found["type"], found["zeros"]) == ("random-like", 50)
    assert from_json("mp:0.5", "--n", "300")["observables"]["n"] == 300
    assert from_json(written("list.npy"), "--law", "semicircle:1")["bulk"]["family"] == "the given law"


def test_a_column_is_a_list_and_no_factor():
    np.savetxt("column.csv", VALUES)
    assert "`--factor` must be left out for a list" in run("column.csv", "--factor", code=2).stderr


def test_a_file_that_is_no_result_is_named_as_it_was_written():
    Path("other.json").write_text("{}", encoding="utf-8")
    said = run("other.json", code=2).stderr
    assert "`SPECTRUM` must be a result that presage saved" in said
    assert "Got other.json" in said


def test_saved_results():
    problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=1e-3, noise=20.0)
    ps.simulate(problem, d=12, seeds=[4, 7], n_test=50, processes=1).save("networks.json")
    found = from_json("networks.json")
    assert [network["seed"] for network in found["networks"]] == [4, 7]
    assert "cannot tell: of none of 2 networks" in run("networks.json").stdout
    assert [row["seed"] for row in csv.DictReader(io.StringIO(run("networks.json", "--csv").stdout))] == ["4", "7"]
    ps.solve(problem).save("solution.json")
    assert from_json("solution.json")["observables"]["n"] == 1000


def test_a_picture_is_drawn(folder):
    out = run(written("list.npy"), "--plot", "type.png").stdout
    assert "drawn: type.png" in out
    assert (folder / "type.png").read_bytes().startswith(b"\x89PNG")


MISTAKES = [
    (["none.npy"], "`SPECTRUM` names the file none.npy, which does not exist"),
    (["none.csv"], "`SPECTRUM` names the file none.csv, which does not exist"),
    (["weights.pt"], "(.npy, .csv, .txt), a result that save wrote (.json), or a law: mp:KAPPA_0"),
    (["mp:-1"], "KAPPA_0 must be a finite number"),
    (["list.npy", "--n", "5"], "`--n` must be left out"),
    (["list.npy", "--factor"], "`--factor` must be left out for a list"),
    (["list.npy", "--law", "masses:1,2"], "`--law` must have a density at its upper end"),
    (["list.npy", "--bootstrap", "-1"], "`--bootstrap` must be a whole number >= 0"),
    (["list.npy", "--plot", "type.gif"], "`--plot` must end in .png"),
    (["list.npy", "--json", "--csv"], "exclude each other"),
    (["word.csv"], "word.csv has 'x' in line 2, which is no number"),
    (["ragged.csv"], "ragged.csv has 1 numbers in line 2 and 2 in line 1"),
    (["empty.csv"], "empty.csv is empty"),
    (["image.csv"], "image.csv is no text"),
    (["skew.csv"], "`SPECTRUM` must be symmetric if it is a matrix"),
    (["nan.csv"], "`SPECTRUM` must be finite numbers"),
    (["folder.csv"], "folder.csv is a folder"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_a_mistake_is_answered_by_a_sentence(arguments, said):
    written("list.npy")
    texts = {"word": "1,2\n3,x\n", "ragged": "1,2\n3\n", "empty": "", "skew": "1,2\n3,4\n", "nan": "1\nnan\n"}
    for name, text in texts.items():
        Path(f"{name}.csv").write_text(text, encoding="utf-8")
    Path("image.csv").write_bytes(b"\x89PNG\xff\xfe")
    Path("folder.csv").mkdir()
    result = run(*arguments, code=2)
    (line,) = result.stderr.splitlines()
    assert said in line
    assert result.stdout == ""
