"""`presage page`: the sliders in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from presage.cli.errors import CommandError
from presage.cli.models import choose
from presage.cli.output import console, say
from presage.protocol.model import found

SERVE = "presage.page.serve:serve"  # the page is a view of the commands too: nothing here imports it
HIGHEST = 65535
EXAMPLES = {
    "page": (
        "presage page",
        "presage page --no-browser --port 8000",
        "presage page --model my_models:Ridge",
    )
}


def page(
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; that of this machine alone by default.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; by default any that is free.", show_default=False)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, open nothing.")] = False,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="Begin with a problem of your own, module:name.", metavar="NAME"),
    ] = None,
) -> None:
    """Open a page in the browser: move a slider, see what will be learned, train a network beside it."""
    if not 0 <= port <= HIGHEST:
        raise CommandError(f"`--port` must be from 0 to {HIGHEST}: it is a port. Got --port {port}. Leave it out.")
    own = model or []
    for name in own:
        choose(name)
    out = console()
    found(SERVE)(lambda line: say(out, line), host=host, port=port, browser=not no_browser, own=own)
