"""What this model is, for who asks and who looks: its problem, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from presage.protocol.fields import Choice, Form, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.compositional"

ALPHA = Number(
    "samples of a layer over the number of Hermite coordinates, n/D",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/D$",
    at_least=1e-6,
    at_most=1e9,
    scale="logarithmic",
    example=100.0,
    reason="it is the number of samples over D = C(d + q - 1, q), the number of coordinates of degree q",
    plays_no_part_in=("thresholds", "recovery"),
    span=(0.5, 1e4),
)
FEATURES = Number(
    "number of features",
    symbol="d_1",
    at_least=1,
    at_most=100_000,
    whole=True,
    scale="logarithmic",
    example=6,
    reason="it is how many directions of the space of Hermite coordinates the labels depend on",
    too_large="each feature is followed by itself",
    span=(1, 100),
)
DECAY = Number(
    "decay of the strengths, which fall as i^-decay",
    symbol="g",
    at_least=0.0,
    at_most=10.0,
    optional=True,
    example=0.5,
    reason="the first feature is the strongest: strengths are lam_i = Z i^-decay, up to their signs",
    remedy="Use for example <decay=0.5>, or <decay=0.0> for equal features.",
    span=(0.0, 2.0),
)
MIXING = Choice(
    'matrix B of the labels: "diagonal", a power law, or "gaussian", dense with eigenvalues on a semicircle',
    options=("diagonal", "gaussian"),
    default="diagonal",
    reason="it says how the features are mixed",
)
SIGNS = Choice(
    'signs of a power law of strengths: "alternating" or "positive"',
    options=("alternating", "positive"),
    default="alternating",
    reason="it says which features add to the labels and which are taken away",
)
DEGREE = Number(
    "degree q of the Hermite coordinates",
    symbol="q",
    at_least=1,
    at_most=6,
    whole=True,
    default=2,
    example=2,
    reason="coordinates are Hermite polynomials of the inputs of that degree, and D = C(d + q - 1, q)",
)
LINK = Part(
    "last function, from the second layer to the labels",
    kind=f"{HERE}.links.OuterLink",
    example="IdentityLink()",
    reason="labels are a function of the second layer",
    noun="function",
    forms={
        "identity": Form("identity", "identity", "the second layer itself", "IdentityLink", 0, 0),
        "tanh": Form("tanh:GAIN", "tanh:1", "hyperbolic tangent of so many times the second layer", "TanhLink"),
        "cubic": Form("cubic:SHARE", "cubic:0.2", "h plus so many times the cubic Hermite polynomial", "CubicLink"),
    },
)
INPUTS = Choice(
    'coordinates: "surrogate", independent Gaussian ones, or "hermite", those of Gaussian inputs of d entries',
    options=("surrogate", "hermite"),
    default="surrogate",
    reason="the theory is that of Gaussian coordinates, and the true ones come near it as d grows",
)
CLIP = Number(
    "largest label that the first layer uses, in standard deviations; none for all as they are",
    at_least=0.1,
    at_most=100.0,
    optional=True,
    example=3.0,
    reason="few large labels make outliers of their own",
    remedy="Use for example <clip=3.0>, or leave it out.",
    span=(0.5, 6.0),
)

MEASURED = (
    Observable(
        "test_error",
        "squared error on a fresh sample, over the variance of the labels",
        "test error",
        formula=r"\mathbb E\, (y - \hat y)^2_{\mathrm{new}} / \operatorname{Var} y",
    ),
    Observable(
        "mean_overlap",
        "part of a feature in the learned space, mean over the features",
        "mean overlap",
        formula=r"\frac{1}{d_1} \sum_i \| P A_i \|^2",
    ),
    Observable(
        "first_overlap",
        "part of the strongest feature in the learned space",
        "overlap of the first feature",
        formula=r"\| P A_1 \|^2",
    ),
    Observable(
        "largest_eigenvalue",
        "eigenvalue of C that is farthest from zero, its size",
        "largest eigenvalue",
        brief=False,
        formula=r"\max_k |\mu_k|",
    ),
)
THRESHOLDS = (
    Observable("first_feature", "the strongest feature stands out from here on", "first feature"),
    Observable("all_features", "every feature stands out from here on", "all features"),
)
SCALING = (
    Observable("error", "test error that the law is about, over the variance of the labels", "test error"),
    Observable("law_value", "what the law of the phase says", "law of the phase"),
    Observable("composite", "features as a continuum, the law of all phases", "composite law"),
    Observable("learned", "number of features that stand out", "features learned"),
)

SHARED = {"degree": DEGREE, "link": LINK, "inputs": INPUTS, "clip": CLIP}

MODEL = Model(
    name="compositional",
    words="a compositional target, learned layer by layer from its Hermite coordinates",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "recovery": f"{HERE}.theory.recovery:recovery",
        "scaling": f"{HERE}.theory.scaling:scaling",
    },
    measured=MEASURED,
    observables={"solve": MEASURED, "thresholds": THRESHOLDS, "scaling": SCALING},
    trainers={"layers": f"{HERE}.experiment.trainers:LayerWise"},
    dimension="dimension of the inputs",
    named=(
        NamedProblem(
            "compositional",
            "a quadratic form of Hermite features with strengths of a power law, learned layer by layer",
            f"{HERE}.problem:compositional",
            {"alpha": ALPHA, "features": FEATURES, "decay": DECAY, "signs": SIGNS, **SHARED},
            begin={"decay": 0.5, "clip": None},
        ),
        NamedProblem(
            "dense-compositional",
            "a quadratic form of Hermite features with a dense Gaussian matrix, learned layer by layer",
            f"{HERE}.problem:dense_compositional",
            {"alpha": ALPHA, "features": FEATURES, **SHARED},
            begin={"clip": None},
            lacks={"scaling": "the eigenvalues of a Gaussian matrix are no power of their rank"},
        ),
    ),
)
