"""Sweeps: what is in the table, what is in the store, and what is said when something is wrong."""

from __future__ import annotations

import functools
import json
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import presage as ps
from presage.sweeps import slurm
from presage.sweeps import store as stores
from presage.sweeps.cells import Work
from presage.sweeps.grid import Grid
from presage.sweeps.identity import canonical, identity
from presage.sweeps.slurm import script
from presage.sweeps.sweep import _chains

ROOT = Path(__file__).resolve().parents[2]
TARGET = ps.MarchenkoPastur(0.2)
NETWORK = ps.quadratic_network(TARGET, alpha=0.5, weight_decay=0.02, noise=0.5)
BILINEAR = ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.5, noise=0.1, weight_decay=0.1)
sweep: Any = functools.partial(ps.sweep, processes=1, progress=False)


def samples(problem: ps.Problem) -> float:
    return 100.0 * problem.alpha


class Counted:
    """A function of a problem that writes down each of its calls."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __call__(self, problem: ps.Problem, shift: float = 0.0) -> float:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(f"{problem.alpha} {problem.noise} {shift}\n")
        return problem.alpha + shift

    def calls(self) -> list[str]:
        return Path(self.path).read_text(encoding="utf-8").splitlines() if Path(self.path).exists() else []


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    return Counted(tmp_path / "calls")


def shard(store: Path) -> Path:
    (path,) = (store / "cells").glob("*.jsonl")
    return path


def python(code: str, **options: Any) -> subprocess.Popen[str]:
    """`code` in an interpreter of its own, in a process group of its own."""
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **options.pop("env", {})}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # Where the tests run in the background of a shell, Ctrl-C is ignored, and a new process would inherit that.
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{code}"
    return subprocess.Popen([sys.executable, "-c", code], env=environment, start_new_session=True, **pipes, **options)


# ------------------------------------------------------------------------------------------- the table


def test_axes_are_dimensions_and_single_values_are_coordinates():
    table = sweep(NETWORK, samples, alpha=[0.2, 0.4, 0.8], noise=np.array([0.1, 0.5]), kappa=2)
    assert table.value.dims == ("alpha", "noise")
    assert table.sizes == {"alpha": 3, "noise": 2}
    np.testing.assert_array_equal(table.alpha, [0.2, 0.4, 0.8])
    assert table.kappa.item() == 2
    assert table.kappa.dims == ()
    np.testing.assert_array_equal(table.value.sel(noise=0.5), [20.0, 40.0, 80.0])
    assert set(table.outcome.values.flat) == {"done"}
    assert set(table.caveats.values.flat) == {""}
    assert np.all(table.seconds.values >= 0.0)


def test_a_sweep_without_an_axis_is_one_cell():
    table = sweep(NETWORK, samples, alpha=np.array(0.25))
    assert table.value.dims == ()
    assert table.value.item() == 25.0


def test_a_column_of_a_table_is_an_axis():
    first = sweep(NETWORK, samples, alpha=[0.2, 0.4])
    again = sweep(NETWORK, samples, alpha=first.alpha)
    xr.testing.assert_equal(again.value, first.value)


def test_the_attributes_say_what_made_it():
    table = sweep(NETWORK, samples, alpha=[0.2])
    assert json.loads(table.attrs["problem"])["noise"] == 0.5
    assert "samples" in table.attrs["run"]
    assert table.attrs["version"] == ps.__version__
    assert table.attrs["seeds"] == "none"


def test_predictions_are_those_of_solve_with_their_error_bars():
    alphas = [0.3, 0.6, 1.2]
    table = sweep(NETWORK, ps.solve, alpha=alphas)
    for alpha in alphas:
        alone, cell = ps.solve(NETWORK.replace(alpha=alpha)), table.sel(alpha=alpha)
        for name, bar in alone.error_bars.items():
            value = cell[name].item()
            overlaps: Any = {**alone.overlaps._asdict(), **alone.conjugates._asdict()}
            expected = overlaps[name] if name in overlaps else getattr(alone, name)
            assert value == pytest.approx(expected, abs=cell[f"{name}_bar"].item() + bar + 1e-12), name
        assert cell.outcome.item() == alone.message
    assert "95 %" in table.test_error_bar.attrs["long_name"]


@pytest.mark.parametrize("run", [ps.bayes_optimal, ps.ridgeless, ps.thresholds])
def test_other_answers_of_the_theory_are_tables_too(run):
    table = sweep(NETWORK, run, alpha=[0.3, 0.6])
    alone = run(NETWORK.replace(alpha=0.6))
    name = "interpolation" if run is ps.thresholds else "test_error"
    assert table[name].values[1] == pytest.approx(getattr(alone, name), rel=1e-12)


def test_the_best_penalty_is_a_column():
    table = sweep(NETWORK, ps.optimal_regularization, alpha=[0.6])
    alone = ps.optimal_regularization(NETWORK.replace(alpha=0.6))
    assert table.strength.item() == pytest.approx(alone.value, rel=1e-12)
    assert table.test_error.item() == pytest.approx(alone.solution.test_error, rel=1e-12)


def test_trained_networks_have_standard_errors_and_the_eigenvalues_of_every_seed():
    table = sweep(NETWORK, ps.simulate, d=[8, 12], trainer=[ps.LBFGS(), ps.AMP()], seeds=3, n_test=200)
    assert table.eigenvalues.dims == ("d", "trainer", "seed", "eigenvalue")
    assert table.eigenvalues.shape == (2, 2, 3, 12)
    alone = ps.simulate(NETWORK, d=8, seeds=3, n_test=200, trainer=ps.LBFGS(), processes=1, progress=False)
    cell = table.sel(d=8, trainer=repr(ps.LBFGS()))
    assert cell.test_error.item() == pytest.approx(alone.mean("test_error"), rel=1e-12)
    assert cell.test_error_bar.item() == pytest.approx(alone.standard_error("test_error"), rel=1e-12)
    np.testing.assert_allclose(cell.eigenvalues.values[:, :8], alone.eigenvalues)
    assert np.all(np.isnan(cell.eigenvalues.values[:, 8:]))
    assert cell.n_seeds.item() == 3
    assert table.attrs["seeds"] == "3"
    assert "standard error" in table.test_error_bar.attrs["long_name"]


def test_a_name_of_the_problem_and_the_function_is_the_functions():
    """`d` is the number of eigenvalues of a power law, and the dimension of the networks."""
    problem = ps.quadratic_network(ps.PowerLaw(1.25, d=8), alpha=1.0, weight_decay=0.1, noise=0.1)
    table = sweep(problem, ps.simulate, d=[8], seeds=1, n_test=100)
    assert table.outcome.item() == "done"
    assert table.eigenvalues.shape == (1, 1, 8)


def test_matrices_without_symmetry_are_swept_and_their_rank_is_not_lost():
    table = sweep(BILINEAR, ps.solve, alpha=[0.3, 0.6], rank=[0.5, 0.6])
    alone = ps.solve(BILINEAR.replace(alpha=0.6, rank=0.6))
    assert table.test_error.values[1, 1] == pytest.approx(alone.test_error, rel=1e-9)
    np.testing.assert_array_equal(table["rank"], [0.5, 0.6])  # the axis
    assert table.rank_found.values[1, 1] == pytest.approx(alone.rank, rel=1e-9)
    assert "rank_found_bar" in table


def test_targets_are_labelled_by_what_makes_them():
    laws = [TARGET, ps.PointMasses([0.0, 2.0], [0.8, 0.2])]
    table = sweep(NETWORK, lambda problem: problem.target.second_moment, target=laws)
    assert list(table.target.values) == [repr(law) for law in laws]
    np.testing.assert_allclose(table.value, [law.second_moment for law in laws])


def test_own_functions_return_numbers_arrays_and_words():
    def own(problem: ps.Problem) -> dict[str, Any]:
        count = 2 if problem.alpha < 0.5 else 3
        return {"flag": np.bool_(True), "many": np.arange(count), "word": f"a={problem.alpha:g}", "n": np.int64(count)}

    table = sweep(NETWORK, own, alpha=[0.2, 0.7])
    assert list(table.word.values) == ["a=0.2", "a=0.7"]
    np.testing.assert_array_equal(table.n, [2.0, 3.0])
    np.testing.assert_array_equal(table.flag, [1.0, 1.0])
    np.testing.assert_array_equal(table.many, [[0.0, 1.0, np.nan], [0.0, 1.0, 2.0]])


def test_observables_that_change_their_shape_or_kind_lose_nothing():
    def own(problem: ps.Problem) -> dict[str, Any]:
        first = problem.alpha < 0.5
        return {"x": 7.0 if first else [1.0, 2.0], "y": 1.5 if first else "none", "eigenvalues": np.ones(2), "a/b": 3.0}

    table = sweep(NETWORK, own, alpha=[0.2, 0.7])
    np.testing.assert_array_equal(table.x, [[7.0, np.nan], [1.0, 2.0]])
    assert list(table.y.values) == ["1.5", "none"]
    assert table.eigenvalues.dims == ("alpha", "eigenvalues_0")
    np.testing.assert_array_equal(table.a_b, [3.0, 3.0])


def test_observables_named_like_an_axis_or_a_column_stand_beside_it(tmp_path):
    table = sweep(NETWORK, lambda problem: {"alpha": 1.0, "seconds": 2.0}, alpha=[0.2, 0.7], store=tmp_path / "s")
    np.testing.assert_array_equal(table.alpha_found, [1.0, 1.0])
    np.testing.assert_array_equal(table.seconds_found, [2.0, 2.0])
    np.testing.assert_array_equal(table.alpha, [0.2, 0.7])


def test_processes_of_the_machine_give_the_same_table():
    def own(problem: ps.Problem) -> dict[str, float]:
        return {"product": problem.alpha * problem.noise}

    grid: dict[str, Any] = {"alpha": np.linspace(0.1, 2.0, 9), "noise": [0.1, 0.2]}
    here = sweep(NETWORK, own, **grid)
    there = ps.sweep(NETWORK, own, processes=2, progress=False, **grid)
    xr.testing.assert_identical(here.drop_vars("seconds"), there.drop_vars("seconds"))


# ------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ({"alpah": [0.1]}, "`grid` must have names that the problem or the function knows"),
        ({"alpha": [0.1, 0.2, 0.1]}, "`alpha` must have each value once"),
        ({"alpha": [1, 1.0]}, "`alpha` must have each value once"),
        ({"alpha": []}, "`alpha` must be a list of values"),
        ({"alpha": np.ones((2, 2))}, "`alpha` must be a list of values"),
        ({"alpha": [0.5, -1.0]}, "`alpha` must be a finite number > 0"),
        ({"store": 3}, "`store` must be the name of a folder"),
        ({"store": ""}, "`store` must be the name of a folder"),
        ({"processes": 0}, "`processes` must be a whole number >= 1"),
        ({"part": (3, 2)}, "`part` must be two whole numbers"),
        ({"part": 3}, "`part` must be two whole numbers"),
        ({"executor": 3}, "`executor` must be a dask client or an address"),
        ({"executor": "nowhere"}, "`executor` must be the address of a dask scheduler"),
    ],
)
def test_mistakes_are_refused_before_anything_is_computed(counted, grid, said):
    with pytest.raises(ValueError, match="must") as refusal:
        sweep(NETWORK, counted, **{"alpha": [0.5], **grid})
    assert str(refusal.value).startswith(said)
    assert counted.calls() == []


@pytest.mark.parametrize("address", ["nowhere", "tcp://nowhere", ""])
def test_no_client_is_left_half_made_where_no_scheduler_answers(monkeypatch, address):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    made: list[Any] = []
    monkeypatch.setattr(distributed.Client, "start", lambda client, **options: made.append(client))
    with pytest.raises(ValueError, match="no dask scheduler answers there"):
        sweep(NETWORK, samples, executor=address, alpha=[0.1, 0.2])
    assert made == []


def test_a_misspelt_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"The problem has target, .*weight_decay.*; the function has solver, init"):
        sweep(NETWORK, ps.solve, weight_deacy=[0.1])


def test_seeds_are_no_axis():
    with pytest.raises(ValueError, match=r"`seeds` must be one number here.*partial\(simulate, seeds=\[3, 5, 8\]\)"):
        sweep(NETWORK, ps.simulate, d=10, seeds=[3, 4])


def test_a_problem_and_a_function_are_needed():
    with pytest.raises(ValueError, match="`problem` must be a problem"):
        sweep(3, samples, alpha=[1.0])
    with pytest.raises(ValueError, match="`run` must be a function"):
        sweep(NETWORK, 3, alpha=[1.0])


def test_functions_that_cannot_travel_are_refused_with_a_remedy(tmp_path):
    with open(tmp_path / "file", "w", encoding="utf-8") as file:

        def run(problem: ps.Problem, out: Any = None) -> float:
            return float(file.fileno())

        run.__module__ = "presage"  # so that nobody asks what the file is
        with pytest.raises(ValueError, match=r"`run` must be a function that can travel.*processes=1"):
            ps.sweep(NETWORK, run, processes=2, alpha=np.linspace(0.1, 1.0, 4))


# -------------------------------------------------------------------------------------------- failures


def fragile(problem: ps.Problem) -> float:
    if problem.alpha > 0.5:
        raise RuntimeError("too much data")
    return problem.alpha


def test_a_failed_cell_is_a_row_with_its_reason(tmp_path):
    table = sweep(NETWORK, fragile, alpha=[0.2, 0.7], store=tmp_path / "s")
    assert list(table.outcome.values) == ["done", "failed: too much data"]
    assert table.value.values[0] == 0.2
    assert np.isnan(table.value.values[1])
    again = sweep(NETWORK, fragile, alpha=[0.2, 0.7], store=tmp_path / "s")
    assert list(again.outcome.values) == list(table.outcome.values)


def test_a_result_that_fits_no_table_is_a_failed_cell():
    table = sweep(NETWORK, lambda problem: object(), alpha=[0.2])
    assert table.outcome.item().startswith("failed: `run` must return a number")
    table = sweep(NETWORK, lambda problem: {"z": 1j}, alpha=[0.2])
    assert table.outcome.item().startswith("failed: `z` must be a number")


def test_failed_cells_are_done_again_only_when_asked(tmp_path):
    flag = str(tmp_path / "repaired")

    def run(problem: ps.Problem) -> float:
        if not os.path.exists(flag):
            raise ValueError
        return 1.0

    store = tmp_path / "s"
    assert sweep(NETWORK, run, alpha=[0.2], store=store).outcome.item() == "failed: ValueError"
    Path(flag).touch()
    assert sweep(NETWORK, run, alpha=[0.2], store=store).outcome.item() == "failed: ValueError"
    assert sweep(NETWORK, run, alpha=[0.2], store=store, retry_failed=True).value.item() == 1.0
    assert sweep(NETWORK, run, alpha=[0.2], store=store).value.item() == 1.0


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ps.TrainInterrupted])
def test_an_interrupted_cell_is_not_a_failed_one(tmp_path, kind):
    """Training that is interrupted inside a cell ends the sweep; the cell is done again by the next."""
    flag = str(tmp_path / "second")

    def run(problem: ps.Problem) -> float:
        if problem.alpha > 0.5 and not os.path.exists(flag):
            raise kind("stop")
        return problem.alpha

    store = tmp_path / "s"
    with pytest.raises(
        ps.SweepInterrupted, match=r"1 of 3 cells had ended, and they are in .*: the same sweep goes on"
    ):
        sweep(NETWORK, run, alpha=[0.2, 0.7, 0.8], store=store)
    Path(flag).touch()
    np.testing.assert_array_equal(sweep(NETWORK, run, alpha=[0.2, 0.7, 0.8], store=store).value, [0.2, 0.7, 0.8])


def test_without_a_store_an_interrupted_sweep_says_what_to_do():
    def run(problem: ps.Problem) -> float:
        raise KeyboardInterrupt

    with pytest.raises(ps.SweepInterrupted, match=r"0 of 1 cells had ended, .*pass store="):
        sweep(NETWORK, run, alpha=[0.2])


# ----------------------------------------------------------------------------------------- warm starts


def test_neighbours_start_from_each_other_in_order():
    starts: dict[tuple[float, float], Any] = {}

    def run(problem: ps.Problem, init: Any = None) -> dict[str, float]:
        starts[problem.alpha, problem.noise] = init and init["alpha_was"]
        return {"alpha_was": problem.alpha}

    sweep(NETWORK, run, alpha=[0.4, 0.1, 0.2], noise=[0.1, 0.5])
    for noise in (0.1, 0.5):
        assert [starts[alpha, noise] for alpha in (0.1, 0.2, 0.4)] == [None, 0.1, 0.2]


def test_a_bad_start_is_tried_again_from_nothing():
    calls = []

    def run(problem: ps.Problem, init: Any = None) -> float:
        calls.append(init)
        if init is not None:
            raise ps.SolveError("There is no way from there.", "Start elsewhere.")
        return problem.alpha

    table = sweep(NETWORK, run, alpha=[0.1, 0.2])
    assert list(table.outcome.values) == ["done", "done"]
    assert calls == [None, 0.1, None]


def test_a_fault_that_shows_with_a_start_is_not_hidden():
    """Only equations without a solution from there are tried again; any other failure is a row with its reason."""

    def run(problem: ps.Problem, init: Any = None) -> float:
        if init is not None:
            raise TypeError("it cannot read a start")
        return problem.alpha

    table = sweep(NETWORK, run, alpha=[0.1, 0.2])
    assert list(table.outcome.values) == ["done", "failed: TypeError: it cannot read a start"]


def test_a_start_that_was_asked_for_is_left_alone():
    calls = []

    def run(problem: ps.Problem, init: Any = None) -> float:
        calls.append(init)
        return problem.alpha

    sweep(NETWORK, run, alpha=[0.1, 0.2], init="mine")
    sweep(NETWORK, functools.partial(run, init="bound"), alpha=[0.1, 0.2])
    assert calls == ["mine", "mine", "bound", "bound"]


# ------------------------------------------------------------------------------------------- the store


def test_a_finished_sweep_computes_nothing_again(tmp_path, counted):
    first = sweep(NETWORK, counted, alpha=[0.1, 0.2], store=tmp_path / "s")
    again = sweep(NETWORK, counted, alpha=[0.1, 0.2], store=tmp_path / "s")
    assert len(counted.calls()) == 2
    xr.testing.assert_identical(first, again)


def test_the_netcdf_is_the_table(tmp_path):
    def run(problem: ps.Problem) -> dict[str, Any]:
        if problem.alpha > 2.0:
            raise ValueError("no")
        return {"x": np.inf, "y": -np.inf, "z": np.nan, "w": "wörds", "v": np.arange(3.0), "tiny": 0.1 + 0.2}

    store = tmp_path / "s"
    table = sweep(NETWORK, run, alpha=[0.1, 3.0], target=[TARGET], kappa=1.0, store=store)
    with xr.open_dataset(store / "result.nc") as held:
        xr.testing.assert_equal(held.load(), table)
        assert held.attrs == table.attrs
    again = sweep(NETWORK, run, alpha=[0.1, 3.0], target=[TARGET], kappa=1.0, store=store)
    xr.testing.assert_identical(again, table)


def test_more_points_and_another_axis_reuse_what_is_there(tmp_path, counted):
    store = tmp_path / "s"
    sweep(NETWORK, counted, alpha=[0.1, 0.2], store=store)
    sweep(NETWORK, counted, alpha=[0.1, 0.15, 0.2], store=store)
    assert counted.calls()[2:] == ["0.15 0.5 0.0"]
    table = sweep(NETWORK, counted, alpha=[0.1, 0.2], noise=[0.5, 0.9], store=store)
    assert counted.calls()[3:] == ["0.1 0.9 0.0", "0.2 0.9 0.0"]
    np.testing.assert_array_equal(table.value, [[0.1, 0.1], [0.2, 0.2]])


def test_an_option_of_the_function_is_part_of_the_cell(tmp_path, counted):
    sweep(NETWORK, counted, alpha=[0.1], store=tmp_path / "s")
    table = sweep(NETWORK, counted, alpha=[0.1], shift=[0.0, 1.0], store=tmp_path / "s")
    np.testing.assert_array_equal(table.value, [[0.1, 1.1]])


@pytest.mark.parametrize(
    ("problem", "run", "said"),
    [
        (NETWORK.replace(noise=0.1), samples, "another problem.*noise is 0.5 there and 0.1 here"),
        (
            NETWORK.replace(target=ps.Semicircle()),
            samples,
            "another problem.*target is MarchenkoPastur there and Semicircle",
        ),
        (NETWORK, fragile, "another function or options.*function is .*samples there and .*fragile here"),
        (NETWORK, functools.partial(samples), "another function"),
    ],
)
def test_another_problem_or_function_in_a_store_is_refused_by_its_difference(tmp_path, problem, run, said):
    sweep(NETWORK, samples, alpha=[0.1], store=tmp_path / "s")
    with pytest.raises(ValueError, match=f"`store` must hold this sweep: it holds {said}"):
        sweep(problem, run, alpha=[0.1], store=tmp_path / "s")


def test_a_store_of_another_version_is_refused(tmp_path, monkeypatch):
    sweep(NETWORK, samples, alpha=[0.1], store=tmp_path / "s")
    monkeypatch.setattr(ps, "__version__", "9.9.9")
    with pytest.raises(ValueError, match=r"written by presage .*, this is 9\.9\.9"):
        sweep(NETWORK, samples, alpha=[0.1], store=tmp_path / "s")


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"format": 2}', '{"format": 1}'])
def test_a_store_whose_manifest_is_broken_is_refused(tmp_path, content):
    store = tmp_path / "s"
    sweep(NETWORK, samples, alpha=[0.1], store=store)
    (store / "sweep.json").write_text(content)
    with pytest.raises(ValueError, match=r"`store` must be a folder of a sweep: sweep\.json cannot be read"):
        sweep(NETWORK, samples, alpha=[0.1], store=store)


def test_folders_and_files_that_are_not_of_a_sweep_are_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="`store` must be a new folder or one of a sweep"):
        sweep(NETWORK, samples, alpha=[0.1], store=tmp_path)
    with pytest.raises(ValueError, match=r"`store` must be the name of a folder: there is a file of that name"):
        sweep(NETWORK, samples, alpha=[0.1], store=tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_relative_store_is_where_the_sweep_began(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(problem: ps.Problem) -> float:
        os.chdir("/")
        return 1.0

    sweep(NETWORK, run, alpha=[0.1], store="runs")
    assert (tmp_path / "runs" / "result.nc").exists()


def flip(data: bytes) -> bytes:
    middle = data.index(b'"value"') + 9
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def drop_newline(data: bytes) -> bytes:
    return data[:-1]


def cut(data: bytes) -> bytes:
    return data[: len(data) - 30]


def garbage(data: bytes) -> bytes:
    return b"\x00\xff garbage \n"


def other_number(data: bytes) -> bytes:
    """JSON that is whole, and not what was written."""
    content = json.loads(data)
    content["cell"]["values"]["value"] = 9.0
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (flip, "damaged"),
        (garbage, "damaged"),
        (other_number, "damaged"),
        (cut, "half-written"),
        (drop_newline, "half-written"),
    ],
)
def test_a_damaged_line_is_reported_and_its_cell_done_again(tmp_path, counted, caplog, damage, said):
    store = tmp_path / "s"
    first = sweep(NETWORK, counted, alpha=[0.1, 0.2, 0.3], store=store)
    path = shard(store)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], damage(lines[2])]))
    with caplog.at_level(logging.WARNING, logger="presage"):
        again = sweep(NETWORK, counted, alpha=[0.1, 0.2, 0.3], store=store)
    sentence = f"Line 3 of {path.name} is {said}"
    assert again.attrs["damaged"].startswith(sentence)
    assert sentence in caplog.text
    assert counted.calls()[3:] == ["0.3 0.5 0.0"]
    np.testing.assert_array_equal(again.value, first.value)


def test_an_emptied_shard_is_a_sweep_that_has_not_begun(tmp_path, counted):
    store = tmp_path / "s"
    sweep(NETWORK, counted, alpha=[0.1, 0.2], store=store)
    shard(store).write_bytes(b"")
    table = sweep(NETWORK, counted, alpha=[0.1, 0.2], store=store)
    assert len(counted.calls()) == 4
    assert "damaged" not in table.attrs


def test_every_single_flipped_bit_of_a_line_is_found():
    line = stores.seal({"key": "k", "values": {"x": np.array([0.5, 1.0])}, "failed": False})
    assert stores._parse(line) == {"key": "k", "values": {"x": [0.5, 1.0]}, "failed": False}
    for place in range(len(line)):
        for bit in range(8):
            changed = line[:place] + bytes([line[place] ^ (1 << bit)]) + line[place + 1 :]
            assert stores._parse(changed) is None, (place, bit)


def test_parts_are_disjoint_and_whole_together_whenever_they_run(tmp_path, counted):
    store = tmp_path / "s"
    grid: dict[str, Any] = {"alpha": np.linspace(0.1, 1.0, 7), "noise": [0.1, 0.2, 0.3]}
    for i in (3, 1, 2, 1):
        table = sweep(NETWORK, counted, store=store, part=(i, 3), **grid)
    assert not (store / "result.nc").exists()
    assert len(counted.calls()) == 21
    assert len(set(counted.calls())) == 21
    assert set(table.outcome.values.flat) == {"done"}
    gathered = sweep(NETWORK, counted, store=store, **grid)
    assert len(counted.calls()) == 21
    np.testing.assert_array_equal(gathered.value, np.broadcast_to(grid["alpha"][:, None], (7, 3)))
    assert (store / "result.nc").exists()


def test_a_part_says_which_cells_are_not_computed_yet(tmp_path):
    table = sweep(NETWORK, samples, store=tmp_path / "s", part=(1, 4), alpha=np.linspace(0.1, 1.0, 8))
    assert sorted(set(table.outcome.values)) == ["done", "not computed yet"]


@pytest.mark.parametrize(("run", "length"), [(ps.solve, 40), (ps.simulate, 7), (samples, 100)])
@pytest.mark.parametrize("n", [1, 3, 10])
def test_every_cell_is_in_one_part_whatever_is_done_and_however_many_work(run, length, n):
    size = {"d": 10} if run is ps.simulate else {}
    points = Grid.of(NETWORK, run, {"alpha": np.linspace(0.1, 1.0, length), "noise": [0.1, 0.2], **size})
    keys = [cell.key for cell in points.cells]
    undone = set(keys[::3])
    whole, rest = [], []
    for i in range(1, n + 1):
        whole += [cell.key for chain in _chains(points, set(keys), 3, (i, n)) for cell in chain]
        rest += [cell.key for chain in _chains(points, undone, 5, (i, n)) for cell in chain]
    assert sorted(whole) == sorted(keys)
    assert sorted(rest) == sorted(undone)


@pytest.mark.parametrize("run", [ps.solve, ps.simulate, samples])
@pytest.mark.parametrize("n", [2, 5, 10, 14])
def test_no_part_is_empty_where_there_are_cells_enough(run, n):
    size = {"d": 10} if run is ps.simulate else {}
    points = Grid.of(NETWORK, run, {"alpha": np.linspace(0.1, 1.0, 7), "noise": [0.1, 0.2], **size})
    keys = {cell.key for cell in points.cells}
    assert all(_chains(points, keys, 1, (i, n)) for i in range(1, n + 1))


def test_tasks_of_an_array_may_open_a_new_store_at_once(tmp_path, monkeypatch):
    """One task has made the folder, and another looks at it before the manifest is there."""
    write, others = stores._write_json, [2, 1]

    def slowly(path: Path, content: Any) -> None:
        write(path, content)
        if others:
            sweep(NETWORK, samples, store=tmp_path / "s", part=(others.pop(), 3), alpha=[0.1, 0.2, 0.3])

    monkeypatch.setattr(stores, "_write_json", slowly)
    sweep(NETWORK, samples, store=tmp_path / "s", part=(3, 3), alpha=[0.1, 0.2, 0.3])
    assert others == []
    assert len(stores.Store(tmp_path / "s").records()[0]) == 3


def test_one_of_two_manifests_that_are_made_at_once_stays(tmp_path):
    first, second = stores.Store(tmp_path / "s"), stores.Store(tmp_path / "s")
    first._make({"format": 1, "mark": "a"})
    second._make({"format": 1, "mark": "b"})
    assert first.mark == second.mark == "a"
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["sweep.json"]


def test_a_folder_that_cannot_be_written_is_refused_with_a_sentence():
    with pytest.raises(
        ValueError, match="`store` must be a folder to write to: cells are written to it, and the system"
    ):
        sweep(NETWORK, samples, alpha=[0.1], store="/proc/presage-cannot-write-here")


def test_a_full_disk_ends_the_sweep_with_a_sentence_and_what_was_written_stays(tmp_path, counted, monkeypatch):
    store, write, room = tmp_path / "s", os.write, [2]

    def full(file: int, data: bytes) -> int:
        room[0] -= 1
        return write(file, data if room[0] >= 0 else data[:10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match=r"could not be written: No space left on device\. .* sweep again to go on"):
        sweep(NETWORK, counted, alpha=[0.1, 0.2, 0.3, 0.4], store=store)
    monkeypatch.undo()
    assert len(counted.calls()) == 3
    table = sweep(NETWORK, counted, alpha=[0.1, 0.2, 0.3, 0.4], store=store)
    assert counted.calls()[3:] == ["0.3 0.5 0.0", "0.4 0.5 0.0"]
    assert table.attrs["damaged"].count("half-written") == 2


def test_what_follows_a_half_written_line_goes_to_another_file(tmp_path, monkeypatch):
    (tmp_path / "cells").mkdir()
    writer, write = stores.Store(tmp_path).writer(), os.write
    record: dict[str, Any] = {"key": "a", "values": {}, "failed": False}
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    with pytest.raises(OSError, match="No space left"):
        writer.add(record)
    monkeypatch.undo()
    writer.add({**record, "key": "b"})
    writer.sync()
    found, damaged = stores.Store(tmp_path).records()
    assert list(found) == ["b"]
    assert len(damaged) == 1


def test_a_table_that_cannot_be_written_loses_no_cell(tmp_path, counted, monkeypatch):
    def full(table: Any, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stores, "write_table", full)
    with pytest.raises(OSError, match=r"result\.nc could not .* All cells are in the store"):
        sweep(NETWORK, counted, alpha=[0.1, 0.2], store=tmp_path / "s")
    monkeypatch.undo()
    sweep(NETWORK, counted, alpha=[0.1, 0.2], store=tmp_path / "s")
    assert len(counted.calls()) == 2


def test_a_store_that_is_removed_and_made_again_is_filled_again(tmp_path, counted):
    import shutil

    for _ in range(2):
        sweep(NETWORK, counted, alpha=[0.1], store=tmp_path / "s")
        assert len(stores.Store(tmp_path / "s").records()[0]) == 1
        shutil.rmtree(tmp_path / "s")
    assert len(counted.calls()) == 2


# ------------------------------------------------------------------------- processes and other machines


def test_a_worker_that_does_not_see_the_store_sends_its_cells_back(tmp_path):
    store = stores.Store(tmp_path / "s")
    cells = Grid.of(NETWORK, samples, {"alpha": [0.1, 0.2]}).cells
    sweep(NETWORK, samples, alpha=[0.3], store=store.folder)
    elsewhere = Work(samples, tmp_path / "nowhere", store.mark, False)
    assert [record["stored"] for record in elsewhere(cells)] == [False, False]
    sees = Work(samples, store.folder, store.mark, False)
    assert [record["stored"] for record in sees(cells)] == [True, True]
    of_another_name = Work(samples, store.folder, "of another machine", False)
    assert [record["stored"] for record in of_another_name(cells)] == [False, False]
    assert len(store.records()[0]) == 3


def test_cells_that_come_back_unstored_are_stored_by_the_sweep(tmp_path, counted, monkeypatch):
    from presage.sweeps import cells

    with monkeypatch.context() as patch:
        patch.setattr(cells, "_writer", lambda *_: None)
        sweep(NETWORK, counted, alpha=[0.1, 0.2], store=tmp_path / "s")
    sweep(NETWORK, counted, alpha=[0.1, 0.2], store=tmp_path / "s")
    assert len(counted.calls()) == 2


SLOW_SWEEP = """
import sys, time
import presage as ps
NETWORK = ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.02, noise=0.5)
def run(problem):
    time.sleep(0.05)
    return problem.alpha
