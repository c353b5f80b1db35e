"""What a sweep on a dask cluster waits for: workers that have not come, and a scheduler that has gone away."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

GO_ON = "Cells that had ended are in the store, if there is one: sweep again to go on"
PATIENCE = 5.0  # seconds without a worker until that is said
LOOK = 1.0  # seconds between two looks at the workers
PAUSE = 0.02  # seconds between two looks at the results
RUNNING = "running"  # what a client of dask calls itself while it has its scheduler

log = logging.getLogger("presage")


@final
class Watch:
    """Looks after a cluster while its results are waited for."""

    def __init__(self, client: Any) -> None:
        self.client, self.address = client, client.scheduler.address
        self._alone_since: float | None = None
        self._said = False
        self._next_look = 0.0

    def over(self, ended: Any) -> Iterator[Any]:
        """Futures of dask as they end; a while without any worker is said once, until some have come."""
        while not ended.is_empty():
            if ended.has_ready():
                yield next(ended)
                continue
            self._look(time.monotonic())
            time.sleep(PAUSE)

    def _look(self, now: float) -> None:
        if now < self._next_look or self.lost:  # results that were lost with the scheduler end by themselves
            return
        self._next_look = now + LOOK
        if self.client.scheduler_info()["workers"]:
            self._alone_since, self._said = None, False
            return
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since >= PATIENCE and not self._said:
            self._said = True
            log.warning("%s", self.waiting)

    @property
    def lost(self) -> bool:
        """Whether the scheduler has gone away: dask cancels all that it was asked for then."""
        return bool(self.client.status != RUNNING)

    @property
    def waiting(self) -> str:
        """The sentence about workers that have not come."""
        how = f"Start some with: dask worker {self.address}"
        if self.client.cluster is not None:  # one that starts its workers itself
            how = "They come when the cluster has room for them"
        return f"The sweep is waiting for workers at {self.address}, which has none. {how}; it then goes on."

    @property
    def gone(self) -> str:
        """The sentence about a scheduler that has gone away."""
        return f"The dask scheduler at {self.address} has gone away. {GO_ON}, when there is a scheduler again."


@contextmanager
def quiet_where_lost(client: Any) -> Iterator[None]:
    """Inside this block dask says nothing where its scheduler is lost: what it would is known, and pages long."""
    logger = logging.getLogger("distributed.client")
    level = logger.level
    if client.status != RUNNING:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
