"""The program `presage`: its commands, and what becomes of errors."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from presage.cli import (
    classify,
    figure,
    lookup,
    page,
    predictions,
    scaling,
    spectrum,
    sweep,
    training,
    trajectory,
    weights,
)
from presage.cli.errors import (
    DONE,
    FAILED,
    INTERRUPTED,
    MISTAKE,
    NOBODY_READS,
    NobodyReadsError,
    UnwritableError,
    explain,
    wants_traceback,
)
from presage.cli.left_out import sparing
from presage.cli.options import Command, ProblemCommand
from presage.cli.output import printing

EPILOG = (
    "Example:  presage solve --alpha 0.5 --noise 0.5\n\n"
    "Exit codes: 0 done, 1 the computation failed, 2 a mistake in the command, 130 interrupted, "
    "141 the reader of a pipe has left."
)
RANK = "The rank of the target is part of its law: --target mp:0.5. "
HINTS = {"--kappa-0": RANK, "--kappa0": RANK, "--kappa_0": RANK, "--rank": RANK}  # options that one might expect

WORDS = {  # of typer about a value, and ours
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
    "Input should be": "it must be",
}

SELDOM = 50_000  # new objects after which Python looks for rubbish: about as many as a command imports


class Program(TyperGroup):
    """The commands; whatever goes wrong in one becomes a sentence and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Parse, run, and leave with the exit code."""
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except typer.Abort:
            code = INTERRUPTED
        except NobodyReadsError:
            code = _nobody_reads()
        except SystemExit as error:
            if not isinstance(error.__context__, BrokenPipeError):  # typer prints its help in a way of its own
                raise
            code = _nobody_reads()
        except Exception as error:
            if wants_traceback():
                raise
            code = _tell(error)
        sys.exit(code if isinstance(code, int) else 0)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options that stand before the command."""
        return sparing(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        with printing():
            super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run a command to the end of its output; a closed pipe is told apart, which typer would call a failure."""
        try:
            done = super().invoke(ctx)
            with printing():
                sys.stdout.flush()
        except BrokenPipeError:
            raise NobodyReadsError from None
        return done


def _tell(error: Exception) -> int:
    if isinstance(error, UnwritableError):
        _drop_output()
    if hasattr(error, "format_message"):  # typer's own: an unknown option, a missing value
        if not error.format_message().strip():  # nothing was asked for, and the help is printed
            return DONE
        message, code = _usage(error), MISTAKE
    else:
        message, code = explain(error)
    sys.stderr.write(f"presage: {' '.join(message.split())}\n")
    return code


def _usage(error: Any) -> str:
    """What typer found wrong with the command line, with where to look."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "presage"
    said = error.format_message().strip()
    for theirs, ours in WORDS.items():
        said = said.replace(theirs, ours)
    hint = HINTS.get(getattr(error, "option_name", ""), "")
    return f"{said}{'' if said.endswith(('.', '?', '!')) else '.'} {hint}`{path} --help` lists what there is."


def _nobody_reads() -> int:
    """The reader of a pipe has left: say nothing, also when Python closes its streams."""
    _drop_output()
    return NOBODY_READS


def _drop_output() -> None:
    """What standard output did not take is not tried again when Python closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    name="presage",
    cls=Program,
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import presage

        with printing():
            sys.stdout.write(f"presage {presage.__version__}\n")
            sys.stdout.flush()
        raise typer.Exit


@app.callback()
def presage_itself(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Predict what a neural layer will learn before anyone trains it."""


def _examples(lines: tuple[str, ...]) -> str:
    return "\n\n".join([f"Example{'s' if len(lines) > 1 else ''}:", *lines])


for _module, _command, _cls in (
    (predictions, predictions.solve, ProblemCommand),
    (predictions, predictions.curve, ProblemCommand),
    (spectrum, spectrum.spectrum, ProblemCommand),
    (predictions, predictions.thresholds, ProblemCommand),
    (predictions, predictions.bayes, ProblemCommand),
    (scaling, scaling.scaling, ProblemCommand),
    (trajectory, trajectory.trajectory, ProblemCommand),
    (training, training.simulate, ProblemCommand),
    (training, training.compare, ProblemCommand),
    (sweep, sweep.sweep, ProblemCommand),
    (classify, classify.classify, Command),
    (weights, weights.weights, Command),
    (figure, figure.figure, Command),
    (page, page.page, Command),
    (lookup, lookup.where, Command),
    (lookup, lookup.cite, Command),
    (lookup, lookup.demo, Command),
):
    app.command(cls=_cls, epilog=_examples(_module.EXAMPLES[_command.__name__]))(_command)


# What joblib's clerk of shared memory says when the processes that it counts are gone.
RESOURCE_TRACKER = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"


def _quiet_when_interrupted() -> None:
    """After Ctrl-C, threads that manage worker processes may fail: they do so silently."""
    os.environ.setdefault("PYTHONWARNINGS", RESOURCE_TRACKER)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    threading.excepthook = lambda _: None
    signal.default_int_handler(number, frame)


def main() -> None:
    """Run the command line."""
    if sys.stderr is None:  # it was closed: what went wrong is told by the exit code alone
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the program
    if sys.stdout is None:
        sys.stderr.write("presage: Standard output is closed, and results are printed there. Send it to a file.\n")
        sys.exit(FAILED)
    _quiet_when_interrupted()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the sign ± shows a question mark
    gc.set_threshold(SELDOM)
    try:
        app(prog_name="presage")
    finally:
        gc.freeze()  # Python leaves without a last look through all that was imported
