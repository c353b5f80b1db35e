"""Eigenvalues or singular values from a file that was dropped on the page, or from a list that was pasted."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from presage.cli.arrays import npy_numbers, text_numbers
from presage.cli.targets import FAMILIES, SINGULAR_VALUES
from presage.page.answers import Tell
from presage.page.asked import FieldError
from presage.page.bounds import BOUNDS, beyond
from presage.protocol.numbers import text

KIND = "masses:"
SEPARATED = (b",", b";", b"\t", b" ", b"\n")  # what stands between two entries of a text


def values(tell: Tell, name: str, of: str, content: bytes) -> None:
    """The values of a file as the text of a law, and what they are in words."""
    import numpy as np

    if of not in {family.of for family in FAMILIES.values()}:
        raise FieldError(None, f"A file has {' or '.join(family.of for family in FAMILIES.values())}. Say which.")
    shown = name if len(name) <= 60 else f"{name[:57]}..."
    notes: list[str] = []
    if name.lower().endswith(".npy"):
        array: Any = npy_numbers("file", shown, io.BytesIO(content))
    else:
        entries = sum(map(content.count, SEPARATED))
        if entries > BOUNDS["entries"].most:  # a short text may have very many
            raise beyond("entries", f"about {entries:,}")
        array, heading = text_numbers("file", shown, content)
        notes += [heading] if heading else []
        array = array.ravel() if 1 in array.shape else array
    law = _law(array, of, shown)
    found = np.asarray(law.values if of == SINGULAR_VALUES else law.eigenvalues, dtype=np.float64)
    if found.size > BOUNDS["values"].most:
        raise beyond("values", found.size)
    tell(
        {
            "values": found.tolist(),
            "text": _written(found.tolist()),
            "words": f"{found.size} {of} from {text(float(found.min()), 4)} to {text(float(found.max()), 4)}",
            "notes": [*notes, *law.notes],
        }
    )


def _law(array: Any, of: str, name: str) -> Any:
    """The law of a list of values, or of those of a matrix."""
    import presage as ps

    if array.size > BOUNDS["upload"].most // 8:  # small numbers in a file may be many
        raise beyond("upload", 8 * array.size)
    if of != SINGULAR_VALUES:
        return ps.Empirical(array)
    if array.ndim != 2:
        return ps.SingularValueMasses(array)
    if array.shape[0] != array.shape[1]:
        shape = " x ".join(map(str, array.shape))
        raise FieldError(
            None,
            f"`{name}` holds a matrix of {shape}: its aspect belongs to its law, and a list of singular values does "
            "not tell it. Give the file to `presage solve --target`, or drop a square matrix.",
        )
    return ps.SingularValueMasses.of_matrix(array)


def _written(numbers: Sequence[float]) -> str:
    """A list of values of equal weight as the text of a law, each to the last digit."""
    return KIND + ",".join(repr(number).removesuffix(".0") for number in numbers)


def npy(tell: Tell, text: str) -> None:
    """The values of such a text as a .npy file, for a command or a script."""
    import numpy as np

    kind, _, rest = text.partition(":")
    parts = rest.split(",")
    if f"{kind}:" != KIND or "@" in rest or len(parts) > BOUNDS["values"].most:
        raise FieldError(None, "A file of values is made of a list of equal weights. Paste a list, or drop a file.")
    try:
        numbers = np.array([float(part) for part in parts])
    except ValueError:
        raise FieldError(None, "A file of values is made of numbers, and this list has something else.") from None
    out = io.BytesIO()
    np.save(out, numbers)
    tell(out.getvalue())
