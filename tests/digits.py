"""Calls through the public interface whose digits are written down in digits.json: a rebuilding may move none of them.

Each verb, model, channel, penalty, solver, rule and trainer is called at least once, through top-level names alone.
The last bits of compiled code depend on how the cache of it was filled, so that the tests allow for rounding. To the
bit it is `python -m tests.digits`, which starts from an empty cache; `python -m tests.digits write` writes the file
anew: only with a line under "Numbers that changed" in CHANGELOG.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import presage as ps

FILE = Path(__file__).with_name("digits.json")
MP, LOW = ps.MarchenkoPastur(0.5), ps.MarchenkoPastur(0.2)
POWER, MASSES = ps.PowerLaw(1.25, 40), ps.PointMasses([0.0, 1.0, 2.5], [0.5, 0.3, 0.2])
PRODUCT, OBLONG = ps.GaussianProduct(0.5), ps.GaussianProduct(0.4, 2.0)
SINGULAR = ps.SingularValueMasses([0.0, 1.5], [0.5, 0.5])


@dataclass(frozen=True)
class Saturating(ps.Channel):
    """A channel of one's own with one number a sample."""

    n_tokens = 1
    steepness: float = 0.7

    def output(self, z: Any) -> Any:
        return np.tanh(self.steepness * np.asarray(z)[..., 0])

    def loss(self, label: Any, output: Any) -> Any:
        return (label - output) ** 2


class Logarithm(ps.Penalty):
    """A penalty of one's own that is not convex."""

    def value(self, eigenvalues: Any, kappa: float) -> Any:
        return 0.05 * np.log1p(np.abs(eigenvalues) / 0.3)


def attention(**changes: Any) -> ps.Problem:
    return ps.attention(MP, **{"alpha": 0.5, "weight_decay": 0.01, "noise": 0.5, **changes})


def quadratic(**changes: Any) -> ps.Problem:
    return ps.quadratic_network(LOW, **{"alpha": 0.5, "weight_decay": 0.02, "noise": 0.5, **changes})


def regression(target: Any = PRODUCT, **changes: Any) -> ps.BilinearProblem:
    return ps.bilinear_regression(target, **{"alpha": 0.6, "weight_decay": 0.1, "noise": 0.3, **changes})


def untied(pairs: Any = "cross", **changes: Any) -> ps.BilinearProblem:
    given = {"alpha": 0.3, "weight_decay": 0.1, "noise": 0.3, "pairs": pairs, **changes}
    return ps.untied_linear_attention(PRODUCT, **given)


