"""What this model is, for who asks and who looks: its problem, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from presage.protocol.fields import Choice, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.diagonal"

TARGET = Part(
    "law of the target's entries",
    kind="presage.laws.spectral_law.SpectralLaw",
    example="PointMasses([0.0, 1.0], [0.9, 0.1])",
    reason="a vector has a law of its entries",
)
ALPHA = Number(
    "samples over the number of entries, n/d",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/d$",
    at_least=1e-9,
    at_most=1e6,
    scale="logarithmic",
    example=0.5,
    reason="it is the number of samples over the number of entries of the target, n/d and not n/d^2",
    usual_up_to=1000.0,
    hint="a number of samples is told together with its dimension, <n=20000> and <d=400>",
    plays_no_part_in=("thresholds",),
    span=(0.02, 40.0),
)
WEIGHT_DECAY = Number(
    "weight decay on both factors of the vector",
    symbol=r"\lambda",
    label="weight decay",
    at_least=0.0,
    at_most=1e6,
    scale="logarithmic",
    example=0.1,
    reason="it multiplies the squared norm of both factors",
    remedy="Use for example <weight_decay=0.1>, or <weight_decay=0.0> for its limit.",
    plays_no_part_in=("thresholds",),
    span=(1e-4, 10.0),
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
DRAW = Choice(
    'whether the law is of the entries ("fixed") or of the standard deviations of Gaussian ones ("gaussian")',
    options=("fixed", "gaussian"),
    default="fixed",
    reason="it says how the entries come from the law",
)

MEASURED = (
    Observable(
        "test_error",
        "loss on a fresh, noisy sample",
        "test error",
        formula=r"\mathbb E\, (y - x \cdot \theta/\sqrt d)^2_{\mathrm{new}}",
    ),
    Observable("train_loss", "whole loss, with its penalty, over d", "training loss / d", formula=r"\mathcal L/d"),
    Observable(
        "train_error",
        "loss a sample at the minimum",
        "training error",
        brief=False,
        formula=r"\frac{1}{n} \sum_{\mu} (y^\mu - x^\mu \cdot \theta/\sqrt d)^2",
    ),
    Observable(
        "estimation_error",
        "|theta_fit - theta_0|^2 / d",
        "estimation error",
        formula=r"\|\theta - \theta_0\|^2/d",
    ),
    Observable(
        "nonzero",
        "fraction of non-zero entries",
        "non-zero / d",
        fraction=True,
        formula=r"\#\{i : \theta_i \ne 0\}/d",
    ),
)
THRESHOLDS = (
    Observable("interpolation", "all samples can be fitted up to here", "interpolation"),
    Observable("minimal_l1_norm", "the least l1 norm finds it from here", "recovery", clean_only=True),
)
SCALING = (
    Observable("error", "exact |theta_fit - theta_0|^2 / d, which the law is about", "estimation error"),
    Observable("law_value", "what the law of the phase says", "law of the phase"),
    Observable("composite", "isolated entries on noise, the law of all phases", "composite law"),
    Observable("learned", "number of entries above the cutoff and the noise", "entries learned"),
    Observable(
        "weight_decay_max", "the fit is zero from here on, for half of all data", "largest weight decay", brief=False
    ),
)

MODEL = Model(
    name="diagonal",
    words="a vector learned by a diagonal linear network, which is the LASSO",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "scaling": f"{HERE}.theory.scaling.answer:scaling",
    },
    measured=MEASURED,
    observables={"solve": MEASURED, "thresholds": THRESHOLDS, "scaling": SCALING},
    trainers={
        "proximal": "presage.training.proximal_gradient:ProximalGradient",
        "lasso": f"{HERE}.experiment.lasso:Lasso",
        "lbfgs": "presage.training.lbfgs:LBFGS",
    },
    dimension="number of entries of the vector",
    named=(
        NamedProblem(
            "diagonal",
            "a diagonal linear network, y = sum_i u_i v_i x_i/sqrt(d): the LASSO",
            f"{HERE}.problem:diagonal_network",
            {"target": TARGET, "alpha": ALPHA, "weight_decay": WEIGHT_DECAY, "noise": NOISE, "draw": DRAW},
        ),
    ),
)
