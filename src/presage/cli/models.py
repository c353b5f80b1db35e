"""The models one can name, and which options each of them has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple

from presage.cli.mistakes import CommandError


class Model(NamedTuple):
    """A named problem of the library."""

    function: str  # of presage
    options: tuple[str, ...]  # in the order in which they are printed, by their names in the library
    rectangular: bool = False  # whether its matrix has no symmetry
    trainable: bool = True  # whether its loss has a slope to follow


MODELS = {
    "attention": Model("attention", ("alpha", "weight_decay", "noise", "n_tokens", "beta", "beta_0", "kappa")),
    "quadratic": Model("quadratic_network", ("alpha", "weight_decay", "noise", "kappa")),
    "linear-attention": Model("linear_attention", ("alpha", "weight_decay", "noise", "n_tokens", "kappa")),
    "unfactorized": Model("unfactorized_attention", ("alpha", "ridge", "noise", "n_tokens", "beta", "beta_0")),
    "hardmax": Model("hardmax_attention", ("alpha", "noise", "kappa"), trainable=False),
    "pair-comparison": Model("pair_comparison", ("alpha", "weight_decay", "noise", "beta", "beta_0", "kappa")),
    "robust": Model("robust_network", ("alpha", "weight_decay", "noise", "threshold", "n_tokens", "kappa")),
    "bilinear": Model("bilinear_regression", ("alpha", "weight_decay", "noise"), rectangular=True),
    "untied": Model(
        "untied_linear_attention", ("alpha", "weight_decay", "noise", "n_tokens", "pairs"), rectangular=True
    ),
}


def model(name: str) -> Model:
    """The model of a name, or the sentence that lists the names."""
    if name in MODELS:
        return MODELS[name]
    near = get_close_matches(name, MODELS, n=1)
    guess = f" Did you mean --model {near[0]}?" if near else " Use for example --model attention."
    raise CommandError(f"`--model` must be one of {', '.join(MODELS)}. Got --model {name!r}.{guess}")


def complete(incomplete: str) -> list[str]:
    """Names of models for the shell."""
    return [name for name in MODELS if name.startswith(incomplete)]
