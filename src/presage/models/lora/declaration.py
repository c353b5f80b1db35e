"""What this model is, for who asks and who looks: its problems by name, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from dataclasses import replace

from presage.models.attention import declaration as attention
from presage.protocol.fields import Choice, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.lora"
MOST_COLUMNS, MOST_TOKENS = 8, 16
UNTRAINED = ("bayes_optimal", "thresholds")  # verbs about any method: what the adapter pays plays no part

PRETRAINING = Part(
    "pre-training whose layer is frozen",
    kind="presage.models.attention.problem.Problem",
    example="attention(MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)",
    reason="an adapter is trained on a layer that was trained before",
    noun="problem",
)
ALPHA = Number(
    "samples of the fine-tuning over the dimension, N'/d",
    symbol=r"\alpha'",
    label="samples of the fine-tuning  $\\alpha' = N'/d$",
    at_least=1e-6,
    at_most=1e6,
    scale="logarithmic",
    example=6.0,
    reason="it is the number of samples of the fine-tuning over the dimension of a token, N'/d and not N'/d^2",
    plays_no_part_in=("thresholds",),
    span=(0.2, 50.0),
)
WEIGHT_DECAY = Number(
    "weight decay on the adapter",
    symbol=r"\lambda'",
    label="weight decay of the adapter",
    at_least=0.0,
    at_most=1e6,
    scale="logarithmic",
    example=0.05,
    reason="it multiplies the squared norm of the adapter",
    plays_no_part_in=UNTRAINED,
    span=(1e-3, 10.0),
)
STRENGTH = Number(
    "size of what is new in the fine-tuning, |w_0|^2/d of a column",
    symbol="q_0",
    label="strength of the new task",
    at_least=1e-3,
    at_most=1e3,
    default=1.0,
    example=1.0,
    reason="it is a squared length, that of each column of the new target over the dimension",
    scale="logarithmic",
    span=(0.1, 10.0),
)
RANK = Number(
    "columns of the adapter",
    symbol="r",
    label="rank of the adapter",
    at_least=1,
    at_most=MOST_COLUMNS,
    whole=True,
    default=1,
    example=1,
    reason="an adapter has at least one column",
    too_large="the proximal map of a sample has a dimension for each token and column, and more are not supported",
    plays_no_part_in=UNTRAINED,
    span=(1, 4),
)
TARGET_RANK = Number(
    "columns of what is new in the fine-tuning",
    symbol="r_0",
    label="rank of the new task",
    at_least=1,
    at_most=MOST_COLUMNS,
    whole=True,
    default=1,
    example=1,
    reason="the new target has at least one column",
    too_large=RANK.too_large,
    span=(1, 4),
)
RECALIBRATION = Number(
    "factor on the frozen matrix",
    symbol="b",
    label="recalibration  $b$",
    above=0.0,
    at_most=100.0,
    default=1.0,
    example=1.0,
    reason="it is the factor by which the frozen matrix is scaled before the fine-tuning",
    remedy="Use for example <recalibration=1.0>; best_recalibration(problem) finds the best one.",
    scale="logarithmic",
    plays_no_part_in=UNTRAINED,
    span=(0.2, 3.0),
)
SELECTION = Number(
    "fraction of a pool of sequences that is labelled: those of the smallest frozen scores",
    symbol="f",
    label="selected fraction",
    above=0.0,
    at_most=1.0,
    default=1.0,
    example=0.1,
    reason="it is the fraction of a pool that is kept, and 1 keeps all",
    too_large="no more than the whole pool can be kept",
    scale="logarithmic",
    plays_no_part_in=UNTRAINED,
    span=(0.01, 1.0),
)
REUSE = Choice(
    "what the fine-tuning takes from the data of the pre-training",
    options=("nothing", "sequences", "noise"),
    default="nothing",
    reason="its sequences are new, those of the pre-training with new labels, or those with their label noise",
)

OVERLAP = Observable(
    "overlap",
    "cosine of the adapter with what is new",
    "overlap",
    formula=r"\big(\|w' w_0\|_F^2 / (\|w' w\|_F\, \|w_0' w_0\|_F)\big)^{1/2}",
    fluctuation=0.5,
)
NORM = Observable(
    "norm",
    "squared size of the adapter, |w|^2 / d",
    "size of the adapter",
    formula=r"\|w\|_F^2/d",
    brief=False,
    correction=0.5,
    fluctuation=0.5,
)
TEST_ERROR = Observable(
    "test_error",
    "loss on a fresh, noisy sample of the new task",
    "test error",
    formula=r"\mathbb E\, \|y_{\mathrm{new}} - \hat y_{\mathrm{new}}\|_F^2",
    correction=0.5,
    fluctuation=0.5,
)
FROZEN_ERROR = Observable(
    "frozen_error",
    "that of the frozen layer without an adapter",
    "error before fine-tuning",
    formula=r"\mathbb E\, \|y_{\mathrm{new}} - \hat y_{\mathrm{new}}(w = 0)\|_F^2",
    correction=0.5,
    fluctuation=0.5,
)
ORACLE_ERROR = Observable(
    "oracle_error",
    "that of the frozen layer with the new target itself as adapter",
    "error of the best adapter",
    formula=r"\mathbb E\, \|y_{\mathrm{new}} - \hat y_{\mathrm{new}}(w = w_0)\|_F^2",
    brief=False,
    correction=0.5,
    fluctuation=0.5,
)
GAIN = Observable(
    "gain",
    "part of the way from the frozen error to the oracle's",
    "gain",
    formula=r"(E_{\mathrm{frozen}} - E)/(E_{\mathrm{frozen}} - E_{\mathrm{oracle}})",
    correction=0.5,
    fluctuation=0.5,
)
TRAIN_LOSS = Observable(
    "train_loss",
    "whole loss of the fine-tuning, with its penalty, over d",
    "training loss / d",
    formula=r"\mathcal L'/d",
    brief=False,
    correction=0.5,
    fluctuation=0.5,
)
MEASURED = (OVERLAP, TEST_ERROR, FROZEN_ERROR, ORACLE_ERROR, GAIN, NORM, TRAIN_LOSS)
TRUST = (
    Observable("replicon", "below 1: the prediction is stable", brief=False),
    Observable("jump", "part of the response that is jumps: above 0.05 no prediction", brief=False),
)
BAYES = (
    Observable(
        "overlap", "cosine of the posterior mean with what is new", "overlap", formula=r"\sqrt{q/q_0}", fluctuation=0.5
    ),
    Observable(
        "test_error",
        "least loss on a fresh, noisy sample (linear output)",
        "test error",
        formula=r"T(T+1)\big[\Delta_{\mathrm{eff}} + q_0^2 - q^2\big]",
        correction=0.5,
        fluctuation=0.5,
    ),
    Observable("effective_noise", "variance of a score that the frozen layer leaves", brief=False),
)
THRESHOLDS = (Observable("weak_recovery", "the best of all methods sees the new task from here", "weak recovery"),)

PRETRAINED = {  # fields of the pre-training, as a problem of both stages names them
    "target": attention.TARGET,
    "pretraining_alpha": replace(
        attention.ALPHA,
        words="samples of the pre-training over the squared dimension, n/d^2",
        label="samples of the pre-training  $\\alpha = n/d^2$",
        plays_no_part_in=(),
    ),
    "pretraining_weight_decay": replace(
        attention.WEIGHT_DECAY,
        words="weight decay of the pre-training",
        label="weight decay of the pre-training",
        remedy="Use for example <pretraining_weight_decay=0.01>.",
        plays_no_part_in=(),
    ),
    "noise": attention.NOISE,
}
TUNED = {
    "alpha": ALPHA,
    "weight_decay": WEIGHT_DECAY,
    "strength": STRENGTH,
    "rank": RANK,
    "target_rank": TARGET_RANK,
    "recalibration": RECALIBRATION,
    "selection": SELECTION,
    "reuse": REUSE,
}
KAPPA = replace(attention.KAPPA, plays_no_part_in=())

MODEL = Model(
    name="lora",
    words="fine-tuning of a pre-trained attention layer by an adapter of low rank",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "bayes_optimal": f"{HERE}.bayes.optimal:bayes_optimal",
    },
    measured=MEASURED,
    observables={"solve": (*MEASURED, *TRUST), "thresholds": THRESHOLDS, "bayes_optimal": BAYES},
    trainers={
        "lbfgs": "presage.training.lbfgs:LBFGS",
        "posterior-amp": f"{HERE}.experiment.posterior_amp:PosteriorAMP",
    },
    named=(
        NamedProblem(
            "linear-lora",
            "a low-rank adapter on a frozen layer of linear attention",
            f"{HERE}.named:linear_lora",
            {**PRETRAINED, "n_tokens": attention.N_TOKENS_LINEAR, "kappa": KAPPA, **TUNED},
            begin={"pretraining_weight_decay": 0.4, "weight_decay": 0.5},
        ),
        NamedProblem(
            "softmax-lora",
            "a low-rank adapter on a frozen layer of softmax attention",
            f"{HERE}.named:softmax_lora",
            {
                **PRETRAINED,
                "n_tokens": attention.N_TOKENS,
                "beta": attention.BETA,
                "beta_0": attention.BETA_0,
                "kappa": KAPPA,
                **TUNED,
            },
        ),
    ),
)
