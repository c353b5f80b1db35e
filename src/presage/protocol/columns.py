"""Results that are tables: columns of equal length by name, whatever they are about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presage.protocol.recorded import Recorded


class Columns(Recorded, ABC):
    """Base of a frozen dataclass some of whose fields are columns: arrays with one entry a row."""

    @property
    @abstractmethod
    def meanings(self) -> Mapping[str, str]:
        """Each column in words, in the order of the table; the first numbers the rows."""

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: what to know before believing the table."""
        return ()

    def column(self, name: str) -> NDArray[Any]:
        """A column by its name."""
        return np.asarray(getattr(self, name))

    def __len__(self) -> int:
        return len(self.column(next(iter(self.meanings))))

    @property
    def head(self) -> str:
        """What the table is about, in a few words."""
        return f"{len(self)} rows of {', '.join(self.meanings)}"

    def __str__(self) -> str:
        from presage.protocol.tabulated import in_rows

        return "\n".join([self.head, *in_rows(self), *(f"caveat: {line}" for line in self.caveats)])
