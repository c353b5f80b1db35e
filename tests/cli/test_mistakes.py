"""Mistakes that one makes: each is told before anything is computed, in the words of what was written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import presage as ps
from presage.cli.app import app
from presage.protocol.errors import InputError

QUADRATIC = ("--model", "quadratic")
NETWORK = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), prog_name="presage")


def refused(*arguments: str) -> str:
    """What is said of a command that is a mistake, and computes nothing."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), (arguments, result.output, result.exception)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return str(result.stderr)


def typed(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a shell of its own, where streams can be closed."""
    line = f"{sys.executable} -m presage {command}"
    return subprocess.run(line, shell=True, text=True, stderr=subprocess.PIPE, cwd=folder, env=os.environ, check=False)


@pytest.fixture
def nothing_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*_: Any, **__: Any) -> None:
        raise AssertionError("a network was trained")

    monkeypatch.setattr(ps, "simulate", train)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--d", "10,-1"),
            "`--d` must be a whole number >= 1: it is a dimension. Got --d -1. Use for example --d 100.",
        ),
        (("--d", "-1"), "`--d` must be a whole number >= 1"),
        (("--d", "0"), "Got --d 0."),
        (("--seeds", "0"), "`--seeds` must be a whole number >= 1 and <= 1000000"),
        (("--seeds", "-3"), "Got --seeds -3. Use for example --seeds 8,"),
    ],
)
def test_every_dimension_and_number_of_seeds_of_a_sweep_is_looked_at_before_any_cell(
    options: tuple[str, ...], said: str
) -> None:
    assert said in refused("sweep", "simulate", *QUADRATIC, "--alpha", "0.5,1", *options)


@pytest.mark.usefixtures("nothing_trains")
@pytest.mark.parametrize("sizes", ["10,-5", "10,0"])
def test_every_dimension_of_a_comparison_is_looked_at_before_the_first_is_trained(sizes: str) -> None:
    assert "`--d` must be a whole number >= 1" in refused("compare", *QUADRATIC, "--d", sizes, "--seeds", "2")


def test_a_dimension_too_small_for_the_model_is_refused_before_a_larger_one_is_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained: list[int] = []
    simulate = ps.simulate

    def counted(problem: Any, **options: Any) -> Any:
        trained.append(options["d"])
        return simulate(problem, **options)

    monkeypatch.setattr(ps, "simulate", counted)
    assert "`--d` must be a whole number >= 2" in refused("compare", *QUADRATIC, "--d", "10,1", "--seeds", "2")
    assert trained == [1]


def test_a_sweep_without_an_argument_of_its_function_is_refused_before_there_is_a_table() -> None:
    with pytest.raises(InputError, match="`grid` must name `d` too: simulate cannot be called without it"):
        ps.sweep(NETWORK, ps.simulate, alpha=[0.5])

    def measured(problem: Any, *, width: int, depth: int = 1) -> float:
        return float(problem.alpha * width * depth)

    with pytest.raises(InputError, match="`grid` must name `width` too: measured cannot be called without it"):
        ps.sweep(NETWORK, measured, alpha=[0.5])
    assert ps.sweep(NETWORK, measured, alpha=[0.5, 1.0], width=3, processes=1)["value"].values.tolist() == [1.5, 3.0]


def test_a_grid_of_too_many_cells_is_refused_with_their_number_and_the_limit(tmp_path: Path) -> None:
    grids = ("--alpha", "1:2:1000000", "--noise", "0:1:1000000")
    said = refused("sweep", "solve", *QUADRATIC, *grids)
    assert "at most 1000000 cells" in said
    assert "1000000 of alpha x 1000000 of noise = 1000000000000 cells" in said
    script = ("--store", str(tmp_path / "runs"), "--slurm-script", str(tmp_path / "sweep.sh"))
    assert "at most 1000000 cells" in refused("sweep", "solve", *QUADRATIC, *grids, *script)
    assert not (tmp_path / "sweep.sh").exists()


@pytest.mark.parametrize("seeds", ["10000000000", "2000000000"])
def test_too_many_seeds_are_told_how_many_there_may_be(seeds: str) -> None:
    said = refused("simulate", *QUADRATIC, "--d", "5", "--seeds", seeds)
    assert "`--seeds` must be a whole number >= 1 and <= 1000000: each network" in said
    assert f"Got --seeds {seeds}." in said


def test_a_bound_that_is_hidden_otherwise_is_told_to_who_is_beyond_it() -> None:
    with pytest.raises(InputError, match="`d` must be a whole number >= 1 and <= 2147483648"):
        NETWORK.samples(2**40)
    with pytest.raises(InputError, match="`d` must be a whole number >= 1: it"):
        NETWORK.samples(0)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("solve --alpha 1 --alpha 2", "`--alpha` must be written once: it has one value. Got it 2 times."),
        ("simulate --keep weights --keep history --out q.npz", "`--keep` must be written once"),
        ("solve --model quadratic --model attention", "`--model` must be written once"),
        ("demo --d 20 --d 30", "`--d` must be written once"),
        ("simulate --model quadratic --d 5 --eigenvalues", "`--eigenvalues` is for --json"),
        ("simulate --model quadratic --d 5 --eigenvalues --csv", "`--eigenvalues` is for --json"),
        ("curve --model quadratic --alpha 1,2 --show rank", "`--show` says what --plot draws, and there is none."),
    ],
)
@pytest.mark.usefixtures("nothing_trains")
def test_an_option_that_would_be_dropped_is_refused(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused(*command.split())
    assert not [*tmp_path.iterdir()]


def test_an_option_that_may_be_repeated_is_and_a_flag_twice_is_a_flag(tmp_path: Path) -> None:
    store, script = str(tmp_path / "runs"), tmp_path / "sweep.sh"
    options = ("--slurm-option=--time=1", "--slurm-option=--mem=2G")
    result = run("sweep", "solve", "--alpha", "1,2", "--store", store, "--slurm-script", str(script), *options)
    assert result.exit_code == 0, result.output
    assert "--time=1" in script.read_text()
    assert "--mem=2G" in script.read_text()
    assert run("cite", "--bibtex", "--bibtex").exit_code == 0


def test_a_file_of_a_target_is_refused_by_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def said(name: str) -> str:
        return refused("solve", "--target", name)

    Path("dir.npy").mkdir()
    assert "dir.npy is a folder. Name a file in it." in said("dir.npy")
    assert "none.npy, which does not exist" in said("none.npy")
    np.savez("two.npz", left=np.ones(3), right=np.ones(3))
    Path("two.npz").rename("two.npy")
    assert "two.npy is an .npz of left, right. Save one of its arrays" in said("two.npy")
    np.save("objects.npy", np.array([1.0, None], dtype=object), allow_pickle=True)
    assert "objects.npy holds objects. Save numbers" in said("objects.npy")
    np.save("complex.npy", np.full(500, 1.0 + 2.0j))
    told = said("complex.npy")
    assert "complex.npy holds complex128, and it must be real numbers" in told
    assert "Pass a" not in told

    def locked(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", "objects.npy")

    monkeypatch.setattr(np, "load", locked)
    assert "objects.npy cannot be read (Permission denied)." in said("objects.npy")


def test_an_array_that_is_no_list_of_real_numbers_is_told_by_its_kind() -> None:
    with pytest.raises(InputError, match=r"Got eigenvalues='an array of shape \(500,\) and dtype complex128'\."):
        ps.Empirical(np.full(500, 1j))
    with pytest.raises(InputError, match=r"Got values=\"'a', \.\.\. \(1000 of them\)\"\."):
        ps.PointMasses(["a"] * 1000)
    with pytest.raises(InputError, match=r"Got values=\['a', 'b'\]\."):
        ps.PointMasses(["a", "b"])


def test_a_file_that_cannot_be_written_is_told_by_the_name_that_was_wanted(tmp_path: Path) -> None:
    from presage.whole_file import whole_file

    wanted = tmp_path / "wanted.json"
    with pytest.raises(FileNotFoundError) as missing, whole_file(tmp_path / "none" / "x.json") as part:
        part.write_text("x")
    assert missing.value.filename == str(tmp_path / "none" / "x.json")
    with pytest.raises(OSError, match="No space left") as full, whole_file(wanted):
        raise OSError(28, "No space left on device")
    assert full.value.filename == str(wanted)
    wanted.mkdir()
    with pytest.raises(IsADirectoryError) as folder, whole_file(wanted) as part:
        part.write_text("x")
    assert (folder.value.filename, folder.value.filename2) == (str(wanted), None)
    with pytest.raises(FileNotFoundError) as other, whole_file(tmp_path / "y.json"):
        (tmp_path / "another").read_text()
    assert other.value.filename == str(tmp_path / "another")


def test_a_file_of_an_option_that_cannot_be_written_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    kept = tmp_path / "w.npz"
    result = run("simulate", *QUADRATIC, "--d", "5", "--seeds", "2", "--keep", "weights", "--out", str(kept))
    assert result.exit_code == 2
    assert f"`--out` could not be written: No space left on device. Got --out {kept}." in result.stderr
    assert "test_error" in result.stdout


@pytest.mark.parametrize("command", ["--version", "where BETKZ25:43", "solve --model quadratic --json", "--help"])
def test_without_a_standard_output_a_sentence_says_so(command: str, tmp_path: Path) -> None:
    result = typed(f"{command} >&-", tmp_path)
    assert result.returncode == 1
    assert result.stderr == "presage: Standard output is closed, and results are printed there. Send it to a file.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "command", ["where BETKZ25:43", "solve --model quadratic --csv", "solve --help", "--help", "--version"]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_standard_output_that_is_full_is_told_as_such(
    command: str, unbuffered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    result = typed(f"{command} >/dev/full", tmp_path)
    said = "presage: Standard output cannot be written: No space left on device. Send it elsewhere.\n"
    assert (result.returncode, result.stderr) == (1, said)


def test_without_a_standard_error_the_exit_code_tells(tmp_path: Path) -> None:
    assert typed("solve --beauty 2>&-", tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("command", "option"), [("curve --alpha 1,2 --plot=", "--plot"), ("sweep solve --alpha 1,2 --store=", "--store")]
)
def test_a_file_or_folder_of_no_name_is_refused(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"`{option}` must have a name: it is empty." in refused(*command.split())
    assert not [*tmp_path.iterdir()]


def test_a_picture_inside_of_a_file_is_told_that_it_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for inside in ("x.png", "deeper/x.png"):
        said = refused("curve", "--alpha", "1,2", "--plot", str(file / inside))
        assert f"{file} is a file. Name another." in said
    assert "Make" in refused("curve", "--alpha", "1,2", "--plot", str(tmp_path / "none" / "x.png"))


def test_a_list_of_ensembles_is_told_of_the_forgotten_star() -> None:
    solution, networks = ps.solve(NETWORK), ps.simulate(NETWORK, d=5, seeds=2, processes=1)
    with pytest.raises(InputError, match=r"be given one by one.* Write compare\(solution, \*networks\)\."):
        ps.compare(solution, [networks, networks])


def test_a_class_in_place_of_a_law_is_told_apart_from_one() -> None:
    with pytest.raises(InputError, match=r"the class MarchenkoPastur.* Make one, MarchenkoPastur\(\.\.\.\)"):
        ps.plot(ps.MarchenkoPastur)
    report = ps.check_law(ps.MarchenkoPastur)
    assert report.subject == "MarchenkoPastur"
    assert "it is a class, and an instance is meant: make one, MarchenkoPastur(...)" in str(report)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("where BETKZ25:9999", "`KEY:NUMBER` must be a key"),
        ("where BETKZ25:9999", "BETKZ25:67; BETKZ25 has all."),
        ("solve --target semicircle:-1,0", "makes no law: VARIANCE must be a finite number > 0"),
        ("solve --target semicircle:-1,0", "Got -1. Write semicircle:VARIANCE,CENTRE, for example"),
        ("solve --target mp:0", "makes no law: KAPPA_0 must be a finite number >= 1e-08"),
        ("solve --target mp:0", "Got 0. Write mp:KAPPA_0, for example mp:0.5."),
        ("simulate --d 20,30", "one dimension is trained. Got --d 20,30. `presage compare` and `presage sweep"),
        ("simulate --d many", "`--d` must be whole numbers. Got --d 'many'."),
        ("simulate --workers many", "'--workers': it must be a whole number."),
        ("demo --d 3", "'--d': it must be greater than or equal to 10."),
        ("solve --alpha 0,5", "Use 0.5 with a decimal point, `presage curve` for one grid"),
        ("solve --json=yes", "`presage solve --help` lists what there is."),
        ("where --json=yes", "`presage where --help` lists what there is."),
    ],
)
def test_a_mistake_is_told_in_the_words_of_the_command_line(command: str, said: str) -> None:
    told = refused(*command.split())
    assert said in told
    assert not [word for word in ("where(", "Semicircle(", "kappa_0=", "parse", "Input") if word in told], told
