from .checkpoints.checkpoint_error import CheckpointError
from .checkpoints.compare_weights import compare_weights
from .checkpoints.head_report import HeadReport
from .checkpoints.matrix_report import MatrixReport, read_matrix
from .checkpoints.nulls.head_null import HeadNull
from .checkpoints.read_head import read_head
from .checkpoints.read_weights import read_weights
from .checkpoints.weights_difference import WeightsDifference
from .checkpoints.weights_report import WeightsReport
from .laws.check_law import check_law
from .laws.empirical import Empirical
from .laws.gaussian_product import GaussianProduct
from .laws.marchenko_pastur import MarchenkoPastur
from .laws.point_masses import PointMasses
from .laws.power_law import PowerLaw
from .laws.rectangular_law import RectangularLaw
from .laws.semicircle import Semicircle
from .laws.singular_value_masses import SingularValueMasses
from .laws.spectral_law import SpectralLaw
from .models.attention.bayes.optimal import BayesSolution
from .models.attention.channels.channel import Channel
from .models.attention.channels.check_channel import check_channel
from .models.attention.channels.hardmax import Hardmax
from .models.attention.channels.huber import Huber
from .models.attention.channels.linear import Linear
from .models.attention.channels.pair_comparison import PairComparison
from .models.attention.channels.softmax import Softmax
from .models.attention.experiment.amp import AMP
from .models.attention.experiment.ensemble import Networks
from .models.attention.experiment.tokens import Embeddings, Gaussian, Rademacher, Tokens
from .models.attention.named import (
    attention,
    elastic_attention,
    hardmax_attention,
    linear_attention,
    pair_comparison,
    quadratic_network,
    robust_network,
    unfactorized_attention,
    unfactorized_linear_attention,
)
from .models.attention.penalties.check_penalty import check_penalty
from .models.attention.penalties.elastic_spectral import ElasticSpectral
from .models.attention.penalties.frobenius import Frobenius
from .models.attention.penalties.nuclear_psd import NuclearPSD
from .models.attention.penalties.penalty import Penalty
from .models.attention.plain_amp import PlainAMP
from .models.attention.population_descent import PopulationDescent
from .models.attention.population_flow import PopulationFlow
from .models.attention.problem import Problem
from .models.attention.theory.decomposition import Decomposition
from .models.attention.theory.low_rank import low_rank_bayes_error, low_rank_error, low_rank_rank
from .models.attention.theory.order_parameters import Conjugates, Overlaps
from .models.attention.theory.regularization import Optimum
from .models.attention.theory.ridgeless import RidgelessSolution
from .models.attention.theory.scaling.answer import PowerLawScaling
from .models.attention.theory.scaling.pruning import Pruning
from .models.attention.theory.scaling.width import WidthScaling, best_width
from .models.attention.theory.solution import Solution
from .models.attention.theory.solve import ExplicitMap, Solver, StateEvolution
from .models.attention.theory.thresholds import Thresholds
from .models.bilinear.bayes import BilinearBayes
from .models.bilinear.experiment.ensemble import BilinearEnsemble
from .models.bilinear.plain_bayes_amp import PlainBayesAMP
from .models.bilinear.problem import BilinearProblem, bilinear_regression, untied_linear_attention
from .models.bilinear.theory.solution import BilinearSolution
from .models.bilinear.thresholds import BilinearThresholds
from .models.boltzmann.descent import BoltzmannDescent
from .models.boltzmann.experiment.ensemble import BoltzmannEnsemble
from .models.boltzmann.finite_units import FiniteUnits, JointUnits
from .models.boltzmann.hidden import BinaryUnits, GaussianUnits, HiddenUnits
from .models.boltzmann.message_passing import BoltzmannAMP
from .models.boltzmann.problem import BoltzmannProblem, boltzmann
from .models.boltzmann.spikes import Spikes
from .models.boltzmann.theory.solution import BoltzmannSolution
from .models.boltzmann.thresholds import BoltzmannThresholds
from .models.compositional.experiment.ensemble import CompositionalEnsemble, ShallowEnsemble
from .models.compositional.experiment.gradient_layers import GradientLayers, gradient_layers
from .models.compositional.experiment.simulate import shallow_learners
from .models.compositional.experiment.trainers import KernelRidge, LayerWise, RandomFeatures
from .models.compositional.links import CubicLink, IdentityLink, OuterLink, TanhLink
from .models.compositional.problem import CompositionalProblem, compositional, dense_compositional
from .models.compositional.theory.scaling import CompositionalScaling
from .models.compositional.theory.solution import CompositionalSolution
from .models.compositional.thresholds import CompositionalThresholds
from .models.diagonal.experiment.ensemble import DiagonalEnsemble
from .models.diagonal.experiment.lasso import Lasso
from .models.diagonal.problem import DiagonalProblem, diagonal_network
from .models.diagonal.theory.scaling.answer import DiagonalScaling
from .models.diagonal.theory.solution import DiagonalSolution
from .models.diagonal.thresholds import DiagonalThresholds
from .models.lofi.experiment.classifier import LoFiClassifier
from .models.lofi.experiment.convolution import LoFiConvolution
from .models.lofi.experiment.ensemble import LoFiEnsemble
from .models.lofi.experiment.gradient_alignment import GradientAlignment, gradient_alignment
from .models.lofi.experiment.layer_errors import LayerErrors, layer_errors
from .models.lofi.experiment.low_degree_filter import LowDegreeFilter
from .models.lofi.experiment.network_alignment import NetworkAlignment, network_alignment
from .models.lofi.experiment.regressor import LoFiRegressor
from .models.lofi.experiment.true_inputs import TrueInputs, true_inputs
from .models.lofi.links import FeatureLink, NestedLink, OwnFeatureLink, SquaresLink
from .models.lofi.problem import LoFiProblem, lofi
from .models.lofi.theory.kernel_tail import kernel_tail
from .models.lofi.theory.solution import LoFiSolution
from .models.lofi.thresholds import LoFiThresholds
from .models.lora.bayes.linear_posterior import LinearPosterior
from .models.lora.bayes.optimal import LoraBayes
from .models.lora.experiment.ensemble import AdapterEnsemble
from .models.lora.experiment.posterior_amp import PosteriorAMP
from .models.lora.named import linear_lora, lora, softmax_lora
from .models.lora.problem import LoraProblem
from .models.lora.theory.recalibration import best_recalibration
from .models.lora.theory.solution import LoraSolution
from .models.lora.thresholds import LoraThresholds
from .models.multi_index.experiment.ensemble import MultiIndexEnsemble
from .models.multi_index.experiment.spectral_estimator import SpectralEstimator
from .models.multi_index.links import AbsoluteLink, CosineLink, HermiteLink, Link, OwnLink
from .models.multi_index.noise_sensitivity import NoiseSensitivity, noise_sensitivity
from .models.multi_index.problem import MultiIndexProblem, committee, multi_index, single_index
from .models.multi_index.theory.scaling import MultiIndexScaling
from .models.multi_index.theory.solution import MultiIndexSolution
from .models.multi_index.thresholds import MultiIndexThresholds
from .models.multi_matrix.experiment.ensemble import MultiMatrixEnsemble
from .models.multi_matrix.links import MatrixLink, OwnMatrixLink, PowersLink
from .models.multi_matrix.message_passing import MatricesAMP
from .models.multi_matrix.problem import MultiMatrixProblem, multi_matrix
from .models.multi_matrix.theory.solution import MultiMatrixSolution
from .models.multihead.experiment.ensemble import MultiheadEnsemble
from .models.multihead.problem import MultiheadProblem, multihead_attention
from .models.multihead.theory.solution import MultiheadSolution
from .models.pooling.classes import AlignedTokens, CorrelatedTokens, TokenClasses
from .models.pooling.experiment.ensemble import PoolingEnsemble
from .models.pooling.experiment.principal import PrincipalDirection
from .models.pooling.poolings import BestPooling, CausalPooling, GivenPooling, MeanPooling, Pooling
from .models.pooling.problem import PoolingProblem, attention_pooling
from .models.pooling.theory.solution import PoolingSolution
from .models.pooling.thresholds import PoolingThresholds
from .models.random_hierarchy.experiment.ensemble import RandomHierarchyEnsemble
from .models.random_hierarchy.experiment.layerwise_clustering import LayerwiseClustering
from .models.random_hierarchy.experiment.layerwise_convolution import LayerwiseConvolution
from .models.random_hierarchy.experiment.polynomial_kernel import PolynomialKernel
from .models.random_hierarchy.problem import RandomHierarchyProblem, random_hierarchy
from .models.random_hierarchy.theory.solution import RandomHierarchySolution
from .models.random_hierarchy.thresholds import RandomHierarchyThresholds
from .models.untied.bayes import UntiedBayes
from .models.untied.experiment.ensemble import UntiedEnsemble
from .models.untied.problem import UntiedProblem, untied_attention
from .models.untied.theory.solution import UntiedSolution
from .models.untied.thresholds import UntiedThresholds
from .plots.plot import plot
from .protocol.check_model import check_model
from .protocol.comparison import Comparison, compare
from .protocol.ensemble import Ensemble, Outcome, Setting, streams, train_ensemble
from .protocol.errors import InputError, SolveError, TrainError, TrainInterrupted
from .protocol.feature_comparison import FeatureComparison
from .protocol.feature_table import FeatureTable
from .protocol.fields import Choice, Declared, Form, Number, Part, declared
from .protocol.matrix_descent import MatrixDescent
from .protocol.matrix_flow import MatrixFlow
from .protocol.model import Model, NamedProblem
from .protocol.observables import Observable
from .protocol.prediction import Prediction, Result, SampleSizes
from .protocol.problem import LearningProblem
from .protocol.recovery import Recovery
from .protocol.report import Report
from .protocol.scaling import Boundary, Scaling, ScalingCurve, ScalingLaw
from .protocol.trained_elsewhere import TrainedElsewhere
from .protocol.trainer import Trainer
from .protocol.trajectory import Trajectory
from .protocol.trajectory_comparison import TrajectoryComparison
from .protocol.verbs import (
    bayes_curve,
    bayes_optimal,
    optimal_regularization,
    option_names,
    recovery,
    ridgeless,
    scaling,
    simulate,
    solve,
    thresholds,
    trajectory,
)
from .saved.file import load
from .spectra.bulk import Bulk
from .spectra.classify import classify
from .spectra.ensemble_type import EnsembleType
from .spectra.labels import Labels
from .spectra.rectangular.convolution import RectangularConvolution, rectangular_functionals
from .spectra.rectangular.denoising import SingularValueDenoiser
from .spectra.spectrum_type import SpectrumType
from .spectra.spiked import (
    Spike,
    best_preprocessing,
    best_threshold,
    spectral_method,
    spectral_threshold,
    spiked_wigner,
    spiked_wishart,
    weak_signal,
)
from .spectra.symmetric.denoising import Denoiser
from .spectra.symmetric.free import FreeConvolution
from .spectra.symmetric.functionals import functionals
from .sweeps.sweep import SweepInterrupted, sweep
from .training.adam import Adam
from .training.bayes_amp import BayesAMP
from .training.lbfgs import LBFGS
from .training.proximal_gradient import ProximalGradient

