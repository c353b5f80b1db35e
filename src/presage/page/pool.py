"""A few processes that answer side by side, the most urgent question first; one that is no longer wanted is ended."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import signal
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from threading import Thread
from typing import Any, final

from presage.page import process
from presage.page.asked import FieldError
from presage.page.process import ENDED, FAILED, READY

PREPARED = "presage.page.prepared"
STILLBORN = 3  # processes in a row that end before they are ready: no other will be
CANNOT_START = "The processes that compute cannot be started: the terminal of the server says why. Start it anew."
AGAIN = 0.5  # seconds until a process that could not be started is tried again
TOO_DEEP = "A question must be made of a few numbers and words, and this one cannot be handed on. Ask a simpler one."
OVER = "The server has ended. Start it again with `presage page`."
KILLED = "The process that computed this was killed, most often for lack of memory. Ask for something smaller."


class AnswerError(FieldError):
    """Why there is no answer: a sentence, and the field that it is about where it is about one."""


@dataclass(eq=False)
class Job:
    """A question that waits or is being answered."""

    name: str
    packed: bytes  # what is sent to a process
    urgency: int  # the smaller the sooner
    number: int
    answers: asyncio.Queue[tuple[str, Any]] = field(default_factory=asyncio.Queue)


@final
class Worker:
    """One process and the thread that listens to it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.job: Job | None = None
        self.ready = self.ended = self.dead = False
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
            self._pipe.send_bytes(job.packed)

    def end(self) -> None:
        """End the process, whatever it does; it is asked nothing any more, also before it is gone."""
        self.ended = True
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


def _keep_from_ctrl_c() -> None:
    """Whatever this thread starts is not reached by Ctrl-C, from its first moment on: the server ends it itself."""
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # first: when it is started it lifts the mask of the thread that starts it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


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
        self._count = self._stillborn = 0
        self._ended = False
        self.prepared = asyncio.Event()

    def start(self) -> None:
        """Start the processes; they are ready some time later."""
        self.loop = asyncio.get_running_loop()
        for _ in range(self.size):
            self._begin()

    def _begin(self) -> None:
        """Start a process in a thread of its own: until all is compiled it takes a while, and the server goes on.

        The thread is one that nobody waits for when the server ends.
        """
        Thread(target=self._started, daemon=True).start()

    def _started(self) -> None:
        _keep_from_ctrl_c()
        worker: Worker | None = None
        with suppress(OSError, EOFError):  # no room for one more, or nobody is there to start it
            worker = Worker(self)
        with suppress(RuntimeError):  # the server has ended meanwhile
            self.loop.call_soon_threadsafe(self._join, worker)

    def _join(self, worker: Worker | None) -> None:
        """A process has been started, or could not be."""
        if worker is None:
            self._lost(None, AGAIN)
        elif self._ended:
            worker.end()
        else:
            self._workers.append(worker)
            if worker.dead:  # already
                self._replace(worker)
            self._hand_out()

    def end(self) -> None:
        """End all processes, and all questions."""
        self._ended = True
        jobs = [*self._waiting, *(worker.job for worker in self._workers if worker.job is not None)]
        self._waiting.clear()
        for worker in self._workers:
            worker.end()
        for job in jobs:
            job.answers.put_nowait((FAILED, {"field": None, "message": OVER}))

    @property
    def busy(self) -> bool:
        """Whether somebody else is being answered, or waits."""
        return bool(self._waiting) or any(worker.job is not None and not worker.ended for worker in self._workers)

    async def ask(self, name: str, urgency: int, /, **arguments: Any) -> AsyncGenerator[Any]:
        """What a process tells in answer to a question. Who stops listening ends the process.

        Raises:
            AnswerError: where there is no answer.
        """
        if self._stillborn >= STILLBORN:
            raise AnswerError(None, CANNOT_START)
        if self._ended:
            raise AnswerError(None, OVER)
        try:
            packed = pickle.dumps((name, arguments))
        except RecursionError:
            raise AnswerError(None, TOO_DEEP) from None
        self._count += 1
        job = Job(name, packed, urgency, self._count)
        self._waiting.append(job)
        try:
            self._hand_out()
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
        free = [worker for worker in self._workers if worker.ready and worker.job is None and not worker.ended]
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
        self._lost(worker, 0.0)

    def _lost(self, worker: Worker | None, wait: float) -> None:
        """There is one process less: start another, unless none ever becomes ready."""
        self._stillborn += worker is None or not worker.ready
        if self._stillborn < STILLBORN:
            self.loop.call_later(wait, self._begin)
            return
        self.prepared.set()
        for job in self._waiting:
            job.answers.put_nowait((FAILED, {"field": None, "message": CANNOT_START}))
        self._waiting.clear()
