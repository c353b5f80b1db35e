"""numba's `njit` for machines that may have no place to keep compiled code: a read-only installation, no home."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache as once
from multiprocessing import parent_process
from typing import Any

import numba

log = logging.getLogger("presage")
NO_FOLDER = "no locator available"  # how numba says that it can write to none of the folders that it knows
NO_CACHE = (
    "presage: there is no folder to keep compiled code in, so it is compiled again in every process, which takes "
    "some time. Set the environment variable NUMBA_CACHE_DIR to a folder that you can write to, and it is kept there."
)


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as ``numba.njit`` does; one that cannot be cached on this machine is compiled all the same."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        # What numba is told not to compile (NUMBA_DISABLE_JIT) stays a plain function, with nothing to keep.
        if cache and hasattr(dispatcher, "enable_caching"):
            try:
                dispatcher.enable_caching()
            except RuntimeError as error:
                if NO_FOLDER not in str(error):
                    raise
                _say_once()
        return dispatcher

    return compiled


@once
def _say_once() -> None:
    """Tell how to have a cache; processes that another one has started leave it to that one."""
    if parent_process() is None:
        log.warning(NO_CACHE)
