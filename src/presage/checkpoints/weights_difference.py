"""What fine-tuning has changed of every head and matrix: the answer of `presage.compare_weights`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.flip_p_values import flip_p_values
from presage.checkpoints.head_difference import HeadDifference
from presage.checkpoints.matrix_report import MatrixReport
from presage.checkpoints.multiple_testing import false_discovery
from presage.checkpoints.told import Told, counted, skipped_lines
from presage.protocol.model import found
from presage.protocol.tabulated import plain

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False)
class WeightsDifference(Told):
    """The changes of every head and of every matrix between two files.

    A row has what has a meaning for a change. The change of a product of two factors is not such a product, so that
    the columns of `read_weights` that set a head beside random factors (``p_random``, ``p_spectrum``, ``balance``,
    ``symmetry``, ``law`` and what comes with them) are not in it: it is set beside flipped signs. The change of a whole
    matrix is a matrix, and has all columns of one.
    """

    before: str
    after: str
    every_head: tuple[HeadDifference, ...] = field(repr=False)
    every_matrix: tuple[MatrixReport, ...] = field(repr=False)
    left_out: tuple[Skipped, ...] = field(repr=False)
    flips: int
    seed: int

    caveats = ("a structured change is one whose entries know of each other: it is not said what it does.",)

    @cached_property
    def heads(self) -> pd.DataFrame:
        """A table of pandas, one row a head."""
        import pandas as pd

        return pd.DataFrame([head.row() for head in self.every_head])

    @cached_property
    def matrices(self) -> pd.DataFrame:
        """A table of pandas, one row a matrix that changed."""
        import pandas as pd

        return pd.DataFrame([matrix.row() for matrix in self.every_matrix])

    @property
    def skipped(self) -> pd.DataFrame:
        """What was not compared, and why."""
        import pandas as pd

        return pd.DataFrame(list(self.left_out), columns=list(Skipped._fields))

    @property
    def counts(self) -> dict[str, int]:
        """How many heads have each verdict."""
        return dict(Counter(head.verdict for head in self.every_head))

    @property
    def summary(self) -> str:
        """The two files in a few sentences."""
        changed = f"{len(self.every_head)} heads, {len(self.every_matrix)} matrices changed"
        lines = [f"{self.after} minus {self.before}: {changed}."]
        if self.every_head:
            lines.append(f"{counted([head.verdict for head in self.every_head])}.")
        if self.every_matrix:
            lines.append(f"Changes of whole matrices: {counted([matrix.verdict for matrix in self.every_matrix])}.")
        return "\n".join(lines + skipped_lines(self.left_out))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and words."""
        return {
            "kind": type(self).__name__,
            "version": found("presage:__version__"),
            "before": self.before,
            "after": self.after,
            "flips": self.flips,
            "seed": self.seed,
            "counts": self.counts,
            "heads": [
                {name: plain(value) for name, value in head.row().items()}
                | {"singular_values": plain(head.singular_values)}
                for head in self.every_head
            ],
            "matrices": [matrix.as_dict() for matrix in self.every_matrix],
            "skipped": [plain(dict(one._asdict())) for one in self.left_out],
            "caveats": list(self.caveats),
        }

    def to_dataframe(self) -> pd.DataFrame:
        """The same as `heads`."""
        return self.heads

    def __repr__(self) -> str:
        return f"<WeightsDifference of {self.after} from {self.before}: {len(self.every_head)} heads>"

    def __str__(self) -> str:
        return "\n".join([self.summary, *(f"caveat: {line}" for line in self.caveats)])


def judged(rows: Sequence[HeadDifference]) -> tuple[HeadDifference, ...]:
    """Changes beside one another: flips pooled over the heads of a shape, rates of false discoveries over all."""
    shapes = [(row.h, row.d_q, row.d_k) for row in rows]
    p = flip_p_values(shapes, [row.top for row in rows], [row.flips for row in rows])
    q = false_discovery(p)
    return tuple(
        dataclasses.replace(row, p_flips=float(at), q_flips=float(rate))
        for row, at, rate in zip(rows, p, q, strict=True)
    )
