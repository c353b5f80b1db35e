"""The heads of a file, layer by layer: what is known before anything is read, and what is read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, final

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.wall import wall
from presage.checkpoints.head import Head


class Layer(NamedTuple):
    """The heads of one attention, and what of it could not be read."""

    heads: list[Head]
    skipped: tuple[Skipped, ...] = ()


def walled(file: str, name: str, reader: Callable[[], Layer]) -> Callable[[], Layer]:
    """A reader of one attention, called `name`, from which nothing comes but heads or the row that says why not."""

    def read() -> Layer:
        try:
            with wall(file, name):
                return reader()
        except CheckpointError as error:
            return Layer([], (Skipped(name, error.reason),))

    return read


@final
@dataclass(frozen=True, eq=False)
class CutHeads:
    """Heads of a file. `layers` reads one attention at a time, and may be asked for again."""

    count: int  # of the heads that will be read, unless a tensor turns out to be bad
    skipped: tuple[Skipped, ...]  # attention that is recognised by its names, and not cut
    readers: tuple[Callable[[], Layer], ...] = field(repr=False)

    @property
    def layers(self) -> Iterator[Layer]:
        """One attention after the other, each read when it comes."""
        return (reader() for reader in self.readers)
