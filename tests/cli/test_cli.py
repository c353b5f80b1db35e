"""The command line: what it prints is what the library says, and a mistake is answered by one sentence."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import inspect
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import typing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import presage as ps
from presage.cli import (
    classify,
    errors,
    figure,
    lookup,
    models,
    options,
    page,
    predictions,
    problem_options,
    scaling,
    spectrum,
    sweep,
    training,
    trajectory,
    weights,
)
from presage.cli.app import app
from presage.cli.errors import CommandError, in_options, option, told
from presage.cli.grids import grid
from presage.protocol.errors import InputError, SolveError
from presage.protocol.model import found
from presage.protocol.model import models as every_model
from presage.protocol.trainer import Trainer

ROOT = Path(__file__).resolve().parents[2]
PROGRAM: Any = get_command(app)
NOISY = ["--noise", "0.5"]
QUADRATIC = ["--model", "quadratic", "--alpha", "1", "--weight-decay", "0.1", *NOISY]
NETWORK = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5)


def run(*arguments: str, code: int = 0) -> Any:
    """Type a command; `stdout` and `stderr` are what it prints."""
    result = CliRunner().invoke(app, list(arguments), prog_name="presage")
    assert result.exit_code == code, (arguments, result.output, result.exception)
    return result


def from_json(*arguments: str, code: int = 0) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=refuse)


def from_csv(*arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run(*arguments, "--csv").stdout)))


def picture(path: Path) -> Any:
    """The pixels of a PNG; it must show something."""
    from matplotlib.image import imread

    pixels = imread(path)
    assert pixels.std() > 0.02, f"{path} is blank"
    return pixels


class TestSolve:
    def test_json_is_what_the_library_says(self):
        found, known = from_json("solve", *QUADRATIC), ps.solve(NETWORK)
        for name in ("test_error", "train_loss", "train_error", "estimation_error", "rank", "replicon", "delta"):
            assert found[name] == pytest.approx(getattr(known, name), rel=1e-12)
            assert found[f"{name}_bar"] == pytest.approx(known.error_bars[name], rel=1e-9)
        assert found["m_hat"] == pytest.approx(known.conjugates.m_hat)
        expected = {
            "model": "quadratic",
            "target": "mp:0.5",
            "alpha": 1.0,
            "weight_decay": 0.1,
            "noise": 0.5,
            "kappa": 1.0,
        }
        assert found["problem"] == expected
        assert found["caveats"] == []

    def test_csv_has_a_header_and_one_row(self):
        (row,) = from_csv("solve", *QUADRATIC)
        assert float(row["test_error"]) == pytest.approx(ps.solve(NETWORK).test_error, rel=1e-12)
        assert row["caveats"] == ""

    def test_the_table_has_the_numbers_and_their_error_bars(self):
        known = ps.solve(ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5))
        out = run("solve", *NOISY).stdout
        for name in ("test_error", "rank"):
            (line,) = [line for line in out.splitlines() if line.startswith(name)]
            value, bar = (float(word) for word in line.split()[1:3])
            assert value == pytest.approx(getattr(known, name), abs=5 * known.error_bars[name])
            assert bar == pytest.approx(known.error_bars[name], rel=0.1)
        assert max(map(len, out.splitlines())) <= 80

    def test_every_option_reaches_the_problem(self, monkeypatch):
        solved: list[Any] = []

        def solve(problem, **options):
            solved.append(problem)
            return ps.ridgeless(NETWORK)

        monkeypatch.setattr(ps, "solve", solve)
        options = (
            "--alpha 1.5 --weight-decay 0.2 --noise 0.3 --tokens 3 --beta 1.5 --beta-0 0.5 --kappa 0.9 --target mp:0.4"
        )
        problem = from_json("solve", *options.split())["problem"]
        values: dict[str, Any] = {
            "alpha": 1.5,
            "weight_decay": 0.2,
            "noise": 0.3,
            "n_tokens": 3,
            "beta": 1.5,
            "beta_0": 0.5,
            "kappa": 0.9,
        }
        assert problem == {"model": "attention", "target": "mp:0.4", **values}
        assert solved == [ps.attention(ps.MarchenkoPastur(0.4), **values)]

    def test_the_limits_of_no_and_of_the_best_penalty(self):
        assert from_json("solve", *QUADRATIC, "--ridgeless")["test_error"] == pytest.approx(
            ps.ridgeless(NETWORK).test_error
        )
        found, best = from_json("solve", *QUADRATIC, "--optimal"), ps.optimal_regularization(NETWORK)
        assert found["weight_decay"] == pytest.approx(best.value)
        assert found["test_error"] == pytest.approx(best.test_error)
        assert f"{best.value:.6g}" in run("solve", *QUADRATIC, "--optimal").stdout

    def test_caveats_are_printed(self):
        arguments = ["solve", "--model", "quadratic", "--target", "semicircle:1", *NOISY]
        (caveat,) = ps.solve(ps.quadratic_network(ps.Semicircle(), alpha=0.5, weight_decay=0.01, noise=0.5)).caveats
        assert caveat in from_json(*arguments)["caveats"]
        assert caveat in " ".join(run(*arguments).stdout.split())

    @pytest.mark.parametrize(
        ("model", "problem"),
        [
            ("bilinear", ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.5, noise=0.5, weight_decay=0.01)),
            ("untied", ps.untied_linear_attention(ps.GaussianProduct(0.5), alpha=0.5, noise=0.5, weight_decay=0.01)),
            ("linear-attention", ps.linear_attention(ps.MarchenkoPastur(0.5), alpha=0.5, noise=0.5, weight_decay=0.01)),
            ("unfactorized", ps.unfactorized_attention(ps.MarchenkoPastur(0.5), alpha=0.5, noise=0.5, ridge=0.01)),
        ],
    )
    def test_every_model_is_that_of_the_library(self, model, problem):
        found = from_json("solve", "--model", model, *NOISY)
        assert found["test_error"] == pytest.approx(ps.solve(problem).test_error, rel=1e-9)


class TestTargets:
    @pytest.mark.parametrize(
        ("text", "law"),
        [
            ("mp:0.2", ps.MarchenkoPastur(0.2)),
            ("power:1.25,30", ps.PowerLaw(1.25, 30)),
            ("masses:0@0.5,1@0.3,3@0.2", ps.PointMasses([0, 1, 3], [0.5, 0.3, 0.2])),
            ("masses:1,2", ps.PointMasses([1, 2])),
            ("semicircle:0.5,3", ps.Semicircle(0.5, 3)),
        ],
    )
    def test_a_law_as_it_is_written(self, text, law):
        known = ps.solve(NETWORK.replace(target=law)).test_error
        assert from_json("solve", *QUADRATIC, "--target", text)["test_error"] == pytest.approx(known, rel=1e-9)

    @pytest.mark.parametrize("shape", ["eigenvalues", "matrix"])
    def test_a_file_of_eigenvalues_or_of_a_matrix(self, tmp_path, shape):
        values, file = np.linspace(0.0, 2.0, 6), tmp_path / "target.npy"
        frame, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))
        np.save(file, values if shape == "eigenvalues" else (frame * values) @ frame.T)
        known = ps.solve(NETWORK.replace(target=ps.Empirical(values))).test_error
        assert from_json("solve", *QUADRATIC, "--target", str(file))["test_error"] == pytest.approx(known, rel=1e-6)

    def test_a_file_for_a_matrix_without_symmetry(self, tmp_path):
        file = tmp_path / "target.npy"
        matrix = np.random.default_rng(0).standard_normal((4, 8))
        np.save(file, matrix)
        law = ps.SingularValueMasses(np.linalg.svd(matrix, compute_uv=False), aspect=2.0)
        known = ps.solve(ps.bilinear_regression(law, alpha=0.5, noise=0.5, weight_decay=0.01)).test_error
        found = from_json("solve", "--model", "bilinear", "--target", str(file), *NOISY)
        assert found["test_error"] == pytest.approx(known, rel=1e-9)


class TestCurve:
    def test_rows_are_points_of_the_library(self):
        found = from_json("curve", "--model", "quadratic", "--alpha", "0.1:10:3log", "--bayes", *NOISY)
        assert [row["alpha"] for row in found["rows"]] == pytest.approx([0.1, 1.0, 10.0])
        for row in found["rows"]:
            problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=row["alpha"], weight_decay=0.01, noise=0.5)
            assert row["test_error"] == pytest.approx(ps.solve(problem).test_error, rel=1e-9)
            assert row["bayes_test_error"] == pytest.approx(ps.bayes_optimal(problem).test_error, rel=1e-6)
            assert row["bayes_test_error"] < row["test_error"]

    @pytest.mark.parametrize("option", ["--noise", "--weight-decay", "--kappa"])
    def test_any_number_may_be_the_grid(self, option):
        rows = from_csv(
            "curve", "--model", "quadratic", "--alpha", "1", *(() if option == "--noise" else NOISY), option, "0.5,1"
        )
        name = option.strip("-").replace("-", "_")
        assert [float(row[name]) for row in rows] == [0.5, 1.0]
        known = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.01, noise=0.5)
        for row in rows:
            expected = ps.solve(known.replace(**{name: float(row[name])})).test_error
            assert float(row["test_error"]) == pytest.approx(expected, rel=1e-9)

    def test_the_number_of_tokens_is_whole(self):
        rows = from_json("curve", "--model", "linear-attention", "--tokens", "2,3")["rows"]
        assert [row["n_tokens"] for row in rows] == [2, 3]

    @pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
    def test_it_is_drawn(self, tmp_path, suffix):
        path = tmp_path / f"curve.{suffix}"
        out = run("curve", "--model", "quadratic", "--alpha", "0.05:5:9log", "--bayes", "--plot", str(path)).stdout
        assert str(path) in "".join(out.split())
        assert [file.name for file in tmp_path.iterdir()] == [path.name]
        assert path.stat().st_size > 5000
        if suffix == "png":
            picture(path)
        if suffix == "svg":
            words = path.read_text(encoding="utf-8")
            assert "interpolation" in words or "<path" in words

    def test_a_point_that_fails_says_why(self, monkeypatch):
        solve = ps.solve

        def sometimes(problem, **options):
            if problem.alpha > 1.5:
                raise ps.SolveError("It did not settle.", "Use a larger <weight_decay>.")
            return solve(problem, **options)

        monkeypatch.setattr(ps, "solve", sometimes)
        good, bad = from_json("curve", "--model", "quadratic", "--alpha", "1,2")["rows"]
        assert "test_error" in good
        assert bad == {"alpha": 2.0, "caveats": ["failed: It did not settle. Use a larger --weight-decay."]}
        assert "failed" in run("curve", "--model", "quadratic", "--alpha", "1,2").stdout
        message = run("curve", "--model", "quadratic", "--alpha", "2,3", code=1).stderr
        assert "No point of the curve could be solved" in message


class TestSpectrum:
    def test_the_density_has_the_mass_of_its_bulks(self):
        found = from_json("spectrum", "--model", "quadratic", "--alpha", "4", "--points", "400", *NOISY)
        solution = ps.solve(ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=4.0, weight_decay=0.01, noise=0.5))
        assert found["zero"] == pytest.approx(1.0 - solution.rank)
        assert [bulk["mass"] for bulk in found["bulks"]] == pytest.approx([bulk.mass for bulk in solution.bulks])
        x, density = (np.array([point[name] for point in found["density"]]) for name in ("x", "density"))
        assert np.trapezoid(density, x) == pytest.approx(solution.rank, rel=2e-3)

    def test_singular_values_are_roots_of_eigenvalues(self):
        arguments = ["spectrum", "--model", "quadratic", "--target", "masses:0@0.7,2@0.29,9@0.01", "--alpha", "8"]
        eigen, singular = from_json(*arguments), from_json(*arguments, "--singular-values")
        assert len(eigen["outliers"]) == 1
        assert singular["outliers"] == pytest.approx(np.sqrt(eigen["outliers"]))
        assert singular["bulks"][-1]["right"] == pytest.approx(math.sqrt(eigen["bulks"][-1]["right"]))
        rows = from_csv(*arguments, "--singular-values", "--points", "50")
        assert len(rows) == 50 * len(singular["bulks"])

    def test_a_matrix_without_symmetry(self):
        found = from_json("spectrum", "--model", "bilinear")
        assert found["of"] == "singular values"
        assert sum(bulk["mass"] for bulk in found["bulks"]) == pytest.approx(1.0 - found["zero"], abs=1e-6)

    def test_entries_whose_law_has_no_end(self):
        arguments = ["spectrum", "--model", "diagonal", "--noise", "0.5", "--points", "2000"]
        found = from_json(*arguments)
        assert found["of"] == "entries"
        (bulk,) = found["bulks"]
        assert bulk["mass"] + found["zero"] == pytest.approx(1.0 - 2e-4, abs=1e-6)
        x, density = (np.array([point[name] for point in found["density"]]) for name in ("x", "density"))
        assert np.trapezoid(density, x) == pytest.approx(bulk["mass"], rel=2e-3)
        assert any("has no end: the last 0.0001 of its mass on each side" in line for line in found["caveats"])
        assert "caveat: the law of the entries has no end" in run(*arguments).stdout
        assert from_json("spectrum", "--model", "quadratic")["caveats"] == []

    def test_entries_have_no_singular_values(self):
        message = run("spectrum", "--model", "diagonal", "--singular-values", code=2).stderr
        assert "that of --model diagonal has no singular values" in message
        exact = ["spectrum", "--model", "diagonal", "--noise", "0", "--alpha", "3", "--weight-decay", "0"]
        assert "The fit is the target itself" in run(*exact, code=2).stderr

    def test_it_is_drawn(self, tmp_path):
        run("spectrum", "--model", "quadratic", "--plot", str(tmp_path / "spectrum.png"))
        picture(tmp_path / "spectrum.png")


class TestThresholdsAndBayes:
    def test_thresholds(self):
        found = from_json("thresholds", "--target", "mp:0.2", "--noise", "0.5")
        known = ps.thresholds(ps.attention(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.01, noise=0.5))
        for name in ("interpolation", "perfect_recovery", "unfactorized_recovery", "bayes_recovery", "weak_recovery"):
            assert found[name] == pytest.approx(getattr(known, name))
        assert f"{known.interpolation:.6g}" in run("thresholds", "--target", "mp:0.2", "--noise", "0.5").stdout

    def test_a_threshold_that_does_not_exist_is_null_and_said(self):
        found = from_json("thresholds", "--target", "semicircle:1")
        assert found["perfect_recovery"] is None
        assert "perfect_recovery is infinite." in found["caveats"]
        assert re.search(r"perfect_recovery\s+none", run("thresholds", "--target", "semicircle:1").stdout)

    def test_thresholds_of_a_matrix_without_symmetry(self):
        found = from_json("thresholds", "--model", "bilinear", "--target", "product:0.3,2", *NOISY)
        known = ps.thresholds(ps.bilinear_regression(ps.GaussianProduct(0.3, 2.0), alpha=0.5, noise=0.5))
        assert found["strong_recovery"] == pytest.approx(known.strong_recovery)
        assert found["caveats"] == list(known.caveats)
        assert "for clean labels" in known.caveats[0]
        clean = from_json("thresholds", "--model", "bilinear", "--target", "product:0.05,2", "--noise", "0")
        assert clean["caveats"] == []

    def test_numbers_that_play_no_part_are_not_told(self):
        for arguments, gone in (
            (["bayes", *QUADRATIC], {"weight_decay", "kappa"}),
            (["thresholds"], {"alpha", "weight_decay"}),
            (["solve", *QUADRATIC, "--ridgeless"], {"weight_decay"}),
            (["solve", *QUADRATIC, "--optimal"], {"weight_decay"}),
            (["curve", "--model", "quadratic", "--alpha", "1,2", "--ridgeless"], {"weight_decay"}),
            (["sweep", "thresholds", "--noise", "0,1", "--workers", "1"], {"alpha", "weight_decay"}),
        ):
            described = from_json(*arguments)["problem"]
            assert not gone & described.keys()
            assert {"noise", "target"} <= described.keys()
        assert "weight decay" not in run("bayes", *QUADRATIC).stdout
        assert "alpha" in from_json("sweep", "thresholds", "--alpha", "1,2", "--workers", "1")["problem"]

    def test_bayes(self):
        found = from_json("bayes", *QUADRATIC)
        known = ps.bayes_optimal(NETWORK)
        assert found["mmse"] == pytest.approx(known.mmse)
        assert found["test_error_bar"] == pytest.approx(known.error_bars["test_error"])
        assert found["mutual_information"] == pytest.approx(known.mutual_information)
        assert f"{known.mmse:.6f}" in run("bayes", *QUADRATIC).stdout

    def test_what_is_infinite_is_said(self):
        clean = ["--model", "quadratic", "--alpha", "1", "--weight-decay", "0.1", "--noise", "0"]
        found = from_json("bayes", *clean)
        assert found["mutual_information"] is None
        assert "mutual_information is infinite." in found["caveats"]
        assert "infinite" in run("bayes", *clean).stdout


class TestTraining:
    def test_simulate_is_that_of_the_library(self):
        arguments = ["simulate", *QUADRATIC, "--d", "12", "--seeds", "3", "--trainer", "proximal", "--workers", "1"]
        known = ps.simulate(NETWORK, d=12, seeds=3, trainer=ps.ProximalGradient(), processes=1)
        found = from_json(*arguments, "--eigenvalues")
        assert found["test_error"] == pytest.approx(known.mean("test_error"), rel=1e-9)
        assert found["test_error_bar"] == pytest.approx(known.standard_error("test_error"), rel=1e-9)
        assert found["seeds"][2]["eigenvalues"] == pytest.approx(known.eigenvalues[2], abs=1e-9)
        rows = from_csv(*arguments)
        assert [float(row["rank"]) for row in rows] == pytest.approx(list(known.rank))
        assert {row["outcome"] for row in rows} == {"done"}

    def test_weights_and_histories_are_kept_in_a_file(self, tmp_path):
        path = tmp_path / "kept.npz"
        arguments = ["simulate", *QUADRATIC, "--d", "8", "--seeds", "3,5", "--workers", "1"]
        said = run(*arguments, "--keep", "weights,history", "--out", str(path)).stdout
        assert f"kept: {path}" in said.replace("\n", "")
        known = ps.simulate(NETWORK, d=8, seeds=[3, 5], processes=1, keep=["weights", "history"])
        with np.load(path) as file:
            assert {*file} == {"seeds", "d", "problem", "weights", "targets", "history_3", "history_5"}
            assert np.array_equal(file["weights"], known.weights)
            assert np.array_equal(file["targets"], known.targets)
            assert np.array_equal(file["history_5"][:, 1], known.history[1][:, 1])

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--keep", "weights"], "`--keep` needs a file"),
            (["--out", "a.npz"], "`--out` is the file of --keep"),
            (["--keep", "weights", "--out", "a.csv"], "`--out` must end in .npz"),
            (["--keep", "weights", "--out", "no/such/a.npz"], "`--out` must be in a folder that exists"),
            (["--keep", "gradient", "--out", "a.npz"], '`--keep` must be "weights" or "history"'),
        ],
    )
    def test_what_cannot_be_kept_is_refused_before_anything_is_trained(self, arguments, said):
        assert said in run("simulate", *QUADRATIC, "--d", "8", *arguments, code=2).stderr

    def test_networks_of_chosen_seeds_and_matrices_on_several_processes(self):
        arguments = ["simulate", "--model", "bilinear", *NOISY, "--d", "8", "--seeds", "3,5", "--workers", "2"]
        found = from_json(*arguments)
        problem = ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.5, noise=0.5, weight_decay=0.01)
        known = ps.simulate(problem, d=8, seeds=[3, 5], processes=1)
        assert [row["seed"] for row in found["seeds"]] == [3, 5]
        assert found["test_error"] == pytest.approx(known.mean("test_error"), rel=1e-9)

    def test_a_single_network_has_no_error_bar_and_says_so(self):
        arguments = ["simulate", *QUADRATIC, "--d", "8", "--seeds", "1", "--workers", "1"]
        found = from_json(*arguments)
        assert found["test_error_bar"] is None
        assert found["caveats"][-1] == "one network has no standard error: use more --seeds."

    def test_message_passing_is_measured_by_its_errors_only(self):
        training = ["--trainer", "bayes-amp", "--seeds", "2", "--workers", "1", "--model", "quadratic"]
        found = from_json("simulate", *training, "--d", "8")
        assert {"test_error", "estimation_error"} <= found.keys()
        assert not {"train_loss", "train_error", "rank"} & (found.keys() | found["seeds"][0].keys())
        out = run("sweep", "simulate", *training, "--d", "8,9").stdout
        assert "estimation" in out
        assert "rank" not in out
        assert "train" not in out

    def test_one_dimension_written_twice_is_one(self):
        out = run("compare", *QUADRATIC, "--d", "8,8", "--seeds", "2", "--workers", "1").stdout
        assert "trained" in out
        assert "∞" not in out

    def test_compare_gives_its_verdicts(self, tmp_path):
        plot = tmp_path / "compare.png"
        arguments = ["compare", *QUADRATIC, "--d", "10,20", "--seeds", "3", "--workers", "1"]
        found = from_json(*arguments, "--plot", str(plot))
        networks = [ps.simulate(NETWORK, d=d, seeds=3, processes=1) for d in (10, 20)]
        known = ps.compare(ps.solve(NETWORK), *networks)
        assert found["agrees"] is known.agrees
        assert [row["z"] for row in found["rows"]] == pytest.approx([row.z for row in known.rows], abs=1e-6)
        assert found["rows"][0]["d_20"] == pytest.approx(networks[1].mean("test_error"), rel=1e-9)
        picture(plot)
        out = run(*arguments).stdout
        assert max(map(len, out.splitlines())) <= 80
        assert sum("agree" in line or "differ" in line for line in out.splitlines()) >= 5

    def test_bayes_message_passing_is_compared_with_the_bayes_error(self):
        found = from_json("compare", "--model", "bilinear", "--trainer", "proximal", "--d", "8,12", "--seeds", "2")
        assert {row["observable"] for row in found["rows"]} >= {"test_error", "rank"}
        found = from_json(
            "compare", *QUADRATIC, "--trainer", "bayes-amp", "--d", "8,12", "--seeds", "2", "--workers", "1"
        )
        assert [row["observable"] for row in found["rows"]] == ["estimation_error"]


class TestSweep:
    GRID = ("--model", "quadratic", "--alpha", "0.5,2", "--weight-decay", "0.1:0.3:2", *NOISY)

    def test_cells_are_points_of_the_library(self, tmp_path):
        rows = from_csv("sweep", "solve", *self.GRID, "--workers", "1")
        assert len(rows) == 4
        for row in rows:
            at = {name: float(row[name]) for name in ("alpha", "weight_decay")}
            known = ps.solve(ps.quadratic_network(ps.MarchenkoPastur(0.5), noise=0.5, **at))
            assert float(row["test_error"]) == pytest.approx(known.test_error, rel=1e-9)
            assert float(row["rank_bar"]) == pytest.approx(known.error_bars["rank"], abs=1e-12)
        out = run("sweep", "solve", *self.GRID, "--workers", "1").stdout
        assert "4 cells: 4 done." in out

    def test_a_store_goes_on(self, tmp_path, monkeypatch):
        store = tmp_path / "runs"
        first = from_json("sweep", "solve", *self.GRID, "--store", str(store), "--part", "1/2", "--workers", "1")
        done = [row for row in first["rows"] if row["outcome"] != "not computed yet"]
        assert 0 < len(done) <= 4
        whole = from_json("sweep", "solve", *self.GRID, "--store", str(store), "--workers", "1")
        assert all(row["test_error"] is not None for row in whole["rows"])
        assert (store / "result.nc").is_file()
        message = run("sweep", "solve", "--alpha", "1,2", "--store", str(store), code=2).stderr
        assert "--store" in message
        assert "holds another problem" in message

    def test_networks_of_several_dimensions(self):
        options = ["--d", "8,12", "--seeds", "2", "--target", "power:1.25,30", "--workers", "1"]
        rows = from_json("sweep", "simulate", *QUADRATIC, *options)["rows"]
        assert [row["d"] for row in rows] == [8, 12]
        problem = NETWORK.replace(target=ps.PowerLaw(1.25, 30))
        known = ps.simulate(problem, d=12, seeds=2, processes=1)
        assert rows[1]["test_error"] == pytest.approx(known.mean("test_error"), rel=1e-9)

    @pytest.mark.parametrize(
        ("name", "options"), [("solve", ()), ("simulate", ("--d", "8", "--seeds", "2")), ("thresholds", ())]
    )
    def test_it_is_drawn(self, tmp_path, name, options):
        path = tmp_path / "sweep.svg"
        grid = ["--model", "quadratic", "--noise", "0.1,0.2,0.4", "--alpha", "0.5,2"]
        grid = [*grid[:4], "--kappa", "1,2"] if name == "thresholds" else grid
        run("sweep", name, *grid, *options, "--workers", "1", "--plot", str(path))
        words = path.read_text(encoding="utf-8")
        # Letters are drawn as shapes; their text is in comments.
        assert "<!-- variance of the label noise -->" in words
        assert {"solve": "alpha 0.5", "simulate": "alpha 2", "thresholds": "kappa 1"}[name] in words
        assert {"solve": "test error", "simulate": "rank / d", "thresholds": "interpolation"}[name] in words

    @pytest.mark.parametrize("name", ["bayes", "ridgeless", "thresholds"])
    def test_other_functions(self, name):
        rows = from_json("sweep", name, "--model", "quadratic", "--noise", "0.1,0.2", "--workers", "1")["rows"]
        assert [row["noise"] for row in rows] == [0.1, 0.2]
        assert not any(row["outcome"].startswith("failed") for row in rows)

    def test_the_script_for_slurm_computes_the_sweep(self, tmp_path):
        script, store = tmp_path / "sweep.sh", tmp_path / "runs"
        options = ["--store", str(store), "--slurm-script", str(script), "--slurm", "2"]
        out = run("sweep", "solve", *self.GRID, *options, "--slurm-option=--partition=main").stdout
        text = script.read_text(encoding="utf-8")
        assert "#SBATCH --array=1-2" in text
        assert "#SBATCH --partition=main" in text
        assert f"sbatch {script}" in out
        (line,) = [line for line in text.splitlines() if "$SLURM_ARRAY_TASK_ID" in line]
        command = shlex.split(line.replace('"$SLURM_ARRAY_TASK_ID/2"', "1/1"))
        assert command[1:4] == ["-m", "presage", "sweep"]
        rows = from_json(*command[3:], "--workers", "1")["rows"]
        assert len(rows) == 4
        assert not any(row["outcome"] == "not computed yet" for row in rows)

    def test_the_script_for_slurm_has_every_option_and_no_idle_task(self, tmp_path):
        script = tmp_path / "sweep.sh"
        options = ["--store", str(tmp_path / "runs"), "--slurm-script", str(script), "--retry-failed", "--workers", "3"]
        out = run("sweep", "solve", *self.GRID, *options).stdout
        assert "4 tasks, one for each cell" in " ".join(out.split())
        text = script.read_text(encoding="utf-8")
        assert "#SBATCH --array=1-4" in text
        (line,) = [line for line in text.splitlines() if "$SLURM_ARRAY_TASK_ID/4" in line]
        assert "--workers 3" in line
        assert "--retry-failed" in line

    def test_slurm_jobs_are_a_dask_cluster(self, monkeypatch):
        import contextlib

        from presage.sweeps import slurm

        asked = {}

        @contextlib.contextmanager
        def cluster(**options):
            asked.update(options)
            yield "client"

        def sweep(problem, function, *, executor, **rest):
            asked["executor"] = executor
            raise InputError("store", "be there", "this is far enough", None, "Stop.")

        monkeypatch.setattr(slurm, "cluster", cluster)
        monkeypatch.setattr(ps, "sweep", sweep)
        run("sweep", "solve", *self.GRID, "--slurm", "5", "--slurm-option=--mem=4G", code=2)
        assert asked == {"jobs": 5, "options": ["--mem=4G"], "executor": "client"}
        run("sweep", "solve", *self.GRID, "--dask", "tcp://10.0.0.1:8786", code=2)
        assert asked["executor"] == "tcp://10.0.0.1:8786"

    def test_every_cell_failing_is_a_failure(self, monkeypatch):
        def fail(problem):
            raise ps.SolveError("It did not settle.", "Use a larger <weight_decay>.")

        monkeypatch.setattr(ps, "ridgeless", fail)
        result = run("sweep", "ridgeless", *self.GRID, "--workers", "1", code=1)
        assert "4 failed (It did not settle. Use a larger weight_decay)." in " ".join(result.stdout.split())
        assert "Every cell failed" in result.stderr
        assert "Use a larger weight_decay" in result.stderr
        rows = from_json("sweep", "ridgeless", *self.GRID, "--workers", "1", code=1)["rows"]
        assert {row["outcome"] for row in rows} == {"failed: It did not settle. Use a larger weight_decay."}

    def test_rows_are_read_a_variable_at_a_time(self, monkeypatch):
        """Taking the cells out of the table one by one takes longer than computing them."""
        import xarray as xr

        values = np.arange(6.0).reshape(2, 3)
        done = np.full((2, 3), "done", dtype=object)
        table: dict[str, Any] = {
            "loss": (("a", "b"), values),
            "outcome": (("a", "b"), done),
            "caveats": (("a", "b"), done),
        }
        table["eigenvalues"] = (("a", "b", "k"), np.zeros((2, 3, 4)))
        found = xr.Dataset({**table, "seconds": ("b", [1.0, 2.0, 3.0])}, coords={"a": [5, 6], "b": ["x", "y", "z"]})
        monkeypatch.delattr(xr.Dataset, "isel")
        gathered = sweep.rows_of(found)
        assert [(row["a"], row["b"], row["loss"], row["seconds"]) for row in gathered] == [
            (a, b, values[i, j], j + 1.0) for i, a in enumerate((5, 6)) for j, b in enumerate("xyz")
        ]
        assert "eigenvalues" not in gathered[0]


class TestFigure:
    @pytest.fixture
    def one_figure(self, monkeypatch, tmp_path):
        """A catalogue with one figure, whose shipped data are those of effort "full"."""
        import xarray as xr

        from presage.figures import catalogue
        from presage.figures.style import canvas

        def data(effort, sweep=None):
            value = {"full": 1.0, "quick": 1.5}[effort]
            table = {"loss": ("x", [value, 2.0]), "loss_bar": ("x", [0.01, 0.01]), "caveats": ("x", ["rough", ""])}
            return {"theory": xr.Dataset(table, coords={"x": [0.0, 1.0]})}

        def draw(parts):
            figure, axis = canvas()
            axis.plot(parts["theory"].x, parts["theory"].loss)
            return figure

        module = SimpleNamespace(
            TITLE="A line",
            SOURCE="BETKZ25",
            data=data,
            draw=draw,
            caption=lambda parts: "It shows a line.",
            details=lambda parts: "Of two points.",
        )
        shipped = tmp_path / "shipped.nc"
        catalogue.save(data("full"), shipped)
        monkeypatch.setattr(catalogue, "NAMES", ("line",))
        monkeypatch.setattr(catalogue, "figure", lambda name: module)
        monkeypatch.setattr(catalogue, "shipped", lambda name: shipped)
        return catalogue

    def test_the_list(self, one_figure):
        assert "A line" in run("figure", "--list").stdout

    def test_from_shipped_data(self, one_figure, tmp_path):
        out = run("figure", "line", "--out", str(tmp_path / "line.png")).stdout
        assert "It shows a line." in out
        assert "caveat: theory at x = 0: rough" in out
        assert "recomputed" not in out
        assert "Of two points." not in out
        assert "--details" in out
        picture(tmp_path / "line.png")

    def test_details_are_printed_when_they_are_asked_for(self, one_figure, tmp_path):
        for name, out in (("line", tmp_path / "line.png"), ("all", tmp_path / "all")):
            said = run("figure", name, "--details", "--out", str(out)).stdout
            assert said.index("It shows a line.") < said.index("Of two points.") < said.index("caveat:")
            assert "--details" not in said

    @pytest.mark.parametrize("more", [["line"], ["--details"], ["--quick"], ["--out", "x.png"]])
    def test_what_a_list_has_no_use_for_is_refused(self, one_figure, more):
        said = run("figure", "--list", *more, code=2).stderr
        assert "`--list` draws nothing" in said
        assert more[0].replace("line", "NAME") in said

    def test_recomputed_it_is_compared_with_the_shipped_data(self, one_figure, tmp_path):
        data = tmp_path / "numbers.nc"
        out = run("figure", "line", "--quick", "--out", str(tmp_path / "line.svg"), "--data", str(data)).stdout
        assert "loss differs at 1 of 2 points" in out
        assert float(one_figure.read(data)["theory"].loss[0]) == 1.5
        out = run("figure", "line", "--recompute", "--full", "--out", str(tmp_path / "line.pdf")).stdout
        assert "recomputed: theory: as shipped at every point" in out

    def test_all(self, one_figure, tmp_path):
        run("figure", "all", "--out", str(tmp_path / "all"))
        picture(tmp_path / "all" / "line.png")

    def test_the_list_has_every_name_and_title_in_80_columns(self):
        from presage.figures import catalogue

        lines = [line.rstrip() for line in run("figure", "--list").stdout.splitlines()]
        assert max(map(len, lines)) <= 80
        text = " ".join(" ".join(line.removeprefix(line.split(" ")[0]).split()) for line in lines)
        for name in catalogue.names():
            assert sum(line.startswith(f"{name} ") for line in lines) == 1
            module = catalogue.figure(name)
            assert " ".join(f"{module.TITLE} ({module.SOURCE})".split()) in text

    def test_numbers_are_kept_when_drawing_fails(self, one_figure, tmp_path, monkeypatch):
        def fail(parts):
            raise ArithmeticError("no ink")

        monkeypatch.setattr(one_figure.figure("line"), "draw", fail)
        data = tmp_path / "numbers.nc"
        run("figure", "line", "--quick", "--out", str(tmp_path / "line.png"), "--data", str(data), code=1)
        assert float(one_figure.read(data)["theory"].loss[0]) == 1.5

    def test_all_is_refused_before_anything_is_made(self, one_figure, tmp_path, monkeypatch):
        folder = tmp_path / "z.png"
        assert "Use for example --out figures." in run("figure", "all", "--out", str(folder), code=2).stderr
        assert not folder.exists()
        shipped = {"line": one_figure.shipped("line"), "other": tmp_path / "none.nc"}
        monkeypatch.setattr(one_figure, "NAMES", tuple(shipped))
        monkeypatch.setattr(one_figure, "shipped", shipped.__getitem__)
        message = run("figure", "all", "--out", str(tmp_path / "all"), code=2).stderr
        assert "no shipped data for other" in message
        assert not (tmp_path / "all").exists()

    def test_names_complete_in_the_shell(self):
        assert "attention-1" in figure.complete("att")
        assert models.complete("linear-a") == ["linear-attention"]


class TestLookingThingsUp:
    def test_where(self):
        cite = importlib.import_module("presage.cite")
        (first, *_) = known = cite.where("BETKZ25:43")
        found = from_json("where", "BETKZ25:43")["equations"]
        assert [entry["function"] for entry in found] == [entry.function for entry in known]
        out = run("where", "BETKZ25:43").stdout
        assert f"presage/{first.file}:{first.line}" in out
        assert all(test in out for entry in known for test in entry.tests)

    def test_an_equation_that_nobody_states(self):
        message = run("where", "BETKZ25:9999", code=2).stderr
        assert message.endswith("; BETKZ25 has all.\n")
        assert "Got BETKZ25:9999." in message

    def test_cite(self):
        cite = importlib.import_module("presage.cite")
        entry = cite.references()["BETKZ25"]
        assert run("cite", "BETKZ25", "--bibtex").stdout == f"{entry.bibtex()}\n"
        shown = run("cite", "BETKZ25").stdout
        assert shown.startswith("[BETKZ25]")
        assert entry.bibtex() in shown
        everything = run("cite").stdout
        assert all(f"[{key}]" in everything for key in ("presage", *cite.references()))
        assert cite.software().bibtex() in everything
        assert "`presage cite KEY` has the BibTeX of a paper" in everything
        assert from_json("cite", "etzk25")["references"][0]["key"] == "ETZK25"
        assert "Did you mean BETKZ25?" in run("cite", "BETKZ24", code=2).stderr


def test_demo_runs_the_demo(monkeypatch, tmp_path):
    from presage import demo

    called: list[Any] = []
    monkeypatch.setattr(demo, "main", called.append)
    run("demo", "--d", "20", "--out", str(tmp_path / "demo.png"))
    assert called == [["--d", "20", "--out", str(tmp_path / "demo.png")]]


MISTAKES = [
    (["solve", "--alpha", "0.1:1:3"], "Use `presage curve`"),
    (["solve", "--alpha", "x"], "A grid is FROM:TO:COUNT"),
    (["solve", "--alpha", ""], "must be a finite number"),
    (["solve", "--alpha", "nan"], "must be a finite number"),
    (["solve", "--alpha", "-1"], "Use for example --alpha 0.5."),
    (["solve", "--alpha", "1e-12"], "`--alpha` must be at least 1e-9"),
    (["solve", "--noise", "-1"], "`--noise` must be"),
    (["solve", "--weight-decay", "0"], "or `presage solve --ridgeless` for the vanishing limit"),
    (["solve", "--tokens", "1.5"], "`--tokens` must be a whole number"),
    (["solve", "--model", "quadratc"], "Did you mean --model quadratic?"),
    (["solve", "--model", "hardmax"], "Use `presage bayes`"),
    (["solve", "--model", "quadratic", "--beta", "2"], "`--beta` is no option of --model quadratic"),
    (["solve", "--pairs", "all"], "`--pairs` is no option of --model attention"),
    (["solve", "--model", "untied", "--pairs", "none"], "`--pairs` must be"),
    (["solve", "--target", ""], "Use for example --target mp:0.5."),
    (["solve", "--model", "untied", "--pairs", ""], "`--pairs` must be"),
    (["sweep", "simulate", "--alpha", "1,2", "--d", ""], "Use for example --d 50,100."),
    (["solve", "--target", "mp"], "Write mp:KAPPA_0, for example mp:0.5."),
    (["solve", "--target", "mp:-1"], "Write mp:KAPPA_0, for example mp:0.5."),
    (["solve", "--target", "mp:0.5,1"], "Write mp:KAPPA_0, for example mp:0.5."),
    (["solve", "--target", "power:1.25,2.5"], "Write power:GAMMA,D, for example power:1.25,400."),
    (["solve", "--target", "masses:1@0.5,2"], "some values have a weight and some have none"),
    (["solve", "--target", "masses:1@0.5,2@0.4"], "sum to one"),
    (["solve", "--target", "cauchy:1"], "Use for example --target mp:0.5."),
    (["solve", "--target", "none.npy"], "does not exist"),
    (["solve", "--target", "product:0.5"], "or --model bilinear"),
    (["solve", "--model", "bilinear", "--target", "mp:0.5"], "must be a law of singular values here"),
    (["solve", "--json", "--csv"], "Leave one of them out."),
    (["solve", "--ridgeless", "--optimal"], "Leave one out."),
    (["solve", "--alhpa", "1"], "--alpha"),
    (["solve", "--kappa-0", "0.5"], "--target mp:0.5"),
    (["sweep", "solve", "--alpha", "1,2", "--plot", "x.gif"], "must end in .png, .pdf or .svg"),
    (["sweep", "solve", "--alpha", "1:2:3", "--noise", "0:1:7", "--kappa", "1,2,3", "--plot", "x.png"], "Got 9"),
    (["sweep", "solve", "--alpha", "1,2", "--store", "s", "--part", "1/2", "--plot", "x.png"], "the whole table"),
    (["solve", "extra"], "`presage solve --help` lists what there is."),
    (["solv"], "Did you mean 'solve'"),
    (["--frobnicate"], "`presage --help` lists what there is."),
    (["curve"], "Use for example --alpha"),
    (["curve", "--alpha", "1,2", "--noise", "0,1"], "Use `presage sweep solve` for several."),
    (["curve", "--alpha", "0:1:3log"], "Leave out `log` for a linear grid."),
    (["curve", "--alpha", "0.1:1"], "A grid is FROM:TO:COUNT"),
    (["curve", "--alpha", "1:2:0"], "from 1 to"),
    (["curve", "--alpha", "0:1:3"], "`--alpha` must be a finite number > 0"),
    (["curve", "--alpha", "1,2", "--plot", "x.gif"], "must end in .png, .pdf or .svg"),
    (["curve", "--alpha", "1,2", "--plot", "no/such/folder/x.png"], "must be in a folder that exists"),
    (["curve", "--alpha", "1,2", "--show", "beauty"], "`--show` must name observables"),
    (["spectrum", "--model", "unfactorized", "--singular-values"], "trains S itself"),
    (["spectrum", "--points", "1"], "--points"),
    (["thresholds", "--model", "pair-comparison"], "as that of a linear or a softmax output does"),
    (["simulate", "--d", "1"], "`--d` must be a whole number >= 2"),
    (["simulate", "--d", "ten"], "--d"),
    (["simulate", "--d", "10", "--seeds", "0"], "Use for example --seeds 8, or --seeds 0,1,2."),
    (["solve", "--tokens", "2.5"], "for one token use --model quadratic."),
    (["sweep", "solve", "--alpha", "0.1,0.1"], "Got --alpha 0.1,0.1. Use for example --alpha 0.1,1.0,10.0."),
    (["sweep", "solve", "--alpha", "1,2", "--dask", "tcp://a:1", "--workers", "2"], "Leave it out."),
    (["sweep", "solve", "--alpha", "1,2", "--slurm", "2", "--workers", "2"], "--slurm-option=--cpus-per-task=4."),
    (
        ["sweep", "solve", "--alpha", "1,2", "--slurm-script", "x.sh", "--store", "runs", "--part", "1/2"],
        "Leave it out.",
    ),
    (["simulate", "--trainer", "sgd"], "`--trainer` must be one of amp"),
    (["simulate", "--task", "translation"], "`--task` must be"),
    (["simulate", "--d", "100000"], "`--d` must be such that"),
    (
        ["simulate", "--model", "bilinear", "--task", "sequence"],
        "`--task` is no option of `presage simulate` with --model bilinear",
    ),
    (["simulate", "--model", "bilinear", "--trainer", "amp"], "`--trainer` must be one of proximal, lbfgs, bayes-amp."),
    (["simulate", "--d", "10", "--seeds", "two"], "Use for example --seeds 8."),
    (["simulate", "--d", "10", "--seeds", "1,1"], "Got --seeds 1,1."),
    (["sweep", "simulate", "--alpha", "1,2", "--seeds", "0,1"], "Use for example --seeds 8."),
    (["sweep", "bayes", "--model", "bilinear", "--alpha", "1,2", "--task", "label"], "bayes trains no network"),
    (["solve", "--model", "bilinear", "--ridgeless"], "--model bilinear has no `presage solve --ridgeless`"),
    (["solve", "--model", "elastic", "--optimal"], "its penalty has two strengths"),
    (["sweep", "thresholds", "--model", "robust", "--noise", "0,1"], "--model robust has no `presage thresholds`"),
    (["simulate", "--model", "hardmax"], "its output has no slope"),
    (["solve", "--model", "untied", "--target", "product:0.5,2"], "or --model bilinear for a rectangular target."),
    (["solve", "--threshold", "1"], "which has --target, --alpha, --weight-decay, --noise, --tokens, --beta"),
    (["compare", "--d", "10,x"], "Use for example --d 50,100."),
    (["compare", "--d", "10,20", "--seeds", "1"], "Use for example --seeds 8."),
    (["sweep"], "RUN"),
    (["sweep", "guess", "--alpha", "1,2"], "RUN must be one of solve"),
    (["sweep", "solve"], "goes over grids"),
    (["sweep", "solve", "--alpha", "1,2", "--d", "50"], "Leave it out."),
    (["sweep", "solve", "--alpha", "1,2", "--part", "3/2"], "Use for example --part 3/10."),
    (["sweep", "solve", "--alpha", "1,2", "--workers", "0"], "`--workers` must be"),
    (["sweep", "solve", "--alpha", "1,2", "--store", __file__], "must be the name of a folder"),
    (["sweep", "solve", "--alpha", "1,2", "--dask", "tcp://a:1", "--slurm", "2"], "Leave one out."),
    (["sweep", "solve", "--alpha", "1,2", "--slurm-option", "--mem=1G"], "Add for example --slurm 10."),
    (["sweep", "solve", "--alpha", "1,2", "--slurm-script", "x.sh"], "Use for example --store runs."),
    (
        ["sweep", "solve", "--alpha", "1,2", "--store", "runs", "--slurm-script", "no/x.sh"],
        "`--slurm-script` must be in a folder that exists",
    ),
    (["sweep", "solve", "--alpha", "1,2", "--store", "runs", "--slurm-script", "."], "`--slurm-script` must be a file"),
    (["figure"], "`presage figure --list` has them."),
    (["figure", "attention-7"], "Did you mean attention-"),
    (["figure", "attention-1", "--quick", "--full"], "Leave one of them out."),
    (["figure", "attention-1", "--out", "x.jpg"], "must end in .png, .pdf or .svg"),
    (["where", "?"], "`KEY:NUMBER` must be a key of CITATION.cff"),
    (["where"], "KEY:NUMBER"),
    (["cite", "nobody"], "There are presage, BETKZ25"),
    (["demo", "--d", "3"], "--d"),
    (["demo", "--out", "x.txt"], "must end in .png, .pdf or .svg"),
]


@pytest.mark.parametrize(
    ("arguments", "remedy"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_mistake_gets_one_sentence_and_the_remedy(arguments, remedy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, code=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("presage: ")
    assert remedy in line
    assert "Traceback" not in line
    assert "fault of presage" not in line
    assert not re.search(r"weight_decay|n_tokens", line)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_array(tmp_path):
    for name, content in (("words.npy", b"hello"), ("empty.npy", b"")):
        (tmp_path / name).write_bytes(content)
        assert "is not one" in run("solve", "--target", str(tmp_path / name), code=2).stderr
    np.save(tmp_path / "skew.npy", np.arange(4.0).reshape(2, 2))
    assert "not symmetric" in run("solve", "--target", str(tmp_path / "skew.npy"), code=2).stderr
    np.save(tmp_path / "words.npy", np.array(["a"]))
    assert "must be real numbers" in run("solve", "--target", str(tmp_path / "words.npy"), code=2).stderr


def test_a_failed_computation_has_exit_code_1(monkeypatch):
    def fail(problem, **options):
        raise ps.SolveError("It did not settle.", "Use a larger <weight_decay>.")

    monkeypatch.setattr(ps, "solve", fail)
    line = run("solve", code=1).stderr
    assert line == "presage: The computation failed: It did not settle. Use a larger --weight-decay.\n"


def test_an_interruption_has_exit_code_130(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ps, "solve", interrupted)
    assert run("solve", code=130).stderr == "presage: Interrupted.\n"
    monkeypatch.setattr(ps, "simulate", interrupted)
    assert "presage sweep simulate --store" in run("simulate", code=130).stderr


def test_an_interrupted_sweep_says_how_to_go_on(monkeypatch, tmp_path):
    from presage.sweeps import cells as work

    calls: list[Any] = []
    records = work.Work.records

    def interrupted(self, chain):
        if calls:
            raise KeyboardInterrupt
        calls.append(chain)
        return records(self, chain)

    monkeypatch.setattr(work.Work, "records", interrupted)
    arguments = ["sweep", "bayes", "--model", "quadratic", "--alpha", "0.5,1,2", "--store", str(tmp_path / "runs")]
    message = run(*arguments, "--workers", "1", code=130).stderr
    assert "1 of 3 cells had ended" in message
    assert "goes on from there" in message
    monkeypatch.undo()
    assert "3 cells: 3 done." in run(*arguments, "--workers", "1").stdout


def test_a_fault_of_presage_is_told_apart_and_can_be_traced(monkeypatch):
    def broken(*arguments, **options):
        raise TypeError("what a mess")

    monkeypatch.setattr(ps, "solve", broken)
    line = run("solve", code=1).stderr
    assert "This is a fault of presage itself (TypeError: what a mess)" in line
    monkeypatch.setenv("PRESAGE_TRACEBACK", "1")
    result = CliRunner().invoke(app, ["solve"])
    assert isinstance(result.exception, TypeError)


NAMES = ["solve", "curve", "spectrum", "thresholds", "bayes", "scaling", "trajectory", "simulate", "compare", "sweep"]
NAMES += ["classify", "weights", "figure", "page", "where", "cite", "demo"]


EXAMPLES = {
    name: lines
    for module in (predictions, scaling, spectrum, training, trajectory, sweep, classify, weights, figure, page, lookup)
    for name, lines in module.EXAMPLES.items()
}


def commands() -> dict[str, Any]:
    return dict(PROGRAM.commands)


def _help(name: str) -> list[str]:
    return [line.strip() for line in run(name, "--help").stdout.splitlines()]


def test_every_command_is_there_with_an_example():
    assert list(commands()) == NAMES
    for name in commands():
        found = [line for line in _help(name) if line.startswith(f"presage {name}")]
        assert found == list(EXAMPLES[name]), "an example must fit one line of 80 columns"


def test_problem_options_have_one_wording_everywhere():
    """Commands that take a problem take the same options, described by the same words."""
    described: dict[str, set[str]] = {}
    for name in NAMES[: NAMES.index("sweep") + 1]:
        command = commands()[name]
        arguments = ["solve"] if name == "sweep" else []
        for param in command.get_params(command.make_context(name, arguments)):
            if "--alpha" in param.opts or "--target" in param.opts or "--kappa" in param.opts:
                described.setdefault(param.opts[0], set()).add(param.help)
    assert set(described) == {"--alpha", "--target", "--kappa"}
    assert all(len(texts) == 1 for texts in described.values())


def test_the_help_has_every_model_and_what_each_declares():
    """Without --model the options of all, with it those of one."""
    everything = "".join(run("solve", "--help").stdout.replace("│", " ").split())
    for model in every_model():
        for problem in model.named:
            assert problem.name in everything
            alone = "".join(run("solve", "--model", problem.name, "--help").stdout.replace("│", " ").split())
            fields = {option(name) for name in problem.fields}
            others = {option(name) for other in every_model() for named in other.named for name in named.fields}
            assert all(name in everything and name in alone for name in fields)
            assert not [name for name in others - fields if f"{name}NUMBER" in alone or f"{name}WHICH" in alone]
            for field in problem.fields.values():
                assert "".join(field.words[1:].split()) in alone


@pytest.mark.parametrize("named", [named for model in every_model() for named in model.named], ids=lambda one: one.name)
def test_what_is_left_out_of_a_command_is_what_python_takes(named):
    """The help imports no function, so that both read the declaration: a default that differs would be two problems."""
    begin = {name: problem_options.begins(models.choose(named.name), name) for name in named.fields}
    python = inspect.signature(found(named.make)).parameters
    for name, field in named.fields.items():
        default = python[name].default
        assert getattr(field, "default", None) == (None if default is inspect.Parameter.empty else default)
        if default not in (None, inspect.Parameter.empty):
            assert begin[name] is not None
            assert type(default)(begin[name]) == default
        elif default is None and getattr(field, "example", None) is None:
            assert begin[name] is None
    given = options.Given(models.choose(named.name), {}).problem()
    required = {name for name, parameter in python.items() if parameter.default in (None, inspect.Parameter.empty)}
    examples = {name: getattr(field, "example", None) for name, field in named.fields.items() if name in required}
    written = {**examples, **{name: value for name, value in named.begin.items() if name in required}}
    parts = [name for name, field in named.fields.items() if isinstance(field, ps.Part) and name in required]
    assert given == found(named.make)(**{**written, **{name: eval(f"ps.{examples[name]}") for name in parts}})


def test_parts_of_problems_have_the_defaults_that_are_declared():
    kinds = (ps.Softmax, ps.Linear, ps.Huber, ps.PairComparison, ps.BilinearProblem, ps.DiagonalProblem, ps.Problem)
    for kind in kinds:
        for field in dataclasses.fields(kind):
            declared = field.metadata["presage"]
            default = None if field.default is dataclasses.MISSING else field.default
            assert getattr(declared, "default", None) == default, (kind, field.name)


def test_networks_are_as_many_as_in_python():
    for model in every_model():
        python = inspect.signature(found(model.verbs["simulate"])).parameters
        for command in (training.simulate, training.compare):
            assert int(inspect.signature(command).parameters["seeds"].default) == python["seeds"].default


def test_models_declare_what_their_answers_show():
    for model in every_model():
        for verb, observables in model.observables.items():
            kind = typing.get_type_hints(model.answer(verb))["return"]
            assert getattr(kind, "observables", observables) == observables, (model.name, verb)
        assert typing.get_type_hints(model.answer("simulate"))["return"].observables == model.measured
        for place in model.trainers.values():
            assert issubclass(found(place), Trainer)


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_help_are_commands(name, tmp_path, monkeypatch):
    """Every example is parsed; those that take no more than a moment run."""
    monkeypatch.chdir(tmp_path)
    for example in (line for line in _help(name) if line.startswith("presage ")):
        _, command, *arguments = shlex.split(example)
        commands()[command].make_context(command, list(arguments))
        slow = {"demo", "figure", "compare", "page"}  # a page runs until Ctrl-C
        of_a_file = command == "weights" and "--families" not in arguments  # which is the user's own
        if command not in slow and not of_a_file and "--store" not in arguments and "--plot" not in arguments:
            run(command, *arguments)


def loaded_by(*arguments):
    """What a command has imported by its end, in a process of its own."""
    code = (
        "import sys\n"
        "from presage.cli import main\n"
        "sys.argv = ['presage', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *sys.modules)\n"
    )
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_help_is_quick_because_it_imports_nothing():
    for arguments in (["--help"], ["solve", "--help"], ["solve", "--alpha", "oops"], ["curve"]):
        loaded = loaded_by(*arguments)
        assert "typer" in loaded
        assert not {"numba", "scipy", "matplotlib", "xarray", "numpy"} & loaded, arguments


def test_a_prediction_is_quick_because_compiled_code_and_text_need_little():
    """No compiler's library, no BLAS of SciPy, no table of xarray, and no pydantic to read what nobody wrote."""
    arguments = ("solve", "--alpha", "0.5", "--json")
    loaded_by(*arguments)  # compiles what is not on disk
    loaded = loaded_by(*arguments)
    assert "numba" in loaded
    slow = {"numba.np.linalg", "numba.np.arraymath", "scipy.linalg", "pydantic", "matplotlib", "pandas", "xarray"}
    assert not slow & loaded


