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
BLOCK = 2**20  # bytes of a block: it stays in a core's cache between the two products that it enters
DOUBLE = 8  # bytes of a number
SMALL = 4_000_000  # products of fewer multiplications than this are not worth a second thread

Result = TypeVar("Result")


def samples_a_block(d: int, T: int, itemsize: int = DOUBLE) -> int:
    """Number of samples in a block, of T x d numbers of so many bytes each."""
    return max(1, BLOCK // (itemsize * d * T))


def in_ordered_parts(
    n: int, d: int, T: int, threads: int, sweep: Callable[[list[slice]], Result], itemsize: int = DOUBLE
) -> list[Result]:
    """Call `sweep` with the blocks of each part, slices of the samples; return what it gives for each part in order."""
    size = samples_a_block(d, T, itemsize)

    def part(whole: slice) -> Result:
        starts = range(whole.start, whole.stop, size)
        return sweep([slice(start, min(start + size, whole.stop)) for start in starts])

    return by_parts(n, threads, part, work=float(n) * T * d * d)


def by_parts(n: int, threads: int, part: Callable[[slice], Result], *, work: float) -> list[Result]:
    """Call `part` with each part of the samples, a slice; return the results in order.

    `work` is the number of multiplications in all.
    """
    parts = [slice(n * i // PARTS, n * (i + 1) // PARTS) for i in range(PARTS)]
    if threads == 1 or work < SMALL:
        return [part(one) for one in parts]
    return list(_pool(threads).map(part, parts))


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
