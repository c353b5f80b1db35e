"""The attentions of a file by their places, one in memory at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple, final

from presage.checkpoints.cutting.cut_heads import CutHeads, Layer
from presage.checkpoints.readable_heads import read_layer


class Place(NamedTuple):
    """Where an attention is."""

    part: str
    kind: str
    layer: int
    number: int  # 1, or more where a file has several there

    @property
    def name(self) -> str:
        """As people say it."""
        words = [self.part, f"layer {self.layer}", "(cross)" if self.kind == "cross" else ""]
        return " ".join(filter(None, words))


@final
class LayerPlaces:
    """The attentions of a file, read in its order; one that has passed by is read again where it is asked for."""

    def __init__(self, cut: CutHeads) -> None:
        self.skipped = list(cut.skipped)  # what could not be read, so far
        self._readers = iter(cut.readers)
        self._passed: dict[Place, Callable[[], Layer]] = {}
        self._seen: Counter[tuple[str, str, int]] = Counter()

    def following(self) -> Iterator[tuple[Place, Layer]]:
        """Those that were not read yet."""
        for reader in self._readers:
            layer = read_layer(reader)
            self.skipped += layer.skipped
            if not layer.heads:
                continue
            first = layer.heads[0]
            there = (first.part, first.kind, first.layer)
            self._seen[there] += 1
            place = Place(*there, self._seen[there])
            self._passed[place] = reader
            yield place, layer

    def at(self, wanted: Place) -> Layer | None:
        """The attention of a place, which is asked for once; None where there is none."""
        if wanted in self._passed:
            return read_layer(self._passed.pop(wanted))
        for place, layer in self.following():
            if place == wanted:
                del self._passed[place]
                return layer
        return None

    def left(self) -> list[Place]:
        """Those that were not asked for."""
        for _ in self.following():
            pass
        return list(self._passed)
