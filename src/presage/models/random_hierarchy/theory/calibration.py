"""How far the count of partitions may be off, calibrated on learners."""

from __future__ import annotations

from math import sqrt

import numpy as np

from presage.models.random_hierarchy.theory.rule_sets import Floats

# The count differs from the mean of many learners. The half width of a 95 % interval is one of these widths times
# sqrt((x + LOW) (1 - x + HIGH)), with x from 0 for a guess to 1. They were chosen beside learners of 53 hierarchies at
# seven to nine sample sizes each, as was the way in which levels are put together. Of 16 others, drawn at random
# afterwards, 98 % (accuracy), 96 % (lowest level) and 93 % (highest level) of 112 means are within them; the worst,
# with 12 symbols of 8 synonyms each, are 4 of their standard deviations too low.
LOWEST_LEVEL, CHAINED = 0.4, 0.6  # the lowest level alone; what rests on the levels below it
LOW, HIGH = 0.05, 0.002
MANY_SYNONYMS = 6  # from so many on learners are mostly worse than counted: there are more partitions


def error_bar(values: Floats, guess: float, width: float) -> float:
    """Half width of a 95 % interval about the mean over sets of rules: what is calibrated, and their own error."""
    x = min(max((float(values.mean()) - guess) / (1.0 - guess), 0.0), 1.0)
    calibrated = width * (1.0 - guess) * sqrt((x + LOW) * (1.0 - x + HIGH))
    return float(np.hypot(calibrated, 2.0 * values.std(ddof=1) / sqrt(len(values))))
