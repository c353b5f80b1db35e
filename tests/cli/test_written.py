"""A problem is written as the command line and as Python take it, and both make it again, to the last digit."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import presage as ps
from presage.cli import models, targets
from presage.cli.errors import CommandError
from presage.cli.options import Given
from presage.cli.written import WIDTH, Written, in_python, law_as_text, number, written
from presage.protocol.errors import InputError
from presage.protocol.fields import Choice, Number, Part, declarations

NAMES = sorted(models.known())
OWN = '''"""A model of one's own, with a class and a named problem."""

from dataclasses import dataclass, field

import presage as ps

LAW = ps.Part("law", kind="presage.laws.spectral_law.SpectralLaw", example="MarchenkoPastur(0.5)")
ALPHA = ps.Number("samples", above=0.0, example=2.0)
DEPTH = ps.Number("depth", at_least=1, whole=True, default=3)


@dataclass(frozen=True, kw_only=True)
class Deep(ps.LearningProblem):
    """A deep one."""

    target: ps.SpectralLaw = field(metadata=ps.declared(LAW))
    alpha: float = field(metadata=ps.declared(ALPHA))
    depth: int = field(default=3, metadata=ps.declared(DEPTH))


class Kinds:
    @staticmethod
    def shallow(target, alpha):
        return Deep(target=target, alpha=alpha, depth=1)


