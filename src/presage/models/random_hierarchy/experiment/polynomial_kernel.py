"""A shallow learner: ridge regression with a polynomial kernel on the whole input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.models.random_hierarchy.experiment.data import Integers, Samples
from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import Trainer

BLOCK = 1000  # fresh samples that are read at a time
DEGREE = Number("degree of the polynomial", at_least=1, at_most=64, whole=True, example=4)
RIDGE = Number("ridge over the kernel of an input with itself", above=0.0, at_most=1e6, example=0.1)


@final
@dataclass(frozen=True)
class PolynomialKernel(Trainer):
    """Kernel ridge regression of the classes on the one-hot input, by scikit-learn, the extra ``learn``.

    The kernel is ``(1 + <x, x'>/d)^degree``, where the product counts the positions at which two inputs agree. It has
    no layers, and no prediction is about it: it is what learning layer by layer is set beside.
    """

    degree: int = field(default=4, metadata=declared(DEGREE))
    ridge: float = field(default=0.1, metadata=declared(RIDGE))


def learn_by_kernel(
    problem: RandomHierarchyProblem, trainer: PolynomialKernel, training: Samples, fresh: Samples
) -> float:
    """Accuracy on fresh samples."""
    from sklearn.kernel_ridge import KernelRidge

    v, d = problem.symbols, problem.own_dimension
    targets = np.eye(problem.n_classes)[training.classes] - 1.0 / problem.n_classes
    ridge = trainer.ridge * 2.0**trainer.degree  # the kernel of an input with itself
    fit = KernelRidge(alpha=ridge, kernel="poly", degree=trainer.degree, gamma=1.0 / d, coef0=1.0)
    fit.fit(one_hot(training.inputs, v), targets)
    right = 0
    for start in range(0, len(fresh.classes), BLOCK):
        scores = fit.predict(one_hot(fresh.inputs[start : start + BLOCK], v))
        right += int(np.sum(scores.argmax(axis=1) == fresh.classes[start : start + BLOCK]))
    return right / len(fresh.classes)


def one_hot(inputs: Integers, v: int) -> NDArray[np.float64]:
    """A one for each symbol, at its place among the v of its position."""
    return np.asarray((inputs[..., None] == np.arange(v)).reshape(len(inputs), -1), dtype=np.float64)
