"""The phases by name: what happens there, the law, and its exponents."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from presage.models.diagonal.theory.scaling import laws
from presage.models.diagonal.theory.scaling.power_problem import PowerProblem
from presage.protocol.scaling import ScalingLaw


class Phase(NamedTuple):
    """What is said of a phase."""

    words: str
    formula: str
    law: Callable[[PowerProblem], float]
    exponents: Callable[[float], dict[str, float]]  # of gamma


PHASES = {
    "Ia": Phase(
        "nothing is learned, and noise is fitted",
        "Q_0 + delta^2 J(chi), alpha delta^2 = Delta + R, alpha = 2 Q(chi) + lambda/c",
        laws.error_of_nothing_learned,
        lambda gamma: {"n": 0.0, "weight_decay": 0.0},
    ),
    "Ib": Phase("nothing is fitted at all", "Q_0", lambda p: p.Q_0, lambda gamma: {"n": 0.0, "weight_decay": 0.0}),
    "II": Phase(
        "weight decay sets which entries are learned",
        "(2 gamma/(2 gamma - 1)) M A^(1/gamma) c^(2 - 1/gamma)/d, c = lambda d/n",
        laws.error_of_weight_decay,
        lambda gamma: {"n": 1.0 / gamma - 2.0, "weight_decay": 2.0 - 1.0 / gamma},
    ),
    "III": Phase(
        "every entry is learned, and weight decay shrinks it",
        "(alpha c^2 + Delta)/(alpha - 1), c = lambda/(alpha - 1)",
        laws.error_of_all_kept,
        lambda gamma: {"n": -2.0, "weight_decay": 2.0},
    ),
    "IV": Phase(
        "noise sets which entries are learned, one after the other",
        "(2 gamma/(2 gamma - 1)) M A^(1/gamma) c^(2 - 1/gamma)/d, c = chi delta, alpha = 2 Q(chi), "
        "alpha delta^2 = Delta + R",
        laws.error_of_sequence,
        lambda gamma: {"n": 0.5 / gamma - 1.0, "weight_decay": 0.0},
    ),
    "V": Phase(
        "noise that is fitted makes the error",
        "delta^2 J(chi), alpha = 2 Q(chi), alpha delta^2 = Delta + R",
        laws.error_of_overfitting,
        lambda gamma: {"n": 0.0, "weight_decay": 0.0},
    ),
    "peak": Phase(
        "as many samples as entries",
        "(Delta^2 sqrt(pi/2)/(4 lambda))^(2/3)",
        laws.error_at_peak,
        lambda gamma: {"weight_decay": -2.0 / 3.0},
    ),
    "VI": Phase(
        "more samples than entries: least squares",
        "Delta/(alpha - 1)",
        laws.error_of_least_squares,
        lambda gamma: {"n": -1.0, "weight_decay": 0.0},
    ),
}


def law_of(p: PowerProblem, phase: str, *, exact: bool = False) -> ScalingLaw:
    """The law of a phase at the numbers of a problem; III is an identity where every entry is kept."""
    said = PHASES[phase]
    identity = exact and phase == "III"
    return ScalingLaw(phase, said.words, said.formula, said.law(p), said.exponents(p.gamma), identity)
