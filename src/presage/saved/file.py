"""Files of results: `save` and `load`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import presage
from presage.protocol import checks
from presage.protocol.recorded import Recorded
from presage.protocol.tabulated import problem_of
from presage.saved.encoding import DamagedError, class_name, decoded, encoded
from presage.whole_file import whole_file

FORMAT = 1  # of the file; a change that older versions cannot read raises it
WHAT = "result of presage"  # the entry by which a file is known
EXAMPLE = 'Use for example <path="result.json">.'


def save(result: Any, path: str | Path) -> None:
    """Write a result to a file of JSON, whole or not at all, with the version and the problem in it."""
    place = _path(path)
    if not place.absolute().parent.is_dir():
        reason, remedy = "the file is written there", f"Make {place.absolute().parent} first."
        raise checks.complaint("path", "be in a folder that exists", reason, str(path), remedy)
    content = encoded(result)
    text = {
        WHAT: class_name(type(result), "result"),
        "format": FORMAT,
        "version": presage.__version__,
        "problem": repr(problem_of(result)),
        "sha256": _checksum(content),
        "content": content,
    }
    with whole_file(place) as part:
        part.write_text(json.dumps(text, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def load(path: str | Path) -> Any:
    """Read a result that `save` of a result wrote: the same object, to the last bit, and nothing is computed again.

    No code of the file is run. Classes are found by their names: those of presage by their public name, those of a
    model of one's own in their module, which is imported.

    Raises:
        InputError: about a file that is damaged, that is no result of presage, or that a newer version wrote.
    """
    place = _path(path)
    try:
        text = json.loads(place.read_text(encoding="utf-8"), parse_constant=_refuse)
    except ValueError as error:  # no JSON, or no text at all
        raise _bad(path, f"it cannot be read as JSON ({error})", "Use the file that save wrote, whole.") from None
    if not isinstance(text, dict) or WHAT not in text:
        raise _bad(path, "it was not written by save", "Use a file that save wrote.")
    if not isinstance(text.get("format"), int) or text["format"] > FORMAT:
        reason = f"it was written by presage {text.get('version')}, whose files this version does not know"
        raise _bad(path, reason, f"Use that version; this is {presage.__version__}.")
    if "content" not in text or text.get("sha256") != _checksum(text["content"]):
        raise _bad(path, "it is damaged: what it holds is not what was written", "Save the result again.")
    try:
        result = decoded(text["content"])
    except DamagedError as error:
        remedy = f"It was written by presage {text.get('version')}; this is {presage.__version__}."
        raise _bad(path, str(error), remedy) from error
    if not isinstance(result, Recorded):
        raise _bad(path, f"what it holds is a {type(result).__name__}", "Use a file that save wrote.")
    return result


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _checksum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _path(path: Any) -> Path:
    if not isinstance(path, str | Path) or not str(path):
        raise checks.complaint("path", "be the name of a file", "a result is kept in one", path, EXAMPLE)
    place = Path(path).expanduser()
    if place.is_dir():
        raise checks.complaint("path", "be a file", "there is a folder of that name", str(path), EXAMPLE)
    return place


def _bad(path: Any, reason: str, remedy: str) -> ValueError:
    return checks.complaint("path", "be a result that presage saved", reason, str(path), remedy)