PROBLEMS: dict[str, Any] = {
    "attention": attention(),
    "attention, few samples": attention(alpha=0.1),
    "attention, narrow": attention(kappa=0.3),
    "attention, beta 2, beta_0 1": attention(beta=2.0, beta_0=1.0),
    "attention, three tokens": attention(n_tokens=3, alpha=0.2),
    "attention, power law": ps.attention(POWER, alpha=1.0, weight_decay=0.05, noise=0.1),
    "attention, strong decay": attention(weight_decay=10.0),
    "quadratic": quadratic(),
    "quadratic, many samples": quadratic(alpha=2.0),
    "quadratic, power law": ps.quadratic_network(POWER, alpha=1.0, weight_decay=0.1, noise=0.1),
    "quadratic, masses": ps.quadratic_network(MASSES, alpha=1.0, weight_decay=0.1),
    "quadratic, semicircle": ps.quadratic_network(ps.Semicircle(1.0, 3.0), alpha=0.7, weight_decay=0.1),
    "quadratic, matrix": ps.quadratic_network(ps.Empirical(np.diag([0.0, 1.0, 2.0, 5.0])), alpha=0.7, weight_decay=0.1),
    "quadratic, narrow": quadratic(kappa=0.1),
    "linear attention": ps.linear_attention(MP, alpha=0.3, weight_decay=0.05, noise=0.5),
    "unfactorized": ps.unfactorized_attention(MP, alpha=0.5, ridge=0.01, noise=0.5),
    "pair comparison": ps.pair_comparison(MP, alpha=1.0, weight_decay=0.02, noise=0.1),
    "robust": ps.robust_network(LOW, alpha=0.6, weight_decay=0.05, noise=0.5),
    "robust, two tokens": ps.robust_network(LOW, alpha=0.4, weight_decay=0.05, noise=0.5, n_tokens=2),
    "elastic": ps.elastic_attention(MP, alpha=0.6, nuclear=0.1, ridge=0.05, noise=0.2),
    "elastic, positive": ps.elastic_attention(MP, alpha=0.6, nuclear=0.1, ridge=0.05, noise=0.2, lowest=0.0),
    "own channel": ps.Problem(MP, Saturating(), ps.NuclearPSD(0.05), 1.0, 0.1),
    "own penalty": ps.Problem(MP, ps.Linear(1), Logarithm(), 1.0, 0.2),
    "linear with ridge": ps.Problem(MP, ps.Linear(2), ps.Frobenius(0.05), 0.4, 0.2),
    "bilinear": regression(),
    "bilinear, oblong": regression(OBLONG, alpha=0.4),
    "bilinear, masses": regression(SINGULAR),
    "bilinear, vanishing decay": regression(weight_decay=0.0),
    "bilinear, least squares": regression(weight_decay=0.0, alpha=1.5),
    "bilinear, recovered": regression(weight_decay=0.0, alpha=0.95, noise=0.0),
    "untied, cross": untied(),
    "untied, distinct": untied("distinct", n_tokens=3),
    "untied, all": untied("all"),
}
SOLVERS: dict[str, tuple[Any, Any]] = {
    "explicit map": (quadratic(), ps.ExplicitMap()),
    "state evolution of a linear channel": (quadratic(), ps.StateEvolution()),
    "state evolution, rough": (attention(), ps.StateEvolution(accuracy=1e-2)),
    "state evolution, another seed": (attention(n_tokens=3, alpha=0.3), ps.StateEvolution(accuracy=1e-2, seed=5)),
}
TRAINED: dict[str, tuple[Any, dict[str, Any]]] = {
    "amp": (attention(), {"d": 16}),
    "lbfgs": (attention(), {"d": 16, "trainer": ps.LBFGS()}),
    "adam": (attention(), {"d": 12, "trainer": ps.Adam(steps=200)}),
    "proximal": (quadratic(), {"d": 16, "trainer": ps.ProximalGradient()}),
    "bayes amp": (quadratic(), {"d": 16, "trainer": ps.BayesAMP(ps.Denoiser(LOW))}),
    "bayes amp, hardmax": (
        ps.hardmax_attention(MP, alpha=1.0, noise=0.1),
        {"d": 12, "trainer": ps.BayesAMP(ps.Denoiser(MP))},
    ),
    "bayes amp, softmax": (attention(), {"d": 12, "trainer": ps.BayesAMP(ps.Denoiser(MP))}),
    "three tokens": (attention(n_tokens=3, alpha=0.3), {"d": 12}),
    "sequence task": (attention(), {"d": 12, "task": "sequence", "trainer": ps.LBFGS()}),
    "rademacher": (attention(), {"d": 12, "tokens": ps.Rademacher()}),
    "embeddings": (attention(), {"d": 6, "tokens": ps.Embeddings(np.random.default_rng(0).standard_normal((50, 8)))}),
    "mean of the batch": (attention(), {"d": 12, "centring": "mean"}),
    "float32": (attention(), {"d": 12, "dtype": "float32"}),
    "disk": (attention(), {"d": 12, "storage": "disk"}),
    "narrow": (attention(kappa=0.5), {"d": 12}),
    "unfactorized": (PROBLEMS["unfactorized"], {"d": 12}),
    "linear attention": (PROBLEMS["linear attention"], {"d": 12}),
    "elastic": (PROBLEMS["elastic"], {"d": 10}),
    "own channel": (PROBLEMS["own channel"], {"d": 12}),
    "pair comparison": (PROBLEMS["pair comparison"], {"d": 12}),
    "robust": (PROBLEMS["robust"], {"d": 12, "trainer": ps.LBFGS()}),
    "power law": (PROBLEMS["quadratic, power law"], {"d": 20}),
    "bilinear": (regression(), {"d": 12}),
    "bilinear, factors": (regression(), {"d": 10, "trainer": ps.LBFGS()}),
    "bilinear, oblong": (regression(OBLONG), {"d": 8}),
    "bilinear, masses": (regression(SINGULAR), {"d": 8}),
    "bilinear, bayes": (regression(), {"d": 12, "trainer": ps.BayesAMP(ps.SingularValueDenoiser(PRODUCT))}),
    "untied, cross": (untied(), {"d": 10}),
    "untied, distinct": (untied("distinct", n_tokens=3), {"d": 8}),
    "untied, all": (untied("all"), {"d": 8}),
}
# With three tokens the compiled proximal map sums in an order that depends on where its arrays lie in memory.
UNSTEADY = ("solve, attention, three tokens", "solve, state evolution, another seed", "simulate, three tokens")
# Messages pass in single precision first and end when S moves by less than `AMP.tol`: how far below that they end hangs
# on the last bits. The loss, at a minimum, does not, unless all of it is in single precision.
BY_MESSAGES = (
    *(
        f"simulate, {name}"
        for name in ("amp", "rademacher", "embeddings", "mean of the batch", "disk", "narrow", "unfactorized")
    ),
    "simulate, float32",
    "compare, attention",
    "sweep, simulate",
)
NUMBERS = [
    "test_error",
    "train_error",
    "train_loss",
    "estimation_error",
    "rank",
    "replicon",
    "delta",
    "cutoff",
    "scale",
]
NUMBERS += ["mmse", "q", "q_hat", "residual", "wide_rank", "interpolates", "mutual_information", "value"]
ARRAYS = ["eigenvalues", "singular_values", "outliers", "m", "gap"]


