"""What trained networks show: the observables of `Solution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.attention.declaration import ESTIMATION_ERROR, MEASURED, TEST_ERROR
from presage.models.attention.experiment.features import Frame, Parts, directions, features
from presage.models.attention.experiment.features import parts as measured_parts
from presage.models.attention.experiment.followed import OF_A_MATRIX, WITHOUT_SAMPLES, observables_of
from presage.models.attention.experiment.tokens import Gaussian, Tokens
from presage.protocol import checks
from presage.protocol.ensemble import Ensemble
from presage.protocol.observables import Observable


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Networks(Ensemble):
    """Networks of one problem and one dimension, trained on independent data. A failed seed has NaN and a reason.

    Where they are kept, `features` has for each seed the rows ``s_i``, ``v_i' S_fit v_i`` and ``|S_fit v_i|^2`` along
    the eigenvectors of the target, and `directions` the rows ``f_k`` and ``w_k' S_0 w_k`` of those of S_fit, both from
    the largest eigenvalue on.
    """

    test_error: Floats = field(repr=False)  # loss a fresh, noisy sample
    train_loss: Floats = field(repr=False)  # the whole loss reached, penalty included, over d^2
    train_error: Floats = field(repr=False)  # loss a sample
    estimation_error: Floats = field(repr=False)  # |S_fit - S_0|_F^2/d
    rank: Floats = field(repr=False)  # fraction of non-zero eigenvalues of S_fit
    m: Floats = field(repr=False)  # Tr(S_fit S_0)/d
    q: Floats = field(repr=False)  # |S_fit|_F^2/d
    eigenvalues: Floats = field(repr=False)  # of S_fit, increasing, one row a seed
    residual: Floats = field(repr=False)  # of the subgradient, relative: 0 at a minimum
    gap: Floats = field(repr=False)  # relative duality gap; inf where the loss is not convex
    converged: NDArray[np.bool_] = field(repr=False)  # whether the trainer's stopping rule was met
    evaluations: NDArray[np.int64] = field(repr=False)  # passes over the data
    seconds: Floats = field(repr=False)
    # Samples fitted exactly, to the accuracy of the training; NaN where that is not proven by a duality gap.
    fitted: Floats | None = field(default=None, repr=False)
    task: str = "label"
    tokens: Tokens = Gaussian()  # noqa: RUF009 - frozen
    centring: str = "trace"
    dtype: str = "float64"
    n_test: int = 20_000

    observables = MEASURED
    also_measured = ("m", "q")
    arrays = ("eigenvalues",)

    @property
    def followed(self) -> tuple[Observable, ...]:  # type: ignore[override]
        """What is measured at every time, where that was kept: it depends on the trainer."""
        return observables_of(self.trainer)

    @property
    def measured(self) -> tuple[Observable, ...]:
        """What is measured of them; where no loss of samples is minimised, errors only."""
        if isinstance(self.trainer, WITHOUT_SAMPLES) or not self.trainer.minimises:
            return (TEST_ERROR, ESTIMATION_ERROR)
        return MEASURED

    @property
    def unpredicted(self) -> str:
        """Networks that were stopped on their way: `solve` predicts the end, and `trajectory` the way."""
        if isinstance(self.trainer, (*WITHOUT_SAMPLES, *OF_A_MATRIX)):
            return "they were stopped on their way, which `trajectory` predicts, and this is a prediction of the end"
        return ""

    @property
    def singular_values(self) -> Floats:
        """Singular values of ``W_fit/(m d)^(1/4)``, increasing, one row a seed."""
        if not self.problem.penalty.factorized:
            raise AttributeError(
                "`singular_values` are those of a factor W, and this model trains S itself. "
                "Use `eigenvalues`, those of S."
            )
        return np.sqrt(np.maximum(self.eigenvalues, 0.0))

    @property
    def has_features(self) -> bool:
        """Whether parts of the error can be told: the features were kept, or the weights that they follow from."""
        return self.features is not None or self.weights is not None

    def parts(self, *, split: float, threshold: float, scale: float = 1.0) -> Parts:
        """Parts of ``|S_fit/scale - S_0|_F^2/d`` of every network that has a result, at a given cut.

        Eigenvalues of ``S_fit/scale`` up to `split` count as noise, features of the target above `threshold` as
        learned; a prediction says where: its `decomposition` has all three.
        """
        return measured_parts(*self._features_and_directions, split, threshold, scale)

    def feature_values(self, *, scale: float = 1.0) -> tuple[Floats, Floats]:
        """``F_i = v_i' S_fit v_i`` and ``e_i = |S_fit v_i/scale - s_i v_i|^2``, one row a network that has a result."""
        s, along, square = np.moveaxis(self._features_and_directions[0], 1, 0)
        return along, square / scale**2 - 2.0 * s * along / scale + s * s

    @cached_property
    def _features_and_directions(self) -> tuple[Floats, Floats]:
        if self.features is not None and self.directions is not None:
            return self.values("features"), self.values("directions")
        if self.weights is None:
            reason, remedy = "features are not kept unless they are asked for", 'Train with <keep="features">.'
            raise checks.complaint("networks", "have kept their features", reason, repr(self), remedy)
        pairs = list(zip(self.values("weights"), self.values("targets"), strict=True))
        found = [(features(S, Frame.of(S_0)), directions(S, S_0)) for S, S_0 in pairs]
        first, second = (np.stack(column) for column in zip(*found, strict=True))
        return first, second

    @property
    def conditions(self) -> dict[str, str]:
        """Task, tokens, centring and precision, in words."""
        tokens, centring = type(self.tokens).__name__, f"by the {self.centring}"
        return {"task": self.task, "tokens": tokens, "centring": centring, "precision": self.dtype}

    @property
    def departures(self) -> tuple[str, ...]:
        """Tokens that are not Gaussian: the prediction is for those that are."""
        if isinstance(self.tokens, Gaussian):
            return ()
        kind = type(self.tokens).__name__
        return (f"the networks saw {kind} tokens, and the prediction is for Gaussian ones.",)
