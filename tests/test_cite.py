"""The equations of the docstrings and the papers of CITATION.cff, as `where` and `cite` hand them out."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from presage import cite

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "presage"


def lines_with(label: str) -> list[tuple[str, int]]:
    """File and line of every docstring line that begins with the label, found by its text alone."""
    return [
        (path.relative_to(PACKAGE).as_posix(), number)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "cite.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        if line.strip().startswith(f"{label}:")
    ]


def owner(file: str, line: int) -> int:
    """The line of the innermost class or function around a line."""
    kinds = ast.ClassDef | ast.FunctionDef
    nodes = [
        node for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))) if isinstance(node, kinds)
    ]
    return max(node.lineno for node in nodes if node.lineno <= line <= (node.end_lineno or 0))


def test_every_equation_line_of_the_package_is_found():
    lines = lines_with("Equation")
    assert len(lines) > 70
    found = {(entry.file, entry.line) for entry in cite.equations()}
    assert {(file, owner(file, line)) for file, line in lines} == found


def test_every_departure_of_the_package_is_found():
    lines = lines_with("Departs")
    assert len(lines) > 8
    found = {(entry.file, entry.line) for entry in cite.equations() if entry.departs}
    assert {(file, owner(file, line)) for file, line in lines} == found


def test_every_function_is_one_that_can_be_imported():
    for entry in cite.equations():
        module = "presage." + entry.file.removesuffix(".py").replace("/", ".")
        thing = importlib.import_module(module)
        for part in entry.function.removeprefix(module + ".").split("."):
            thing = getattr(thing, part)
        assert "Equation:" in (thing.__doc__ or ""), entry.function
        assert entry.summary
        assert not re.search(r"Equation:|Checked:|\n", entry.summary + entry.departs)


def test_every_key_is_a_paper_or_derived():
    assert {entry.key for entry in cite.equations()} - {"derived"} <= {*cite.references()}


@pytest.mark.parametrize(
    ("source", "pairs"),
    [
        ("[BETKZ25] (43)", [("BETKZ25", "43")]),
        ("[BETKZ25] (43)-(45).", [("BETKZ25", "43"), ("BETKZ25", "44"), ("BETKZ25", "45")]),
        ("[BETKZ25] (12), (13), last lines", [("BETKZ25", "12"), ("BETKZ25", "13")]),
        ("[BETKZ25], from (66) at ``Q_0 (1) + (2)``.", [("BETKZ25", "66")]),
        ("[BTEZ25]; [MTMKZ24].", [("BTEZ25", ""), ("MTMKZ24", "")]),
        ("[BTEZ25], in the form of [BETKZ25] (41).", [("BTEZ25", ""), ("BETKZ25", "41")]),
        ("derived; core of [BETKZ25] (55), where J is (1 - 2 alpha).", [("derived", ""), ("BETKZ25", "55")]),
        ("derived: an identity.", [("derived", "")]),
        ("[XY20] (A.3)-(A.5)", [("XY20", "A.3"), ("XY20", "A.5")]),
        ("as is well known", []),
    ],
)
def test_what_an_equation_line_cites(source, pairs):
    assert cite.cited(source) == tuple(pairs)


def test_labels_end_at_the_next_label_and_at_a_blank_line():
    docstring = "Say.\n\nEquation: [A11] (1),\n  second.\nChecked: tests/a.py::b\nChecked: tests/a.py::c\n\nMore (2).\n"
    assert cite.labelled(docstring, "Equation") == "[A11] (1), second."
    assert cite.TEST_ID.findall(cite.labelled(docstring, "Checked") or "") == ["tests/a.py::b", "tests/a.py::c"]
    assert cite.labelled(docstring, "Departs") is None


@pytest.mark.parametrize(
    "asked", ["BETKZ25:7", "betkz25 (7)", "[BETKZ25] (7)", "BETKZ25(7)", " betkz25 7 ", "BETKZ25: 7"]
)
def test_an_equation_can_be_asked_for_in_several_ways(asked):
    (entry,) = cite.where(asked)
    assert entry.function == "presage.models.attention.theory.state_evolution.free_energy"
    assert entry.label == "BETKZ25:7"
    assert entry.tests == ("tests/models/attention/theory/test_state_evolution.py::test_the_fixed_point_is_stationary",)
    assert (PACKAGE / entry.file).read_text(encoding="utf-8").split("\n")[entry.line - 1].startswith("def free_energy(")


def test_a_range_and_a_paper_are_more_than_one_equation():
    one = cite.where("BETKZ25:43")
    assert "presage.models.attention.theory.state_evolution.weight_side" in {entry.function for entry in one}
    several = cite.where("betkz25 (43)-(44)")
    assert {entry.number for entry in several} == {"43", "44"}
    assert {*one} < {*several} < {*cite.where("BETKZ25")}
    assert {entry.key for entry in cite.where("derived")} == {"derived"}
    numbers = [entry.number for entry in cite.where("BETKZ25") if entry.number]
    assert numbers == sorted(numbers, key=int)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("BETKZ26:43", r"no docstring names BETKZ26\. Got equation='BETKZ26:43'\. Did you mean BETKZ25"),
        (
            "BETKZ25:46",
            r"no function is equation \(46\) of BETKZ25\..*The nearest are BETKZ25:41, BETKZ25:43, BETKZ25:44;",
        ),
        ("BETKZ25:1000-1001", r"no function is equation \(1000-1001\) of BETKZ25\..*BETKZ25:67"),
        ("ETZK25:3", r"name ETZK25 without numbers: use equation='ETZK25'"),
        ("KB15:2", r"KB15 is cited, but no function.*BETKZ25, "),
        ("qqqqqqqqq", r"There are .*BETKZ25"),
        ("", r"Use for example equation='BETKZ25:43'"),
        ("BETKZ25:forty", r"Use for example equation='BETKZ25:43'"),
    ],
)
def test_an_unknown_equation_is_told_the_nearest(asked, text):
    with pytest.raises(ValueError, match=r"`equation` must be a key of CITATION\.cff and a number.*" + text):
        cite.where(asked)


def test_references_are_those_of_the_file():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    papers = cite.references()
    assert [*papers] == re.findall(r"abbreviation: (\S+)", text)
    paper = papers["BETKZ25"]
    assert paper.authors[0] == "Boncoraglio, Fabrizio"
    assert paper.year == 2025
    assert paper.url == "https://arxiv.org/abs/2509.24914v1"
    assert str(paper).startswith("[BETKZ25] Fabrizio Boncoraglio, Vittorio Erba")
    assert "and Lenka Zdeborová, Inductive Bias" in str(paper)
    for key, reference in papers.items():
        assert reference.key == key
        assert reference.bibtex().count("{") == reference.bibtex().count("}")


def test_bibtex_of_a_preprint_a_journal_proceedings_and_the_software():
    assert cite.references()["BTEZ25"].bibtex().split("\n") == [
        "@article{BTEZ25,",
        "  title         = {{Bayes optimal learning of attention-indexed models}},",
        "  author        = {Boncoraglio, Fabrizio and Troiani, Emanuele and Erba, Vittorio and Zdeborová, Lenka},",
        "  journal       = {arXiv:2506.01582},",
        "  year          = {2025},",
        "  eprint        = {2506.01582},",
        "  archivePrefix = {arXiv},",
        "  url           = {https://arxiv.org/abs/2506.01582},",
        "}",
    ]
    assert "journal       = {Journal of Machine Learning Research}" in cite.references()["MM21"].bibtex()
    assert "booktitle     = {International Conference" in cite.references()["KB15"].bibtex()
    own = cite.software().bibtex()
    assert own.startswith("@software{presage,")
    assert "{{The presage authors}}" in own
    assert re.search(r"version +=", own)


def test_the_papers_are_found_in_an_installed_package(tmp_path, monkeypatch):
    monkeypatch.setattr(cite, "PACKAGE", tmp_path / "site-packages" / "presage")
    cite.PACKAGE.mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="Install presage again"):
        cite._citation()
    (cite.PACKAGE / "CITATION.cff").write_text("title: here\n", encoding="utf-8")
    assert cite._citation() == {"title": "here"}


def test_looking_up_an_equation_imports_nothing_heavy():
    code = (
        "import sys; from presage import cite; cite.where('BETKZ25:43'); cite.references();"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "yaml" in loaded
    assert not {"numba", "numpy", "scipy", "matplotlib", "xarray"} & {*loaded}
