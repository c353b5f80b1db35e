"""What went wrong, in one sentence on standard error, and the exit code that says whose fault it is."""

from __future__ import annotations

import os
import re

DONE, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130
TRACEBACK = "PRESAGE_TRACEBACK"  # set it to 1 to see where an error comes from

# Names of the library's arguments that a command has as an option.
OPTIONS = {
    "alpha": "--alpha",
    "beta": "--beta",
    "beta_0": "--beta-0",
    "d": "--d",
    "executor": "--dask",
    "kappa": "--kappa",
    "n_test": "--n-test",
    "n_tokens": "--tokens",
    "noise": "--noise",
    "pairs": "--pairs",
    "part": "--part",
    "processes": "--workers",
    "ridge": "--ridge",
    "seeds": "--seeds",
    "slurm": "--slurm",
    "slurm_option": "--slurm-option",
    "store": "--store",
    "target": "--target",
    "task": "--task",
    "threshold": "--threshold",
    "trainer": "--trainer",
    "weight_decay": "--weight-decay",
}
# What one writes in Python, and what stands for it here.
PHRASES = {
    r"pass store= next time": "use --store FOLDER next time",
    r"where\('([\w:]+)'\)": r"`presage where \1`",
    r"ridgeless\(problem\)": "`presage solve --ridgeless`",
    r"solve\(problem\)": "`presage solve`",
    r"bayes_optimal\(problem\)": "`presage bayes`",
    r"simulate\(problem, d=100\)": "`presage simulate --d 100`",
    r"trainer=LBFGS\(\)|LBFGS\(\)": "--trainer lbfgs",
    r"trainer=ProximalGradient\(\)|ProximalGradient\(\)": "--trainer proximal",
    r"target=GaussianProduct\(0\.5\)|GaussianProduct\(0\.5\)": "--target product:0.5",
    r"target=MarchenkoPastur\(0\.5\)|MarchenkoPastur\(0\.5\)": "--target mp:0.5",
    r"`channel` must be a Linear or a Softmax": "`--model` must be one with a linear or a softmax output",
    r"Got channel=(\w+)\([^)]*\)": r"Got \1",
    r"Use Linear or Softmax": "Use --model attention",
    r"use quadratic_network\b": "use --model quadratic",
    r", or seeds=\[0, 1, 2\]": "",
    r"`ensembles` must have at least two networks each": "There must be at least two networks of each `d`",
    r"Got ensembles='([^']*)'": r"Got \1",
    r"([Uu])se more seeds": r"\1se more --seeds",
    r"problem\.replace\((\w+=[\w.]+)\)": r"\1",
}


class CommandError(Exception):
    """A command that makes no sense: one sentence that says what to write instead."""


class ComputationError(Exception):
    """A computation that did not succeed, with what to try."""


class InterruptionError(Exception):
    """Ctrl-C, with what is left of the work."""


def in_options(message: str) -> str:
    """Translate a message of the library, which names arguments of Python, to the options of the command line."""
    for phrase, words in PHRASES.items():
        message = re.sub(phrase, words, message)
    # Objects such as Softmax(n_tokens=2) stay as they are: every second piece.
    pieces = re.split(r"(\b[A-Z]\w*\([^()]*\))", message)
    return "".join(piece if index % 2 else _arguments_in_options(piece) for index, piece in enumerate(pieces))


def _arguments_in_options(text: str) -> str:
    for name, option in OPTIONS.items():
        text = text.replace(f"`{name}`", f"`{option}`")
        text = re.sub(rf"(?<![\w.-]){name}=(?=[^\s=])", f"{option} ", text)
        if "_" in name:
            text = re.sub(rf"(?<![\w.-]){name}(?![\w(])", option, text)
    text = re.sub(r"(--[\w-]+) \[([^\[\]]*)\]", lambda found: f"{found[1]} {found[2].replace(', ', ',')}", text)
    return re.sub(r"(--[\w-]+) (['\"])([^'\"]*)\2", r"\1 \3", text)


def explain(error: BaseException) -> tuple[str, int]:
    """The sentence and the exit code of an error."""
    if isinstance(error, CommandError):
        return str(error), MISTAKE
    if isinstance(error, ComputationError):
        return str(error), FAILED
    if isinstance(error, InterruptionError):
        return str(error), INTERRUPTED
    if isinstance(error, ValueError):
        return in_options(str(error)), MISTAKE
    if isinstance(error, ArithmeticError):
        return f"The computation failed: {in_options(str(error))}", FAILED
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Use a smaller --d, --alpha or number of --workers.", FAILED
    if isinstance(error, OSError):
        where = f"`{error.filename}`: " if error.filename else ""
        return f"{where}{error.strerror or error}. Name a file or folder that can be used.", MISTAKE
    if isinstance(error, ImportError) and error.name:
        return f"This needs the package {error.name}, which is not installed. Install it with pip.", FAILED
    if type(error) is RuntimeError:  # a process that was killed, say
        return in_options(str(error)), FAILED
    said = f"{type(error).__name__}: {error}"
    return f"This is a fault of presage itself ({said}). Run it again with {TRACEBACK}=1 and report it.", FAILED


def wants_traceback() -> bool:
    """Whether the user asked to see where errors come from."""
    return os.environ.get(TRACEBACK, "") not in ("", "0")