__version__: str

__all__ = [
    "AMP",
    "LBFGS",
    "AbsoluteLink",
    "Adam",
    "AdapterEnsemble",
    "AlignedTokens",
    "BayesAMP",
    "BayesSolution",
    "BestPooling",
    "BilinearBayes",
    "BilinearEnsemble",
    "BilinearProblem",
    "BilinearSolution",
    "BilinearThresholds",
    "BinaryUnits",
    "BoltzmannAMP",
    "BoltzmannDescent",
    "BoltzmannEnsemble",
    "BoltzmannProblem",
    "BoltzmannSolution",
    "BoltzmannThresholds",
    "Boundary",
    "Bulk",
    "CausalPooling",
    "Channel",
    "CheckpointError",
    "Choice",
    "Comparison",
    "CompositionalEnsemble",
    "CompositionalProblem",
    "CompositionalScaling",
    "CompositionalSolution",
    "CompositionalThresholds",
    "Conjugates",
    "CorrelatedTokens",
    "CosineLink",
    "CubicLink",
    "Declared",
    "Decomposition",
    "Denoiser",
    "DiagonalEnsemble",
    "DiagonalProblem",
    "DiagonalScaling",
    "DiagonalSolution",
    "DiagonalThresholds",
    "ElasticSpectral",
    "Embeddings",
    "Empirical",
    "Ensemble",
    "EnsembleType",
    "ExplicitMap",
    "FeatureComparison",
    "FeatureLink",
    "FeatureTable",
    "FiniteUnits",
    "Form",
    "FreeConvolution",
    "Frobenius",
    "Gaussian",
    "GaussianProduct",
    "GaussianUnits",
    "GivenPooling",
    "GradientAlignment",
    "GradientLayers",
    "Hardmax",
    "HeadNull",
    "HeadReport",
    "HermiteLink",
    "HiddenUnits",
    "Huber",
    "IdentityLink",
    "InputError",
    "JointUnits",
    "KernelRidge",
    "Labels",
    "Lasso",
    "LayerErrors",
    "LayerWise",
    "LayerwiseClustering",
    "LayerwiseConvolution",
    "LearningProblem",
    "Linear",
    "LinearPosterior",
    "Link",
    "LoFiClassifier",
    "LoFiConvolution",
    "LoFiEnsemble",
    "LoFiProblem",
    "LoFiRegressor",
    "LoFiSolution",
    "LoFiThresholds",
    "LoraBayes",
    "LoraProblem",
    "LoraSolution",
    "LoraThresholds",
    "LowDegreeFilter",
    "MarchenkoPastur",
    "MatricesAMP",
    "MatrixDescent",
    "MatrixFlow",
    "MatrixLink",
    "MatrixReport",
    "MeanPooling",
    "Model",
    "MultiIndexEnsemble",
    "MultiIndexProblem",
    "MultiIndexScaling",
    "MultiIndexSolution",
    "MultiIndexThresholds",
    "MultiMatrixEnsemble",
    "MultiMatrixProblem",
    "MultiMatrixSolution",
    "MultiheadEnsemble",
    "MultiheadProblem",
    "MultiheadSolution",
    "NamedProblem",
    "NestedLink",
    "NetworkAlignment",
    "Networks",
    "NoiseSensitivity",
    "NuclearPSD",
    "Number",
    "Observable",
    "Optimum",
    "Outcome",
    "OuterLink",
    "Overlaps",
    "OwnFeatureLink",
    "OwnLink",
    "OwnMatrixLink",
    "PairComparison",
    "Part",
    "Penalty",
    "PlainAMP",
    "PlainBayesAMP",
    "PointMasses",
    "PolynomialKernel",
    "Pooling",
    "PoolingEnsemble",
    "PoolingProblem",
    "PoolingSolution",
    "PoolingThresholds",
    "PopulationDescent",
    "PopulationFlow",
    "PosteriorAMP",
    "PowerLaw",
    "PowerLawScaling",
    "PowersLink",
    "Prediction",
    "PrincipalDirection",
    "Problem",
    "ProximalGradient",
    "Pruning",
    "Rademacher",
    "RandomFeatures",
    "RandomHierarchyEnsemble",
    "RandomHierarchyProblem",
    "RandomHierarchySolution",
    "RandomHierarchyThresholds",
    "Recovery",
    "RectangularConvolution",
    "RectangularLaw",
    "Report",
    "Result",
    "RidgelessSolution",
    "SampleSizes",
    "Scaling",
    "ScalingCurve",
    "ScalingLaw",
    "Semicircle",
    "Setting",
    "ShallowEnsemble",
    "SingularValueDenoiser",
    "SingularValueMasses",
    "Softmax",
    "Solution",
    "SolveError",
    "Solver",
    "SpectralEstimator",
    "SpectralLaw",
    "SpectrumType",
    "Spike",
    "Spikes",
    "SquaresLink",
    "StateEvolution",
    "SweepInterrupted",
    "TanhLink",
    "Thresholds",
    "TokenClasses",
    "Tokens",
    "TrainError",
    "TrainInterrupted",
    "TrainedElsewhere",
    "Trainer",
    "Trajectory",
    "TrajectoryComparison",
    "TrueInputs",
    "UntiedBayes",
    "UntiedEnsemble",
    "UntiedProblem",
    "UntiedSolution",
    "UntiedThresholds",
    "WeightsDifference",
    "WeightsReport",
    "WidthScaling",
    "attention",
    "attention_pooling",
    "bayes_curve",
    "bayes_optimal",
    "best_preprocessing",
    "best_recalibration",
    "best_threshold",
    "best_width",
    "bilinear_regression",
    "boltzmann",
    "check_channel",
    "check_law",
    "check_model",
    "check_penalty",
    "classify",
    "committee",
    "compare",
    "compare_weights",
    "compositional",
    "declared",
    "dense_compositional",
    "diagonal_network",
    "elastic_attention",
    "functionals",
    "gradient_alignment",
    "gradient_layers",
    "hardmax_attention",
    "kernel_tail",
    "layer_errors",
    "linear_attention",
    "linear_lora",
    "load",
    "lofi",
    "lora",
    "low_rank_bayes_error",
    "low_rank_error",
    "low_rank_rank",
    "multi_index",
    "multi_matrix",
    "multihead_attention",
    "network_alignment",
    "noise_sensitivity",
    "optimal_regularization",
    "option_names",
    "pair_comparison",
    "plot",
    "quadratic_network",
    "random_hierarchy",
    "read_head",
    "read_matrix",
    "read_weights",
    "recovery",
    "rectangular_functionals",
    "ridgeless",
    "robust_network",
    "scaling",
    "shallow_learners",
    "simulate",
    "single_index",
    "softmax_lora",
    "solve",
    "spectral_method",
    "spectral_threshold",
    "spiked_wigner",
    "spiked_wishart",
    "streams",
    "sweep",
    "thresholds",
    "train_ensemble",
    "trajectory",
    "true_inputs",
    "unfactorized_attention",
    "unfactorized_linear_attention",
    "untied_attention",
    "untied_linear_attention",
    "weak_signal",
]