def numbers_of(result: Any) -> dict[str, Any]:
    """Every number of a result that has a name, its error bars, and its arrays by their sum and a checksum."""
    found: dict[str, Any] = {}
    for name in (*NUMBERS, *ARRAYS):
        try:
            value = getattr(result, name)
        except AttributeError:
            continue
        if value is None or isinstance(value, str):
            continue
        found[name] = value
    found |= {f"bar of {name}": bar for name, bar in getattr(result, "error_bars", {}).items()}
    if hasattr(result, "overlaps"):
        found |= {"overlaps": np.array(result.overlaps), "conjugates": np.array(result.conjugates)}
    if hasattr(result, "bulks"):
        found["bulks"] = np.array(result.bulks)
    return {name: value for name, value in found.items() if not hasattr(value, "density")}


def solved(problem: Any, **options: Any) -> dict[str, Any]:
    return numbers_of(ps.solve(problem, **options))


def trained(problem: Any, **options: Any) -> dict[str, Any]:
    return numbers_of(ps.simulate(problem, seeds=2, n_test=300, **options))


def spectrum_of(problem: Any) -> dict[str, Any]:
    law = ps.solve(problem).spectrum
    edges = np.asarray(law.support)
    x = 0.5 * (edges[-1, 0] + edges[-1, 1])
    return {"support": edges, "density": law.density(x), "cdf": law.cdf(float(x)), "moment": law.moment(2)}


def comparison_of(problem: Any, *sizes: int, **options: Any) -> dict[str, Any]:
    found = ps.compare(ps.solve(problem), *(ps.simulate(problem, d=d, seeds=3, **options) for d in sizes))
    rows = {f"{row.name}, {name}": getattr(row, name) for row in found.rows for name in ("a", "a_error", "z")}
    return rows | {f"spectrum {s.d}": np.array([s.wasserstein, s.kolmogorov_smirnov]) for s in found.spectra}


def table_of(*arguments: Any, **options: Any) -> dict[str, Any]:
    found = ps.sweep(*arguments, processes=1, progress=False, **options)
    return {
        str(name): found[name].values for name in found.data_vars if found[name].dtype.kind == "f" and name != "seconds"
    }


