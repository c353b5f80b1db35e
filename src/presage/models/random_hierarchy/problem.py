"""A hierarchy of random rules, by which classes are written out as strings of symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.models.random_hierarchy.declaration import ALPHA, BRANCHING, CLASSES, DEPTH, MODEL, SYMBOLS, SYNONYMS
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem

LONGEST = 2**14  # symbols of an input
MOST_TUPLES = 10**6  # that can be written


@final
@dataclass(frozen=True)
class RandomHierarchyProblem(LearningProblem):
    """The random hierarchy model: how many symbols, synonyms, levels and classes, and how many samples.

    At each level ``synonyms * symbols`` different tuples of `branching` symbols are drawn, and each symbol of the level
    above is given `synonyms` of them; the classes are the highest level, and have `synonyms` tuples each as well. Rules
    are shared by all positions. A sample is a class, drawn evenly, and written out by rules drawn evenly, `depth`
    times: ``branching^depth`` symbols, of which a learner sees the one-hot code.

    There are ``n = alpha n_c m^L`` samples, with m synonyms, L levels and n_c classes: alpha is not n/d here. The size
    of an input follows from the other fields, so there is one dimension to train at, and no limit of many.
    """

    alpha: float = field(metadata=declared(ALPHA))
    symbols: int = field(metadata=declared(SYMBOLS))
    synonyms: int = field(metadata=declared(SYNONYMS))
    depth: int = field(metadata=declared(DEPTH))
    branching: int = field(default=BRANCHING.default, metadata=declared(BRANCHING))
    classes: int | None = field(default=None, metadata=declared(CLASSES))

    model = MODEL

    def check_together(self) -> None:
        tuples = self.symbols**self.branching
        if tuples > MOST_TUPLES:
            raise checks.complaint(
                "symbols",
                f"be such that symbols^branching is at most {MOST_TUPLES}",
                f"a learner counts every tuple, and there are {tuples}",
                self.symbols,
                "Use fewer <symbols> or a smaller <branching>.",
            )
        for above, noun in ((self.symbols, "symbols"), (self.n_classes, "classes")):
            if self.synonyms * above > tuples:
                raise checks.complaint(
                    "synonyms",
                    f"be at most {tuples // above} with {above} {noun}",
                    f"no two {noun} share a tuple, which makes {self.synonyms * above} different ones, and "
                    f"symbols^branching = {tuples} is all there are",
                    self.synonyms,
                    "Use fewer <synonyms>, fewer <classes>, or more <symbols>.",
                )
        if self.own_dimension > LONGEST:
            raise checks.complaint(
                "depth",
                f"be such that branching^depth is at most {LONGEST}",
                f"an input has so many symbols, {self.own_dimension} here",
                self.depth,
                "Use a smaller <depth> or <branching>.",
            )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.symbols if self.classes is None else self.classes

    @property
    def own_dimension(self) -> int:
        """Symbols of an input: the fields of the problem say it, and no other size can be trained."""
        return int(self.branching**self.depth)

    def samples_at_one(self, d: int) -> int:
        return int(self.n_classes * self.synonyms**self.depth)


def random_hierarchy(
    *,
    alpha: float,
    symbols: int,
    synonyms: int,
    depth: int,
    branching: int = BRANCHING.default,
    classes: int | None = None,
) -> RandomHierarchyProblem:
    """A random hierarchy of `depth` levels: ``alpha = n/(n_c m^L)``, with m synonyms and L levels."""
    return RandomHierarchyProblem(alpha, symbols, synonyms, depth, branching, classes)
