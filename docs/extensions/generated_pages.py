"""Pages that are made from the package at each build: API reference, equations, models, departures from print, gallery.

They are written to docs/_generated, which is not kept. Each function returns the text of a page, so that the tests can
read it without Sphinx.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import model_sections
from typeset import typeset

import presage
from presage import cite

HERE = Path(__file__).resolve().parent.parent
OUT = HERE / "_generated"

# Pages of the reference beside those of the models, each with the rooms of the package that it is about.
ROOMS = {
    "verbs": ("Verbs", "What every model answers, and what a model is made of.", ("protocol",)),
    "laws": ("Laws", "Laws of eigenvalues and singular values that a target can have.", ("laws",)),
    "engines": (
        "Engines",
        "What noise does to a spectrum, and ways to train: they know no model.",
        ("spectra", "training"),
    ),
    "weights": (
        "Weights",
        "Files of weights: heads beside what noise shows.",
        ("checkpoints",),
    ),
    "views": (
        "Views",
        "A grid of problems as a table; any result as a picture, and as a file.",
        ("sweeps", "plots", "saved"),
    ),
}
# Modules that come first on their page, since most readers look for them; the rest follows by name.
FIRST = ("verbs", "comparison", "errors", "named", "problem", "channel", "penalty", "solution", "solve", "lbfgs", "amp")
HEADINGS = {
    "adam": "Adam",
    "amp": "Message passing",
    "bayes_amp": "Bayes-optimal message passing",
    "biane": "Biane's curve",
    "curve": "Curves",
    "free": "Free convolution",
    "hardmax": "Hard maximum",
    "lbfgs": "L-BFGS",
    "named": "Problems by name",
    "nuclear_psd": "Weight decay",
    "optimal": "The Bayes-optimal answer",
    "psd": "Positive semidefinite",
}


def groups() -> dict[str, tuple[str, str]]:
    """Title and first sentence of every page of the reference: the rooms, and each model."""
    from presage.protocol.model import models

    of_models = {
        model.name: (f"Model: {model.name}", f"{model.words[0].upper()}{model.words[1:]}.") for model in models()
    }
    of_rooms = {name: (title, about) for name, (title, about, _) in ROOMS.items()}
    return {"verbs": of_rooms.pop("verbs"), "laws": of_rooms.pop("laws"), **of_models, **of_rooms}


def group_of(module: str) -> str:
    """The page of a module: that of its model, or that of its room."""
    _, room, *rest = module.split(".")
    if room == "models":
        return rest[0]
    return next(name for name, (_, _, rooms) in ROOMS.items() if room in rooms)


def public_names() -> dict[str, str]:
    """Each public name with the dotted module that defines it, from the stub that `import presage` reads."""
    stub = Path(presage.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        alias.asname or alias.name: f"presage.{node.module}"
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }


def api_page(group: str) -> str:
    """The reference of one group of public names, a section a module."""
    title, about = groups()[group]
    modules: dict[str, list[str]] = defaultdict(list)
    for name, module in public_names().items():
        if group_of(module) == group:
            modules[module].append(name)
    out = [title, "=" * len(title), "", about, ""]
    for module in sorted(modules, key=importance):
        stem = module.split(".")[-1]
        heading = HEADINGS.get(stem, stem.replace("_", " ").capitalize())
        sentence = summary(module)
        out += [heading, "-" * len(heading), "", sentence, ""]
        for name in modules[module]:
            kind = "class" if isinstance(getattr(presage, name), type) else "function"
            out += [f".. auto{kind}:: presage.{name}", *(["   :members:"] if kind == "class" else []), ""]
    return "\n".join(out)


def importance(module: str) -> tuple[int, str]:
    """Where a module stands on its page."""
    stem = module.rsplit(".", maxsplit=1)[-1]
    return (FIRST.index(stem) if stem in FIRST else len(FIRST), stem)


def summary(module: str) -> str:
    """The first paragraph of the docstring of a module, as reStructuredText."""
    from plain_docstrings import escaped

    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return escaped(" ".join(docstring.split("\n\n")[0].split()))


def linked() -> dict[str, str]:
    """For each function that states an equation, the name under which the reference documents it."""
    public = {f"{module}.{name}": f"presage.{name}" for name, module in public_names().items()}
    found = {}
    for entry in cite.equations():
        owner, _, method = entry.function.rpartition(".")
        if entry.function in public:
            found[entry.function] = public[entry.function]
        elif owner in public:
            found[entry.function] = f"{public[owner]}.{method}"
        else:
            found[entry.function] = entry.function
    return found


def internals_page() -> str:
    """The functions that state an equation and are not public."""
    title = "Functions behind the equations"
    out = [title, "=" * len(title), ""]
    out += ["Not public: names and arguments may change between versions. They are here for the equations.", ""]
    modules: dict[str, set[str]] = defaultdict(set)
    special = set()
    names = linked()
    for entry in cite.equations():
        target = names[entry.function]
        if target == entry.function:
            module = "presage." + entry.file.removesuffix(".py").replace("/", ".")
            modules[module].add(entry.function)
        elif target.endswith("__"):
            special.add(target)
    for module, functions in sorted(modules.items()):
        out += [module, "-" * len(module), "", summary(module), ""]
        for name in sorted(functions):
            out += [f".. auto{kind_of(name, module)}:: {name}", ""]
    if special:
        out += ["Special methods", "-" * 15, ""]
        out += [line for name in sorted(special) for line in (f".. automethod:: {name}", "")]
    return "\n".join(out)


def kind_of(name: str, module: str) -> str:
    """What autodoc calls the thing: class, function, method or property."""
    thing: Any = importlib.import_module(module)
    owner: Any = None
    for part in name.removeprefix(f"{module}.").split("."):
        owner, thing = thing, inspect_static(thing, part)
    if isinstance(thing, type):
        return "class"
    if isinstance(owner, type):
        return "method" if callable(thing) else "property"
    return "function"


def inspect_static(owner: Any, name: str) -> Any:
    """An attribute as it was defined: a property, and not its value."""
    import inspect

    return inspect.getattr_static(owner, name)


def equations_page() -> str:
    """Paper and number -> function -> test."""
    names = linked()
    docstrings = {thing.name: thing.docstring for thing in cite.documented(containing="Equation:")}
    out = [
        "# Equations",
        "",
        "Every function that is an equation says so in its docstring, with the test that fails if it is wrong; this",
        "page is made from the docstrings at each build. On the command line `presage where BETKZ25:43` finds one, in",
        "Python `presage.cite.where`. Where the code departs from print the row says so; the reasons are in",
        "[the errata](../errata.md).",
        "",
    ]
    papers = cite.references()
    for key in dict.fromkeys(entry.key for entry in cite.equations()):
        entries = [entry for entry in cite.equations() if entry.key == key]
        if key == "derived":
            out += ["## Derived", "", "What no paper has, each with the reason in its docstring.", ""]
        else:
            reference = papers[key]
            place = f" [{reference.url.removeprefix('https://')}]({reference.url})" if reference.url else ""
            out += [f"## {key}", "", str(reference).split("] ", 1)[1] + place, ""]
        out += [":::{list-table}", ":header-rows: 1", ":widths: 18 50 32", ":class: wide", ""]
        out += ["* - equation", "  - function", "  - test"]
        for entry in entries:
            tests = " ".join(f"`{test.removeprefix('tests/')}`" for test in entry.tests) or "none"
            departs = f" *Departs:* {in_markdown(entry.departs)}" if entry.departs else ""
            number = f"({entry.number})" if entry.number else in_markdown(place_of(entry))
            role = f"{{py:obj}}`{entry.function.removeprefix('presage.')} <{names[entry.function]}>`"
            stated = "".join(f"<br>${formula}$" for formula in statements(docstrings[entry.function]))
            out += [f"* - {number}", f"  - {role}<br>{in_markdown(entry.summary)}{stated}{departs}", f"  - {tests}"]
        out += [":::", ""]
    return "\n".join(out)


def place_of(entry: cite.Equation) -> str:
    """What the docstring says about where an equation without a number is, or what it was derived from."""
    text = re.sub(r"^(derived|\[\w+\])[\s,.:;]*", "", entry.source)
    return text[:1].upper() + text[1:]


def departures_table() -> str:
    """Every `Departs:` of the package, in the order of the errata."""
    names = linked()
    seen: dict[str, list[cite.Equation]] = defaultdict(list)
    for entry in cite.equations():
        if entry.departs:
            seen[entry.function].append(entry)
    out = [":::{list-table}", ":header-rows: 1", ":widths: 8 22 70", ":class: wide", ""]
    out += ["* - no.", "  - equation", "  - in the code"]
    for function, entries in sorted(seen.items(), key=lambda item: (errata(item[1][0].departs), item[0])):
        departs = entries[0].departs
        rows = ", ".join(f"[{n}](#erratum-{n})" for n in errata(departs))
        keys: dict[str, list[str]] = defaultdict(list)
        for entry in entries:
            keys[entry.key] += [f"({entry.number})"] if entry.number else []
        papers = ", ".join(" ".join([key, ", ".join(numbers)]).strip() for key, numbers in keys.items())
        role = f"{{py:obj}}`{function.removeprefix('presage.')} <{names[function]}>`"
        text = in_markdown(ERRATUM.sub("", departs).strip())
        out += [f"* - {rows}", f"  - {papers}", f"  - {role}<br>{text}"]
    return "\n".join([*out, ":::", ""])


ERRATUM = re.compile(r"Errat(?:um|a) ((?:\d+)(?:(?:, | and )\d+)*)\.")


def errata(departs: str) -> list[int]:
    """The rows of docs/errata.md that a `Departs:` names."""
    return [int(number) for match in ERRATUM.finditer(departs) for number in re.findall(r"\d+", match[1])]


def in_markdown(text: str) -> str:
    """Plain text with what Markdown would read as markup escaped; code stays code, and what is a formula is typeset."""
    parts = re.split(r"(``.*?``|`[^`]+`)", text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"([*_~<>|\[\]])", r"\\\1", part)
        elif part.startswith("``") and (formula := typeset(part.strip("`"), names=True)):
            parts[i] = f"${formula}$"
    return "".join(parts)


def statements(docstring: str) -> list[str]:
    """What a docstring states in formulas after its first sentence: displayed lines, and code such as ``a = b``."""
    text = docstring.split("\nEquation:", maxsplit=1)[0].partition("\n\n")[2]
    found = [line.strip() for line in re.findall(r"^    .+", text, re.MULTILINE)]
    found += [" ".join(code.split()) for code in re.findall(r"``((?:(?!``).)+)``", text, re.DOTALL)]
    return [formula for formula in dict.fromkeys(typeset(code) for code in found if states(code)) if formula]


def states(code: str) -> bool:
    """Whether a formula says what something is, and not merely where: ``c = 0`` is a place."""
    return re.search(r" (=|->) ", code) is not None and not re.search(r"= -?[\d.]+$", code)


FOLDED = "Sizes, seeds and differences from print"


def gallery_page(pictures: Path) -> str:
    """Every figure with its command, drawn from the data that ships with the package."""
    out = [
        "# Gallery",
        "",
        "Each figure is one command. It is drawn in a moment from data that ships with the package; `--quick` computes",
        "a coarser version anew, `--full` the whole of it.",
        "",
    ]
    from matplotlib import pyplot

    from presage.figures import catalogue

    pictures.mkdir(parents=True, exist_ok=True)
    drawn = [name for name in catalogue.names() if catalogue.shipped(name).is_file()]
    for name in drawn:
        module, parts = catalogue.figure(name), catalogue.load(name)
        drawing = module.draw(parts)
        drawing.savefig(pictures / f"{name}.png", dpi=150)
        pyplot.close(drawing)
        caption, details = (" ".join(text.split()) for text in (module.caption(parts), module.details(parts)))
        out += [f"## {module.TITLE}", "", f"{in_markdown(module.SOURCE)}", "", "```console"]
        out += [f"$ presage figure {name}", "```", "", f":::{{figure}} {pictures.name}/{name}.png"]
        out += [f":alt: {module.TITLE}", ":width: 100%", "", in_markdown(caption), ":::", ""]
        # Raw HTML, whose text is Markdown after an empty line: a reader opens it.
        out += ["<details>", f"<summary>{FOLDED}</summary>", "", in_markdown(details), "", "</details>", ""]
    if not drawn:
        out += ["No figure has its data in this version: `presage figure NAME --quick` computes one.", ""]
    return "\n".join(out)


def write(path: Path, text: str) -> None:
    """Write a page if it changed, so that Sphinx reads again only what did."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def generate(app: Any) -> None:
    """Write every page."""
    import matplotlib as mpl

    mpl.use("Agg")
    for group in groups():
        write(OUT / f"api-{group}.rst", api_page(group))
    write(OUT / "api-internals.rst", internals_page())
    write(OUT / "equations.md", equations_page())
    write(OUT / "parts" / "departures.md", departures_table())
    write(OUT / "parts" / "models.md", model_sections.sections())
    write(OUT / "parts" / "families.md", families_table())
    write(OUT / "gallery.md", gallery_page(OUT / "pictures"))


def families_table() -> str:
    """The families whose heads can be cut, a row each, from the table that cuts them."""
    from presage.checkpoints.cutting.families import supported

    rows = [f"| `{row.family}` | {row.models} | {row.layout} | {row.cut} |" for row in supported()]
    return "\n".join(["| family | models | layout | cut |", "|---|---|---|---|", *rows, ""])


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", generate)
    return {"parallel_read_safe": True}
