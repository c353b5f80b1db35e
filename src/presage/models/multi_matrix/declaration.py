"""What this model is, for who asks and who looks: its problem, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

from presage.protocol.fields import Form, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.multi_matrix"
MOST_MATRICES = 3
HIGHEST_POWER = 4

TARGET = Part(
    "law of the eigenvalues of the matrices of the target",
    kind="presage.laws.spectral_law.SpectralLaw",
    example="PointMasses([-1.5, 0.0, 1.5], [0.2, 0.6, 0.2])",
    reason="a symmetric matrix has a law of eigenvalues",
)
OTHERS = Part(
    "laws of the eigenvalues of the matrices after the first, none where all have the same",
    kind="builtins.tuple",
    example="(Semicircle(),)",
    reason="there is a law for each matrix after the first, or one for all",
    noun="list of laws",
)
POWER = Number(
    "power of the number of the first matrix",
    at_least=1,
    at_most=HIGHEST_POWER,
    whole=True,
    example=1,
    reason="it is the power of a number in a label, and higher ones have too heavy tails",
    span=(1, HIGHEST_POWER),
)
FURTHER_POWER = replace(
    POWER,
    words="power of the number of a further matrix, 0 where there is none",
    at_least=0,
    default=0,
    example=2,
    span=(0, HIGHEST_POWER),
)
LINK = Part(
    "function of the quadratic forms that a label is",
    kind=f"{HERE}.links.MatrixLink",
    example="PowersLink(1, 2)",
    reason="a label is a function of one number a matrix",
    noun="function",
    forms={
        "powers": Form("powers:P_1,P_2,...", "powers:1,2", "z_1^P_1 + z_2^P_2 + ...", "PowersLink", 1, MOST_MATRICES),
    },
)
ALPHA = Number(
    "samples over the dimension squared, n/d^2",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/d^2$",
    at_least=1e-3,
    at_most=1e4,
    scale="logarithmic",
    example=2.0,
    reason="it is the number of samples over the dimension squared, n/d^2",
    span=(0.2, 20.0),
)
WEIGHT_DECAY = Number(
    "weight decay on the factors of every matrix",
    symbol=r"\lambda",
    label="weight decay",
    at_least=1e-4,
    at_most=1e4,
    scale="logarithmic",
    example=0.5,
    reason="it multiplies the squared norm of the factors, and without it the equations have no noise to speak of",
    span=(0.05, 5.0),
)
NOISE = Number(
    "variance of the label noise",
    symbol=r"\Delta",
    at_least=0.0,
    at_most=1e6,
    default=0.0,
    example=0.25,
    reason="it is the variance of the label noise",
    remedy="Use for example <noise=0.25>, or <noise=0.0> for clean labels.",
    span=(0.0, 2.0),
)


def of_matrix(h: int) -> tuple[Observable, Observable]:
    """What is measured of matrix h: its error and its rank."""
    which = ("first", "second", "third")[h - 1]
    return (
        Observable(
            f"estimation_error_{h}",
            f"|S - S_0|_F^2 / d of the {which} matrix, signs and order of matrices that labels cannot tell put right",
            f"estimation error, matrix {h}",
            brief=h < MOST_MATRICES,
            formula=rf"\|S_{h} - S_{{0,{h}}}\|_F^2/d",
        ),
        Observable(
            f"rank_{h}",
            f"fraction of non-zero eigenvalues of the {which} matrix",
            f"rank / d, matrix {h}",
            fraction=True,
            brief=h < MOST_MATRICES,
            formula=rf"\#\{{i : s_i(S_{h}) \ne 0\}}/d",
        ),
    )


OF_ALL = (
    Observable(
        "test_error",
        "squared error on a fresh, noisy label",
        "test error",
        formula=r"\mathbb E\, (y - g(z))^2_{\mathrm{new}}",
    ),
    Observable(
        "train_loss", "whole loss, with its penalty, over d^2", "training loss / d^2", formula=r"\mathcal L/d^2"
    ),
    Observable(
        "train_error",
        "squared error a training sample",
        "training error",
        brief=False,
        formula=r"\frac{1}{n} \sum_\mu (y^\mu - g(z^\mu))^2",
    ),
)
OF_MATRICES = tuple(of_matrix(h) for h in range(1, MOST_MATRICES + 1))
MEASURED = (*OF_ALL, *(one for pair in OF_MATRICES for one in pair))


@final
class OfTheMatrices:
    """Observables of a result: those of the matrices of its problem; of its class, those of as many as there may be."""

    def __get__(self, result: Any, kind: type) -> tuple[Observable, ...]:
        matrices = MOST_MATRICES if result is None else result.problem.matrices
        return (*OF_ALL, *(one for pair in OF_MATRICES[:matrices] for one in pair))


MODEL = Model(
    name="multi_matrix",
    words="labels that are a function of a few quadratic forms, each of a matrix of its own",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
    },
    measured=MEASURED,
    observables={"solve": MEASURED},
    trainers={
        "lbfgs": "presage.training.lbfgs:LBFGS",
        "amp": f"{HERE}.message_passing:MatricesAMP",
    },
    dimension="dimension of a sample",
    named=(
        NamedProblem(
            "multi-matrix",
            "y = g(z_1, ..., z_L) + noise, z_h = (x'S_h x - Tr S_h)/sqrt(2d): a function of several quadratic forms",
            f"{HERE}.problem:multi_matrix",
            {"target": TARGET, "link": LINK, "alpha": ALPHA, "weight_decay": WEIGHT_DECAY, "noise": NOISE},
        ),
    ),
)
