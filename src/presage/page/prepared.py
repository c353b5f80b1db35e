"""Importing this prepares a process to answer at once: one problem of every model is solved, so that all is compiled.

It is imported by the process from which all others are forked, and by nothing else.
"""

from __future__ import annotations

from typing import Any

from threadpoolctl import threadpool_limits

from presage.page.process import answered
from presage.protocol.model import models

threadpool_limits(1)  # also here: threads of a process that is forked are lost

for _model in models():
    _first = next((problem for problem in _model.named if problem.default), next(iter(_model.named), None))
    if _first is not None:
        for _draft in (True, False):
            _asked: dict[str, Any] = {"model": _first.name, "fields": {}, "draft": _draft}
            answered(lambda told: None, "point", _asked)
