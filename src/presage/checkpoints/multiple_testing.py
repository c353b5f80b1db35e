"""Many p values at once."""

from __future__ import annotations

import numpy as np

from presage.laws.spectral_law import Floats


def bonferroni(p: Floats) -> float:
    """The p value of several tests of one hypothesis, those that could not be made (nan) left out."""
    made = p[np.isfinite(p)]
    return float(min(1.0, len(made) * made.min())) if len(made) else float("nan")


def false_discovery(p: Floats) -> Floats:
    """The least rate of false discoveries at which each would be one.

        q_(i) = min over j >= i of p_(j) m/j

    It holds for tests that are independent or positively dependent, as heads that share a key are.

    Equation: [BH95].
    Checked: tests/checkpoints/test_multiple_testing.py::test_rejections_are_those_of_the_step_up_rule
    """
    q = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known])]
    steps = p[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return q
