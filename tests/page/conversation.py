"""A page without a browser: a real server, asked by its socket as the page does, until the answer ends."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Thread
from typing import Any, NamedTuple

import uvicorn
from websockets.sync.client import connect
from websockets.typing import Origin

from presage.page.app import make_app

FIELDS = {"target": "mp:0.5", "alpha": "0.5", "weight_decay": "0.01", "noise": "0.5"}


class Answer(NamedTuple):
    """What a server answers to a request."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def text(self) -> str:
        return self.content.decode()


class Served:
    """A server at a port of its own, in a thread of this process, with its real processes."""

    def __init__(self) -> None:
        self._bound = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._bound.getsockname()[1]}"
        self.app = make_app()
        config = uvicorn.Config(self.app, log_level="warning", ws="websockets-sansio", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [self._bound]})
        self._thread.start()

    def end(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._bound.close()

    def request(self, method: str, path: str, content: bytes | str = b"", headers: Any = None) -> Answer:
        """One request, its path exactly as it is given."""
        line = http.client.HTTPConnection(self.host, timeout=120)
        try:
            line.request(method, path, content.encode() if isinstance(content, str) else content, headers or {})
            found = line.getresponse()
            return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        finally:
            line.close()

    def get(self, path: str, headers: Any = None) -> Answer:
        return self.request("GET", path, headers=headers)

    def post(self, path: str, content: bytes | str, headers: Any = None) -> Answer:
        return self.request("POST", path, content, headers)

    @contextmanager
    def tab(self, origin: str | None = None) -> Iterator[Tab]:
        """An open page."""
        here = Origin(origin or f"http://{self.host}")
        with connect(f"ws://{self.host}/ws", origin=here, max_size=None) as line:
            yield Tab(line)


class Tab:
    """One open page."""

    def __init__(self, line: Any) -> None:
        self._line, self._numbers = line, count(1)

    def send(self, text: str | bytes) -> None:
        """Send anything."""
        self._line.send(text)

    def say(self, ask: str, model: str = "attention", fields: Any = FIELDS, **rest: Any) -> int:
        """Send a question; its number."""
        number = next(self._numbers)
        self.send(json.dumps({"id": number, "ask": ask, "model": model, "fields": fields, **rest}))
        return number

    def hear(self) -> dict[str, Any]:
        """The next message."""
        return dict(json.loads(self._line.recv(timeout=120)))

    def until_end(self, number: int) -> list[dict[str, Any]]:
        """All that is said in answer to a question."""
        said: list[dict[str, Any]] = []
        while not said or said[-1]["kind"] != "end":
            message = self.hear()
            if message["id"] == number:
                said.append(message)
        return said

    def ask(self, ask: str, model: str = "attention", fields: Any = FIELDS, **rest: Any) -> list[dict[str, Any]]:
        """Ask and listen to the end."""
        return self.until_end(self.say(ask, model, fields, **rest))


def of_kind(said: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The messages of one kind."""
    return [message for message in said if message["kind"] == kind]


def cells(said: list[dict[str, Any]], stage: str, which: str = "here") -> dict[Any, dict[str, Any]]:
    """The cells of a curve or a map by their places."""
    found = [m for m in of_kind(said, "cells") if m["stage"] == stage and m["which"] == which]
    return {(c["i"], c["j"]) if "j" in c else c["i"]: c for message in found for c in message["cells"]}
