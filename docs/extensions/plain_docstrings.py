"""Docstrings that are written to be read as plain text, made into reStructuredText.

A docstring of presage has indented formulas, absolute values between bars, labels such as `Equation:` and fields of
dataclasses whose meaning is the comment at the end of their line. In the sources all of that reads well as it stands;
here it becomes typeset formulas (`typeset`; literal blocks and code where it is none), escaped characters and lists.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from typing import Any

from typeset import UnreadableError, tex, typeset

SECTIONS = ("Args:", "Returns:", "Raises:", "Yields:", "Note:", "Notes:", "Example:", "Examples:")
LABELS = re.compile(r"^(Equation|Departs|Checked): ?")
CODE = re.compile(r"(``.*?``|`[^`]+`)")


def escaped(line: str, *, names: bool = False) -> str:
    """The line with bars, stars and trailing underscores escaped, outside of code; what is a formula is typeset.

    With `names` a single symbol in code is one too: in a docstring that is an equation it stands for a number.
    """
    parts = CODE.split(line)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"([|*]|(?<=\w)_(?!\w))", r"\\\1", part)
        elif part.startswith("``"):
            formula = typeset(part.strip("`"), names=names)
            parts[i] = f":math:`{formula}`" if formula else part
    return "".join(parts)


def restructured(lines: list[str]) -> list[str]:
    """The lines of one docstring as reStructuredText, its sections left for napoleon."""
    text = "\n".join(lines)
    # Code that goes over the end of a line is brought to one line, where it can be told from the rest.
    text = re.sub(r"``(?:(?!``).)*?``", lambda match: re.sub(r"\n\s*", " ", match[0]), text, flags=re.DOTALL)
    names = any(line.startswith("Equation:") for line in lines)
    out: list[str] = []
    block: list[str] = []  # indented lines, of which it is not yet known whether they are formulas
    section = False
    for line in text.split("\n"):
        indented, blank = line.startswith(" "), not line.strip()
        if not indented and not blank:
            section = line.strip() in SECTIONS
            out, block = out + displayed(block), []
        if block or (indented and not section and (not out or not out[-1].strip())):
            block.append(line)
            continue
        label = LABELS.match(line)
        if label:
            out += ["", f"**{label[1]}:** {escaped(line[label.end() :], names=names)}"]
        else:
            out.append(line if blank else escaped(line, names=names))
    return out + displayed(block)


def displayed(block: list[str]) -> list[str]:
    """An indented block as typeset formulas, one a line and aligned at their first relation; or as it stands."""
    if not block:
        return []
    try:
        formulas = [tex(line.strip()) for line in block if line.strip()]
    except UnreadableError:
        return ["::", "", *block]
    if len(formulas) > 1:
        formulas = [re.sub(r" (=|\\le|\\ge|<|>|\\to) ", r" &\1 ", formula, count=1) for formula in formulas]
    return [".. math::", "", *(line for formula in formulas for line in (f"    {formula}", ""))]


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
        new[:0] = ["..", ""]  # an empty comment, or napoleon would read "Variance: of what" as a type and its meaning
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
