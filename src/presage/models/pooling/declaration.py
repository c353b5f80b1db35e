"""What this model is, for who asks and who looks: its problem, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from presage.protocol.fields import Form, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.pooling"
MOST_TOKENS = 4096

POOLING = Part(
    "weights of the tokens of a sequence",
    kind=f"{HERE}.poolings.Pooling",
    example="MeanPooling()",
    reason="it says how much each token of a sequence counts",
    noun="pooling",
    forms={
        "mean": Form("mean", "mean", "all alike", "MeanPooling", 0, 0),
        "causal": Form("causal:TAU", "causal:1", "causal attention, 0: harmonic", "CausalPooling"),
        "best": Form("best", "best", "the best ones", "BestPooling", 0, 0),
        "weights": Form(
            "weights:W_1,...,W_T", "weights:1,1,1,1,1,1,1,1", "given ones", "GivenPooling", 1, MOST_TOKENS, listed=True
        ),
    },
)
CLASSES = Part(
    "how the classes of the tokens of a sequence are correlated",
    kind=f"{HERE}.classes.TokenClasses",
    example="AlignedTokens(0.5)",
    reason="it says how much the tokens of a sequence agree",
    noun="correlation",
    forms={
        "aligned": Form(
            "aligned:R,DECAY", "aligned:0.5", "agreement r, falling along the sequence", "AlignedTokens", 1, 2
        )
    },
)
ALPHA = Number(
    "sequences over the dimension of a token, N/d",
    symbol=r"\alpha",
    label="sequences  $\\alpha = N/d$",
    at_least=1e-6,
    at_most=1e9,
    scale="logarithmic",
    example=2.0,
    reason="it is the number of sequences over the dimension of a token, N/d and not N/d^2",
    plays_no_part_in=("thresholds",),
    span=(0.05, 50.0),
)
VOCABULARY = Number(
    "tokens of the table over their dimension, V/d",
    symbol="V/d",
    label="vocabulary  $V/d$",
    at_least=1e-6,
    at_most=1e9,
    scale="logarithmic",
    example=2.0,
    reason="it is the number of different tokens over the dimension of one",
    span=(0.1, 50.0),
)
SIGNAL = Number(
    "squared distance of the means of the two classes from their middle, |mu|^2",
    symbol=r"\rho",
    label="signal  $\\rho = |\\mu|^2$",
    at_least=0.0,
    at_most=1e9,
    example=1.0,
    reason="it is the squared length of the mean of a class, in units of the variance of a token",
    remedy="Use for example <signal=1.0>, or <signal=0.0> for tokens without classes.",
    span=(0.0, 4.0),
)
N_TOKENS = Number(
    "tokens a sequence",
    symbol="T",
    at_least=1,
    at_most=MOST_TOKENS,
    whole=True,
    scale="logarithmic",
    default=8,
    example=8,
    reason="it is the number of tokens of a sequence",
    span=(1, 64),
)

MEASURED = (
    Observable(
        "alignment",
        "squared cosine of the first direction with the class, <u, mu/|mu|>^2",
        "alignment",
        formula=r"\langle u, \mu/\|\mu\| \rangle^2",
        fluctuation=0.5,
    ),
    Observable(
        "top",
        "largest eigenvalue of the covariance over |w|^2",
        "largest eigenvalue",
        formula=r"\lambda_1(C)/\kappa",
        fluctuation=0.5,
    ),
    Observable(
        "edge",
        "second largest eigenvalue: the edge of the bulk",
        "edge of the bulk",
        formula=r"\lambda_2(C)/\kappa",
        correction=2.0 / 3.0,
        fluctuation=2.0 / 3.0,
    ),
    Observable(
        "rank",
        "fraction of non-zero eigenvalues",
        "rank / d",
        fraction=True,
        brief=False,
        formula=r"\operatorname{rank}(C)/d",
    ),
)
THRESHOLDS = (Observable("outlier", "the class comes out of the bulk from here", "class comes out"),)

MODEL = Model(
    name="pooling",
    words="tokens of two classes, pooled over a sequence by fixed weights or by attention",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
    },
    measured=MEASURED,
    observables={"solve": MEASURED, "thresholds": THRESHOLDS},
    trainers={"principal": f"{HERE}.experiment.principal:PrincipalDirection"},
    named=(
        NamedProblem(
            "pooling",
            "attention pooling: the class of tokens, from the covariance of pooled sequences",
            f"{HERE}.problem:attention_pooling",
            {
                "pooling": POOLING,
                "alpha": ALPHA,
                "vocabulary": VOCABULARY,
                "signal": SIGNAL,
                "classes": CLASSES,
                "n_tokens": N_TOKENS,
            },
        ),
    ),
)
