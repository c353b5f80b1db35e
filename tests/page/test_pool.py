"""Questions and processes: who comes first, who waits, and what happens to those that end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from presage.page import pool as pools
from presage.page.pool import AnswerError, Pool
from presage.page.process import ENDED, FAILED, READY, TOLD


def made(pool: Any) -> list[Any]:
    """The processes that a pool has started, of which a pool of another test knows nothing."""
    found: list[Any] = vars(pool).setdefault("made", [])
    return found


class Obedient:
    """A process that does what a test says."""

    def __init__(self, pool: Any) -> None:
        self.pool, self.job, self.ready, self.dead, self.ended = pool, None, False, False, False
        made(pool).append(self)
        with suppress(RuntimeError):  # the test is over
            pool.loop.call_soon_threadsafe(pool.heard, self, (READY, None))

    def ask(self, job: Any) -> None:
        self.job = job

    def tell(self, kind: str, content: Any = None) -> None:
        self.pool.heard(self, (kind, content))

    def end(self) -> None:
        self.ended = True
        self.pool.loop.call_soon(self.pool.heard, self, None)


class Stillborn(Obedient):
    """A process that ends before it is ready."""

    def __init__(self, pool: Any) -> None:
        self.pool, self.job, self.ready, self.dead = pool, None, False, False
        with suppress(RuntimeError):
            pool.loop.call_soon_threadsafe(pool.heard, self, None)


@pytest.fixture(autouse=True)
def obedient(monkeypatch):
    monkeypatch.setattr(pools, "Worker", Obedient)


async def started(size: int, **options: Any) -> Pool:
    pool = Pool(size, **options)
    pool.start()
    await pool.prepared.wait()
    await asyncio.sleep(0.01)
    return pool


async def asking(pool: Pool, name: str, urgency: int) -> asyncio.Task[Any]:
    task = asyncio.ensure_future(pool.answer(name, urgency))
    await asyncio.sleep(0)
    return task


def busy(pool: Pool) -> list[str]:
    return [worker.job.name for worker in made(pool) if worker.job is not None and not worker.ended]


def test_the_most_urgent_question_comes_first_and_equals_in_their_order():
    async def run() -> list[str]:
        pool, seen = await started(1), []
        tasks = [await asking(pool, name, urgency) for name, urgency in (("a", 2), ("b", 3), ("c", 0), ("d", 3))]
        (worker,) = made(pool)
        for _ in tasks:
            seen.append(worker.job.name)
            worker.tell(TOLD, worker.job.name)
            worker.tell(ENDED)
        assert await asyncio.gather(*tasks) == ["a", "b", "c", "d"]
        return seen

    assert asyncio.run(run()) == ["a", "c", "b", "d"]


def test_processes_are_kept_free_for_what_is_urgent():
    async def run() -> None:
        pool = await started(4, reserved=2)
        for index in range(4):
            await asking(pool, f"curve {index}", 2)
        assert busy(pool) == ["curve 1", "curve 0"] or sorted(busy(pool)) == ["curve 0", "curve 1"]
        await asking(pool, "refined", 1)
        await asking(pool, "another refined", 1)
        assert "refined" in busy(pool)
        assert "another refined" not in busy(pool)
        await asking(pool, "draft", 0)
        assert "draft" in busy(pool)
        assert len(busy(pool)) == 4

    asyncio.run(run())


def test_who_stops_listening_ends_the_process_and_another_takes_its_place():
    async def run() -> None:
        pool = await started(1)
        task = await asking(pool, "slow", 0)
        (worker,) = made(pool)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert worker.ended
        other = await asking(pool, "next", 0)
        while len(made(pool)) < 2 or made(pool)[1].job is None:
            await asyncio.sleep(0.005)
        made(pool)[1].tell(TOLD, 7)
        made(pool)[1].tell(ENDED)
        assert await other == 7

    asyncio.run(run())


def test_a_process_that_was_told_to_end_is_asked_nothing_though_it_had_just_finished(monkeypatch):
    # It takes a while until it is gone.
    monkeypatch.setattr(Obedient, "end", lambda worker: setattr(worker, "ended", True))

    async def run() -> None:
        pool = await started(1)
        task = await asking(pool, "finished", 0)
        (worker,) = made(pool)
        task.cancel()
        await asyncio.sleep(0)
        assert worker.ended
        worker.tell(ENDED)  # was under way
        await asking(pool, "next", 0)
        assert worker.job is None

    asyncio.run(run())


def test_what_cannot_be_handed_on_is_refused_and_no_process_is_lost():
    async def run() -> None:
        pool = await started(1)
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(AnswerError, match="cannot be handed on"):
            await pool.answer("picture", 0, content=deep)
        assert not pool.busy
        await asking(pool, "next", 0)
        assert busy(pool) == ["next"]

    asyncio.run(run())


def test_at_the_end_nobody_waits():
    async def run() -> None:
        pool = await started(1)
        tasks = [await asking(pool, name, 0) for name in ("asked", "waits")]
        pool.end()
        for task in tasks:
            with pytest.raises(AnswerError, match="The server has ended"):
                await task
        with pytest.raises(AnswerError, match="The server has ended"):
            await pool.answer("late", 0)

    asyncio.run(run())


def test_a_process_that_cannot_be_started_is_tried_again(monkeypatch):
    monkeypatch.setattr(pools, "AGAIN", 0.01)
    tries: list[int] = []

    def first_fails(pool: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise OSError(24, "Too many open files")
        return Obedient(pool)

    monkeypatch.setattr(pools, "Worker", first_fails)

    async def run() -> None:
        pool = Pool(1)
        pool.start()
        task = asyncio.ensure_future(pool.answer("anything", 0))
        while not made(pool) or made(pool)[0].job is None:
            await asyncio.sleep(0.005)
        made(pool)[0].tell(TOLD, 3)
        made(pool)[0].tell(ENDED)
        assert await task == 3

    asyncio.run(run())


def test_a_question_that_waits_and_is_dropped_is_never_asked():
    async def run() -> None:
        pool = await started(1)
        await asking(pool, "first", 0)
        second = await asking(pool, "second", 0)
        second.cancel()
        await asyncio.sleep(0)
        (worker,) = made(pool)
        worker.tell(ENDED)
        assert worker.job is None
        assert not worker.ended

    asyncio.run(run())


def test_a_mistake_is_told_and_the_process_stays():
    async def run() -> None:
        pool = await started(1)
        task = await asking(pool, "wrong", 0)
        (worker,) = made(pool)
        worker.tell(FAILED, {"field": "alpha", "message": "no"})
        with pytest.raises(AnswerError) as caught:
            await task
        assert (caught.value.field, caught.value.message) == ("alpha", "no")
        assert not worker.ended

    asyncio.run(run())


def test_a_process_that_dies_is_replaced_and_its_question_told_so():
    async def run() -> None:
        pool = await started(1)
        task = await asking(pool, "large", 0)
        made(pool)[0].pool.heard(made(pool)[0], None)
        with pytest.raises(AnswerError, match="was killed"):
            await task
        while len(made(pool)) < 2:
            await asyncio.sleep(0.005)

    asyncio.run(run())


def test_processes_that_cannot_be_started_are_not_started_for_ever(monkeypatch):
    monkeypatch.setattr(pools, "Worker", Stillborn)

    async def run() -> None:
        pool = Pool(2)
        pool.start()
        with pytest.raises(AnswerError, match="cannot be started"):
            await pool.answer("anything", 0)
        await asyncio.wait_for(pool.prepared.wait(), 5.0)
        with pytest.raises(AnswerError, match="cannot be started"):
            await pool.answer("anything", 0)

    asyncio.run(run())
