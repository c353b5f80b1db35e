from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tables are sampled once a session, and never into the user's cache."""
    before = os.environ.get("PRESAGE_CACHE")
    os.environ["PRESAGE_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["PRESAGE_CACHE"]
    else:
        os.environ["PRESAGE_CACHE"] = before
