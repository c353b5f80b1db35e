"""The options that describe a problem, in one wording for every command."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from presage.cli import grids, models, targets
from presage.cli.mistakes import OPTIONS, CommandError

PANEL = "The problem"


class Number(NamedTuple):
    """A numeric option: what it is where it is left out, and what it means."""

    default: str | None
    means: str


NUMBERS = {
    "alpha": Number("0.5", "Samples over the squared dimension, n/d^2."),
    "weight_decay": Number("0.01", "Weight decay on the factors of the layer."),
    "ridge": Number("0.01", "Ridge on a matrix that is trained entry by entry."),
    "noise": Number("0.5", "Variance of the label noise."),
    "n_tokens": Number("2", "Tokens of a sequence."),
    "beta": Number("1", "Inverse temperature of the softmax."),
    "beta_0": Number(None, "That of the target, if it is another."),
    "kappa": Number("1", "Width of the student over the dimension, m/d."),
    "threshold": Number("1", "Where the Huber loss of --model robust turns linear."),
}
DEFAULTS_OF_A_MODEL = {"robust": {"n_tokens": "1"}}  # where they differ
DEFAULT_TARGET = {False: "mp:0.5", True: "product:0.5"}  # by whether the matrix is rectangular
DEFAULT_PAIRS = "cross"
WORDS = {"weight_decay": "weight decay", "n_tokens": "tokens", "beta_0": "beta of the target"}


@dataclasses.dataclass(frozen=True)
class Given:
    """What was written on the command line about the problem; None is what was left out."""

    model_name: str
    target: str | None
    pairs: str | None
    numbers: dict[str, str | None]
    unused: frozenset[str] = frozenset()  # numbers that play no part in the answer, and are not told

    def __post_init__(self) -> None:
        self._refuse_what_the_model_lacks()

    @property
    def model(self) -> models.Model:
        """The model named."""
        return models.model(self.model_name)

    @property
    def target_text(self) -> str:
        """The target as written, or what it is by default."""
        return DEFAULT_TARGET[self.model.rectangular] if self.target is None else self.target

    def texts(self) -> dict[str, str]:
        """Every number of the model as written, or its default."""
        defaults = {name: number.default for name, number in NUMBERS.items()}
        defaults |= DEFAULTS_OF_A_MODEL.get(self.model_name, {})
        written = {name: text for name, text in self.numbers.items() if text is not None}
        found = {name: written.get(name, defaults.get(name)) for name in self.model.options}
        return {name: text for name, text in found.items() if text is not None}

    def must_be_trainable(self) -> None:
        """Refuse a model whose loss has no minimum to predict or to train."""
        if not self.model.trainable:
            raise CommandError(
                f"--model {self.model_name} cannot be trained: its output has no slope. "
                "Use `presage bayes` for the best that any method can do, or --model attention."
            )

    def grids(self) -> dict[str, list[float]]:
        """The numbers that are grids, by their names in the library."""
        return {
            name: [_whole(value, name) for value in grids.grid(OPTIONS[name], text)]
            for name, text in self.texts().items()
            if grids.is_grid(text)
        }

    def written(self) -> dict[str, str | None]:
        """The options as they were written, by their names here; a file by its full name, for use from elsewhere."""
        target = self.target
        if target is not None and target.endswith(".npy"):
            target = str(Path(target).absolute())
        numbers = {OPTIONS[name]: text for name, text in self.numbers.items()}
        return {"--model": self.model_name, "--target": target, **numbers, "--pairs": self.pairs}

    def is_logarithmic(self, name: str) -> bool:
        """Whether a grid is evenly spaced in its logarithm."""
        return grids.is_logarithmic(self.texts()[name])

    def problem(self, **at: float) -> Any:
        """The problem, at one point of its grids."""
        import presage as ps

        values: dict[str, Any] = {
            name: at[name] if name in at else grids.number(OPTIONS[name], text) for name, text in self.texts().items()
        }
        if "pairs" in self.model.options:
            values["pairs"] = DEFAULT_PAIRS if self.pairs is None else self.pairs
        target = targets.law(self.target_text, rectangular=self.model.rectangular)
        return getattr(ps, self.model.function)(target, **values)

    def without(self, *names: str) -> Given:
        """The same problem for an answer that does not depend on some of its numbers; a grid is told all the same."""
        return dataclasses.replace(self, unused=frozenset(names))

    def described(self) -> dict[str, Any]:
        """The whole problem, defaults included, by the names of the library."""
        found: dict[str, Any] = {"model": self.model_name, "target": self.target_text}
        for name, text in self.texts().items():
            if name in self.unused and not grids.is_grid(text):
                continue
            found[name] = text if grids.is_grid(text) else _whole(grids.number(OPTIONS[name], text), name)
        if "pairs" in self.model.options:
            found["pairs"] = DEFAULT_PAIRS if self.pairs is None else self.pairs
        return found

    def title(self) -> str:
        """The whole problem in a line."""
        said = {WORDS.get(name, name): _short(value) for name, value in self.described().items()}
        return ", ".join([said.pop("model"), *(f"{name} {value}" for name, value in said.items())])

    def _refuse_what_the_model_lacks(self) -> None:
        written: dict[str, str | None] = {**self.numbers, "pairs": self.pairs}
        for name, text in written.items():
            if text is not None and name not in self.model.options:
                has = ", ".join(OPTIONS[option] for option in self.model.options)
                raise CommandError(
                    f"`{OPTIONS[name]}` is no option of --model {self.model_name}, which has {has}. "
                    f"Leave it out or name another model."
                )


def _whole(value: float, name: str) -> float | int:
    return int(value) if name == "n_tokens" and value.is_integer() else value


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def takes_problem(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a problem: they arrive as its first argument, a `Given`."""
    hints = typing.get_type_hints(command, include_extras=True)
    _, *own = inspect.signature(command).parameters.values()
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (default, annotation) in _shared().items()
    ]
    kept = [p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in own]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        numbers = {name: values.pop(name) for name in NUMBERS}
        given = Given(values.pop("model"), values.pop("target"), values.pop("pairs"), numbers)
        command(given, **values)

    arguments = [p for p in kept if p.default is inspect.Parameter.empty]
    options = [p for p in kept if p.default is not inspect.Parameter.empty]
    run.__signature__ = inspect.Signature([*arguments, *shared, *options])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*arguments, *shared, *options)}
    del run.__wrapped__  # typer reads the signature of what it wraps, if there is such
    return run


