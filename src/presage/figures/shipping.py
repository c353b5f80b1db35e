"""What of a sweep ships with a figure: that which is drawn or compared, in few bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from presage.sweeps.observed import BAR

if TYPE_CHECKING:
    import xarray as xr

ALWAYS = ("outcome", "caveats", "n_seeds")


def slimmed(table: xr.Dataset, *names: str) -> xr.Dataset:
    """The observables `names` of a table with their error bars, and what its cells say about themselves.

    Eigenvalues of trained networks are for histograms, and single precision is enough for those.
    """
    bars = [name + BAR for name in names]
    slim = table[[name for name in (*names, *bars, *ALWAYS) if name in table]]
    slim = slim.assign({str(name): slim[name].astype(np.float32) for name in slim if "seed" in slim[name].dims})
    return slim.assign_attrs(core_seconds=round(float(table["seconds"].sum()), 1))
