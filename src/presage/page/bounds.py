"""How much the page takes at a time: it is for looking around, and what is larger is for a command or a script."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from presage.protocol import checks
from presage.protocol.errors import InputError


class Bound(NamedTuple):
    """The most of something."""

    most: int
    words: str  # what is counted
    remedy: str


BOUNDS: Mapping[str, Bound] = MappingProxyType(
    {
        "d": Bound(
            1000, "the dimension of networks that the page trains", "Train larger ones with `presage simulate`."
        ),
        "dimensions": Bound(4, "the number of dimensions at a time", "Train others with `presage compare`."),
        "seeds": Bound(64, "the number of networks of one dimension", "Train more with `presage simulate`."),
        "points": Bound(200, "the number of points of a curve", "Ask for more with `presage curve`."),
        "side": Bound(60, "the number of points of one side of a map", "Ask for more with `presage sweep`."),
        "weights": Bound(4_000_000_000, "the bytes of a file of weights", "Read it with `presage weights`."),
        "files": Bound(2, "the number of files of weights that are read at a time", "Wait for the others."),
        "steps": Bound(200, "the number of steps that are followed", "Follow more with `presage trajectory`."),
        "values": Bound(10_000, "the number of values of a target", "Give more to `presage solve` as a .npy file."),
        "entries": Bound(
            250_000, "the number of entries of a text", "Save it with numpy.save, and drop the .npy file."
        ),
        "numbers": Bound(100_000_000, "the samples of a network times d", "Use a smaller d or alpha, or a command."),
        "curves": Bound(24, "the number of curves, or of marks, of a picture", "Draw them with Python."),
        "panels": Bound(6, "the number of panels of a picture", "Draw them one by one."),
        "upload": Bound(16_000_000, "the number of bytes of a file", "Give a larger one to `presage solve`."),
        "message": Bound(1_000_000, "the number of bytes of a question", "Ask a shorter one."),
        "tabs": Bound(64, "the number of open pages", "Close one."),
        "drawn": Bound(200_000, "the number of numbers of a picture", "Draw it with Python."),
    }
)


def beyond(name: str, value: object) -> InputError:
    """The complaint about more than the page takes."""
    bound = BOUNDS[name]
    return checks.complaint(name, f"be at most {bound.most:,}", f"it is {bound.words}", value, bound.remedy)


def within(name: str, value: int, least: int = 1) -> int:
    """A whole number within its bound, or a complaint."""
    if value > BOUNDS[name].most:
        raise beyond(name, value)
    reason = f"it is {BOUNDS[name].words}"
    return checks.integer(name, value, at_least=least, reason=reason, remedy=f"Use at least {least}.")
