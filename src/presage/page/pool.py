"""A few processes that answer side by side, the most urgent question first; one that is no longer wanted is ended."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, final

from presage.page import process
from presage.page.process import ENDED, FAILED, READY

PREPARED = "presage.page.prepared"
STILLBORN = 3  # processes in a row that end before they are ready: no other will be
CANNOT_START = "The processes that compute cannot be started: the terminal of the server says why. Start it anew."
KILLED = "The process that computed this was killed, most often for lack of memory. Ask for something smaller."


class AnswerError(Exception):
    """Why there is no answer: a sentence, and the field that it is about where it is about one."""

    def __init__(self, field: str | None, message: str) -> None:
        super().__init__(message)
        self.field, self.message = field, message


@dataclass(eq=False)
class Job:
    """A question that waits or is being answered."""

    name: str
    arguments: dict[str, Any]
    urgency: int  # the smaller the sooner
    number: int
    answers: asyncio.Queue[tuple[str, Any]] = field(default_factory=asyncio.Queue)


@final
class Worker:
    """One process and the thread that listens to it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.job: Job | None = None
        self.ready = self.dead = False
        here, there = multiprocessing.Pipe()
        self._pipe = here
        context = _context()
        self.process = context.Process(target=process.run, args=(there, pool.patient), daemon=True)
        self.process.start()
        there.close()
        Thread(target=self._listen, daemon=True).start()

    def ask(self, job: Job) -> None:
        """Hand a question to the process."""
        self.job = job
        with suppress(OSError):  # a process that has died is noticed by who listens
            self._pipe.send((job.name, job.arguments))

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()

    def _listen(self) -> None:
        while True:
            try:
                message: tuple[str, Any] | None = self._pipe.recv()
            except (EOFError, OSError):
                message = None
            try:
                self._pool.loop.call_soon_threadsafe(self._pool.heard, self, message)
            except RuntimeError:  # the server has ended
                return
            if message is None:
                self.process.join()
                self._pipe.close()
                return


def _context() -> Any:
    """How processes are started: forked from a prepared one where the system can, else begun anew."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PREPARED])
    return context


@final
class Pool:
    """Processes that answer, `size` of them; up to `reserved` are kept free: urgency 1 leaves one of these, 2 two.

    So the quick question of a slider never waits for a slow curve, nor its refined answer, whoever asks for them.
    """

    def __init__(self, size: int, *, reserved: int = 0, patient: bool = False) -> None:
        self.size, self.reserved, self.patient = size, reserved, patient
        self.loop: asyncio.AbstractEventLoop
        self._workers: list[Worker] = []
        self._waiting: list[Job] = []
        self._starting: set[asyncio.Future[None]] = set()  # a task that nobody holds may be forgotten
        self._count = self._stillborn = 0
        self._ended = False
        self.prepared = asyncio.Event()

    async def start(self) -> None:
        """Start the processes; they are ready some time later."""
        self.loop = asyncio.get_running_loop()
        await asyncio.gather(*(self._begin() for _ in range(self.size)))

    async def _begin(self) -> None:
        """Start a process, beside the loop, which goes on answering meanwhile."""
        worker = await asyncio.to_thread(Worker, self)
        self._workers.append(worker)
        if self._ended:
            worker.end()
        elif worker.dead:  # already
            self._replace(worker)
        self._hand_out()

    def end(self) -> None:
        """End all processes."""
        self._ended = True
        for worker in self._workers:
            worker.end()

    @property
    def busy(self) -> bool:
        """Whether a new question would have to wait."""
        return bool(self._waiting) or all(worker.job is not None for worker in self._workers)

    async def ask(self, name: str, urgency: int, /, **arguments: Any) -> AsyncIterator[Any]:
        """What a process tells in answer to a question. Who stops listening ends the process.

        Raises:
            AnswerError: where there is no answer.
        """
        if self._stillborn >= STILLBORN:
            raise AnswerError(None, CANNOT_START)
        self._count += 1
        job = Job(name, arguments, urgency, self._count)
        self._waiting.append(job)
        self._hand_out()
        try:
            while True:
                kind, content = await job.answers.get()
                if kind == ENDED:
                    return
                if kind == FAILED:
                    raise AnswerError(content["field"], content["message"])
                yield content
        finally:
            self._drop(job)

    async def answer(self, name: str, urgency: int, /, **arguments: Any) -> Any:
        """The one thing that is told in answer to a question that has but one answer."""
        (only,) = [told async for told in self.ask(name, urgency, **arguments)]
        return only

    def heard(self, worker: Worker, message: tuple[str, Any] | None) -> None:
        """A process has told something, or nothing any more."""
        if message is None:
            worker.dead = True
            self._replace(worker)
            return
        kind, content = message
        if kind == READY:
            worker.ready, self._stillborn = True, 0
            self.prepared.set()
        elif worker.job is not None:
            worker.job.answers.put_nowait((kind, content))
            if kind in {ENDED, FAILED}:
                worker.job = None
        self._hand_out()

    def _drop(self, job: Job) -> None:
        """Nobody listens to a question any more: it is not answered, or its process is ended."""
        if job in self._waiting:
            self._waiting.remove(job)
        for worker in self._workers:
            if worker.job is job:
                worker.end()

    def _hand_out(self) -> None:
        """Give waiting questions to free processes."""
        free = [worker for worker in self._workers if worker.ready and worker.job is None]
        for job in sorted(self._waiting, key=lambda job: (job.urgency, job.number)):
            if len(free) <= min(job.urgency, self.reserved):
                return
            self._waiting.remove(job)
            free.pop().ask(job)

    def _replace(self, worker: Worker) -> None:
        """A process has ended, by itself or because it was told to: start another."""
        if self._ended or worker not in self._workers:
            return
        self._workers.remove(worker)
        if worker.job is not None:
            worker.job.answers.put_nowait((FAILED, {"field": None, "message": KILLED}))
        self._stillborn += not worker.ready
        if self._stillborn >= STILLBORN:
            self.prepared.set()
            for job in self._waiting:
                job.answers.put_nowait((FAILED, {"field": None, "message": CANNOT_START}))
            self._waiting.clear()
            return
        self._starting = {task for task in self._starting if not task.done()} | {asyncio.ensure_future(self._begin())}
