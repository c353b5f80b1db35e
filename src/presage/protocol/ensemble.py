"""Networks of one problem and one size, trained on independent data: one entry a seed, whatever the model."""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.protocol import checks
from presage.protocol.errors import ComputationError, TrainError, TrainInterrupted
from presage.protocol.keeping import RAGGED, kept_fields, kept_words
from presage.protocol.machine import available_cores, available_memory
from presage.protocol.observables import Observable
from presage.protocol.progress import with_progress
from presage.protocol.recorded import Recorded
from presage.protocol.trainer import Trainer

Floats = NDArray[np.float64]
GIGABYTE = 1e9
MOST_SEEDS = 1_000_000  # of one ensemble
NOT_RUN = "it was not run"
KEPT = ("weights", "targets", "history", "features", "directions", "trajectory")  # None unless `keep` asks for them
OF_EVERY_ENSEMBLE = ("problem", "d", "seeds", "trainer", "failures", "notes", *KEPT)
KILLED = "its process was killed, most often for lack of memory: train fewer networks at a time"


@dataclass(frozen=True, eq=False, kw_only=True)
class Ensemble(Recorded):
    """Trained networks: every observable is an array with one entry a seed. A failed seed has NaN and a reason."""

    problem: Any
    d: int
    seeds: tuple[int, ...]
    trainer: Trainer
    failures: dict[int, str] = field(default_factory=dict)  # reason of each seed that has no result
    notes: tuple[str, ...] = field(default=(), repr=False)
    weights: Floats | None = field(default=None, repr=False)  # what was learned, of each seed; None unless it was kept
    targets: Floats | None = field(default=None, repr=False)  # what there was to learn, in the same units; likewise
    # Rows (seconds, train_loss), one an iteration, of each seed; of a posterior mean the error that it expects.
    history: tuple[Floats, ...] | None = field(default=None, repr=False)
    features: Floats | None = field(default=None, repr=False)  # what was learned along each feature of the target
    directions: Floats | None = field(default=None, repr=False)  # how much of the target each learned direction sees
    trajectory: Floats | None = field(default=None, repr=False)  # rows (time, each of `followed`) of each seed

    observables: ClassVar[tuple[Observable, ...]] = ()  # what is measured of a network, in the order of a table
    also_measured: ClassVar[tuple[str, ...]] = ()  # further numbers of a network that a table of a sweep holds
    arrays: ClassVar[tuple[str, ...]] = ()  # arrays of each network, such as its eigenvalues
    followed: ClassVar[tuple[Observable, ...]] = ()  # what `trajectory` has of every step of a training
    noun: ClassVar[str] = "networks"
    meaning_of_bars: ClassVar[str] = "standard error of the mean over the seeds"

    if TYPE_CHECKING:  # each model measures what its theory predicts

        def __getattr__(self, name: str) -> Any: ...

    @property
    def measured(self) -> tuple[Observable, ...]:
        """The observables that mean something for these networks: a posterior mean minimises no loss."""
        return self.observables

    @property
    def conditions(self) -> dict[str, str]:
        """What else the data are like, in words by name: ensembles are compared with their like only."""
        return {}

    @property
    def departures(self) -> tuple[str, ...]:
        """Sentences on what these networks saw that the theory does not assume."""
        return ()

    @property
    def unpredicted(self) -> str:
        """Why no prediction of the model is about these networks, for `compare` to refuse them; "" if one is."""
        return ""

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: seeds that failed, and trainers that stopped before their rule was met."""
        failed = [f"seed {seed} failed: {reason}" for seed, reason in self.failures.items()]
        return (*failed, *self.notes)

    def values(self, name: str) -> Floats:
        """An observable of the seeds that have a result."""
        values: Any = getattr(self, name)
        return np.asarray(values[[seed not in self.failures for seed in self.seeds]])

    def mean(self, name: str) -> float:
        """Mean of an observable over the seeds that have one."""
        values = self.values(name)
        return float(np.mean(values)) if len(values) else float("nan")

    def standard_error(self, name: str) -> float:
        """Standard error of that mean; NaN with fewer than two seeds."""
        values = self.values(name)
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")

    def __str__(self) -> str:
        done = len(self.seeds) - len(self.failures)
        lines = [f"{done} {self.noun} of d = {self.d}, trained by {self.trainer}"]
        if self.conditions:
            lines.append(", ".join(f"{name} {value}" for name, value in self.conditions.items()))
        names = [observable.name for observable in self.measured]
        if done > 1:
            lines += [f"{name:<17} {self.mean(name):.6g} +- {self.standard_error(name):.1e}" for name in names]
        elif done == 1:
            lines += [f"{name:<17} {self.mean(name):.6g}" for name in names]
            lines.append("a single network has no standard error: use more seeds")
        return "\n".join([*lines, *(f"caveat: {line}" for line in self.caveats)])


class Outcome(NamedTuple):
    """What one seed gave: numbers and arrays by name, and what to know of them."""

    seed: int
    values: dict[str, Any]
    caveats: tuple[str, ...] = ()
    # Weights, target, history and what else can be kept, in case it is asked for; what takes work is a function.
    kept: Mapping[str, Any] | None = None


class Failure(NamedTuple):
    """Why one seed gave nothing."""

    seed: int
    reason: str


class Setting(ABC):
    """Everything about a run but its seed. It travels to other processes."""

    problem: Any
    d: int
    trainer: Trainer

    kind: ClassVar[type[Ensemble]]  # of the ensemble: its fields are those of `Ensemble` and the values of an outcome

    @property
    @abstractmethod
    def memory(self) -> float:
        """Bytes that one network needs."""

    @property
    @abstractmethod
    def size(self) -> str:
        """What makes it large, in words: "5000 samples and a width of 100"."""

    too_large: ClassVar[str] = "Use a smaller <d> or <alpha>."  # what to do where a network does not fit the memory

    @property
    def kept_bytes(self) -> dict[str, float]:
        """What of a network can be kept, by the words of `keep`, and the bytes that it takes."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the problem as the theory has it, in plain sentences."""
        return ()

    def check_workers(self, workers: int) -> None:  # noqa: B027 - most settings need nothing but memory
        """Complain where so many networks at a time cannot be trained."""

    @abstractmethod
    def train(self, seed: int, threads: int) -> Outcome:
        """Draw target and data of a seed, train, measure."""

    def described(self) -> dict[str, Any]:
        """Further fields of the ensemble, the same for every seed: what the data were like."""
        return {}


