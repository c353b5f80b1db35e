"""Limited-memory quasi-Newton descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from presage.laws.spectral_law import Floats


class Descended(NamedTuple):
    """Where the descent ended, the loss there, and the steps that it took."""

    X: Floats
    value: float
    steps: int


def quasi_newton(
    value_and_gradient: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    steps: int,
    evaluations: int,
    memory: int,
    rtol: float = 0.0,
    done: Callable[[float], bool] | None = None,
) -> Descended:
    """L-BFGS of SciPy from a start, an array of any shape; `memory` past steps shape the next.

    It ends after so many `steps` or `evaluations`, where a step lowers the loss by less than `rtol` of it or not at
    all, and where `done`, asked with the loss after every step, says so.
    """
    from scipy.optimize import minimize

    def flat(x: Floats) -> tuple[float, Floats]:
        value, gradient = value_and_gradient(x.reshape(start.shape))
        return value, gradient.ravel()

    def after_step(intermediate_result: Any) -> None:
        if done is not None and done(float(intermediate_result.fun)):
            raise StopIteration

    options = {"maxiter": steps, "maxfun": evaluations, "maxcor": memory, "ftol": rtol, "gtol": 0.0}
    lbfgs: Any = minimize  # the stubs know nothing of StopIteration in a callback
    found = lbfgs(flat, start.ravel(), jac=True, method="L-BFGS-B", callback=after_step, options=options)
    return Descended(found.x.reshape(start.shape), float(found.fun), int(found.nit))
