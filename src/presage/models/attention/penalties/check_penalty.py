"""A check of a penalty of one's own, before anything is solved or trained with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from presage.laws.random_frame import random_frame
from presage.laws.spectral_law import Floats
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol.report import Report, tried

REACH = 6.0  # of the eigenvalues and fields that are tried
CURVATURES = (0.3, 1.0, 8.0)
GRID = 40_001
SLACK = 1e-6  # relative: by how much the value at a minimum may exceed that of the best point of the grid


def check_penalty(penalty: Any, *, kappa: float = 1.0) -> Report:
    """Try a penalty out: its values, its invariance, and its shrinkage against the minimum on a fine grid.

    Never raises for a penalty that is wrong, whatever it does; what it raises is one of the findings.
    """
    checks = {name: partial(check, kappa=kappa) for name, check in CHECKS.items()}
    return tried(type(penalty).__name__, "penalty", penalty, checks)


def _kind(penalty: Any, kappa: float) -> list[str]:
    if isinstance(penalty, Penalty):
        return []
    return [f"it must be a Penalty, and is {penalty!r}: derive its class from presage.Penalty and make an instance."]


def _tried(penalty: Penalty) -> Floats:
    """Allowed eigenvalues of either sign, with zero and the kinks among them."""
    s = np.concatenate([np.linspace(-REACH, REACH, 61), [k for k in penalty.kinks if abs(k) < REACH]])
    lowest = max(penalty.lowest, -REACH)
    return np.unique(np.clip(s, lowest, None if lowest < REACH else lowest + REACH))


def _settings(penalty: Penalty, kappa: float) -> list[str]:
    found = []
    if not float(penalty.lowest) < np.inf:
        found.append(
            f"`lowest` is {penalty.lowest!r}: set it to 0.0 for positive semidefinite students, or leave it out."
        )
    if not all(np.isfinite(float(k)) for k in penalty.kinks):
        found.append(f"`kinks` is {penalty.kinks!r}: list the finite points at which r has a corner or a jump.")
    return found


def _values(penalty: Penalty, kappa: float) -> list[str]:
    s = _tried(penalty)
    with np.errstate(all="ignore"):
        value = np.asarray(penalty.value(s, kappa))
    if value.shape != s.shape:
        return [
            f"`value` returns shape {value.shape} for eigenvalues of shape {s.shape}: return r(s) of each of them, not "
            "their sum, with numpy functions of the whole array."
        ]
    if value.dtype.kind not in "fiu":
        return [f"`value` returns {value.dtype}: return real numbers."]
    if np.isnan(value).any() or np.isneginf(value).any():
        where = s[np.isnan(value) | np.isneginf(value)][0]
        return [
            f"`value` is {value[s == where][0]} at s = {where:.3g}: it must be a number wherever s is allowed. "
            "Set `lowest` to the least allowed eigenvalue, or return inf where s is forbidden."
        ]
    if not np.isfinite(value).any():
        return ["`value` is infinite everywhere: no eigenvalue is allowed."]
    return []


def _shapes(penalty: Penalty, kappa: float) -> list[str]:
    """Each number by itself, in a table, and in another order."""
    s = _tried(penalty)
    together = np.asarray(penalty.value(s, kappa))
    alone = np.array([float(np.ravel(penalty.value(np.array([one]), kappa))[0]) for one in s])
    order = np.random.default_rng(0).permutation(s.size)
    mixed = np.empty_like(together)
    mixed[order] = penalty.value(s[order], kappa)
    table = np.asarray(penalty.value(np.stack([s, s[::-1]]), kappa))
    if not (_same(alone, together) and _same(mixed, together)):
        return [
            "`value` of an eigenvalue depends on the others that are given with it: r must be a function of one "
            "number, since the penalty is d sum_i r(s_i)."
        ]
    if table.shape != (2, s.size) or not _same(table[0], together):
        return ["`value` does not take arrays of two dimensions: use numpy functions of the whole array."]
    if not _same(np.asarray(penalty.value(s, kappa)), together):
        return ["`value` gives another answer when it is asked again: it must not change anything."]
    return []


def _same(a: Floats, b: Floats) -> bool:
    return bool(np.array_equal(np.isfinite(a), np.isfinite(b)) and np.allclose(a[np.isfinite(a)], b[np.isfinite(b)]))


def _frames(penalty: Penalty, kappa: float) -> list[str]:
    """The penalty of a matrix is that of the matrix in another frame."""
    s = _tried(penalty)[::6]
    s = s[np.isfinite(penalty.value(s, kappa))]
    frame = random_frame(s.size, s.size, np.random.default_rng(1))
    turned = np.maximum(np.linalg.eigvalsh((frame * s) @ frame.T), penalty.lowest)
    turned[np.abs(turned) < 1e-12] = 0.0
    here, there = (float(np.sum(penalty.value(eigenvalues, kappa))) for eigenvalues in (s, turned))
    if not np.isclose(here, there, rtol=1e-6, atol=1e-9):
        return [
            f"the penalty of a matrix changes from {here:.6g} to {there:.6g} when the matrix is turned and its "
            "eigenvalues rounded: r must be continuous, but for jumps at 0."
        ]
    return []


def _widths(penalty: Penalty, kappa: float) -> list[str]:
    for width in (0.1, 10.0):
        if np.isnan(np.asarray(penalty.value(_tried(penalty), width))).any():
            return [f"`value` is nan at kappa = {width:g}: kappa is the relative width m/d, any positive number."]
    return []


def _shrinkage(penalty: Penalty, kappa: float) -> list[str]:
    x = np.linspace(-REACH, REACH, 97)
    for Sigma_hat in CURVATURES:
        s = np.asarray(penalty.shrink(x, Sigma_hat, kappa))
        if s.shape != x.shape or not np.isfinite(s).all():
            return [f"`shrink` returns shape {s.shape}, or no finite numbers: return one eigenvalue for each x."]
        if s.min() < penalty.lowest:
            return [
                f"`shrink` returns {s.min():.3g}, below `lowest` = {penalty.lowest:g}: keep it in the allowed range."
            ]
        if np.diff(s).min() < -1e-9 * (1.0 + np.abs(s).max()):
            return [
                f"`shrink` decreases in x at Sigma_hat = {Sigma_hat:g}: the argmin never does, so it is another point. "
                "Leave `shrink` out to have it computed from `value`."
            ]
        reach = max(2.0 * float(np.abs(s).max()), 2.0 * REACH / Sigma_hat)
        grid = np.concatenate([np.linspace(max(-reach, penalty.lowest), reach, GRID), [max(0.0, penalty.lowest)]])
        grid = np.concatenate([grid, [k for k in penalty.kinks if k >= penalty.lowest]])
        with np.errstate(all="ignore"):
            phi = np.asarray(penalty.value(grid, kappa)) + 0.25 * Sigma_hat * grid**2
            found = np.asarray(penalty.value(s, kappa)) + 0.25 * Sigma_hat * s**2 - 0.5 * s * x
        best = np.array([np.nanmin(phi - 0.5 * one * grid) for one in x])
        excess = found - best - SLACK * (1.0 + np.abs(best))
        worst = int(np.argmax(np.where(np.isnan(excess), np.inf, excess)))
        if not excess[worst] <= 0.0:
            at = grid[int(np.nanargmin(phi - 0.5 * x[worst] * grid))]
            return [
                f"`shrink` is not the argmin of r(s) + (Sigma_hat/4) s^2 - s x/2: at x = {x[worst]:.3g}, Sigma_hat = "
                f"{Sigma_hat:g} it returns {s[worst]:.6g}, and s = {at:.6g} is lower by "
                f"{found[worst] - best[worst]:.2g}. Correct it, or leave `shrink` out to have it computed from "
                "`value`; corners and jumps of r elsewhere than at 0 must be in `kinks`."
            ]
    return []


CHECKS: dict[str, Callable[..., list[str]]] = {
    "its class": _kind,
    "lowest and kinks": _settings,
    "value": _values,
    "shapes": _shapes,
    "rotations": _frames,
    "widths": _widths,
    "shrink": _shrinkage,
}
