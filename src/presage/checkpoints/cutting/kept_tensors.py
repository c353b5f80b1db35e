"""The tensors of a file that a text of the user keeps."""

from __future__ import annotations

from collections.abc import Mapping

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.tensor import Tensor


def kept_tensors(checkpoint: Checkpoint, only: str | None) -> Mapping[str, Tensor]:
    """The tensors whose names have `only` between dots (``layers.3`` keeps ``model.layers.3.mlp.weight``), or all."""
    if only is None:
        return checkpoint.tensors
    wanted = f".{only.strip('.')}."
    kept = {name: tensor for name, tensor in checkpoint.tensors.items() if wanted in f".{name}."}
    if kept:
        return kept
    matrices = [name for name, tensor in checkpoint.tensors.items() if len(tensor.shape) >= 2]
    examples = ", ".join(quoted(name) for name in matrices[:5]) or "none, since it has no matrix"
    raise CheckpointError(
        checkpoint.name,
        f"have tensors with {only!r} in their names",
        f"<only> keeps those that have it between dots, and none has; names of this file are {examples}",
        "Give an <only=...> that is a part of such a name, as layers.3 is of model.layers.3.mlp.weight.",
    )
