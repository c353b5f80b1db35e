"""Where an equation of a paper stands in the code, and how to cite the paper.

The docstrings are the only record: `Equation:` names the paper and the number, `Departs:` says where the code differs
from print, `Checked:` names the tests that fail if the equation is wrong. They are read from the sources: nothing of
presage is imported, and an answer takes a moment. The papers are those of CITATION.cff.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from presage.protocol import checks

PACKAGE = Path(__file__).resolve().parent

KEY = re.compile(r"\[([A-Z][A-Za-z]*\d\d[a-z]?)\]")
TEST_ID = re.compile(r"tests/[\w/]+\.py::[\w:]+")
_LABEL = re.compile(r"^\s*(Equation|Departs|Checked|Args|Returns|Raises|Yields|Note|Notes|Example|Examples):", re.M)
_NUMBER = r"\(?([A-Z]?\.?\d+[a-z]?)\)?"
# (43), (43)-(45): only a number alone in its brackets is that of an equation.
_PRINTED = re.compile(r"\(([A-Z]?\.?\d+[a-z]?)\)(?:\s*[-\u2013]\s*\(([A-Z]?\.?\d+[a-z]?)\))?")
_ASKED = re.compile(rf"\[?([A-Za-z]+\d*[A-Za-z]?)\]?(?:(?:\s*:\s*|\s+|(?=\()){_NUMBER}(?:\s*[-\u2013]\s*{_NUMBER})?)?")
# A formula, whose brackets are not those of a number.
_CODE = re.compile(r"``.*?``", re.DOTALL)


@dataclass(frozen=True)
class Documented:
    """A module, class or function with its docstring."""

    name: str  # dotted, from presage on
    file: str  # inside the package
    line: int
    docstring: str

    @property
    def public(self) -> bool:
        """Whether no part of the name is private; methods of Python's own protocols count as public."""
        return not any(part.startswith("_") and not part.endswith("__") for part in self.name.split("."))


@dataclass(frozen=True)
class Equation:
    """One equation of one paper, and the function that is it."""

    key: str  # of CITATION.cff, or "derived"
    number: str  # "" where the docstring names the paper alone
    function: str
    file: str
    line: int
    summary: str
    source: str  # what the docstring says after `Equation:`
    tests: tuple[str, ...]
    departs: str

    @property
    def label(self) -> str:
        """The equation as `where` takes it: BETKZ25:43."""
        return f"{self.key}:{self.number}" if self.number else self.key


@dataclass(frozen=True)
class Reference:
    """One entry of CITATION.cff."""

    key: str
    title: str
    authors: tuple[str, ...]  # "Family, Given"
    year: int | None
    url: str
    kind: str
    published: str  # journal or proceedings, "" for a preprint
    volume: str
    arxiv: str
    version: str

    def bibtex(self) -> str:
        """The entry for a .bib file."""
        kind = {"article": "article", "conference-paper": "inproceedings", "software": "software"}.get(
            self.kind, "misc"
        )
        where = "booktitle" if kind == "inproceedings" else "journal"
        preprint = f"arXiv:{self.arxiv}" if self.arxiv and kind == "article" else ""
        fields = {
            "title": f"{{{_escaped(self.title)}}}",
            "author": " and ".join(name if "," in name else f"{{{name}}}" for name in map(_escaped, self.authors)),
            where: _escaped(self.published or preprint),
            "volume": self.volume,
            "year": "" if self.year is None else str(self.year),
            "version": self.version,
            "eprint": self.arxiv,
            "archivePrefix": "arXiv" if self.arxiv else "",
            "url": self.url,
        }
        width = max(map(len, fields))
        body = "".join(f"  {name:<{width}} = {{{value}}},\n" for name, value in fields.items() if value)
        return f"@{kind}{{{self.key},\n{body}}}"

    def __str__(self) -> str:
        """The entry for a reader: authors, title, where and when."""
        names = [" ".join(reversed(name.split(", "))) for name in self.authors]
        people = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        place = self.published + (f" {self.volume}" if self.volume else "")
        parts = [people, self.title, place, f"arXiv:{self.arxiv}" if self.arxiv else "", str(self.year or "")]
        return f"[{self.key}] " + ", ".join(part for part in parts if part) + "."


