"""Ways to learn a compositional target: layer by layer, and the shallow ones beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

from presage.protocol.fields import Choice, Number, declared
from presage.protocol.trainer import Trainer

PASSES = Number("most passes over the samples", at_least=2, at_most=100, whole=True, example=15)
OVERSAMPLING = Number("directions beside those of the features", at_least=0, at_most=1000, whole=True, example=6)
TOL = Number("change of the learned space at which passes end", above=0.0, at_most=0.1, example=1e-4)
METHOD = Choice(
    'eigenvectors of C: "krylov", without ever forming it, or "dense", which gives its whole spectrum',
    options=("krylov", "dense"),
    default="krylov",
    reason="it says how eigenvectors are found",
)
KERNEL = Choice(
    "kernel of the inputs",
    options=("polynomial", "rbf"),
    default="polynomial",
    reason="kernels are functions of x'x/d or of |x - x'|^2",
)
WIDTH = Number("number of random features", at_least=1, at_most=1_000_000, whole=True, example=2000)
RIDGES = Number("strengths of the ridge that are tried", at_least=1, at_most=50, whole=True, example=7)


@final
@dataclass(frozen=True)
class LayerWise(Trainer):
    """Eigenvectors of C are the first layer, a matrix of their products the second, a line the last.

    Passes over the samples build a space of powers of C, in which the eigenvectors are looked for; they end where the
    learned space moves by less than `tol`, at most after `passes`.
    """

    passes: int = field(default=15, metadata=declared(PASSES))
    oversampling: int = field(default=6, metadata=declared(OVERSAMPLING))
    tol: float = field(default=1e-4, metadata=declared(TOL))
    method: Literal["krylov", "dense"] = field(default="krylov", metadata=declared(METHOD))


@final
@dataclass(frozen=True)
class KernelRidge(Trainer):
    """Ridge regression by a kernel of the inputs, with scikit-learn; a tenth of the data chooses its strength.

    The polynomial kernel is ``(1 + x'x/d)^(2q)``, the Gaussian one ``exp(-|x - x'|^2/(2d))``: both see as many degrees
    as the labels have. It is no layer-wise learner, and is not compared with its theory.
    """

    kernel: Literal["polynomial", "rbf"] = field(default="polynomial", metadata=declared(KERNEL))
    ridges: int = field(default=7, metadata=declared(RIDGES))


@final
@dataclass(frozen=True)
class RandomFeatures(Trainer):
    """Ridge regression on random features ``(w'x/sqrt(d) + b)^(2q)``; a tenth of the data chooses its strength."""

    width: int = field(default=2000, metadata=declared(WIDTH))
    ridges: int = field(default=7, metadata=declared(RIDGES))
