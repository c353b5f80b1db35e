from .comparison import Comparison, compare
from .experiment.amp import AMP
from .experiment.bayes_amp import BayesAMP
from .experiment.bilinear_ensemble import BilinearEnsemble
from .experiment.convex import ProximalGradient
from .experiment.ensemble import Ensemble
from .experiment.fit import Trainer, TrainError
from .experiment.gradient import LBFGS, Adam
from .experiment.simulate import TrainInterrupted, simulate
from .experiment.tokens import Embeddings, Gaussian, Rademacher, Tokens
from .model.bilinear import BilinearProblem, bilinear_regression, untied_linear_attention
from .model.channels import Channel, Linear, Softmax
from .model.check_channel import ChannelReport, check_channel
from .model.check_penalty import PenaltyReport, check_penalty
from .model.discrete_laws import Empirical, PointMasses, PowerLaw
from .model.hardmax import Hardmax
from .model.laws import MarchenkoPastur, Semicircle, SpectralLaw
from .model.own_channels import Huber, PairComparison
from .model.own_penalties import ElasticSpectral
from .model.own_problems import elastic_attention, pair_comparison, robust_network
from .model.penalties import Frobenius, NuclearPSD, Penalty
from .model.problem import (
    Problem,
    attention,
    hardmax_attention,
    linear_attention,
    quadratic_network,
    unfactorized_attention,
)
from .model.rectangular import GaussianProduct, RectangularLaw, SingularValueMasses
from .spectra.denoising import Denoiser
from .spectra.free import FreeConvolution
from .spectra.functionals import functionals
from .spectra.rectangular import RectangularConvolution, rectangular_functionals
from .spectra.singular_denoising import SingularValueDenoiser
from .sweeps.sweep import SweepInterrupted, sweep
from .theory.bayes import BayesSolution, bayes_optimal
from .theory.bayes_curve import bayes_curve
from .theory.bilinear_bayes import BilinearBayes
from .theory.bilinear_solution import BilinearSolution
from .theory.bilinear_thresholds import BilinearThresholds
from .theory.errors import SolveError
from .theory.low_rank import low_rank_bayes_error, low_rank_error, low_rank_rank
from .theory.order_parameters import Conjugates, Overlaps
from .theory.regularization import Optimum, optimal_regularization
from .theory.ridgeless import RidgelessSolution, ridgeless
from .theory.solution import Bulk, Solution
from .theory.solve import ExplicitMap, Solver, StateEvolution, solve
from .theory.thresholds import Thresholds, thresholds

__version__: str

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
    "SweepInterrupted",
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
    "sweep",
    "thresholds",
    "unfactorized_attention",
    "untied_linear_attention",
]
