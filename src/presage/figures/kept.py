"""What a figure keeps of a sweep, so that the data that ships with presage is small."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

ALWAYS = ("outcome", "caveats")


def kept(table: xr.Dataset, *names: str) -> xr.Dataset:
    """The observables `names` of a sweep with their error bars, how each cell ended, and what made the table."""
    wanted = [*(part for name in names for part in (name, f"{name}_bar")), *ALWAYS]
    return table[[name for name in wanted if name in table]]
