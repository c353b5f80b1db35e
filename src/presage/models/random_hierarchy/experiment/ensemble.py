"""What learners of a hierarchy show: the observables of `RandomHierarchySolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.models.random_hierarchy.declaration import ACCURACY, MEASURED
from presage.models.random_hierarchy.experiment.layerwise_clustering import LayerwiseClustering
from presage.models.random_hierarchy.experiment.polynomial_kernel import PolynomialKernel
from presage.protocol.ensemble import Ensemble, Floats
from presage.protocol.observables import Observable

# The error bars were chosen beside learners of 8 starts. With 16 symbols and more, 8 starts lose up to a twentieth of
# the accuracy to partitions that 64 or 400 starts leave.
STARTS, MANY_CLUSTERS, STARTS_OF_EACH = 8, 12, 4


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class RandomHierarchyEnsemble(Ensemble):
    """Learners of one hierarchy, each with rules and samples of its own. A failed seed has NaN and a reason."""

    accuracy: Floats = field(repr=False)  # part of fresh samples whose class is right
    bottom_purity: Floats = field(repr=False)  # part of the lowest tuples of the commonest symbol of their cluster
    top_purity: Floats = field(repr=False)  # the same at the highest level that is clustered
    purity: Floats = field(repr=False)  # of every level that is clustered, the lowest first, one row a seed
    n_test: int = 4000

    observables = MEASURED
    arrays = ("purity",)
    noun = "learners"

    @property
    def measured(self) -> tuple[Observable, ...]:
        """What is measured of them; a kernel has no levels that could be pure."""
        return (ACCURACY,) if isinstance(self.trainer, PolynomialKernel) else MEASURED

    @property
    def unpredicted(self) -> str:
        """Why no prediction is about these learners: a kernel has no layers, and the number of clusters is given."""
        trainer, v = self.trainer, self.problem.symbols
        if isinstance(trainer, PolynomialKernel):
            return "the prediction is for learning layer by layer, and a kernel has no layers"
        if isinstance(trainer, LayerwiseClustering) and trainer.number(self.problem) != v:
            return f"the prediction is for {v} clusters, as many as symbols, and these learners have {trainer.clusters}"
        return ""

    @property
    def departures(self) -> tuple[str, ...]:
        """What the count of partitions does not assume: gradients, and few starts of k-means."""
        trainer = self.trainer
        if not isinstance(trainer, LayerwiseClustering):
            return (
                "the prediction counts clusters of k-means, and these learners are trained by gradients: what they "
                "differ by is no error of either.",
            )
        v = self.problem.symbols
        enough = STARTS_OF_EACH * v if v >= MANY_CLUSTERS else STARTS
        if trainer.restarts < enough:
            return (
                f"the prediction is for the partition of least inertia, which k-means from {trainer.restarts} starts "
                f"can miss among {v} clusters: use LayerwiseClustering(restarts={enough}).",
            )
        return ()
