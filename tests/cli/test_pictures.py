"""A picture that cannot be drawn or written costs the picture, and nothing else."""

from __future__ import annotations

import errno
import json
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from presage.cli.app import app

QUADRATIC = ["--model", "quadratic", "--weight-decay", "0.1"]
SMALL = ["--seeds", "2", "--workers", "1"]
COMMANDS = {
    "curve": ["curve", *QUADRATIC, "--alpha", "0.5,2"],
    "spectrum": ["spectrum", *QUADRATIC],
    "simulate": ["simulate", *QUADRATIC, "--d", "8", *SMALL],
    "compare": ["compare", *QUADRATIC, "--d", "8,12", *SMALL],
    "classify": ["classify", "mp:0.5"],
    "sweep": ["sweep", "solve", *QUADRATIC, "--alpha", "0.5,2", "--workers", "1"],
}
PRINTED = {"curve": "test", "spectrum": "bulk", "simulate": "rank", "compare": "verdict", "classify": "random-like"}
PRINTED |= {"sweep": "2 cells: 2 done."}


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def broken(*_: Any, **__: Any) -> None:
    raise RuntimeError("no letters are installed")


def run(arguments: list[str], code: int) -> Any:
    result = CliRunner().invoke(app, arguments, prog_name="presage")
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_loses_no_number(name, folder, monkeypatch):
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", full)
    result = run([*COMMANDS[name], "--plot", "picture.png"], 2)
    assert PRINTED[name] in result.stdout
    assert "drawn" not in result.stdout
    (line,) = result.stderr.splitlines()
    assert "The picture picture.png could not be written: No space left on device. The numbers are." in line
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_picture_that_fails_loses_no_number(name, folder, monkeypatch):
    from presage.plots import panel

    monkeypatch.setattr(panel, "drawn_on", broken)
    result = run([*COMMANDS[name], "--plot", "picture.png"], 1)
    assert PRINTED[name] in result.stdout
    (line,) = result.stderr.splitlines()
    assert "no letters are installed" in line


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_whole_and_nothing_but_json(name, folder, monkeypatch):
    assert json.loads(run([*COMMANDS[name], "--plot", "picture.png", "--json"], 0).stdout)
    assert (folder / "picture.png").stat().st_size > 5000
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", full)
    assert json.loads(run([*COMMANDS[name], "--plot", "picture.png", "--json"], 2).stdout)


def test_a_figure_prints_its_caption_first(folder, monkeypatch):
    import xarray as xr

    from presage.figures import catalogue

    module = SimpleNamespace(TITLE="A line", SOURCE="A11", draw=broken, caption=lambda _: "It shows a line.")
    parts = {"theory": xr.Dataset({"loss": ("x", [1.0, 2.0])}, coords={"x": [0.0, 1.0]})}
    (folder / "shipped.nc").touch()
    monkeypatch.setattr(catalogue, "NAMES", ("line",))
    monkeypatch.setattr(catalogue, "figure", lambda _: module)
    monkeypatch.setattr(catalogue, "shipped", lambda _: folder / "shipped.nc")
    monkeypatch.setattr(catalogue, "load", lambda _: parts)
    result = run(["figure", "line"], 1)
    assert "It shows a line." in result.stdout
    assert "no letters are installed" in result.stderr


def test_two_long_grids_are_drawn_as_a_map(folder):
    grids = ["--alpha", "0.1:4:8log", "--noise", "0.1:1:7"]
    run(["sweep", "solve", "--model", "quadratic", *grids, "--workers", "1", "--plot", "map.svg"], 0)
    words = (folder / "map.svg").read_text(encoding="utf-8")
    assert "<!-- variance of the label noise -->" in words
    assert "<!-- rank / d -->" in words


@pytest.mark.parametrize("command", [["curve"], ["sweep", "solve", "--workers", "1"]])
@pytest.mark.parametrize(("grid", "scale"), [("0.1:0.4:3log", "log"), ("0.1:0.4:3", "linear")])
def test_a_grid_of_logarithms_is_drawn_along_an_axis_of_logarithms(command, grid, scale, monkeypatch):
    from presage.cli import pictures

    seen: list[Any] = []
    monkeypatch.setattr(pictures, "save", lambda figure, _: seen.append(figure))
    run([*command, *QUADRATIC, "--alpha", "0.5", "--noise", grid, "--plot", "picture.png"], 0)
    (figure,) = seen
    assert {axes.get_xscale() for axes in figure.axes} == {scale}


def test_samples_along_a_grid_of_logarithms(monkeypatch):
    from presage.cli import pictures

    seen: list[Any] = []
    monkeypatch.setattr(pictures, "save", lambda figure, _: seen.append(figure))
    run(["curve", *QUADRATIC, "--n", "1000:4000:3log", "--d", "50", "--plot", "picture.png"], 0)
    assert {axes.get_xscale() for axes in seen[0].axes} == {"log"}
