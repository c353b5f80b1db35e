"""Packages that only some of presage needs, and how to have them."""

from __future__ import annotations

EXTRAS = {  # as pyproject.toml has them, without the versions
    "bench": ("cvxpy", "torch"),
    "cluster": ("dask-jobqueue", "distributed"),
    "docs": ("furo", "myst-nb", "sphinx"),
    "learn": ("scikit-learn",),
    "page": ("fastapi", "uvicorn", "websockets"),
    "torch": ("torch",),
}


def how_to_install(extra: str) -> str:
    """The sentence that says how to install an extra: by the names of its packages, which works wherever presage is."""
    return f'Run: pip install {" ".join(EXTRAS[extra])} (in a clone of presage: pip install ".[{extra}]")'
