"""Ensembles of trained networks: the same numbers however they are run, and nothing lost or left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from presage import (
    AMP,
    LBFGS,
    Adam,
    Embeddings,
    Empirical,
    Gaussian,
    MarchenkoPastur,
    Networks,
    PowerLaw,
    ProximalGradient,
    Rademacher,
    Trainer,
    TrainError,
    TrainInterrupted,
    attention,
    quadratic_network,
    simulate,
    unfactorized_attention,
)
from presage.models.attention.experiment.data import sample, sample_target, stream
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.setting import NetworkSetting
from presage.protocol.ensemble import _workers

ROOT = Path(__file__).resolve().parents[4]
TARGET = MarchenkoPastur(0.5)
NETWORK = quadratic_network(TARGET, alpha=0.5, weight_decay=0.1, noise=0.2)
ATTENTION = attention(TARGET, alpha=0.6, weight_decay=0.02, noise=0.5)
OBSERVABLES = tuple(observable.name for observable in Networks.observables)
ARRAYS = (*OBSERVABLES, "m", "q", "eigenvalues", "residual", "gap", "converged", "evaluations")


def untyped(value: object) -> Any:
    """The value, as something that the type checker lets through."""
    return value


def small(problem=NETWORK, **options) -> Networks:
    usual: dict[str, Any] = {"d": 10, "seeds": 2, "n_test": 200, "processes": 1, "trainer": LBFGS()}
    return simulate(problem, **(usual | options))


def same(one: Networks, other: Networks, names=ARRAYS) -> None:
    assert (one.seeds, one.failures, one.notes) == (other.seeds, other.failures, other.notes)
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


# --- what a run measures


@pytest.mark.parametrize("task", ["label", "sequence"])
def test_observables_are_those_of_the_definition(task):
    """Target, data and start drawn again from the streams of the seed; formulas written out."""
    d, n_test, seed = 8, 5000, 3  # more test samples than one block of the stream holds
    ensemble = small(ATTENTION, d=d, seeds=[seed], n_test=n_test, task=task)
    streams = np.random.SeedSequence([seed, d]).spawn(4)
    for_target, for_data, for_trainer, for_test = (np.random.default_rng(child) for child in streams)
    channel, options = ATTENTION.channel, {"tokens": Gaussian(), "noise": 0.5, "task": untyped(task)}
    S_0 = sample_target(TARGET, d, for_target)
    samples = sample(S_0, channel, 38, for_data, **options)  # round(0.6 * 64)
    fit = LBFGS().fit(Objective(samples, channel, ATTENTION.penalty, d), for_trainer)
    S = fit.S

    def loss(drawn):
        X = drawn.tokens.reshape(drawn.n, 2, d)
        R = (np.einsum("nai,ij,nbj->nab", X, S, X) - np.eye(2) * np.trace(S)) / sqrt(d)
        s = np.exp(R) / np.exp(R).sum(axis=-1, keepdims=True)
        if task == "label":
            return np.sum((drawn.labels - s) ** 2)
        return np.sum(((drawn.labels - s) @ X) ** 2) / d

    test = [*stream(S_0, channel, n_test, for_test, **options)]
    assert [block.n for block in test] == [4096, 904]
    eigenvalues = np.linalg.eigvalsh(S)
    expected = {
        "test_error": sum(loss(block) for block in test) / n_test,
        "train_error": loss(samples) / 38,
        "train_loss": (loss(samples) + d * 0.02 * np.trace(S)) / d**2,
        "estimation_error": np.sum((S - S_0) ** 2) / d,
        "m": np.trace(S @ S_0) / d,
        "q": np.sum(eigenvalues**2) / d,
        "rank": fit.certificate.rank,
        "residual": fit.certificate.residual,
        "gap": fit.certificate.gap,
        "converged": fit.converged,
        "evaluations": fit.evaluations,
    }
    for name, value in expected.items():
        assert getattr(ensemble, name)[0] == pytest.approx(value, rel=1e-11), name
    np.testing.assert_allclose(ensemble.eigenvalues[0], eigenvalues, rtol=0, atol=1e-14)
    assert ensemble.eigenvalues.shape == (1, d)
    assert (ensemble.d, ensemble.seeds, ensemble.problem, ensemble.task) == (d, (seed,), ATTENTION, task)
    assert ensemble.trainer == LBFGS()
    assert ensemble.seconds[0] > 0


def test_the_width_and_the_number_of_samples_follow_from_kappa_and_alpha():
    narrow = small(ATTENTION.replace(kappa=0.3), seeds=1)
    assert np.count_nonzero(narrow.eigenvalues[0] > 1e-9) <= 3
    assert narrow.rank[0] <= 0.3
    assert np.count_nonzero(small(ATTENTION, seeds=1).eigenvalues[0] > 1e-9) > 3  # negative control


def test_more_test_samples_change_the_test_error_alone():
    few, many = small(n_test=50), small(n_test=60)
    same(few, many, [name for name in ARRAYS if name != "test_error"])
    assert (few.test_error != many.test_error).all()


@pytest.mark.parametrize("trainer", [AMP(), ProximalGradient(), Adam()], ids=lambda trainer: type(trainer).__name__)
def test_every_trainer_sees_the_data_of_the_seed(trainer):
    """The loss of a convex problem has one minimum: 1e-4 is ten times what Adam's tolerance of 1e-3 leaves."""
    np.testing.assert_allclose(small(trainer=trainer).train_loss, small().train_loss, rtol=1e-4)
    assert abs(small().train_loss[0] / small().train_loss[1] - 1) > 1e-3  # negative control: seeds differ


