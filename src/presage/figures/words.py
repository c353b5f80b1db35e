"""Sentences for captions, made from what the tables themselves say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

BARS = "Bars are two standard errors of the mean over the seeds; bands are the error bars of the theory."


def labels(noise: float) -> str:
    """The labels of a problem with this noise."""
    return f"label noise {noise:g}" if noise else "clean labels"


def networks(*tables: xr.Dataset) -> str:
    """How the networks of these tables were trained: sizes, seeds, trainer, test samples, each with its alphas."""
    return "; ".join(_networks(table) for table in tables)


def _networks(table: xr.Dataset) -> str:
    seeds = _one(table["seeds"])
    trainer = str(_one(table["trainer"])).split("(")[0]
    return (
        f"d = {_one(table['d']):g}, {seeds:g} seeds (0 to {seeds - 1:g}) a point, trained by {trainer}, "
        f"{_one(table['n_test']):g} test samples{_alphas(table)}"
    )


def _alphas(table: xr.Dataset) -> str:
    if table["alpha"].size == 1:
        return f", at alpha = {_one(table['alpha']):g}"
    return f", at alpha from {float(table['alpha'].min()):.3g} to {float(table['alpha'].max()):.3g}"


def _one(values: Any) -> Any:
    return np.ravel(values.values)[0]


def version(*tables: xr.Dataset) -> str:
    """The versions that computed these tables."""
    versions = sorted({str(table.attrs["version"]) for table in tables})
    return f"Computed with presage {' and '.join(versions)}."
