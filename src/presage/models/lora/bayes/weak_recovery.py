"""From how many samples on the best of all methods sees the new task at all."""

from __future__ import annotations

from collections.abc import Sequence

from presage.models.lora.bayes.sample_beliefs import SampleBeliefs
from presage.solving.vector_state_evolution import mean_and_bar


def weak_recovery(rules: Sequence[SampleBeliefs]) -> tuple[float, float]:
    """Samples over the dimension at which knowing nothing becomes unstable, and its error bar.

        1/alpha'_c = E |E[chi chi' | Y]/q_0 - 1|_F^2   at omega = 0 and V = q_0

    Equation: derived: the iteration of q, linear in q near 0.
    Checked: tests/models/lora/test_bayes.py::test_weak_recovery_check_values
    Checked: tests/models/lora/test_bayes.py::test_noiseless_limit_of_weak_recovery
    """
    mean, bar = mean_and_bar([float(rule.excess().mean()) for rule in rules])
    return 1.0 / mean, bar / mean**2
