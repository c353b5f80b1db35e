"""Rules of a hierarchy, and samples that are written out by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.models.random_hierarchy.problem import RandomHierarchyProblem

Integers = NDArray[np.int64]


class Samples(NamedTuple):
    """Inputs and classes, and what lies between them, which no learner sees."""

    inputs: Integers  # symbols, one row a sample
    classes: Integers
    symbols: tuple[Integers, ...]  # of the levels between, the lowest first: each is written as one tuple below it
    choices: tuple[Integers, ...]  # which of its synonyms each of them is written as


def draw_rules(problem: RandomHierarchyProblem, rng: np.random.Generator) -> tuple[Integers, ...]:
    """The tuples of every symbol, as numbers in base v: one array (symbol, synonym) a level, the classes first."""
    tuples, rules = problem.symbols**problem.branching, []
    for above in (problem.n_classes, *[problem.symbols] * (problem.depth - 1)):
        chosen = rng.choice(tuples, size=above * problem.synonyms, replace=False)
        rules.append(chosen.reshape(above, problem.synonyms))
    return tuple(rules)


def draw_samples(
    problem: RandomHierarchyProblem, rules: tuple[Integers, ...], n: int, rng: np.random.Generator
) -> Samples:
    """Classes, drawn evenly and written out by rules that are drawn evenly, level by level."""
    classes = rng.integers(problem.n_classes, size=n)
    written: Integers = classes[:, None]
    symbols, choices = [], []
    for rule in rules:
        choice = rng.integers(problem.synonyms, size=written.shape)
        symbols.append(written)
        choices.append(choice)
        written = digits(rule[written, choice], problem.symbols, problem.branching)
    return Samples(written, classes, tuple(symbols[:0:-1]), tuple(choices[:0:-1]))


def digits(tuples: Integers, v: int, s: int) -> Integers:
    """Numbers in base v as their s symbols, side by side."""
    places = v ** np.arange(s - 1, -1, -1)
    return np.asarray((tuples[..., None] // places % v).reshape(len(tuples), -1))


def tuples_of(inputs: Integers, v: int, s: int) -> Integers:
    """Every s symbols of a row as one number in base v."""
    return np.asarray(inputs.reshape(len(inputs), -1, s) @ v ** np.arange(s - 1, -1, -1))
