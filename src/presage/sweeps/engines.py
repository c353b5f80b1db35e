"""Where cells are computed: in this process, in processes of this machine, or on a dask cluster."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from presage.protocol import checks
from presage.protocol.extras import how_to_install
from presage.sweeps.cells import Work
from presage.sweeps.dask_watch import GO_ON, Watch, quiet_where_lost
from presage.sweeps.grid import Cell
from presage.sweeps.store import Record

Chains = list[list[Cell]]
PATIENCE = 10  # seconds until a scheduler that does not answer is taken for none
RETRIES = 3  # of a chain that could not be begun, for example since a file system was slow


def here(work: Work, chains: Chains) -> Iterator[Record]:
    """One after the other, in this process."""
    for chain in chains:
        yield from work.records(chain)


def local(work: Work, chains: Chains, processes: int) -> Iterator[Record]:
    """In processes of this machine."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import BrokenProcessPool, TerminatedWorkerError

    # Processes of loky import presage, not the caller's script: no `if __name__ == "__main__"` is needed there.
    mine = dataclasses.replace(work, parent=os.getpid())
    parallel = Parallel(n_jobs=processes, backend="loky", return_as="generator_unordered", pre_dispatch="all")
    try:
        for records in parallel(delayed(mine)(chain) for chain in chains):
            yield from records
    except TerminatedWorkerError:
        raise RuntimeError(
            f"A process of the sweep was killed, most often for lack of memory. {GO_ON}, with fewer `processes`."
        ) from None
    except (pickle.PicklingError, BrokenProcessPool) as error:
        reason = f"it is sent to other processes, and that failed ({_cause(error)})"
        remedy = "Use <processes=1>, or a function that holds no open file, lock or connection."
        raise checks.complaint("run", "be a function that can travel", reason, work.run, remedy) from error


def unpacked(parcel: bytes) -> list[Record]:
    """Do the chain in a parcel. A worker that cannot open what dask itself has packed is gone; this one says why."""
    work, chain = pickle.loads(parcel)
    return list(work(chain))


def on_dask(work: Work, chains: Chains, client: Any) -> Iterator[Record]:
    """On the workers of a dask cluster; a chain whose worker dies is done again by another.

    A chain that dask gives up, since too many workers died with it, is tried cell by cell, and a cell that is given up
    beside others once more by itself, when it is known who ends a worker: only the cells that end every worker are
    lost, and the table says so.
    """
    import cloudpickle
    from distributed import KilledWorker, as_completed

    sent: dict[Any, list[Cell]] = {}

    def send(some: Chains) -> list[Any]:
        parcels = [cloudpickle.dumps((work, chain)) for chain in some]
        futures = client.map(unpacked, parcels, key="presage-sweep", pure=False, retries=RETRIES)
        sent.update(zip(futures, some, strict=True))
        return list(futures)

    # Results are asked for one by one: as_completed(with_results=True) never returns one that was lost with its
    # worker and then could not be computed again.
    ended = as_completed(send(chains), loop=client.loop)
    watch = Watch(client)
    suspects: Chains = []  # cells that were on workers that died, each a chain
    by_itself = False
    try:
        for future in watch.over(ended):
            chain, records = sent.pop(future), []
            try:
                records = future.result()
            except KilledWorker:
                if len(chain) > 1:
                    ended.update(send([[cell] for cell in chain]))
                elif by_itself:
                    records = [work.lost(chain[0])]
                else:
                    suspects.append(chain)
            except (Exception, asyncio.CancelledError) as error:
                if watch.lost:
                    raise RuntimeError(watch.gone) from None
                raise RuntimeError(f"The dask cluster could not compute cells ({_cause(error)}). {GO_ON}.") from error
            yield from records
            if suspects and not sent:
                by_itself = True
                ended.update(send([suspects.pop()]))
    finally:
        if not watch.lost:  # there is nobody to tell otherwise
            client.cancel(list(sent))


@contextmanager
def connected(executor: Any) -> Iterator[Any]:
    """The dask client of `executor`; None where there is none. One that is made here is closed at the end."""
    if executor is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        reason, remedy = "dask.distributed is not installed", f"{how_to_install('cluster')}, or leave executor out."
        raise checks.complaint("executor", "be left out here", reason, executor, remedy) from None
    if not isinstance(executor, str | Client):
        reason = "it says which cluster computes the cells"
        remedy = 'Use a dask.distributed.Client or its address, for example <executor="tcp://10.0.0.1:8786">.'
        raise checks.complaint("executor", "be a dask client or an address", reason, executor, remedy)
    if not isinstance(executor, str):
        yield executor
        return
    try:
        _knock(executor)
        client = Client(executor, timeout=f"{PATIENCE}s", set_as_default=False)
    except (OSError, ValueError, TypeError):  # the last two: not an address at all
        reason = "no dask scheduler answers there"
        remedy = 'Start one with `dask scheduler`, and use the address it prints, for example "tcp://10.0.0.1:8786".'
        raise checks.complaint("executor", "be the address of a dask scheduler", reason, executor, remedy) from None
    try:
        yield client
    finally:
        with quiet_where_lost(client):
            client.close()


def _knock(address: str) -> None:
    """Connect to a scheduler and leave. A client that finds none stays half made, and complains when it is deleted."""
    from distributed import Security
    from distributed.comm import connect

    async def knock() -> None:
        await (await connect(address, timeout=PATIENCE, **Security().get_connection_args("client"))).close()

    with ThreadPoolExecutor(1) as other:  # this thread may have a running loop of its own, as in a notebook
        other.submit(lambda: asyncio.run(knock())).result()


def threads(client: Any) -> int:
    """How many cells a dask cluster computes at a time: those of its workers, or of the workers it has asked for."""
    asked = getattr(client.cluster, "plan", None) or ()
    return int(max(1, len(asked), sum(client.nthreads().values())))


def _cause(error: BaseException) -> str:
    """The last line of what went wrong at the root of `error`."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines() or ["no more is known"]
    return f"{type(error).__name__}: {lines[-1].strip()}"
