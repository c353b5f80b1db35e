"""What a file of weights holds, before it is set beside its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.tensor import Tensor


class Contents(NamedTuple):
    """Named tensors, what was skipped, and what the file itself says of the model."""

    tensors: Mapping[str, Tensor]
    skipped: tuple[Skipped, ...] = ()
    config: Mapping[str, Any] = {}
    graph: Any = None
