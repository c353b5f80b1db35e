"""What this model is, for who asks and who looks: its problems by name, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from dataclasses import replace

from presage.protocol.fields import Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.attention"
MOST_TOKENS = 64
LIMITS = ("ridgeless", "optimal_regularization")  # of a penalty: its strength plays no part in them

TARGET = Part(
    "law of the target's eigenvalues",
    kind="presage.laws.spectral_law.SpectralLaw",
    example="MarchenkoPastur(0.5)",
    reason="a problem is made of a target law, a channel and a penalty",
)
CHANNEL = Part(
    "what labels and loss see of the matrix",
    kind=f"{HERE}.channels.channel.Channel",
    example="Softmax(2)",
    reason=TARGET.reason,
)
PENALTY = Part(
    "price of the weights",
    kind=f"{HERE}.penalties.penalty.Penalty",
    example="NuclearPSD(0.01)",
    reason=TARGET.reason,
)
ALPHA = Number(
    "samples over the squared dimension, n/d^2",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/d^2$",
    above=0.0,
    at_most=1e18,  # a power law of exponent 2 and a million eigenvalues is learned to the last one there
    scale="logarithmic",
    example=0.5,
    reason="it is the number of samples over the squared dimension, n/d^2",
    usual_up_to=1000.0,
    hint="a number of samples is told together with its dimension, <n=20000> and <d=400>",
    plays_no_part_in=("thresholds", "recovery"),
    span=(0.02, 40.0),
)
NOISE = Number(
    "variance of the label noise",
    symbol=r"\Delta",
    at_least=0.0,
    at_most=1e6,
    default=0.0,
    example=0.5,
    reason="it is the variance of the label noise, and beyond 1e6 the labels hold nothing of the target",
    remedy="Use for example <noise=0.5>, or <noise=0.0> for clean labels.",
    span=(0.0, 2.0),
)
KAPPA = Number(
    "width of the student over the dimension, m/d",
    symbol=r"\kappa",
    label="width of the student  $m/d$",
    above=0.0,
    at_most=1e6,
    default=1.0,
    example=1.0,
    reason="it is the width of the student over the dimension, m/d",
    usual_up_to=10.0,
    hint="a width of 100 at d = 400 is <kappa=0.25>",
    remedy="Use for example <kappa=1.0>.",
    plays_no_part_in=("bayes_optimal",),
    span=(0.05, 2.0),
)
WEIGHT_DECAY = Number(
    "weight decay on the factors of the layer",
    symbol=r"\lambda",
    label="weight decay",
    at_least=0.0,
    at_most=1e6,
    scale="logarithmic",
    example=0.01,
    reason="it is the price of the weights",
    remedy="Use for example <weight_decay=0.01>, or <weight_decay=0.0> with <ridgeless()>.",
    plays_no_part_in=("bayes_optimal", "thresholds", *LIMITS),
    span=(1e-4, 10.0),
)
RIDGE = Number(
    "ridge on a matrix that is trained entry by entry",
    symbol=r"\tau",
    label="ridge",
    at_least=0.0,
    at_most=1e6,
    scale="logarithmic",
    example=0.01,
    reason="it is the price of the weights",
    remedy="Use for example <ridge=0.01>, or <ridge=0.0> with <ridgeless()>.",
    plays_no_part_in=("bayes_optimal", "thresholds", *LIMITS),
    span=(1e-4, 10.0),
)
STRENGTH = Number(  # of one part of an elastic net
    "strength of a penalty",
    at_least=0.0,
    at_most=1e6,
    scale="logarithmic",
    example=0.1,
    reason="it is the strength of a penalty",
    remedy="Use for example <nuclear=0.1> and <ridge=0.05>.",
    plays_no_part_in=("bayes_optimal", "thresholds"),
    span=(1e-3, 10.0),
)
N_TOKENS = Number(
    "tokens of a sequence",
    symbol="T",
    label="tokens",
    at_least=2,
    at_most=MOST_TOKENS,
    whole=True,
    default=2,
    example=2,
    reason="the softmax of a single entry is 1 whatever the weights, nothing can be learned",
    too_large="a sample has a score for every pair of tokens, and more than that are not supported",
    remedy="Use for example <n_tokens=2>; for one token use <quadratic_network>.",
    span=(2, 8),
)
N_TOKENS_FROM_ONE = Number(
    N_TOKENS.words,
    symbol="T",
    label="tokens",
    at_least=1,
    at_most=MOST_TOKENS,
    whole=True,
    default=1,
    example=1,
    reason="a sample has at least one token",
    too_large=N_TOKENS.too_large,
    remedy="Use for example <n_tokens=2>; for one token use <quadratic_network>.",
    span=(1, 8),
)
N_TOKENS_LINEAR = replace(N_TOKENS_FROM_ONE, default=2, example=2)
BETA = Number(
    "inverse temperature of the softmax",
    symbol=r"\beta",
    above=0.0,
    at_most=1e3,
    scale="logarithmic",
    default=1.0,
    example=1.0,
    reason="it is the inverse temperature of a softmax",
    remedy="Use for example <beta=1.0>; leave <beta_0> out to give the target the learner's <beta>.",
    span=(0.1, 10.0),
)
BETA_0 = Number(
    "that of the target, if it is another",
    symbol=r"\beta_0",
    label="beta of the target",
    above=0.0,
    at_most=1e3,
    optional=True,
    scale="logarithmic",
    reason=BETA.reason,
    remedy=BETA.remedy,
    span=(0.1, 10.0),
)
TARGET_GAIN = Number(  # of the values behind the scores, in the models of heads that are built on this one
    "gain v_0 of the target's output, where the learner learns its own; none is learned where it is left out",
    symbol="v_0",
    label="gain of the target",
    above=0.0,
    at_most=1e3,
    optional=True,
    scale="logarithmic",
    reason="it is the factor on the output of the target",
    remedy="Use for example <target_gain=1.5>, or leave it out.",
    span=(0.1, 10.0),
)
THRESHOLD = Number(
    "residual beyond which the loss grows linearly",
    above=0.0,
    scale="logarithmic",
    default=1.0,
    example=1.0,
    reason="it is the residual beyond which the loss grows linearly",
    remedy="Use for example <threshold=1.0>.",
    plays_no_part_in=("bayes_optimal",),
    span=(0.05, 20.0),
)

TEST_ERROR = Observable(
    "test_error",
    "loss on a fresh, noisy sample",
    "test error",
    formula=r"\mathbb E\, \ell(y_{\mathrm{new}}, \hat y_{\mathrm{new}})",
)
TRAIN_LOSS = Observable(
    "train_loss", "whole loss, with its penalty, over d^2", "training loss / d²", formula=r"\mathcal L/d^2"
)
TRAIN_ERROR = Observable(
    "train_error",
    "loss a sample at the minimum",
    "training error",
    brief=False,
    formula=r"\frac{1}{n} \sum_{\mu} \ell(y^\mu, \hat y^\mu)",
)
ESTIMATION_ERROR = Observable(
    "estimation_error", "|S_fit - S_0|_F^2 / d", "estimation error", formula=r"\|S - S_0\|_F^2/d"
)
RANK = Observable(
    "rank", "fraction of non-zero eigenvalues", "rank / d", fraction=True, formula=r"\#\{i : s_i \ne 0\}/d"
)
MEASURED = (TEST_ERROR, TRAIN_LOSS, TRAIN_ERROR, ESTIMATION_ERROR, RANK)  # of predictions and of networks alike
FOLLOWED = (TEST_ERROR, ESTIMATION_ERROR, RANK)  # after every step of message passing
LEARNED = Observable(
    "learned", "part of the target's features of which half is learned", "features learned", fraction=True
)
LOCAL_EXPONENT = Observable("local_exponent", "of the estimation error, in the time", "local exponent", brief=False)
FLOWED = (TEST_ERROR, ESTIMATION_ERROR, LEARNED, LOCAL_EXPONENT)  # of networks that see infinitely many samples
DESCENDED = (TEST_ERROR, ESTIMATION_ERROR, LEARNED)
MATRIX_FOLLOWED = (TEST_ERROR, TRAIN_ERROR, ESTIMATION_ERROR)  # of a matrix that is trained itself
PARTS = (  # of |S_fit/scale - S_0|_F^2/d, in predictions and of networks that kept what it takes
    Observable("overfitting", "error by the noise that is kept", formula=r"R' - R'(\text{bulk deleted})"),
    Observable(
        "not_learned",
        "error by features that are not learned",
        "not learned",
        formula=r"\frac{1}{d} \sum_{s_i \le s_*} s_i^2",
    ),
    Observable(
        "approximation",
        "error of the features that are learned",
        formula=r"\|S_{\mathrm{out}}\|_F^2/d - \frac{2}{d}\operatorname{Tr} S_{\mathrm{out}} S_0 "
        r"+ \frac{1}{d}\sum_{s_i > s_*} s_i^2",
    ),
)
REPLICON = Observable("replicon", "below 1: the prediction is stable", brief=False)
MMSE = Observable(
    "mmse",
    "least estimation error of any method",
    formula=r"\mathbb E\, \|\mathbb E[S_0 \mid \text{data}] - S_0\|_F^2/d",
)
DELTA = Observable("delta", "noise at which the target is seen", formula=r"\delta")
BAYES = (
    MMSE,
    TEST_ERROR,
    DELTA,
    Observable(
        "mutual_information",
        "of all labels, over d^2, in nats",
        "information / d²",
        costly=True,
        formula=r"I(S_0; \text{labels} \mid \text{tokens})/d^2",
    ),
)
THRESHOLDS = (
    Observable("interpolation", "labels are fitted exactly up to here"),
    Observable("perfect_recovery", "weight decay finds the target from here", "recovery", clean_only=True),
    Observable(
        "unfactorized_recovery", "training S itself finds it from here", "recovery without factors", brief=False
    ),
    Observable(
        "bayes_recovery", "the best of all methods finds it from here", "recovery (best method)", clean_only=True
    ),
    Observable("weak_recovery", "something is learned from here (low rank)", brief=False),
)

SCALING = (
    Observable(
        "phase_number",
        "the phase, by its place in the list",
        "phase",
        stands_for=("Ia", "Ib", "II", "III", "IV", "V", "peak", "VIa", "VIb"),
    ),
    Observable("error", "exact |S_fit/scale - S_0|_F^2 / d (scale 1 but for a softmax)", "estimation error"),
    Observable("law_value", "what the law of the phase says", "leading law"),
    Observable("composite", "isolated features on a semicircle of noise", "composite law"),
    Observable("learned", "features of the target that are learned", "learned features"),
    Observable("exponent_n", "of the law, in samples", "exponent in n"),
    Observable("exponent_weight_decay", "of the law, in weight decay", "exponent in weight decay"),
    Observable("local_exponent_n", "of the exact error around here, in samples", "local exponent in n"),
    Observable(
        "local_exponent_weight_decay",
        "of the exact error around here, in weight decay",
        "local exponent in weight decay",
    ),
    Observable("best_weight_decay", "weight decay of least error, growing as n^(1/2) by its law", "best weight decay"),
    Observable("best_error", "error at the best weight decay", "error at the best weight decay"),
    Observable("best_exponent", "of it and of the best method, in samples, by their laws", brief=False),
    Observable("bayes_error", "least error of any method", "least error"),
    Observable("ratio", "error at the best weight decay over the least of any method"),
    Observable("ratio_limit", "of it, for many features: 3 gamma/(1 + gamma)", brief=False),
    Observable("pruned_error", "error after the bulk of the learned matrix is cut off", "error after pruning"),
    Observable("reshrunk_error", "error after each kept eigenvalue is moved to its best place", brief=False),
    Observable("test_error_above_floor", "test error less that of infinitely many samples", "test error above floor"),
    Observable("test_floor", "test error of infinitely many samples", brief=False),
    Observable("estimation_floor", "estimation error of infinitely many samples", brief=False),
)

NO_SLOPE = "its output has no slope, so that it cannot be trained"
UNTRAINED = dict.fromkeys(("solve", "simulate", "recovery", "scaling", "trajectory", *LIMITS), NO_SLOPE)
NOT_FIXED = (
    "they are known where a label fixes what is seen of the scores, as that of a linear or a softmax output does"
)
NO_CUTOFF = "it is known where small eigenvalues are cut off, by weight decay on the factors"
TWO_STRENGTHS = "its penalty has two strengths, and it is known for one"
NO_LAWS_OF_LOSS = "the laws are those of the square loss on a linear output, and of softmax attention"
NO_LAWS_OF_PENALTY = "the laws are those of weight decay on the factors, which cuts small eigenvalues"

MODEL = Model(
    name="attention",
    words="quadratic networks and single-head attention, a symmetric matrix seen through a channel",
    verbs={
        "solve": f"{HERE}.theory.solve:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.theory.thresholds:thresholds",
        "bayes_optimal": f"{HERE}.bayes.optimal:bayes_optimal",
        "bayes_curve": f"{HERE}.bayes.curve:bayes_curve",
        "ridgeless": f"{HERE}.theory.ridgeless:ridgeless",
        "optimal_regularization": f"{HERE}.theory.regularization:optimal_regularization",
        "scaling": f"{HERE}.theory.scaling.answer:scaling",
        "recovery": f"{HERE}.theory.sequential_recovery:recovery",
        "trajectory": f"{HERE}.theory.trajectory:trajectory",
    },
    measured=MEASURED,
    observables={
        "solve": (*MEASURED, REPLICON),
        "thresholds": THRESHOLDS,
        "bayes_optimal": BAYES,
        "ridgeless": MEASURED,
        "optimal_regularization": MEASURED,
        "scaling": SCALING,
        "trajectory": (*FOLLOWED, TRAIN_ERROR, LEARNED, LOCAL_EXPONENT),
    },
    trainers={
        "amp": f"{HERE}.experiment.amp:AMP",
        "lbfgs": "presage.training.lbfgs:LBFGS",
        "adam": "presage.training.adam:Adam",
        "proximal": "presage.training.proximal_gradient:ProximalGradient",
        "bayes-amp": "presage.training.bayes_amp:BayesAMP",
    },
    ways={
        "plain-amp": f"{HERE}.plain_amp:PlainAMP",
        "population-flow": f"{HERE}.population_flow:PopulationFlow",
        "population-descent": f"{HERE}.population_descent:PopulationDescent",
        "matrix-flow": "presage.protocol.matrix_flow:MatrixFlow",
        "matrix-descent": "presage.protocol.matrix_descent:MatrixDescent",
    },
    named=(
        NamedProblem(
            "attention",
            "single-head tied softmax attention with weight decay on its factor",
            f"{HERE}.named:attention",
            {
                "target": TARGET,
                "alpha": ALPHA,
                "weight_decay": WEIGHT_DECAY,
                "noise": NOISE,
                "n_tokens": N_TOKENS,
                "beta": BETA,
                "beta_0": BETA_0,
                "kappa": KAPPA,
            },
            default=True,
        ),
        NamedProblem(
            "quadratic",
            "two-layer network with quadratic activation and weight decay",
            f"{HERE}.named:quadratic_network",
            {"target": TARGET, "alpha": ALPHA, "weight_decay": WEIGHT_DECAY, "noise": NOISE, "kappa": KAPPA},
        ),
        NamedProblem(
            "linear-attention",
            "attention without its softmax",
            f"{HERE}.named:linear_attention",
            {
                "target": TARGET,
                "alpha": ALPHA,
                "weight_decay": WEIGHT_DECAY,
                "noise": NOISE,
                "n_tokens": N_TOKENS_LINEAR,
                "kappa": KAPPA,
            },
        ),
        NamedProblem(
            "unfactorized",
            "softmax attention whose matrix is trained entry by entry, with a ridge",
            f"{HERE}.named:unfactorized_attention",
            {
                "target": TARGET,
                "alpha": ALPHA,
                "ridge": RIDGE,
                "noise": NOISE,
                "n_tokens": N_TOKENS,
                "beta": BETA,
                "beta_0": BETA_0,
            },
            lacks={"scaling": NO_LAWS_OF_PENALTY, "recovery": NO_CUTOFF},
        ),
        NamedProblem(
            "unfactorized-linear",
            "linear attention, or a quadratic network, whose matrix is trained entry by entry, with a ridge or none",
            f"{HERE}.named:unfactorized_linear_attention",
            {"target": TARGET, "alpha": ALPHA, "ridge": RIDGE, "noise": NOISE, "n_tokens": N_TOKENS_FROM_ONE},
            lacks={"scaling": NO_LAWS_OF_PENALTY, "recovery": NO_CUTOFF},
        ),
        NamedProblem(
            "hardmax",
            "attention to the token of the largest score alone, for two tokens",
            f"{HERE}.named:hardmax_attention",
            {"target": TARGET, "alpha": ALPHA, "noise": NOISE, "kappa": KAPPA},
            lacks={**UNTRAINED, "thresholds": NOT_FIXED},
        ),
        NamedProblem(
            "pair-comparison",
            "a quadratic score, learned from which of two tokens is preferred",
            f"{HERE}.named:pair_comparison",
            {
                "target": TARGET,
                "alpha": ALPHA,
                "weight_decay": WEIGHT_DECAY,
                "noise": NOISE,
                "beta": BETA,
                "beta_0": BETA_0,
                "kappa": KAPPA,
            },
            lacks={"thresholds": NOT_FIXED, "ridgeless": NOT_FIXED, "scaling": NO_LAWS_OF_LOSS},
        ),
        NamedProblem(
            "robust",
            "quadratic network trained with the Huber loss",
            f"{HERE}.named:robust_network",
            {
                "target": TARGET,
                "alpha": ALPHA,
                "weight_decay": WEIGHT_DECAY,
                "noise": NOISE,
                "threshold": THRESHOLD,
                "n_tokens": N_TOKENS_FROM_ONE,
                "kappa": KAPPA,
            },
            lacks={"thresholds": NOT_FIXED, "ridgeless": NOT_FIXED, "scaling": NO_LAWS_OF_LOSS},
        ),
        NamedProblem(
            "elastic",
            "softmax attention with an elastic net on the eigenvalues of its matrix",
            f"{HERE}.named:elastic_attention",
            {
                "target": TARGET,
                "alpha": ALPHA,
                "nuclear": STRENGTH,
                "ridge": STRENGTH,
                "noise": NOISE,
                "n_tokens": N_TOKENS,
                "beta": BETA,
                "beta_0": BETA_0,
            },
            lacks={
                **dict.fromkeys(LIMITS, TWO_STRENGTHS),
                "scaling": NO_LAWS_OF_PENALTY,
                "recovery": NO_CUTOFF,
            },
        ),
    ),
)
