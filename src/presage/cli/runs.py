"""What `presage sweep` can run over a grid, and with which options."""

from __future__ import annotations

from typing import Any

from presage.cli import trainers
from presage.cli.mistakes import CommandError

RUNS = {
    "solve": "solve",
    "simulate": "simulate",
    "bayes": "bayes_optimal",
    "ridgeless": "ridgeless",
    "optimal": "optimal_regularization",
    "thresholds": "thresholds",
}
WITHOUT_TRAINING = {"bayes", "thresholds"}


def complete(incomplete: str) -> list[str]:
    """Names for the shell."""
    return [name for name in RUNS if name.startswith(incomplete)]


def function(name: str) -> Any:
    """The function of a name."""
    import presage as ps

    if name not in RUNS:
        raise CommandError(f"RUN must be one of {', '.join(RUNS)}. Got {name!r}. Use `presage sweep solve`.")
    return getattr(ps, RUNS[name])


def training(
    name: str, problem: Any, rectangular: bool, d: str | None, seeds: int | None, trainer: str | None, task: str | None
) -> dict[str, Any]:
    """The options of `simulate`; the other runs train nothing and have none."""
    written = {"--d": d, "--seeds": seeds, "--trainer": trainer, "--task": task}
    if name != "simulate":
        for option, value in written.items():
            if value is not None:
                raise CommandError(
                    f"`{option}` is for `presage sweep simulate`: {name} trains no network. Leave it out."
                )
        return {}
    sizes = trainers.dimensions("100" if d is None else d)
    found: dict[str, Any] = {"d": sizes if len(sizes) > 1 else sizes[0]}
    if seeds is not None:
        found["seeds"] = seeds
    chosen = trainers.trainer(trainer, problem)
    if chosen is not None:
        found["trainer"] = chosen
    if task is not None:
        if rectangular:
            raise CommandError("`--task` is for symmetric matrices: this model has none. Leave it out.")
        found["task"] = task
    return found
