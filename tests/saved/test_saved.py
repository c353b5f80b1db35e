"""Results in files: what is loaded is what was saved, to the bit; a file that is not whole says what is wrong."""

from __future__ import annotations

import dataclasses
import json
import math
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import presage as ps
from presage.saved.encoding import DamagedError, decoded, encoded

LAWS = [
    ps.MarchenkoPastur(0.5),
    ps.PointMasses([0.0, 1.0, 1.0 / 3.0], [0.5, 0.3, 0.2]),
    ps.PowerLaw(1.25, 30),
    ps.Semicircle(1.0, 2.0),
    ps.Empirical(np.random.default_rng(0).standard_normal(20) ** 2),
]
QUADRATIC = ps.quadratic_network(LAWS[0], alpha=2.0, weight_decay=0.1, noise=0.5)
MATRIX = ps.bilinear_regression(ps.GaussianProduct(0.5, 2.0), alpha=0.5, noise=0.1, weight_decay=0.2)
VECTOR = ps.diagonal_network(LAWS[1], alpha=0.5, weight_decay=0.1, noise=0.1, draw="gaussian")


def through(value: Any) -> Any:
    """A value after a journey through the text of a file."""
    return decoded(json.loads(json.dumps(encoded(value), allow_nan=False)))


def same(first: Any, second: Any) -> bool:
    """Whether two values are of one class and equal to the bit, all the way down."""
    if type(first) is not type(second):
        return False
    if isinstance(first, float):
        return struct.pack(">d", first) == struct.pack(">d", second)
    if isinstance(first, np.ndarray) and first.dtype != object:
        alike = (first.dtype, first.shape) == (second.dtype, second.shape)
        return alike and first.tobytes() == second.tobytes()
    if isinstance(first, np.ndarray | list | tuple):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if dataclasses.is_dataclass(first):
        return all(same(getattr(first, f.name), getattr(second, f.name)) for f in dataclasses.fields(first))
    return bool(first == second)


class Pair(NamedTuple):
    left: Any
    right: Any = 3


@dataclass(frozen=True)
class Settings(ps.Trainer):
    rate: float = 0.1
    made: ClassVar[int] = 0

    def __post_init__(self) -> None:
        Settings.made += 1


@dataclass(frozen=True)
class Coin(ps.LearningProblem):
    alpha: float = field(default=1.0, metadata=ps.declared(ps.Number("throws <of a coin>", example=1.0)))
    model = ps.Model("coin", "a coin & its owner", {})


@dataclass(frozen=True)
class Guess(ps.Prediction):
    problem: Coin
    error: float
    extra: Any = None
    observables = (ps.Observable("error", "how far <off>", "error of the guess"),)

    @property
    def error_bars(self) -> dict[str, float]:
        return {"error": 1e-3}

    @property
    def caveats(self) -> tuple[str, ...]:
        return ("heads <b>&</b> tails",)


