"""How every number of a solution changes with a number of its problem: the fixed point, differentiated."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.problem import Problem
from presage.models.attention.theory.log_map import OBSERVABLES, Evaluator
from presage.models.attention.theory.order_parameters import Conjugates
from presage.models.attention.theory.rules.cut_lines import CutLines
from presage.models.attention.theory.rules.rule import Rule
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.search import coarse_rule
from presage.protocol import checks
from presage.solving.newton import linearize

STEP = 1e-4  # of the number, relative; and where that is zero, absolute


@singledispatch
def rule_of(channel: Channel) -> Rule:
    """A rule good to the three digits that a slope is asked for."""
    return coarse_rule(channel)


@rule_of.register
def _(channel: Softmax) -> Rule:
    return CutLines(40) if channel.n_tokens == 2 else Sobol(4096, 4)


def slopes(problem: Problem, conjugates: Conjugates, name: str) -> dict[str, float]:
    """Derivative of each observable in the field `name` of the problem, along the solution.

    With the fixed point ``y = F(y, x)`` and observables ``O(y, x)``,

    ``dO/dx = dO/dx|_y + dO/dy (1 - dF/dy)^-1 dF/dx|_y``

    Equation: derived: the implicit function theorem.
    Checked: tests/models/attention/theory/test_slopes.py::test_slopes_are_those_of_neighbouring_solutions
    """
    value = _number(problem, name)
    evaluator, rule = Evaluator(problem), rule_of(problem.channel)
    y = np.log(np.array(conjugates))
    state = evaluator(y, rule)
    step = STEP * value if value > 0.0 else STEP
    below = 0.0 if value == 0.0 else step  # a number that cannot be negative has one side only
    ahead, behind = (
        Evaluator(problem.replace(**{name: value + move}))(y, rule) if move else state for move in (step, -below)
    )

    def along(values: list[Floats]) -> Floats:
        return (values[0] - values[1]) / (step + below)

    direct = along([there.observables.mean(axis=0) for there in (ahead, behind)])
    moved = along([there.target for there in (ahead, behind)])
    found = direct + linearize(evaluator, state, rule).shift(moved)
    return dict(zip(OBSERVABLES, found.tolist(), strict=True))


def _number(problem: Problem, name: str) -> float:
    """The value of a field that is a real number, of the problem or of one of its parts."""
    known: dict[str, Any] = {}
    for part in filter(is_dataclass, (problem, problem.channel, problem.penalty)):  # what is one's own need not be one
        known |= {f.name: getattr(part, f.name) for f in fields(part)}
    numbers = [key for key, value in known.items() if isinstance(value, float)]
    if name not in numbers:
        reason, remedy = "slopes are taken along a real number of the problem", f"Use one of {', '.join(numbers)}."
        raise checks.complaint("name", "be a real number of the problem", reason, name, remedy)
    return float(known[name])
