"""The shape of the package: who may import whom, names, and the docstring contract of the equations.

Sources are read, not imported, so that an import inside a function or behind TYPE_CHECKING counts as well.
Every rule has a negative control: a small tree with a planted fault that the rule must find.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from presage import cite

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "presage"

# model <- spectra <- theory, model <- experiment: of presage, a layer may import itself and what stands here.
MAY_IMPORT = {
    "model": set(),
    "spectra": {"model"},
    "theory": {"model", "spectra"},
    "experiment": {"model"},
}
# Views, from the inside out: each may import those before it, the witnesses and what compares them; none of these
# imports a view.
VIEWS = ("sweeps", "figures", "cli")
# Top-level modules that every layer may import, since they import nothing of presage themselves.
LEAVES = {"_check"}
BANNED_NAMES = {"base", "common", "helper", "helpers", "util", "utils"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def imported_names(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Every name that the module imports, absolute and dotted (presage.model.laws), with its line."""
    module = path.relative_to(package.parent).with_suffix("").parts
    here = module[:-1]  # for a module its package, for __init__.py the package that it is
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            start = here[: len(here) - node.level + 1] if node.level else ()
            stem = [*start, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                yield node.lineno, ".".join([*stem, alias.name])


def forbidden_imports(package: Path) -> list[str]:
    """Sentences that name each import against the layering; empty when it holds."""
    faults = []
    for path in sorted(package.rglob("*.py")):
        first, *rest = path.relative_to(package).with_suffix("").parts
        if first in MAY_IMPORT and rest:
            allowed = MAY_IMPORT[first] | {first} | LEAVES
        elif first in LEAVES:
            allowed = {first}
        else:
            continue
        for line, name in imported_names(path, package):
            root, *inside = name.split(".")
            if root == package.name and (not inside or inside[0] not in allowed):
                where = f"{path.relative_to(package.parent)}:{line}"
                faults.append(f"{where} imports {name}; {first} may import {sorted(allowed) or 'nothing'}")
    return faults


def views_seen_from_inside(package: Path) -> list[str]:
    """Sentences that name each import of a view by what it is a view of, or by a view further inside."""
    faults = []
    for path in sorted(package.rglob("*.py")):
        first = path.relative_to(package).with_suffix("").parts[0]
        if first in {"__init__", "__main__", "demo"}:
            continue
        outer = VIEWS[VIEWS.index(first) + 1 :] if first in VIEWS else VIEWS
        for line, name in imported_names(path, package):
            inside = name.split(".")[1:2]
            if name.split(".")[0] == package.name and inside and inside[0] in outer:
                faults.append(f"{path.relative_to(package.parent)}:{line} imports {name}, a view of it")
    return faults


def banned_modules(package: Path) -> list[str]:
    """Modules and packages whose name says nothing about what is inside."""
    paths = [path for path in sorted(package.rglob("*")) if path.suffix == ".py" or path.is_dir()]
    return [str(path.relative_to(package)) for path in paths if path.stem.strip("_") in BANNED_NAMES]


def defined_tests(path: Path) -> set[str]:
    """The tests of a file as pytest names them: `test_x`, and `TestX::test_y` inside a class."""
    if not path.is_file():
        return set()
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, Function):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{method.name}" for method in node.body if isinstance(method, Function)}
    return {name for name in names if name.split("::")[-1].startswith("test")}


def equations(package: Path) -> Iterator[tuple[str, str]]:
    """Name and docstring of every class and function of a layer that states an equation."""
    for item in cite.documented(package, containing="Equation:"):
        if item.file.split("/")[0] in MAY_IMPORT:
            yield item.name, item.docstring


