"""The gains of the norms before an attention, for heads as the layer's unscaled input sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.attention import Attention
from presage.checkpoints.cutting.family import NUMBER
from presage.checkpoints.cutting.unusable_tensor import finite, read_numbers
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.tensor import Tensor

_REMEDY = "Leave <fold_norm> out: heads are then as they are stored."


class NormGain(NamedTuple):
    """Where the gains of queries and keys are stored; None for a norm without one."""

    query: Tensor | None
    key: Tensor | None
    plus_one: bool

    def read(self) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """The gains, one number a coordinate of the input."""
        query = _numbers(self.query, self.plus_one)
        return query, query if self.key is self.query else _numbers(self.key, self.plus_one)


def norm_gain(attention: Attention, file: str) -> NormGain:
    """The norms before an attention, or a complaint that they are not known."""
    norm, family = attention.naming.norm, attention.family.name
    if norm is None:
        several = " or " in family
        why = "depends on which of these families it is" if several else "is not known here"
        remedy = f"Give <family=...>, or leave <fold_norm> out ({family})." if several else _REMEDY
        raise _refused(attention, file, f"the norm before the attention of {family} {why}", remedy)
    if norm.only_if is not None and attention.config.keys.get(norm.only_if[0]) is not norm.only_if[1]:
        text = f"the norm before the attention of {family} is known only where {norm.only_if[0]} is {norm.only_if[1]}"
        raise _refused(attention, file, text, _REMEDY)
    first = attention.layer == 0 and norm.first is not None
    query = _tensor(attention, (norm.first or ()) if first else norm.query, attention.width, file)
    if norm.key is None:
        return NormGain(query, query, norm.plus_one)
    width = attention.key.shape[1] if attention.key is not None else attention.width
    return NormGain(query, _tensor(attention, norm.key, width, file), norm.plus_one)


def _tensor(attention: Attention, names: tuple[str, ...], width: int, file: str) -> Tensor | None:
    if not names:
        return None
    for name in names:
        for whole in _places(attention, name):
            found = attention.tensors.get(whole)
            if found is None:
                continue
            if found.shape != (width,):
                text = f"{quoted(whole)} has shape {list(found.shape)} where the attention sees {width} numbers"
                raise _refused(attention, file, text, _REMEDY)
            return found
    wanted = names[0].replace("{N}", attention.number).replace("{P}", str(attention.layer - 1))
    raise _refused(attention, file, f"there is no {quoted(wanted)} beside it, the norm before", _REMEDY)


def _places(attention: Attention, name: str) -> Iterator[str]:
    """Where a norm may be: beside the layer, or beside one of the modules that hold it."""
    prefix = attention.prefix
    if name.startswith("encoder:"):
        prefix, name = prefix.replace("decoder", "encoder"), name.removeprefix("encoder:")
    last = _last_layer(attention, prefix) if "{L}" in name else ""
    number = str(attention.layer - 1)
    name = name.replace("{N}", attention.number).replace("{P}", number).replace("{L}", last)
    modules = prefix.split(".")[:-1]
    for depth in range(len(modules), -1, -1):
        start = "".join(module + "." for module in modules[:depth])
        yield from (f"{start}{name}.weight", f"{start}{name}.gamma")


def _last_layer(attention: Attention, prefix: str) -> str:
    numbered = re.compile(re.escape(prefix) + rf"\w+\.({NUMBER})\.")
    found = (numbered.match(name) for name in attention.tensors)
    return str(max((int(match[1]) for match in found if match), default=0))


def _numbers(tensor: Tensor | None, plus_one: bool) -> NDArray[np.float64] | None:
    if tensor is None:
        return None
    return finite(tensor.name, read_numbers(tensor).values).astype(np.float64) + (1.0 if plus_one else 0.0)


def _refused(attention: Attention, file: str, reason: str, remedy: str) -> CheckpointError:
    must = "have a norm before its attention whose gain can be folded in"
    return CheckpointError(file, must, f"at {quoted(attention.query.name)}, {reason}", remedy)
