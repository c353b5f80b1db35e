"""numba's `njit` for machines that may have no place to keep compiled code, and for processes that only load it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache as once
from multiprocessing import parent_process
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

log = logging.getLogger("presage")
NO_FOLDER = "no locator available"  # how numba says that it can write to none of the folders that it knows
NO_CACHE = (
    "presage: there is no folder to keep compiled code in, so it is compiled again in every process, which takes "
    "some time. Set the environment variable NUMBA_CACHE_DIR to a folder that you can write to, and it is kept there."
)


class CompiledOnDisk(FunctionCache):  # type: ignore[misc]
    """Compiled code of one function, in numba's own files; it is loaded without what compiling needs.

    Before numba looks into its files it loads all that it could compile with: every function of NumPy that it knows,
    SciPy for its BLAS, random numbers. That takes longer than a solve, and code that has been compiled needs none of
    it, but the memory that arrays are made in. Where nothing is found, numba compiles, and loads it then.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function of a signature; None where there is none, or none of this source and processor."""
        if not hasattr(self, "_load_overload"):  # a numba that names it otherwise
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as ``numba.njit`` does; one that cannot be cached on this machine is compiled all the same."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        # What numba is told not to compile (NUMBA_DISABLE_JIT) stays a plain function, with nothing to keep.
        if cache and hasattr(dispatcher, "enable_caching"):
            try:
                dispatcher._cache = CompiledOnDisk(function)  # as `enable_caching` does, with a class of its own
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