@pytest.mark.parametrize(
    "value",
    [
        0.1,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        math.inf,
        -math.inf,
        math.nan,
        struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0],  # a nan that says more
        2**80,
        True,
        None,
        'words "and" \n \u221e \ud83d',
        np.float64(0.1),
        np.float32(0.1),
        np.int64(7),
        np.bool_(True),
        np.array([[1.0, math.nan], [math.inf, -0.0]]),
        np.array([1, 2], dtype=np.int8),
        np.zeros((0, 3), dtype=np.float32),
        np.array(["a", "bc"]),
        np.array([1 + 2j]),
        np.array(3.0),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        (np.arange(2.0), np.arange(5.0), ()),
        {1: "one", (2, 3): [4.0], "x": {}},
        [[], {}, (), {"class": "no", "fields": {}}],
        {1, 2},
        Pair(1.0, (2,)),
        Settings(0.3),
        *LAWS,
        ps.GaussianProduct(0.5, 2.0),
        ps.SingularValueMasses([1.0, 2.0], [0.7, 0.3], 1.5),
        ps.Softmax(3, 0.7),
        ps.Huber(1, 0.5),
        ps.ElasticSpectral(0.1, 0.2),
        ps.AMP(),
        ps.Adam(),
        ps.BayesAMP(ps.Denoiser(ps.MarchenkoPastur(0.5))),
        ps.Rademacher(),
        ps.Embeddings(np.random.default_rng(0).standard_normal((9, 3)).astype(np.float32)),
        QUADRATIC,
        MATRIX,
        VECTOR,
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_value_comes_back_to_the_bit(value):
    assert same(through(value), value)


def test_an_object_is_not_made_anew():
    value = Settings(0.3)
    made = Settings.made
    assert through(value) == value
    assert Settings.made == made


def results() -> dict[str, Any]:
    solution = ps.solve(QUADRATIC)
    networks = [ps.simulate(QUADRATIC, d=d, seeds=2, n_test=50, processes=1) for d in (8, 12)]
    return {
        "solution": solution,
        "softmax": ps.solve(ps.attention(LAWS[1], alpha=0.5, weight_decay=0.01, noise=0.5)),
        "bayes": ps.bayes_optimal(QUADRATIC),
        "ridgeless": ps.ridgeless(QUADRATIC),
        "optimum": ps.optimal_regularization(QUADRATIC),
        "thresholds": ps.thresholds(ps.quadratic_network(ps.Semicircle(1.0), alpha=2.0, weight_decay=0.1)),
        "scaling": ps.scaling(ps.quadratic_network(LAWS[2], alpha=2.0, weight_decay=0.1, noise=0.5)),
        "matrix": ps.solve(MATRIX),
        "matrix, bayes": ps.bayes_optimal(MATRIX),
        "matrix, thresholds": ps.thresholds(MATRIX),
        "matrices": ps.simulate(MATRIX, d=8, seeds=2, n_test=50, processes=1),
        "vector": ps.solve(VECTOR),
        "vector, thresholds": ps.thresholds(VECTOR),
        "vectors": ps.simulate(VECTOR, d=8, seeds=2, n_test=50, processes=1),
        "networks": networks[0],
        "failed": dataclasses.replace(networks[0], failures={1: "it was \ud83d late"}),
        "comparison": ps.compare(solution, *networks),
        "spectrum type": ps.classify(np.arange(1.0, 101.0) ** -1.25, bootstrap=20),
        "spectrum type, law": ps.classify(ps.Semicircle(1.0), law=ps.Semicircle(1.0)),
        "networks, type": ps.classify(networks[0]),
        "own": Guess(Coin(2.0), 0.25, {3: (np.arange(2.0), np.arange(3.0))}),
    }


@pytest.fixture(scope="module")
def every() -> dict[str, Any]:
    return results()


NAMES = [
    "solution",
    "softmax",
    "bayes",
    "ridgeless",
    "optimum",
    "thresholds",
    "scaling",
    "matrix",
    "matrix, bayes",
    "matrix, thresholds",
    "matrices",
    "vector",
    "vector, thresholds",
    "vectors",
    "networks",
    "failed",
    "comparison",
    "spectrum type",
    "spectrum type, law",
    "networks, type",
    "own",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_result_comes_back(name, every, tmp_path):
    result = every[name]
    result.save(tmp_path / "result.json")
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    again = ps.load(tmp_path / "result.json")
    assert same(again, result)
    assert str(again) == str(result)
    assert repr(again.as_dict()) == repr(result.as_dict())
    text = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert text["version"] == ps.__version__
    assert type(result).__name__ in text["result of presage"]


def test_a_loaded_solution_answers_like_the_original(every, tmp_path):
    every["solution"].save(tmp_path / "s.json")
    every["networks"].save(tmp_path / "e.json")
    s, e, first = ps.load(tmp_path / "s.json"), ps.load(str(tmp_path / "e.json")), every["solution"]
    assert s == first
    x = np.linspace(0.1, 3.0, 7)
    assert np.array_equal(s.spectrum.density(x), first.spectrum.density(x))
    assert s.replicon == first.replicon
    assert s.bulks == first.bulks
    assert s.error_bars == first.error_bars
    assert same(ps.compare(s, e).rows, ps.compare(first, every["networks"]).rows)
    assert ps.solve(QUADRATIC.replace(alpha=2.1), init=s).test_error == pytest.approx(
        ps.solve(QUADRATIC.replace(alpha=2.1)).test_error, rel=1e-6
    )
    assert ps.plot(s).get_xlabel() == "eigenvalue"


def test_nothing_is_written_where_something_cannot_be(tmp_path):
    path = tmp_path / "g.json"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(ps.InputError, match=r"`result.extra\[0\]` must be made of numbers.*Got .*a function'"):
        Guess(Coin(), 0.1, (test_every_result_comes_back,)).save(path)
    with pytest.raises(ps.InputError, match="be an array of numbers or words"):
        Guess(Coin(), 0.1, np.array(["2020"], dtype="M8[D]")).save(path)

    @dataclass(frozen=True)
    class Hidden:
        x: int

    with pytest.raises(ps.InputError, match="a class inside a function cannot be found again"):
        Guess(Coin(), 0.1, Hidden(1)).save(path)
    assert path.read_text(encoding="utf-8") == "before"
    with pytest.raises(ps.InputError, match="be in a folder that exists"):
        Guess(Coin(), 0.1).save(tmp_path / "no" / "g.json")
    with pytest.raises(ps.InputError, match="be a file: there is a folder"):
        Guess(Coin(), 0.1).save(tmp_path)
    with pytest.raises(ps.InputError, match="be the name of a file"):
        Guess(Coin(), 0.1).save(3)  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["g.json"]


def mend(path: Path, change: Any, *, sign: bool = True) -> None:
    """Change the text of a file, and its checksum with it."""
    from presage.saved.file import _checksum

    text = json.loads(path.read_text(encoding="utf-8"))
    change(text)
    if sign and "content" in text:
        text["sha256"] = _checksum(text["content"])
    path.write_text(json.dumps(text), encoding="utf-8")


HERE = __name__


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda t: t.update(format=2, version="9.9"),
            "it was written by presage 9.9, whose files this version does not",
        ),
        (lambda t: t.update(format="x"), "whose files this version does not know"),
        (lambda t: t.pop("content"), "it is damaged"),
        (lambda t: t.pop("result of presage"), "it was not written by save"),
        (lambda t: t["content"]["fields"].pop("error"), "its Guess has no error"),
        (lambda t: t["content"]["fields"].update(beauty=1), "has beauty, which this version does not know"),
        (lambda t: t["content"].update({"class": "presage.Beauty"}), "presage has no class 'presage.Beauty'"),
        (lambda t: t["content"].update({"class": "presage.solve"}), "neither a dataclass nor a named tuple"),
        (lambda t: t["content"].update({"class": "subprocess:Popen"}), "neither a dataclass nor a named tuple"),
        (lambda t: t["content"].update({"class": "os:system"}), "neither a dataclass nor a named tuple"),
        (lambda t: t["content"].update({"class": "no_such_module:Guess"}), "no_such_module, which cannot be imported"),
        (lambda t: t["content"].update({"class": f"{HERE}:Nobody"}), "has no Nobody: define that class before"),
        (lambda t: t["content"].update({"class": "a b:c"}), "presage has no class 'a b:c'"),
        (lambda t: t["content"].update({"class": 3}), "presage has no class 3"),
        (lambda t: t["content"].update(more=1), "an entry of an unknown kind: class, fields, more"),
        (
            lambda t: t["content"]["fields"].update(extra={"array": "<f8", "shape": [3], "data": "AAAA"}),
            "cannot be read",
        ),
        (lambda t: t["content"]["fields"].update(extra={"array": "|O8", "shape": [0], "data": ""}), "an array of |O8"),
        (lambda t: t["content"]["fields"].update(extra={"bits": "zz"}), "cannot be read"),
        (lambda t: t.update(content=[1]), "what it holds is a list"),
        (lambda t: t.update(content=t["content"]["fields"]["problem"]), "what it holds is a Coin"),
    ],
)
def test_a_file_that_is_wrong_says_what(change, sentence, tmp_path):
    path = tmp_path / "g.json"
    Guess(Coin(), 0.25).save(path)
    mend(path, change)
    with pytest.raises(ps.InputError) as error:
        ps.load(path)
    assert "`path` must be a result that presage saved" in str(error.value)
    assert sentence in str(error.value)


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "g.json"
    Guess(Coin(), 0.25, np.arange(3.0)).save(path)
    whole = path.read_text(encoding="utf-8")
    for text, sentence in [
        (whole[:-20], "cannot be read as JSON"),
        ("", "cannot be read as JSON"),
        (whole.replace("0.25", "0.26"), "it is damaged"),
        (whole.replace("0.25", "NaN"), "NaN is no number of JSON"),
        ("[1, 2]", "it was not written by save"),
        ('{"test_error": 0.1}', "it was not written by save"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ps.InputError, match=sentence):
            ps.load(path)
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ps.InputError, match="cannot be read as JSON"):
        ps.load(path)
    with pytest.raises(FileNotFoundError):
        ps.load(tmp_path / "none.json")