def streams(seed: int, d: int, count: int = 4) -> list[np.random.Generator]:
    """Independent random numbers for target, data, trainer and test of one seed at one size."""
    return [np.random.default_rng(stream) for stream in np.random.SeedSequence([seed, d]).spawn(count)]


def train_ensemble(
    setting: Setting, seeds: Any, *, processes: int | None, progress: bool | None, keep: str | Sequence[str] = ()
) -> Ensemble:
    """Train a network for each seed, several at a time; the numbers do not depend on how many.

    `keep` names what to keep of each beside what is measured: "weights", "history" or both, where the setting has them.

    Raises:
        TrainError: when every seed fails.
        TrainInterrupted: on Ctrl-C, with the seeds that had ended.
    """
    checks.integer("d", setting.d, at_least=1, reason="it is the size of a network", remedy="Use for example <d=100>.")
    numbers = seed_numbers(seeds)
    words = kept_words(keep, setting.kept_bytes)
    workers = _workers(setting, len(numbers), processes, words)
    from joblib.externals.loky.process_executor import TerminatedWorkerError  # imported late, as joblib is

    show = sys.stderr.isatty() if progress is None else progress
    outcomes: dict[int, Outcome | Failure] = {seed: Failure(seed, NOT_RUN) for seed in numbers}
    try:
        trained = _run_all(setting, numbers, workers, words)
        noun = setting.kind.noun
        for outcome in with_progress(trained, len(numbers), words="training", unit=noun, show=show):
            outcomes[outcome.seed] = outcome
    except TerminatedWorkerError:
        lost = [seed for seed, outcome in outcomes.items() if outcome == Failure(seed, NOT_RUN)]
        outcomes |= {seed: Failure(seed, KILLED) for seed in lost}
    except KeyboardInterrupt:
        ended = sum(isinstance(outcome, Outcome) for outcome in outcomes.values())
        message = f"simulate was interrupted after {ended} of {len(numbers)} seeds."
        if ended:
            message += " They are in the `partial` of this exception; pass the others as `seeds=[...]` to go on."
        raise TrainInterrupted(message, _gather(setting, numbers, outcomes, words) if ended else None) from None
    ensemble = _gather(setting, numbers, outcomes, words)
    if len(ensemble.failures) == len(numbers):
        raise TrainError(
            f"None of the {len(numbers)} {ensemble.noun} could be trained; seed {numbers[0]}: "
            f"{ensemble.failures[numbers[0]]}",
            f"Try another <trainer>. {setting.too_large}",
            ensemble,
        )
    return ensemble


