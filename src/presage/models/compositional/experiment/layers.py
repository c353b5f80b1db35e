"""Learning layer by layer: eigenvectors, a matrix of their products, a line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.experiment.krylov import Found, largest_eigenvectors
from presage.models.compositional.experiment.samples import FirstLayer, Samples
from presage.models.compositional.experiment.trainers import LayerWise

CURVED = 5  # degree of the polynomial that is fitted last beside the line
FAR = 4.0  # standard deviations of the second layer, beyond which a curved last layer is constant


class Layers(NamedTuple):
    """What was learned, and how."""

    found: Found  # first layer
    B: Floats  # second layer
    line: Floats  # last layer: a polynomial of degree one in the second, lowest first
    curve: Floats  # and one of higher degree
    scale: float  # of the second layer, in which the polynomials are
    spectrum: Floats | None  # whole, where C was formed


def used_labels(y: Floats, clip: float | None) -> Floats:
    """The labels that the first layer uses: without their mean, clipped at so many standard deviations."""
    centred = y - y.mean()
    if clip is None:
        return np.asarray(centred)
    bound = clip * float(np.std(y))
    clipped = np.clip(centred, -bound, bound)
    return np.asarray(clipped - clipped.mean())


def first_layer(
    samples: Samples, used: Floats, features: int, trainer: LayerWise, rng: np.random.Generator
) -> tuple[Found, Floats | None]:
    """Eigenvectors of C; with all of its eigenvalues where it is formed."""
    matrix = FirstLayer(samples, used)
    if trainer.method == "dense":
        values, vectors = np.linalg.eigh(matrix.formed())
        top = np.argsort(-np.abs(values), kind="stable")[:features]
        return Found(values[top], vectors[:, top], 1, True), values
    options = {"oversampling": trainer.oversampling, "passes": trainer.passes}
    found = largest_eigenvectors(
        matrix.times, matrix.count, features, rng, tol=trainer.tol, beyond=1.05 * matrix.noise, **options
    )
    return found, None


def second_layer(first: Floats, y: Floats) -> Floats:
    """``B = (1/n) sum y (hh' - 1)`` of fresh samples."""
    centred = y - y.mean()
    return np.asarray((first.T @ (first * centred[:, None])) / len(y) - np.eye(first.shape[1]) * centred.mean())


def outputs(first: Floats, B: Floats) -> Floats:
    """``h_2 = <B, hh' - 1>``."""
    return np.asarray(np.einsum("mi,ij,mj->m", first, B, first, optimize=True) - np.trace(B))


def last_layer(second: Floats, y: Floats, degree: int) -> Floats:
    """Least squares of y by a polynomial of the second layer; a curved one is constant in the far tails."""
    powers = np.vander(_held(second, degree), degree + 1, increasing=True)
    coefficients, *_ = np.linalg.lstsq(powers, y, rcond=None)
    return np.asarray(coefficients)


def upper_layers(found: Found, first: Floats, y: Floats, spectrum: Floats | None) -> Layers:
    """Fit the second and the last layer on fresh samples, by their values of the first."""
    B = second_layer(first, y)
    second = outputs(first, B)
    scale = float(np.std(second)) or 1.0
    return Layers(found, B, last_layer(second / scale, y, 1), last_layer(second / scale, y, CURVED), scale, spectrum)


def predicted(layers: Layers, first: Floats, *, curved: bool = False) -> Floats:
    """Labels that the layers give to samples, by their values of the first."""
    second = outputs(first, layers.B) / layers.scale
    polynomial = layers.curve if curved else layers.line
    return np.asarray(np.polynomial.polynomial.polyval(_held(second, len(polynomial) - 1), polynomial))


def _held(second: Floats, degree: int) -> Floats:
    return second if degree == 1 else np.clip(second, -FAR, FAR)
