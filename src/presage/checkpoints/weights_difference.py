"""What fine-tuning has changed of every head and matrix: the answer of `presage.compare_weights`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.flips import pooled_p
from presage.checkpoints.head_difference import HeadDifference
from presage.checkpoints.matrix_report import MatrixReport
from presage.checkpoints.multiple_testing import false_discovery
from presage.checkpoints.told import Told
from presage.protocol.model import found
from presage.protocol.tabulated import plain

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False)
class WeightsDifference(Told):
    """The changes of every head and of every matrix between two files."""

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
            lines.append("; ".join(f"{count} {kind}" for kind, count in self.counts.items()) + ".")
        if self.every_matrix:
            seen = Counter(matrix.verdict for matrix in self.every_matrix)
            lines.append(f"Changes of whole matrices: {'; '.join(f'{count} {kind}' for kind, count in seen.items())}.")
        if self.left_out:
            first = self.left_out[0]
            more = f", and {len(self.left_out) - 1} more" if len(self.left_out) > 1 else ""
            lines.append(f"Skipped: {first.name} ({first.reason}){more}.")
        return "\n".join(lines)

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
    p = np.array([row.p_flips for row in rows], dtype=np.float64)
    shapes: dict[tuple[int, int, int], list[int]] = {}
    for at, row in enumerate(rows):
        if row.flips:
            shapes.setdefault((row.h, row.d_q, row.d_k), []).append(at)
    for places in shapes.values():
        if len(places) > 1:
            tops = np.array([rows[at].flips for at in places])
            p[places] = pooled_p(np.array([rows[at].singular_values[0] for at in places]), tops)
    q = false_discovery(p)
    return tuple(
        dataclasses.replace(row, p_flips=float(at), q_flips=float(rate))
        for row, at, rate in zip(rows, p, q, strict=True)
    )
