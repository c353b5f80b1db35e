"""What every result can do for its reader: a short text, plain numbers, a table, a file, a page of a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from presage.protocol.model import found

if TYPE_CHECKING:
    import pandas as pd

# Views of a result, by their places: nothing here imports a view until one is asked for.
IN_HTML = "presage.plots.notebook:in_html"
SAVE = "presage.saved.file:save"


class Recorded:
    """A result that can be shown, handed on and kept."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A dataclass writes a text with every field of a class that has none of its own: this is one of its own.
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """The result in a line or two; `print` has all of it."""
        from presage.protocol.tabulated import in_brief

        return in_brief(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain Python numbers, lists and words: problem, observables, error bars, caveats, hints, version.

        A number that takes long, and is computed when it is asked for, is left out.
        """
        from presage.protocol.tabulated import as_dict

        return as_dict(self)

    def to_dataframe(self) -> pd.DataFrame:
        """A table of pandas: one row an observable, or one row a network."""
        from presage.protocol.tabulated import to_dataframe

        return to_dataframe(self)

    def save(self, path: str | Path) -> None:
        """Write it to a file, whole or not at all; `presage.load` gives it back as it is, to the last bit."""
        found(SAVE)(self, path)

    def _repr_html_(self) -> str:
        """A table, a small picture, the caveats and the hints, for a notebook."""
        return str(found(IN_HTML)(self))