def calls() -> dict[str, Callable[[], Any]]:
    """Every call by its name."""
    found: dict[str, Callable[[], Any]] = {}
    for name, problem in PROBLEMS.items():
        found[f"solve, {name}"] = partial(solved, problem)
    for name, (problem, solver) in SOLVERS.items():
        found[f"solve, {name}"] = partial(solved, problem, solver=solver)
    for name, (problem, options) in TRAINED.items():
        found[f"simulate, {name}"] = partial(trained, problem, **options)
    near = attention(alpha=0.45)
    hard = ps.hardmax_attention(MP, alpha=1.0, noise=0.1)
    found |= {
        "solve, warm": lambda: numbers_of(ps.solve(attention(), init=ps.solve(near))),
        "solve, loose": lambda: numbers_of(ps.solve(attention(), tol=1e-3)),
        "spectrum, attention": lambda: spectrum_of(attention()),
        "spectrum, elastic": lambda: spectrum_of(PROBLEMS["elastic"]),
        "spectrum, bilinear": lambda: spectrum_of(regression()),
        "thresholds, attention": lambda: threshold_numbers(ps.thresholds(attention())),
        "thresholds, quadratic": lambda: threshold_numbers(ps.thresholds(quadratic(noise=0.0))),
        "thresholds, unfactorized": lambda: threshold_numbers(ps.thresholds(PROBLEMS["unfactorized"])),
        "thresholds, bilinear": lambda: threshold_numbers(ps.thresholds(regression(OBLONG))),
        "thresholds, untied": lambda: threshold_numbers(ps.thresholds(untied())),
        "bayes_optimal, attention": lambda: numbers_of(ps.bayes_optimal(attention())),
        "bayes_optimal, quadratic": lambda: numbers_of(ps.bayes_optimal(quadratic(noise=0.0, alpha=0.1))),
        "bayes_optimal, hardmax": lambda: numbers_of(ps.bayes_optimal(hard)),
        "bayes_optimal, own channel": lambda: numbers_of(ps.bayes_optimal(PROBLEMS["own channel"])),
        "bayes_optimal, pair comparison": lambda: numbers_of(ps.bayes_optimal(PROBLEMS["pair comparison"])),
        "bayes_optimal, bilinear": lambda: numbers_of(ps.bayes_optimal(regression())),
        "bayes_optimal, untied": lambda: numbers_of(ps.bayes_optimal(untied())),
        "bayes_curve": lambda: {
            "mmse": np.array([p.mmse for p in ps.bayes_curve(attention(), alpha=np.geomspace(0.05, 4.0, 30))])
        },
        "ridgeless, attention": lambda: numbers_of(ps.ridgeless(attention(alpha=0.1))),
        "ridgeless, attention beyond": lambda: numbers_of(ps.ridgeless(attention(alpha=1.0))),
        "ridgeless, quadratic": lambda: numbers_of(ps.ridgeless(quadratic())),
        "ridgeless, unfactorized": lambda: numbers_of(ps.ridgeless(PROBLEMS["unfactorized"].replace(alpha=0.15))),
        "ridgeless, recovered": lambda: numbers_of(ps.ridgeless(quadratic(noise=0.0, alpha=0.4))),
        "optimal_regularization, quadratic": lambda: optimum(quadratic()),
        "optimal_regularization, attention": lambda: optimum(attention()),
        "low rank": lambda: {
            "error": ps.low_rank_error(1.5, 0.5),
            "bayes": ps.low_rank_bayes_error(0.7),
            "rank": ps.low_rank_rank(0.01, 1.5, 0.5),
        },
        "functionals": lambda: integrals(ps.functionals(MP, 0.7, 0.4)),
        "functionals, power law": lambda: integrals(ps.functionals(POWER, 0.2, 0.1)),
        "rectangular_functionals": lambda: integrals(ps.rectangular_functionals(OBLONG, 0.7, 0.4)),
        "free convolution": lambda: {
            "density": ps.FreeConvolution(POWER, 0.3).density(np.linspace(-1.0, 3.0, 9)),
            "support": ps.FreeConvolution(MASSES, 0.1).support,
        },
        "rectangular convolution": lambda: {
            "density": ps.RectangularConvolution(OBLONG, 0.5).density(np.linspace(0.1, 3.0, 9)),
            "support": ps.RectangularConvolution(SINGULAR, 0.1).support,
        },
        "denoisers": lambda: {
            "symmetric": ps.Denoiser(MP)(np.linspace(-1.0, 4.0, 7), 0.5),
            "mmse": ps.Denoiser(MP).mmse(0.5),
            "rectangular": ps.SingularValueDenoiser(OBLONG)(np.linspace(0.1, 3.0, 7), 0.5),
            "rectangular mmse": ps.SingularValueDenoiser(OBLONG).mmse(0.5),
        },
        "samples of laws": lambda: {
            "product": OBLONG.sample(8, 4, np.random.default_rng(1)),
            "masses": SINGULAR.sample(6, 6, np.random.default_rng(1)),
            "mp": MP.sample(12, np.random.default_rng(1)),
            "semicircle": ps.Semicircle(1.0).sample(8, np.random.default_rng(1)),
        },
        "compare, attention": lambda: comparison_of(attention(), 10, 14),
        "compare, bilinear": lambda: comparison_of(regression(), 8, 12),
        "sweep, solve": lambda: table_of(attention(), ps.solve, alpha=[0.4, 0.5, 0.6], noise=[0.2, 0.5]),
        "sweep, simulate": lambda: table_of(attention(), ps.simulate, alpha=[0.4, 0.5], d=8, seeds=2, n_test=100),
        "sweep, bilinear": lambda: table_of(regression(), ps.solve, alpha=[0.4, 0.5]),
        "sweep, bilinear trained": lambda: table_of(
            regression(), ps.simulate, alpha=[0.4, 0.5], d=6, seeds=2, n_test=50
        ),
        "sweep, bayes": lambda: table_of(quadratic(), ps.bayes_optimal, alpha=[0.4, 0.5]),
        "sweep, thresholds": lambda: table_of(regression(), ps.thresholds, rank=[0.3, 0.5]),
    }
    return found


