"""Nested dicts and lists as one list of names, joined by dots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST = 50
MOST = 4_000_000  # a few small lists that hold one another spell more names than could ever be walked
MOST_TEXT = 200_000_000  # letters of all names: a long one can be said again in each


def nested(root: Any, nodes: tuple[type, ...] = (Mapping, list, tuple)) -> Iterator[tuple[str, Any]]:
    """All leaves below `root` with their names; a `ValueError` where they are too deep or too many.

    What is not of the types `nodes` is a leaf. A root that is a leaf itself is called ``tensor``.
    """
    if not isinstance(root, nodes):
        yield "tensor", root
        return
    walked = spelled = 0
    waiting: list[tuple[str, int, Iterator[tuple[Any, Any]]]] = [("", 1, _items(root))]
    while waiting:
        prefix, depth, items = waiting[-1]
        for key, value in items:
            walked += 1
            if walked > MOST:
                raise ValueError(f"more than {MOST} values are nested in one another")
            name = f"{prefix}{key}"
            spelled += len(name)
            if spelled > MOST_TEXT:
                raise ValueError(f"there are names of more than {MOST_TEXT} letters together")
            if isinstance(value, nodes):
                if depth >= DEEPEST:
                    raise ValueError(f"dicts are nested more than {DEEPEST} deep")
                waiting.append((f"{name}.", depth + 1, _items(value)))
                break
            yield name, value
        else:
            waiting.pop()


def _items(node: Any) -> Iterator[tuple[Any, Any]]:
    return iter(node.items()) if isinstance(node, Mapping) else enumerate(node)
