"""How networks are trained, as one writes it: the dimension, the seeds, the trainer, the task."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from presage.cli.mistakes import CommandError

PANEL = "The training"
TRAINERS = {
    "amp": "AMP",
    "lbfgs": "LBFGS",
    "adam": "Adam",
    "proximal": "ProximalGradient",
    "bayes-amp": "BayesAMP",
}
BAYES = "bayes-amp"  # needs no slope, and finds the posterior mean instead of a minimum
Seeds = Annotated[int, typer.Option("--seeds", help="Networks to train, on independent data.", rich_help_panel=PANEL)]
TrainerName = Annotated[
    str | None,
    typer.Option(
        "--trainer",
        help=", ".join(TRAINERS) + ". Default amp (proximal for bilinear and untied).",
        metavar="NAME",
        show_default=False,
        autocompletion=lambda incomplete: [name for name in TRAINERS if name.startswith(incomplete)],
        rich_help_panel=PANEL,
    ),
]
Task = Annotated[
    str,
    typer.Option(
        "--task",
        help="What is fitted: label (the attention matrix) or sequence (the output tokens).",
        metavar="NAME",
        autocompletion=lambda incomplete: [name for name in ("label", "sequence") if name.startswith(incomplete)],
        rich_help_panel=PANEL,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Networks or cells at a time. Default: all cores.", show_default=False),
]

OBSERVABLES = ("test_error", "train_loss", "train_error", "estimation_error", "rank")


def measured(name: str | None) -> tuple[str, ...]:
    """What is measured of networks; a posterior mean minimises no loss and has no zeros, so errors only."""
    return ("test_error", "estimation_error") if name == BAYES else OBSERVABLES


def trainer(name: str | None, problem: Any) -> Any:
    """The trainer of a name, None for the one that suits the problem."""
    import presage as ps

    if name is None:
        return None
    if name not in TRAINERS:
        raise CommandError(f"`--trainer` must be one of {', '.join(TRAINERS)}. Got --trainer {name!r}. Use amp.")
    if name == BAYES:
        rectangular = isinstance(problem, ps.BilinearProblem)
        return ps.BayesAMP((ps.SingularValueDenoiser if rectangular else ps.Denoiser)(problem.target))
    return getattr(ps, TRAINERS[name])()


def options(
    problem: Any, rectangular: bool, trainer_name: str | None, task: str, workers: int | None
) -> dict[str, Any]:
    """What `simulate` takes beside the problem, d and the seeds."""
    chosen: dict[str, Any] = {"trainer": trainer(trainer_name, problem)}
    if rectangular:
        for option, differs in (("--task", task != "label"), ("--workers", workers is not None)):
            if differs:
                raise CommandError(f"`{option}` is for symmetric matrices: this model has none. Leave it out.")
        return chosen
    return {**chosen, "task": task, "processes": workers}


def dimensions(text: str) -> list[int]:
    """Dimensions such as ``50,100``."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise CommandError(f"`--d` must be whole numbers. Got --d {text!r}. Use for example --d 50,100.") from None
