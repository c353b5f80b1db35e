"""The points of a sweep: which names belong to the problem, which to the function, and who warm-starts whom."""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, final

import numpy as np

from presage.protocol import checks
from presage.protocol.problem import LearningProblem
from presage.protocol.verbs import VERBS, bayes_curve, option_names, required_names, simulate
from presage.sweeps.identity import Memo, canonical, identity
from presage.sweeps.observed import NO_ROOM, ONE_BY_ONE

MOST_CELLS = 1_000_000  # of a sweep: each is a problem and a record in memory
EXAMPLE = "Use for example <alpha=[0.1, 1.0, 10.0]>."


@final
@dataclass(frozen=True)
class Cell:
    """One point of a sweep: the problem there, the options of the function there, and the name it has in a store."""

    index: tuple[int, ...]
    problem: Any
    options: dict[str, Any]
    key: str


@final
@dataclass(frozen=True)
class Grid:
    """All points of a sweep. An axis has several values and becomes a dimension; what is fixed has one value."""

    problem: Any
    run: Callable[..., Any]
    axes: dict[str, list[Any]]
    fixed: dict[str, Any]

    @classmethod
    def of(cls, problem: Any, run: Any, given: Mapping[str, Any]) -> Grid:
        """Sort the names into axes and fixed values, and complain about those that nobody knows."""
        if not isinstance(problem, LearningProblem):
            reason, remedy = "a sweep changes one problem along a grid", "Pass what you would pass to solve."
            raise checks.complaint("problem", "be a problem", reason, problem, remedy)
        if not callable(run):
            reason, remedy = "it is called with the problem of every cell", "Use for example solve or simulate."
            raise checks.complaint("run", "be a function", reason, run, remedy)
        if run in VERBS and run is not bayes_curve and problem.model.answer(run.__name__) is None:
            run(problem)  # says that this model has no answer to it, before a table of failures does
        check_count({name: len(value) for name, value in given.items() if _is_list(value)})
        options = option_names(run, problem)
        known = {*problem.names(), *options}
        axes: dict[str, list[Any]] = {}
        fixed: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known and not takes_any_option(run):
                raise checks.complaint(
                    "grid",
                    "have names that the problem or the function knows",
                    "a misspelt name would silently change nothing",
                    name,
                    f"The problem has {', '.join(problem.names())}; the function has {', '.join(options)}.",
                )
            if name == "keep" and run is simulate:
                raise checks.complaint(name, "be left out of a sweep", NO_ROOM, value, ONE_BY_ONE)
            if _is_list(value):
                if name == "seeds" and "d" in options:
                    raise _seeds_of_networks(value)
                axes[name] = _axis(name, value)
            else:
                fixed[name] = value.item() if hasattr(value, "ndim") else value
        _check_complete(problem, run, given)
        return cls(problem, run, axes, fixed)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along each axis."""
        return tuple(len(values) for values in self.axes.values())

    @functools.cached_property
    def options(self) -> list[str]:
        """Names of what the function takes beside a problem."""
        return option_names(self.run, self.problem)

    @property
    def names(self) -> set[str]:
        """Every name that the sweep sets."""
        return {*self.axes, *self.fixed}

    @property
    def of_the_problem(self) -> set[str]:
        """Names that change the problem. One that the function has too, as `d` of a power law, is the function's."""
        return set(self.problem.names()) - set(self.options)

    @functools.cached_property
    def cells(self) -> list[Cell]:
        """All cells in the order of the array, each problem checked as it is made."""
        ours = self.of_the_problem
        run = canonical(self.run)
        memo: Memo = {}
        cells = []
        for index in itertools.product(*(range(n) for n in self.shape)):
            point = {
                **self.fixed,
                **{name: values[i] for (name, values), i in zip(self.axes.items(), index, strict=True)},
            }
            problem = self.problem.replace(**{name: value for name, value in point.items() if name in ours})
            options = {name: value for name, value in point.items() if name not in ours}
            text = canonical({"problem": identity(problem, memo), "options": identity(options, memo)})
            cells.append(Cell(index, problem, options, hashlib.sha256((run + text).encode()).hexdigest()[:24]))
        return cells

    @functools.cached_property
    def warm(self) -> str | None:
        """The axis along which solutions start from their neighbours: alpha, or else the longest of numbers."""
        if "init" not in self.options or "init" in {*self.names, *getattr(self.run, "keywords", ())}:
            return None
        ours = self.of_the_problem
        numeric = {
            name: values
            for name, values in self.axes.items()
            if name in ours
            and name != "n_tokens"
            and all(isinstance(value, int | float | np.number) for value in values)
        }
        return "alpha" if "alpha" in numeric else max(numeric, key=lambda name: len(numeric[name]), default=None)

    def chains(self, cells: list[Cell], most: int) -> Iterator[list[Cell]]:
        """Cut `cells` into runs of at most `most`, neighbours along the warm axis one after the other."""
        if self.warm is None:
            groups = [cells]
        else:
            axis = list(self.axes).index(self.warm)
            values = self.axes[self.warm]

            def line(cell: Cell) -> tuple[int, ...]:
                return cell.index[:axis] + cell.index[axis + 1 :]

            order = sorted(cells, key=lambda cell: (line(cell), values[cell.index[axis]]))
            groups = [list(group) for _, group in itertools.groupby(order, key=line)]
        for group in groups:
            for start in range(0, len(group), most):
                yield group[start : start + most]


def takes_any_option(run: Callable[..., Any]) -> bool:
    """Whether `run` is a function of the user's own that has ``**options``; what a verb takes, its model says."""
    if run in VERBS:
        return False
    try:
        return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(run).parameters.values())
    except (TypeError, ValueError):
        return False


def check_count(lengths: Mapping[str, int]) -> None:
    """Complain about a grid of more cells than a table holds, before any of them is made."""
    count = prod(lengths.values())
    if count > MOST_CELLS:
        sizes = " x ".join(f"{length} of {name}" for name, length in lengths.items())
        reason, remedy = "every cell is kept until the table is made", "Use fewer values, or several sweeps."
        raise checks.complaint("grid", f"have at most {MOST_CELLS} cells", reason, f"{sizes} = {count} cells", remedy)


def _check_complete(problem: LearningProblem, run: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Complain about what the function cannot be called without, before a table of failures does."""
    for name in required_names(run, problem):
        if name not in given:
            reason = f"{getattr(run, '__name__', 'the function')} cannot be called without it"
            raise checks.complaint("grid", f"name `{name}` too", reason, [*given], f"Pass <{name}>, a value or a list.")


def _is_list(value: Any) -> bool:
    """Whether it is several values: a list, an array, a column of a table."""
    return isinstance(value, list | tuple | range) or bool(getattr(value, "ndim", 0))


def _seeds_of_networks(given: Any) -> ValueError:
    reason = "each number along an axis of a sweep would be one cell with so many seeds"
    remedy = "Use for example <seeds=8>, or run=functools.partial(simulate, seeds=[3, 5, 8])."
    return checks.complaint("seeds", "be one number here", reason, given, remedy)


def _axis(name: str, given: Any) -> list[Any]:
    values = np.asarray(given).tolist() if hasattr(given, "ndim") else list(given)
    if not values or getattr(given, "ndim", 1) != 1:
        raise checks.complaint(name, "be a list of values", "an axis of the grid has at least one", given, EXAMPLE)
    if len({canonical(value) for value in values}) < len(values):
        raise checks.complaint(name, "have each value once", "two equal points are one cell", given, EXAMPLE)
    return values
