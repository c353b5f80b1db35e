"""presage: predict what a neural layer will learn before anyone trains it."""

from presage.model.channels import Channel, Linear, Softmax
from presage.model.discrete_laws import Empirical, PointMasses, PowerLaw
from presage.model.laws import MarchenkoPastur, Semicircle, SpectralLaw
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
    "Bulk",
    "Channel",
    "Conjugates",
    "Empirical",
    "ExplicitMap",
    "FreeConvolution",
    "Frobenius",
    "Linear",
    "MarchenkoPastur",
    "NuclearPSD",
    "Overlaps",
    "Penalty",
    "PointMasses",
    "PowerLaw",
    "Problem",
    "Semicircle",
    "Softmax",
    "Solution",
    "SolveError",
    "Solver",
    "SpectralLaw",
    "StateEvolution",
    "attention",
    "functionals",
    "linear_attention",
    "quadratic_network",
    "solve",
    "unfactorized_attention",
]