@pytest.mark.parametrize(
    "options",
    [{"tokens": Rademacher()}, {"task": "sequence"}, {"centring": "mean"}, {"dtype": "float32"}],
    ids=str,
)
def test_options_of_the_data_are_heard(options):
    plain, changed = small(ATTENTION), small(ATTENTION, **options)
    assert (changed.test_error != plain.test_error).all()
    assert (np.abs(changed.test_error / plain.test_error - 1) < 0.9).all()  # and it is the same problem still


def test_embeddings_can_be_trained_on():
    vectors = np.random.default_rng(0).laplace(size=(500, 12)) @ np.diag(np.arange(1.0, 13.0))
    ensemble = small(ATTENTION, tokens=Embeddings(vectors), processes=2)
    same(ensemble, small(ATTENTION, tokens=Embeddings(vectors)))
    with pytest.raises(ValueError, match=r"`d` must be at most 12: the embeddings have 12 dimensions"):
        small(ATTENTION, tokens=Embeddings(vectors), d=13)


# --- the same numbers


def test_processes_do_not_change_a_bit():
    same(small(ATTENTION, seeds=3, processes=1), small(ATTENTION, seeds=3, processes=2))


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    ensembles = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("presage.protocol.ensemble.available_cores", lambda cores=cores: cores)
        ensembles.append(small(ATTENTION))
    same(ensembles[0], ensembles[1])
    same(ensembles[0], ensembles[2])


def test_seeds_are_given_back_in_the_order_asked():
    backwards, forwards, many = small(seeds=[5, 3]), small(seeds=(3, 5)), small(seeds=np.arange(6))
    assert (backwards.seeds, forwards.seeds, many.seeds) == ((5, 3), (3, 5), tuple(range(6)))
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(backwards, name)[::-1], getattr(forwards, name))
        np.testing.assert_array_equal(getattr(backwards, name), getattr(many, name)[[5, 3]])
    assert small(seeds=range(2, 4)).seeds == (2, 3)
    assert len(np.unique(many.test_error)) == 6  # no two seeds share their random numbers


def test_dimensions_do_not_share_random_numbers():
    target = PowerLaw(1.0, 4)
    one, other = (small(NETWORK.replace(target=target, alpha=2.0), d=d, seeds=1) for d in (4, 5))
    assert one.test_error[0] != other.test_error[0]


def test_tokens_on_disk_give_the_same_numbers_and_leave_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    same(small(storage="disk"), small())
    assert list(tmp_path.glob("presage-tokens-*")) == []


def test_a_progress_bar_changes_nothing_and_writes_to_standard_error(capsys):
    quiet = small()
    assert capsys.readouterr() == ("", "")
    same(small(progress=True), quiet)
    assert capsys.readouterr().out == ""


