"""No number moves: what the public interface answers today is what it answered before the package was rebuilt."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import presage as ps
from tests import digits

HELD: dict[str, Any] = json.loads(digits.FILE.read_text(encoding="utf-8"))
SAME_MACHINE = HELD["machine"] == digits.machine()
ROUNDING = 1e-11  # relative: compiled code has other last bits when its cache was filled in another order
UNSTEADY = 1e-7  # see digits.UNSTEADY
BY_MESSAGES = ps.AMP().tol  # see digits.BY_MESSAGES
ELSEWHERE = 2e-3  # on another processor or with other libraries: training magnifies their last bits


def number(text: str) -> float:
    return float.fromhex(text)


def near(found: Any, held: Any, tolerance: float) -> bool:
    """Whether two numbers, or two arrays by their sum and size, are the same but for rounding."""
    if isinstance(held, str):
        a, b = number(found), number(held)
        return bool(np.isclose(a, b, rtol=tolerance, atol=1e-12, equal_nan=True))
    size = number(held["size"])
    apart = [abs(number(found[part]) - number(held[part])) for part in ("sum", "size")]
    return bool(found["shape"] == held["shape"] and max(apart) <= tolerance * max(size, 1e-12))


def different(name: str, found: dict[str, Any]) -> list[str]:
    """The parts of a call whose digits are not those written down; error bars may be rounding themselves."""
    held = HELD["calls"][name]
    parts = [part for part in held if part not in ("residual", "gap") and "bar" not in part]
    missing = [part for part in held if part not in found]
    return missing + [
        part for part in parts if part in found and not near(found[part], held[part], tolerance_of(name, part))
    ]


def tolerance_of(name: str, part: str) -> float:
    """How far, relative, a number of a call may be from what is written down."""
    if not SAME_MACHINE:
        return ELSEWHERE
    if name in digits.BY_MESSAGES and (part != "train_loss" or name == "simulate, float32"):
        return BY_MESSAGES
    return UNSTEADY if name in digits.UNSTEADY else ROUNDING


def test_every_call_is_written_down():
    assert list(HELD["calls"]) == list(digits.calls())
    assert len(HELD["calls"]) >= 60


@pytest.mark.parametrize("name", HELD["calls"])
def test_no_number_moves(name):
    assert different(name, digits.digits(name)) == []


def test_a_moved_digit_is_seen():
    name = "low rank"
    found = digits.digits(name)
    assert different(name, found) == []
    for factor in (1.0 + 1e-9, 1.01):
        moved = {**found, "error": (factor * number(found["error"])).hex()}
        assert different(name, moved) == (["error"] if SAME_MACHINE or factor > 1.001 else [])
    assert different(name, {part: found[part] for part in found if part != "error"}) == ["error"]
