"""Input checks. Every message has one shape: what must hold, why, what was given, what to do instead."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from presage.protocol.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

LEVEL_ROUNDING = 1e-9  # a level that is one up to the rounding of a sum of masses


def complaint(name: str, must: str, reason: str, value: Any, remedy: str) -> InputError:
    """Build the one error shape used for bad input (returned, so that the caller raises it)."""
    return InputError(name, must, reason, value, remedy)


def real(
    name: str,
    value: Any,
    *,
    reason: str,
    remedy: str,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> float:
    """Return ``value`` as a float, or complain if it is not a finite number in the range."""
    must = "be a finite number"
    if above is not None:
        must += f" > {above:g}"
    if at_least is not None:
        must += f" >= {at_least:g}"
    if at_most is not None:
        must += f" and <= {at_most:g}"
    if isinstance(value, bool | str | bytes | None.__class__):
        raise complaint(name, must, reason, value, remedy)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise complaint(name, must, reason, value, remedy) from None
    inside = (
        math.isfinite(number)
        and (above is None or number > above)
        and (at_least is None or number >= at_least)
        and (at_most is None or number <= at_most)
    )
    if not inside:
        raise complaint(name, must, reason, value, remedy)
    return number


def integer(name: str, value: Any, *, at_least: int, reason: str, remedy: str, at_most: int = 2**31) -> int:
    """Return ``value`` as an int, or complain if it is not a whole number in the range."""
    number = real(name, value, reason=reason, remedy=remedy)
    told = at_most != 2**31 or number > at_most  # that of machines is told to who is beyond it only
    must = f"be a whole number >= {at_least}" + (f" and <= {at_most}" if told else "")
    if number != int(number) or not at_least <= number <= at_most:
        raise complaint(name, must, reason, value, remedy)
    return int(number)


def instance(name: str, value: Any, kinds: type | Sequence[type], *, reason: str, remedy: str) -> None:
    """Complain unless ``value`` is an instance of one of ``kinds``."""
    kinds = tuple(kinds) if isinstance(kinds, Sequence) else (kinds,)
    if not isinstance(value, kinds):
        names = " or a ".join(kind.__name__ for kind in kinds)
        raise complaint(name, f"be a {names}", reason, value, remedy)


def places(x: ArrayLike) -> NDArray[np.float64]:
    """Places on the real line, infinite ones included, as an array; a nan is complained about."""
    must, reason = "be real numbers", "a mass is counted up to a place on the real line"
    return _array("x", x, must, reason, "Drop what is not a number.", -math.inf, math.inf)


def levels(p: ArrayLike) -> NDArray[np.float64]:
    """Levels of a quantile as an array; a nan and what is outside of 0 to 1 is complained about."""
    must, reason = "be between 0 and 1", "it is a fraction of the eigenvalues"
    remedy = "Use for example p=0.5 for the median."
    return _array("p", p, must, reason, remedy, -LEVEL_ROUNDING, 1.0 + LEVEL_ROUNDING).clip(0.0, 1.0)


def finite(name: str, value: ArrayLike, *, reason: str, remedy: str) -> NDArray[np.float64]:
    """Finite numbers as an array."""
    largest = sys.float_info.max
    return _array(name, value, "be finite numbers", reason, remedy, -largest, largest)


def symmetric(name: str, value: ArrayLike, *, reason: str, remedy: str) -> NDArray[np.float64]:
    """A symmetric matrix as an array; of one without symmetry a diagonalisation would read one half."""
    matrix = finite(name, value, reason=reason, remedy=remedy)
    rounding = 1e-8 * abs(matrix).max(initial=0.0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or (abs(matrix - matrix.T) > rounding).any():
        raise complaint(name, "be a symmetric matrix", reason, f"an array of shape {matrix.shape}", remedy)
    return matrix


def _array(
    name: str, value: ArrayLike, must: str, reason: str, remedy: str, low: float, high: float
) -> NDArray[np.float64]:
    import numpy as np  # here: looking up an equation or printing the help of a command needs none of it

    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise complaint(name, must, reason, value, remedy) from None
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        raise complaint(name, must, reason, float(array[bad][0]), remedy)
    return array
