"""Who may ask: the page itself, and no page of somebody else that is open in the same browser."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
FOREIGN = "This is asked from another page than that of presage. Open the address that `presage page` prints."


def is_own_host(host: str | None, named: str) -> bool:
    """Whether a request names this server: by an address, by the name that it was told, or as this very machine.

    A name of somebody else that leads here, as one can make it do, is refused: a page of theirs would be at home here.
    """
    name = _name(f"//{host}") if host else None
    return name is not None and (name in {*LOOPBACK, named.lower()} or _is_address(name))


def is_own_origin(origin: str | None, host: str | None) -> bool:
    """Whether a request comes from a page of this server; what is no browser says nothing of an origin."""
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == (host or "").lower()
    except ValueError:  # no address at all
        return False


def is_loopback(host: str) -> bool:
    """Whether a server at this address is reached from this machine only."""
    return host.lower() in LOOPBACK or (_is_address(host) and ip_address(host).is_loopback)


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """A header of a request, by its name in small letters."""
    return next((value.decode("latin-1") for key, value in headers if key == name), None)


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
