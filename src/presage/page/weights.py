"""A file of weights that was dropped on the page: every head beside random ones, as the map and its heads want it."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from presage.page.answers import Tell
from presage.page.asked import FieldError
from presage.page.bounds import BOUNDS, beyond
from presage.protocol import checks
from presage.protocol.errors import InputError

LENGTH = 8  # bytes before a config.json, which is before the file itself: how long it is; 0 where there is none
CONFIG = "config.json"
LONGEST_CONFIG = 1 << 20
PIECE = 4 << 20  # bytes that are written at a time
PATIENCE = 60.0  # seconds without a byte of a file
NUMBERS = (
    "stable_rank",
    "effective_rank",
    "rank",
    "balance",
    "symmetry",
    "p_random",
    "p_spectrum",
    "at_least",
    "p_bulk",
)
SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,16}")
LONGEST_NAME = 60  # letters of a file's name that sentences repeat
WHOLE = {"heads": "number of heads", "kv_heads": "number of heads of keys", "head_dim": "width of a head"}


def said_beside(query: Mapping[str, str]) -> dict[str, Any]:
    """What was said beside the file, as `read_weights` takes it; what is left empty is left out."""
    given: dict[str, Any] = {}
    for name, words in WHOLE.items():
        text = query.get(name, "").strip()
        if text and not (text.isascii() and text.isdigit() and len(text) < 10):
            wrong = checks.complaint(name, "be a whole number", f"it is the {words}", text[:40], "Use for example 12.")
            raise FieldError(name, str(wrong))
        given |= {name: int(text)} if text else {}
    if family := query.get("family", "").strip():
        given["family"] = family[:LONGEST_NAME]
    return {**given, "fold_norm": query.get("fold_norm") == "true"}


async def received(stream: AsyncIterator[bytes], folder: Path, name: str) -> Path:
    """Keep what the browser sends in a folder as it comes: the configuration, then the weights; where they are.

    It is written by a thread, piece by piece: who answers everybody else does not wait for a disk.
    """
    suffix = Path(name).suffix
    place = folder / f"weights{suffix if SUFFIX.fullmatch(suffix) else ''}"
    head, config, piece, length, size = bytearray(), bytearray(), bytearray(), -1, 0
    with place.open("wb") as out:
        async for part in _in_time(stream):
            rest = memoryview(part)
            if length < 0:
                taken = rest[: LENGTH - len(head)]
                head += taken
                rest = rest[len(taken) :]
                if len(head) == LENGTH:
                    length = int.from_bytes(head, "little")
            if length > LONGEST_CONFIG:
                raise FieldError(None, f"The {CONFIG} is longer than any. Drop the one of the model.")
            if length > len(config):
                taken = rest[: length - len(config)]
                config += taken
                rest = rest[len(taken) :]
            size += len(rest)
            if size > BOUNDS["weights"].most:
                raise beyond("weights", f"more than {BOUNDS['weights'].most:,} bytes")
            piece += rest
            if len(piece) >= PIECE:
                await asyncio.to_thread(kept, out, piece)
                piece = bytearray()
        await asyncio.to_thread(kept, out, piece)
    if not size:
        raise FieldError(None, "The file is empty. Drop a file of weights.")
    if config:
        await asyncio.to_thread((folder / CONFIG).write_bytes, config)
    return place


def kept(out: BinaryIO, piece: bytes | bytearray) -> None:
    """Write a piece of a file."""
    out.write(piece)


async def _in_time(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """What comes, as long as something comes: who is silent keeps others from being read."""
    parts = aiter(stream)
    while True:
        try:
            yield await asyncio.wait_for(anext(parts), PATIENCE)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise FieldError(None, f"Nothing more of the file came for {PATIENCE:g} seconds. Read it again.") from None


@contextmanager
def on_disk() -> Iterator[None]:
    """Inside this block a file lies on the disk of the server; where there is no room for it, that is a sentence."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise FieldError(
            None,
            f"The file must lie on the disk of the server while it is read, and that failed: {why}. "
            "Make room in its temporary folder (TMPDIR names another), or read the file with `presage weights`.",
        ) from error


def own_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is gone when its block ends."""
    return tempfile.TemporaryDirectory(prefix="presage-weights-")


def weights(tell: Tell, place: str, name: str, given: dict[str, Any]) -> None:
    """The heads of a file: what the map, its heads and its words are made of."""
    import presage as ps

    called = Path(name).name[-LONGEST_NAME:] or "weights"

    def named(text: str) -> str:
        """A sentence with the names that one knows: the folder is nobody's business."""
        return text.replace(place, called).replace(f"{Path(place).parent}/", "")

    try:
        report = ps.read_weights(place, progress=False, **given)
    except InputError as error:
        raise FieldError(_asked_for(error), named(str(error))) from None
    shapes = sorted({(one.h, one.d_q, one.d_k) for one in report.every_head})
    tell(
        {
            "summary": [named(line) for line in report.summary.splitlines()],
            "counts": report.counts,
            "heads": [_head(one) for one in report.every_head],
            "bands": {_key(*shape): _band(*shape) for shape in shapes},
            "skipped": [named(f"{one.name}: {one.reason}") for one in report.left_out],
            "caveats": list(report.caveats),
        }
    )


def _asked_for(error: InputError) -> str:
    """The field of the page that the remedy asks for, or what the complaint is about."""
    remedy = error.marked["remedy"]
    return next((name for name in (*WHOLE, "family") if f"<{name}=" in remedy), error.name)


def _head(one: Any) -> dict[str, Any]:
    from presage.cli.output import plain

    row = one.row()
    return {
        **{name: plain(row[name]) for name in ("layer", "head", "part", "kind", "verdict", "sentence", *NUMBERS)},
        "name": one.name,
        "ratio": plain(one.stable_rank / one.ranks_of_noise[0].mean),
        "stable_rank_null": plain(row["stable_rank_null"]),
        "values": plain(one.singular_values),
        "threshold": plain(one.flip_threshold),
        "floor": plain(one.measured.floor),
        "spikes": one.spikes or 0,
        "shape": _key(one.h, one.d_q, one.d_k),
        "caveats": list(one.caveats),
    }


def _key(h: int, d_q: int, d_k: int) -> str:
    return f"{h} {d_q} {d_k}"


def _band(h: int, d_q: int, d_k: int) -> dict[str, Any]:
    """Where 99 of 100 random heads have their values, over the root mean square."""
    from presage.checkpoints.noise_band import noise_band

    return {name: side.tolist() for name, side in noise_band("random", h, d_q, d_k)._asdict().items()}
