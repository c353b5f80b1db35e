"""Where cells are computed: in this process, in processes of this machine, or on a dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from presage import _check
from presage.sweeps.cells import Work
from presage.sweeps.grid import Cell
from presage.sweeps.store import Record

Chains = list[list[Cell]]
RETRIES = 3  # of a chain whose worker died: dask gives it to another worker
INSTALL = 'Install it with: pip install "presage[cluster]"'


def here(work: Work, chains: Chains) -> Iterator[Record]:
    """One after the other, in this process."""
    for chain in chains:
        yield from work.records(chain)


def local(work: Work, chains: Chains, processes: int) -> Iterator[Record]:
    """In processes of this machine."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # Processes of loky import presage, not the caller's script: no `if __name__ == "__main__"` is needed there.
    parallel = Parallel(n_jobs=processes, backend="loky", return_as="generator_unordered", pre_dispatch="all")
    try:
        for records in parallel(delayed(work)(chain) for chain in chains):
            yield from records
    except TerminatedWorkerError:
        raise RuntimeError(
            "A process of the sweep was killed, most often for lack of memory. "
            "Cells that had ended are in the store, if there is one: sweep again to go on, with fewer `processes`."
        ) from None


def on_dask(work: Work, chains: Chains, executor: Any) -> Iterator[Record]:
    """On the workers of a dask cluster; a chain whose worker dies is done again by another."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        reason, remedy = "dask.distributed is not installed", f"{INSTALL}, or leave executor out."
        raise _check.complaint("executor", "be left out here", reason, executor, remedy) from None
    if not isinstance(executor, str | Client):
        reason = "it says which cluster computes the cells"
        remedy = 'Use a dask.distributed.Client or its address, for example executor="tcp://10.0.0.1:8786".'
        raise _check.complaint("executor", "be a dask client or an address", reason, executor, remedy)
    client = _connected(Client, executor) if isinstance(executor, str) else executor
    futures = client.map(work, chains, pure=False, retries=RETRIES)
    try:
        for batch in as_completed(futures, with_results=True).batches():
            for _, records in batch:
                yield from records
    finally:
        client.cancel(futures)
        if isinstance(executor, str):
            client.close()


def _connected(client: Any, address: str) -> Any:
    try:
        return client(address, timeout="10s")
    except (OSError, ValueError):  # ValueError: not an address at all
        reason = "no dask scheduler answers there"
        remedy = 'Start one with `dask scheduler`, and use the address it prints, for example "tcp://10.0.0.1:8786".'
        raise _check.complaint("executor", "be the address of a dask scheduler", reason, address, remedy) from None
