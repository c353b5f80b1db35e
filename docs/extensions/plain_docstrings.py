"""Docstrings that are written to be read as plain text, made into reStructuredText.

A docstring of presage has indented formulas, absolute values between bars, labels such as `Equation:` and fields of
dataclasses whose meaning is the comment at the end of their line. In the sources all of that reads well as it stands;
here it becomes literal blocks, escaped characters and lists.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from typing import Any

SECTIONS = ("Args:", "Returns:", "Raises:", "Yields:", "Note:", "Notes:", "Example:", "Examples:")
LABELS = re.compile(r"^(Equation|Departs|Checked): ?")
CODE = re.compile(r"(``.*?``|`[^`]+`)")


def escaped(line: str) -> str:
    """The line with bars, stars and trailing underscores escaped, outside of code."""
    parts = CODE.split(line)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([|*]|(?<=\w)_(?!\w))", r"\\\1", parts[i])
    return "".join(parts)


def restructured(lines: list[str]) -> list[str]:
    """The lines of one docstring as reStructuredText, its sections left for napoleon."""
    text = "\n".join(lines)
    # Code that goes over the end of a line is brought to one line, where it can be told from the rest.
    text = re.sub(r"``(?:(?!``).)*?``", lambda match: re.sub(r"\n\s*", " ", match[0]), text, flags=re.DOTALL)
    out: list[str] = []
    section = literal = False
    for line in text.split("\n"):
        indented, blank = line.startswith(" "), not line.strip()
        if not indented and not blank:
            section, literal = line.strip() in SECTIONS, False
        if indented and not section and not literal and (not out or not out[-1].strip()):
            out += ["::", ""]
            literal = True
        if literal or blank:
            out.append(line)
            continue
        label = LABELS.match(line)
        if label:
            out += ["", f"**{label[1]}:** {escaped(line[label.end() :])}"]
        else:
            out.append(escaped(line))
    return out


def fields(cls: type) -> list[tuple[str, str, str]]:
    """Name, type and comment of the fields of a dataclass or named tuple, as they stand in its source."""
    source = textwrap.dedent(inspect.getsource(cls))
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.ClassDef)
    return [
        (item.target.id, ast.unparse(item.annotation), comments.get(item.end_lineno or 0, ""))
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_")
    ]


def field_list(cls: type) -> list[str]:
    """The fields as a list, or nothing where no comment says more than the signature does."""
    if not (hasattr(cls, "__dataclass_fields__") or hasattr(cls, "_fields")):
        return []
    rows = fields(cls)
    meant = [f"* ``{name}`` (``{kind}``){': ' + escaped(text) if text else ''}" for name, kind, text in rows]
    return ["", "**Fields**", "", *meant, ""] if any(text for *_, text in rows) else []


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place."""
    new = restructured(lines)
    if what == "class":
        new += field_list(obj)
    if what in {"property", "attribute"}:
        new.insert(0, "")  # or napoleon would read "Variance: of what" as a type and what it means
    lines[:] = new


def short_types(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Names of array types inside other types, which autodoc leaves as it keeps them."""
    return _short(signature), _short(returns)


def _short(text: str | None) -> str | None:
    return None if text is None else re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx, in front of napoleon."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-process-signature", short_types)
    return {"parallel_read_safe": True}
