"""What this model is, for who asks and who looks: its problems by name, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from dataclasses import replace

from presage.models.attention import declaration as attention
from presage.protocol.fields import Choice, Form, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.untied"
MOST_KEYS = 8  # of a softmax: the proximal map of a row has a dimension for each key but one
MOST_TOKENS = 1000
UNTRAINED = ("bayes_optimal", "thresholds")  # verbs about any method: what the weights cost plays no part

TARGET = Part(
    "law of the target's singular values, or of its eigenvalues if it is symmetric",
    kind=f"{HERE}.problem.TARGETS",
    example="GaussianProduct(0.5)",
    reason="a matrix of queries and keys has a law of singular values",
    forms={
        "product": Form("product:RANK", "product:0.5", "product of Gaussian factors", "GaussianProduct"),
        "mp": Form("mp:KAPPA_0", "mp:0.5", "symmetric, Marchenko-Pastur", "MarchenkoPastur"),
    },
)
ALPHA = replace(attention.ALPHA, at_least=1e-9, above=None, at_most=1e6, example=1.0, plays_no_part_in=("thresholds",))
WEIGHT_DECAY = Number(
    "price of the weights: decay on both factors of the matrix, or a ridge on the matrix itself",
    symbol=r"\lambda",
    label="weight decay",
    at_least=0.0,
    at_most=1e6,
    optional=True,
    scale="logarithmic",
    example=0.02,
    reason="it is the price of the weights",
    remedy="Use for example <weight_decay=0.02>, <weight_decay=0.0> for its limit, or None where nothing is trained.",
    plays_no_part_in=UNTRAINED,
    span=(1e-4, 10.0),
)
NOISE = Number(
    "variance of the noise on every score of a label",
    symbol=r"\Delta",
    at_least=0.0,
    at_most=1e6,
    default=0.0,
    example=0.25,
    reason="it is the variance of the noise on every score",
    remedy="Use for example <noise=0.25>, or <noise=0.0> for clean labels.",
    span=(0.0, 2.0),
)
N_TOKENS = Number(
    "tokens of a sequence, each a row of attention",
    symbol="T",
    label="tokens",
    at_least=1,
    at_most=MOST_TOKENS,
    whole=True,
    default=2,
    example=2,
    reason="it is the number of tokens of a sequence",
    too_large="a sample has a score for every pair of tokens, and more than that are not supported",
    remedy="Use for example <n_tokens=2>.",
    span=(2, 6),
)
N_KEYS = Number(
    "tokens of the other sequence, the keys; as many as queries if left out",
    symbol="K",
    label="keys",
    at_least=1,
    at_most=MOST_TOKENS,
    whole=True,
    optional=True,
    reason="it is the number of tokens of the sequence that is looked at",
    too_large=N_TOKENS.too_large,
    remedy="Use for example <n_keys=2>.",
    span=(2, 6),
)
MASK = Choice(
    "which tokens a token looks at",
    options=("cross", "causal", "off-diagonal", "self"),
    default="cross",
    reason="a token looks at another sequence, at those before it, at all but itself, or at all of its own sequence",
)
OUTPUT = Choice(
    "what is made of the scores",
    options=("softmax", "linear"),
    default="softmax",
    reason="labels and learner show the softmax of each row of scores, or the scores themselves",
)
BETA, BETA_0 = attention.BETA, attention.BETA_0
PENALTY = Choice(
    "what the weights cost",
    options=("weight-decay", "frobenius"),
    default="weight-decay",
    reason="the factors are trained with weight decay, or the matrix itself with a ridge",
)
TARGET_GAIN = replace(attention.TARGET_GAIN, plays_no_part_in=("thresholds",))

TEST_ERROR = Observable(
    "test_error",
    "loss on a fresh, noisy sample",
    "test error",
    formula=r"\mathbb E \sum_{a,b} (y_{ab} - \hat y_{ab})^2_{\mathrm{new}}",
)
OF_ANY_MASK = (
    TEST_ERROR,
    attention.TRAIN_LOSS,
    Observable(
        "train_error",
        "loss a sample at the minimum",
        "training error",
        brief=False,
        formula=r"\frac{1}{n} \sum_{\mu} \sum_{a,b} (y^\mu_{ab} - \hat y^\mu_{ab})^2",
    ),
    attention.ESTIMATION_ERROR,
    Observable(
        "rank",
        "fraction of non-zero singular values",
        "rank / d",
        fraction=True,
        formula=r"\#\{i : s_i(S) \ne 0\}/d",
    ),
)
OF_PARTS = (  # of a token that looks at itself too: that score sees the symmetric part only
    Observable(
        "symmetric_error",
        "estimation error of the symmetric part",
        "error of (S + S')/2",
        brief=False,
        formula=r"\|S_s - S_{0s}\|_F^2/d",
    ),
    Observable(
        "antisymmetric_error",
        "estimation error of the antisymmetric part",
        "error of (S - S')/2",
        brief=False,
        formula=r"\|S_a - S_{0a}\|_F^2/d",
    ),
)
GAIN = Observable("gain", "learned gain of the output", "gain", formula="v")
MEASURED = (*OF_ANY_MASK, *OF_PARTS, GAIN)
BAYES = (attention.MMSE, TEST_ERROR, attention.DELTA)
THRESHOLDS = (
    Observable(
        "strong_recovery", "the best of all methods finds it from here", "recovery (best method)", clean_only=True
    ),
    Observable("minimal_nuclear_norm", "the least nuclear norm finds it from here", "recovery", clean_only=True),
    Observable("weak_recovery", "something is learned from here (low rank)", brief=False),
)
FIELDS = {
    "target": TARGET,
    "alpha": ALPHA,
    "weight_decay": WEIGHT_DECAY,
    "noise": NOISE,
    "n_tokens": N_TOKENS,
    "n_keys": N_KEYS,
    "mask": MASK,
    "output": OUTPUT,
    "beta": BETA,
    "beta_0": BETA_0,
    "penalty": PENALTY,
    "target_gain": TARGET_GAIN,
}

MODEL = Model(
    name="untied",
    words="one attention head with separate query and key matrices",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "bayes_optimal": f"{HERE}.bayes:bayes_optimal",
    },
    measured=MEASURED,
    observables={"solve": MEASURED, "thresholds": THRESHOLDS, "bayes_optimal": BAYES},
    trainers={
        "lbfgs": "presage.training.lbfgs:LBFGS",
        "proximal": "presage.training.proximal_gradient:ProximalGradient",
    },
    named=(
        NamedProblem(
            "untied-attention",
            "softmax attention with separate query and key matrices",
            f"{HERE}.problem:untied_attention",
            FIELDS,
        ),
    ),
)
