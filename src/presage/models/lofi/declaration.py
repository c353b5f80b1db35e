"""What this model is, for who asks and who looks: its problem, its fields, its observables, its verbs.

Nothing heavy is imported here: `presage --help` reads it.
"""

from __future__ import annotations

from presage.protocol.fields import Form, Number, Part
from presage.protocol.model import Model, NamedProblem
from presage.protocol.observables import Observable

HERE = "presage.models.lofi"
MOST_FEATURES = 12

LINK = Part(
    "bounded function of the features that labels are",
    kind=f"{HERE}.links.FeatureLink",
    example="SquaresLink([1.0, -0.7, 0.5])",
    reason="labels are a function of a few features",
    noun="function",
    forms={
        "squares": Form(
            "squares:LAM_1,...,LAM_P",
            "squares:1,-0.7,0.5",
            "tanh of a sum of squares of features, with these strengths",
            "SquaresLink",
            1,
            MOST_FEATURES,
            listed=True,
        ),
        "nested": Form("nested or nested:SIZE", "nested:4", "features of features, two levels", "NestedLink", 0, 1),
    },
)
SIZE = Number(
    "features of the first level in each of the two of the second",
    symbol="m",
    at_least=2,
    at_most=MOST_FEATURES // 2,
    whole=True,
    default=4,
    example=4,
    reason="two features of the second level share up to twelve of the first",
    span=(2, MOST_FEATURES // 2),
)
ALPHA = Number(
    "samples over the active coordinates of the lift, n/D",
    symbol=r"\alpha",
    label="samples  $\\alpha = n/D$",
    at_least=1e-3,
    at_most=1e9,
    scale="logarithmic",
    example=8.0,
    reason="it is the number of samples over the number D of active coordinates of the lift",
    plays_no_part_in=("thresholds", "recovery"),
    span=(0.5, 200.0),
)
TAIL = Number(
    "variance of the lift in orders above the active one, over that of the active one",
    symbol=r"\rho",
    label="tail  $\\rho$",
    at_least=0.0,
    at_most=1e4,
    default=0.0,
    example=0.14159,
    reason="it is a ratio of two parts of the kernel of the lift",
    remedy="Leave it out for a pure order, or use <tail=0.14159> for ReLU without its first two orders.",
    span=(0.0, 4.0),
)

DEEP = Observable(
    "deep_overlap",
    "mean R^2 of the features of the second level, or of squares, by quadratic functions of those selected",
    "overlap of the second level",
    formula=r"\frac{1}{p_2} \sum_j R^2(g_j \mid \hat h\, \hat h^\top)",
    fluctuation=0.5,
)
MEASURED = (
    Observable(
        "first_overlap",
        "squared cosine of the strongest feature with what was selected",
        "overlap, strongest feature",
        formula=r"\|P a_1\|^2",
        fluctuation=0.5,
    ),
    Observable(
        "mean_overlap",
        "the same on average over the features",
        "overlap, mean",
        formula=r"\frac 1p \sum_k \|P a_k\|^2",
        fluctuation=0.5,
    ),
    Observable(
        "largest_eigenvalue",
        "largest size of an eigenvalue of the signal matrix",
        "largest eigenvalue",
        formula=r"\max_j |\lambda_j(C)|",
        fluctuation=0.5,
    ),
    Observable(
        "floor",
        "error of the best readout of the selected features, over the variance of the labels",
        "floor of the error",
        formula=r"\mathbb E \left( y - \mathbb E[y \mid \hat h] \right)^2 \big/ \operatorname{Var} y",
        fluctuation=0.5,
    ),
    DEEP,
)
PREDICTED = (
    *MEASURED,
    Observable("emerged", "features that stand out of the bulk", "features that emerged", brief=False),
    Observable("upper_edge", "upper edge of the bulk", "upper edge", brief=False),
    Observable("lower_edge", "lower edge of the bulk", "lower edge", brief=False),
)
THRESHOLDS = (
    Observable("first", "the first feature emerges here", "first feature"),
    Observable("last", "all features have emerged here", "all features"),
    Observable("weak_first", "the first, by the formula of weak features", "first feature, weak formula"),
    Observable("weak_last", "all, by the formula of weak features", "all features, weak formula"),
)

MODEL = Model(
    name="lofi",
    words="features that are selected by second moments of the labels, layer by layer",
    verbs={
        "solve": f"{HERE}.theory.solution:solve",
        "simulate": f"{HERE}.experiment.simulate:simulate",
        "thresholds": f"{HERE}.thresholds:thresholds",
        "recovery": f"{HERE}.theory.recovery:recovery",
    },
    measured=MEASURED,
    observables={"solve": PREDICTED, "thresholds": THRESHOLDS},
    trainers={"lofi": f"{HERE}.experiment.low_degree_filter:LowDegreeFilter"},
    dimension="active coordinates of the lift, D",
    named=(
        NamedProblem(
            "lofi",
            "features of the coordinates of a lift, selected by the signed covariance of the labels",
            f"{HERE}.problem:lofi",
            {"link": LINK, "alpha": ALPHA, "tail": TAIL},
        ),
    ),
)
