"""What the regressor and the classifier share: their options, the layers, the features of new samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from presage.models.lofi.experiment.layers import Layer, Selection, fit_layer
from presage.models.lofi.experiment.lifts import Activation, Kind
from presage.models.lofi.experiment.readout import Readout
from presage.models.lofi.experiment.scikit_learn import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_is_fitted,
    check_random_state,
    validate_data,
)
from presage.models.lofi.experiment.signal_matrix import Pick, Reading
from presage.protocol import checks
from presage.protocol.ensemble import Floats

KINDS = ("random", "kernel", "quadratic", "linear")
MOST_SAMPLES = 20_000  # of a kernel, whose Gram matrix is diagonalised


class LayeredEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Layers that are selected by second moments of the labels, and a readout: `LoFiRegressor`, `LoFiClassifier`."""

    def __init__(
        self,
        features: int | Sequence[int] = 10,
        *,
        width: int | Sequence[int] = 1000,
        lift: Kind | Sequence[Kind] = "random",
        activation: Activation = "relu",
        normalise: bool = True,
        centre: bool = True,
        first_moment: bool = True,
        pick: Pick = "size",
        clip: float | None = None,
        readout_width: int = 1000,
        precision: Literal["double", "single"] = "double",
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.width = width
        self.lift = lift
        self.activation = activation
        self.normalise = normalise
        self.centre = centre
        self.first_moment = first_moment
        self.pick = pick
        self.clip = clip
        self.readout_width = readout_width
        self.precision = precision
        self.random_state = random_state

    def transform(self, X: Any) -> Floats:
        """Features of the last layer, of mean zero and variance one over the samples of the fit."""
        check_is_fitted(self)
        return self._transformed(self._finite(X))

    @property
    def _n_features_out(self) -> int:
        return len(self.layers_[-1].standard.mean)

    def _transformed(self, X: Floats) -> Floats:
        h: Floats = X - self.mean_
        for layer in self.layers_:
            h = layer(h)
        return h

    def _labelled(self, X: Any, y: Any) -> tuple[Floats, Any]:
        """Samples and their labels as arrays, or what is wrong with them in words."""
        X, y = validate_data(self, X, y, ensure_min_samples=2, dtype=np.float64, ensure_all_finite=False)
        return self._all_finite(X), y

    def _finite(self, X: Any) -> Floats:
        """New samples as an array, or what is wrong with them in words."""
        return self._all_finite(validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False))

    def _all_finite(self, X: Floats) -> Floats:
        if not np.isfinite(X).all():
            bad = "NaN" if np.isnan(X).any() else "inf"
            row, column = np.argwhere(~np.isfinite(X))[0]
            raise checks.complaint(
                "X",
                "be finite numbers",
                "a value that is missing or infinite spoils every product with it",
                f"{bad} in row {row}, column {column}",
                "Fill it in, for example by sklearn.impute.SimpleImputer, or drop the sample.",
            )
        return X

    def _fit(self, X: Floats, y: Any, targets: Floats) -> None:
        """Fit the layers one after the other, then the readout, to centred labels or to the numbers of classes."""
        state = check_random_state(self.random_state)
        rng = np.random.default_rng(state.randint(2**31 - 1))
        self.mean_ = X.mean(axis=0)
        h: Floats = X - self.mean_
        layers: list[Layer] = []
        for selection in self._selections(len(X), X.shape[1], targets.shape[1]):
            layer = fit_layer(h, y, selection, rng)
            layers.append(layer)
            assert layer.fitted is not None
            h, layer.fitted = layer.fitted, None  # an estimator keeps no samples but those of a kernel
        self.layers_ = layers
        self.readout_ = Readout(h, targets, self._readout_width(), rng)

    def _selections(self, n: int, inputs: int, columns: int) -> list[Selection]:
        """The layers for so many columns of labels, each with directions of its own, or what is wrong in words."""
        counts = _each("features", self.features)
        widths, kinds = _each("width", self.width), (self.lift if is_list(self.lift) else [self.lift])
        _one_of("activation", self.activation, ("relu", "centred_relu"), "these are the activations of a random lift")
        _one_of("pick", self.pick, ("size", "sides"), "it says which eigenvectors are kept")
        _one_of("precision", self.precision, ("double", "single"), "products are in one of both")
        for name in ("normalise", "centre", "first_moment"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                reason, remedy = "it is switched on or off", f"Use <{name}=True> or <{name}=False>."
                raise checks.complaint(name, "be True or False", reason, getattr(self, name), remedy)
        found = []
        for number, count in enumerate(counts):
            kind = _of_layer("lift", list(kinds), number, len(counts))
            _one_of("lift", kind, KINDS, "these are the lifts that directions are looked for in")
            width = _of_layer("width", widths, number, len(counts))
            room = {"random": width, "kernel": n, "quadratic": inputs * (inputs + 1) // 2, "linear": inputs}[kind]
            if count > room:
                of = {"random": f"of width {width}", "kernel": f"of {n} samples"}.get(kind, f"of {inputs} inputs")
                raise checks.complaint(
                    "features",
                    f"be at most {room} in layer {number + 1}",
                    f"the {kind} lift {of} has {room} directions to select from",
                    count,
                    f"Use <features={room}>, or a wider lift.",
                )
            if kind == "kernel" and n > MOST_SAMPLES:
                reason = f"the Gram matrix of the samples is diagonalised, up to {MOST_SAMPLES} of them"
                raise checks.complaint("lift", 'be "random" here', reason, f"{n} samples", 'Use <lift="random">.')
            reading = Reading(bool(self.normalise), bool(self.centre), self.precision == "double")
            first = bool(self.first_moment)
            found.append(Selection(kind, count, width, self.activation, reading, self.pick, first))
            kept = columns * count if kind == "kernel" else min(columns * count, room)
            inputs = kept + columns * first
        self._must_be_taken({one.kind for one in found})
        return found

    def _must_be_taken(self, kinds: set[Kind]) -> None:
        """Complain of an option that no layer takes."""
        if self.activation != "relu" and not kinds & {"random", "kernel"}:
            reason = "the other lifts have no activation, and no layer here is random or a kernel"
            remedy = 'Leave it out, or use <lift="random">.'
            raise checks.complaint("activation", "be left out here", reason, self.activation, remedy)
        if self.precision != "double" and kinds == {"kernel"}:
            reason = "the Gram matrix of a kernel is diagonalised in double precision, and no other layer is here"
            remedy = 'Leave it out, or use <lift="random">.'
            raise checks.complaint("precision", "be left out here", reason, self.precision, remedy)

    def _readout_width(self) -> int:
        reason, remedy = "it is the number of random features of the readout", "Use for example <readout_width=1000>."
        return checks.integer("readout_width", self.readout_width, at_least=1, reason=reason, remedy=remedy)


def is_list(value: Any) -> bool:
    """Whether there is an entry for each layer."""
    return isinstance(value, list | tuple | np.ndarray)


def _each(name: str, value: Any) -> list[int]:
    """A whole number for each layer."""
    reason = "it is the number of features of each layer" if name == "features" else "it is the width of each lift"
    remedy = f"Use for example <{name}=30>, or <{name}=(30, 15)> for two layers."
    values = list(value) if is_list(value) else [value]
    if not values:
        raise checks.complaint(name, "have an entry for each layer", reason, value, remedy)
    return [checks.integer(name, one, at_least=1, reason=reason, remedy=remedy) for one in values]


def _of_layer(name: str, values: list[Any], number: int, layers: int) -> Any:
    """What is given for a layer: one value for all, or one for each."""
    if len(values) not in (1, layers):
        reason = f"there are {layers} layers, as many as <features> has numbers"
        raise checks.complaint(name, f"have one entry or {layers}", reason, values, "Give one for all layers.")
    return values[number if len(values) > 1 else 0]


def _one_of(name: str, value: Any, options: tuple[str, ...], reason: str) -> None:
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(f'"{one}"' for one in options[:-1]) + f' or "{options[-1]}"'
        raise checks.complaint(name, f"be {listed}", reason, value, f'Use for example <{name}="{options[0]}">.')
