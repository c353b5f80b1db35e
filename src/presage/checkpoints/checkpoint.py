"""An opened file of weights, whatever its kind: named tensors, and what the file says of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

from presage.checkpoints.tensor import Tensor


class Skipped(NamedTuple):
    """Something of a file that was not looked at, and why."""

    name: str
    reason: str


@final
@dataclass(frozen=True)
class Checkpoint:
    """Named tensors and the configuration beside them."""

    name: str  # the file or folder, as it was given
    tensors: Mapping[str, Tensor] = field(repr=False)
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)  # keys of Hugging Face's config.json
    skipped: tuple[Skipped, ...] = ()
    graph: Any = field(default=None, repr=False)  # of ONNX: the graph, which alone tells queries from keys