# --- ensembles


def test_mean_and_standard_error_are_those_of_the_seeds():
    ensemble = small(seeds=4)
    values = ensemble.test_error
    assert ensemble.mean("test_error") == pytest.approx(sum(values) / 4, rel=1e-15)
    spread = sqrt(sum((value - values.mean()) ** 2 for value in values) / 3)
    assert ensemble.standard_error("test_error") == pytest.approx(spread / 2, rel=1e-14)
    assert np.isnan(small(seeds=1).standard_error("test_error"))


def test_an_ensemble_is_read_in_a_few_lines():
    ensemble = small(seeds=3)
    lines = str(ensemble).splitlines()
    assert lines[0] == f"3 networks of d = 10, trained by {LBFGS()}"
    assert lines[1] == "task label, tokens Gaussian, centring by the trace, precision float64"
    assert [line.split()[0] for line in lines[2:]] == list(OBSERVABLES)
    for line, name in zip(lines[2:], OBSERVABLES, strict=True):
        assert f"{ensemble.mean(name):.6g} +- {ensemble.standard_error(name):.1e}" in line
    short = small(trainer=LBFGS(steps=3))
    assert str(short).count("caveat: seed") == 2
    assert "caveat: seed 1: L-BFGS stopped after 3 steps" in str(short)
    assert not short.converged.any()


def test_singular_values_are_roots_of_the_eigenvalues_and_only_a_factor_has_them():
    ensemble = small()
    np.testing.assert_allclose(ensemble.singular_values**2, np.maximum(ensemble.eigenvalues, 0), atol=1e-15)
    assert (np.diff(ensemble.singular_values, axis=1) >= 0).all()
    ridge = small(unfactorized_attention(TARGET, alpha=0.5, ridge=0.1, noise=0.1))
    assert (ridge.eigenvalues < 0).any()
    with pytest.raises(AttributeError, match=r"`singular_values` are those of a factor W.*Use `eigenvalues`"):
        _ = ridge.singular_values


# --- failures


@dataclass(frozen=True)
class Sometimes(Trainer):
    """L-BFGS that gives up on a network whose first label is above `most`."""

    most: float
    error: type[BaseException] = TrainError

    def fit(self, objective, rng):
        if objective.samples.labels[0, 0, 0] > self.most:
            raise self.error("It gave up.", "Try again.") if self.error is TrainError else self.error("no")
        return LBFGS().fit(objective, rng)


class Counting(Trainer):
    """L-BFGS, and Ctrl-C before the network of a given number."""

    def __init__(self, stop: int) -> None:
        self.left = stop

    def fit(self, objective, rng):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return LBFGS().fit(objective, rng)


def first_labels(seeds):
    drawn = []
    for seed in seeds:
        target, data, *_ = (np.random.default_rng(child) for child in np.random.SeedSequence([seed, 10]).spawn(4))
        samples = sample(sample_target(TARGET, 10, target), NETWORK.channel, 50, data, tokens=Gaussian(), noise=0.2)
        drawn.append(samples.labels[0, 0, 0])
    return np.array(drawn)


@pytest.mark.parametrize("error", [TrainError, np.linalg.LinAlgError, MemoryError])
def test_a_seed_that_fails_is_reported_and_not_dropped(error):
    labels = first_labels(range(5))
    cut = float(np.sort(labels)[2:4].mean())  # two of five fail
    ensemble = small(seeds=5, trainer=Sometimes(cut, error))
    failed = labels > cut
    assert failed.sum() == 2
    assert ensemble.seeds == (0, 1, 2, 3, 4)
    assert set(ensemble.failures) == set(np.flatnonzero(failed))
    np.testing.assert_array_equal(np.isnan(ensemble.test_error), failed)
    np.testing.assert_array_equal(np.isnan(ensemble.eigenvalues).all(axis=1), failed)
    np.testing.assert_array_equal(ensemble.converged, ~failed)
    whole = small(seeds=5)
    for name in (*OBSERVABLES, "eigenvalues"):
        np.testing.assert_array_equal(ensemble.values(name), getattr(whole, name)[~failed])
    assert ensemble.mean("test_error") == pytest.approx(whole.test_error[~failed].mean(), rel=1e-15)
    expected = whole.test_error[~failed].std(ddof=1) / sqrt(3)
    assert ensemble.standard_error("test_error") == pytest.approx(expected, rel=1e-14)
    reason = "It gave up. Try again." if error is TrainError else "no"
    for seed in np.flatnonzero(failed):
        assert f"caveat: seed {seed} failed: {reason}" in str(ensemble)
    assert str(ensemble).startswith("3 networks of d = 10")


