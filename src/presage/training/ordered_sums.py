"""Passes over the samples, block by block, in a fixed number of parts.

The samples are cut into parts, the same ones whatever the machine; a part is swept block by block, and the parts are
added in their order. Threads only take parts: a sum has the same digits for any number of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

PARTS = 8
BLOCK = 100_000  # entries of a block: it stays in a core's cache between the two products that it enters
SMALL = 4_000_000  # products of fewer multiplications than this are not worth a second thread

Result = TypeVar("Result")


def samples_a_block(d: int, T: int) -> int:
    """Number of samples in a block."""
    return max(1, BLOCK // (d * T))


def in_ordered_parts(n: int, d: int, T: int, threads: int, sweep: Callable[[list[slice]], Result]) -> list[Result]:
    """Call `sweep` with the blocks of each part, slices of the samples; return what it gives for each part in order."""
    size = samples_a_block(d, T)

    def part(i: int) -> Result:
        start, stop = n * i // PARTS, n * (i + 1) // PARTS
        return sweep([slice(low, min(low + size, stop)) for low in range(start, stop, size)])

    if threads == 1 or n * T * d * d < SMALL:
        return [part(i) for i in range(PARTS)]
    return list(_pool(threads).map(part, range(PARTS)))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="presage-part")


if hasattr(os, "register_at_fork"):  # a forked child inherits the pool without its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products on one thread each: the parts of a sum run in parallel, and digits are those of any machine."""
    with _blas().limit(limits=1, user_api="blas"):
        yield
