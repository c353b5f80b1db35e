"""Where the class of the tokens comes out: of the table first, then of a sample of sequences."""

from __future__ import annotations

from math import inf

from presage.models.pooling.problem import PoolingProblem


def effective_signal(gain: float, signal: float, delta: float) -> float:
    """Strength of the class among the pooled tokens, in units of their noise.

        t = (a/kappa)(rho + delta) - delta,   a = w'Rw,   kappa = |w|^2

    Equation: [Sed26].
    Checked: tests/models/pooling/test_witnesses.py::test_pooled_tokens_agree_with_the_theory
    Checked: tests/models/pooling/test_formulas.py::test_the_class
    """
    return gain * signal + (gain - 1.0) * delta  # in this order nothing cancels


def gain_of(problem: PoolingProblem) -> float:
    """``a/kappa = w'Rw/|w|^2``: how much the weights add to the class beside the noise."""
    w = problem.weights
    return float(w @ problem.correlation @ w / (w @ w))


def table_alignment(t: float, delta: float) -> float:
    """With all sequences of a table: squared cosine of the first direction with the empirical mean of the classes.

        cos^2 = 1 - delta/t^2   for t > sqrt(delta)

    Equation: [Sed26], transition 1.
    Checked: tests/models/pooling/test_witnesses.py::test_many_sequences_leave_the_table
    """
    return 1.0 - delta / t**2 if t > 0.0 and t * t > delta else 0.0


def table_outlier(t: float, delta: float) -> float:
    """With all sequences of a table: eigenvalue of the class over kappa.

        (t + delta)(1 + 1/t)   for t > sqrt(delta), else the edge (1 + sqrt(delta))^2

    Equation: [Sed26], transition 1.
    Checked: tests/models/pooling/test_witnesses.py::test_many_sequences_leave_the_table
    """
    return (t + delta) * (1.0 + 1.0 / t) if t > 0.0 and t * t > delta else (1.0 + delta**0.5) ** 2


def stands_out(t: float, delta: float, gamma: float) -> bool:
    """Whether the class comes out of the bulk of a sample of sequences.

        t^3 > (delta+gamma+delta gamma) t + 2 delta gamma

    Equation: [Sed26], transition 2.
    Checked: tests/models/pooling/test_transitions.py::test_the_outlier_leaves_the_edge_where_it_begins
    Checked: tests/models/pooling/test_formulas.py::test_the_class
    """
    return t > 0.0 and t**3 > (delta + gamma + delta * gamma) * t + 2.0 * delta * gamma


def outlier(t: float, delta: float, gamma: float) -> float:
    """Eigenvalue of the class over kappa, where it stands out.

        t + (1+delta+gamma) + (delta+gamma+delta gamma)/t + delta gamma/t^2

    Equation: [Sed26], transition 2.
    Checked: tests/models/pooling/test_transitions.py::test_the_outlier_leaves_the_edge_where_it_begins
    Checked: tests/models/pooling/test_formulas.py::test_the_class
    """
    return t + (1.0 + delta + gamma) + (delta + gamma + delta * gamma) / t + delta * gamma / t**2


def alignment(t: float, delta: float, gamma: float, signal: float) -> float:
    """Squared cosine of the first direction with mu, where it stands out.

        [rho/(rho+delta)] [1 - (delta+gamma+delta gamma)/t^2 - 2 delta gamma/t^3]/(1 + gamma/t)

    Equation: [Sed26].
    Checked: tests/models/pooling/test_witnesses.py::test_pooled_tokens_agree_with_the_theory
    Checked: tests/models/pooling/test_formulas.py::test_the_class
    """
    seen = 1.0 - (delta + gamma + delta * gamma) / t**2 - 2.0 * delta * gamma / t**3
    return signal / (signal + delta) * seen / (1.0 + gamma / t)


def least_samples(t: float, delta: float) -> float:
    """Sequences over the dimension from which on the class stands out; infinite where the table hides it.

        1/gamma = (t + delta t + 2 delta)/(t^3 - delta t)

    Equation: derived: transition 2 solved for gamma; transition 1 is where it is infinite.
    Checked: tests/models/pooling/test_transitions.py::test_thresholds_are_where_it_stands_out
    """
    return (t + delta * t + 2.0 * delta) / (t**3 - delta * t) if t > 0.0 and t * t > delta else inf
