"""What samples say about the new target in the Bayes-optimal state, at the points of one rule."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.theory.rules.sobol import scattered_points
from presage.models.lora.bayes.linear_posterior import linear_moments
from presage.models.lora.bayes.pair_posterior import pair_moments
from presage.models.lora.problem import LoraProblem


class SampleBeliefs(ABC):
    """Fixed points of samples: what is seen, the target's projections, and what a field has beside them."""

    strength: float
    chi: Floats  # n x T
    xi: Floats

    def fields(self, q: float) -> Floats:
        """Fields of a posterior mean of squared size q: ``(q/q_0) chi_0 + sqrt(q - q^2/q_0) xi``."""
        q_0 = self.strength
        return np.asarray((q / q_0) * self.chi + np.sqrt(max(q - q * q / q_0, 0.0)) * self.xi)

    @abstractmethod
    def means(self, q: float) -> Floats:
        """Posterior means of chi at a state, n x T."""

    @abstractmethod
    def excess(self) -> Floats:
        """``|E[chi chi' | sample]/q_0 - 1|_F^2`` of each sample where nothing is known before, n."""

    def precision(self, q: float) -> float:
        """``E|g|^2`` with ``g = (E chi - omega)/V`` and ``V = q_0 - q``."""
        g = (self.means(q) - self.fields(q)) / (self.strength - q)
        return float(np.mean(np.sum(g * g, axis=1)))


def beliefs_of(problem: LoraProblem, noise: float, nodes: int, seed: int) -> SampleBeliefs:
    """The rule for a problem, in which the frozen layer leaves so much noise."""
    T, q_0 = problem.n_tokens, problem.strength
    L = T * (T + 1) // 2
    numbers = scattered_points(2 * T + L, nodes, seed)
    chi, xi = np.sqrt(q_0) * numbers[:, :T], numbers[:, T : 2 * T]
    seen = chi[:, :, None] * chi[:, None, :]
    seen += np.sqrt(noise) * problem.pretraining.channel.matrix(numbers[:, 2 * T :])
    return LinearBeliefs(seen, chi, xi, noise, q_0) if problem.linear else PairBeliefs(seen, chi, xi, noise, q_0)


class LinearBeliefs(SampleBeliefs):
    """Any number of tokens of a linear output, each sample in the eigenbasis of what it shows."""

    def __init__(self, seen: Floats, chi: Floats, xi: Floats, noise: float, strength: float) -> None:
        self.noise, self.strength = noise, strength
        self.values, vectors = np.linalg.eigh(seen)
        self.chi = np.einsum("nij,ni->nj", vectors, chi)
        self.xi = np.einsum("nij,ni->nj", vectors, xi)

    def _moments(self, fields: Floats, V: float) -> tuple[Floats, Floats]:
        means, squares = np.empty_like(fields), np.empty_like(fields)
        linear_moments(self.values, fields, V, self.noise, means, squares)
        return means, squares

    def means(self, q: float) -> Floats:
        return self._moments(self.fields(q), self.strength - q)[0]

    def excess(self) -> Floats:
        squares = self._moments(np.zeros_like(self.chi), self.strength)[1]
        return np.asarray(np.sum((squares / self.strength - 1.0) ** 2, axis=1))


class PairBeliefs(SampleBeliefs):
    """Two tokens of a softmax, in the basis along and across (1, 1)."""

    def __init__(self, seen: Floats, chi: Floats, xi: Floats, noise: float, strength: float) -> None:
        self.noise, self.strength = noise, strength
        turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
        self.chi, self.xi = chi @ turn, xi @ turn
        turned = turn @ seen @ turn
        self.crossed, self.along = np.ascontiguousarray(turned[:, 0, 1]), np.ascontiguousarray(turned[:, 1, 1])

    def _moments(self, fields: Floats, V: float) -> Floats:
        out = np.empty((len(fields), 5))
        pair_moments(self.crossed, self.along, fields, V, self.noise, out)
        return out

    def means(self, q: float) -> Floats:
        return self._moments(self.fields(q), self.strength - q)[:, :2]

    def excess(self) -> Floats:
        moments = self._moments(np.zeros_like(self.chi), self.strength) / self.strength
        return np.asarray((moments[:, 2] - 1.0) ** 2 + 2.0 * moments[:, 3] ** 2 + (moments[:, 4] - 1.0) ** 2)
