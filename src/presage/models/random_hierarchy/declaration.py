"""What this model is, for who asks and who looks: its problem, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from presage.protocol.fields import Number
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.random_hierarchy"

ALPHA = Number(
    "samples over classes times synonyms^depth, n/(n_c m^L)",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/(n_c m^L)$",
    at_least=1e-6,
    at_most=1e6,
    scale="logarithmic",
    example=2.0,
    reason="it is the number of samples over n_c m^L, the number at which layers are said to learn, and not over d",
    usual_up_to=1000.0,
    hint="a number of samples is told as <n=4096>, and alpha is n over classes times synonyms^depth",
    plays_no_part_in=("thresholds", "recovery"),
    span=(0.1, 20.0),
)
SYMBOLS = Number(
    "symbols of each level",
    symbol="v",
    label="symbols $v$",
    at_least=2,
    at_most=256,
    whole=True,
    example=8,
    reason="each level is written in an alphabet of so many symbols",
    span=(4, 32),
)
SYNONYMS = Number(
    "synonyms of a symbol: tuples that it can be written as",
    symbol="m",
    label="synonyms $m$",
    at_least=1,
    at_most=256,
    whole=True,
    example=4,
    reason="each symbol is written as one of so many tuples of the level below",
    span=(1, 8),
)
DEPTH = Number(
    "levels of rules between a class and its input",
    symbol="L",
    label="depth $L$",
    at_least=2,
    at_most=12,
    whole=True,
    example=3,
    reason="a class is written out so many times, and with a single level there is nothing to learn layer by layer",
    span=(2, 6),
)
BRANCHING = Number(
    "symbols of a tuple",
    symbol="s",
    label="branching $s$",
    at_least=2,
    at_most=8,
    whole=True,
    default=2,
    example=2,
    reason="a symbol is written as a tuple of so many symbols of the level below",
    span=(2, 4),
)
CLASSES = Number(
    "classes; as many as symbols where it is left out",
    symbol="n_c",
    label="classes $n_c$",
    at_least=2,
    at_most=256,
    whole=True,
    optional=True,
    reason="a sample belongs to one of so many classes",
    remedy="Use for example <classes=8>, or leave it out for as many as there are symbols.",
    span=(2, 16),
)

MEASURED = (
    Observable(
        "accuracy",
        "part of fresh samples whose class is right",
        "accuracy",
        formula=r"P(\hat y_{\mathrm{new}} = y_{\mathrm{new}})",
    ),
    Observable(
        "bottom_purity",
        "part of the lowest tuples that are of the commonest symbol of their cluster",
        "purity, lowest level",
        formula=r"q_1 = \sum_k \max_a P(k_1 = k,\, a_1 = a)",
    ),
    Observable(
        "top_purity",
        "the same at the highest level that is clustered",
        "purity, highest level",
        formula=r"q_{L-1} = \sum_k \max_a P(k_{L-1} = k,\, a_{L-1} = a)",
    ),
)
ACCURACY = MEASURED[0]
SPREAD = Observable(
    "rule_spread", "standard deviation of the accuracy from one set of rules to another", "spread over rules"
)
THRESHOLDS = (
    Observable("stated", "layers are said to learn here, n = n_c m^L", "stated"),
    Observable("half_height", "the accuracy is half way between a guess and one", "half height"),
    Observable("bottom_learned", "the lowest level is half way between chance and clean", "lowest level learned"),
    Observable("top_learned", "and so is the highest that is clustered", "highest level learned"),
    Observable("bottom_signal", "signal and noise are equal at the lowest level", "signal = noise, lowest level"),
    Observable(
        "top_signal",
        "and at the highest level that is clustered, if those below were clean",
        "signal = noise, highest level",
        brief=False,
    ),
)

MODEL = Model(
    name="random_hierarchy",
    words="a random hierarchy of synonyms, learned layer by layer",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "recovery": f"{HERE}.theory.recovery:recovery",
    },
    measured=MEASURED,
    observables={"solve": (*MEASURED, SPREAD), "thresholds": THRESHOLDS},
    trainers={
        "clustering": f"{HERE}.experiment.layerwise_clustering:LayerwiseClustering",
        "convolution": f"{HERE}.experiment.layerwise_convolution:LayerwiseConvolution",
        "kernel": f"{HERE}.experiment.polynomial_kernel:PolynomialKernel",
    },
    dimension="length of an input, branching^depth",
    named=(
        NamedProblem(
            "random-hierarchy",
            "classes written out by random synonyms, level by level, and learned layer by layer",
            f"{HERE}.problem:random_hierarchy",
            {
                "alpha": ALPHA,
                "symbols": SYMBOLS,
                "synonyms": SYNONYMS,
                "depth": DEPTH,
                "branching": BRANCHING,
                "classes": CLASSES,
            },
        ),
    ),
)