def _shared() -> dict[str, tuple[str | None, Any]]:
    ways = ", ".join(form.pattern for form in targets.SYMMETRIC.values())
    found: dict[str, tuple[str | None, Any]] = {
        "model": (
            "attention",
            Annotated[
                str,
                typer.Option(
                    help=", ".join(models.MODELS) + ".",
                    metavar="NAME",
                    autocompletion=models.complete,
                    rich_help_panel=PANEL,
                ),
            ],
        ),
        "target": (
            None,
            Annotated[
                str | None,
                typer.Option(
                    help=f"Law of the target's eigenvalues: {ways}, or a file.npy of eigenvalues or of a matrix. "
                    "Default mp:0.5. For bilinear and untied its singular values: product:RANK,ASPECT, masses:... "
                    "or a file.npy. Default product:0.5.",
                    metavar="LAW",
                    show_default=False,
                    rich_help_panel=PANEL,
                ),
            ],
        ),
    }
    for name, number in NUMBERS.items():
        option = typer.Option(
            OPTIONS[name],
            help=number.means + (f" Default {number.default}." if number.default else ""),
            metavar="NUMBER",
            show_default=False,  # it is None, so that what was left out can be told from what was written
            rich_help_panel=PANEL,
        )
        found[name] = (None, Annotated[str | None, option])
    pairs = typer.Option(
        help='Scores that --model untied sees: "cross", "distinct" or "all". Default cross.',
        metavar="WHICH",
        show_default=False,
        rich_help_panel=PANEL,
    )
    found["pairs"] = (None, Annotated[str | None, pairs])
    return found
