"""The sections of "The model": the text that lies in the folder of each model, and tables from its declarations.

No model is named here: a folder of `presage.models` with a `declaration` and a `model.md` has its section.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from presage.protocol.fields import Choice, Declaration, Number, Part
from presage.protocol.model import Model, NamedProblem, found, models
from presage.protocol.observables import Observable

REQUIRED = "to be given"


def sections() -> str:
    """The section of every model."""
    return "\n".join(section(model) for model in models())


def section(model: Model) -> str:
    """One section: formulas and words, then problems by name, their fields, and the numbers of an answer."""
    return "\n".join([text_of(model), problems_table(model), fields_table(model), observables_table(model)])


def text_of(model: Model) -> str:
    """What stands in the folder of a model: data, labels, loss and limit, in formulas."""
    return (files(f"presage.models.{model.name}") / "model.md").read_text(encoding="utf-8")


def problems_table(model: Model) -> str:
    """Name on the command line, function in Python, and what it is."""
    rows = [(f"`{named.name}`", f"`ps.{function_of(named)}`", sentence(named.words)) for named in model.named]
    return table("Problems by name", ("problem", "in Python", "what it is"), (22, 30, 48), rows)


def fields_table(model: Model) -> str:
    """Every field of the problems of a model, once for each meaning: symbol, range, default, and whose it is."""
    meant: dict[tuple[str, Declaration, str], list[str]] = {}
    for named in model.named:
        defaults = defaults_of(named)
        for name, declaration in named.fields.items():
            meant.setdefault((name, declaration, defaults[name]), []).append(named.name)
    count = len(model.named)
    rows = [
        (
            f"`{name}`",
            symbol_of(declaration),
            sentence(declaration.words) + ("" if len(users) == count else f" *Of:* {', '.join(users)}."),
            range_of(declaration),
            default,
        )
        for (name, declaration, default), users in meant.items()
    ]
    return table("Fields", ("field", "symbol", "what it is", "range", "default"), (18, 12, 36, 20, 14), rows)


def observables_table(model: Model) -> str:
    """Every number that an answer has, once: its definition, its words, and which verbs give it."""
    verbs: dict[Observable, list[str]] = {}
    by_verb: Mapping[str, tuple[Observable, ...]] = {**model.observables, "simulate": model.measured}
    for verb in model.verbs:
        for observable in by_verb.get(verb, ()):
            verbs.setdefault(observable, []).append(verb)
    rows = [
        (
            f"`{observable.name}`",
            f"${observable.formula}$" if observable.formula else "above",
            sentence(observable.words),
            ", ".join(f"`{verb}`" for verb in given_by),
        )
        for observable, given_by in verbs.items()
    ]
    return table("Observables", ("number", "definition", "in words", "of"), (25, 37, 20, 18), rows)


def table(title: str, heads: tuple[str, ...], widths: tuple[int, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A heading and a table whose cells wrap."""
    out = [f"### {title}", "", ":::{list-table}", ":header-rows: 1", f":widths: {' '.join(map(str, widths))}"]
    out += [":class: wide", ""]
    for row in (heads, *rows):
        out += [f"{'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join([*out, ":::", ""])


def function_of(named: NamedProblem) -> str:
    """The public name of the function that makes a problem."""
    return named.make.rpartition(":")[2]


def defaults_of(named: NamedProblem) -> dict[str, str]:
    """What the function takes for each field where nothing is given."""
    parameters = inspect.signature(found(named.make)).parameters
    return {name: shown(parameters[name].default) for name in named.fields}


def shown(default: Any) -> str:
    """A default as one would write it."""
    if default is inspect.Parameter.empty:
        return REQUIRED
    return f"`{default:g}`" if isinstance(default, float) else f"`{default!r}`".replace("'", '"')


def symbol_of(declaration: Declaration) -> str:
    """The symbol of a field in formulas, where it has one."""
    symbol = getattr(declaration, "symbol", "")
    return f"${symbol}$" if symbol else ""


def range_of(declaration: Declaration) -> str:
    """What a field may be."""
    if isinstance(declaration, Choice):
        return ", ".join(f'`"{option}"`' for option in declaration.options)
    if isinstance(declaration, Part):
        return f"{{py:obj}}`{declaration.kind.rpartition('.')[2]} <presage.{declaration.kind.rpartition('.')[2]}>`"
    assert isinstance(declaration, Number)
    bounds = [("above", declaration.above), ("at least", declaration.at_least), ("at most", declaration.at_most)]
    said = [f"{word} {bound:g}" for word, bound in bounds if bound is not None]
    said += ["whole"] if declaration.whole else []
    return ", ".join(said) + (", or `None`" if declaration.optional else "")


def sentence(words: str) -> str:
    """Words of a declaration as a sentence of Markdown."""
    from generated_pages import in_markdown

    return in_markdown(f"{words[:1].upper()}{words[1:]}.")
