"""The pages of docs/ and the README: every block of code runs, in order, and prints what the page shows.

Pages are found by themselves, so that a new one cannot be forgotten; a block in a language that is not run here is a
failure. Pages with {code-cell} blocks show what was printed when they were built: those are run and not compared.
"""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys

import pytest

import presage as ps
from tests.page_blocks import (
    CELL,
    CONSOLE,
    DIRECTIVES,
    NOT_RUN,
    NUMBER,
    OUTPUT,
    PYTHON,
    ROOT,
    Block,
    blocks,
    command,
    pages,
    write_files,
)

PAGES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in pages()}
# What the README prints is compared in tests/test_readme.py.
WITH_CODE = [
    name
    for name, text in PAGES.items()
    if name != "README.md" and any(block.language in (PYTHON, CELL) for block in blocks(text))
]
LONG = {  # pages whose code trains or solves for some seconds
    "docs/beyond-one-head.md",
    "docs/features-layer-by-layer.md",
    "docs/features-one-by-one.md",
    "docs/fine-tuning-before-you-fine-tune.md",
    "docs/watch-a-boltzmann-machine-learn.md",
}
WITH_COMMANDS = [name for name, text in PAGES.items() if any(b.language == CONSOLE for b in blocks(text))]


def test_pages_are_found():
    assert {"docs/tutorial.md", "docs/add-a-law.md", "docs/errata.md", "README.md"} <= {*PAGES}
    assert len(WITH_CODE) >= 8


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_run(page):
    for block in blocks(PAGES[page]):
        known = block.language in (PYTHON, CELL, CONSOLE, OUTPUT) or block.language.startswith(DIRECTIVES)
        assert known, f"{page}: nothing runs a block of {block.language!r}"
        for line in block.commands:
            assert shlex.split(line)[0] in ("presage", *NOT_RUN), f"{page}: nothing runs {line!r}"


def test_every_name_that_a_page_mentions_exists():
    """Also in the tables and sentences, which are not run."""
    problem = ps.quadratic_network(ps.PowerLaw(1.25, 10), alpha=1.0, weight_decay=0.1, noise=0.1)  # it has features
    objects = {"s": ps.solve(problem), "e": ps.simulate(problem, d=10, seeds=2, n_test=100, processes=1)}
    assert re.findall(r"\bps\.([A-Za-z_]+)", PAGES["docs/at-a-glance.md"])
    for page, text in PAGES.items():
        for name in {*re.findall(r"\bps\.([A-Za-z_]+)", text)}:
            assert hasattr(ps, name), f"{page}: ps.{name}"
        for letter, name in {*re.findall(r"`([se])\.([a-z_]+)", text)}:
            assert hasattr(objects[letter], name), f"{page}: {letter}.{name}"


def test_an_unknown_block_is_found():
    assert blocks("```python\nx = 1\n```\n\n````rust\n```\nfn\n````\n") == [
        Block("python", "x = 1\n"),
        Block("rust", "```\nfn\n"),
    ]


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page in LONG else ()) for page in WITH_CODE]
)
def test_every_block_runs_and_prints_what_is_shown(page, capsys, tmp_path, monkeypatch):
    import matplotlib as mpl

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # to start processes takes longer than these pages do without
    names: dict = {"__name__": "__main__"}
    found = blocks(PAGES[page])
    for i, block in enumerate(found):
        if block.language not in (PYTHON, CELL):
            continue
        exec(compile(block.body, page, "exec", dont_inherit=True), names)
        printed = capsys.readouterr().out
        if block.language == CELL:
            continue
        after = found[i + 1] if i + 1 < len(found) else Block("", "")
        shown = after.body if after.language == OUTPUT else ""
        # Last digits differ between machines: the words must be the same, and numbers of a prediction nearly so.
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
        if printed.startswith("test_error  "):
            for ours, theirs in zip(printed.splitlines(), shown.splitlines(), strict=True):
                if "+-" in ours:
                    value, bar = float(theirs.split()[1]), float(theirs.split()[3])
                    assert float(ours.split()[1]) == pytest.approx(value, rel=1e-5, abs=2 * bar)
    _close_figures()


def _close_figures() -> None:
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    monkeypatch.setenv("COLUMNS", "200")  # or the help would break the names of options
    write_files(PAGES[page], tmp_path)
    for line in [line for block in blocks(PAGES[page]) for line in block.commands]:
        words = shlex.split(line)
        if words[0] == "python" and words[1].endswith(".py"):  # a file of the page, that makes what is read next
            runpy.run_path(str(tmp_path / words[1]), run_name="__main__")
        if words[0] != "presage":
            continue
        queued = "--slurm" in words and "--slurm-script" not in words
        if queued or "NAME" in words:  # a queue, or a name to fill in: the options must exist
            code = command(f"{words[0]} {words[1]} --help", monkeypatch)
            said = capsys.readouterr().out.split()
            assert [word for word in words[2:] if re.fullmatch(r"--[\w-]+", word) and word not in said] == [], line
        else:
            code = command(line, monkeypatch)
            capsys.readouterr()
        assert code == 0, line