def test_what_is_written_is_read_by_typer_and_what_is_not_is_none(monkeypatch):
    """Both ways give the same parameters, also of flags, of numbers and of options with a callback."""

    def parameters(*words):
        program: Any = get_command(app)  # its options are made anew
        command = program.commands["simulate"]
        with command.make_context("simulate", list(words)) as context:
            return dict(context.params)

    lines = [(), ("--d", "30", "--seeds", "2"), ("--workers", "1", "--json")]
    spared = [parameters(*words) for words in lines]
    monkeypatch.setattr(options, "sparing", lambda params: params)
    assert spared == [parameters(*words) for words in lines]
    assert spared[1]["d"] != spared[0]["d"]


@pytest.mark.parametrize("words", [("cite", "--bibtex"), ("--help",), ("solve", "--help"), ("figure", "--list")])
def test_it_runs_as_a_module_and_into_a_closed_pipe(words):
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-m", "presage", *words]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, env=environment, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 141  # as a program that SIGPIPE ends: no failure of the computation
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) > 10


def test_a_terminal_without_the_signs_shows_what_it_can():
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "presage", "thresholds", "--model", "bilinear", "--target", "½"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Got --target '?'" in done.stderr
    command = [sys.executable, "-m", "presage", "solve", "--model", "bilinear"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "test_error" in done.stdout


def test_nothing_asked_for_is_help():
    result = run()
    assert "Usage: presage" in result.stdout
    assert result.stderr == ""
    assert run("--version").stdout == f"presage {ps.__version__}\n"


def test_completion_knows_models_and_figures():
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    for words, expected in (("presage solve --model li", "linear-attention"), ("presage figure bay", "bayes-amp")):
        environment = {
            **os.environ,
            "PYTHONPATH": paths,
            "_PRESAGE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        done = subprocess.run(
            [sys.executable, "-m", "presage"], env=environment, capture_output=True, text=True, check=False
        )
        assert expected in done.stdout.split()


def test_grids():
    assert grid("--alpha", "0:1:5") == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert grid("--alpha", "0.01:100:5log") == pytest.approx([0.01, 0.1, 1.0, 10.0, 100.0])
    assert grid("--alpha", "0.05:40:60log") == list(np.geomspace(0.05, 40, 60))
    assert grid("--alpha", "0.1,0.5,2") == [0.1, 0.5, 2.0]
    assert grid("--alpha", "2:1:3") == [2.0, 1.5, 1.0]
    for text in ("1:2", "1:2:3:4", "1:2:x", "1:2:3.5", "a:b:3", "1,,2", "1,2:3:4", "1_0", "inf:1:2", "1:2:3lin"):
        with pytest.raises(CommandError, match="A grid is"):
            grid("--alpha", text)


OPTIONS: dict[str, Any] = dict.fromkeys(
    ("alpha", "weight_decay", "n_tokens", "beta_0", "seeds", "store", "task", "processes", "part", "d")
)
OPTIONS |= {"trainer": "amp", "target": "mp:0.5"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Use a larger <weight_decay>, or 0.0.", "Use a larger --weight-decay, or 0.0."),
        ("Use <n_tokens=2> or <beta_0=1.0>.", "Use --tokens 2 or --beta-0 1.0."),
        ("Use for example <trainer=LBFGS()>.", "Use for example --trainer lbfgs."),
        ("Use for example <target=GaussianProduct(0.5)>.", "Use for example --target product:0.5."),
        ("Use <target=PowerLaw(1.25, 400)>.", "Use --target power:1.25,400."),
        ("Use for example <alpha=[0.1, 1.0]>.", "Use for example --alpha 0.1,1.0."),
        ("Use for example <part=(3, 10)>.", "Use for example --part 3/10."),
        ('Use <task="label">, <store="runs">.', "Use --task label, --store runs."),
        ("use fewer <processes>", "use fewer --workers"),
        ("or <ridgeless()> for it, or <bayes_optimal()>", "or `presage solve --ridgeless` for it, or `presage bayes`"),
        ("for one token use <quadratic_network>.", "for one token use --model quadratic."),
        ("alpha d^2 is the number of samples", "alpha d^2 is the number of samples"),
        ("the channel is Softmax(n_tokens=2, beta=1.0)", "the channel is Softmax(n_tokens=2, beta=1.0)"),
        ('Use <dtype="float64">.', 'Use dtype="float64".'),  # no option of a command
        ("Use <bayes_curve()>.", "Use bayes_curve(problem)."),
    ],
)
def test_messages_speak_of_options(text, words):
    with told(OPTIONS):
        assert in_options(SolveError("It failed.", text)) == f"It failed. {words}"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("alpha", -1.0, "`--alpha` must be so: why. Got --alpha -1. Use --alpha 0.5."),
        ("alpha", [0.1, 0.1], "`--alpha` must be so: why. Got --alpha 0.1,0.1. Use --alpha 0.5."),
        ("n_tokens", 1.5, "`--tokens` must be so: why. Got --tokens 1.5. Use --alpha 0.5."),
        ("task", "", "`--task` must be so: why. Got --task ''. Use --alpha 0.5."),
        ("part", (1, 2), "`--part` must be so: why. Got --part 1/2. Use --alpha 0.5."),
        ("target", object(), "`--target` must be so: why. Got --target mp:0.5. Use --alpha 0.5."),
        ("ensembles", "1 at d = 8", "`ensembles` must be so: why. Got ensembles='1 at d = 8'. Use --alpha 0.5."),
    ],
)
def test_bad_input_is_told_by_its_option(name, value, words):
    with told(OPTIONS):
        assert in_options(InputError(name, "be so", "why", value, "Use <alpha=0.5>.")) == words


def test_messages_are_reworded_by_data():
    """No regular expression looks into a sentence: arguments and verbs are marked where they are written."""
    source = Path(errors.__file__).read_text(encoding="utf-8")
    assert not re.search(r"^\s*(import re\b|from re\b)", source, re.MULTILINE)


@pytest.mark.parametrize(
    "named",
    [
        pytest.param(named, id=named.name, marks=pytest.mark.slow if named.name == "softmax-lora" else ())
        for model in every_model()
        for named in model.named
    ],
)
def test_every_model_has_an_answer_with_nothing_written(named):
    """What a view begins with is a problem, its target too."""
    answer = CliRunner().invoke(app, ["bayes" if "solve" in named.lacks else "solve", "--model", named.name, "--json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["problem"]["model"] == named.name
