"""Arrays of numbers in files: .npy of NumPy, and tables of text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import BadZipFile

from presage.cli.errors import CommandError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEPARATORS = (",", ";", "\t")  # of columns; else spaces


def npy_file(option: str, name: str) -> Any:
    """The array of a file; what is no array of real numbers is refused by what it is."""
    must = f"`{option}` must be a .npy file of numbers: {name}"
    path = Path(name)
    if path.is_dir():
        raise CommandError(f"{must} is a folder. Name a file in it.")
    try:
        with path.open("rb") as content:
            return npy_numbers(option, name, content)
    except FileNotFoundError:
        raise CommandError(
            f"`{option}` names the file {name}, which does not exist. Save it with numpy.save first."
        ) from None
    except OSError as error:
        raise CommandError(f"{must} cannot be read ({error.strerror or error}). Use another.") from None


def npy_numbers(option: str, name: str, content: BinaryIO) -> Any:
    """The array that stands in what a file of that name holds."""
    import numpy as np

    must = f"`{option}` must be a .npy file of numbers: {name}"
    try:
        array = np.load(content, allow_pickle=False)
    except (MemoryError, OverflowError):
        raise CommandError(f"{must} says that it holds more than fits the memory. Save less.") from None
    except (ValueError, EOFError, BadZipFile) as error:
        kind = "holds objects" if "Object arrays" in str(error) else "is not one"
        raise CommandError(f"{must} {kind}. Save numbers with numpy.save.") from None
    if isinstance(array, np.lib.npyio.NpzFile):
        with array:
            held = f"is an .npz of {', '.join(array.files) or 'nothing'}"
        raise CommandError(f"{must} {held}. Save one of its arrays with numpy.save.")
    if array.dtype.kind not in "iuf":
        raise CommandError(f"{must} holds {array.dtype}, and it must be real numbers. Save such with numpy.save.")
    return array


def text_file(option: str, name: str) -> tuple[NDArray[np.float64], str]:
    """The numbers of a table of text in a file, and a sentence about its heading ("" where it has none)."""
    must = f"`{option}` must be a table of numbers: {name}"
    path = Path(name)
    if path.is_dir():
        raise CommandError(f"{must} is a folder. Name a file in it.")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CommandError(f"`{option}` names the file {name}, which does not exist. Name another.") from None
    except OSError as error:
        raise CommandError(f"{must} cannot be read ({error.strerror or error}). Use another.") from None
    return text_numbers(option, name, content)


def text_numbers(option: str, name: str, content: bytes) -> tuple[NDArray[np.float64], str]:
    """The numbers of a table of text, a row a line, and a sentence about its heading ("" where it has none).

    Columns are separated by commas, semicolons, tabs or spaces; what follows # is a comment.
    """
    import numpy as np

    must = f"`{option}` must be a table of numbers: {name}"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise CommandError(f"{must} is no text. Save numbers with numpy.savetxt or numpy.save.") from None
    lines = [(at, line.partition("#")[0].strip()) for at, line in enumerate(text.splitlines(), 1)]
    lines = [(at, line) for at, line in lines if line]
    if not lines:
        raise CommandError(f"{must} is empty. Write one eigenvalue a line, or a symmetric matrix.")
    separator = next((mark for mark in SEPARATORS if any(mark in line for _, line in lines)), None)
    rows = [(at, [cell.strip() for cell in line.split(separator)]) for at, line in lines]
    heading = ""
    if len(rows) > 1 and not any(_is_number(cell) for cell in rows[0][1]):
        heading = f"the first line of {name} is taken as its heading: {lines[0][1]}."
        rows = rows[1:]
    for at, row in rows:
        bad = next((cell for cell in row if not _is_number(cell)), None)
        if bad is not None:
            raise CommandError(f"{must} has {bad!r} in line {at}, which is no number. Mend it.")
        if len(row) != len(rows[0][1]):
            raise CommandError(
                f"{must} has {len(row)} numbers in line {at} and {len(rows[0][1])} in line {rows[0][0]}. Mend it."
            )
    return np.array([[float(cell) for cell in row] for _, row in rows]), heading


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
