"""How many heads an attention has, and of which size: from arguments, configuration and shapes, never guessed."""

from __future__ import annotations

from typing import NamedTuple

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.attention import Attention
from presage.checkpoints.files.quoted import quoted

MOST_HEADS = 4096  # of a layer: models have up to some hundreds
_ARGUMENTS = {
    "heads": "the number of query heads",
    "kv_heads": "the number of key heads",
    "head_dim": "the size of a head",
}


class HeadCounts(NamedTuple):
    """H query heads and G key heads of size h."""

    heads: int
    kv_heads: int
    head_dim: int


class _Said(NamedTuple):
    """A number and who said it; None where nobody did."""

    value: int | None
    source: str


def head_counts(
    attention: Attention,
    file: str,
    *,
    heads: int | None = None,
    kv_heads: int | None = None,
    head_dim: int | None = None,
) -> HeadCounts:
    """The heads of an attention: arguments, then the configuration, then the length of q_norm; shapes must agree."""
    config, layer = attention.config, attention.layer
    H = _said("heads", heads, config.heads(layer), "the configuration")
    G = _said("kv_heads", kv_heads, config.key_heads(layer), "the configuration")
    h = _said("head_dim", head_dim, config.head_dim(layer), "the configuration")
    of_norm = attention.beside(attention.naming.query_norm)
    if of_norm is not None and 0 in (of_norm.shape or (0,)):
        of_norm = None  # a number or nothing, which is the size of no head
    if of_norm is not None and len(of_norm.shape) == 2:
        H = H if H.value else _Said(of_norm.shape[0], "q_norm")
    if h.value is None and of_norm is not None and of_norm.shape != (attention.rows,):
        h = _Said(of_norm.shape[-1], "q_norm")
    if attention.key is not None:
        return _separate(attention, attention.key.shape[1 if attention.family.transposed else 0], file, H, G, h)
    return _fused(attention, file, H, G, h)


def _said(name: str, argument: int | None, configured: int | None, source: str) -> _Said:
    return _Said(configured, source) if argument is None else _Said(argument, f"{name}=")


def _separate(attention: Attention, key_rows: int, file: str, H: _Said, G: _Said, h: _Said) -> HeadCounts:
    """Query rows are H*h, key rows G*h."""
    rows = attention.rows
    if H.value is None and h.value is None and G.value is None:
        raise _missing(attention, file, "heads")
    size = h.value or (rows // H.value if H.value else key_rows // (G.value or 1))
    found = HeadCounts(H.value or rows // max(size, 1), G.value or key_rows // max(size, 1), size)
    if attention.family.keys == "all" and G.source != "kv_heads=":
        found = found._replace(kv_heads=found.heads)
    if found.heads * found.head_dim != rows:
        raise _contradiction(attention, file, f"{rows} query rows are not heads * head_dim", found, (H, G, h))
    if found.kv_heads * found.head_dim != key_rows:
        raise _contradiction(attention, file, f"{key_rows} key rows are not kv_heads * head_dim", found, (H, G, h))
    return _grouped(attention, file, found, (H, G, h))


def _fused(attention: Attention, file: str, H: _Said, G: _Said, h: _Said) -> HeadCounts:
    """All rows together are (H + 2 G) h."""
    family, rows, width = attention.family, attention.rows, attention.width
    heads, size = H.value, h.value
    if family.fills and size is None and heads is not None:
        size = width // heads
    if family.fills and heads is None and size is not None:
        heads = width // size
    if family.keys == "all" and heads is None and size is not None:
        heads = rows // (3 * size)
    if heads is None:
        raise _missing(attention, file, "heads")
    groups = {"all": heads, "one": 1}.get(family.keys, G.value)
    if G.source == "kv_heads=":
        groups = G.value
    if groups is None and size is not None:
        groups = (rows // max(size, 1) - heads) // 2
    if groups is None:
        raise _missing(attention, file, "kv_heads")
    found = HeadCounts(heads, groups, size or rows // (heads + 2 * groups))
    if (found.heads + 2 * found.kv_heads) * found.head_dim != rows or found.kv_heads < 1:
        stored = "(in, out)" if family.transposed else "(out, in)"
        text = f"stored {stored}, {rows} outputs are not (heads + 2 kv_heads) * head_dim"
        raise _contradiction(attention, file, text, found, (H, G, h))
    if family.fills and found.heads * found.head_dim != width:
        text = f"an input of {width} is not heads * head_dim, as it is in {family.name}"
        raise _contradiction(attention, file, text, found, (H, G, h))
    return _grouped(attention, file, found, (H, G, h))


def _grouped(attention: Attention, file: str, found: HeadCounts, said: tuple[_Said, ...]) -> HeadCounts:
    fixed = {"all": found.heads, "one": 1}.get(attention.family.keys)
    if fixed is not None and found.kv_heads != fixed:
        text = f"{attention.family.name} has {fixed} key heads"
        raise _contradiction(attention, file, text, found, said)
    if found.heads > MOST_HEADS:
        raise _contradiction(attention, file, f"there are more than {MOST_HEADS} heads", found, said)
    if found.heads % found.kv_heads:
        raise _contradiction(attention, file, "heads is not a multiple of kv_heads", found, said)
    return found


def _missing(attention: Attention, file: str, argument: str) -> CheckpointError:
    name, shape = attention.query.name, list(attention.query.shape)
    return CheckpointError(
        file,
        f"tell {_ARGUMENTS[argument]}",
        f"the shape {shape} of {quoted(name)} leaves it open, and no configuration beside the file has it",
        f"Give <{argument}=...>, {_ARGUMENTS[argument]}.",
    )


def _contradiction(
    attention: Attention, file: str, text: str, found: HeadCounts, said: tuple[_Said, ...]
) -> CheckpointError:
    numbers = ", ".join(
        f"{name}={value} ({source.source if source.value == value else 'from the shape'})"
        for name, value, source in zip(found._fields, found, said, strict=True)
    )
    return CheckpointError(
        file,
        "have attention of the shape that its numbers of heads ask for",
        f"in {quoted(attention.query.name)} of shape {list(attention.query.shape)} {text}, with {numbers}",
        "Give the right <heads=...>, <kv_heads=...> or <head_dim=...>, or another <family=...>.",
    )
