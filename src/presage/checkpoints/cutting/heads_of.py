"""Cutting the attention of a model into its heads."""

from __future__ import annotations

from functools import partial

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.cut_attention import cut_attention
from presage.checkpoints.cutting.cut_heads import CutHeads, walled
from presage.checkpoints.cutting.finding import find_attention
from presage.checkpoints.cutting.head_counts import head_counts
from presage.checkpoints.cutting.norm_gain import norm_gain
from presage.checkpoints.cutting.onnx_heads import onnx_heads
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.wall import wall
from presage.protocol import checks


def heads_of(
    checkpoint: Checkpoint,
    *,
    heads: int | None = None,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    family: str | None = None,
    fold_norm: bool = False,
    only: str | None = None,
) -> CutHeads:
    """The attention heads of a file, read one layer at a time.

    Numbers of heads are those that are given, or those of the configuration; what cannot be told is asked for, and what
    contradicts the shapes is refused. ``fold_norm=True`` gives ``diag(g) M diag(g)``, with ``g`` the gains of the norms
    before the attention. `only` keeps the layers whose tensors have that text between two dots of their names.
    """
    given = {
        name: None if value is None else _counted(name, value)
        for name, value in (("heads", heads), ("kv_heads", kv_heads), ("head_dim", head_dim))
    }
    with wall(checkpoint.name):
        if checkpoint.graph is not None:
            return _of_graph(checkpoint, family, fold_norm, only, given)
        return _of_names(checkpoint, family, fold_norm, only, given)


def _counted(name: str, value: int) -> int:
    return checks.integer(
        name, value, at_least=1, reason="it is counted", remedy="Give a whole number, or leave it out."
    )


def _of_names(
    checkpoint: Checkpoint, family: str | None, fold_norm: bool, only: str | None, given: dict[str, int | None]
) -> CutHeads:
    """The heads of attention that the names of its tensors tell."""
    found = find_attention(checkpoint, family=family, only=only)
    if not found.attentions and not found.skipped:
        raise _no_attention(checkpoint, only)
    counts = [head_counts(attention, checkpoint.name, **given) for attention in found.attentions]
    gains = [norm_gain(attention, checkpoint.name) if fold_norm else None for attention in found.attentions]
    readers = tuple(
        walled(checkpoint.name, place[0].query.name, partial(cut_attention, *place))
        for place in zip(found.attentions, counts, gains, strict=True)
    )
    return CutHeads(sum(count.heads for count in counts), found.skipped, readers)


def _of_graph(
    checkpoint: Checkpoint, family: str | None, fold_norm: bool, only: str | None, given: dict[str, int | None]
) -> CutHeads:
    """The heads of an ONNX graph, whose nodes and not names tell queries from keys."""
    for name, is_given in (("family", family is not None), ("fold_norm", fold_norm)):
        if is_given:
            raise CheckpointError(
                checkpoint.name,
                f"have names of tensors for <{name}>",
                "in an ONNX graph the nodes tell queries from keys, and names say nothing",
                f"Leave <{name}> out, or give the model as safetensors.",
            )
    cut = onnx_heads(checkpoint, only=only, **given)
    if not cut.count and not cut.skipped:
        raise CheckpointError(
            checkpoint.name,
            "have attention",
            "no Softmax of its graph follows a product of two values that are not constants",
            "Look at its whole matrices instead.",
        )
    return cut


def _no_attention(checkpoint: Checkpoint, only: str | None) -> CheckpointError:
    matrices = [name for name, tensor in checkpoint.tensors.items() if len(tensor.shape) == 2]
    examples = ", ".join(quoted(name) for name in matrices[:5]) or "none"
    where = "" if only is None else f" in {only!r}"
    return CheckpointError(
        checkpoint.name,
        f"have attention whose names are known{where}",
        f"no tensor is named as the queries and keys of a family that is known; its matrices are {examples}",
        "Look at its whole matrices instead, or give a file with the names of one of the families.",
    )
