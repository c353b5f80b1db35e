"""What is kept is read as it was made, by any number of processes, and made anew where it is damaged."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from presage.checkpoints.head import Head
from presage.checkpoints.kept_heads import digest, kept_heads
from presage.checkpoints.nulls.kept import cache_folder, kept
from presage.checkpoints.read_head import measured_heads


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRESAGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def made():
    return np.arange(12.0).reshape(3, 4) / 7.0


def never():
    raise AssertionError("it is kept")


def together(_):
    return kept("table", made).tolist()


def test_what_is_kept_is_read_as_it_was_made(folder):
    first = kept("table", made)
    assert np.array_equal(kept("table", never), first)
    assert first == pytest.approx(made(), rel=1e-6)
    assert [path.suffix for path in folder.iterdir()] == [".npy"]


def test_two_processes_at_once_get_the_same(folder):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(together, range(24), chunksize=1)
    assert all(one == found[0] for one in found)
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"no array at all"])
def test_what_is_damaged_is_made_anew(folder, damage):
    first = kept("table", made)
    (place,) = folder.iterdir()
    place.write_bytes(damage)
    assert np.array_equal(kept("table", made), first)
    assert np.array_equal(kept("table", never), first)


def test_numbers_that_are_not_finite_are_made_anew(folder):
    kept("table", made)
    (place,) = folder.iterdir()
    np.save(place, np.full((3, 4), np.nan, dtype=np.float32))
    assert np.isfinite(kept("table", made)).all()


def test_nothing_is_kept_where_it_cannot_be(tmp_path, monkeypatch):
    monkeypatch.setenv("PRESAGE_CACHE", "off")
    assert cache_folder() is None
    assert np.array_equal(kept("table", made), made().astype(np.float32))  # as it is where it is kept
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("PRESAGE_CACHE", str(tmp_path / "file" / "cache"))
    assert kept("table", made) == pytest.approx(made(), rel=1e-6)


def test_heads_are_measured_once_and_by_what_they_hold(folder):
    rng = np.random.default_rng(0)
    head = Head(0, 0, "self", *rng.standard_normal((2, 60, 24)))
    first = measured_heads([head], tied=False, flips=5, seed=0, tol=None)
    names = [digest(head, False, 5, 0, None)]
    assert repr(kept_heads(names, never)) == repr(first)  # nan included
    other = Head(3, 7, "self", head.W_Q, head.W_K)  # at another place
    assert digest(other, False, 5, 0, None) == names[0]
    assert digest(Head(0, 0, "self", head.W_Q + 1e-12, head.W_K), False, 5, 0, None) != names[0]
    assert digest(head, False, 5, 1, None) != names[0]
    (place,) = (folder / "heads").iterdir()
    place.write_text(place.read_text()[:-20])
    assert repr(measured_heads([head], tied=False, flips=5, seed=0, tol=None)) == repr(first)
