"""One attention head: its two factors, where they were, and what is not in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray


@final
@dataclass(frozen=True, eq=False)
class Head:
    """The factors of ``M = W_Q W_K'``, columns being the coordinates of the head."""

    layer: int
    head: int
    kind: str  # "self" or "cross"
    W_Q: NDArray[Any] = field(repr=False)  # d_q x h, in single precision where the file has no more
    W_K: NDArray[Any] = field(repr=False)  # d_k x h
    error_Q: float = 0.0  # root mean square rounding of an entry as it was stored
    error_K: float = 0.0
    part: str = ""  # "encoder", "decoder", or the name of a tower, where a model has several
    dtype: str = "F64"  # as stored
    b_Q: NDArray[np.float64] | None = field(default=None, repr=False)  # of the queries, h numbers
    rotary: str = ""  # "half" or "interleaved": which coordinates are turned together by rotary positions
    shared: tuple[str, ...] = ()  # other places at which the same weights serve
    notes: tuple[str, ...] = ()  # what of the attention is not in M