SHALLOW = ps.NamedProblem("shallow", "a shallow one", "own_written:Kinds.shallow", {"target": LAW, "alpha": ALPHA})
Deep.model = ps.Model(name="deep", words="deep", verbs={}, named=(SHALLOW,))
'''


def read(name: str, **texts: str) -> Given:
    return Given(models.choose(name), texts)


def executed(lines: str) -> Any:
    """The problem that lines of Python make, after the import of presage."""
    room: dict[str, Any] = {"ps": ps}
    exec(lines, room)
    return room["problem"]


def check_both(problem: Any) -> Written:
    """The texts of a problem make it, and so does the Python of these texts."""
    found = written(problem)
    again = read(found.model, **found.fields)
    assert again.problem() == problem
    assert executed(in_python(again)) == problem
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_named_problem_is_written_as_it_begins(name):
    begin = read(name)
    problem = begin.problem()
    found = check_both(problem)
    assert found.model == name
    assert executed(in_python(begin)) == problem
    assert in_python(begin).startswith("problem = ps.")
    optional = {key for key, field in begin.fields.items() if isinstance(field, Number) and field.optional}
    assert set(begin.fields) - optional <= set(found.fields) <= set(begin.fields)


def numbers(field: Number) -> st.SearchStrategy[float]:
    """Any number that a field takes, told in all its digits."""
    low = field.at_least if field.above is None else field.above
    high = field.at_most or 1e6
    if field.whole:
        usual = int(field.span[1]) if field.span else int(high)  # fields that count things often bound each other
        return st.integers(int(low or 0), usual) | st.integers(int(low or 0), int(high))
    wide = st.floats(low or 0.0, high, exclude_min=field.above is not None)
    return wide | st.floats(1e-3, 10.0).filter(lambda x: (low or 0.0) < x <= high)


WEIGHTS = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=12)


@st.composite
def masses(draw: Any, kind: type, least: float) -> Any:
    weights = np.array(draw(WEIGHTS))
    values = draw(st.lists(st.floats(least, 1e3), min_size=weights.size, max_size=weights.size))
    return kind(values, draw(st.sampled_from([None, weights / weights.sum()])))


@st.composite
def written_by(draw: Any, part: Part) -> Any:
    """Any object of a part that declares how it is written."""
    form = part.forms[draw(st.sampled_from([*part.forms]))]
    made_by = getattr(ps, form.made_by)
    try:
        if form.listed:
            return made_by(draw(st.lists(st.floats(-10.0, 10.0), min_size=1, max_size=8)))
        fields = [field for field in declarations(made_by).values() if isinstance(field, Number)]
        return made_by(*[draw(numbers(field)) for field in fields[: form.most]])
    except InputError:
        assume(False)


def laws(part: Part, *, square: bool) -> st.SearchStrategy[Any]:
    if part.forms:
        return written_by(part)
    if part.kind.endswith("RectangularLaw"):
        aspects = st.just(1.0) if square else st.floats(1.0, 1e4)
        return st.builds(ps.GaussianProduct, st.floats(1e-6, 1e4), aspects) | masses(ps.SingularValueMasses, 0.0)
    return st.one_of(
        st.builds(ps.MarchenkoPastur, st.floats(1e-8, 1e6)),
        st.builds(ps.PowerLaw, st.floats(0.1, 3.0), st.integers(1, 50)),
        st.builds(ps.Semicircle, st.floats(1e-3, 1e3), st.floats(-10.0, 10.0)),
        masses(ps.PointMasses, -1e3),
    )


@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_any_problem_is_written_to_the_last_digit(name, data):
    chosen = models.choose(name)
    values: dict[str, Any] = {}
    for key, field in chosen.problem.fields.items():
        if isinstance(field, Number):
            optional = field.optional and not field.example  # a view has no text for one that is not there
            values[key] = data.draw(st.none() | numbers(field) if optional else numbers(field))
        elif isinstance(field, Choice):
            values[key] = data.draw(st.sampled_from(field.options))
        elif isinstance(field, Part):
            values[key] = data.draw(laws(field, square="n_tokens" in chosen.problem.fields))
    try:
        problem = chosen.problem(**values)
    except InputError:
        assume(False)
    check_both(problem)


@pytest.mark.parametrize(
    ("name", "text", "python"),
    [
        ("attention", "mp:0.5", "ps.MarchenkoPastur(0.5)"),
        ("attention", "mp:1", "ps.MarchenkoPastur(1.0)"),
        ("attention", "power:1.25,400", "ps.PowerLaw(1.25, 400)"),
        ("attention", "semicircle:1,3", "ps.Semicircle(1.0, 3.0)"),
        ("attention", "semicircle:2", "ps.Semicircle(2.0)"),
        ("diagonal", "masses:0@0.9,1@0.1", "ps.PointMasses([0.0, 1.0], [0.9, 0.1])"),
        ("diagonal", "masses:-1,2", "ps.PointMasses([-1.0, 2.0])"),
        ("bilinear", "product:0.5", "ps.GaussianProduct(0.5)"),
        ("bilinear", "product:0.5,2", "ps.GaussianProduct(0.5, 2.0)"),
        ("bilinear", "masses:0@0.25,1@0.75", "ps.SingularValueMasses([0.0, 1.0], [0.25, 0.75])"),
    ],
)
def test_every_form_of_a_law(name, text, python):
    again = read(name, target=text)
    assert f"({python}, alpha=0.5, " in in_python(again).replace("(\n    ", "(")
    assert executed(in_python(again)) == again.problem()
    assert check_both(again.problem()).fields["target"] == text


def test_every_form_that_is_declared_has_its_text():
    for kind, family in targets.FAMILIES.items():
        part = Part("law", kind=kind)
        for form in family.forms.values():
            assert law_as_text(targets.law("--target", form.example, part), part) is not None


def test_weights_are_written_that_make_the_same_law_though_they_do_not_sum_to_one():
    part = Part("law", kind="presage.laws.spectral_law.SpectralLaw")
    moved = 0
    for seed in range(60):
        law = ps.PointMasses(range(5), np.random.default_rng(seed).dirichlet(np.ones(5)))
        weights = np.asarray(law.weights)
        moved += not np.array_equal(weights / weights.sum(), weights)
        assert targets.law("--target", str(law_as_text(law, part)), part) == law
    assert moved  # the case that is meant is among them


def test_numbers_are_short_and_exact():
    said = {0.5: "0.5", 1.0: "1", 2: "2", 1e-5: "1e-05", 1e5: "100000", 0.1 + 0.2: "0.30000000000000004"}
    assert {value: number(value) for value in said} == said
    assert number(np.float64(0.25)) == "0.25"


def test_what_the_python_tells():
    lines = in_python(read("attention", noise="0.5", n_tokens="2.0", beta_0="2", kappa="1"))
    told = "ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5, beta_0=2.0"
    assert lines == f"problem = ps.attention({told})"
    assert len(lines) == WIDTH
    assert in_python(read("untied", pairs="all", n_tokens="3")).endswith('n_tokens=3, pairs="all"\n)')
    long = in_python(read("attention", target="masses:0@0.25,1@0.25,2@0.5", alpha="0.123456789", beta="0.123456789"))
    assert long.splitlines()[2:4] == ["    alpha=0.123456789,", "    weight_decay=0.01,"]
    assert max(map(len, f"{lines}\n{long}".splitlines())) <= WIDTH


def test_a_target_with_the_temperature_of_the_learner_has_no_text_for_it():
    warm = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, beta=2.0)
    assert "beta_0" not in written(warm).fields
    assert check_both(warm.replace(beta_0=1.0)).fields["beta_0"] == "1"


def test_the_first_name_is_taken_where_there_are_several():
    single = ps.linear_attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, n_tokens=1)
    assert check_both(single).model == "quadratic"


ATTENTION = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01)
PRODUCT = ps.GaussianProduct(0.5)


@pytest.mark.parametrize(
    "problem",
    [
        ATTENTION.replace(target=ps.Empirical([0.0, 1.0, 2.0])),
        ATTENTION.replace(target=ps.PowerLaw(1.25, 40, normalized=False)),
        ps.Problem(ATTENTION.target, ps.Huber(2), ps.Frobenius(0.1), alpha=0.5),
        ps.elastic_attention(ATTENTION.target, alpha=0.5, nuclear=0.1, ridge=0.1, lowest=0.0),
        ps.unfactorized_attention(ATTENTION.target, alpha=0.5, ridge=0.1).replace(kappa=0.5),
        ps.hardmax_attention(ATTENTION.target, alpha=0.5, weight_decay=0.1),
        ps.bilinear_regression(PRODUCT, alpha=0.5),  # a view that is told no weight decay begins with some
        ps.bilinear_regression(ps.SingularValueMasses([0.0, 1.0], aspect=2.0), alpha=0.5, weight_decay=0.1),
    ],
    ids=["file", "not normalised", "channel and penalty", "lowest", "width", "unused", "no weight decay", "aspect"],
)
def test_a_problem_without_a_name_is_refused_in_words(problem):
    with pytest.raises(InputError, match=r"`problem` must be one that the command line has a name for: .*Got problem="):
        written(problem)


def test_what_is_no_problem_is_refused_in_words():
    with pytest.raises(InputError, match=r"`problem` must be a LearningProblem"):
        written(ps.MarchenkoPastur(0.5))  # type: ignore[arg-type]


def test_nothing_is_said_while_a_problem_is_written(capsys):
    written(ATTENTION.replace(alpha=1e5, kappa=50.0, target=ps.MarchenkoPastur(20.0)))
    assert capsys.readouterr() == ("", "")


def test_what_cannot_be_read_is_refused_as_on_the_command_line():
    for texts in ({"target": "mp:-1"}, {"target": "nothing"}, {"alpha": "much"}, {"alpha": "1,2"}):
        with pytest.raises(CommandError, match="--target" if "target" in texts else "--alpha"):
            in_python(read("attention", **texts))


@pytest.mark.parametrize(
    ("name", "array", "call"),
    [
        ("attention", np.array([0.0, 1.0, 2.0]), "ps.Empirical(np.load("),
        ("attention", np.diag([0.0, 1.0, 2.0]), "ps.Empirical(np.load("),
        ("bilinear", np.array([0.5, 1.0]), "ps.SingularValueMasses(np.load("),
        ("bilinear", np.arange(6.0).reshape(2, 3), "ps.SingularValueMasses.of_matrix(np.load("),
    ],
)
def test_a_law_in_a_file(name, array, call, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("law.npy", array)
    again = read(name, target="law.npy")
    lines, problem = in_python(again), again.problem()
    assert lines.startswith("import numpy as np\nproblem = ")
    assert call in lines
    monkeypatch.chdir("/")  # it goes by its full name
    assert executed(lines) == problem


def test_a_problem_of_ones_own_is_imported(tmp_path: Path, monkeypatch):
    (tmp_path / "own_written.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_written", raising=False)
    deep = read("own_written:Deep", depth="5")
    assert in_python(deep) == (
        "from own_written import Deep\nproblem = Deep(target=ps.MarchenkoPastur(0.5), alpha=2.0, depth=5)"
    )
    shallow = read("own_written:SHALLOW", alpha="0.5")
    assert in_python(shallow) == (
        "from own_written import Kinds\nproblem = Kinds.shallow(ps.MarchenkoPastur(0.5), alpha=0.5)"
    )
    for own in (deep, shallow):
        assert executed(in_python(own)) == own.problem()
    with pytest.raises(InputError, match="names none"):  # no command finds it by that name alone
        written(shallow.problem())


def test_the_public_list_has_the_function_of_every_name():
    for chosen in models.known().values():
        assert chosen.problem.make.partition(":")[2] in ps.__all__


def test_a_name_with_another_default_is_told_in_python():
    """What is left out is what the function has it at, whatever a view begins with."""
    chosen = models.choose("attention")
    begins = dataclasses.replace(chosen.problem, begin={"noise": 0.25})
    given = Given(models.Chosen(begins, chosen.model), {})
    assert "noise=0.25" in in_python(given)
    assert executed(in_python(given)) == given.problem()
