"""Passes over the samples, block by block, in a fixed number of lanes.

The samples are cut into lanes, the same ones whatever the machine; a lane is swept block by block, and the lanes are
added in their order. Threads only take lanes: a sum has the same digits for any number of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

LANES = 8
BLOCK = 100_000  # entries of a block: it stays in a core's cache between the two products that it enters
SMALL = 4_000_000  # products of fewer multiplications than this are not worth a second thread

Result = TypeVar("Result")


def samples_a_block(d: int, T: int) -> int:
    """Number of samples in a block."""
    return max(1, BLOCK // (d * T))


def in_lanes(n: int, d: int, T: int, threads: int, sweep: Callable[[list[slice]], Result]) -> list[Result]:
    """Call `sweep` with the blocks of each lane, slices of the samples; return what it gives for each lane in order."""
    size = samples_a_block(d, T)

    def lane(i: int) -> Result:
        start, stop = n * i // LANES, n * (i + 1) // LANES
        return sweep([slice(low, min(low + size, stop)) for low in range(start, stop, size)])

    if threads == 1 or n * T * d * d < SMALL:
        return [lane(i) for i in range(LANES)]
    return list(_pool(threads).map(lane, range(LANES)))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="presage-lane")


if hasattr(os, "register_at_fork"):  # a forked child inherits the pool without its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products on one thread each: lanes are the parallel part, and digits do not depend on the machine."""
    with _blas().limit(limits=1, user_api="blas"):
        yield
