"""What a level's tuples say about the class, against the noise of a finite sample: closed forms."""

from __future__ import annotations

from presage.models.random_hierarchy.problem import RandomHierarchyProblem


def retention(problem: RandomHierarchyProblem) -> float:
    """What a rule keeps of the differences between classes, times the number of synonyms.

        r = (1 - 1/v)/(1 - v^-s)

    The m tuples of a symbol are drawn without replacement from ``v^s``, of which each symbol has an even part at every
    position: the variance of a hypergeometric law, less the covariance with the tuples of another symbol.

    Equation: derived: ``m (E<t_a, t_a> - E<t_a, t_b>)``, for t_a the frequencies of symbols at one position.
    Checked: tests/models/random_hierarchy/test_theory.py::test_signal_of_every_level_is_the_mean_over_rules
    """
    v, s = float(problem.symbols), problem.branching
    return (1.0 - 1.0 / v) / (1.0 - v**-s)


def signal(problem: RandomHierarchyProblem, level: int) -> float:
    """Variance between classes of the symbols at one position of a level, in the mean over all sets of rules.

        E sum_a 1/(n_c - 1) sum_c (P(a|c) - P(a))^2 = (r/m)^(L - l)

    Exact: a symbol of level l is ``L - l`` rules below its class, and rules of different levels are independent.

    Equation: derived: the difference of two classes is multiplied by ``r/m`` at each rule.
    Checked: tests/models/random_hierarchy/test_theory.py::test_signal_of_every_level_is_the_mean_over_rules
    """
    return (retention(problem) / problem.synonyms) ** (problem.depth - level)


def signal_to_noise(problem: RandomHierarchyProblem, level: int) -> float:
    """Signal of a level over the sampling noise of a tuple at one position, if the levels below are clean.

        x_l = (n/(n_c m)) (r/m)^(L - l) = alpha m^(l-1) r^(L-l)

    ``P(c|a) - 1/n_c = (P(a|c) - P(a))/(n_c P(a))`` has the square ``v (n_c - 1)/n_c^2`` times the signal in the mean
    over symbols where these are even; a tuple is seen ``n/(m v)`` times, and the noise of its counts is
    ``(1 - 1/n_c) m v/n``.

    Equation: derived: the ratio of the two, summed over the classes.
    Checked: tests/models/random_hierarchy/test_theory.py::test_signal_to_noise_of_counted_tuples
    """
    m = problem.synonyms
    return float(problem.alpha) * float(m) ** (level - 1) * retention(problem) ** (problem.depth - level)


def equal_noise(problem: RandomHierarchyProblem, level: int) -> float:
    """The alpha at which signal and noise of a level are equal: ``m^(1-l) r^(l-L)``.

    Equation: derived: ``x_l = 1``; at the lowest level ``n = n_c m^L r^(1-L)``, which is n_c m^L for many symbols.
    Checked: tests/models/random_hierarchy/test_theory.py::test_signal_equals_noise_near_the_stated_size
    """
    return 1.0 / signal_to_noise(problem.replace(alpha=1.0), level)