def test_a_field_that_an_older_file_lacks_has_its_default(tmp_path):
    path = tmp_path / "g.json"
    Guess(Coin(), 0.25, 3).save(path)
    mend(path, lambda text: text["content"]["fields"].pop("extra"))
    assert ps.load(path) == Guess(Coin(), 0.25)
    assert decoded({"class": f"{HERE}:Pair", "fields": {"left": 1}}) == Pair(1)
    with pytest.raises(DamagedError, match="its Pair has no left"):
        decoded({"class": f"{HERE}:Pair", "fields": {}})


def test_a_file_names_classes_by_their_public_names(every, tmp_path):
    path = tmp_path / "s.json"
    every["solution"].save(path)
    text = path.read_text(encoding="utf-8")
    assert '"presage.MarchenkoPastur"' in text
    assert "presage.models" not in text


class TestPlainNumbers:
    def test_a_dict_of_plain_numbers(self, every):
        def check(value: Any) -> None:
            assert type(value) in (dict, list, str, int, float, bool, type(None)), value
            for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
                check(inner)

        for result in every.values():
            check(result.as_dict())
        said = every["solution"].as_dict()
        assert said["problem"]["model"] == "attention"
        assert (said["problem"]["alpha"], said["problem"]["weight_decay"], said["problem"]["kappa_0"]) == (
            2.0,
            0.1,
            0.5,
        )
        assert said["observables"]["rank"] == every["solution"].rank
        assert said["error_bars"]["m_hat"] == every["solution"].error_bars["m_hat"]
        assert "mutual_information" not in every["bayes"].as_dict()["observables"]
        assert every["optimum"].as_dict()["observables"]["weight_decay"] == every["optimum"].value
        assert every["thresholds"].as_dict()["observables"]["perfect_recovery"] == math.inf

    def test_a_table_of_pandas(self, every):
        table = every["solution"].to_dataframe()
        assert table.loc["rank", "value"] == every["solution"].rank
        assert table.loc["rank", "error_bar"] == every["solution"].error_bars["rank"]
        networks = every["failed"].to_dataframe()
        assert networks.loc[0, "rank"] == every["networks"].rank[0]
        assert networks.loc[1, "outcome"].startswith("failed: it was")
        compared = every["comparison"].to_dataframe()
        assert compared.loc["rank", "z"] == every["comparison"]["rank"].z
        assert compared.loc["rank", "d_12"] == every["comparison"].ensembles[1].mean("rank")
        assert every["thresholds"].to_dataframe().index.name == "threshold"
        assert every["optimum"].to_dataframe().index[0] == "weight_decay"

    def test_without_pandas_it_says_so(self, every, monkeypatch):
        import sys

        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match="needs the package pandas"):
            every["solution"].to_dataframe()

    @pytest.mark.parametrize("name", NAMES)
    def test_a_short_text(self, name, every):
        text = repr(every[name])
        assert len(text.splitlines()) <= 2
        assert len(text) < 400
        assert type(every[name]).__name__ in text

    def test_what_the_short_text_says(self, every):
        assert f"rank={every['solution'].rank:.6g}" in repr(every["solution"])
        assert "alpha=2, noise=0.5" in repr(every["solution"])
        assert "2 networks of d = 8 by AMP" in repr(every["networks"])
        assert "at d = 8, 12: " in repr(every["comparison"])
        assert "perfect_recovery=infinite" in repr(every["thresholds"])

    def test_a_class_with_a_text_of_its_own_keeps_it(self):
        @dataclass(frozen=True)
        class Own(ps.Prediction):
            def __repr__(self) -> str:
                return "my own"

        class Child(Own):
            pass

        assert repr(Own()) == repr(Child()) == "my own"
