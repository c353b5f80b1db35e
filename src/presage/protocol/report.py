"""What a check of one's own class looked at and found: the answer of `check_model`, `check_law` and their like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class Report:
    """What a check looked at, and sentences that say what is wrong and how to mend it."""

    subject: str
    checked: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __str__(self) -> str:
        if self.ok:
            return f"{self.subject}: nothing found. Looked at: {', '.join(self.checked)}."
        return "\n".join([f"{self.subject}: {len(self.findings)} found.", *(f"- {line}" for line in self.findings)])


def tried(subject: str, noun: str, thing: Any, looked_at: Mapping[str, Callable[[Any], Iterable[str]]]) -> Report:
    """Try a thing, check by check; it stops at the first that finds something, since the later ones rest on it.

    Nothing is raised for a thing that is wrong: what its code raises, whatever that be, is a finding.
    """
    checked: list[str] = []
    for name, check in looked_at.items():
        checked.append(name)
        try:
            findings = tuple(check(thing))
        except Exception as error:  # a user's class may raise anything
            findings = (f"while looking at {name}, the {noun} raised {type(error).__name__}: {error}",)
        if findings:
            return Report(subject, tuple(checked), findings)
    return Report(subject, tuple(checked), ())
