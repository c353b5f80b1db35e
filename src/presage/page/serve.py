"""`presage page`: the server at a free port, the browser at its page, and an end by Ctrl-C."""

from __future__ import annotations

import os
import socket
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from types import FrameType

import psutil

from presage.cli.errors import CommandError, FailedError
from presage.page.origin import is_loopback
from presage.protocol.extras import how_to_install

EVERYWHERE = ("0.0.0.0", "::")  # addresses that stand for all of this machine
GRACE = 1  # seconds that open pages have to close when the server ends


def serve(
    say: Callable[[str], None], *, host: str = "127.0.0.1", port: int = 0, browser: bool = True, own: Sequence[str] = ()
) -> None:
    """Serve the page until Ctrl-C; `port` 0 is any free one, `own` are problems of one's own, module:name."""
    try:
        import fastapi  # noqa: F401 - whether it is there is all that is asked
        import uvicorn
        import websockets  # noqa: F401 - likewise
    except ImportError as error:
        raise FailedError(f"The page needs the package {error.name}. {how_to_install('page')}") from None
    from presage.page.app import make_app
    from presage.page.bounds import BOUNDS

    class Ending(uvicorn.Server):
        """Ends what is computed when it is told to end, so that nobody waits for it."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.answering.loop.call_soon_threadsafe(app.state.end)
            super().handle_exit(sig, frame)

    others = _children()
    bound = _bound(host, port)
    everywhere = host in EVERYWHERE
    named = socket.gethostname() if everywhere else host  # by which name this server is reached
    shown = "127.0.0.1" if everywhere else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{bound.getsockname()[1]}/"
    app = make_app(host=named, own=own)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=4 * BOUNDS["message"].most,
        timeout_graceful_shutdown=GRACE,
    )
    say(f"presage is at {address} (Ctrl-C ends it)")
    if not is_loopback(host):
        say(f"From elsewhere it is at http://{named}:{bound.getsockname()[1]}/")
        say("Everybody who reaches this machine can ask it and let it train. Leave --host out for this machine only.")
    if browser:
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        Ending(config).run(sockets=[bound])
    except KeyboardInterrupt:  # how it is meant to end
        pass
    finally:
        bound.close()
        for child in _children() - others:  # the process that others are forked from may be busy compiling
            with suppress(psutil.NoSuchProcess):
                child.kill()


def _children() -> set[psutil.Process]:
    """The processes that this one has started."""
    return {*psutil.Process().children(recursive=True)}


def _bound(host: str, port: int) -> socket.socket:
    """A socket at the address that was asked for, or the sentence that says why there is none."""
    bound = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        if os.name == "posix":  # elsewhere it would let two programs share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen()  # who opens the address that is printed waits for the server, and is not refused
    except OSError as error:
        if bound is not None:
            bound.close()
        raise CommandError(
            f"The page cannot be at --host {host} --port {port}: {error.strerror or error}. "
            "Leave --port out for any free one."
        ) from None
    return bound
