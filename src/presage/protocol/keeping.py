"""What `simulate` keeps of every network beside what it measures, where it is asked to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from presage.protocol import checks

# Each word of `keep`, with the fields of the ensemble that it fills.
FIELDS = {
    "weights": ("weights", "targets"),
    "history": ("history",),
    "features": ("features", "directions"),
    "trajectory": ("trajectory",),
}
RAGGED = frozenset({"history"})  # of another length for another network: a tuple of arrays, not an array


def kept_words(keep: Any, known: Collection[str]) -> tuple[str, ...]:
    """The words of `keep`, one or several, each once; complain about one that the model does not know."""
    words = (keep,) if isinstance(keep, str) else tuple(keep) if isinstance(keep, Sequence) else (keep,)
    for word in words:
        if not known:
            reason, remedy = "networks of this model keep nothing beside what is measured of them", "Leave it out."
            raise checks.complaint("keep", "be left out here", reason, keep, remedy)
        if not isinstance(word, str) or word not in known:
            must = " or ".join(f'"{one}"' for one in known)
            reason = "that is what networks of this model can keep beside what is measured of them"
            raise checks.complaint("keep", f"be {must}", reason, keep, f'Use for example <keep="{next(iter(known))}">.')
    return tuple(dict.fromkeys(words))


def kept_fields(words: Sequence[str]) -> tuple[str, ...]:
    """The fields of an ensemble that these words fill."""
    return tuple(field for word in words for field in FIELDS[word])
