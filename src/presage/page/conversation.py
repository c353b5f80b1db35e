"""One open page: what it asks, what it is told, and that a newer question ends the older one."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import aclosing, suppress
from time import monotonic
from typing import Any, final

from presage.cli.output import plain
from presage.cli.samples import ALPHA
from presage.page import messages
from presage.page.asked import Asked, FieldError, verbs_beside
from presage.page.bounds import within
from presage.page.described import BESIDE
from presage.page.grids import Side, coarse_to_fine, coarse_to_fine_cells, side
from presage.page.messages import Message, UnreadableError
from presage.page.pool import AnswerError, Pool
from presage.page.process import told_as
from presage.page.remembered import Remembered, key

# The smaller the sooner; drafts and refined points have processes that are kept free for them.
DRAFT, REFINED, CURVE, FINE_CURVE, MAP, TRAINING = range(6)
REST = 0.12  # seconds that a slider rests before its answer is refined
TOGETHER = 0.1  # seconds of work that are handed to a process at a time: after that another question may come first
MOST_TOGETHER = 64  # cells
HERE = "here"  # the curve of the problem itself, beside those of other verbs
ROUGH = "A map is of drafts: its numbers are good to about one per cent."
WAITING = "Other networks are being trained: these are next."
Send = Callable[[str], Awaitable[None]]


@final
class Conversation:
    """What is said to one page."""

    def __init__(
        self, send: Send, names: Collection[str], answering: Pool, training: Pool, remembered: Remembered
    ) -> None:
        self._send, self._names = send, names
        self._answering, self._training, self._remembered = answering, training, remembered
        self._running: dict[str, tuple[int, asyncio.Task[None]]] = {}

    async def hear(self, text: str) -> None:
        """Take a question up; the older one of its kind is ended."""
        try:
            asked = messages.read(text)
            if asked.ask == "stop":
                await self._stop(asked)
                return
            if asked.model not in self._names:  # a name may lead to a module, and is not followed for whoever asks
                raise UnreadableError(f"There is no model {asked.model!r} on this page.", asked.number)
        except UnreadableError as error:
            await self._tell(error.number, {"kind": "error", "field": None, "message": error.message})
            return
        self._end(asked.ask)
        self._running[asked.ask] = asked.number, asyncio.ensure_future(self._answer(asked))

    def end(self) -> None:
        """The page is closed: nothing of it is computed any more."""
        for what in [*self._running]:
            self._end(what)

    def _end(self, what: str) -> int | None:
        """End the running question of a kind; its number, where there is one."""
        number, task = self._running.pop(what, (None, None))
        if task is None or task.done():
            return None
        task.cancel()
        return number

    async def _stop(self, asked: Message) -> None:
        number = self._end(asked.text("what"))
        if number is not None:
            await self._tell(number, {"kind": "end", "stopped": True})

    async def _tell(self, number: int | None, content: Mapping[str, Any]) -> None:
        await self._send(json.dumps({"id": number, **plain(content)}, allow_nan=False))

    async def _answer(self, asked: Message) -> None:
        answer = {"point": self._point, "curve": self._curve, "map": self._map, "way": self._way, "train": self._train}
        try:
            await answer.get(asked.ask, self._take)(asked)
        except UnreadableError as error:
            await self._tell(asked.number, {"kind": "error", "field": None, "message": error.message})
        except Exception as error:  # whatever it is, the page goes on and says so
            await self._tell(asked.number, {"kind": "error", **told_as(error)})
        await self._tell(asked.number, {"kind": "end"})

    async def _point(self, asked: Message) -> None:
        """A draft at once, and when the slider has rested the refined answer."""
        refined = key(asked.model, asked.fields, "point", False)
        known = self._remembered.get(refined)
        if known is None:
            first = await self._one_point(asked, draft=True, urgency=DRAFT)
            if first["stage"] == "draft":
                await asyncio.sleep(REST)
                await self._one_point(asked, draft=False, urgency=REFINED)
        else:
            await self._tell(asked.number, known)

    async def _one_point(self, asked: Message, *, draft: bool, urgency: int) -> dict[str, Any]:
        known_by = key(asked.model, asked.fields, "point", draft)
        answer = self._remembered.get(known_by)
        if answer is None:
            answer = await self._answering.answer("point", urgency, model=asked.model, fields=asked.fields, draft=draft)
            self._remembered.put(known_by, answer)
        await self._tell(asked.number, answer)
        return dict(answer)

    async def _curve(self, asked: Message) -> None:
        """Numbers along a field, coarse to fine, as a draft and refined; thresholds, and other verbs beside."""
        problem = Asked(asked.model, asked.fields)
        points = within("points", asked.whole("points"), least=2)
        along = side(problem, asked.text("along"), asked.number_of("low"), asked.number_of("high"), points)
        beside = verbs_beside(problem, asked.words("beside"))
        await self._tell(
            asked.number, {"kind": "axis", "x": along.places, "label": along.label, "logarithmic": along.logarithmic}
        )
        order = coarse_to_fine(len(along.places))
        places = {index: {along.field: along.places[index]} for index in order}
        caveats: dict[str, list[str]] = {}
        for verb in (None, *beside):  # the curve of the problem itself is whole before one beside it, which may be slow
            rough = await self._spread(asked, places, verb, True, CURVE, caveats)
            if verb is None and problem.chosen.lacks("thresholds") is None and along.field == ALPHA:
                await self._marks(asked, along)
            if rough:
                await self._spread(asked, places, verb, False, FINE_CURVE, caveats)

    async def _marks(self, asked: Message, along: Side) -> None:
        """The thresholds that lie within a curve along the number of samples."""
        ends = {"low": along.places[0], "high": along.places[-1]}
        found = await self._answering.answer("marks", CURVE, model=asked.model, fields=asked.fields, **ends)
        await self._tell(asked.number, {"kind": "marks", "marks": found})

    async def _map(self, asked: Message) -> None:
        """Numbers over two fields, a coarse picture of the whole first."""
        problem = Asked(asked.model, asked.fields)
        count = within("side", asked.whole("side"), least=2)
        across = side(problem, asked.text("across"), *asked.pair("across_range"), count)
        up = side(problem, asked.text("up"), *asked.pair("up_range"), count)
        if across.field == up.field:
            raise FieldError(None, f"A map needs two fields. Got {across.field} twice. Choose another for one side.")
        axes = {"x": across.places, "x_label": across.label, "x_logarithmic": across.logarithmic}
        axes |= {"y": up.places, "y_label": up.label, "y_logarithmic": up.logarithmic}
        await self._tell(asked.number, {"kind": "axes", **axes})
        cells = coarse_to_fine_cells(len(across.places), len(up.places))
        places = {(i, j): {across.field: across.places[i], up.field: up.places[j]} for i, j in cells}
        await self._spread(asked, places, None, True, MAP, {})

    async def _way(self, asked: Message) -> None:
        """What a training shows after every step, predicted."""
        problem = Asked(asked.model, asked.fields)
        steps = within("steps", asked.whole("steps"))
        reason = problem.chosen.lacks("trajectory")
        if reason is not None:
            raise FieldError(None, f"{asked.model} cannot be followed step by step: {reason}. Choose another model.")
        trainer = asked.optional_text("trainer")
        known_by = key(asked.model, asked.fields, "way", steps, trainer)
        answer = self._remembered.get(known_by)
        if answer is None:
            answer = await self._answering.answer(
                "way", CURVE, model=asked.model, fields=asked.fields, steps=steps, trainer=trainer
            )
            self._remembered.put(known_by, answer)
        await self._tell(asked.number, answer)

    async def _spread(
        self,
        asked: Message,
        places: Mapping[Any, Mapping[str, float]],
        verb: str | None,
        draft: bool,
        urgency: int,
        caveats: dict[str, list[str]],
    ) -> bool:
        """Compute cells on all processes, a little at a time; tell them as they come, and at the end their caveats.

        Whether some are drafts: a model of one accuracy has none.
        """
        which = verb or HERE
        along = next(iter(places.values()))  # where a slider of these fields stands plays no part
        rest = {name: text for name, text in asked.fields.items() if name not in along}
        problem = key(asked.model, rest, "cell", verb, draft)
        names = {at: f"{problem} {sorted(place.items())}" for at, place in places.items()}
        found = {at: cell for at in places if (cell := self._remembered.get(names[at])) is not None}
        await self._tell_cells(asked, which, found)
        left = deque(at for at in places if at not in found)
        size = 1

        async def hand_out() -> None:
            nonlocal size
            while left:
                some = [left.popleft() for _ in range(min(size, len(left)))]
                began = monotonic()
                answers = await self._answering.answer(
                    "cells",
                    urgency,
                    model=asked.model,
                    fields=asked.fields,
                    at=[places[at] for at in some],
                    verb=verb,
                    draft=draft,
                )
                each = (monotonic() - began) / len(some)
                size = int(min(max(TOGETHER / max(each, 1e-6), 1), MOST_TOGETHER, 2 * size))
                cells = dict(zip(some, answers, strict=True))
                for at, cell in cells.items():
                    self._remembered.put(names[at], cell)
                found.update(cells)
                await self._tell_cells(asked, which, cells)

        await _together(hand_out() for _ in range(self._answering.size - self._answering.reserved))
        caveats[which] = list(dict.fromkeys(line for at in places for line in found[at].get("caveats", ())))
        rough = any(cell.get("rough") for cell in found.values())
        said = [f"{BESIDE[name]}: {line}" if name in BESIDE else line for name in caveats for line in caveats[name]]
        said = [*([ROUGH] if rough and asked.ask == "map" else []), *dict.fromkeys(said)]
        await self._tell(asked.number, {"kind": "caveats", "caveats": said})
        return rough

    async def _tell_cells(self, asked: Message, which: str, cells: Mapping[Any, Mapping[str, Any]]) -> None:
        if cells:
            stage = "draft" if any(cell.get("rough") for cell in cells.values()) else "refined"
            shown = ("values", "failed")
            told = [{**_place(at), **{n: cell[n] for n in shown if n in cell}} for at, cell in cells.items()]
            await self._tell(asked.number, {"kind": "cells", "which": which, "stage": stage, "cells": told})

    async def _train(self, asked: Message) -> None:
        """Train networks and tell of them as they come."""
        if self._training.busy:
            await self._tell(asked.number, {"kind": "waiting", "words": WAITING})
        arguments = {"d": asked.wholes("d"), "seeds": asked.whole("seeds"), "trainer": asked.optional_text("trainer")}
        told = self._training.ask("train", TRAINING, model=asked.model, fields=asked.fields, **arguments)
        async with aclosing(told):  # who stops listening, for whatever reason, ends the training
            async for answer in told:
                await self._tell(asked.number, answer)

    async def _take(self, asked: Message) -> None:
        """The Python and the command of what is on the screen."""
        texts = await self._answering.answer("take", REFINED, model=asked.model, fields=asked.fields, screen=asked.rest)
        await self._tell(asked.number, {"kind": "take", "texts": texts})


async def _together(tasks: Iterable[Awaitable[None]]) -> None:
    """All of these at a time; where one fails, or this is cancelled, none goes on."""
    running = [asyncio.ensure_future(task) for task in tasks]
    try:
        await asyncio.gather(*running)
    finally:
        for task in running:
            task.cancel()
        for task in running:
            with suppress(asyncio.CancelledError, AnswerError):
                await task


def _place(at: Any) -> dict[str, int]:
    return {"i": at[0], "j": at[1]} if isinstance(at, tuple) else {"i": at}
