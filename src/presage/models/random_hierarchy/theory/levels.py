"""Level upon level: how pure each is, with what the levels below it lose, and what that leaves of the classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.models.random_hierarchy.theory.partitions import own_purity
from presage.models.random_hierarchy.theory.rule_sets import DRAWS, Floats, symbols_of_classes


class Counted(NamedTuple):
    """What is counted for each set of rules, the first axis."""

    purity: Floats  # of every level that is clustered, the lowest first, with what is lost below
    accuracy: Floats


def read_right(q: Floats, s: int, f: float) -> Floats:
    """Probability that a tuple is told from all others, where each of its s symbols is read right with probability q.

        R = w + (1 - w)(1 - f)^s w,  w = q^s

    f is the part of all tuples that are in use. A tuple that is misread is still told from the others where what it is
    read as is not in use, nor any other tuple that is misread as the same at another slot, which has the probability
    ``(1 - f)^s``; and then with probability w, that it is not spread over several.

    Equation: derived: to leading order a part ``1 - q`` of misread symbols loses ``s (1 - (1 - f)^s) (1 - q)`` tuples.
    Checked: tests/models/random_hierarchy/test_witnesses.py::test_a_symbol_is_read_right_if_all_below_it_are
    Checked: tests/models/random_hierarchy/test_formulas.py::test_level_upon_level
    """
    w = q**s
    return np.asarray(w + (1.0 - w) * (1.0 - f) ** s * w)


def counted(problem: RandomHierarchyProblem, draws: int = DRAWS) -> Counted:
    """Purity of every level, and the accuracy, for each set of rules.

        q_l = R(q_{l-1}) o_l,  q_0 = 1,  purity q_l + (1 - R(q_{l-1}))/v

    with o_l the purity of the level's own clusters, its tuples read without error.

    Equation: derived: a symbol is read right if its tuple is told from all others and is in the right cluster. Of the
    other tuples one of v is in it by luck, which makes clusters purer and is of no use to the level above.
    Checked: tests/models/random_hierarchy/test_witnesses.py::test_a_symbol_is_read_right_if_all_below_it_are
    Checked: tests/models/random_hierarchy/test_formulas.py::test_level_upon_level
    """
    m, s, n = problem.synonyms, problem.branching, problem.alpha * problem.samples_at_one(problem.own_dimension)
    used = m * problem.symbols / problem.symbols**s
    purity = []
    q = np.ones(1)
    for frequencies in symbols_of_classes(problem, draws):
        R = read_right(q, s, used)
        q = R * own_purity(frequencies, m, n)
        purity.append(q + (1.0 - R) / problem.symbols)
    return Counted(np.stack(purity, axis=1), accuracy_at(problem, q, n))


def accuracy_at(problem: RandomHierarchyProblem, q: Floats, n: float) -> Floats:
    """Part of fresh samples whose class is right, where the highest symbols are read right with probability q.

        1/n_c + (1 - 1/n_c) R (1 - exp(-n R/(n_c m))),  f = n_c m/v^s

    A class is right if its tuple is told from all others and was among the n samples; otherwise it is guessed.

    Equation: derived: the count of tuples at the top.
    Checked: tests/models/random_hierarchy/test_witnesses.py::test_classes_are_read_from_the_highest_symbols
    """
    n_c, m, s = problem.n_classes, problem.synonyms, problem.branching
    R = read_right(q, s, n_c * m / problem.symbols**s)
    return np.asarray(1.0 / n_c + (1.0 - 1.0 / n_c) * R * -np.expm1(-n * R / (n_c * m)))
