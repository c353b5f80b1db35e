"""Learning layer by layer: tuples that say the same about the class are made one symbol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from presage.models.random_hierarchy.experiment.data import Integers, Samples, tuples_of
from presage.models.random_hierarchy.experiment.purity import purity
from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import Trainer

Floats = NDArray[np.float64]
CLUSTERS = Number(
    "clusters of each level; as many as symbols where it is left out",
    at_least=1,
    at_most=100_000,
    whole=True,
    optional=True,
    example=8,
    reason="tuples are put into so many clusters at each level",
    remedy="Leave it out for as many as there are symbols.",
)
RESTARTS = Number("starts of k-means, of which the best is kept", at_least=1, at_most=10_000, whole=True, example=8)


@final
@dataclass(frozen=True)
class LayerwiseClustering(Trainer):
    """Clustering level by level, by k-means of scikit-learn, the extra ``learn``.

    At each level, for every tuple of s neighbouring symbols and every position, the classes of the samples that have it
    are counted, which estimates ``P(class|tuple) - 1/n_c``. What a tuple says at all positions is one point, the points
    are clustered, and each tuple is replaced by the number of its cluster. At the top every tuple has the class of most
    of its samples. The loss that is minimised is the inertia of the clusters of each level.
    """

    clusters: int | None = field(default=None, metadata=declared(CLUSTERS))
    restarts: int = field(default=8, metadata=declared(RESTARTS))

    def number(self, problem: RandomHierarchyProblem) -> int:
        """Clusters of each level."""
        return problem.symbols if self.clusters is None else self.clusters


class Learned(NamedTuple):
    """What a learner shows on fresh samples."""

    accuracy: float
    purity: Floats  # of every level that is clustered, the lowest first


def learn_by_clustering(
    problem: RandomHierarchyProblem,
    trainer: LayerwiseClustering,
    training: Samples,
    fresh: Samples,
    rng: np.random.Generator,
) -> Learned:
    """Learn from samples, and read fresh ones."""
    v, s, n_c = problem.symbols, problem.branching, problem.n_classes
    clusters = trainer.number(problem)
    seen, new, alphabet = training.inputs, fresh.inputs, v
    pure = []
    for symbols in fresh.symbols:
        tuples, new_tuples = tuples_of(seen, alphabet, s), tuples_of(new, alphabet, s)
        points, known = points_of(tuples, training.classes, alphabet**s, n_c)
        names = np.zeros(alphabet**s, dtype=np.int64)  # a tuple that was never seen has the name of the first cluster
        names[known] = cluster(points, clusters, trainer.restarts, rng)
        seen, new, alphabet = names[tuples], names[new_tuples], clusters
        pure.append(purity(new, symbols))
    counts = count(tuples_of(seen, alphabet, s), training.classes, alphabet**s, n_c)[0]
    classes = counts.argmax(axis=1)[tuples_of(new, alphabet, s)[:, 0]]
    return Learned(float(np.mean(classes == fresh.classes)), np.array(pure))


def count(tuples: Integers, classes: Integers, different: int, n_c: int) -> Floats:
    """How often each tuple is seen at each position with each class: (position, tuple, class)."""
    positions = tuples.shape[1]
    place = (np.arange(positions) * different + tuples) * n_c + classes[:, None]
    counts = np.bincount(place.ravel(), minlength=positions * different * n_c)
    return counts.reshape(positions, different, n_c).astype(np.float64)


def points_of(tuples: Integers, classes: Integers, different: int, n_c: int) -> tuple[Floats, Integers]:
    """What each tuple that was seen says about the class at all positions, and which tuples these are."""
    counts = count(tuples, classes, different, n_c)
    total = counts.sum(axis=2)
    known = np.flatnonzero(total.sum(axis=0))
    counts, total = counts[:, known], total[:, known, None]
    says = np.where(total > 0.0, counts / np.maximum(total, 1.0) - 1.0 / n_c, 0.0)
    return says.transpose(1, 0, 2).reshape(len(known), -1), known


def cluster(points: Floats, clusters: int, restarts: int, rng: np.random.Generator) -> Integers:
    """The cluster of each point by k-means; points that are fewer than clusters, or equal, have one each."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    seed = int(rng.integers(2**31))
    different, names = np.unique(points, axis=0, return_inverse=True)
    if len(different) <= clusters:
        return np.asarray(names.ravel(), dtype=np.int64)
    with threadpool_limits(1):  # sums in one order, whatever the number of cores
        return np.asarray(KMeans(clusters, n_init=restarts, random_state=seed).fit(points).labels_, dtype=np.int64)