def joined(ensembles: Sequence[Ensemble]) -> Ensemble:
    """Ensembles of one problem, size and trainer as one: their seeds side by side, each of which is there once."""
    first, *others = ensembles
    for other in others:
        alike = (other.problem, other.d, type(other.trainer)) == (first.problem, first.d, type(first.trainer))
        # A trainer of one's own need not say when two are equal: then its class has to do.
        if not alike or (dataclasses.is_dataclass(first.trainer) and other.trainer != first.trainer):
            reason = "networks side by side have learned the same in the same way"
            got = f"{first.d} and {other.d}" if first.d != other.d else "two problems or two trainers"
            raise checks.complaint(
                "ensembles", "be of one problem, d and trainer", reason, got, "Compare them instead."
            )
    seeds = seed_numbers([seed for ensemble in ensembles for seed in ensemble.seeds])
    changed: dict[str, Any] = {"seeds": seeds, "failures": {}}
    for one in ensembles:
        changed["failures"] |= one.failures
    changed["notes"] = tuple(dict.fromkeys(line for one in ensembles for line in one.notes))
    for each in dataclasses.fields(first):
        values = [getattr(one, each.name) for one in ensembles]
        if each.name in RAGGED and values[0] is not None:
            changed[each.name] = tuple(row for value in values for row in value)
        elif isinstance(values[0], np.ndarray):
            changed[each.name] = np.concatenate(values)
    return dataclasses.replace(first, **changed)


def run(setting: Setting, seed: int, threads: int, words: Sequence[str] = ()) -> Outcome | Failure:
    """Train and measure the network of one seed; a computation that fails is a result, with its reason.

    Only what is kept by these words leaves the process.
    """
    try:
        outcome = _checked(setting, setting.train(seed, threads))
        return outcome._replace(kept={name: _kept(setting, outcome, name) for name in kept_fields(words)})
    except (ComputationError, np.linalg.LinAlgError, MemoryError) as error:
        return Failure(seed, str(error) or "the machine has not enough memory")


def _checked(setting: Setting, outcome: Any) -> Outcome:
    """The outcome of a seed, if it is one; what is wrong with it is a fault of the model, and said at once."""
    model = type(setting).__name__
    if not isinstance(outcome, Outcome):
        raise TypeError(f"{model}.train returns {outcome!r}: return presage.Outcome(seed, values, caveats).")
    if isinstance(outcome.caveats, str):
        raise TypeError(f"{model}.train gives the caveat {outcome.caveats!r}: give a tuple of sentences.")
    needed = [f.name for f in dataclasses.fields(setting.kind) if f.default is f.default_factory is MISSING]
    known = {*OF_EVERY_ENSEMBLE, *setting.described(), *outcome.values}
    missing = [name for name in needed if name not in known]
    if missing:
        raise TypeError(f"{model}.train measures no {', '.join(missing)}: a field of {setting.kind.__name__}.")
    return outcome


def _kept(setting: Setting, outcome: Outcome, name: str) -> Floats:
    kept = outcome.kept or {}
    if name not in kept:
        model = type(setting).__name__
        raise TypeError(f"{model}.train keeps no {name}, though `kept_bytes` says so: give Outcome(..., kept=...) it.")
    value = kept[name]
    return np.asarray(value() if callable(value) else value, dtype=np.float64)


