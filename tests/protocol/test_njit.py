"""Compiled functions where there is no folder to keep them in."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
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