def test_the_generated_pages_have_every_equation_departure_and_public_name(monkeypatch):
    """Without Sphinx: the text of the pages that a build makes."""
    from presage import cite

    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    import generated_pages

    lines = [line for group in generated_pages.groups() for line in generated_pages.api_page(group).splitlines()]
    api = [line.split()[-1] for line in lines if line.startswith(".. auto")]
    assert sorted(api) == sorted(f"presage.{name}" for name in ps.__all__)
    page = generated_pages.equations_page()
    table = generated_pages.departures_table()
    errata = PAGES["docs/errata.md"]
    for entry in cite.equations():
        assert f"`{entry.function.removeprefix('presage.')} <" in page
        assert all(test.removeprefix("tests/") in page for test in entry.tests)
        if entry.departs:
            assert f"`{entry.function.removeprefix('presage.')} <" in table
            numbers = generated_pages.errata(entry.departs)
            assert numbers, f"{entry.function}: `Departs:` must name its erratum, as in `Erratum 3.`"
            assert all(f"\n(erratum-{number})=\n" in errata for number in numbers)


def test_the_gallery_has_every_figure_whose_data_ships(tmp_path, monkeypatch):
    from types import SimpleNamespace

    from matplotlib.figure import Figure

    from presage.figures import catalogue

    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    import generated_pages

    ready = SimpleNamespace(
        TITLE="A curve",
        SOURCE="[A11]",
        draw=lambda parts: Figure(),
        caption=lambda parts: "Of *x*.",
        details=lambda parts: "At *d* = 9.",
    )
    (tmp_path / "ready.nc").touch()
    monkeypatch.setattr(catalogue, "names", lambda: ["ready", "missing"])
    monkeypatch.setattr(catalogue, "shipped", lambda name: tmp_path / f"{name}.nc")
    monkeypatch.setattr(catalogue, "figure", {"ready": ready}.__getitem__)
    monkeypatch.setattr(catalogue, "load", lambda name: {})
    page = generated_pages.gallery_page(tmp_path / "pictures")
    for text in ("## A curve", "$ presage figure ready", r"Of \*x\*.", "pictures/ready.png"):
        assert text in page
    folded = page.partition("<details>")[2].partition("</details>")[0]
    assert "\n\nAt \\*d\\* = 9.\n\n" in folded  # Markdown inside of HTML, which needs the empty lines
    assert "Of" not in folded
    assert "missing" not in page
    assert (tmp_path / "pictures" / "ready.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "ready.nc").unlink()
    assert "No figure has its data" in generated_pages.gallery_page(tmp_path / "pictures")


def test_every_erratum_has_its_witness():
    """docs/errata.md and tests/models/attention/test_errata.py have the same numbers."""
    numbers = re.findall(r"^\(erratum-(\d+)\)=$", PAGES["docs/errata.md"], re.MULTILINE)
    tests = re.findall(
        r"^def test_erratum_(\d+)_",
        (ROOT / "tests" / "models" / "attention" / "test_errata.py").read_text("utf-8"),
        re.MULTILINE,
    )
    assert numbers == [str(n) for n in range(1, len(numbers) + 1)]
    assert sorted(tests, key=int) == numbers


def test_docstrings_become_restructured_text(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    import plain_docstrings

    lines = ["Distance ``|S|^2`` is |S|^2 of W_, ``tol=1``.", "", "    q = J", "", "Equation: ``m_hat`` of [A11] (1)."]
    lines += ["Args:", "    x: a |b|."]
    assert plain_docstrings.restructured(lines) == [
        r"Distance :math:`| S |^{2}` is \|S\|^2 of W\_, ``tol=1``.",
        "",
        ".. math::",
        "",
        "    q = J",
        "",
        "",
        r"**Equation:** :math:`\hat{m}` of [A11] (1).",
        "Args:",
        r"    x: a \|b\|.",
    ]


def test_indented_blocks_are_formulas_or_stay_as_they_are(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    import plain_docstrings

    block = ["    q = J", "    m = 2 delta^2 I"]
    assert plain_docstrings.displayed(block) == [
        ".. math::",
        "",
        "    q &= J",
        "",
        r"    m &= 2 \delta^{2} I",
        "",
    ]
    code = ["    store/sweep.json  what is swept", "    q = J"]
    assert plain_docstrings.displayed(code) == ["::", "", *code]
    assert plain_docstrings.restructured(["``alpha`` is a name, ``alpha/2`` is none."]) == [
        r"``alpha`` is a name, :math:`\alpha / 2` is none."
    ]


def test_docs_import_nothing_but_the_package():
    """The extensions of the documentation can be read where Sphinx is not installed."""
    code = (
        "import sys; sys.path[:0] = ['docs/extensions']; import generated_pages, plain_docstrings; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "generated_pages" in done.stdout.split()
    assert "sphinx" not in done.stdout.split()


def test_the_meaning_of_a_property_is_not_read_as_its_type(monkeypatch):
    """Napoleon takes what is before a colon in the first line of a property for a type."""
    napoleon = pytest.importorskip("sphinx.ext.napoleon", reason="the extra docs is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    import plain_docstrings

    lines = ["Size of the target: the variance of a label."]
    plain_docstrings.process(None, "property", "presage.X.Q_0", None, None, lines)
    for kind in (napoleon.NumpyDocstring, napoleon.GoogleDocstring):
        lines = kind(lines, napoleon.Config(), None, "property", "presage.X.Q_0").lines()
    assert "Size of the target: the variance of a label." in lines
    assert not any(line.startswith(":type:") for line in lines)