print("begins", flush=True)
try:
    ps.sweep(NETWORK, run, store={store!r}, processes={processes}, alpha=[k / 100 for k in range(1, 400)])
except ps.SweepInterrupted as stop:
    print(stop)
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_ctrl_c_leaves_a_store_that_goes_on(tmp_path, processes):
    store = tmp_path / "s"
    run = python(SLOW_SWEEP.format(store=str(store), processes=processes))
    ends = time.monotonic() + 60.0
    while time.monotonic() < ends and not any(path.stat().st_size for path in (store / "cells").glob("*")):
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    said, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    found, damaged = stores.Store(store).records()
    assert 0 < len(found) < 399
    assert damaged == []
    sentence = (
        f"The sweep was interrupted; {len(found)} of 399 cells had ended, and they are in {store}: the same sweep"
    )
    assert sentence in said
    assert not any(record["failed"] for record in found.values())


# ------------------------------------------------------------------------------------------- identities


THINGS = """
import functools, numpy as np, presage as ps
exec("typed = lambda p: p.alpha in {'a', 'b', 'c'}")
def own(problem, words=frozenset(["a", "b", "c"])):
    return 1.0
things = [ps.quadratic_network(ps.PowerLaw(1.25, 8), alpha=0.5, weight_decay=0.02), own, functools.partial(own), typed,
          ps.Empirical(np.arange(1.0, 30.0)), {"b", "a"}, ps.simulate, [ps.LBFGS(), ps.AMP()],
          lambda p: [x for x in {1, 2, 3}]]
"""


