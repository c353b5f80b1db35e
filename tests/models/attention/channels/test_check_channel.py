"""check_channel finds what is wrong with a channel, says it in a sentence, and never raises."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps


class Good(ps.Channel):
    n_tokens = 1

    def output(self, z):
        return np.tanh(np.asarray(z)[..., 0])

    def loss(self, label, output):
        return (label - output) ** 2

    def slope(self, label, z):
        t = np.tanh(z)
        return 2 * (t - label[..., None]) * (1 - t**2)


class WrongSlope(Good):
    def slope(self, label, z):
        return 2 * (np.tanh(z) - label[..., None])


class WrongCurvature(Good):
    def curvature(self, label, z):
        return 2 * (1 - np.tanh(z)[..., None] ** 2) ** 2  # without the bend of the output


class SlopeOfAnotherShape(Good):
    def slope(self, label, z):
        return super().slope(label, z)[..., 0]


class Logistic(ps.Channel):
    n_tokens = 1
    labels: tuple[float, ...] = (-1.0, 1.0)

    def output(self, z):
        return np.asarray(z)[..., 0]

    def loss(self, label, output):
        return np.logaddexp(0, -label * output)

    def likelihood(self, label, z_0):
        return 1 / (1 + np.exp(-label * z_0[..., 0]))


class WrongLikelihood(Logistic):
    def likelihood(self, label, z_0):
        return 1 / (1 + np.exp(-z_0[..., 0]))


class MissingLabel(Logistic):
    labels = (1.0,)


class NegativeLikelihood(Logistic):
    def likelihood(self, label, z_0):
        return 0.5 + 0.5 * label * z_0[..., 0]


class NotVectorised(Good):
    def output(self, z):
        return np.sum(np.asarray(z) ** 2)


class MixesSamples(Good):
    def output(self, z):
        first = np.asarray(z)[..., 0]
        return first - first.mean()


class Random(Good):
    def output(self, z):
        return np.asarray(z)[..., 0] + np.random.default_rng().standard_normal()


class ChangesItsArgument(Good):
    def output(self, z):
        z[..., 0] *= 2.0
        return z[..., 0]


class LossOfAMatrix(Good):
    n_tokens = 2

    def output(self, z):
        return self.matrix(z)


class Overflows(Logistic):
    def loss(self, label, output):
        return np.log(1 + np.exp(-20 * label * output))


class Flat(Good):
    def output(self, z):
        return np.sign(np.asarray(z)[..., 0])

    slope = ps.Channel.slope


class Kinked(Good):
    def output(self, z):
        return np.asarray(z)[..., 0]

    def loss(self, label, output):
        return np.abs(label - output)

    slope = ps.Channel.slope


class WrongProx(Good):
    def prox(self, z_0, z, Sigma):
        return np.asarray(z)


class BlindBasis(Good):
    n_tokens = 2

    @property
    def active_basis(self):
        return np.eye(3)[:, 1:]

    slope = ps.Channel.slope


class SkewBasis(BlindBasis):
    @property
    def active_basis(self):
        return np.ones((3, 2))


class MiscountsDirections(Good):
    n_active = 2


class NoTokens(ps.Channel):
    def output(self, z):
        return z


class Raises(Good):
    def output(self, z):
        raise KeyError("weights")


@pytest.mark.parametrize(
    "channel",
    [
        Good(),
        Logistic(),
        ps.Linear(2),
        ps.Softmax(2, 1.5),
        ps.Softmax(3),
        ps.PairComparison(2.0, 0.5),
        ps.Huber(2, 0.4),
    ],
    ids=lambda channel: type(channel).__name__,
)
def test_nothing_is_found_in_a_good_channel(channel):
    report = ps.check_channel(channel)
    assert report.ok, str(report)
    assert report.findings == ()
    assert "nothing found" in str(report)
    assert "proximal map" in str(report)


@pytest.mark.parametrize(
    ("channel", "sentence"),
    [
        (WrongSlope(), "slope(label, z) is not the derivative of the loss"),
        (WrongCurvature(), "curvature(label, z) is not the derivative of the loss"),
        (SlopeOfAnotherShape(), "slope(label, z) has the shape"),
        (WrongLikelihood(), "not to one"),
        (MissingLabel(), "`labels` must hold every label"),
        (NegativeLikelihood(), "is negative"),
        (NotVectorised(), "the first axis must be that of z"),
        (MixesSamples(), "so that samples do not mix"),
        (Random(), "different at each call"),
        (ChangesItsArgument(), "work on a copy of z"),
        (LossOfAMatrix(), "it must be one number a sample"),
        (Overflows(), "without overflow"),
        (Flat(), "Replace a step by a smooth output"),
        (Kinked(), "round it off"),
        (WrongProx(), "the prox of the class is wrong"),
        (BlindBasis(), "sees a direction that active_basis leaves out"),
        (SkewBasis(), "orthonormal columns"),
        (MiscountsDirections(), "leave n_active out"),
        (NoTokens(), "n_tokens is None"),
        (Raises(), "the channel raised KeyError: 'weights'"),
        (3, "derive the class from presage.Channel"),
        (Good, "derive the class from presage.Channel"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_is_wrong_is_said(channel, sentence):
    report = ps.check_channel(channel)
    assert not report.ok
    assert sentence in " ".join(report.findings)
    assert sentence in str(report)
