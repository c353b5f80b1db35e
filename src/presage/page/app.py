"""The server of the page: what it serves, whom it answers, and the processes that compute for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.requests import ClientDisconnect

from presage.page.asked import FieldError
from presage.page.bounds import BOUNDS, beyond
from presage.page.conversation import Conversation
from presage.page.described import described
from presage.page.messages import parsed
from presage.page.origin import FOREIGN, header, is_own_host, is_own_origin
from presage.page.pictures import FORMATS
from presage.page.pool import AnswerError, Pool
from presage.page.remembered import Remembered
from presage.page.weights import on_disk, own_folder, received, said_beside
from presage.protocol.errors import InputError
from presage.protocol.machine import available_cores

STATIC = Path(__file__).with_name("static")
MOST_PROCESSES = 4  # that fill curves and maps
KEPT_FREE = 2  # processes beside these: one for drafts, and one for what is refined or asked for by a button
COMPRESSED = 2_000  # bytes from which an answer is sent compressed: the menu of all models is a tenth of its size then
LOOK = 0.2  # seconds after which it is looked whether somebody still waits for a file
AT_ONCE = 1  # urgency of what a button asks for
NOBODY = "Nobody waits for this any more."
PREPARING = "Getting ready. The first start after an installation compiles the theory: up to a minute."
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
READ = (b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode")  # of a request: who asks
Scope = MutableMapping[str, Any]
Asgi = Callable[[Scope, Any, Any], Awaitable[None]]


class OwnOrigin:
    """Refuses what another page asks, and tells the browser to load nothing from elsewhere."""

    def __init__(self, app: Asgi, host: str) -> None:
        self._app, self._host = app, host

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {name: header(scope["headers"], name) for name in READ}
        host, origin = headers[b"host"], headers[b"origin"]
        opens = scope["path"] == "/" and headers[b"sec-fetch-mode"] == "navigate"  # as a link elsewhere may
        asked_here = opens or headers[b"sec-fetch-site"] in {None, "same-origin", "none"}
        if not (asked_here and is_own_host(host, self._host) and is_own_origin(origin, host)):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": "another origin"})
            else:
                await PlainTextResponse(FOREIGN, 403, HEADERS)(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, with_headers)


def make_app(*, host: str = "127.0.0.1", own: Sequence[str] = ()) -> FastAPI:
    """The application: pages, questions, files; `own` are problems of one's own, module:name."""
    menu = described(own)
    content = json.dumps(menu)
    names = frozenset(model["name"] for model in menu["models"])
    answering = Pool(min(available_cores(), MOST_PROCESSES) + KEPT_FREE, reserved=KEPT_FREE)
    training = Pool(1, patient=True)
    remembered = Remembered()
    tabs: set[Conversation] = set()
    reading = asyncio.Semaphore(BOUNDS["files"].most)

    def end() -> None:
        answering.end()
        training.end()

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        answering.start()
        training.start()
        try:
            yield
        finally:
            end()

    app = FastAPI(lifespan=running, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED)
    app.add_middleware(OwnOrigin, host=host)  # the outermost: who is refused gets nothing else
    app.state.answering, app.state.training, app.state.remembered, app.state.end = answering, training, remembered, end

    async def told(what: str, /, **arguments: Any) -> Any:
        return await answering.answer(what, AT_ONCE, **arguments)

    async def told_while(request: Request, what: str, /, **arguments: Any) -> Any:
        """The same, as long as somebody waits for it."""
        answer = asyncio.ensure_future(told(what, **arguments))
        try:
            while not (await asyncio.wait({answer}, timeout=LOOK))[0]:
                if await request.is_disconnected():
                    raise AnswerError(None, NOBODY)
            return answer.result()
        finally:
            answer.cancel()

    async def told_once(what: str, /, **arguments: Any) -> Any:
        """The same, computed once for all who ask: it does not change while the server runs."""
        known_by = json.dumps([what, arguments])
        if known_by not in kept:
            kept[known_by] = asyncio.ensure_future(told(what, **arguments))
        try:
            return await asyncio.shield(kept[known_by])
        except AnswerError:  # the next may have one
            kept.pop(known_by, None)
            raise

    kept: dict[str, asyncio.Future[Any]] = {}

    @app.exception_handler(FieldError)  # an AnswerError is one
    async def refused(_: Request, error: Exception) -> Response:
        return JSONResponse({"message": str(error), "field": getattr(error, "field", None)}, 422)

    @app.exception_handler(InputError)
    async def wrong(_: Request, error: Exception) -> Response:
        return JSONResponse({"message": str(error)}, 413)

    @app.get("/")
    async def index() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.get("/models")
    async def models() -> Response:
        return Response(content, media_type="application/json")

    @app.post("/values")
    async def values(request: Request, name: str = "", of: str = "") -> Response:
        content = await _body(request)
        return JSONResponse(await told_while(request, "values", name=name, of=of, content=content))

    @app.post("/weights")
    async def weights(request: Request, name: str = "") -> Response:
        given = said_beside(request.query_params)
        async with reading:  # who waits for a turn has sent little, and keeps the rest
            with on_disk():
                made = own_folder()
            with made as folder:
                try:
                    with on_disk():
                        place = await received(request.stream(), Path(folder), name)
                except ClientDisconnect:
                    raise AnswerError(None, NOBODY) from None
                return JSONResponse(await told_while(request, "weights", place=str(place), name=name, given=given))

    @app.post("/npy")
    async def npy(request: Request) -> Response:
        said = _read(await _body(request))
        text = said.get("text") if isinstance(said, dict) else None
        made = await told("npy", text=text if isinstance(text, str) else "")
        return _download(made, "application/octet-stream", "target.npy")

    @app.post("/picture")
    async def picture(request: Request, format: str = "png") -> Response:
        if format not in FORMATS:
            raise AnswerError(None, f"A picture is a {' or '.join(FORMATS)} file. Got {format[:20]!r}.")
        made = await told_while(request, "picture", kind=format, content=_read(await _body(request)))
        return _download(made, FORMATS[format], f"presage.{format}")

    @app.get("/figures")
    async def figures() -> Response:
        return JSONResponse(await told_once("papers"))

    @app.get("/figures/{name}.png")
    async def figure(name: str) -> Response:
        return Response(await told_once("figure", name=name), media_type="image/png")

    @app.get("/figures/{name}")
    async def words(name: str) -> Response:
        return JSONResponse(await told_once("words", name=name))

    @app.websocket("/ws")
    async def questions(socket: WebSocket) -> None:
        await socket.accept()
        if len(tabs) >= BOUNDS["tabs"].most:
            await socket.send_json(
                {"id": None, "kind": "error", "field": None, "message": str(beyond("tabs", len(tabs) + 1))}
            )
            await socket.close(1013)
            return

        async def send(text: str) -> None:
            with suppress(WebSocketDisconnect, RuntimeError):  # it was closed meanwhile, which ends the conversation
                await socket.send_text(text)

        talk = Conversation(send, names, answering, training, remembered)
        tabs.add(talk)
        ready = asyncio.ensure_future(_say_when_ready(socket, answering))
        try:
            while (message := await socket.receive())["type"] == "websocket.receive":
                await talk.hear(message.get("text") or "")  # bytes are no question, and are told so
        finally:
            tabs.discard(talk)
            talk.end()
            ready.cancel()

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


async def _say_when_ready(socket: WebSocket, pool: Pool) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # it was closed meanwhile
        if not pool.prepared.is_set():
            await socket.send_json({"id": None, "kind": "preparing", "words": PREPARING})
            await pool.prepared.wait()
        await socket.send_json({"id": None, "kind": "ready"})


async def _body(request: Request) -> bytes:
    """What a request brings, no more than the page takes."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > BOUNDS["upload"].most:
            raise beyond("upload", f"more than {BOUNDS['upload'].most:,} bytes")
    return bytes(found)


def _read(body: bytes) -> Any:
    said = parsed(body)
    if said is None:
        raise AnswerError(None, "This request must bring JSON, and what it brings is none.")
    return said


def _download(content: bytes, kind: str, name: str) -> Response:
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
