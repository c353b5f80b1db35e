"""What is missing is named by packages that pip knows, wherever presage was installed from."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import presage as ps
from presage.protocol import extras
from presage.protocol.extras import EXTRAS, how_to_install
from presage.sweeps import slurm

ROOT = Path(__file__).resolve().parents[2]
NETWORK = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1)


def test_the_extras_are_those_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    names = {extra: tuple(re.match(r"[\w-]+", one)[0] for one in packages) for extra, packages in declared.items()}  # type: ignore[index]
    assert {extra: packages for extra, packages in names.items() if extra != "dev"} == EXTRAS


def test_no_text_asks_for_an_extra_of_a_package_on_an_index():
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "bench").rglob("*.py"), *(ROOT / "docs").glob("*.md")]
    assert len(sources) > 100
    assert [path.name for path in sources if "presage[" in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("missing", ["distributed", "dask_jobqueue"])
def test_a_cluster_without_its_packages_says_which(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    told = r"Run: pip install dask-jobqueue distributed \(in a clone of presage: pip install \"\.\[cluster\]\"\), or "
    with pytest.raises(ps.InputError, match=told), slurm.cluster(jobs=1):
        pass
    if missing == "distributed":
        with pytest.raises(ps.InputError, match=told + "leave executor out"):
            ps.sweep(NETWORK, ps.solve, executor="tcp://127.0.0.1:1", alpha=[1.0])


def test_coordinate_descent_without_scikit_learn_says_so(monkeypatch):
    problem = ps.diagonal_network(ps.PointMasses([0.0, 1.0]), alpha=0.5, weight_decay=0.1)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ps.InputError, match=r"Run: pip install scikit-learn \(in a clone"):
        ps.simulate(problem, d=10, trainer=ps.Lasso())


def test_every_extra_has_its_sentence():
    assert how_to_install("learn") == 'Run: pip install scikit-learn (in a clone of presage: pip install ".[learn]")'
    assert how_to_install("bench") == 'Run: pip install cvxpy torch (in a clone of presage: pip install ".[bench]")'
    assert how_to_install("docs").startswith("Run: pip install furo myst-nb sphinx (in a clone")