def test_when_every_seed_fails_it_is_an_error_that_says_why():
    with pytest.raises(TrainError, match=r"None of the 3 networks could be trained; seed 0: It gave up") as failure:
        small(seeds=3, trainer=Sometimes(-np.inf))
    partial = failure.value.partial
    assert isinstance(partial, Networks)
    assert set(partial.failures) == {0, 1, 2}
    assert np.isnan(partial.test_error).all()
    assert "caveat: seed 2 failed: It gave up. Try again." in str(partial)


def test_memory_that_runs_out_without_a_word_has_a_reason():
    with pytest.raises(TrainError) as failure:
        small(seeds=1, trainer=Speechless())
    assert failure.value.partial.failures == {0: "the machine has not enough memory"}


class Speechless(Trainer):
    def fit(self, objective, rng):
        raise MemoryError


def test_an_error_of_the_program_is_not_taken_for_a_failed_seed():
    with pytest.raises(ZeroDivisionError):
        small(trainer=Sometimes(-np.inf, ZeroDivisionError))


def test_a_softmax_is_refused_by_a_convex_trainer_before_it_fails_every_seed():
    with pytest.raises(ValueError, match=r"`trainer` must be LBFGS, Adam or AMP for this channel"):
        small(ATTENTION, trainer=ProximalGradient())


# --- Ctrl-C


def test_an_interrupt_keeps_the_seeds_that_had_ended():
    with pytest.raises(TrainInterrupted, match=r"interrupted after 1 of 3 seeds") as stop:
        small(seeds=[4, 7, 2], trainer=Counting(1))
    partial = stop.value.partial
    assert isinstance(stop.value, KeyboardInterrupt)
    assert partial is not None
    assert partial.seeds == (4, 7, 2)
    assert set(partial.failures) == {7, 2}
    assert "not run" in partial.failures[7]
    np.testing.assert_array_equal(partial.values("test_error"), small(seeds=[4]).test_error)
    assert "1 networks of d = 10" in str(partial)


def test_an_interrupt_before_the_first_seed_has_no_partial():
    with pytest.raises(TrainInterrupted, match=r"interrupted after 0 of 3 seeds") as stop:
        small(seeds=3, trainer=Counting(0))
    assert stop.value.partial is None


def environment(folder: Path) -> dict[str, str]:
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"}


LONG = """
from dataclasses import dataclass
from os import getpid
from pathlib import Path
from presage import Adam, MarchenkoPastur, Trainer, quadratic_network, simulate

@dataclass(frozen=True)
class Forever(Trainer):
    def fit(self, objective, rng):
        Path({marks!r}, str(getpid())).touch()
        return Adam(tol=1e-300, steps=10**9).fit(objective, rng)

problem = quadratic_network(MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1)
simulate(problem, d=20, seeds=4, trainer=Forever(), storage="disk", processes={processes})
"""


def wait_for(condition, seconds=60.0) -> bool:
    """Whether `condition` comes true in time; long enough for a machine that is busy with other things."""
    for _ in range(int(seconds / 0.05)):
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


