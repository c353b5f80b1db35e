"""Symbols and labels that are declared in TeX, as letters of a page."""

from __future__ import annotations

import re
import unicodedata

SPELLED = {"lambda": "lamda"}  # as Unicode has it
RAISED = str.maketrans("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ")
LOWERED = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")
_NAME = re.compile(r"\\([A-Za-z]+)")
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|(\w))")


def in_letters(tex: str) -> str:
    r"""A short formula without its markup: ``$\alpha = n/d^2$`` is ``α = n/d²``; what has no letter stays in words."""
    named = _NAME.sub(lambda found: _letter(found[1]), tex.replace("$", "").replace(r"\,", " "))
    return _SCRIPT.sub(_script, named)


def _letter(name: str) -> str:
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {SPELLED.get(name, name).upper()}")
    except KeyError:  # a command of TeX that is no letter
        return name


def _script(found: re.Match[str]) -> str:
    inner = found[2] if found[2] is not None else found[3]
    moved = inner.translate(RAISED if found[1] == "^" else LOWERED)
    # A letter that cannot be raised or lowered keeps its mark, so that d^x is not read as dx.
    return moved if all(before != after for before, after in zip(inner, moved, strict=True)) else found[0]