def _run_all(
    setting: Setting, seeds: tuple[int, ...], workers: int, words: Sequence[str]
) -> Iterator[Outcome | Failure]:
    """Outcomes as they come."""
    from joblib import Parallel, delayed

    threads = max(1, available_cores() // workers)
    if workers == 1:
        return (run(setting, seed, threads, words) for seed in seeds)
    # Processes of loky import presage, not the caller's script: no `if __name__ == "__main__"` is needed there.
    parallel = Parallel(n_jobs=workers, backend="loky", return_as="generator_unordered", pre_dispatch="all")
    outcomes: Iterator[Outcome | Failure] = parallel(delayed(run)(setting, seed, threads, words) for seed in seeds)
    return outcomes


def _gather(
    setting: Setting, seeds: tuple[int, ...], outcomes: dict[int, Outcome | Failure], words: Sequence[str]
) -> Ensemble:
    """Put the outcomes side by side, in the order of the seeds; a seed without a result has NaN everywhere."""
    done = [outcome for outcome in (outcomes[seed] for seed in seeds) if isinstance(outcome, Outcome)]
    numbers = {*(observable.name for observable in setting.kind.observables), *setting.kind.also_measured}
    columns: dict[str, Any] = {}
    for name, example in done[0].values.items() if done else ():
        blank = np.float64(np.nan) if name in numbers else _blank(example)
        column = [o.values[name] if isinstance(o, Outcome) else blank for o in (outcomes[seed] for seed in seeds)]
        if len({np.shape(value) for value in column}) > 1:
            shapes = sorted({str(np.shape(value)) for value in column})
            raise TypeError(f"{name} has another shape for another seed, {' and '.join(shapes)}: give all the same.")
        columns[name] = np.array(column, dtype=np.float64 if name in numbers else None)
    fields: dict[str, Any] = {
        "problem": setting.problem,
        "d": setting.d,
        "seeds": seeds,
        "trainer": setting.trainer,
        "failures": {seed: o.reason for seed in seeds if isinstance(o := outcomes[seed], Failure)},
        "notes": (*setting.notes, *(f"seed {o.seed}: {line}" for o in done for line in o.caveats)),
        **setting.described(),
        **columns,
        **{name: _kept_of_all([outcomes[seed] for seed in seeds], name) for name in kept_fields(words) if done},
    }
    if not done:  # nothing is known of any seed
        needed = [f.name for f in dataclasses.fields(setting.kind) if f.default is f.default_factory is MISSING]
        fields |= {name: np.full(len(seeds), np.nan) for name in needed if name not in fields}
        fields |= {"converged": np.zeros(len(seeds), bool)} if "converged" in needed else {}
    return setting.kind(**fields)


def _kept_of_all(outcomes: list[Outcome | Failure], name: str) -> Any:
    """What was kept, side by side; a failed seed has NaN, or where lengths differ a history of no rows."""
    found = [outcome.kept[name] if isinstance(outcome, Outcome) and outcome.kept else None for outcome in outcomes]
    example = next(array for array in found if array is not None)
    blank = example[:0] if name in RAGGED else _blank(example)
    kept = [blank if array is None else array for array in found]
    return tuple(kept) if name in RAGGED else np.array(kept)


def _blank(example: Any) -> Any:
    """What stands for a value that a seed does not have: NaN, False, 0."""
    array = np.asarray(example)
    return np.full(array.shape, np.nan) if array.dtype.kind == "f" else np.zeros(array.shape, array.dtype)


def seed_numbers(seeds: Any) -> tuple[int, ...]:
    """The seeds themselves, of a number of them or a list; complain about one that is there twice."""
    reason, remedy = "each network has its own random numbers", "Use for example <seeds=8>, or <seeds=[0, 1, 2]>."
    if isinstance(seeds, Sequence | np.ndarray | range) and not isinstance(seeds, str):
        numbers = tuple(
            checks.integer("seeds", s, at_least=0, at_most=2**53, reason=reason, remedy=remedy) for s in seeds
        )
        if not numbers or len(set(numbers)) < len(numbers):
            raise checks.complaint("seeds", "be different numbers, at least one", reason, seeds, remedy)
        return numbers
    return tuple(range(checks.integer("seeds", seeds, at_least=1, at_most=MOST_SEEDS, reason=reason, remedy=remedy)))


def _workers(setting: Setting, seeds: int, processes: Any, words: Sequence[str] = ()) -> int:
    """How many networks to train at a time: what the cores and the memory allow, beside what is kept of all."""
    if processes is not None:
        reason, remedy = "it is how many networks are trained at a time", "Leave it out to use all cores."
        processes = checks.integer("processes", processes, at_least=1, reason=reason, remedy=remedy)
    kept = seeds * sum(setting.kept_bytes[word] for word in words)
    available = max(available_memory() - kept, 0.0)
    fit = int(available // max(setting.memory, 1.0))
    if fit < 1:
        raise checks.complaint(
            "d",
            f"be such that one network needs less than the {available / GIGABYTE:.3g} GB of memory that are free"
            + (f" beside the {kept / GIGABYTE:.3g} GB that are kept of {seeds} networks" if kept else ""),
            f"{setting.size} make {setting.memory / GIGABYTE:.3g} GB",
            setting.d,
            setting.too_large,
        )
    workers: int = min(processes or available_cores(), seeds, fit)
    setting.check_workers(workers)
    return workers