def labelled(docstring: str, label: str) -> str | None:
    """The text after `label:` up to the next label or blank line, or None when the docstring does not have it."""
    found = None
    starts = [*_LABEL.finditer(docstring)]
    ends = [*(match.start() for match in starts), len(docstring)][1:]
    for start, end in zip(starts, ends, strict=True):
        if start[1] == label:
            text = re.split(r"\n\s*\n", docstring[start.end() : end].lstrip(" "), maxsplit=1)[0]
            found = text if found is None else f"{found}\n{text}"
    return None if found is None else " ".join(found.split())


def documented(package: Path = PACKAGE, containing: str = "") -> Iterator[Documented]:
    """Everything in the sources of a package that has a docstring with ``containing`` in it, private or not."""
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if containing not in text:
            continue
        parts = path.relative_to(package.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        file = path.relative_to(package).as_posix()
        for name, node in _nodes(ast.parse(text, filename=str(path)), module):
            docstring = ast.get_docstring(node) or ""
            if docstring and containing in docstring:
                yield Documented(name, file, getattr(node, "lineno", 1), docstring)


_Node = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _nodes(node: _Node, name: str) -> Iterator[tuple[str, _Node]]:
    """The node and every class and function inside it, with their dotted names."""
    yield name, node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _nodes(child, f"{name}.{child.name}")


def cited(source: str) -> tuple[tuple[str, str], ...]:
    """The (key, number) pairs in the text of an `Equation:` label.

    "[BETKZ25] (43)-(45)" is three pairs; a key without a number is one with an empty number. What was derived stands
    under "derived", beside the papers that it was derived from.
    """
    text = _CODE.sub("", source)
    pairs: dict[tuple[str, str], None] = {}
    if text.startswith("derived"):
        pairs["derived", ""] = None
    keys = [*KEY.finditer(text)]
    ends = [*(key.start() for key in keys), len(text)][1:]
    for key, end in zip(keys, ends, strict=True):
        numbers = [n for match in _PRINTED.finditer(text, key.end(), end) for n in _between(match[1], match[2])]
        pairs.update(dict.fromkeys((key[1], number) for number in numbers or [""]))
    return tuple(pairs)


def _between(first: str, last: str | None) -> list[str]:
    """The numbers of a range, its ends included; the ends alone where they are not plain numbers."""
    if last is None:
        return [first]
    if first.isdigit() and last.isdigit():
        return [str(n) for n in range(int(first), int(last) + 1)]
    return [first, last]


@cache
def equations() -> tuple[Equation, ...]:
    """Every equation that a docstring of presage states, by paper and number; what was derived comes last."""
    found = []
    for item in documented(containing="Equation:"):
        source = labelled(item.docstring, "Equation")
        if source is None:
            continue
        tests = tuple(TEST_ID.findall(labelled(item.docstring, "Checked") or ""))
        departs = labelled(item.docstring, "Departs") or ""
        summary = " ".join(item.docstring.split("\n\n")[0].split())
        for key, number in cited(source):
            found.append(Equation(key, number, item.name, item.file, item.line, summary, source, tests, departs))
    return tuple(sorted(found, key=_order))


def _order(equation: Equation) -> tuple[bool, str, tuple[int, str], str]:
    return equation.key == "derived", equation.key, _place(equation.number), equation.function


def _place(number: str) -> tuple[int, str]:
    """Where a number sorts: 9 before 10, and a paper as a whole after its equations."""
    digits = re.search(r"\d+", number)
    return (int(digits[0]) if digits else sys.maxsize, number)


def where(equation: str) -> tuple[Equation, ...]:
    """The functions that implement an equation.

    Args:
        equation: key and number, "BETKZ25:43" or "betkz25 (43)"; a range, "BETKZ25:43-45"; a key alone for all of a
            paper; "derived" for what no paper has.

    Raises:
        ValueError: if no function names it; the text has the nearest that exist.
    """
    match = _ASKED.fullmatch(str(equation).strip())
    if match is None:
        raise _unknown(equation, "it is looked up in the docstrings", "Use for example <equation='BETKZ25:43'>.")
    keys = {entry.key.lower(): entry.key for entry in equations()}
    key = keys.get(match[1].lower())
    if key is None:
        raise _unknown_key(equation, match[1], keys)
    entries = [entry for entry in equations() if entry.key == key]
    if match[2] is None:
        return tuple(entries)
    wanted = _between(match[2], match[3])
    chosen = tuple(entry for entry in entries if entry.number in wanted)
    if not chosen:
        asked = match[2] if match[3] is None else f"{match[2]}-{match[3]}"
        raise _unknown_number(equation, key, asked, [entry.number for entry in entries if entry.number])
    return chosen


def _unknown_key(equation: object, asked: str, keys: dict[str, str]) -> ValueError:
    known = {name.lower(): name for name in references()}.get(asked.lower())
    if known is not None:
        reason = f"{known} is cited, but no function is one of its equations"
        return _unknown(equation, reason, f"The papers whose equations are here: {', '.join(keys.values())}.")
    near = [keys[name] for name in difflib.get_close_matches(asked.lower(), keys, n=3, cutoff=0.5)]
    remedy = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(keys.values())}."
    return _unknown(equation, f"no docstring names {asked}", remedy)