def broken_contracts(package: Path, root: Path, keys: set[str]) -> list[str]:
    """Sentences that name each equation without a test that exists, or from a paper that is not cited."""
    faults = []
    for name, docstring in equations(package):
        source, checked = cite.labelled(docstring, "Equation"), cite.labelled(docstring, "Checked")
        if source is None:
            faults.append(f"{name}: `Equation:` must begin its line")
            continue
        faults += [f"{name}: [{key}] is not in CITATION.cff" for key in cite.KEY.findall(source) if key not in keys]
        if not cite.cited(source):
            faults.append(f"{name}: `Equation:` names no paper and is not derived")
        named = cite.TEST_ID.findall(checked or "")
        if not named:
            faults.append(f"{name}: states an equation but no `Checked: tests/test_x.py::test_name`")
        for test_id in named:
            file, test = test_id.split("::", 1)
            if test not in defined_tests(root / file):
                faults.append(f"{name}: {test_id} does not exist")
    return faults


def plant(root: Path, **files: str) -> Path:
    """A small package named presage with all four layers; `theory__solve` stands for theory/solve.py."""
    package = root / "src" / "presage"
    for layer in ("", *MAY_IMPORT):
        (package / layer).mkdir(parents=True, exist_ok=True)
        (package / layer / "__init__.py").touch()
    for name, source in files.items():
        path = package / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return package


def test_layers_import_downwards_only():
    assert all((PACKAGE / layer).is_dir() for layer in ("model", "spectra", "theory"))
    assert forbidden_imports(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("model__laws", "import presage.spectra"),
        ("model__laws", "import numpy, presage.spectra.free as free"),
        ("model__laws", "from ..spectra.free import FreeConvolution"),
        ("model__laws", "from .. import theory"),
        ("model__laws", "from presage import experiment"),
        ("model__deep__laws", "from ...theory import solve"),
        ("spectra__free", "from presage.theory.solve import solve"),
        ("spectra__free", "from ..experiment import simulate"),
        ("theory__solve", "from ..experiment.data import sample"),
        ("theory__solve", "def f():\n    from presage.experiment import simulate"),
        ("experiment__data", "from presage.spectra import free"),
        (
            "experiment__amp",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..theory.bayes import denoiser",
        ),
        ("theory__solve", "import presage"),
        ("theory__solve", "from presage import MarchenkoPastur"),
        ("theory__solve", "from .. import *"),
        ("theory__solve", "from ..compare import compare"),
        ("_check", "from .model import Problem"),
    ],
)
def test_a_planted_import_is_found(tmp_path, file, source):
    faults = forbidden_imports(plant(tmp_path, **{file: source}))
    assert len(faults) == 1
    assert file.replace("__", "/") in faults[0].replace(os.sep, "/")


def test_views_look_inwards_only():
    assert all((PACKAGE / view).is_dir() for view in VIEWS[:2])
    assert views_seen_from_inside(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "source", "faults"),
    [
        ("comparison", "from presage.sweeps.sweep import sweep", 1),
        ("theory__solve", "from ..figures import catalogue", 1),
        ("sweeps__sweep", "from presage.cli import app", 1),
        ("figures__style", "def f():\n    import presage.cli.tables", 1),
        ("figures__attention_1", "from presage.sweeps.sweep import sweep\nfrom presage.theory.solve import solve", 0),
        ("cli__app", "from presage.figures import catalogue\nfrom . import tables", 0),
    ],
)
def test_a_planted_look_outwards_is_found(tmp_path, file, source, faults):
    assert len(views_seen_from_inside(plant(tmp_path, **{file: source}))) == faults


def test_a_fault_in_the_init_of_a_layer_is_found(tmp_path):
    package = plant(tmp_path)
    (package / "model" / "__init__.py").write_text("from ..spectra import free\n", encoding="utf-8")
    assert len(forbidden_imports(package)) == 1


