"""Packages that only some of presage needs, and how to have them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from presage.protocol import checks

EXTRAS = {  # as pyproject.toml has them, without the versions
    "bench": ("cvxpy", "torch"),
    "checkpoints": ("gguf", "onnx"),
    "cluster": ("dask-jobqueue", "distributed"),
    "docs": ("furo", "myst-nb", "sphinx"),
    "learn": ("scikit-learn",),
    "page": ("fastapi", "uvicorn", "websockets"),
    "torch": ("torch",),
}


def how_to_install(extra: str) -> str:
    """The sentence that says how to install an extra: by the names of its packages, which works wherever presage is."""
    return f'Run: pip install {" ".join(EXTRAS[extra])} (in a clone of presage: pip install ".[{extra}]")'


def must_be_installed(name: str, value: Any, module: str, extra: str, reason: str, instead: str = "") -> None:
    """Complain about an argument whose `value` needs a package that is not there, and say how to have it.

    `reason` is what the package is for, and `instead` what else can be done: "use <trainer=...>, which needs nothing".
    """
    if find_spec(module) is None:
        remedy = how_to_install(extra) + (f", or {instead}" if instead else "") + "."
        raise checks.complaint(name, "be one that is installed", f"{reason}, which is not there", value, remedy)