def _unknown_number(equation: object, key: str, asked: str, numbers: list[str]) -> ValueError:
    reason = f"no function is equation ({asked}) of {key}"
    if not numbers:
        return _unknown(equation, reason, f"The docstrings name {key} without numbers: use <equation={key!r}>.")
    place = _place(asked)[0]
    near = sorted({*numbers}, key=lambda number: (abs(_place(number)[0] - place), number))[:3]
    listed = ", ".join(f"{key}:{number}" for number in sorted(near, key=_place))
    return _unknown(equation, reason, f"The nearest are {listed}; <equation={key!r}> has all.")


def _unknown(equation: object, reason: str, remedy: str) -> ValueError:
    must = "be a key of CITATION.cff and a number that a docstring names"
    return checks.complaint("equation", must, reason, equation, remedy)


@cache
def references() -> dict[str, Reference]:
    """The papers of CITATION.cff, by key."""
    return {entry["abbreviation"]: _reference(entry) for entry in _citation()["references"]}


@cache
def software() -> Reference:
    """How to cite presage itself."""
    return _reference({"abbreviation": "presage", **_citation()})


def _citation() -> dict[str, Any]:
    """CITATION.cff: beside the modules in an installed package, at the root in a checkout."""
    import yaml

    places = [PACKAGE / "CITATION.cff", PACKAGE.parents[1] / "CITATION.cff"]
    for path in places:
        if path.is_file():
            entries: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
            return entries
    raise FileNotFoundError(f"CITATION.cff must be in {places[0].parent}: it has the papers. Install presage again.")


def _reference(entry: dict[str, Any]) -> Reference:
    people = [
        f"{person['family-names']}, {person['given-names']}" if "family-names" in person else person["name"]
        for person in entry["authors"]
    ]
    ids = [item["value"] for item in entry.get("identifiers", ())]
    return Reference(
        key=entry["abbreviation"],
        title=entry["title"],
        authors=tuple(people),
        year=entry.get("year"),
        url=entry.get("url", ""),
        kind=entry["type"],
        published=entry.get("journal", entry.get("collection-title", "")),
        volume=str(entry.get("volume", "")),
        arxiv=next((value.removeprefix("arXiv:") for value in ids if value.startswith("arXiv:")), ""),
        version=str(entry.get("version", "")),
    )


def _escaped(text: str) -> str:
    """Text with the characters that mean something to TeX escaped."""
    return re.sub(r"([&%#_$])", r"\\\1", text)
