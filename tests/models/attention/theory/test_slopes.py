"""Slopes of a solution in the numbers of its problem, beside solutions nearby."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps

MP = ps.MarchenkoPastur(0.5)
NAMES = ("test_error", "train_error", "train_loss", "estimation_error", "rank", "m", "q", "Sigma")


@pytest.mark.parametrize(
    ("problem", "fields", "close"),
    [
        (ps.quadratic_network(MP, alpha=0.5, weight_decay=0.1, noise=0.5), ("alpha", "weight_decay", "kappa"), 5e-4),
        (ps.quadratic_network(MP, alpha=0.5, weight_decay=0.1, noise=0.5), ("noise",), 5e-4),
        (ps.linear_attention(ps.PowerLaw(1.3, 60), alpha=2.0, weight_decay=0.1, noise=0.1), ("alpha", "noise"), 5e-4),
        (ps.unfactorized_attention(MP, alpha=1.0, ridge=0.1, noise=0.5), ("ridge", "alpha"), 2e-3),
        (ps.attention(MP, alpha=0.5, weight_decay=0.01, noise=0.5), ("alpha", "weight_decay", "noise", "beta"), 5e-3),
        (ps.attention(MP, alpha=0.2272, weight_decay=1e-3, noise=0.5), ("weight_decay",), 1e-2),
    ],
    ids=["network", "noise", "linear", "ridge", "softmax", "jumps"],
)
def test_slopes_are_those_of_neighbouring_solutions(problem, fields, close):
    here = ps.solve(problem, accuracy=3e-5)
    values = {**vars(problem), **vars(problem.channel), **vars(problem.penalty)}
    for name in fields:
        step = 0.01 * values[name]
        ahead, behind = (
            ps.solve(problem.replace(**{name: values[name] + move}), init=here, accuracy=3e-5) for move in (step, -step)
        )
        slopes = here.slope(name)
        for observable in NAMES:
            difference = (getattr(ahead, observable) - getattr(behind, observable)) / (2 * step)
            size = abs(getattr(here, observable)) / values[name]
            assert slopes[observable] == pytest.approx(difference, abs=close * (abs(difference) + 0.1 * size)), (
                name,
                observable,
            )


def test_clean_labels_have_a_slope_to_one_side():
    problem = ps.quadratic_network(MP, alpha=1.0, weight_decay=0.1)
    ahead = ps.solve(problem.replace(noise=1e-3))
    here = ps.solve(problem)
    difference = (ahead.test_error - here.test_error) / 1e-3
    assert here.slope("noise")["test_error"] == pytest.approx(difference, rel=1e-2)


class Ridge(ps.Penalty):
    """A penalty of one's own, which need not declare its numbers."""

    def value(self, eigenvalues, kappa):
        return 0.05 * np.square(eigenvalues)


def test_a_problem_with_a_penalty_of_ones_own_has_slopes():
    own, known = (ps.solve(ps.Problem(MP, ps.Linear(2), p, 0.4, 0.2)) for p in (Ridge(), ps.Frobenius(0.05)))
    assert own.slope("alpha")["test_error"] == pytest.approx(known.slope("alpha")["test_error"], rel=1e-3)


def test_a_slope_is_along_a_number():
    s = ps.solve(ps.quadratic_network(MP, alpha=1.0, weight_decay=0.1))
    with pytest.raises(ValueError, match=r"`name` must be a real number of the problem.*Use one of alpha"):
        s.slope("target")
    with pytest.raises(ValueError, match="Got name='n_tokens'"):
        s.slope("n_tokens")
