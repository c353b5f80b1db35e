"""What the configuration beside a file says of one stack of its layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "nhead")
KEY_HEADS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_head_kv")
HEAD_DIM = ("head_dim", "d_kv", "kv_channels")
SIDES = {"encoder": "encoder_attention_heads", "decoder": "decoder_attention_heads"}
FLAGS = {"multi_query": True, "new_decoder_architecture": False}  # what is meant where a flag is not written
_OTHER_WORDS = {"vision": ("visual", "image"), "visual": ("vision",), "text": ("language", "llm")}
_OF_TEXT = ("text", "llm", "language", "language_model")


@final
@dataclass(frozen=True)
class ModelConfig:
    """The configuration of one stack of layers: the whole, or the part of it that is about the stack's tower."""

    keys: Mapping[str, Any] = field(repr=False)
    stack: str = ""  # what stands before the names of its layers

    @property
    def model_type(self) -> str:
        """What the configuration calls the model, or nothing."""
        found = self.keys.get("model_type")
        return found if isinstance(found, str) else ""

    def flag(self, name: str) -> bool:
        """A switch of the configuration, with the default of its library where it is not written."""
        return bool(self.keys.get(name, FLAGS.get(name, False)))

    def heads(self, layer: int) -> int | None:
        """Query heads of a layer, where they are written."""
        sides = [SIDES[word] for word in reversed(self.stack.split(".")) if word in SIDES]
        if sides:
            return self._first((*sides[:1], *HEADS), layer)
        both = {self._first((key,), layer) for key in SIDES.values()} - {None}
        return self._first(HEADS, layer) or (both.pop() if len(both) == 1 else None)

    def key_heads(self, layer: int) -> int | None:
        """Key heads of a layer, where they are written."""
        return self._first(KEY_HEADS, layer)

    def head_dim(self, layer: int) -> int | None:
        """The size of a head of a layer, where it is written."""
        return self._first(HEAD_DIM, layer)

    def rotary_share(self) -> float | None:
        """Which part of a head's coordinates rotary positions turn, where it is written as a share."""
        rope = self.keys.get("rope_parameters")
        for keys in (self.keys, rope if isinstance(rope, Mapping) else {}):
            for name in ("partial_rotary_factor", "rotary_pct", "rope_pct"):
                found = keys.get(name)
                if isinstance(found, int | float) and not isinstance(found, bool):
                    return float(found)
        return None

    def rotary_size(self, head_dim: int) -> int | None:
        """How many coordinates of a head rotary positions turn, where it is written."""
        share, size = self.rotary_share(), self._first(("rotary_dim",), 0)
        return size if size is not None or share is None else int(share * head_dim)

    def _first(self, names: Iterable[str], layer: int) -> int | None:
        """The first of these keys that has a number, or one a layer."""
        for name in names:
            found = self.keys.get(name)
            if isinstance(found, list | tuple) and layer < len(found):
                found = found[layer]
            if isinstance(found, int) and not isinstance(found, bool) and found > 0:
                return found
        return None


def model_config(config: Mapping[str, Any], stack: str) -> ModelConfig:
    """What a configuration says of the layers whose names begin with `stack`.

    A part of the configuration such as ``vision_config`` speaks for the tensors whose names have its word. Others
    belong to the whole, or to the text where only its part has numbers.
    """
    parts = {key.removesuffix("_config"): value for key, value in config.items() if isinstance(value, Mapping)}
    words = [word.lower() for word in stack.split(".")]
    for word in words:
        named = [key for key in parts if any(said in word for said in (key, *_OTHER_WORDS.get(key, ())))]
        if named:
            return ModelConfig(parts[max(named, key=len)], stack)
    whole = ModelConfig(config, stack)
    if whole.heads(0) is None:
        for key in _OF_TEXT:
            if key in parts:
                return ModelConfig(parts[key], stack)
    return whole
