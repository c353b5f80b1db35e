"""The wall of the readers: whatever goes wrong in a file comes out as one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.quoted import quoted
from presage.protocol.errors import InputError

_LONGEST = 200


@contextmanager
def wall(file: str, tensor: str | None = None) -> Iterator[None]:
    """Turn any exception of the block into a `CheckpointError` that names the file, the tensor and the cause.

    A file that was made or damaged by others can raise anything: no list of exceptions would be complete.
    """
    try:
        yield
    except CheckpointError:
        raise
    except InputError as error:
        raise CheckpointError(file, *error.marked.values()) from error
    except Exception as error:
        subject = "it" if tensor is None else f"tensor {quoted(tensor)}"
        raise CheckpointError(file, "be a readable file of weights", *_told(error, subject)) from error


def _told(error: Exception, subject: str) -> tuple[str, str]:
    """The cause and the remedy."""
    if isinstance(error, FileNotFoundError):
        return "no weights can be read from a path which does not exist", "Check the path."
    if isinstance(error, PermissionError):
        return f"{subject} may not be read by this user", "Change the permissions of the file."
    if isinstance(error, MemoryError):
        return f"{subject} needs more memory than there is", "Name fewer rows, or use a larger machine."
    if isinstance(error, RecursionError):
        return f"{subject} is nested too deeply", "The file is damaged, or made to do harm: get it again."
    cause = " ".join(str(error).split())[:_LONGEST].rstrip(".")
    return f"{subject} cannot be read ({type(error).__name__}: {cause})", "The file is damaged: get it again."
