"""Saddle points that a descent in factors comes to rest at, and how they are left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from presage.laws.spectral_law import Floats

ESCAPES = 3  # how often to leave a saddle point
Fit = TypeVar("Fit", bound=Any)  # a dataclass with a history, seconds and evaluations
Descent = Callable[[Floats], tuple[Fit, Floats, bool]]  # from a start: the fit, where it is, whether that is a saddle


def past_saddles(descended: Descent[Fit], nudged: Callable[[Fit, Floats], Floats], start: Floats) -> Fit:
    """Descend, and from a saddle point again off a nudged place; history, seconds and evaluations are those of all."""
    fit, place, stuck = descended(start)
    for _ in range(ESCAPES):
        if not stuck:
            break
        again, place, stuck = descended(nudged(fit, place))
        history = np.concatenate([fit.history, again.history + np.array([fit.seconds, 0.0])])
        seconds, evaluations = fit.seconds + again.seconds, fit.evaluations + again.evaluations
        fit = replace(again, history=history, seconds=seconds, evaluations=evaluations)
    return fit
