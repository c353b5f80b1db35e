"""What this model is, for who asks and who looks: its problems by name, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from dataclasses import replace

from presage.protocol.fields import Choice, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.bilinear"

TARGET = Part(
    "law of the target's singular values",
    kind="presage.laws.rectangular_law.RectangularLaw",
    example="GaussianProduct(0.5)",
    reason="a matrix without symmetry has a law of singular values",
)
ALPHA = Number(
    "samples over the number of entries of the target",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/(d L)$",
    at_least=1e-9,
    at_most=1e6,
    scale="logarithmic",
    example=0.5,
    reason="it is the number of samples over the number of entries of the target",
    usual_up_to=1000.0,
    hint="a number of samples is told together with its dimension, <n=20000> and <d=400>",
    plays_no_part_in=("thresholds",),
    span=(0.02, 40.0),
)
NOISE = Number(
    "variance of the label noise",
    symbol=r"\Delta",
    at_least=0.0,
    at_most=1e6,
    default=0.0,
    example=0.5,
    reason="it is the variance of the label noise",
    remedy="Use for example <noise=0.5>, or <noise=0.0> for clean labels.",
    span=(0.0, 2.0),
)
WEIGHT_DECAY = Number(
    "weight decay on both factors of the matrix",
    symbol=r"\lambda",
    label="weight decay",
    at_least=0.0,
    at_most=1e6,
    optional=True,
    scale="logarithmic",
    example=0.01,
    reason="it multiplies the squared norm of both factors",
    remedy="Use for example <weight_decay=0.1>, <weight_decay=0.0> for its limit, or None where nothing is trained.",
    plays_no_part_in=("bayes_optimal", "thresholds", "trajectory"),
    span=(1e-4, 10.0),
)
N_TOKENS = Number(
    "tokens of a sequence",
    symbol="T",
    label="tokens",
    at_least=1,
    at_most=1000,
    whole=True,
    optional=True,
    example=2,
    reason="it is the number of tokens of a sequence, and a pair of distinct ones needs two",
    too_large="a sample has a score for every pair of tokens, and more than that are not supported",
    remedy="Use for example <n_tokens=2>.",
)
N_TOKENS_OF_ATTENTION = replace(N_TOKENS, default=2)
PAIRS = Choice(
    "scores that are seen",
    options=("cross", "distinct", "all"),
    default="cross",
    reason="it says which scores are seen",
)

TEST_ERROR = Observable(
    "test_error",
    "loss on a fresh, noisy sample",
    "test error",
    formula=r"\mathbb E \sum_{a,b} (y_{ab} - \hat y_{ab})^2_{\mathrm{new}}",
)
ESTIMATION_ERROR = Observable(
    "estimation_error",
    "|S_fit - S_0|_F^2 / (d L)",
    "estimation error",
    formula=r"\|S - S_0\|_F^2/(d L) = \|M - M_0\|_F^2/\sqrt{d L}",
)
TRAIN_ERROR = Observable(
    "train_error",
    "loss a sample at the minimum",
    "training error",
    brief=False,
    formula=r"\frac{1}{n} \sum_{\mu} \sum_{a,b} (y^\mu_{ab} - \hat y^\mu_{ab})^2",
)
MEASURED = (
    TEST_ERROR,
    Observable(
        "train_loss", "whole loss, with its penalty, over d L", "training loss / d L", formula=r"\mathcal L/(d L)"
    ),
    TRAIN_ERROR,
    ESTIMATION_ERROR,
    Observable(
        "rank",
        "fraction of non-zero singular values",
        "rank / d",
        fraction=True,
        formula=r"\#\{i : s_i(M) \ne 0\}/d",
    ),
)
FOLLOWED = (TEST_ERROR, ESTIMATION_ERROR)  # after every step of message passing
MATRIX_FOLLOWED = (TEST_ERROR, TRAIN_ERROR, ESTIMATION_ERROR)  # of a matrix that is trained itself, at every time
BAYES = (
    Observable(
        "mmse",
        "least estimation error of any method",
        formula=r"\mathbb E\, \|\mathbb E[S_0 \mid \text{data}] - S_0\|_F^2/(d L)",
    ),
    TEST_ERROR,
    Observable("delta", "noise at which the target is seen", formula=r"\delta"),
    Observable(
        "mutual_information",
        "of all labels, an entry, in nats",
        "information / d L",
        costly=True,
        formula=r"I(M_0; \text{labels} \mid X)/(d L)",
    ),
)
THRESHOLDS = (
    Observable(
        "strong_recovery", "the best of all methods finds it from here", "recovery (best method)", clean_only=True
    ),
    Observable("minimal_nuclear_norm", "the least nuclear norm finds it from here", "recovery", clean_only=True),
    Observable("weak_recovery", "something is learned from here (low rank)", brief=False),
)
REGRESSION = {"target": TARGET, "alpha": ALPHA, "weight_decay": WEIGHT_DECAY, "noise": NOISE}

MODEL = Model(
    name="bilinear",
    words="a matrix without symmetry, seen through bilinear measurements",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "bayes_optimal": f"{HERE}.bayes:bayes_optimal",
        "trajectory": f"{HERE}.theory.trajectory:trajectory",
    },
    measured=MEASURED,
    observables={"solve": MEASURED, "thresholds": THRESHOLDS, "bayes_optimal": BAYES, "trajectory": MATRIX_FOLLOWED},
    trainers={
        "proximal": "presage.training.proximal_gradient:ProximalGradient",
        "lbfgs": "presage.training.lbfgs:LBFGS",
        "bayes-amp": "presage.training.bayes_amp:BayesAMP",
    },
    ways={
        "matrix-flow": "presage.protocol.matrix_flow:MatrixFlow",
        "matrix-descent": "presage.protocol.matrix_descent:MatrixDescent",
    },
    dimension="shorter side of the matrix",
    named=(
        NamedProblem(
            "bilinear",
            "regression on sequences, y = <X, S>/sqrt(d L)",
            f"{HERE}.problem:bilinear_regression",
            REGRESSION,
        ),
        NamedProblem(
            "untied",
            "linear attention with separate query and key matrices",
            f"{HERE}.problem:untied_linear_attention",
            {**REGRESSION, "n_tokens": N_TOKENS_OF_ATTENTION, "pairs": PAIRS},
        ),
    ),
)
