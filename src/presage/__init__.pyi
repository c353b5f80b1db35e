from .laws.empirical import Empirical
from .laws.gaussian_product import GaussianProduct
from .laws.marchenko_pastur import MarchenkoPastur
from .laws.point_masses import PointMasses
from .laws.power_law import PowerLaw
from .laws.rectangular_law import RectangularLaw
from .laws.semicircle import Semicircle
from .laws.singular_value_masses import SingularValueMasses
from .laws.spectral_law import SpectralLaw
from .models.attention.bayes.curve import bayes_curve
from .models.attention.bayes.optimal import BayesSolution, bayes_optimal
from .models.attention.channels.channel import Channel
from .models.attention.channels.check_channel import ChannelReport, check_channel
from .models.attention.channels.hardmax import Hardmax
from .models.attention.channels.huber import Huber
from .models.attention.channels.linear import Linear
from .models.attention.channels.pair_comparison import PairComparison
from .models.attention.channels.softmax import Softmax
from .models.attention.experiment.amp import AMP
from .models.attention.experiment.bayes_amp import BayesAMP
from .models.attention.experiment.ensemble import Ensemble
from .models.attention.experiment.fit import Trainer, TrainError
from .models.attention.experiment.gradient import LBFGS, Adam
from .models.attention.experiment.proximal_gradient import ProximalGradient
from .models.attention.experiment.simulate import TrainInterrupted, simulate
from .models.attention.experiment.tokens import Embeddings, Gaussian, Rademacher, Tokens
from .models.attention.own_problems import elastic_attention, pair_comparison, robust_network
from .models.attention.penalties.check_penalty import PenaltyReport, check_penalty
from .models.attention.penalties.elastic_spectral import ElasticSpectral
from .models.attention.penalties.frobenius import Frobenius
from .models.attention.penalties.nuclear_psd import NuclearPSD
from .models.attention.penalties.penalty import Penalty
from .models.attention.problem import (
    Problem,
    attention,
    hardmax_attention,
    linear_attention,
    quadratic_network,
    unfactorized_attention,
)
from .models.attention.theory.low_rank import low_rank_bayes_error, low_rank_error, low_rank_rank
from .models.attention.theory.order_parameters import Conjugates, Overlaps
from .models.attention.theory.regularization import Optimum, optimal_regularization
from .models.attention.theory.ridgeless import RidgelessSolution, ridgeless
from .models.attention.theory.solution import Bulk, Solution
from .models.attention.theory.solve import ExplicitMap, Solver, StateEvolution, solve
from .models.attention.theory.thresholds import Thresholds, thresholds
from .models.bilinear.bayes import BilinearBayes
from .models.bilinear.experiment.ensemble import BilinearEnsemble
from .models.bilinear.problem import BilinearProblem, bilinear_regression, untied_linear_attention
from .models.bilinear.theory.solution import BilinearSolution
from .models.bilinear.thresholds import BilinearThresholds
from .protocol.comparison import Comparison, compare
from .protocol.errors import SolveError
from .spectra.rectangular.convolution import RectangularConvolution, rectangular_functionals
from .spectra.rectangular.denoising import SingularValueDenoiser
from .spectra.symmetric.denoising import Denoiser
from .spectra.symmetric.free import FreeConvolution
from .spectra.symmetric.functionals import functionals
from .sweeps.sweep import SweepInterrupted, sweep

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