@pytest.mark.skipif(sys.platform == "win32", reason="no signals there")
@pytest.mark.parametrize(
    ("processes", "sent_to"), [(1, "the process"), (2, "the process"), (2, "its group, as a terminal does")]
)
def test_ctrl_c_ends_it_in_words_and_leaves_nothing_behind(tmp_path, processes, sent_to):
    script = tmp_path / "long.py"
    folder, marks = tmp_path / "temporary", tmp_path / "marks"
    folder.mkdir()
    marks.mkdir()
    # Where the tests run in the background of a shell, Ctrl-C is ignored, and a new process would inherit that.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script.write_text(heard + LONG.format(processes=processes, marks=str(marks)), encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, str(script)],
        env=environment(folder),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children: list[psutil.Process] = []
    try:
        began = wait_for(lambda: len([*marks.iterdir()]) == processes or running.poll() is not None)
        assert began
        assert running.poll() is None
        time.sleep(0.5)  # the training itself
        children = psutil.Process(running.pid).children(recursive=True)
        assert len(children) >= (2 if processes == 2 else 0)
        if sent_to == "the process":
            os.kill(running.pid, signal.SIGINT)
        else:
            os.killpg(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=60)
        assert running.returncode != 0
        assert "TrainInterrupted: simulate was interrupted after 0 of 4 seeds" in said
        assert wait_for(lambda: not any(child.is_running() for child in children), 20.0)
        assert [*folder.glob("presage-tokens-*")] == []
    finally:
        if running.poll() is None:  # it did not begin or did not end: its workers outlive it and hold the pipe open
            children = psutil.Process(running.pid).children(recursive=True)
            running.kill()
        for process in children:
            if process.is_running():
                process.kill()
        running.communicate()


UNGUARDED = """
from dataclasses import dataclass
from presage import LBFGS, MarchenkoPastur, Trainer, quadratic_network, simulate

@dataclass(frozen=True)
class Own(Trainer):
    def fit(self, objective, rng):
        return LBFGS().fit(objective, rng)

print("once")
problem = quadratic_network(MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, noise=0.2)
ensemble = simulate(problem, d=10, seeds=3, n_test=200, processes=2, trainer=Own())
print(*(value.hex() for value in ensemble.test_error.tolist()))
"""


def test_a_script_needs_no_guard_for_its_main_and_can_bring_its_own_trainer(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, str(script)], env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    first, numbers = ran.stdout.splitlines()
    assert first == "once"
    assert [float.fromhex(number) for number in numbers.split()] == small(seeds=3).test_error.tolist()


KILLED = """
import os, time
from presage import MarchenkoPastur, Trainer, TrainError, quadratic_network, simulate

class Dies(Trainer):
    def fit(self, objective, rng):
        os._exit(9)

problem = quadratic_network(MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1)
try:
    simulate(problem, d=10, seeds=3, processes=2, trainer=Dies())
except TrainError as error:
    print(error)
    print(sorted(error.partial.failures))
"""


def test_a_worker_that_is_killed_is_a_failure_with_a_reason(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(KILLED, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, str(script)], env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "its process was killed, most often for lack of memory: train fewer networks at a time" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "[0, 1, 2]"


# --- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d": 0}, r"`d` must be a whole number >= 2: it is the dimension of a token\. Got d=0"),
        ({"d": 1}, r"`d` must be a whole number >= 2"),
        ({"d": "x"}, r"`d` must be a finite number.*Got d='x'"),
        ({"d": 10.5}, r"`d` must be a whole number >= 2"),
        ({"seeds": 0}, r"`seeds` must be a whole number >= 1.*Got seeds=0"),
        ({"seeds": -3}, r"`seeds` must be a whole number >= 1"),
        ({"seeds": []}, r"`seeds` must be different numbers, at least one"),
        ({"seeds": [1, 2, 1]}, r"`seeds` must be different numbers, at least one.*Got seeds=\[1, 2, 1\]"),
        ({"seeds": [1, -2]}, r"`seeds` must be a whole number >= 0"),
        ({"seeds": [1, 2.5]}, r"`seeds` must be a whole number >= 0"),
        ({"seeds": "12"}, r"`seeds` must be a finite number"),
        ({"seeds": None}, r"`seeds` must be a finite number"),
        ({"task": "foo"}, r"`task` must be \"label\" or \"sequence\": there is no other\. Got task='foo'"),
        ({"dtype": "float16"}, r"`dtype` must be \"float64\" or \"float32\""),
        ({"storage": "ram"}, r"`storage` must be \"memory\" or \"disk\""),
        ({"centring": None}, r"`centring` must be \"trace\" or \"mean\""),
        ({"n_test": 0}, r"`n_test` must be a whole number >= 1"),
        ({"processes": 0}, r"`processes` must be a whole number >= 1"),
        ({"processes": 1.5}, r"`processes` must be a whole number >= 1"),
        ({"trainer": "adam"}, r"`trainer` must be a Trainer: it learns from the samples\. Got trainer='adam'"),
        ({"trainer": LBFGS}, r"`trainer` must be a Trainer"),
        ({"tokens": "gaussian"}, r"`tokens` must be a Tokens: it draws the data"),
        ({"problem": TARGET}, r"`problem` must be a LearningProblem"),
        (
            {"problem": NETWORK.replace(alpha=0.004)},
            r"`alpha` must be above 0\.005 at d = 10: alpha times 100 is the number of samples.*Got alpha=0\.004",
        ),
    ],
    ids=str,
)
def test_bad_input_is_refused_in_words(change, message):
    with pytest.raises(ValueError, match=message):
        small(**({"problem": NETWORK} | change))


