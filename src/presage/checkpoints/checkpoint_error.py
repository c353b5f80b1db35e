"""A file of weights that cannot be read, in a sentence: which file, why, and what to do."""

from __future__ import annotations

from typing import Self

from presage.protocol.errors import InputError


class CheckpointError(InputError):
    """`file` must ..., for this reason; this one was given; the remedy."""

    def __init__(self, file: str, must: str, reason: str, remedy: str) -> None:
        self.file = str(file)
        super().__init__("file", must, reason, self.file, remedy)

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str, str]]:  # type: ignore[override]
        """Pickle whole, so that a worker process can hand the error back."""
        must, reason, remedy = self.marked.values()
        return type(self), (self.file, must, reason, remedy)
