"""presage: predict what a neural layer will learn before anyone trains it."""

from presage.compare import Comparison, compare
from presage.experiment.amp import AMP
from presage.experiment.bayes_amp import BayesAMP
from presage.experiment.bilinear_ensemble import BilinearEnsemble
from presage.experiment.convex import ProximalGradient
from presage.experiment.ensemble import Ensemble
from presage.experiment.fit import Trainer, TrainError
from presage.experiment.gradient import LBFGS, Adam
from presage.experiment.simulate import TrainInterrupted, simulate
from presage.experiment.tokens import Embeddings, Gaussian, Rademacher, Tokens
from presage.model.bilinear import BilinearProblem, bilinear_regression, untied_linear_attention
from presage.model.channels import Channel, Linear, Softmax
from presage.model.check_channel import ChannelReport, check_channel
from presage.model.check_penalty import PenaltyReport, check_penalty
from presage.model.discrete_laws import Empirical, PointMasses, PowerLaw
from presage.model.hardmax import Hardmax
from presage.model.laws import MarchenkoPastur, Semicircle, SpectralLaw
from presage.model.own_channels import Huber, PairComparison
from presage.model.own_penalties import ElasticSpectral
from presage.model.own_problems import elastic_attention, pair_comparison, robust_network
from presage.model.penalties import Frobenius, NuclearPSD, Penalty
from presage.model.problem import (
    Problem,
    attention,
    hardmax_attention,
    linear_attention,
    quadratic_network,
    unfactorized_attention,
)
from presage.model.rectangular import GaussianProduct, RectangularLaw, SingularValueMasses
from presage.spectra.denoising import Denoiser
from presage.spectra.free import FreeConvolution
from presage.spectra.functionals import functionals
from presage.spectra.rectangular import RectangularConvolution, rectangular_functionals
from presage.spectra.singular_denoising import SingularValueDenoiser
from presage.theory.bayes import BayesSolution, bayes_optimal
from presage.theory.bayes_curve import bayes_curve
from presage.theory.bilinear_bayes import BilinearBayes
from presage.theory.bilinear_solution import BilinearSolution
from presage.theory.bilinear_thresholds import BilinearThresholds
from presage.theory.errors import SolveError
from presage.theory.low_rank import low_rank_bayes_error, low_rank_error, low_rank_rank
from presage.theory.order_parameters import Conjugates, Overlaps
from presage.theory.regularization import Optimum, optimal_regularization
from presage.theory.ridgeless import RidgelessSolution, ridgeless
from presage.theory.solution import Bulk, Solution
from presage.theory.solve import ExplicitMap, Solver, StateEvolution, solve
from presage.theory.thresholds import Thresholds, thresholds

__version__ = "0.1.0"

__all__ = [
    "AMP",
    "LBFGS",
    "Adam",
    "BayesAMP",
    "BayesSolution",
    "BilinearBayes",
    "BilinearEnsemble",
    "BilinearProblem",
    "BilinearSolution",
    "BilinearThresholds",
    "Bulk",
    "Channel",
    "ChannelReport",
    "Comparison",
    "Conjugates",
    "Denoiser",
    "ElasticSpectral",
    "Embeddings",
    "Empirical",
    "Ensemble",
    "ExplicitMap",
    "FreeConvolution",
    "Frobenius",
    "Gaussian",
    "GaussianProduct",
    "Hardmax",
    "Huber",
    "Linear",
    "MarchenkoPastur",
    "NuclearPSD",
    "Optimum",
    "Overlaps",
    "PairComparison",
    "Penalty",
    "PenaltyReport",
    "PointMasses",
    "PowerLaw",
    "Problem",
    "ProximalGradient",
    "Rademacher",
    "RectangularConvolution",
    "RectangularLaw",
    "RidgelessSolution",
    "Semicircle",
    "SingularValueDenoiser",
    "SingularValueMasses",
    "Softmax",
    "Solution",
    "SolveError",
    "Solver",
    "SpectralLaw",
    "StateEvolution",
    "Thresholds",
    "Tokens",
    "TrainError",
    "TrainInterrupted",
    "Trainer",
    "attention",
    "bayes_curve",
    "bayes_optimal",
    "bilinear_regression",
    "check_channel",
    "check_penalty",
    "compare",
    "elastic_attention",
    "functionals",
    "hardmax_attention",
    "linear_attention",
    "low_rank_bayes_error",
    "low_rank_error",
    "low_rank_rank",
    "optimal_regularization",
    "pair_comparison",
    "quadratic_network",
    "rectangular_functionals",
    "ridgeless",
    "robust_network",
    "simulate",
    "solve",
    "thresholds",
    "unfactorized_attention",
    "untied_linear_attention",
]
