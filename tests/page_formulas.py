"""Formulas of the documentation, and the tests that evaluate them.

A test that evaluates formulas of a model's page says which, word for word. tests/test_the_model.py holds that every
formula of a page is evaluated by some test, and that no test evaluates one that the page no longer has: whoever changes
a formula changes the test beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from presage.protocol.model import Model

DISPLAYED = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.DOTALL | re.MULTILINE)


def one_line(formula: str) -> str:
    """A formula without the breaks of its lines."""
    return " ".join(formula.split())


def stated(model: Model) -> set[str]:
    """Formulas that a model's page displays, and the definitions of what its networks measure."""
    text = (files(f"presage.models.{model.name}") / "model.md").read_text(encoding="utf-8")
    return {one_line(formula) for formula in DISPLAYED.findall(text)} | {o.formula for o in model.measured}


def evaluates(*formulas: str) -> Callable[[Any], Any]:
    """Say which formulas a test evaluates."""

    def mark(test: Any) -> Any:
        test.formulas = {one_line(formula) for formula in formulas}
        return test

    return mark


def evaluated(module: Any) -> set[str]:
    """Formulas that the tests of a module evaluate."""
    return {formula for thing in vars(module).values() for formula in getattr(thing, "formulas", ())}