def test_a_network_that_does_not_fit_into_memory_is_refused_before_it_is_drawn(monkeypatch):
    with pytest.raises(ValueError, match=r"`d` must be such that one network needs less.*1250000000 samples.*float32"):
        simulate(NETWORK, d=50_000)
    monkeypatch.setattr("presage.protocol.ensemble.available_memory", lambda: 1e5)
    with pytest.raises(ValueError, match=r"less than the 0\.0001 GB of memory that are free.*Got d=30"):
        small(d=30)


def test_memory_for_one_network_trains_one_at_a_time(monkeypatch):
    setting = NetworkSetting(NETWORK, 10, LBFGS(), "label", Gaussian(), "trace", 200, "float64", "memory")
    for networks, workers in ((1.5, 1), (2.5, 2), (9.0, 3)):
        monkeypatch.setattr("presage.protocol.ensemble.available_memory", lambda room=networks: room * setting.memory)
        assert _workers(setting, 4, 3) == workers
    assert _workers(setting, 2, 3) == 2  # no more than there are seeds


def test_a_disk_without_room_is_refused(monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 100})())
    small()  # memory needs no disk
    with pytest.raises(ValueError, match=r"`storage` must be a disk with room for the tokens.*Free some space"):
        small(storage="disk")


def forked(answer) -> None:
    answer.put(small(d=40, trainer=AMP()).test_error.tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_trains_as_its_parent_did(monkeypatch):
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    monkeypatch.setattr("presage.protocol.ensemble.available_cores", lambda: 2)
    ours = small(d=40, trainer=AMP()).test_error.tolist()
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=forked, args=(answer,), daemon=True)
    child.start()
    try:
        assert answer.get(timeout=60) == ours
    finally:
        child.kill()


@pytest.mark.parametrize(
    ("problem", "options", "said"),
    [
        (NETWORK, {"d": 11}, "kappa_0 d = 5.5 is not a whole number: the networks have 6."),
        (NETWORK.replace(kappa=0.55), {"d": 10}, "kappa d = 5.5 is not a whole number: the networks have 6."),
        (NETWORK.replace(target=PowerLaw(1.25, 12)), {"d": 10}, "the target has 12 different eigenvalues"),
        (NETWORK, {"dtype": "float32"}, "float32: gradients are known to about"),
    ],
)
def test_what_differs_from_the_problem_is_said(problem, options, said):
    assert any(line.startswith(said) for line in small(problem, **options).caveats)
    assert small().caveats == ()


@pytest.mark.parametrize(("d", "held"), [(4, True), (8, True), (6, False)])
def test_a_target_with_repeated_eigenvalues_is_held_by_a_matrix_of_its_size(d, held):
    """Three different eigenvalues, one of them twice: a matrix of 4 or 8 has each as often as the law says."""
    target = Empirical([0.0, 0.0, 1.0, 2.0])
    problem = quadratic_network(target, alpha=1.0, weight_decay=0.1, noise=0.5)
    said = simulate(problem, d=d, seeds=1, n_test=10, processes=1).caveats
    assert any("draws its own" in line for line in said) is not held
    draws = [np.sort(target.sample(d, np.random.default_rng(seed))) for seed in range(20)]
    assert all(np.array_equal(draw, draws[0]) for draw in draws) is held
