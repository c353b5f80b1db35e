"""A look at a function before labels are made of it: its values, whether it is smooth, what it depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol import checks

LOOKED_AT = 512  # random places
FAR = 8.0  # standard deviations, up to which values must be finite
LINES, POINTS, FARTHEST = 24, 1200, 5.0  # along which kinks are looked for, in steps of 2 FARTHEST/POINTS
SHARPER = 2.0  # by which the largest second difference may grow where steps are a quarter
ROUNDING = 1e-6  # of the values: second differences below it show no kink
FLAT = 1e-9  # relative change that is none
REMEDY = "Use for example <link=PowersLink(1, 2)>, or <link=lambda z_1, z_2: z_1 + z_2**2>."


@np.errstate(all="ignore")
def looked_at(link: Callable[[Floats], Any], matrices: int, name: str) -> None:
    """Complain about a function without a number for every row, not finite, not smooth, or blind to a matrix."""
    _must_be_hashable(link, name)
    rng = np.random.default_rng(0)
    z = rng.standard_normal((LOOKED_AT, matrices))
    _finite(link, z, name)
    _finite(link, FAR * z / np.linalg.norm(z, axis=1, keepdims=True), name)
    for h in range(matrices):
        moved = z.copy()
        moved[:, h] = rng.standard_normal(LOOKED_AT)
        values, others = _finite(link, z, name), _finite(link, moved, name)
        if np.abs(values - others).max() <= FLAT * max(float(np.abs(values).max()), 1e-300):
            reason = f"labels that do not depend on z_{h + 1} show nothing of its matrix"
            raise checks.complaint(name, "depend on every matrix", reason, link, "Leave that matrix out.")
        coarse, fine = (_bend(link, matrices, h, parts, name) for parts in (1, 4))
        if fine > SHARPER * coarse:
            reason = "the equations have its second derivatives, and kinks or jumps have none"
            remedy = "Round it off, for example np.sqrt(z**2 + 0.01) for np.abs(z)."
            raise checks.complaint(name, "be twice differentiable", reason, link, remedy)


def _finite(link: Callable[[Floats], Any], z: Floats, name: str) -> Floats:
    """Values at rows of numbers, or a complaint."""
    found = np.asarray(link(z.copy()))
    right = found.shape == (len(z),) and found.dtype.kind in "biuf"
    if not right or not np.isfinite(found).all():
        got = "a value that is not finite" if right else f"an array of {found.dtype} of shape {found.shape}"
        reason = f"it is called with {z.shape[1]} arrays of {len(z)} numbers, one a matrix"
        raise checks.complaint(name, "give one finite number a sample", reason, got, REMEDY)
    return np.asarray(found, dtype=np.float64)


def _bend(link: Callable[[Floats], Any], matrices: int, h: int, parts: int, name: str) -> float:
    """Largest second difference along one number, over the step squared: at a kink it grows as steps get shorter."""
    rng = np.random.default_rng(1)
    along = np.linspace(-FARTHEST, FARTHEST, POINTS * parts + 1)
    largest = 0.0
    for place in rng.standard_normal((LINES, matrices)):
        z = np.repeat(place[None], len(along), axis=0)
        z[:, h] = along
        values = _finite(link, z, name)
        width = along[1] - along[0]
        bend = float(np.abs(np.diff(values, 2)).max()) / width**2
        largest = max(largest, bend, ROUNDING * float(np.abs(values).max()))
    return largest


def _must_be_hashable(link: Any, name: str) -> None:
    try:
        hash(link)
    except TypeError:
        reason = "what is known of it is kept, and a function that can change has no hash"
        remedy = f"Use a plain function <{name}=lambda z_1, z_2: ...>, or a frozen dataclass derived from MatrixLink."
        raise checks.complaint(name, "be hashable", reason, link, remedy) from None
