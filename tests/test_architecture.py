"""The shape of the package: who may import whom, names, and the docstring contract of the equations.

Sources are read, not imported, so that an import inside a function or behind TYPE_CHECKING counts as well.
Every rule has a negative control: a small tree with a planted fault that the rule must find.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from presage import cite

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "presage"

# Who may import whom, by path. A model sees itself, never another, but for those that are built on one: fine-tuning
# begins where a pre-training ended, heads whose outputs lie side by side are as many problems of one head, a softmax
# whose labels are all fitted is bilinear regression, and who knows of a symmetry looks for a tied head. The wall
# between the witnesses stands between them too.
BUILT_ON = {"lora": {"attention"}, "multihead": {"attention"}, "untied": {"attention", "bilinear"}}
SHARED = {"protocol", "laws"}  # what both witnesses share, beside the definitions of their own model
WITNESSES = {
    "theory": {"theory", "bayes", "thresholds"},  # parts of a model that are one witness
    "experiment": {"experiment"},  # and those of the other
}
ENGINES = {"spectra": "theory", "solving": "theory", "training": "experiment"}  # engines, and whose they are
# Weights of others are read without either witness: by laws of noise alone, never by a theory or by training.
READER, READS_WITH = "checkpoints", {"spectra", "whole_file"}
# From the inside out: each may import those before it; nothing inside imports one.
VIEWS = ("saved", "sweeps", "plots", "figures", "cli", "page")
KNOWS_NO_MODEL = (
    "saved",
    "sweeps",
    "plots",
    "cli",
    "page",
)  # the published figures are pictures of certain models by nature
BANNED_NAMES = {"base", "common", "helper", "helpers", "util", "utils"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def imported_names(path: Path, package: Path) -> list[tuple[int, str]]:
    """Every name that the module imports, absolute and dotted (presage.laws.spectral_law), with its line."""
    module = path.relative_to(package.parent).with_suffix("").parts
    here = module[:-1]  # for a module its package, for __init__.py the package that it is
    names: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            names += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = here[: len(here) - node.level + 1] if node.level else ()
            stem = [*start, *(node.module.split(".") if node.module else [])]
            names += [(node.lineno, ".".join([*stem, alias.name])) for alias in node.names]
    return names


class Place(NamedTuple):
    """Where a module stands: its room, its model, and of which witness it is a part."""

    room: str  # first folder: protocol, laws, spectra, models ...
    model: str | None
    witness: str | None


def place(parts: Sequence[str]) -> Place:
    """The place of a module by its path inside the package."""
    room = parts[0] if parts else ""
    if room != "models":
        return Place(room, None, ENGINES.get(room))
    model = parts[1] if len(parts) > 1 else None
    # A part of a model is a folder or a file of that name: theory.py, theory/solve.py, bayes_amp.py is of its folder.
    part = parts[2] if len(parts) > 2 else ""
    witness = next((name for name, stems in WITNESSES.items() if part in stems), None)
    return Place(room, model, witness)


def allowed(here: Place, there: Place) -> bool:
    """Whether a module at one place may import from another."""
    if there.room in SHARED:
        return there.room == "protocol" or here.room != "protocol"
    if here.room == READER:
        return there.room in {READER, *READS_WITH}
    if here.room in SHARED or there.room not in {"models", *ENGINES}:
        return here.room == there.room
    if here.room in ENGINES:  # knows no model, and no engine of the other witness
        return there.room in ENGINES and there.witness == here.witness
    if there.room == "models" and there.model not in {here.model, *BUILT_ON.get(here.model or "", set())}:
        return False
    return there.witness is None or there.witness == here.witness


def forbidden_imports(package: Path) -> list[str]:
    """Sentences that name each import through the wall, of another model, or of a view; empty when all is well."""
    faults = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        here = place(parts[:-1] if parts[-1] == "__init__" else parts)
        if here.room not in {"models", READER, *SHARED, *ENGINES} or len(parts) == 1:
            continue
        for line, name in imported_names(path, package):
            root, *inside = name.split(".")
            if root != package.name:
                continue
            there = place(inside)
            if not inside or not allowed(here, there):
                faults.append(f"{path.relative_to(package.parent)}:{line} imports {name}, which {_why(here, there)}")
    return faults


def _why(here: Place, there: Place) -> str:
    if there.room == "models" and there.model != here.model:
        return "is of a model that this knows nothing of"
    if here.witness and there.witness and here.witness != there.witness:
        return "is of the other witness"
    return f"{here.room or 'this'} may not see"


def models_named(package: Path) -> list[str]:
    """Sentences that name each place of a view, an engine or the protocol that names a model: by import or in words."""
    models = sorted(path.name for path in (package / "models").iterdir() if (path / "__init__.py").exists())
    faults = []
    for room in ("protocol", *ENGINES, *KNOWS_NO_MODEL):
        for path in sorted((package / room).rglob("*.py")):
            for line, name in imported_names(path, package):
                if name.startswith(f"{package.name}.models."):
                    faults.append(f"{path.relative_to(package.parent)}:{line} imports {name}")
            for line, word in names_in_code(path):
                if word.lower() in models:
                    faults.append(f"{path.relative_to(package.parent)}:{line} names the model {word}")
    return faults


def names_in_code(path: Path) -> Iterator[tuple[int, str]]:
    """Every identifier and every string of one word in the code of a module, docstrings left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value.strip("-")


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


