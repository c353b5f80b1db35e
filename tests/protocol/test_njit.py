"""Compiled functions where there is no folder to keep them in."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from presage.protocol import njit as module
from presage.protocol.njit import NO_CACHE, njit

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "presage"


@pytest.fixture
def no_folder(tmp_path, monkeypatch):
    """Files stand where numba would make its folders: this stops the superuser too."""
    (tmp_path / "file").touch()
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "file" / "home"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    shutil.copytree(PACKAGE, tmp_path / "presage", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (tmp_path / "presage", *(tmp_path / "presage").rglob("*")):
        if folder.is_dir():
            (folder / "__pycache__").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def run(folder, *command, **more):
    return subprocess.run(
        [sys.executable, *command], env={**os.environ, **more}, cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_machine_without_a_writable_folder_gets_its_answer_and_is_told_once_how_to_be_faster(no_folder):
    command = ("-m", "presage", "solve", "--model", "quadratic", "--alpha", "1", "--noise", "0.5", "--csv")
    done = run(no_folder, *command)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == NO_CACHE
    kept = run(no_folder, *command, NUMBA_CACHE_DIR=str(no_folder / "kept"))
    assert kept.stdout == done.stdout
    assert kept.stderr == ""
    assert [*(no_folder / "kept").rglob("*.nbi")], "the folder of NUMBA_CACHE_DIR was not used"


def test_processes_that_train_networks_leave_it_to_the_one_that_started_them(no_folder):
    options = ("--alpha", "0.5", "--d", "4", "--seeds", "2", "--workers", "2", "--csv")
    done = run(no_folder, "-m", "presage", "simulate", "--model", "quadratic", *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(NO_CACHE) == 1


LOADS = """
import sys
import numpy as np
from presage.protocol.njit import njit

@njit(cache=True)
def inner(x):
    return np.sqrt(x)

@njit(cache=True)
def roots(x):
    found = np.empty(x.size)
    for j in range(x.size):
        found[j] = inner(x[j])
    return found

print(roots(np.arange(5.0)).tolist(), *roots.stats.cache_hits.values(), "numba.np.linalg" in sys.modules)
if len(sys.argv) > 1:
    print(njit(cache=True)(lambda x: roots(x) @ x)(np.arange(5.0)), "numba.np.linalg" in sys.modules)
"""


def test_compiled_code_is_loaded_without_what_compiling_needs_and_compiling_still_finds_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(LOADS, encoding="utf-8")
    paths = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    lines = [run(tmp_path, str(script), *more, PYTHONPATH=paths) for more in ((), (), ("and compile",))]
    assert [one.stderr for one in lines] == ["", "", ""]
    numbers = str(np.sqrt(np.arange(5.0)).tolist())
    compiled, loaded, both = (one.stdout.splitlines() for one in lines)
    assert compiled == [f"{numbers} True"]
    assert loaded == [f"{numbers} 1 False"]
    assert both[0] == loaded[0]
    value, has_all = both[1].split()
    assert float(value) == pytest.approx(np.sum(np.arange(5.0) ** 1.5), rel=1e-14)
    assert has_all == "True"


def test_code_of_another_source_is_compiled_anew(tmp_path):
    script = tmp_path / "script.py"
    paths = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    said = []
    for root in ("np.sqrt", "np.abs"):
        script.write_text(LOADS.replace("np.sqrt", root), encoding="utf-8")
        said.append(run(tmp_path, str(script), PYTHONPATH=paths).stdout)
    assert said[0].startswith(str(np.sqrt(np.arange(5.0)).tolist()))
    assert said[1].startswith(str(np.abs(np.arange(5.0)).tolist()))


def test_a_numba_that_names_its_parts_otherwise_loads_as_it_does_by_itself(monkeypatch):
    def square(x):
        return x * x

    first = njit(cache=True)(square)
    assert first(3.0) == 9.0
    monkeypatch.delattr(numba.core.caching.Cache, "_load_overload")
    asked = []
    monkeypatch.setattr(numba.core.caching.Cache, "load_overload", lambda *given: asked.append(given))
    assert njit(cache=True)(square)(3.0) == 9.0
    assert len(asked) == 1


def test_it_compiles_with_the_options_of_numba():
    @njit(error_model="numpy", fastmath={"contract"})
    def inverse(x):
        return 1.0 / x

    assert inverse(0.0) == float("inf")
    assert inverse.targetoptions["fastmath"] == {"contract"}
    assert inverse.targetoptions["nopython"]


def test_what_numba_complains_about_for_another_reason_is_not_hidden(monkeypatch, caplog):
    monkeypatch.setattr(numba.core.config, "CACHE_LOCATOR_CLASSES", "NoSuchLocator")
    with pytest.raises(RuntimeError, match="NoSuchLocator"), caplog.at_level(logging.WARNING):
        njit(cache=True)(lambda x: x)
    assert not caplog.records


def test_it_is_said_once_a_process(monkeypatch, caplog):
    monkeypatch.setattr(numba.core.caching._CacheLocator, "ensure_cache_path", _nowhere)
    module._say_once.cache_clear()
    with caplog.at_level(logging.WARNING, logger="presage"):
        functions = [njit(cache=True)(lambda x: x + 1.0), njit(cache=True)(lambda x: x + 2.0)]
    assert [function(1.0) for function in functions] == [2.0, 3.0]
    assert [record.message for record in caplog.records] == [NO_CACHE]


def _nowhere(self):
    raise PermissionError
