"""Fine-tuned weights minus those they began from: `presage.compare_weights`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from presage.checkpoints.checkpoint import Checkpoint, Skipped
from presage.checkpoints.cutting.heads_of import heads_of
from presage.checkpoints.cutting.matrices_of import matrices_of
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from presage.checkpoints.flips import FLIPS
from presage.checkpoints.head import Head
from presage.checkpoints.head_difference import HeadDifference, head_difference
from presage.checkpoints.matrix_report import MatrixReport, read_matrix
from presage.checkpoints.read_head import settings
from presage.checkpoints.weights_difference import WeightsDifference, judged


def compare_weights(
    before: Any,
    after: Any,
    *,
    heads: int | None = None,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    family: str | None = None,
    flips: int = FLIPS,
    seed: int = 0,
    only: str | None = None,
    member_before: str | None = None,
    member_after: str | None = None,
) -> WeightsDifference:
    """Set what fine-tuning has changed beside changes that know nothing of each other, head by head.

    The change of a head is ``M_after - M_before``. Its values are set beside those of changes of both factors whose
    signs are flipped at random, with the weights before as they are; whole matrices ``W_after - W_before`` are set
    beside matrices of independent entries, as `read_weights` does.

    Args:
        before: the weights that training began from; whatever `read_weights` takes.
        after: those that it ended with, of the same names and shapes.
        heads: number of heads, where no configuration beside the files tells it.
        kv_heads: number of heads of keys, where queries share them.
        head_dim: width of a head, where it is not the size of a token over the number of heads.
        family: how the tensors are laid out, where their names do not tell it.
        flips: random signs of the entries of the changes; 0 for none.
        seed: of the flips.
        only: keep the layers whose names have this text between dots.
        member_before: which file of a wheel or zip, where it holds several.
        member_after: likewise.

    Checked: tests/checkpoints/test_compare_weights.py::test_a_planted_change_is_found
    """
    count, number, _ = settings(flips, seed, None)
    first, second = open_checkpoint(before, member=member_before), open_checkpoint(after, member=member_after)
    cut: dict[str, Any] = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "family": family, "only": only}
    rng = np.random.default_rng(number)
    skipped = [*first.skipped, *second.skipped]
    rows: list[HeadDifference] = []
    of_before, of_after = heads_of(first, **cut), heads_of(second, **cut)
    for layer, later in zip(of_before.layers, of_after.layers, strict=False):
        skipped += [*layer.skipped, *later.skipped]
        for old, new in _pairs(layer.heads, later.heads, skipped):
            rows.append(head_difference(old, new, count, rng))
    for left in (of_before.readers[len(of_after.readers) :], of_after.readers[len(of_before.readers) :]):
        if left:
            skipped.append(Skipped(f"{len(left)} attentions", "the other file has no such layer"))
    matrices = tuple(_matrices(first, second, only, count, number, skipped))
    return WeightsDifference(first.name, second.name, judged(rows), matrices, tuple(skipped), count, number)


def _pairs(old: list[Head], new: list[Head], skipped: list[Skipped]) -> Iterator[tuple[Head, Head]]:
    """Heads of the same place and shape in both files."""
    later = {(one.part, one.layer, one.kind, one.head): one for one in new}
    for one in old:
        place = (one.part, one.layer, one.kind, one.head)
        other = later.pop(place, None)
        called = f"layer {one.layer} head {one.head}"
        if other is None:
            skipped.append(Skipped(called, "it is in the weights before only"))
        elif (other.W_Q.shape, other.W_K.shape) != (one.W_Q.shape, one.W_K.shape):
            skipped.append(Skipped(called, f"its shape was {one.W_Q.shape} and is {other.W_Q.shape}"))
        else:
            yield one, other
    skipped += [
        Skipped(f"layer {one.layer} head {one.head}", "it is in the weights after only") for one in later.values()
    ]


def _matrices(
    first: Checkpoint, second: Checkpoint, only: str | None, flips: int, seed: int, skipped: list[Skipped]
) -> Iterator[MatrixReport]:
    """The difference of every matrix that both files have."""
    for one in matrices_of(first, only):
        if isinstance(one, Skipped):
            skipped.append(one)
            continue
        name, numbers = one
        other = second.tensors.get(name)
        if other is None or other.shape != numbers.values.shape:
            why = "the weights after have none of this name" if other is None else f"its shape is {other.shape} there"
            skipped.append(Skipped(name, why))
            continue
        later = other.read()
        change = np.asarray(later.values, dtype=np.float64) - np.asarray(numbers.values, dtype=np.float64)
        if not np.isfinite(change).all():
            skipped.append(Skipped(name, "its change is not finite"))
        elif not change.any():
            skipped.append(Skipped(name, "it did not change"))
        else:
            error = float(np.sqrt(np.mean(later.error**2) + np.mean(numbers.error**2)))
            yield read_matrix(change, name=name, flips=flips, seed=seed, error=error, dtype=other.dtype)