def compiled_past_the_cache(package: Path) -> list[str]:
    """Sentences that name each import of numba beside `protocol/njit.py`, which knows machines that keep nothing."""
    return [
        f"{path.relative_to(package.parent)}:{line} imports {name}: use presage.protocol.njit"
        for path in sorted(package.rglob("*.py"))
        for line, name in imported_names(path, package)
        if name.split(".")[0] == "numba" and path != package / "protocol" / "njit.py"
    ]


def banned_modules(package: Path) -> list[str]:
    """Modules and packages whose name says nothing about what is inside."""
    paths = [path for path in sorted(package.rglob("*")) if path.suffix == ".py" or path.is_dir()]
    return [str(path.relative_to(package)) for path in paths if path.stem.strip("_") in BANNED_NAMES]


@cache
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
    """Name and docstring of every class and function of a model or an engine that states an equation."""
    for item in cite.documented(package, containing="Equation:"):
        if item.file.split("/")[0] in {"laws", "models", READER, *ENGINES}:
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


ROOMS = ("protocol", "laws", "spectra", "solving", "training", "sweeps", "cli", "models/first", "models/second")


def plant(root: Path, **files: str) -> Path:
    """A small package named presage with two models; `models__first__theory` stands for models/first/theory.py."""
    package = root / "src" / "presage"
    for room in ("", "models", *ROOMS):
        (package / room).mkdir(parents=True, exist_ok=True)
        (package / room / "__init__.py").touch()
    for name, source in files.items():
        path = package / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return package


def test_the_wall_holds():
    assert all((PACKAGE / room).is_dir() for room in (*SHARED, *ENGINES, "models"))
    assert forbidden_imports(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("laws__semicircle", "import presage.spectra"),
        ("laws__semicircle", "import numpy, presage.spectra.free as free"),
        ("laws__semicircle", "from ..spectra.free import FreeConvolution"),
        ("laws__semicircle", "from .. import training"),
        ("laws__deep__semicircle", "from ...models.first import problem"),
        ("spectra__symmetric__free", "from presage.models.first.theory import solve"),
        ("spectra__free", "from ..training import fista"),
        ("solving__newton", "from presage.models.first.problem import Problem"),
        ("training__fista", "from presage.solving.newton import newton"),
        ("training__fista", "from ..spectra import free"),
        ("models__first__theory__solve", "from ..experiment.data import sample"),
        ("models__first__theory", "def f():\n    from presage.models.first.experiment import simulate"),
        ("models__first__theory", "from presage.training.fista import accelerated"),
        ("models__first__thresholds", "from .experiment import simulate"),
        ("models__first__bayes__optimal", "from ..experiment import amp"),
        ("models__first__experiment__data", "from presage.spectra import free"),
        ("models__first__experiment", "from presage.models.first.thresholds import thresholds"),
        (
            "models__first__experiment__amp",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..bayes.optimal import denoiser",
        ),
        ("models__first__problem", "from presage.models.second.problem import Problem"),
        ("models__first__problem", "from .theory import solve"),
        ("models__first__theory", "from presage.models.second import theory"),
        ("models__first__theory", "import presage"),
        ("models__first__theory", "from presage import MarchenkoPastur"),
        ("models__first__theory", "from ...sweeps.sweep import sweep"),
        ("protocol__verbs", "from presage.models.first.theory import solve"),
        ("protocol__checks", "from ..laws import semicircle"),
        ("checkpoints__report", "from presage.models.first.theory import solve"),
        ("checkpoints__files__torch_file", "from presage.models.first.problem import Problem"),
        ("checkpoints__report", "from presage.training.fista import accelerated"),
        ("checkpoints__report", "from presage.solving.newton import newton"),
        ("spectra__free", "from presage.checkpoints.report import report"),
        ("models__first__theory", "from presage.checkpoints.report import report"),
        ("models__first__experiment", "from presage.checkpoints.report import report"),
    ],
)
def test_a_planted_import_is_found(tmp_path, file, source):
    faults = forbidden_imports(plant(tmp_path, **{file: source}))
    assert len(faults) == 1
    assert file.replace("__", "/") in faults[0].replace(os.sep, "/")


