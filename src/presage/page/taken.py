"""What is on the screen, to take along: the Python and the command that give it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from presage.cli.errors import COMMANDS, option
from presage.cli.written import in_python, number
from presage.page.answers import Tell, coarse_options
from presage.page.asked import Asked, FieldError, verbs_beside
from presage.page.bounds import within
from presage.page.grids import Side, side
from presage.page.messages import Message
from presage.protocol.fields import Number, Part
from presage.protocol.model import found
from presage.protocol.trainer import handed_in

LONG = 2000  # letters of a law from which on it is in a file: a line with more cannot be read, nor typed
FILE = "target.npy"
SWEPT = {"solve": "solve", "bayes_optimal": "bayes"}  # as `presage sweep` calls a verb
NUMPY = "import numpy as np"


class Place(NamedTuple):
    """A side of a curve or a map as one writes it, in Python and in a command."""

    field: str
    python: str
    command: str
    needs_numpy: bool


def take(tell: Tell, model: str, fields: Mapping[str, str], screen: Mapping[str, Any]) -> None:
    """The texts for what the screen shows: always the numbers, and the curve, the map and the networks it has."""
    asked = Asked(model, fields)
    asked.problem()  # what is wrong with a field is told instead
    said = Message(0, "take", model, dict(fields), dict(screen))
    texts = [_numbers(asked)]
    if said.rest.get("along") is not None:
        texts.append(_curve(asked, said))
    if said.rest.get("across") is not None:
        texts.append(_map(asked, said))
    if said.rest.get("d") is not None:
        texts.append(_networks(asked, said))
    tell(texts)


def _python(asked: Asked, lines: Sequence[str], *, numpy: bool = False) -> str:
    laws = {name: _from_file(asked, name) for name in _long(asked)}
    imports = [NUMPY] if numpy or laws else []
    made = in_python(asked.given, laws).splitlines()
    own = [line for line in made if line.startswith(("import ", "from ")) and line not in imports]
    rest = [line for line in made if line not in {*own, *imports}]
    return "\n".join([*imports, "import presage as ps", *own, "", *rest, *lines])


def _long(asked: Asked) -> list[str]:
    """Fields whose law is a list that is too long to be written."""
    fields = asked.chosen.problem.fields
    return [name for name, text in asked.fields.items() if isinstance(fields[name], Part) and len(text) > LONG]


def _from_file(asked: Asked, name: str) -> str:
    law = getattr(asked.problem(), name)
    return f'ps.{type(law).__name__}(np.load("{FILE}"))'


def _command(asked: Asked, words: Sequence[str], at: Mapping[str, str] | None = None) -> str:
    """A command about the problem, with other texts for the fields that are grids."""
    long = _long(asked)
    texts = {**asked.given.texts(), **dict.fromkeys(long, FILE), **(at or {})}
    options = [part for name, text in texts.items() for part in (option(name), text)]
    return shlex.join([*words, "--model", asked.model, *options])


def _numbers(asked: Asked) -> dict[str, str]:
    python = _python(asked, [f"print(ps.{asked.verb}(problem))"])
    return {"what": "these numbers", "python": python, "command": _command(asked, COMMANDS[asked.verb].split())}


def _place(along: Side, given: Number, low: float, high: float) -> Place:
    if given.whole:
        listed = ", ".join(number(place) for place in along.places)
        return Place(along.field, f"{along.field}=[{listed}]", listed.replace(" ", ""), False)
    count = len(along.places)
    space, log = ("geomspace", "log") if along.logarithmic else ("linspace", "")
    ends = number(low), number(high)
    python = f"{along.field}=np.{space}({ends[0]}, {ends[1]}, {count})"
    return Place(along.field, python, f"{ends[0]}:{ends[1]}:{count}{log}", True)


def _curve(asked: Asked, said: Message) -> dict[str, str]:
    low, high = said.number_of("low"), said.number_of("high")
    along = side(asked, said.text("along"), low, high, within("points", said.whole("points"), least=2))
    place = _place(along, asked.number(along.field), low, high)
    beside = verbs_beside(asked, said.words("beside"))
    lines = [f"curve = ps.sweep(problem, ps.{asked.verb}, {place.python})"]
    lines += [f"{verb} = ps.sweep(problem, ps.{verb}, {place.python})" for verb in beside]
    at = {along.field: place.command}
    if asked.verb == "solve":
        bayes = ["--bayes"] if "bayes_optimal" in beside else []
        commands = [_command(asked, ["presage", "curve", *bayes], at)]
        flags = {"ridgeless": "--ridgeless", "optimal_regularization": "--optimal"}
        commands += [_command(asked, ["presage", "curve", flags[verb]], at) for verb in beside if verb in flags]
    else:
        commands = [_command(asked, ["presage", "sweep", SWEPT[asked.verb]], at)]
    python = _python(asked, [*lines, "ps.plot(curve)"], numpy=place.needs_numpy)
    return {"what": "this curve", "python": python, "command": "\n".join(commands)}


def _map(asked: Asked, said: Message) -> dict[str, str]:
    count = within("side", said.whole("side"), least=2)
    places = []
    for name, ends in ((said.text("across"), said.pair("across_range")), (said.text("up"), said.pair("up_range"))):
        places.append(_place(side(asked, name, *ends, count), asked.number(name), *ends))
    grids = ", ".join(place.python for place in places)
    # A map is of drafts, and its lines give what it shows.
    rough = coarse_options(asked.verb, asked.problem())
    flag = [part for name, value in rough.items() for part in (option(name), f"{value:g}")]
    told = "".join(f", {name}={value:g}" for name, value in rough.items())
    line = f"table = ps.sweep(problem, ps.{asked.verb}, {grids}{told})"
    python = _python(asked, [line, "ps.plot(table)"], numpy=any(place.needs_numpy for place in places))
    words = ["presage", "sweep", SWEPT[asked.verb], *flag]
    command = _command(asked, words, {place.field: place.command for place in places})
    return {"what": "this map", "python": python, "command": command}


def _networks(asked: Asked, said: Message) -> dict[str, str]:
    sizes, seeds, trainer = said.wholes("d"), said.whole("seeds"), said.optional_text("trainer")
    model = asked.chosen.model
    if trainer is not None and trainer not in (model.trainers if model else ()):
        raise FieldError(None, f"There is no trainer {trainer!r} here. Choose another.")
    for size in sizes:
        within("d", size)
    within("seeds", seeds)
    kind: Any = None if trainer is None or model is None else found(model.trainers[trainer])
    minimises = getattr(kind, "minimises", True)
    verb = "solve" if minimises else "bayes_optimal"
    made_of = "" if minimises else f"prediction.{handed_in(kind)}"
    argument = "" if kind is None else f", trainer=ps.{kind.__name__}({made_of})"
    lines = [f"prediction = ps.{verb}(problem)"]
    lines.append(f"sizes = {sorted(set(sizes))}")
    lines.append(f"networks = [ps.simulate(problem, d=d, seeds={seeds}{argument}) for d in sizes]")
    lines.append("print(ps.compare(prediction, *networks))")
    words = ["presage", "compare", "--d", ",".join(map(str, sorted(set(sizes)))), "--seeds", str(seeds)]
    words += [] if trainer is None else ["--trainer", trainer]
    return {"what": "these networks", "python": _python(asked, lines), "command": _command(asked, words)}
