"""The whole matrices of a file, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from presage.checkpoints.checkpoint import Checkpoint, Skipped
from presage.checkpoints.cutting.kept_tensors import kept_tensors
from presage.checkpoints.cutting.uncut import scaled_by
from presage.checkpoints.cutting.unusable_tensor import UnusableTensorError, finite, read_numbers
from presage.checkpoints.tensor import Numbers, Tensor

SMALLEST = 24  # a side: fewer values are too few for any law
LARGEST_VOCABULARY = 20_000  # rows of an embedding
_EMBEDDING = re.compile(
    r".*(?:emb|wte|wpe|lm_head|shared|vocab|token|decoder\.weight\Z|output\.weight\Z)", re.IGNORECASE
)
_WHOLE = ("I4", "U4", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "BOOL")


class Matrix(NamedTuple):
    """A matrix of a file and its numbers."""

    name: str
    numbers: Numbers


def matrices_of(checkpoint: Checkpoint, only: str | None = None) -> Iterator[Matrix | Skipped]:
    """Every matrix of a file with both sides of at least 24, in the order of the file, each read when it comes.

    One that is not looked at comes as `Skipped`, with the reason. `only` keeps those that have it between two dots of
    their names.
    """
    for name, tensor in kept_tensors(checkpoint, only).items():
        if not is_matrix(tensor):
            continue
        reason = why_not(checkpoint, tensor)
        if reason is not None:
            yield Skipped(name, reason)
            continue
        try:
            numbers = read_numbers(tensor)
            finite(name, numbers.values)
        except UnusableTensorError as bad:
            yield bad.skipped
            continue
        yield Matrix(name, numbers)


def is_matrix(tensor: Tensor) -> bool:
    """Whether a tensor is a matrix that is large enough to be looked at."""
    return len(tensor.shape) == 2 and min(tensor.shape) >= SMALLEST


def why_not(checkpoint: Checkpoint, tensor: Tensor) -> str | None:
    """Why a matrix is not looked at, where it is not."""
    if max(tensor.shape) > LARGEST_VOCABULARY and _EMBEDDING.match(tensor.name):
        return f"an embedding of {max(tensor.shape)} words: more than {LARGEST_VOCABULARY} take long"
    scales = scaled_by(tensor.name, checkpoint.tensors.keys())
    if scales is not None:
        return f"it is packed into few bits, with scales in {scales!r} that are not undone here"
    if tensor.dtype in _WHOLE:
        return f"it is stored in whole numbers ({tensor.dtype}) whose scales are not in it"
    return None