def integrals(found: Any) -> dict[str, Any]:
    names = ["J", "I", "risk", "first", "overlap", "rank", "dI_ddelta", "dI_dc", "drisk_ddelta", "drisk_dc"]
    return {name: getattr(found, name) for name in names if hasattr(found, name)}


def threshold_numbers(found: Any) -> dict[str, Any]:
    names = getattr(found, "_fields", None) or list(vars(found))
    return {name: getattr(found, name) for name in names if name not in ("caveats", "problem")}


def optimum(problem: Any) -> dict[str, Any]:
    found = ps.optimal_regularization(problem)
    return {"value": found.value, **{f"at it, {name}": value for name, value in numbers_of(found.solution).items()}}


def written(value: Any) -> Any:
    """A number or an array such that no bit is lost."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return float(array).hex()
    return {
        "shape": list(array.shape),
        "sum": float(np.nansum(array)).hex(),
        "size": float(np.sqrt(np.nansum(array**2))).hex(),
        "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:24],
    }


def machine() -> str:
    """What decides the last bits: the libraries, and the processors that they and compiled code are made for."""
    import llvmlite.binding
    import numba
    import scipy.linalg  # which brings a library of its own for matrices, seen only when it is loaded
    from threadpoolctl import threadpool_info

    blas = sorted({f"{lib['internal_api']} {lib['version']} {lib.get('architecture')}" for lib in threadpool_info()})
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, numba {numba.__version__}"
    processor = f"{platform.machine()} {llvmlite.binding.get_host_cpu_name()}"
    return f"{processor}, python {sys.version_info.major}.{sys.version_info.minor}, {versions}, {blas}"


def digits(name: str) -> dict[str, Any]:
    """The digits of one call."""
    return {part: written(value) for part, value in calls()[name]().items()}


def main(write: bool) -> int:
    """Write all digits down, or compare them with what is written, to the bit."""
    held = json.loads(FILE.read_text(encoding="utf-8"))
    found = {name: digits(name) for name in calls()}
    if write:
        content = {"machine": machine(), "calls": found}
        FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        return 0
    moved = [
        name
        for name, parts in held["calls"].items()
        if any(found.get(name, {}).get(part) != digits for part, digits in parts.items())
    ]
    from tests.test_digits import different  # which knows what may move, and how far

    surprising = [name for name in moved if name not in (*UNSTEADY, *BY_MESSAGES) or different(name, found[name])]
    print(f"{len(held['calls'])} calls, {len(moved)} with other digits: {', '.join(moved) or 'none'}")
    return 1 if surprising else 0


if __name__ == "__main__":
    if "PRESAGE_DIGITS" in os.environ:
        sys.exit(main(write="write" in sys.argv))
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "tests.digits", *sys.argv[1:]]
        sys.exit(subprocess.call(command, env={**os.environ, "NUMBA_CACHE_DIR": cache, "PRESAGE_DIGITS": "1"}))