@pytest.mark.parametrize(
    ("file", "source", "faults"),
    [
        ("models__lora__problem", "from presage.models.attention.problem import Problem", 0),
        ("models__lora__theory__solve", "from presage.models.attention.theory.solve import solve", 0),
        ("models__lora__experiment__data", "from presage.models.attention.experiment.data import sample", 0),
        ("models__lora__theory__solve", "from presage.models.attention.experiment.data import sample", 1),
        ("models__lora__bayes__optimal", "from presage.models.attention.experiment import amp", 1),
        ("models__lora__experiment__data", "from presage.models.attention.theory.solve import solve", 1),
        ("models__lora__experiment__data", "from presage.models.attention.bayes import optimal", 1),
        ("models__lora__problem", "from presage.models.attention.theory import solve", 1),
        ("models__lora__problem", "from presage.models.first.problem import Problem", 1),
        ("models__attention__problem", "from presage.models.lora.problem import Problem", 1),
    ],
)
def test_a_model_built_on_another_sees_it_through_the_same_wall(tmp_path, file, source, faults):
    assert len(forbidden_imports(plant(tmp_path, **{file: source}))) == faults


def test_every_exception_is_a_model_that_is_there():
    named = {*BUILT_ON, *(model for models in BUILT_ON.values() for model in models)}
    assert all((PACKAGE / "models" / name / "declaration.py").is_file() for name in named)


def test_views_look_inwards_only():
    assert all((PACKAGE / view).is_dir() for view in VIEWS[:2])
    assert views_seen_from_inside(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "source", "faults"),
    [
        ("protocol__comparison", "from presage.sweeps.sweep import sweep", 1),
        ("models__first__theory", "from ...figures import catalogue", 1),
        ("sweeps__sweep", "from presage.cli import app", 1),
        ("figures__style", "def f():\n    import presage.cli.tables", 1),
        ("plots__plot", "from presage.figures.style import canvas\nfrom presage.sweeps.outcome import FAILED", 1),
        (
            "figures__attention_1",
            "from presage.sweeps.sweep import sweep\nfrom presage.models.first.theory import solve",
            0,
        ),
        ("cli__app", "from presage.figures import catalogue\nfrom . import tables", 0),
    ],
)
def test_a_planted_look_outwards_is_found(tmp_path, file, source, faults):
    assert len(views_seen_from_inside(plant(tmp_path, **{file: source}))) == faults


def test_a_fault_in_the_init_of_a_room_is_found(tmp_path):
    package = plant(tmp_path)
    (package / "laws" / "__init__.py").write_text("from ..spectra import free\n", encoding="utf-8")
    (package / "models" / "first" / "__init__.py").write_text("from .experiment import simulate\n", encoding="utf-8")
    assert len(forbidden_imports(package)) == 2


def test_allowed_imports_are_not_faults(tmp_path):
    package = plant(
        tmp_path,
        protocol__checks="import math",
        protocol__comparison="from . import checks\nfrom presage.protocol.problem import LearningProblem",
        laws__semicircle="import numpy\nfrom ..protocol import checks\nfrom . import law",
        spectra__free="import presage_other\nfrom presage.laws.semicircle import Semicircle",
        solving__newton="from presage.spectra import free\nfrom . import roots",
        training__fista="from presage.protocol import checks\nfrom .certificate import gap",
        models__first__problem="from presage.protocol.problem import LearningProblem\nfrom ...laws import semicircle",
        models__first__theory__solve="from ..problem import P\nfrom presage.spectra import free\nfrom . import map",
        models__first__bayes="from .theory.solve import solve\nfrom presage.solving import roots",
        models__first__experiment__data="from presage.training import fista\nfrom ..problem import Problem",
    )
    assert forbidden_imports(package) == []


def test_no_view_and_no_protocol_file_names_a_model():
    assert models_named(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "source", "faults"),
    [
        ("protocol__verbs", "from presage.models.first.theory import solve", 1),
        ("cli__solve", "import presage as ps\nif isinstance(problem, ps.First): pass", 1),
        ("cli__options", 'MODELS = {"second": 1}', 1),
        ("sweeps__cells", "def f(result):\n    return result.first", 1),
        ("solving__newton", "from presage.models import second", 1),
        ("cli__solve", '"""What the first of all does, and a second."""\nfirstborn = "first of all"', 0),
        ("models__first__theory", "first = 1", 0),
    ],
)
def test_a_planted_name_of_a_model_is_found(tmp_path, file, source, faults):
    assert len(models_named(plant(tmp_path, **{file: source}))) == faults


def test_only_one_file_asks_numba_to_compile():
    assert compiled_past_the_cache(PACKAGE) == []


@pytest.mark.parametrize("source", ["from numba import njit", "import numba as nb", "def f():\n    import numba.core"])
def test_a_planted_compiler_is_found(tmp_path, source):
    faults = compiled_past_the_cache(plant(tmp_path, laws__semicircle=source, protocol__njit="import numba"))
    assert len(faults) == 1
    assert "semicircle" in faults[0]


def test_no_module_is_named_after_nothing():
    assert banned_modules(PACKAGE) == []


def test_a_planted_name_is_found(tmp_path):
    package = plant(tmp_path, solving___utils="", laws__common__laws="", spectra__baseline="")
    assert [Path(name).as_posix() for name in banned_modules(package)] == ["laws/common", "solving/_utils.py"]


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
    package = plant(tmp_path, solving__newton=shape.format(f'"""Say what.\n\n    {tail}\n    """'))
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
