"""Fine-tuned weights minus those they began from: `presage.compare_weights`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from presage.checkpoints.checkpoint import Checkpoint, Skipped
from presage.checkpoints.cutting.kept_tensors import kept_tensors
from presage.checkpoints.cutting.matrices_of import Matrix, is_matrix, matrices_of, why_not
from presage.checkpoints.cutting.unusable_tensor import UnusableTensorError, finite, read_numbers
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from presage.checkpoints.flips import FLIPS
from presage.checkpoints.head import Head
from presage.checkpoints.head_difference import HeadDifference, head_difference
from presage.checkpoints.layer_places import LayerPlaces, Place
from presage.checkpoints.matrix_report import MatrixReport, read_matrix
from presage.checkpoints.read_head import settings
from presage.checkpoints.readable_heads import readable_heads
from presage.checkpoints.tensor import Numbers
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
    beside matrices of independent entries, as `read_weights` does. The change of a product of two factors is not such
    a product, so that rows of heads have no column of what random factors show (``p_random``, ``balance``,
    ``symmetry``, ``law``); `read_weights` has them of either file. A file without attention, or whose heads cannot be
    told, is compared by its whole matrices, and `skipped` has the reason.

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
    for one in (first, second):
        kept_tensors(one, only)  # a name that keeps nothing is refused before anything is read
    cut: dict[str, Any] = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "family": family, "only": only}
    rng = np.random.default_rng(number)
    of_before, of_after = LayerPlaces(readable_heads(first, **cut)), LayerPlaces(readable_heads(second, **cut))
    unpaired: list[Skipped] = []
    rows: list[HeadDifference] = []
    for place, layer in of_before.following():
        later = of_after.at(place)
        if later is None:
            unpaired.append(_alone(place, "before"))
            continue
        for old, new in _pairs(place, layer.heads, later.heads, unpaired):
            rows.append(head_difference(old, new, count, rng))
    unpaired += [_alone(place, "after") for place in of_after.left()]
    skipped = [*_of_either([*first.skipped, *of_before.skipped], [*second.skipped, *of_after.skipped]), *unpaired]
    matrices = tuple(_matrices(first, second, only, count, number, skipped))
    return WeightsDifference(first.name, second.name, judged(rows), matrices, tuple(skipped), count, number)


def _of_either(before: list[Skipped], after: list[Skipped]) -> list[Skipped]:
    """What was skipped of the two files: once where it is the same in both, else with the word of which."""
    of_both = {*before} & {*after}
    said = [one if one in of_both else Skipped(one.name, f"in the weights before: {one.reason}") for one in before]
    said += [Skipped(one.name, f"in the weights after: {one.reason}") for one in after if one not in of_both]
    return list(dict.fromkeys(said))


def _alone(place: Place, where: str) -> Skipped:
    return Skipped(place.name, f"its attention is in the weights {where} only, or is readable there only")


def _pairs(place: Place, old: list[Head], new: list[Head], skipped: list[Skipped]) -> Iterator[tuple[Head, Head]]:
    """The heads of one attention that both files have, in the same shape."""
    later = {one.head: one for one in new}
    for one in old:
        other = later.pop(one.head, None)
        called = f"{place.name} head {one.head}"
        if other is None:
            skipped.append(Skipped(called, "it is in the weights before only"))
        elif _shapes(other) != _shapes(one):
            skipped.append(Skipped(called, f"its factors were {_shapes(one)} and are {_shapes(other)}"))
        else:
            yield one, other
    skipped += [Skipped(f"{place.name} head {head}", "it is in the weights after only") for head in later]


def _shapes(head: Head) -> str:
    return " and ".join(f"{len(W)} x {W.shape[1]}" for W in (head.W_Q, head.W_K))


def _matrices(
    first: Checkpoint, second: Checkpoint, only: str | None, flips: int, seed: int, skipped: list[Skipped]
) -> Iterator[MatrixReport]:
    """The difference of every matrix that both files have; each of the others is a row of what was skipped."""
    seen: set[str] = set()
    for one in matrices_of(first, only):
        seen.add(one.name)
        if isinstance(one, Skipped):
            skipped.append(one)
            continue
        try:
            later = _later(second, one)
            change = np.asarray(later.values, dtype=np.float64) - np.asarray(one.numbers.values, dtype=np.float64)
            finite(one.name, change)
        except UnusableTensorError as bad:
            skipped.append(bad.skipped)
            continue
        if not change.any():
            skipped.append(Skipped(one.name, "it did not change"))
            continue
        error = float(np.sqrt(np.mean(later.error**2) + np.mean(one.numbers.error**2)))
        dtype = second.tensors[one.name].dtype
        yield read_matrix(change, name=one.name, flips=flips, seed=seed, error=error, dtype=dtype)
    for name, tensor in kept_tensors(second, only).items():
        if name not in seen and is_matrix(tensor):
            other = first.tensors.get(name)
            why = "the weights before have none of this name" if other is None else f"its shape was {other.shape}"
            skipped.append(Skipped(name, why))


def _later(second: Checkpoint, before: Matrix) -> Numbers:
    """The numbers of a matrix in the weights after, or why there are none."""
    tensor = second.tensors.get(before.name)
    if tensor is None:
        raise UnusableTensorError(before.name, "the weights after have none of this name")
    if tensor.shape != before.numbers.values.shape:
        raise UnusableTensorError(before.name, f"its shape is {tensor.shape} in the weights after")
    reason = why_not(second, tensor)
    if reason is not None:
        raise UnusableTensorError(before.name, f"in the weights after {reason}")
    numbers = read_numbers(tensor)
    finite(before.name, numbers.values)
    return numbers
