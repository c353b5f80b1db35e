"""The features of a target one by one: what is predicted of each and what trained networks show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from presage.protocol.columns import Columns
from presage.protocol.ensemble import Floats


class Beside(NamedTuple):
    """One number of every feature: as predicted, and of each network (rows) and feature (columns)."""

    words: str
    predicted: Floats
    measured: Floats


@final
@dataclass(frozen=True, eq=False)
class FeatureComparison(Columns):
    """Prediction and training, feature by feature, the largest first."""

    d: int
    i: NDArray[np.int64] = field(repr=False)
    names: tuple[str, ...]  # of the numbers that are compared
    words: tuple[str, ...] = field(repr=False)
    predicted: Floats = field(repr=False)  # one row a name, as are the others
    mean: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)
    networks: int

    @classmethod
    def of(cls, d: int, numbers: Mapping[str, Beside]) -> FeatureComparison:
        """Means and standard errors over the networks."""
        measured = np.stack([one.measured for one in numbers.values()])  # name, network, feature
        networks = measured.shape[1]
        mean, error = measured.mean(axis=1), measured.std(axis=1, ddof=1) / np.sqrt(networks)
        predicted = np.stack([one.predicted for one in numbers.values()])
        words = tuple(one.words for one in numbers.values())
        number = np.arange(1, predicted.shape[1] + 1)
        return cls(d, number, tuple(numbers), words, predicted, mean, error, networks)

    @property
    def meanings(self) -> Mapping[str, str]:
        """The columns in words: of each number the prediction, the networks, their standard error and z."""
        told = {"i": "number of the feature, the largest first"}
        for name, words in zip(self.names, self.words, strict=True):
            told |= {f"{name}_predicted": f"{words}, predicted", f"{name}_trained": f"{words}, mean of the networks"}
            told |= {f"{name}_error": "standard error of that mean", f"{name}_z": "difference in standard errors"}
        return told

    @property
    def z(self) -> Floats:
        """How far the networks are from the prediction, in their standard errors: one row a name."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.mean - self.predicted) / self.standard_error)

    def column(self, name: str) -> NDArray[Any]:
        number, _, what = name.rpartition("_")
        if not number:
            return super().column(name)
        table = {"predicted": self.predicted, "trained": self.mean, "error": self.standard_error, "z": self.z}
        return np.asarray(table[what][self.names.index(number)])

    @property
    def head(self) -> str:
        return f"{len(self)} features of {self.networks} networks of d = {self.d} beside the prediction"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a single dimension cannot tell."""
        return (f"all networks have d = {self.d}: effects of that size, and of few samples, are in the differences.",)