def test_allowed_imports_are_not_faults(tmp_path):
    package = plant(
        tmp_path,
        _check="import math",
        compare="from .theory import solve\nfrom .experiment import simulate",
        model__laws="import numpy\nfrom .. import _check\nfrom .._check import real\nfrom . import channels",
        spectra__free="import presage_other\nfrom presage.model.laws import SpectralLaw",
        theory__solve="from ..model import Problem\nfrom ..spectra import free\nimport presage.theory.solve",
        experiment__data="from presage.model import laws\nfrom .gradient import LBFGS",
    )
    assert forbidden_imports(package) == []


def test_no_module_is_named_after_nothing():
    assert banned_modules(PACKAGE) == []


def test_a_planted_name_is_found(tmp_path):
    package = plant(tmp_path, theory___utils="", model__common__laws="", spectra__baseline="")
    assert [Path(name).as_posix() for name in banned_modules(package)] == ["model/common", "theory/_utils.py"]


def test_every_equation_names_a_test_that_exists():
    assert [*equations(PACKAGE)], "no docstring states an equation"
    assert broken_contracts(PACKAGE, ROOT, {*cite.references()}) == []


def test_the_papers_are_cited():
    keys = {"BETKZ25", "ETZK25", "DXGTEZLK25", "BTEZ25", "ETBMZ24", "MTMKZ24", "XMZK25", "GTXEKZ26", "MM21"}
    assert keys <= {*cite.references()}


@pytest.mark.parametrize(
    ("tail", "fault"),
    [
        ("Equation: [BETKZ25] (43)\n    Checked: tests/test_a.py::test_one", None),
        (
            "Equation: derived\n    Checked: tests/test_a.py::test_one\n    tests/test_a.py::TestB::test_two",
            None,
        ),
        ("No equation here.", None),
        ("Equation: [BETKZ25] (43)", "no `Checked:"),
        ("Equation: [BETKZ25] (43)\n    Checked: by eye", "no `Checked:"),
        ("Checked: by eye\n    Equation: [BETKZ25] (43), as in tests/test_a.py::test_one", "no `Checked:"),
        ("Equation: [BETKZ25] (43)\n    Checked: tests/test_a.py::test_none", "test_none does not exist"),
        (
            "Equation: [BETKZ25] (43)\n    Checked: tests/test_b.py::test_one",
            "test_b.py::test_one does not exist",
        ),
        ("Equation: [BETKZ25] (43)\n    Checked: tests/test_a.py::reference", "reference does not exist"),
        ("Equation: [XYZ99] (1)\n    Checked: tests/test_a.py::test_one", "[XYZ99] is not in CITATION.cff"),
        ("Equation: by eye\n    Checked: tests/test_a.py::test_one", "names no paper and is not derived"),
        ("An Equation: inside a line.\n    Checked: tests/test_a.py::test_one", "must begin its line"),
    ],
)
@pytest.mark.parametrize(
    "shape", ["def f():\n    {}", "class Law:\n  def f(self):\n    {}", "class Law:\n    {}", "def _f():\n    {}"]
)
def test_a_broken_contract_is_found(tmp_path, shape, tail, fault):
    package = plant(tmp_path, theory__solve=shape.format(f'"""Say what.\n\n    {tail}\n    """'))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(
        "def test_one(): ...\ndef reference(): ...\nclass TestB:\n    def test_two(self): ...\n",
        encoding="utf-8",
    )
    faults = broken_contracts(package, tmp_path, {"BETKZ25"})
    if fault is None:
        assert faults == []
    else:
        assert len(faults) == 1
        assert fault in faults[0]


def test_import_presage_draws_and_labels_nothing():
    """matplotlib and xarray are slow to import, so they wait until a figure or a table is asked for."""
    code = "import sys, presage; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "presage" in loaded
    assert not {"matplotlib", "xarray"} & set(loaded)


def test_every_public_name_can_be_had_and_keeps_its_meaning():
    """Names come when first asked for; a module of the same name must not take their place."""
    import presage

    assert presage.__all__ == sorted(presage.__all__)
    for name in presage.__all__:
        assert not isinstance(getattr(presage, name), type(presage)), f"presage.{name} is a module"
