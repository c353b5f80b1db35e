"""The files of the page: small, whole, from nowhere else, and without the name of any model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from presage.page.app import STATIC
from presage.page.described import described

FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
OWN = [path for path in FILES if "vendor" not in path.parts]
IMPORT = re.compile(r'(?:from|import)\s+"(\./[^"]+)"')
LINK = re.compile(r'(?:src|href)="([^"#]+)"')


def faults(text: str, names: set[str]) -> list[str]:
    """Models and fields that a text names as a word in quotes."""
    return sorted(word for word in re.findall(r"[\"'`]([\w.-]+)[\"'`]", text) if word in names)


def test_no_model_and_no_field_is_named():
    menu = described()["models"]
    names = {model["name"] for model in menu} | {field["name"] for model in menu for field in model["fields"]}
    names -= {"target"}  # of an event, and of the law that a spectrum is drawn over
    for path in OWN:
        if path.suffix == ".js":
            assert faults(path.read_text(encoding="utf-8"), names) == [], path.name
    assert faults('ask("alpha"); if (model === `attention`) {}', names) == ["alpha", "attention"]  # it would be found


def test_nothing_is_loaded_from_elsewhere():
    for path in OWN:
        if path.suffix in {".js", ".html", ".css"}:
            named = re.findall(r"(?:https?:)?//([a-z0-9-]+\.[a-z0-9.]+)", path.read_text(encoding="utf-8"))
            assert {*named} <= {"www.w3.org"}, path.name  # the name of a language, which nobody loads


def test_every_file_that_is_named_is_there_and_every_file_is_named():
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    linked = {link.removeprefix("static/") for link in LINK.findall(html)}
    imported = {
        name.removeprefix("./") for path in OWN if path.suffix == ".js" for name in IMPORT.findall(path.read_text())
    }
    assert all((STATIC / name).is_file() for name in linked | imported)
    assert {path.name for path in OWN if path.suffix == ".js"} == {
        n for n in linked | imported if n.endswith(".js") and "/" not in n
    }


def test_the_whole_page_is_small():
    assert sum(path.stat().st_size for path in FILES) < 300_000


def test_the_library_that_comes_with_it_has_its_licence_beside_it():
    folder = STATIC / "vendor" / "uPlot"
    assert "MIT" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert re.search(r"\d+\.\d+\.\d+", (folder / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [path.name for path in OWN if path.suffix == ".js"])
def test_lines_can_be_read(name):
    lines = (Path(STATIC) / name).read_text(encoding="utf-8").splitlines()
    assert len(lines) < 400
    assert lines[0].startswith("//")  # what the file is about
