"""What is raised when a computation, not its input, goes wrong."""

from __future__ import annotations

from typing import Any


class SolveError(ArithmeticError):
    """A problem could not be solved to the accuracy asked for.

    ``partial`` is the best solution found (or None), ``remedy`` says what to try.
    """

    def __init__(self, what: str, remedy: str, partial: Any = None) -> None:
        super().__init__(f"{what} {remedy}")
        self.what = what
        self.remedy = remedy
        self.partial = partial

    def __reduce__(self) -> tuple[type[SolveError], tuple[str, str, Any]]:
        """Pickle whole, so that a worker process can hand the error back."""
        return type(self), (self.what, self.remedy, self.partial)
