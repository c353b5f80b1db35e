"""What this model is, for who asks and who looks: its problems by name, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from dataclasses import replace

from presage.models.attention import declaration as attention
from presage.protocol.fields import Choice, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.multihead"
MOST_HEADS = 4

TARGET = Part(
    "law of the eigenvalues of every head of the target",
    kind=attention.TARGET.kind,
    example="MarchenkoPastur(0.5)",
    reason="every head of the target is a symmetric matrix with a law of eigenvalues",
)
N_HEADS = Number(
    "heads, of the target and of the learner",
    symbol="H",
    label="heads",
    at_least=1,
    at_most=MOST_HEADS,
    whole=True,
    optional=True,
    default=2,
    example=2,
    reason="it is the number of heads, and a learner has as many as its target",
    too_large="the proximal map of a sample has two dimensions for each head, and more are not supported",
    span=(1, 4),
)
N_HEADS_OR_LAWS = replace(N_HEADS, default=None)  # left out it is 2, or as many as laws are given
ALPHA = replace(attention.ALPHA, at_least=1e-9, above=None, at_most=1e6, example=2.0, plays_no_part_in=())
WEIGHT_DECAY = Number(
    "price of the weights: weight decay on the factors of the heads, or a ridge on their matrices",
    symbol=r"\lambda",
    label="weight decay",
    above=0.0,
    at_most=1e6,
    scale="logarithmic",
    example=0.01,
    reason="it is the price of the weights, without which the minimum of the loss need not be unique",
    remedy="Use for example <weight_decay=0.01>.",
    span=(1e-4, 10.0),
)
NOISE = replace(attention.NOISE, words="variance of the label noise, of the scores of each head")
N_TOKENS = replace(
    attention.N_TOKENS_LINEAR,
    reason="it is the number of tokens of a sequence",
    remedy="Use for example <n_tokens=2>.",
    span=(2, 8),
)
BETA = attention.BETA
BETA_0 = attention.BETA_0
KAPPA = replace(
    attention.KAPPA,
    words="width of a head over the dimension, m/d",
    label="width of a head  $m/d$",
    reason="it is the width of a head over the dimension, m/d",
    plays_no_part_in=(),
)
COMBINE = Choice(
    "what becomes of the heads: their softmaxes side by side, the mean of them, or the sum of their scores",
    options=("concatenate", "mean", "sum"),
    default="concatenate",
    reason="it says what is made of the outputs of the heads",
)
PENALTY = Choice(
    "what the weight decay is on: the factor of a head, or its matrix",
    options=("weight-decay", "frobenius"),
    default="weight-decay",
    reason="a head is trained by its factor or entry by entry",
)
TARGET_GAIN = attention.TARGET_GAIN

TEST_ERROR = Observable(
    "test_error",
    "loss on a fresh, noisy sample",
    "test error",
    formula=r"\mathbb E\, \|y_{\mathrm{new}} - \hat y_{\mathrm{new}}\|_F^2",
)
TRAIN_ERROR = Observable(
    "train_error",
    "loss a sample at the minimum",
    "training error",
    brief=False,
    formula=r"\frac{1}{n} \sum_{\mu} \|y^\mu - \hat y^\mu\|_F^2",
)
ESTIMATION_ERROR = Observable(
    "estimation_error",
    "|S_h - S_0h|_F^2 / d, mean over heads",
    "estimation error",
    formula=r"\frac{1}{H} \sum_h \|S_h - S_{0h}\|_F^2/d",
)
RANK = Observable(
    "rank",
    "fraction of non-zero eigenvalues, mean over heads",
    "rank / d",
    fraction=True,
    formula=r"\frac{1}{H} \sum_h \#\{i : s_i(S_h) \ne 0\}/d",
)
OVERLAP = Observable(
    "overlap",
    "Tr S_h S_0h / d, mean over heads",
    "overlap with the target",
    brief=False,
    formula=r"\frac{1}{H} \sum_h \operatorname{Tr} S_h S_{0h}/d",
)
CROSS_TARGET_OVERLAP = Observable(
    "cross_target_overlap",
    "Tr S_h S_0k / d, mean over pairs of different heads",
    "overlap with other heads of the target",
    brief=False,
    formula=r"\frac{1}{H(H-1)} \sum_{h \ne k} \operatorname{Tr} S_h S_{0k}/d",
)
CROSS_OVERLAP = Observable(
    "cross_overlap",
    "Tr S_h S_k / d, mean over pairs of different heads",
    "overlap between heads",
    brief=False,
    formula=r"\frac{1}{H(H-1)} \sum_{h \ne k} \operatorname{Tr} S_h S_k/d",
)
GAIN = Observable("gain", "learned gain of the output, mean over heads", "gain", formula="v")
MEASURED = (
    TEST_ERROR,
    attention.TRAIN_LOSS,
    TRAIN_ERROR,
    ESTIMATION_ERROR,
    RANK,
    OVERLAP,
    CROSS_TARGET_OVERLAP,
    CROSS_OVERLAP,
    GAIN,
)

MODEL = Model(
    name="multihead",
    words="several heads of tied attention that are learned together, and a learned gain of their output",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
    },
    measured=MEASURED,
    observables={"solve": MEASURED},
    trainers={"lbfgs": "presage.training.lbfgs:LBFGS"},
    named=(
        NamedProblem(
            "multihead",
            "several heads of tied attention, learned from what is made of their outputs",
            f"{HERE}.problem:multihead_attention",
            {
                "target": TARGET,
                "alpha": ALPHA,
                "weight_decay": WEIGHT_DECAY,
                "noise": NOISE,
                "n_heads": N_HEADS_OR_LAWS,
                "n_tokens": N_TOKENS,
                "beta": BETA,
                "beta_0": BETA_0,
                "kappa": KAPPA,
                "combine": COMBINE,
                "penalty": PENALTY,
                "target_gain": TARGET_GAIN,
            },
        ),
    ),
)
