"""Weights that are in memory already: a dict of arrays, nested or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.files.array_tensor import array_tensor
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.nested import nested
from presage.checkpoints.tensor import Tensor

NAME = "a dict of arrays"


def read_dict(arrays: Mapping[str, Any]) -> Contents:
    """The arrays of a dict as tensors: whatever NumPy takes as an array of numbers, and tensors of PyTorch."""
    tensors: dict[str, Tensor] = {}
    skipped = []
    for name, value in nested(arrays, (Mapping,)):
        try:
            if name in tensors:
                raise ValueError("another array has the same name")
            tensors[name] = array_tensor(NAME, name, value)
        except (ValueError, TypeError) as error:
            skipped.append(Skipped(name, str(error)))
    return Contents(tensors, tuple(skipped))
