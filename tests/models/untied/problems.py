"""Problems of this model that several tests are about."""

from __future__ import annotations

from typing import Any

import presage as ps

HALF = ps.GaussianProduct(0.5)
LOW = ps.GaussianProduct(0.2)


def cross(**changes: Any) -> ps.UntiedProblem:
    """Two queries of one sequence look at two keys of another."""
    given: dict[str, Any] = {"alpha": 1.0, "weight_decay": 0.02, "noise": 0.25, **changes}
    return ps.untied_attention(given.pop("target", HALF), **given)


def itself(**changes: Any) -> ps.UntiedProblem:
    """Two tokens look at each other and at themselves."""
    return cross(mask="self", **changes)
