"""What this model is, for who asks and who looks: its problems, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from dataclasses import replace

from presage.protocol.fields import Choice, Form, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.multi_index"

DEGREE = Number(
    "degree of the Hermite polynomial",
    at_least=2,
    at_most=6,
    whole=True,
    example=2,
    reason="it is the degree of an even polynomial, of which higher ones have too heavy tails for labels",
    span=(2, 6),
)
SECOND = Number(
    "weight of the second cosine",
    at_least=-100.0,
    at_most=100.0,
    default=0.0,
    example=1.12042,
    reason="the function is cos z - second cos 2z",
    span=(0.0, 2.0),
)
LINK = Part(
    "function of every feature",
    kind=f"{HERE}.links.Link",
    example="HermiteLink(2)",
    reason="labels are sums of a function of each feature",
    noun="function",
    forms={
        "hermite": Form("hermite:DEGREE", "hermite:2", "Hermite polynomial of variance one", "HermiteLink"),
        "abs": Form("abs", "abs", "absolute value", "AbsoluteLink", 0, 0),
        "cos": Form("cos or cos:SECOND", "cos", "cos z - SECOND cos 2z", "CosineLink", 0, 1),
    },
)
ALPHA = Number(
    "samples over the dimension, n/d",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/d$",
    at_least=1e-3,
    at_most=1e12,
    scale="logarithmic",
    example=200.0,
    reason="it is the number of samples over the dimension, n/d and not n/d^2",
    plays_no_part_in=("thresholds", "recovery"),
    span=(1.0, 1e4),
)
FEATURES = Number(
    "number of features",
    symbol="p",
    at_least=1,
    at_most=100_000,
    whole=True,
    example=12,
    reason="it is the number of directions that a label depends on",
    scale="logarithmic",
    span=(1, 64),
)
DECAY = Number(
    "exponent by which features get smaller, k^-decay; 0 for a committee of equal ones of size p^-1/2",
    symbol=r"\gamma",
    label="decay of the features",
    at_least=0.0,
    at_most=10.0,
    example=1.0,
    reason="feature k has the size k^-decay",
    remedy="Use for example <decay=1.0>, or <decay=0.0> for a committee of equal features.",
    span=(0.6, 2.0),
)
NOISE = Number(
    "variance of the label noise",
    symbol=r"\Delta",
    at_least=1e-3,
    at_most=1e6,
    default=0.5,
    example=0.5,
    reason="it is the variance of the label noise, which gives labels their density",
    span=(0.1, 4.0),
)
SIGNAL = Number(
    "strength of the target beside the noise, which multiplies its variance",
    symbol=r"\lambda",
    label="signal",
    at_least=1e-9,
    at_most=1e4,
    scale="logarithmic",
    default=1.0,
    example=0.5,
    reason="the clean label is multiplied by its root",
    span=(1e-3, 4.0),
)
PREPROCESSING = Choice(
    'what the spectral method makes of a standardised label u: "identity" u, "bounded" u/sqrt(1 + u^2/9), "hermite" '
    'He_b(u) with b the noise sensitivity exponent, or "best", for a single feature or a committee',
    options=("identity", "bounded", "hermite", "best"),
    default="bounded",
    reason="these are the functions of a label that samples are weighted by",
)
READOUT_DEGREE = Number(
    "highest degree of the readout",
    at_least=2,
    at_most=12,
    whole=True,
    default=6,
    example=6,
    reason="the readout is a polynomial of what was recovered",
    plays_no_part_in=("thresholds", "recovery"),
    span=(2, 8),
)
READOUT = Choice(
    'whether the readout has polynomials of each recovered coordinate by itself ("separate") or of all together '
    '("joint"), which equal features need',
    options=("separate", "joint"),
    default="separate",
    reason="these are the polynomials of the recovered coordinates that labels are fitted by",
)

JOINT = replace(READOUT, default="joint")

MEASURED = (
    Observable(
        "excess_risk",
        "squared error of the readout on a fresh, clean label",
        "excess risk",
        formula=r"\mathbb E\, (\hat y(x) - \bar y(x))^2_{\mathrm{new}}",
        fluctuation=0.5,
    ),
    Observable(
        "unlearned",
        "part of the target's energy in directions that were not recovered",
        "unlearned energy",
        formula=r"\sum_k a_k^2 (1 - \|P w_k\|^2) \big/ \sum_k a_k^2",
        fluctuation=0.5,
    ),
    Observable(
        "top_eigenvalue",
        "distance from zero of the eigenvalue of the largest feature, over the size of the weights",
        "top eigenvalue",
        formula=r"\frac{1}{p_1} \sum_{j \le p_1} |\lambda_j(C)| \big/ \sqrt{\mathbb E\, T^2}",
        fluctuation=0.5,
    ),
    Observable(
        "recovered",
        "number of eigenvectors outside of the bulk",
        "features recovered",
        brief=False,
        formula=r"\#\{j : \lambda_j(C) \notin [\lambda_-, \lambda_+]\}",
        fluctuation=0.5,
    ),
)
PREDICTED = (
    *MEASURED,
    Observable("edge", "edge of the bulk on the side of the outliers, over the size of the weights", "edge"),
)
THRESHOLDS = (
    Observable("first", "the largest feature is seen from here", "first feature"),
    Observable("last", "all features are seen from here", "all features"),
    Observable("best_first", "any first-order method sees the largest from here", "first feature, best method"),
    Observable("best_last", "and all of them from here", "all features, best method"),
)
SCALING = (
    Observable("error", "exact excess risk, which the law is about", "excess risk"),
    Observable("law_value", "what the law of the phase says", "law of the phase"),
    Observable("composite", "excess risk with every threshold that of a weak feature", "weak features"),
    Observable("learned", "number of features above their threshold", "features learned"),
)

FIELDS = {"link": LINK, "alpha": ALPHA}
WAYS = {"preprocessing": PREPROCESSING, "readout_degree": READOUT_DEGREE, "readout": READOUT}

MODEL = Model(
    name="multi_index",
    words="labels that are sums of a function of several directions, recovered one by one by a spectral method",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "recovery": f"{HERE}.theory.recovery:recovery",
        "scaling": f"{HERE}.theory.scaling:scaling",
    },
    measured=MEASURED,
    observables={"solve": PREDICTED, "thresholds": THRESHOLDS, "scaling": SCALING},
    trainers={"spectral": f"{HERE}.experiment.spectral_estimator:SpectralEstimator"},
    dimension="dimension of a sample",
    named=(
        NamedProblem(
            "single-index",
            "y = sqrt(signal) f(<w, x>) + noise of variance one: a single feature",
            f"{HERE}.problem:single_index",
            {**FIELDS, "signal": SIGNAL, **WAYS},
            lacks={"scaling": "a single feature has no law of many"},
        ),
        NamedProblem(
            "committee",
            "y = sqrt(signal/p) sum_k f(<w_k, x>) + noise of variance one: equal features",
            f"{HERE}.problem:committee",
            {**FIELDS, "features": FEATURES, "signal": SIGNAL, **WAYS, "readout": JOINT},
            begin={"features": 4},
            lacks={"scaling": "equal features are all learned at once"},
        ),
        NamedProblem(
            "multi-index",
            "y = sum_k k^-decay f(<w_k, x>) + noise: features of falling size",
            f"{HERE}.problem:multi_index",
            {**FIELDS, "features": FEATURES, "decay": DECAY, "noise": NOISE, "signal": SIGNAL, **WAYS},
        ),
    ),
)