@dataclass(frozen=True)
class Own:
    """A class of one's own that is called like a function."""

    factor: float

    def __call__(self, problem: ps.Problem) -> float:
        return self.factor * problem.alpha

    def method(self, problem: ps.Problem) -> float:
        return self.factor


def test_things_have_the_same_identity_in_every_process(tmp_path, monkeypatch):
    import importlib

    (tmp_path / "things_to_name.py").write_text(THINGS)
    monkeypatch.syspath_prepend(str(tmp_path))
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from things_to_name import things
from presage.sweeps.identity import canonical
print(canonical(things))
"""
    said, errors = python(code, env={"PYTHONHASHSEED": "1"}).communicate(timeout=60)
    assert said.strip() == canonical(importlib.import_module("things_to_name").things), errors


def made(constant: float) -> Any:
    return lambda problem: problem.alpha + constant


def with_default(value: float) -> Any:
    def inner(problem: ps.Problem, shift: float = value) -> float:
        return shift

    return inner


def test_what_differs_has_another_identity():
    pairs: list[tuple[Any, Any]] = [
        (made(1.0), made(2.0)),
        (with_default(1.0), with_default(2.0)),
        (lambda p: 1.0, lambda p: 2.0),
        (Own(1.0), Own(2.0)),
        (Own(1.0).method, Own(2.0).method),
        (np.arange(30.0), np.arange(30.0) + 1e-15),
        (2**60, 2**60 + 1),
        (NETWORK, NETWORK.replace(target=ps.MarchenkoPastur(0.3))),
        (functools.partial(ps.solve, tol=1e-6), functools.partial(ps.solve, tol=1e-7)),
        ("1", 1),
        (True, 1),
    ]
    for first, second in pairs:
        assert canonical(first) != canonical(second), (first, second)


def test_what_is_the_same_has_the_same_identity():
    pairs: list[tuple[Any, Any]] = [
        (made(1.0), made(1.0)),
        (1, np.float64(1.0)),
        ([1, 2], (1.0, 2.0)),
        (np.arange(3), [0, 1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ]
    for first, second in pairs:
        assert canonical(first) == canonical(second)


def test_the_source_of_a_class_of_ones_own_counts(tmp_path, monkeypatch):
    import importlib

    monkeypatch.syspath_prepend(str(tmp_path))
    texts = []
    for k, body in enumerate(("1.0", "2.0")):
        source = f"class Thing:\n    def __call__(self, problem):\n        return {body}\n"
        (tmp_path / f"own{k}").mkdir()
        (tmp_path / f"own{k}" / "__init__.py").write_text(source)
        texts.append(canonical(importlib.import_module(f"own{k}").Thing()).replace(f"own{k}", "own"))
    assert texts[0] != texts[1]


def test_functions_that_know_modules_and_themselves_have_an_identity():
    import math

    def again(problem: ps.Problem, n: int = 3) -> float:
        return math.sqrt(2.0) if n == 0 else again(problem, n - 1)

    assert {"module": "math"} in identity(again)["remembers"]
    assert sweep(NETWORK, again, alpha=[0.1]).value.item() == math.sqrt(2.0)


def test_what_has_no_lasting_description_is_refused():
    with pytest.raises(ValueError, match="be made of numbers, words, arrays, dataclasses and functions"):
        identity(iter([]))


# ------------------------------------------------------------------------------------------------ slurm


def test_the_array_script_has_one_directive_each_and_a_part_a_task():
    text = script(["presage", "sweep", "solve", "--store", "my runs"], jobs=10, options=["--mem=4G", "--exclusive"])
    directives = [line for line in text.splitlines() if line.startswith("#SBATCH")]
    assert "#SBATCH --array=1-10" in directives
    assert "#SBATCH --mem=4G" in directives
    assert "#SBATCH --exclusive" in directives
    names = [line.removeprefix("#SBATCH --").partition("=")[0] for line in directives]
    assert len(names) == len(set(names))
    assert "presage sweep solve --store 'my runs' --part \"$SLURM_ARRAY_TASK_ID/10\"" in text
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


def test_memory_by_core_takes_the_place_of_memory_by_job():
    text = script(["presage"], jobs=2, options=["--mem-per-cpu=1G"])
    assert "--mem=" not in text


@pytest.mark.parametrize("option", ["partition=main", "-p main", "--partition main", "--mem=1\nrm", "--array=1-3"])
def test_what_sbatch_would_not_understand_is_refused(option):
    with pytest.raises(ValueError, match="`slurm_option` must"):
        script(["presage"], jobs=2, options=[option])


@pytest.mark.parametrize(
    ("error", "options", "said"),
    [
        ("Unable to contact slurm controller", [], r"`slurm` must .*SLURM does not answer.*Got slurm=2\."),
        ("Unable to contact slurm controller", ["--mem=1G"], "`slurm` must .*SLURM does not answer"),
        ("Invalid account", [], "`slurm` must be jobs that sbatch takes: .*Invalid account.*by slurm_option"),
        ("Invalid account", ["--account=me"], "`slurm_option` must be options that sbatch takes: .*Invalid account"),
    ],
)
def test_what_sbatch_refuses_is_blamed_on_what_was_given(monkeypatch, error, options, said):
    def refuse(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", f"sbatch: error: {error}\n")

    monkeypatch.setattr(subprocess, "run", refuse)
    with pytest.raises(ValueError, match=said):
        slurm._try("#SBATCH --mem=1G\n", 2, options)


def test_observables_of_like_names_are_all_kept():
    def run(problem):
        return {"a/b": 1.0, "a_b": 2.0, "x": np.arange(3.0), "x_0": 4.0, "noise": 5.0, "noise_bar": 6.0}

    found = ps.sweep(NETWORK, run, alpha=[0.5, 1.0], noise=0.3, processes=1)
    assert {float(found[name][0]) for name in ("a_b", "a_b_found", "x_0", "noise_found")} == {1.0, 2.0, 4.0, 5.0}
    assert float(found["noise_found_bar"][0]) == 6.0
    assert found["x"].dims == ("alpha", "x_0_axis")


def test_error_bars_say_what_they_are():
    solved = ps.sweep(NETWORK, ps.solve, alpha=[0.5], processes=1)
    assert solved.test_error_bar.long_name == "half width of a 95 % interval"

    def trained(problem):
        return ps.simulate(problem, d=8, seeds=2, n_test=10, processes=1)

    assert "standard error" in ps.sweep(NETWORK, trained, alpha=[0.5], processes=1).test_error_bar.long_name
    own = ps.sweep(NETWORK, lambda problem: {"a": 1.0, "a_bar": 0.1}, alpha=[0.5], processes=1)
    assert "long_name" not in own.a_bar.attrs


def test_seeds_are_those_of_the_random_numbers():
    def seeds(run, **grid):
        return ps.sweep(NETWORK, run, alpha=[0.5], processes=1, **grid).attrs["seeds"]

    assert seeds(ps.solve) == "0"
    assert seeds(ps.solve, solver=ps.StateEvolution(seed=7)) == "7"
    assert seeds(ps.thresholds) == "none"
    assert seeds(ps.simulate, d=8, seeds=2, n_test=10) == "2"


def test_a_part_without_a_store_is_refused():
    with pytest.raises(ValueError, match=r"`part` must come with a store.*Got part=\(1, 2\)"):
        ps.sweep(NETWORK, ps.solve, alpha=[0.5, 1.0], part=(1, 2))
