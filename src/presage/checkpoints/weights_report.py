"""Every head of a model beside what noise shows: the answer of `presage.read_weights`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.head_report import HeadReport
from presage.checkpoints.matrix_report import MatrixReport
from presage.checkpoints.told import Told, counted, skipped_lines
from presage.checkpoints.verdicts import KINDS, LEVEL
from presage.protocol import checks
from presage.protocol.model import found
from presage.protocol.tabulated import plain

if TYPE_CHECKING:
    import pandas as pd
    import xarray

PICTURE = "presage.plots.weights:save_picture"  # by its place: nothing here imports a view until one is asked for
NUMBERS = "biuf"  # kinds of columns that netCDF keeps as they are


@final
@dataclass(frozen=True, eq=False)
class WeightsReport(Told):
    """The heads of a file, its whole matrices where they were asked for, and what was skipped."""

    name: str  # of the file
    every_head: tuple[HeadReport, ...] = field(repr=False)
    every_matrix: tuple[MatrixReport, ...] = field(default=(), repr=False)
    left_out: tuple[Skipped, ...] = field(default=(), repr=False)
    fold_norm: bool = False
    flips: int = 0
    seed: int = 0

    @cached_property
    def heads(self) -> pd.DataFrame:
        """A table of pandas, one row a head."""
        import pandas as pd

        return pd.DataFrame([head.row() for head in self.every_head])

    @cached_property
    def matrices(self) -> pd.DataFrame:
        """A table of pandas, one row a whole matrix; empty where they were not asked for."""
        import pandas as pd

        return pd.DataFrame([matrix.row() for matrix in self.every_matrix])

    @property
    def skipped(self) -> pd.DataFrame:
        """What was not looked at, and why."""
        import pandas as pd

        return pd.DataFrame(list(self.left_out), columns=list(Skipped._fields))

    def head(self, layer: int, head: int, *, part: str | None = None, kind: str | None = None) -> HeadReport:
        """One head by its place; `part` and `kind` where a model has several attentions at a layer."""
        there = [one for one in self.every_head if (one.layer, one.head) == (layer, head)]
        there = [one for one in there if part in (None, one.part) and kind in (None, one.kind)]
        if len(there) == 1:
            return there[0]
        if not there:
            known = sorted({one.layer for one in self.every_head})
            reason = f"there are layers {known[0]} to {known[-1]}" if known else "this report has no heads"
            remedy = "Look into `heads` for what there is."
            raise checks.complaint("head", "be one of the report", reason, f"layer {layer}, head {head}", remedy)
        reason = f"there are {', '.join(f'{one.part or one.kind} ({one.kind})' for one in there)}"
        remedy = 'Name one by <part="decoder"> or <kind="cross">.'
        raise checks.complaint("head", "be one alone", reason, f"layer {layer}, head {head}", remedy)

    @property
    def counts(self) -> dict[str, int]:
        """How many heads have each verdict, those that are there, in the order of the verdicts."""
        seen = Counter(head.verdict for head in self.every_head)
        return {kind: seen[kind] for kind in KINDS if seen[kind]}

    @property
    def summary(self) -> str:
        """The file in a few sentences."""
        return "\n".join(self._sentences())

    def _sentences(self) -> list[str]:
        lines = [f"{self.name}: {len(self.every_head)} heads, {len(self.every_matrix)} whole matrices."]
        if self.every_head:
            differ = [head for head in self.every_head if head.q_random <= LEVEL]
            flipped = (
                f", {sum(head.q_flips <= LEVEL for head in self.every_head)} by flipped signs" if self.flips else ""
            )
            alone = sum(head.p_spectrum > LEVEL for head in differ)
            which = "the former" if self.flips else "them"
            only = f"; in {alone} of {which} the spectrum alone does not show it" if alone else ""
            lines.append(
                f"{len(differ)} heads differ from random factors{flipped} (false discoveries {LEVEL:.0%}){only}."
            )
            lines.append("; ".join(f"{count} {kind}" for kind, count in self.counts.items()) + ".")
        if self.every_matrix:
            lines.append(f"Whole matrices: {counted([matrix.verdict for matrix in self.every_matrix])}.")
        return lines + skipped_lines(self.left_out)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before believing it: of the file, then of its heads, each once."""
        gains = "gains of norms are folded in" if self.fold_norm else "gains of norms are not in it"
        own = (f"M = W_Q W_K' as it is stored; {gains}.",) if self.every_head else ()
        return tuple(dict.fromkeys([*own, *(line for head in self.every_head for line in head.notes)]))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and words."""
        return {
            "kind": type(self).__name__,
            "version": found("presage:__version__"),
            "file": self.name,
            "fold_norm": self.fold_norm,
            "flips": self.flips,
            "seed": self.seed,
            "counts": self.counts,
            "heads": [head.as_dict() for head in self.every_head],
            "matrices": [matrix.as_dict() for matrix in self.every_matrix],
            "skipped": [plain(dict(one._asdict())) for one in self.left_out],
            "caveats": list(self.caveats),
        }

    def to_dataframe(self) -> pd.DataFrame:
        """The same as `heads`."""
        return self.heads

    def to_dataset(self) -> xarray.Dataset:
        """The table of heads and their singular values as an xarray Dataset, one entry a head."""
        import xarray as xr

        columns: dict[str, Any] = {}
        for name, column in self.heads.items():
            kinds = column.to_numpy()
            if kinds.dtype.kind not in NUMBERS and name in ("at_least", "spikes"):
                kinds = column.astype(float).to_numpy()
            columns[str(name)] = (
                "place",
                kinds if kinds.dtype.kind in NUMBERS else np.array([_text(x) for x in kinds]),
            )
        widest = max((len(head.measured.values) for head in self.every_head), default=0)
        values = np.full((len(self.every_head), widest), np.nan)
        for row, head in zip(values, self.every_head, strict=True):
            row[: len(head.measured.values)] = head.singular_values
        columns["singular_values"] = (("place", "order"), values)
        said = {"file": self.name, "flips": self.flips, "seed": self.seed, "caveats": " ".join(self.caveats)}
        return xr.Dataset(columns, attrs=said)

    def to_netcdf(self, path: str | Path) -> None:
        """Write the table of heads and their singular values to a netCDF file, whole or not at all."""
        from presage.whole_file import whole_file

        with whole_file(Path(path)) as part:
            self.to_dataset().to_netcdf(part, engine="h5netcdf")

    def plot(self, path: str | Path) -> None:
        """Draw the map of heads and their spectra to a .png, .pdf or .svg file, whole or not at all."""
        found(PICTURE)(self, Path(path))

    def __repr__(self) -> str:
        return f"<WeightsReport of {self.name}: {len(self.every_head)} heads, {len(self.every_matrix)} matrices>"

    def __str__(self) -> str:
        return "\n".join([self.summary, *(f"caveat: {line}" for line in self.caveats)])


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
