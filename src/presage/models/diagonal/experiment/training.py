"""Learning a vector: the minimum of the LASSO in two ways, and of the diagonal network itself."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.errors import TrainError
from presage.training.accelerated import Iterate, accelerated
from presage.training.curvature import MARGIN, power_iteration
from presage.training.duality import LOOK, relative_gap
from presage.training.history import History
from presage.training.quasi_newton import quasi_newton

SMALLEST = 1e-18  # tolerance of scikit-learn beyond which rounding is all there is
TIGHTER = 0.1  # how much closer scikit-learn is asked to come when its own rule, relative to |y|^2, ends too early


@final
@dataclass(frozen=True, eq=False)
class DiagonalFit:
    """A trained vector, and how near it is to the minimum."""

    theta: Floats = field(repr=False)
    loss: float  # whole, penalty included
    error: float  # sum of the squared errors alone
    gap: float  # (loss - lower bound by duality)/loss
    support: Floats = field(repr=False)  # which entries are not zero
    steps: int
    converged: bool
    history: Floats = field(repr=False)  # rows (seconds, whole loss), one a step, or a call of scikit-learn


class Data(NamedTuple):
    """Samples ``A = X/sqrt(d)``, their labels, and the weight decay of the network that learns them."""

    A: Floats
    labels: Floats
    weight_decay: float

    def square_error(self, theta: Floats) -> Iterate:
        """Sum of the squared errors and its gradient."""
        residual = self.A @ theta - self.labels
        return Iterate(theta, float(residual @ residual), 2.0 * (residual @ self.A))

    def penalty(self, theta: Floats) -> float:
        """Weight decay of the two factors where these are balanced: ``2 lambda |theta|_1``."""
        return 2.0 * self.weight_decay * float(np.abs(theta).sum())

    def curvature(self, rng: np.random.Generator) -> float:
        """Largest curvature of the square error."""
        start = rng.standard_normal(self.A.shape[1:])
        return MARGIN * power_iteration(lambda theta: 2.0 * ((self.A @ theta) @ self.A), start, rtol=1e-3)[0]

    def gap(self, here: Iterate, loss: float) -> float:
        """Relative duality gap: a dual point is allowed while its product with A is at most ``2 lambda`` anywhere."""
        if here.value == 0.0:
            return 0.0 if loss == 0.0 else inf
        steepest = float(np.abs(here.gradient).max())
        along = 2.0 * here.value - float(here.gradient @ here.X)
        largest = 2.0 * self.weight_decay / steepest if steepest > 0.0 else inf
        return relative_gap(loss, here.value, along, curvature=here.value, largest=largest)

    def step(self, theta: Floats, gradient: Floats, curvature: float) -> Floats:
        """One proximal step: down the gradient, then every entry towards zero."""
        stepped = theta - gradient / curvature
        return np.asarray(np.sign(stepped) * np.maximum(np.abs(stepped) - 2.0 * self.weight_decay / curvature, 0.0))


def train_coordinates(data: Data, *, tol: float, steps: int) -> DiagonalFit:
    """Coordinate descent by scikit-learn, until the loss is proven within `tol` of its minimum.

    scikit-learn minimises ``|y - A theta|^2/(2n) + alpha |theta|_1``: with ``alpha = lambda/n``, our loss over 2n.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso as CoordinateDescent

    n, d = data.A.shape
    A = np.asfortranarray(data.A)
    solver = CoordinateDescent(
        alpha=data.weight_decay / n, fit_intercept=False, precompute=n > d, warm_start=True, tol=tol, max_iter=steps
    )
    passed, gap, history = 0, inf, History()
    with warnings.catch_warnings():  # how near it came is measured here
        warnings.simplefilter("ignore", ConvergenceWarning)
        while True:
            solver.set_params(max_iter=steps - passed)
            solver.fit(A, data.labels)
            passed += int(solver.n_iter_)
            theta = np.array(solver.coef_, dtype=np.float64)
            here = data.square_error(theta)
            loss = here.value + data.penalty(theta)
            history.record(loss)
            gap = data.gap(here, loss)
            if gap <= tol or passed >= steps or solver.tol < SMALLEST:
                break
            solver.set_params(tol=TIGHTER * solver.tol)
    return DiagonalFit(theta, loss, here.value, gap, theta != 0.0, passed, gap <= tol, history.rows)


def train_proximal(data: Data, rng: np.random.Generator, *, tol: float, steps: int) -> DiagonalFit:
    """FISTA [BT09] with restart [OC15] on the vector, until the loss is proven within `tol` of its minimum."""
    history = History()
    curvature = data.curvature(rng)
    start = data.square_error(np.zeros(data.A.shape[1]))
    descent = accelerated(start, data.square_error, lambda theta, slope: data.step(theta, slope, curvature))
    for iteration, here in enumerate(descent, start=1):
        loss = here.value + data.penalty(here.X)
        history.record(loss)
        if iteration % LOOK == 0 or iteration == steps:
            if not np.isfinite(loss):
                raise TrainError(f"The training left the finite numbers at step {iteration}.", "Check the data.")
            gap = data.gap(here, loss)
            if gap <= tol or iteration == steps:
                break
    return DiagonalFit(here.X, loss, here.value, gap, here.X != 0.0, iteration, gap <= tol, history.rows)


def train_factors(data: Data, rng: np.random.Generator, *, tol: float, steps: int, memory: int = 20) -> DiagonalFit:
    """L-BFGS on the factors of ``theta = u * v``, each with its weight decay, from a random start.

    The loss is not convex in them, but every minimum is one of the vector: where ``u_i = v_i = 0`` is no minimum it is
    a saddle point. Training leaves nothing exactly zero: the support is what one proximal step leaves.
    """
    last: list[Iterate] = []
    asked, history = 0, History()

    def value_and_gradient(factors: Floats) -> tuple[float, Floats]:
        u, v = factors
        here = data.square_error(u * v)
        last[:] = [here]
        value = here.value + data.weight_decay * float(np.sum(factors**2))
        return value, here.gradient * factors[::-1] + 2.0 * data.weight_decay * factors

    def done(loss: float) -> bool:
        nonlocal asked
        asked += 1
        history.record(loss)
        return asked % LOOK == 0 and data.gap(last[0], loss) <= tol

    start = rng.standard_normal((2, data.A.shape[1]))
    found = quasi_newton(value_and_gradient, start, steps=steps, evaluations=2 * steps, memory=memory, done=done)
    here = data.square_error(found.X[0] * found.X[1])
    gap = data.gap(here, found.value)
    kept = data.step(here.X, here.gradient, data.curvature(rng)) != 0.0
    return DiagonalFit(here.X, found.value, here.value, gap, kept, found.steps, gap <= tol, history.rows)
