"""The same selection for images: every place of an image is a row of the lift and has its label. With PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple, Self, final

import numpy as np

from presage.models.lofi.experiment.layered import is_list
from presage.models.lofi.experiment.layers import Selection, directions
from presage.models.lofi.experiment.lifts import Lift
from presage.models.lofi.experiment.scikit_learn import (
    BaseEstimator,
    TransformerMixin,
    check_is_fitted,
    check_random_state,
    validate_data,
)
from presage.models.lofi.experiment.signal_matrix import Reading
from presage.protocol import checks
from presage.protocol.ensemble import Floats
from presage.protocol.extras import must_be_installed

CONSTANT = 1e-12  # spread of labels that is none, relative
MOST_CLASSES = 50  # whole numbers of more values are hardly classes


@final
class ConvolutionLift(Lift):
    """Random convolution and ReLU, ``relu(W * x/c)/sqrt(P)``, one row a place of an image; c is that of patches."""

    def __init__(self, images: Floats, width: int, size: int, rng: np.random.Generator) -> None:
        import torch

        self.size = size
        _, channels, *self.shape = images.shape
        patches = torch.nn.functional.avg_pool2d(
            torch.from_numpy((images**2).sum(axis=1, keepdims=True)), size, stride=1, padding=size // 2
        )  # zeros beyond the edges count
        self.scale = sqrt(float(patches.mean()) * size**2) or 1.0
        self.W = rng.standard_normal((width, channels, size, size))

    @property
    def width(self) -> int:
        return len(self.W)

    @property
    def positions(self) -> int:
        return int(np.prod(self.shape))

    def rows(self, h: Any) -> Any:
        import torch

        W = torch.from_numpy((self.W / (self.scale * sqrt(self.width))).astype(h.dtype))
        maps = torch.nn.functional.conv2d(torch.from_numpy(np.ascontiguousarray(h)), W, padding=self.size // 2)
        return maps.relu_().permute(0, 2, 3, 1).reshape(-1, self.width).numpy()


class ConvolutionLayer(NamedTuple):
    """A fitted layer: projection of the lift on the selected channels, in standard units, then a mean over squares."""

    lift: ConvolutionLift
    vectors: Floats
    mean: Floats
    spread: Floats
    pool: int

    def __call__(self, images: Floats) -> Floats:
        """Images of the selected channels."""
        import torch

        found = []
        for start in range(0, len(images), self.lift.block):
            rows = (self.lift.rows(images[start : start + self.lift.block]) @ self.vectors - self.mean) / self.spread
            maps = rows.reshape(-1, *self.lift.shape, rows.shape[1]).transpose(0, 3, 1, 2)
            pooled = torch.nn.functional.avg_pool2d(torch.from_numpy(np.ascontiguousarray(maps)), self.pool)
            found.append(pooled.numpy())
        return np.concatenate(found)


class LoFiConvolution(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Channels of images that second moments of the labels select, layer by layer; flat images in, flat channels out.

    Each layer convolves with random filters, takes every place of every image as a sample with the label of its image,
    and keeps the directions of channels that stand out of their signed covariance: a projection is a convolution of
    size one. `LoFiClassifier` or `LoFiRegressor` goes on from there, in a pipeline.

    Args:
        shape: channels, height and width of an image, of which X has one a row.
        features: channels that a layer keeps, of a classifier of each class; a sequence for several layers.
        width: random filters of a layer.
        size: of a filter, an odd number of pixels.
        pool: squares of so many pixels are averaged after each layer.
        first_moment: whether the channel ``sum y z`` is kept besides.
        random_state: seed of all random numbers.

    Fitted: `layers_`, and `shape_` of the channels that come out.
    """

    def __init__(
        self,
        shape: Sequence[int],
        features: int | Sequence[int] = 4,
        *,
        width: int = 200,
        size: int = 3,
        pool: int = 2,
        first_moment: bool = True,
        random_state: Any = None,
    ) -> None:
        self.shape = shape
        self.features = features
        self.width = width
        self.size = size
        self.pool = pool
        self.first_moment = first_moment
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Select the channels of all layers, by numbers, or by classes where labels are whole numbers or words."""
        must_be_installed("shape", self.shape, "torch", "torch", "convolutions are those of PyTorch")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        images, labels = self._images(X), _labels(y)
        state = check_random_state(self.random_state)
        rng = np.random.default_rng(state.randint(2**31 - 1))
        reason, remedy = "it is the number of random filters", "Use for example <width=200>."
        width = checks.integer("width", self.width, at_least=1, reason=reason, remedy=remedy)
        remedy = "Use for example <features=4>, or <features=(8, 4)> for two layers."
        given: Any = self.features
        listed = list(given) if is_list(given) else [given]
        if not isinstance(self.first_moment, bool | np.bool_):
            reason = "it is switched on or off"
            how = "Use <first_moment=True> or <first_moment=False>."
            raise checks.complaint("first_moment", "be True or False", reason, self.first_moment, how)
        if not listed:
            reason = "it is the number of channels of each layer"
            raise checks.complaint("features", "have an entry for each layer", reason, self.features, remedy)
        layers = []
        for one in listed:
            reason = f"there are {width} random filters to select from"
            count = checks.integer("features", one, at_least=1, at_most=width, reason=reason, remedy=remedy)
            selection = Selection("random", count, width, "relu", Reading(), "size", bool(self.first_moment))
            layer = self._layer(images, labels, selection, rng)
            layers.append(layer)
            images = layer(images)
        self.layers_, self.shape_ = layers, images.shape[1:]
        return self

    def transform(self, X: Any) -> Floats:
        """Channels of the last layer, flat."""
        check_is_fitted(self)
        images = self._images(validate_data(self, X, reset=False, dtype=np.float64))
        for layer in self.layers_:
            images = layer(images)
        return np.asarray(images.reshape(len(images), -1))

    def _layer(self, images: Floats, labels: Any, selection: Selection, rng: np.random.Generator) -> ConvolutionLayer:
        smallest = min(images.shape[2:])
        remedy = "Use fewer layers, or a smaller <pool>."
        reason = f"images of this layer have {smallest} pixels across"
        pool = checks.integer("pool", self.pool, at_least=1, at_most=smallest, reason=reason, remedy=remedy)
        remedy = "Use for example <size=3>."
        size = checks.integer("size", self.size, at_least=1, at_most=2 * smallest + 1, reason=reason, remedy=remedy)
        if size % 2 == 0:
            raise checks.complaint("size", "be odd", "a filter is centred on a pixel", size, remedy)
        lift = ConvolutionLift(images, selection.width, size, rng)
        found = directions(lift, images, labels, selection, rng)
        total, squares = np.zeros(found.vectors.shape[1]), np.zeros(found.vectors.shape[1])
        for start in range(0, len(images), lift.block):
            rows = lift.rows(images[start : start + lift.block]) @ found.vectors
            total += rows.sum(axis=0)
            squares += np.einsum("ij,ij->j", rows, rows)
        count = len(images) * lift.positions
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        return ConvolutionLayer(lift, found.vectors, mean, np.where(spread > 0.0, spread, np.inf), pool)

    def _images(self, X: Floats) -> Floats:
        shape = tuple(self.shape) if is_list(self.shape) else ()
        if len(shape) != 3 or int(np.prod(shape)) != X.shape[1]:
            reason = f"a row of X has {X.shape[1]} numbers, the channels, height and width of an image"
            raise checks.complaint(
                "shape", "be three numbers", reason, self.shape, "Use for example <shape=(1, 8, 8)>."
            )
        return X.reshape(len(X), *shape)


def _labels(y: Any) -> Any:
    """Centred numbers, or the numbers of classes."""
    from sklearn.utils.multiclass import type_of_target

    if type_of_target(y) == "continuous":
        if float(np.ptp(y)) <= CONSTANT * float(np.abs(y).max()):
            reason = "centred labels are all zero then, and so is the signal matrix"
            raise checks.complaint("y", "differ between samples", reason, float(y[0]), "Look at your labels.")
        return np.asarray(y - np.mean(y), dtype=np.float64)
    found, numbers = np.unique(y, return_inverse=True)
    if len(found) > MOST_CLASSES:
        reason = "whole numbers are taken as classes, and each class has a signal matrix and channels of its own"
        remedy = "If they are numbers to be predicted, divide them by their standard deviation."
        raise checks.complaint("y", f"have at most {MOST_CLASSES} classes", reason, f"{len(found)} values", remedy)
    if len(found) < 2:
        reason, remedy = "with one class there is nothing to tell apart", "Give samples of at least two classes."
        raise checks.complaint("y", "have at least two classes", reason, f"1 class, {found[0]}", remedy)
    return numbers if len(found) > 2 else numbers - np.mean(numbers)  # of two classes one number tells
