"""The server with its real processes: what it answers is what the library says, and nothing brings it down."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus

import presage as ps
from presage.page.asked import Asked
from presage.page.bounds import BOUNDS
from presage.page.described import described
from presage.plots.learned import Learned, learned_by
from presage.protocol.numbers import MOST_DIGITS, Measured
from presage.protocol.numbers import cells as number_cells
from tests.page.conversation import FIELDS, Served, cells, of_kind
from tests.page.test_messages import ANYTHING

PROBLEM = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)


def same(value):
    """The same number of another process: code that was compiled there may round the last digits otherwise."""
    return pytest.approx(float(value), rel=1e-8)


@pytest.fixture(scope="module")
def client():
    served = Served()
    yield served
    served.end()


@pytest.fixture
def tab(client):
    with client.tab() as one:
        yield one


def test_the_numbers_are_those_of_solve_as_the_command_line_prints_them(tab):
    draft, refined, end = tab.ask("point")
    assert (draft["stage"], refined["stage"], end["kind"]) == ("draft", "refined", "end")
    solution = ps.solve(PROBLEM)
    assert [row["name"] for row in refined["rows"]] == [one.name for one in solution.observables]
    for row in refined["rows"]:
        measured = Measured(getattr(solution, row["name"]), solution.error_bars[row["name"]])
        value, bar = number_cells(measured)
        assert row["value"] == same(measured.value)
        assert row["bar"] == pytest.approx(measured.bar, rel=1e-3)
        assert (row["text"], row["bar_text"]) == (value if isinstance(value, str) else value(MOST_DIGITS), bar)
    rough = {row["name"]: row for row in draft["rows"]}
    assert all(abs(row["value"] - rough[row["name"]]["value"]) < 0.02 for row in refined["rows"])
    assert rough["test_error"]["bar"] > refined["rows"][0]["bar"]


def test_the_spectrum_is_the_law_that_is_learned(tab):
    told = of_kind(tab.ask("point"), "point")[-1]
    solution = ps.solve(PROBLEM)
    assert told["words"] == "eigenvalues"
    assert told["spectrum"]["zero"] == same(1.0 - solution.rank)
    (bulk,) = told["spectrum"]["bulks"]
    assert bulk["mass"] == pytest.approx(solution.rank, abs=1e-6)
    # Places are told in six digits, and at its edges a density rises like a root.
    assert np.allclose(bulk["density"], solution.spectrum.density(np.array(bulk["x"])), rtol=1e-3, atol=2e-3)
    (target,) = told["target"]["bulks"]
    assert np.trapezoid(target["density"], target["x"]) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("name", [model["name"] for model in described()["models"]])
def test_every_model_is_shown(tab, name):
    said = tab.ask("point", name, {})
    assert not of_kind(said, "error")
    last = of_kind(said, "point")[-1]
    assert last["stage"] == "refined"
    assert last["rows"]
    asked = Asked(name, {})
    learned = learned_by(getattr(ps, asked.verb)(asked.problem()))
    assert (last["spectrum"] is not None) == isinstance(learned, Learned)


def test_an_answer_that_was_given_is_given_again_at_once(tab):
    fields = {**FIELDS, "alpha": "0.777"}
    first = of_kind(tab.ask("point", fields=fields), "point")
    again = of_kind(tab.ask("point", fields=dict(reversed(fields.items()))), "point")
    assert len(first) == 2
    assert [{**one, "id": 0} for one in again] == [{**first[1], "id": 0}]


def test_a_newer_question_ends_the_older_one(client, tab):
    # The first takes minutes: whether it was ended is seen by what its process is asked next.
    slow = {**FIELDS, "n_tokens": "12", "beta": "4"}
    old = tab.say("point", fields=slow)
    workers = client.app.state.answering._workers
    while not (asked := [worker.job for worker in workers if worker.job is not None]):
        time.sleep(0.01)
    new = tab.say("point", fields={**FIELDS, "alpha": "0.61"})
    heard: list[dict[str, Any]] = []
    while not heard or heard[-1]["id"] != new or heard[-1]["kind"] != "end":
        heard.append(tab.hear())
    assert old not in {message["id"] for message in heard}
    assert [message["kind"] for message in heard if message["id"] == new] == ["point", "point", "end"]
    deadline = time.monotonic() + 10.0
    while any(worker.job in asked for worker in client.app.state.answering._workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_slow_curve_does_not_keep_a_slider_waiting(client, tab):
    slow = {**FIELDS, "n_tokens": "8"}
    curve = tab.say("curve", fields=slow, along="alpha", low=0.05, high=5.0, points=20)
    assert tab.hear()["kind"] in {"ready", "axis"}
    with client.tab() as other:
        assert of_kind(other.ask("point", fields={**FIELDS, "alpha": "0.63"}), "point")[-1]["stage"] == "refined"
    tab.say("stop", what="curve")
    said = tab.until_end(curve)
    assert said[-1]["stopped"] is True
    assert len(cells(said, "draft")) < 20


def test_a_curve_has_every_point_as_solve_has_it_and_the_thresholds(tab):
    said = tab.ask("curve", along="alpha", low=0.1, high=2.0, points=5, beside=["bayes_optimal", "ridgeless"])
    (axis,) = of_kind(said, "axis")
    assert axis["x"] == pytest.approx(np.geomspace(0.1, 2.0, 5), rel=1e-15)
    drafts, found = cells(said, "draft"), cells(said, "refined")
    assert drafts.keys() == found.keys() == set(range(5))
    for index, alpha in enumerate(np.geomspace(0.1, 2.0, 5)):
        solution = ps.solve(PROBLEM.replace(alpha=float(alpha)))
        assert found[index]["values"]["test_error"][0] == same(solution.test_error)
        assert found[index]["values"]["test_error"][1] == pytest.approx(solution.error_bars["test_error"], rel=1e-3)
        best = cells(said, "refined", "bayes_optimal")[index]["values"]["test_error"][0]
        assert best <= solution.test_error
    limit = ps.ridgeless(PROBLEM.replace(alpha=float(axis["x"][4])))
    assert cells(said, "refined", "ridgeless")[4]["values"]["rank"][0] == same(limit.rank)
    (marks,) = of_kind(said, "marks")
    at = {mark["name"]: mark["at"] for mark in marks["marks"]}
    assert at["interpolation"] == same(ps.thresholds(PROBLEM).interpolation)


def test_a_curve_is_remembered_wherever_its_own_slider_stands(client, tab):
    asked = {"along": "alpha", "low": 0.3, "high": 3.0, "points": 4}
    first = cells(tab.ask("curve", "quadratic", FIELDS, **asked), "refined")
    before = client.app.state.remembered.size
    again = cells(tab.ask("curve", "quadratic", {**FIELDS, "alpha": "1.23"}, **asked), "refined")
    assert again == first
    assert client.app.state.remembered.size == before


def test_a_point_of_a_curve_that_fails_has_its_reason(tab):
    fields = {"target": "product:0.5", "alpha": "0.5"}
    said = tab.ask("curve", "bilinear", fields, along="alpha", low=1e-12, high=1.0, points=3)
    found = cells(said, "refined")
    assert "must be" in found[0]["failed"]
    assert "values" in found[2]


def test_a_way_is_what_trajectory_says(client, tab):
    (found,) = of_kind(tab.ask("way", "quadratic", steps=6), "way")
    problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
    own = ps.trajectory(problem, steps=6)
    assert found["trainer"] == "PlainAMP(steps=6)"
    assert found["times"] == own.times.tolist()
    for name, value in own.values.items():
        assert found["columns"][name][0] == pytest.approx(value.tolist(), rel=1e-8)
    assert found["caveats"] == list(own.caveats)
    before = client.app.state.remembered.size
    assert of_kind(tab.ask("way", "quadratic", steps=6), "way")[0]["columns"] == found["columns"]
    assert client.app.state.remembered.size == before


def test_a_way_of_a_trainer_by_its_name_and_numbers(tab):
    text = "population-flow:eps=1e-4,until=20"
    (found,) = of_kind(tab.ask("way", "quadratic", steps=5, trainer=text), "way")
    problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
    own = ps.trajectory(problem, steps=5, trainer=ps.PopulationFlow(eps=1e-4, until=20.0))
    assert found["columns"]["learned"][0] == pytest.approx(own.learned.tolist())
    assert found["logarithmic"] is True
    assert found["clock"] == "time of the flow, theta"
    assert [one["name"] for one in found["observables"]] == [one.name for one in own.observables]
    (wrong,) = of_kind(tab.ask("way", "quadratic", steps=5, trainer="population-flow:speed=1"), "error")
    assert "`trainer` must be population-flow and numbers of it, each once: eps, deviation" in wrong["message"]
    (wrong,) = of_kind(tab.ask("way", "attention", steps=5, trainer="population-flow"), "error")
    assert "must have a linear channel here" in wrong["message"]


def test_a_map_is_filled_coarse_to_fine(tab):
    ranges = {"across_range": [0.1, 10.0], "up_range": [1e-3, 1.0]}
    said = tab.ask("map", "quadratic", across="alpha", up="weight_decay", side=9, **ranges)
    (axes,) = of_kind(said, "axes")
    found = cells(said, "draft")
    assert len(found) == 81
    assert {*[*found][:4]} <= {(0, 0), (8, 0), (0, 8), (8, 8)}  # two processes answer, in any order
    problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=axes["x"][3], weight_decay=axes["y"][5], noise=0.5)
    assert found[3, 5]["values"]["rank"][0] == pytest.approx(ps.solve(problem).rank, rel=1e-6)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"ask": "map", "across": "alpha", "up": "alpha", "side": 5}, "A map needs two fields"),
        ({"ask": "way", "steps": 201}, "`steps` must be at most 200"),
        ({"ask": "way", "steps": 0}, "`steps` must be"),
        (
            {"ask": "way", "model": "hardmax", "fields": {}, "steps": 3},
            "hardmax cannot be followed step by step: its output has no",
        ),
        ({"ask": "map", "across": "alpha", "up": "noise", "side": 61}, "`side` must be at most 60"),
        ({"ask": "curve", "along": "alpha", "low": 1.0, "high": 2.0, "points": 1000}, "`points` must be at most 200"),
        ({"ask": "curve", "along": "target", "low": 1.0, "high": 2.0, "points": 5}, "is no number of attention"),
        ({"ask": "curve", "along": "alpha", "low": 2.0, "high": 1.0, "points": 5}, "must end above its beginning"),
        ({"ask": "train", "d": [2000], "seeds": 2}, "`d` must be at most 1,000"),
        ({"ask": "train", "d": [20], "seeds": 100}, "`seeds` must be at most 64"),
        ({"ask": "train", "d": [10, 20, 30, 40, 50], "seeds": 2}, "`dimensions` must be at most 4"),
        ({"ask": "train", "d": [20], "seeds": 2, "trainer": "magic"}, "must be one of amp"),
        ({"ask": "train", "d": [1000], "seeds": 2}, "`numbers` must be at most 100,000,000"),
        ({"ask": "take", "d": [20], "seeds": 2, "trainer": "magic"}, "There is no trainer 'magic' here"),
        ({"ask": "take", "d": [20_000], "seeds": 2}, "`d` must be at most 1,000"),
        (
            {"ask": "curve", "along": "alpha", "low": 1.0, "high": 2.0, "points": 3, "beside": ["magic"]},
            "`magic` cannot be drawn beside attention: there are bayes_optimal",
        ),
    ],
)
def test_what_is_too_much_or_makes_no_sense_is_said_with_its_bound(tab, asked, words):
    ranges = {"across_range": [0.1, 10.0], "up_range": [0.1, 1.0]}
    said = tab.ask(**{**ranges, **asked})
    assert words in of_kind(said, "error")[0]["message"]


@pytest.mark.parametrize("name", ["perceptron", "", "os:path", "antigravity:fly"])
def test_a_model_that_is_not_on_the_page_is_neither_shown_nor_imported(client, name):
    import sys

    with client.tab() as one:
        number = one.say("point", name, {})
        while (said := one.hear())["kind"] == "ready":
            pass
    assert (said["id"], said["message"]) == (number, f"There is no model {name!r} on this page.")
    assert "antigravity" not in sys.modules


def test_networks_are_told_as_they_come_and_compared(tab):
    said = tab.ask("train", d=[20, 30], seeds=3, trainer="amp")
    networks = of_kind(said, "network")
    assert [(one["d"], one["seed"]) for one in networks] == [(d, seed) for d in (20, 30) for seed in range(3)]
    whole = {d: ps.simulate(PROBLEM, d=d, seeds=3, trainer=ps.AMP(), processes=1) for d in (20, 30)}
    for one in networks:
        assert one["values"]["test_error"] == same(whole[one["d"]].test_error[one["seed"]])
    last = [one for one in of_kind(said, "trained") if one["d"] == 30][-1]
    assert (last["done"], last["of"]) == (3, 3)
    assert last["means"]["rank"] == pytest.approx([whole[30].mean("rank"), whole[30].standard_error("rank")])
    steps = np.diff(last["histogram"]["edges"])
    assert np.sum(steps * last["histogram"]["heights"]) == pytest.approx(1.0 - last["histogram"]["zero"], abs=1e-4)
    losses = [loss for one in of_kind(said, "loss") if (one["d"], one["seed"]) == (30, 0) for _, loss in one["steps"]]
    assert losses[0] == 1.0
    assert losses[-1] < 1.0
    (verdict,) = of_kind(said, "comparison")
    expected = ps.compare(ps.solve(PROBLEM), *whole.values())
    assert verdict["sentences"] == [row.sentence for row in expected.rows] + [s.sentence for s in expected.spectra]
    assert verdict["agrees"] == expected.agrees


def test_one_network_is_shown_and_not_compared(tab):
    (verdict,) = of_kind(tab.ask("train", d=[20], seeds=1, trainer="amp"), "comparison")
    assert verdict["agrees"] is None
    assert "at least two networks" in verdict["sentences"][0]


def test_training_is_cancelled_at_once_and_the_next_goes_on(client, tab):
    number = tab.say("train", d=[300], seeds=64, trainer="adam")
    with client.tab() as other:
        waiting = other.say("train", d=[20], seeds=2, trainer="amp")
        while (said := other.hear())["kind"] == "ready":
            pass
        assert (said["kind"], said["id"]) == ("waiting", waiting)
        began = time.monotonic()
        tab.say("stop", what="train")
        assert tab.until_end(number)[-1]["stopped"] is True
        assert time.monotonic() - began < 5.0
        assert of_kind(other.until_end(waiting), "comparison")


def test_a_closed_page_leaves_nothing_running(client):
    with client.tab() as one:
        one.say("train", d=[300], seeds=64, trainer="adam")
        one.say("curve", fields={**FIELDS, "n_tokens": "8"}, along="alpha", low=0.05, high=5.0, points=20)
        while one.hear()["kind"] != "axis":
            pass
    state = client.app.state
    deadline = time.monotonic() + 20.0
    while state.training.busy or any(worker.job for worker in state.answering._workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_process_that_is_killed_is_replaced_and_its_question_told_so(client, tab):
    number = tab.say("train", d=[300], seeds=8, trainer="adam")
    while (said := tab.hear())["kind"] != "loss" or said["id"] != number:
        pass  # a process that has not begun would be replaced without a word
    client.app.state.training._workers[0].process.kill()
    (error,) = of_kind(tab.until_end(number), "error")
    assert "was killed" in error["message"]
    assert of_kind(tab.ask("train", d=[20], seeds=2, trainer="amp"), "comparison")


def test_another_origin_is_refused(client):
    with pytest.raises(InvalidStatus, match="403"), client.tab("http://evil.example"):
        pass
    for path in ("/", "/models"):
        assert client.get(path, headers={"origin": "http://evil.example"}).status_code == 403
        assert client.get(path, headers={"host": "evil.example"}).status_code == 403
    refused = client.post("/values?name=x.csv", content=b"1", headers={"origin": "null"})
    assert refused.status_code == 403
    assert "Open the address that `presage page` prints" in refused.text


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/figures/..%2f..%2fsetup.png",
        "/docs",
        "/openapi.json",
    ],
)
def test_no_path_of_the_disk_is_reached(client, path):
    assert client.get(path).status_code in {404, 422}


def test_everything_comes_from_here_and_says_so(client):
    answer = client.get("/")
    assert answer.status_code == 200
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/models").json() == described()


def npy(array: object) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(array), allow_pickle=True)
    return out.getvalue()


HUGE = npy([1.0]).replace(b"(1,), }" + b" " * 20, b"(1000000000000000000000,), }")  # a header that lies


def test_a_file_becomes_the_text_of_a_law_that_solves_as_the_file_does(client, tab):
    matrix = np.random.default_rng(0).standard_normal((30, 12))
    matrix = matrix @ matrix.T / np.sqrt(12 * 30)
    told = client.post("/values?name=s.npy&of=eigenvalues", content=npy(matrix)).json()
    assert told["words"].startswith("30 eigenvalues from 0 to ")
    assert "18 of the 30 eigenvalues" in told["notes"][0]
    said = of_kind(tab.ask("point", fields={**FIELDS, "target": told["text"]}), "point")[-1]
    expected = ps.solve(PROBLEM.replace(target=ps.Empirical(matrix)))
    assert said["rows"][0]["value"] == pytest.approx(expected.test_error, rel=1e-9)
    back = client.post("/npy", content=json.dumps({"text": told["text"]}))
    assert np.load(io.BytesIO(back.content)).tolist() == told["values"]


@pytest.mark.parametrize("text", ["1, 2, 0.5", "1\n2\n0.5\n", "value\n1\n2\n0.5", "1;2;0.5", "# three\n1 2 0.5"])
def test_a_list_is_read_as_people_paste_it(client, text):
    assert client.post("/values?name=pasted.txt&of=eigenvalues", content=text.encode()).json()["values"] == [0.5, 1, 2]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.npy", b"no array", "is not one"),
        ("x.npy", b"\x93NUMPY\x01\x00", "is not one"),
        ("x.npy", npy([1, 2])[:-5], "is not one"),
        ("x.npy", npy([{"a": 1}]), "holds objects"),
        ("x.npy", npy(["a"]), "holds <U1"),
        ("x.npy", npy([[1.0, 2.0], [3.0, 4.0]]), "not symmetric"),
        ("x.npy", npy(np.ones(4, dtype=np.float16)), "single or double precision"),
        ("x.npy", npy([1.0, np.nan]), "finite"),
        ("x.csv", b"", "is empty"),
        ("x.csv", b"1,two,3", "'two' in line 1"),
        ("x.csv", b"\xff\xfe\x00", "is no text"),
        ("x.csv", b"1," * 12_000 + b"1", "`values` must be at most 10,000"),
        ("x.csv", b"1\n" * 300_000, "`entries` must be at most 250,000"),
        ("x.npy", HUGE, "more than fits the memory"),
        ("x.csv", b"0" * 17_000_000, "`upload` must be at most 16,000,000"),
    ],
)
def test_a_broken_file_is_a_sentence(client, name, content, words):
    answer = client.post(f"/values?name={name}&of=eigenvalues", content=content)
    assert answer.status_code in {413, 422}
    assert words in answer.json()["message"]


def test_a_matrix_without_symmetry_is_read_for_singular_values_and_a_rectangular_one_refused(client):
    square = np.diag([3.0, 1.0, 2.0])
    told = client.post("/values?name=m.npy&of=singular%20values", content=npy(square)).json()
    assert sorted(told["values"]) == [1, 2, 3]
    wide = client.post("/values?name=m.npy&of=singular%20values", content=npy(np.ones((2, 4))))
    assert "2 x 4: its aspect" in wide.json()["message"]


CURVE = {"x": [0.1, 1.0, 10.0], "y": [1.0, None, 0.2], "bar": [0.1, None, 0.0], "label": "noise 0.5", "dashed": False}
SCREEN = {
    "title": "attention, $5 of noise",
    "panels": [
        {
            "kind": "curves",
            "xlabel": "samples",
            "ylabel": "test error",
            "xlog": True,
            "ylog": False,
            "curves": [{**CURVE, "trained": False}, {**CURVE, "trained": True}],
            "marks": [{"label": "interpolation", "at": 0.5}],
        },
        {
            "kind": "map",
            "xlabel": "x",
            "ylabel": "y",
            "xlog": True,
            "ylog": False,
            "x": [1.0, 2.0],
            "y": [0.0, 1.0],
            "values": [[1.0, 2.0], [None, 4.0]],
            "label": "rank",
        },
    ],
}


@pytest.mark.parametrize(("kind", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_what_is_on_the_screen_is_drawn(client, tab, kind, begins):
    told = of_kind(tab.ask("point"), "point")[-1]
    spectrum = {"kind": "spectrum", "spectrum": told["spectrum"], "target": told["target"], "words": "eigenvalues"}
    steps = {"edges": [0.0, 1.0, 2.0], "heights": [0.2, 0.1], "zero": 0.7, "label": "trained, d = 20"}
    screen = {**SCREEN, "panels": [*SCREEN["panels"], {**spectrum, "histogram": steps}]}
    answer = client.post(f"/picture?format={kind}", content=json.dumps(screen))
    assert answer.status_code == 200
    assert answer.content.startswith(begins)
    assert f"presage.{kind}" in answer.headers["content-disposition"]
    if kind == "svg":
        assert b"noise 0.5" in answer.content or b"<path" in answer.content


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "must bring JSON"),
        (b"[]", "A picture is drawn of panels"),
        (b'{"panels": [{"kind": "pie"}]}', "A picture is drawn of panels"),
        (b'{"panels": [{"kind": "curves"}]}', "A picture is drawn of panels"),
        (b'{"panels": []}', "`panels` must be"),
        (json.dumps({"panels": [{"kind": "pie"}] * 7}).encode(), "`panels` must be at most 6"),
        (json.dumps({"panels": [{"kind": "curves", "marks": [], "curves": [{}] * 99}]}).encode(), "at most 24"),
        (json.dumps({"panels": [{"kind": "map", "x": ["a"], "y": [1]}]}).encode(), "A picture is drawn of panels"),
        (json.dumps({"panels": [{"kind": "map", "values": [0.0] * 300_000}]}).encode(), "`drawn` must be at most"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(client, content, words):
    answer = client.post("/picture?format=png", content=content)
    assert answer.status_code in {413, 422}
    assert words in answer.json()["message"]
    assert "png or svg" in client.post("/picture?format=exe", content=content).json()["message"]


def test_every_published_figure_is_listed_drawn_and_handed_over(client, tab):
    listed = client.get("/figures").json()
    assert [one["name"] for one in listed] == ps_figures()
    name = "quadratic-curve"
    assert client.get(f"/figures/{name}.png").content.startswith(b"\x89PNG")
    assert client.get(f"/figures/{name}").json().keys() == {"caption", "details"}
    assert "There is no figure" in client.get("/figures/unknown").json()["message"]
    (one,) = [one for one in listed if one["name"] == name]
    handed = one["problems"][0]
    assert not of_kind(tab.ask("point", handed["model"], handed["fields"]), "error")


def ps_figures():
    from presage.figures import catalogue

    return catalogue.names()


def test_too_many_pages_are_told_so(client, monkeypatch):
    monkeypatch.setattr("presage.page.app.BOUNDS", {**BOUNDS, "tabs": replace_most(BOUNDS["tabs"], 1)})
    with client.tab() as first:
        assert first.ask("point")
        with client.tab() as second:
            assert "Close one." in second.hear()["message"]


def replace_most(bound, most):
    return bound._replace(most=most)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ANYTHING
    | st.fixed_dictionaries(
        {
            "id": st.integers(),
            "ask": st.sampled_from(("point", "curve", "map", "take")),
            "model": st.sampled_from(("attention", "x")) | ANYTHING,
            "fields": ANYTHING
            | st.dictionaries(st.sampled_from(("alpha", "target", "noise")), st.text(max_size=12), max_size=3),
        },
        optional={"along": ANYTHING, "points": ANYTHING, "low": ANYTHING, "high": ANYTHING, "across": ANYTHING},
    )
)
def test_a_thousand_malformed_messages_leave_it_alive(malformed, said):
    malformed.send(json.dumps(said))


@pytest.fixture
def malformed(client):
    with client.tab() as one:
        yield one
        assert of_kind(one.ask("point", fields={**FIELDS, "alpha": "0.91"}), "point")


def nested(depth):
    return json.loads("[" * depth + "]" * depth)


@pytest.mark.parametrize("depth", [9, 100, 880, 5000])
def test_lists_in_lists_in_lists_are_refused_and_nothing_is_lost(client, tab, depth):
    tab.send('{"id": 1, "ask": "take", "model": "attention", "fields": {}, "x": ' + "[" * depth + "]" * depth + "}")
    while (said := tab.hear())["kind"] != "error":
        pass
    assert "must be a JSON object" in said["message"]
    for _ in range(4):
        refused = client.post("/picture", '{"panels": ' + "[" * depth + "]" * depth + "}")
        assert (refused.status_code, "must bring JSON" in refused.text) == (422, True)
    assert of_kind(tab.ask("point", fields={**FIELDS, "alpha": "0.92"}), "point")


def test_bytes_are_no_question_and_are_told_so(tab):
    tab.send(b"\x00\xff")
    while (said := tab.hear())["kind"] != "error":
        pass
    assert "must be a JSON object" in said["message"]
    assert of_kind(tab.ask("point"), "point")


def test_no_process_is_said_to_be_killed_while_sliders_are_dragged(client):
    with client.tab() as one, client.tab() as two:
        for index in range(80):
            for number, tab in enumerate((one, two)):
                tab.say("point", fields={**FIELDS, "alpha": str(0.2 + index / 100 + number / 1000)})
            time.sleep(0.004 * (index % 7))
        for number, tab in enumerate((one, two)):
            last = tab.say("point", fields={**FIELDS, "alpha": str(3.0 + number)})
            heard: list[dict[str, Any]] = []
            while not heard or heard[-1]["id"] != last or heard[-1]["kind"] != "end":
                heard.append(tab.hear())
            assert not of_kind(heard, "error")


def test_a_map_of_a_long_list_takes_little_memory(client, tab):
    values = ",".join(map(repr, np.linspace(0.1, 3.0, 5000).tolist()))
    fields = {**FIELDS, "target": f"masses:{values}"}
    before = psutil.Process().memory_info().rss
    ranges = {"across_range": [0.1, 10.0], "up_range": [1e-3, 1.0]}
    number = tab.say("map", "quadratic", fields, across="alpha", up="weight_decay", side=60, **ranges)
    while tab.hear()["kind"] != "cells":
        pass
    assert psutil.Process().memory_info().rss - before < 50e6
    tab.say("stop", what="map")
    assert tab.until_end(number)[-1]["stopped"] is True
    assert client.app.state.remembered.size < 64e6


@pytest.mark.slow
def test_memory_stays_bounded_over_many_questions(client, tab):
    tab.ask("point", fields={**FIELDS, "alpha": "0.3"})
    before = psutil.Process().memory_info().rss
    for index in range(100):
        tab.ask("point", "diagonal", {"alpha": str(0.3 + index / 1000)})
    assert psutil.Process().memory_info().rss - before < 50e6


def test_what_is_known_against_a_curve_is_said_of_which(tab):
    clean = {**FIELDS, "noise": "0"}
    said = tab.ask("curve", "quadratic", clean, along="alpha", low=0.5, high=5.0, points=3, beside=["ridgeless"])
    last = of_kind(said, "caveats")[-1]["caveats"]
    assert any(line.startswith("vanishing regularisation: ") for line in last)
    ranges = {"across_range": [0.1, 10.0], "up_range": [0.1, 1.0]}
    rough = of_kind(tab.ask("map", across="alpha", up="noise", side=2, **ranges), "caveats")[-1]["caveats"]
    assert rough[0].startswith("A map is of drafts")


def test_work_is_not_started_for_a_page_elsewhere(client):
    elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert client.get("/figures/quadratic-curve.png", elsewhere).status_code == 403
    assert client.get("/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200
    assert client.get("/models", {"sec-fetch-site": "same-origin"}).status_code == 200
    assert client.get("/", {"origin": "http://["}).status_code == 403
