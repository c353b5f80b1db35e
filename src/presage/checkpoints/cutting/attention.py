"""One attention of a model: the tensors of its queries and keys, and where in the model they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from presage.checkpoints.cutting.family import Family, Naming
from presage.checkpoints.cutting.model_config import ModelConfig
from presage.checkpoints.tensor import Tensor


@final
@dataclass(frozen=True)
class Attention:
    """The tensors of one attention, before they are cut into heads."""

    family: Family
    naming: Naming
    prefix: str  # what stands before the names
    layer: int
    query: Tensor  # or the fused tensor
    key: Tensor | None  # None where it is fused
    tensors: Mapping[str, Tensor] = field(repr=False)  # of the whole file
    config: ModelConfig = field(repr=False)
    number: str = ""  # of the layer, as the names have it
    group: str = ""  # of layers that share their weights, as the names have it
    part: str = ""
    shared: tuple[str, ...] = ()

    def beside(self, name: str) -> Tensor | None:
        """Another tensor of the same layer, by its name without the prefix."""
        return self.tensors.get(self.prefix + name.replace("{N}", self.number)) if name else None

    @property
    def bias(self) -> Tensor | None:
        """The bias of the queries, or one that begins with it."""
        name, end = self.query.name, "weight"
        if name.endswith("q_proj_weight"):  # PyTorch's own module parts its matrices, and not their biases
            return self.tensors.get(name.removesuffix("q_proj_weight") + "in_proj_bias")
        return self.tensors.get(name.removesuffix(end) + "bias") if name.endswith(end) else None

    @property
    def rows(self) -> int:
        """Rows of the query's (or the fused) matrix, as (out, in)."""
        return self.query.shape[1 if self.family.transposed else 0]

    @property
    def width(self) -> int:
        """Columns of it: the size of the input."""
        return self.query.shape[0 if self.family.transposed else 1]
