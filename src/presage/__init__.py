"""presage: predict what a neural layer will learn before anyone trains it."""

from presage.compare import Comparison, compare
from presage.experiment.amp import AMP
from presage.experiment.convex import ProximalGradient
from presage.experiment.ensemble import Ensemble
from presage.experiment.fit import Trainer, TrainError
from presage.experiment.gradient import LBFGS, Adam
from presage.experiment.simulate import TrainInterrupted, simulate
from presage.experiment.tokens import Embeddings, Gaussian, Rademacher, Tokens
from presage.model.channels import Channel, Linear, Softmax
from presage.model.check_channel import ChannelReport, check_channel
from presage.model.discrete_laws import Empirical, PointMasses, PowerLaw
from presage.model.laws import MarchenkoPastur, Semicircle, SpectralLaw
from presage.model.own_channels import Huber, PairComparison
from presage.model.own_problems import pair_comparison, robust_network
from presage.model.penalties import Frobenius, NuclearPSD, Penalty
from presage.model.problem import (
    Problem,
    attention,
    linear_attention,
    quadratic_network,
    unfactorized_attention,
)
from presage.spectra.free import FreeConvolution
from presage.spectra.functionals import functionals
from presage.theory.errors import SolveError
from presage.theory.order_parameters import Conjugates, Overlaps
from presage.theory.solution import Bulk, Solution
from presage.theory.solve import ExplicitMap, Solver, StateEvolution, solve

__version__ = "0.1.0"

__all__ = [
    "AMP",
    "LBFGS",
    "Adam",
    "Bulk",
    "Channel",
    "ChannelReport",
    "Comparison",
    "Conjugates",
    "Embeddings",
    "Empirical",
    "Ensemble",
    "ExplicitMap",
    "FreeConvolution",
    "Frobenius",
    "Gaussian",
    "Huber",
    "Linear",
    "MarchenkoPastur",
    "NuclearPSD",
    "Overlaps",
    "PairComparison",
    "Penalty",
    "PointMasses",
    "PowerLaw",
    "Problem",
    "ProximalGradient",
    "Rademacher",
    "Semicircle",
    "Softmax",
    "Solution",
    "SolveError",
    "Solver",
    "SpectralLaw",
    "StateEvolution",
    "Tokens",
    "TrainError",
    "TrainInterrupted",
    "Trainer",
    "attention",
    "check_channel",
    "compare",
    "functionals",
    "linear_attention",
    "pair_comparison",
    "quadratic_network",
    "robust_network",
    "simulate",
    "solve",
    "unfactorized_attention",
]
