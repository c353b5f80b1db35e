"""Weights to prediction and back: networks that presage trained show the noise and the features that it predicts.

`read_head` is given the weights and nothing else; `solve` is given the problem and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import presage as ps

FEATURE = 5.0
TARGET = ps.PointMasses([0.0, FEATURE], [0.94, 0.06])
CELLS = [(0.5, 0.05, 100), (1.0, 0.02, 100), (0.25, 0.1, 150)]  # alpha, weight decay, d: 24 values or more are not zero

# Over seeds a*delta spreads by 3 to 5 % of a network, c/delta by 0.01 to 0.03: means of three are well inside of these.
NOISE, CUTOFF, STRENGTH = 0.08, 0.05, 0.12  # relative, absolute, relative


class Found(NamedTuple):
    """What weights can tell: the units of the weights and those of the target are not known from them."""

    noise: float  # a delta
    cutoff: float  # c/delta
    strength: float  # theta/delta


def problem(alpha: float, weight_decay: float) -> ps.Problem:
    return ps.attention(TARGET, alpha=alpha, weight_decay=weight_decay, noise=0.5)


def predicted(solution: ps.Solution, *, delta: float = 1.0, cutoff: float = 1.0, scale: float = 1.0) -> Found:
    """From the order parameters; factors plant a fault."""
    noise, cut, a = delta * solution.delta, cutoff * solution.cutoff, scale * solution.scale
    return Found(a * noise, cut / noise, FEATURE / noise)


def factor(S: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """A factor W/(m d)^(1/4) of S of this width, in a random frame: the loss knows W W' and |W|^2 alone."""
    values, vectors = (found[..., -width:] for found in np.linalg.eigh(S))
    frame = np.linalg.qr(rng.standard_normal((width, width)))[0]
    return vectors * np.sqrt(np.maximum(values, 0.0)) @ frame


def reports(networks: ps.Ensemble) -> list[ps.HeadReport]:
    """Heads as narrow as the rank that was certified: gradients stop before values that go to zero are there."""
    rng = np.random.default_rng(0)
    ranks = np.round(networks.values("rank") * networks.d).astype(int)
    return [ps.read_head(factor(S, rank, rng)) for S, rank in zip(networks.values("weights"), ranks, strict=True)]


def mean(heads: list[ps.HeadReport]) -> Found:
    noise, cutoff = (float(np.mean([getattr(head, name) for head in heads])) for name in ("delta", "cutoff"))
    return Found(noise, cutoff, float(np.mean([head.strengths for head in heads])))


def agree(read: Found, said: Found) -> bool:
    noise, strength = abs(read.noise / said.noise - 1.0), abs(read.strength / said.strength - 1.0)
    return noise < NOISE and strength < STRENGTH and abs(read.cutoff - said.cutoff) < CUTOFF


def assert_weights_tell_what_is_predicted(alpha, weight_decay, d, trainer, seeds):
    one = problem(alpha, weight_decay)
    solution = ps.solve(one)
    networks = ps.simulate(one, d=d, seeds=seeds, trainer=trainer, n_test=100, keep="weights", processes=1)
    heads = reports(networks)
    for head in heads:
        assert head.fit is not None, head.sentence  # it need not be named: few values fit other laws as well
        assert (head.fit.law, head.spikes) == ("shrunk-tied", round(0.06 * d))
        assert head.p_bulk >= 0.01
        assert head.at_least == head.spikes
        # Equal features repel each other, so that their mean is what is predicted.
        assert head.strengths.mean() == pytest.approx(FEATURE / solution.delta, rel=STRENGTH)
    read = mean(heads)
    assert agree(read, predicted(solution))
    for wrong in (np.sqrt(2.0), np.sqrt(0.5)):
        assert not agree(read, predicted(solution, delta=wrong))
        assert not agree(read, predicted(solution, scale=wrong))
        if solution.cutoff > 0.2 * solution.delta:  # a smaller one cannot be told from another by these networks
            assert not agree(read, predicted(solution, cutoff=wrong))


@pytest.mark.slow
def test_weights_of_a_network_tell_the_noise_the_cutoff_and_the_features_that_are_predicted():
    assert_weights_tell_what_is_predicted(*CELLS[0], ps.AMP(), 2)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "weight_decay", "d"), CELLS)
def test_factors_trained_by_gradients_tell_what_is_predicted(alpha, weight_decay, d):
    assert_weights_tell_what_is_predicted(alpha, weight_decay, d, ps.LBFGS(), 3)


def test_a_factor_has_the_eigenvalues_of_its_network():
    S = np.diag([3.0, 1.0, 0.0])
    for width in (2, 3):
        W = factor(S, width, np.random.default_rng(1))
        assert W.shape == (3, width)
        assert np.allclose(W @ W.T, S)
