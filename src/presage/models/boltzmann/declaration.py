"""What this model is, for who asks and who looks: its problem, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from presage.protocol.fields import Choice, Form, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.boltzmann"
MOST_SPIKES = 6
MOST_UNITS = 6
MOST_VALUES = 32  # that a unit of finite support takes

HIDDEN = Part(
    "law of the hidden units",
    kind=f"{HERE}.hidden.HiddenUnits",
    example="BinaryUnits()",
    reason="it says which values a hidden unit takes",
    noun="law of units",
    forms={
        "binary": Form("binary", "binary", "1 or -1", "BinaryUnits", 0, 0),
        "gaussian": Form("gaussian", "gaussian", "probabilistic PCA", "GaussianUnits", 0, 0),
        "values": Form(
            "values:H_1,H_2,...", "values:-1,0,0,1", "given values, alike", "FiniteUnits", 1, MOST_VALUES, listed=True
        ),
    },
)
ALPHA = Number(
    "samples over the number of visible units, n/d",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/d$",
    at_least=1e-2,
    at_most=1e6,
    scale="logarithmic",
    example=4.0,
    reason="it is the number of samples over the number of visible units, n/d and not n/d^2",
    span=(0.5, 50.0),
)
SIGNAL = Number(
    "variance that a direction adds to the data, beside a noise of one",
    symbol=r"\lambda",
    label="signal  $\\lambda$",
    at_least=0.0,
    at_most=1e3,
    example=1.5,
    reason="it is the variance of the data along a direction, beyond that of the noise",
    remedy="Use for example <signal=1.5>, or <signal=0.0> for data that are noise.",
    span=(0.0, 4.0),
)
UNITS = Number(
    "number of hidden units",
    symbol="k",
    at_least=1,
    at_most=MOST_UNITS,
    whole=True,
    default=1,
    example=1,
    reason="it is the number of hidden units, of which a machine has a few",
    too_large="a machine of few hidden units is meant, and likelihoods are sums over all of their states",
    span=(1, 2),
)
SPIKES = Part(
    "signals of the directions of the data in units of the signal, the strongest first",
    kind=f"{HERE}.spikes.Spikes",
    example="Spikes([1])",
    reason="it says how many directions the data have, and how strong each is",
    noun="signals",
    forms={
        "spikes": Form(
            "spikes:R_1,R_2,...", "spikes:1,0.5", "signals of directions", "Spikes", 1, MOST_SPIKES, listed=True
        )
    },
)
LATENTS = Choice(
    'what multiplies a direction in a sample: a "gaussian" number, or "signs", 1 or -1',
    options=("gaussian", "signs"),
    default="gaussian",
    reason="these are the laws of what multiplies a direction in a sample",
)

ALIGNMENT = Observable(
    "alignment",
    "squared cosine of the strongest direction with the span of the weights",
    "alignment",
    formula=r"M_1 Q^{-1} M_1^\top",
    fluctuation=0.5,
)
OVERLAP = Observable(
    "overlap",
    "length of the overlaps of the strongest direction with the weights of all units",
    "overlap",
    formula=r"|M_1|",
    fluctuation=0.5,
)
LAST_ALIGNMENT = Observable(
    "last_alignment",
    "squared cosine of the weakest direction with the span of the weights",
    "alignment, weakest",
    brief=False,
    formula=r"M_{k_0} Q^{-1} M_{k_0}^\top",
    fluctuation=0.5,
)
SIZE = Observable(
    "size", "mean squared weight, a unit", "size of the weights", formula=r"\operatorname{Tr} Q/k", fluctuation=0.5
)
TEST_LIKELIHOOD = Observable(
    "test_likelihood",
    "log-likelihood of a fresh sample, beside that of noise",
    "test log-likelihood",
    formula=r"\mathbb E\, \phi(W^\top x_{\mathrm{new}}/\sqrt d) - \psi(Q)",
    fluctuation=0.5,
)
TRAIN_LIKELIHOOD = Observable(
    "train_likelihood",
    "log-likelihood a training sample, beside that of noise",
    "training log-likelihood",
    formula=r"\mathcal L/n",
    fluctuation=0.5,
)
PCA = Observable(
    "pca_alignment",
    "squared cosine of the strongest direction with the first principal component",
    "alignment of PCA",
    brief=False,
    formula=r"\langle u_1, w^*_1/|w^*_1| \rangle^2",
    fluctuation=0.5,
)
FOLLOWED = (ALIGNMENT, OVERLAP, LAST_ALIGNMENT, SIZE, TEST_LIKELIHOOD, TRAIN_LIKELIHOOD)
MEASURED = (*FOLLOWED, PCA)
REPLICON = Observable("replicon", "replica symmetry is stable below one", "replicon", brief=False)
PREDICTED = (*MEASURED, REPLICON)
THRESHOLDS = (
    Observable("weak_recovery", "principal components and descent from small weights see the direction", "BBP"),
    Observable("onset", "replica-symmetric weights begin to see the direction", "replica-symmetric onset"),
    Observable(
        "stability", "replica symmetry is locally stable, and the prediction is claimed, from here", "stability line"
    ),
)

MODEL = Model(
    name="boltzmann",
    words="restricted Boltzmann machines of a few hidden units, trained by maximum likelihood on data with directions",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "trajectory": f"{HERE}.theory.trajectory:trajectory",
    },
    measured=MEASURED,
    observables={"solve": PREDICTED, "thresholds": THRESHOLDS, "trajectory": FOLLOWED},
    trainers={
        "lbfgs": "presage.training.lbfgs:LBFGS",
        "amp": f"{HERE}.message_passing:BoltzmannAMP",
        "descent": f"{HERE}.descent:BoltzmannDescent",
    },
    dimension="number of visible units",
    named=(
        NamedProblem(
            "boltzmann",
            "a restricted Boltzmann machine on data with a few directions",
            f"{HERE}.problem:boltzmann",
            {
                "hidden": HIDDEN,
                "alpha": ALPHA,
                "signal": SIGNAL,
                "units": UNITS,
                "spikes": SPIKES,
                "latents": LATENTS,
            },
        ),
    ),
)
