"""Arrays that are kept in the user's cache, so that what noise shows is sampled once a machine.

A file is written beside its place and renamed: two processes that want the same at once both write the same whole file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from presage.whole_file import whole_file

PLACE, SWITCHED_OFF = "PRESAGE_CACHE", "off"
FORMAT = 3  # of what is kept; a change of how it is computed raises it


def cache_folder() -> Path | None:
    """Where things are kept: the folder that PRESAGE_CACHE names, or the user's; None where that says `off`."""
    named = os.environ.get(PLACE, "")
    if named:
        return None if named.lower() == SWITCHED_OFF else Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "presage"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "presage" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "presage"


def kept(name: str, made: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
    """The array of a name: read where it is kept whole, made and kept where it is not.

    Where nothing can be kept (a full disk, a folder that cannot be written) it is made all the same.
    """
    folder = cache_folder()
    if folder is None:
        return _as_kept(made())
    place = folder / f"{name}-{FORMAT}.npy"
    found = _read(place)
    if found is not None:
        return found
    array = _as_kept(made())
    with suppress(OSError):  # to keep it is a convenience: the answer does not depend on it
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(place) as part:
            np.save(part, array.astype(np.float32))
    return array


def _as_kept(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """As it will be read: an answer does not depend on who made it first, nor on whether it is kept."""
    return array.astype(np.float32).astype(np.float64)


def _read(place: Path) -> NDArray[np.float64] | None:
    """What is kept there; None where nothing is, or where it is damaged."""
    try:
        array = np.load(place, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if not isinstance(array, np.ndarray) or array.dtype != np.float32 or not np.isfinite(array).all():
        return None
    return array.astype(np.float64)
