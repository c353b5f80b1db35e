"""`presage trajectory`: what the library says of every step: a table, JSON and CSV, a picture, networks beside it."""

from __future__ import annotations

import pytest

import presage as ps
from tests.cli.test_cli import from_csv, from_json, picture, run

NETWORK = ("--model", "quadratic", "--noise", "0.5", "--weight-decay", "0.1", "--alpha", "1")
KNOWN = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5)


def test_it_is_what_the_library_says():
    found, own = from_json("trajectory", *NETWORK, "--steps", "5"), ps.trajectory(KNOWN, steps=5)
    assert found["trainer"] == "PlainAMP(steps=5)"
    for name in own.meanings:
        assert found["columns"][name] == pytest.approx(own.column(name).tolist())
    assert found["caveats"] == list(own.caveats)
    rows = from_csv("trajectory", *NETWORK, "--steps", "5")
    assert [float(row["rank"]) for row in rows] == pytest.approx(own.rank.tolist())
    assert "at 6 times, up to step 5 of PlainAMP(steps=5)" in " ".join(
        run("trajectory", *NETWORK, "--steps", "5").stdout.split()
    )


def test_networks_are_set_beside_it(tmp_path):
    place = tmp_path / "way.png"
    arguments = ("trajectory", *NETWORK, "--steps", "4", "--d", "20,40", "--seeds", "3", "--workers", "1")
    found = from_json(*arguments)
    own = ps.trajectory(KNOWN, steps=4)
    networks = [ps.simulate(KNOWN, d=d, seeds=3, trainer=own.trainer, keep="trajectory", processes=1) for d in (20, 40)]
    compared = ps.compare(own, *networks)
    assert found["agrees"] is compared.agrees
    assert found["columns"]["rank_z"] == pytest.approx(compared.column("rank_z").tolist())
    words = " ".join(run(*arguments, "--plot", str(place)).stdout.split())
    assert "beside networks of d = 20 and 40" in words
    assert "where agreement ends" in words
    picture(place)


def test_long_ways_are_thinned_on_the_screen_alone():
    out = run("trajectory", *NETWORK, "--steps", "60").stdout
    assert "one step of 3 is shown: --csv and --json have all 61" in " ".join(out.split())
    assert len(from_csv("trajectory", *NETWORK, "--steps", "60")) == 61


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--steps", "0"), "`--steps` must be a whole number >= 1 and <= 1000"),
        (("--seeds", "50"), "`--seeds` is for networks, and none are trained. Add --d 50,100"),
        (("--workers", "2"), "`--workers` is for networks, and none are trained. Add --d 50,100"),
        (("--d", "20", "--seeds", "1"), "`--seeds` must be at least 2 here"),
        (("--d", "20,x"), "`--d` must be whole numbers"),
        (("--json", "--csv"), "exclude each other"),
        (("--model", "hardmax"), "--model hardmax has no `presage trajectory`: its output has no slope"),
        (("--model", "pooling"), "--model pooling has no `presage trajectory`"),
        (("--weight-decay", "0"), "`--weight-decay` must be above 0 here"),
    ],
)
def test_mistakes_are_told(arguments, sentence):
    assert sentence in " ".join(run("trajectory", *arguments, code=2).stderr.split())


def test_what_plays_no_part_is_told():
    found = from_json("trajectory", "--model", "bilinear", "--weight-decay", "0.1", "--steps", "2")
    assert "--weight-decay plays no part in the steps of the training." in found["caveats"]


def test_a_trainer_is_followed_by_its_name_and_numbers():
    arguments = ("trajectory", "--model", "boltzmann", "--steps", "3")
    found = from_json(*arguments, "--trainer", "amp:m_0=0.4,q_0=1")
    assert found["trainer"].startswith("BoltzmannAMP(m_0=0.4, q_0=1.0,")
    own = ps.trajectory(ps.boltzmann(alpha=4.0, signal=1.5), steps=3, trainer=ps.BoltzmannAMP(m_0=0.4, q_0=1.0))
    assert found["columns"]["overlap"] == pytest.approx(own.overlap.tolist())
    for wrong in ("amp:speed=3", "amp:m_0", "amp:m_0=1,m_0=2"):
        said = " ".join(run(*arguments, "--trainer", wrong, code=2).stderr.split())
        assert "`--trainer` must be amp and numbers of it, each once: m_0, q_0" in said
    assert "must be one of lbfgs, amp, descent" in run(*arguments, "--trainer", "adam", code=2).stderr
    assert "these are the ways that are known step by step" in " ".join(
        run(*arguments, "--trainer", "lbfgs", code=2).stderr.split()
    )
    said = " ".join(run("trajectory", "--trainer", "amp", code=2).stderr.split())
    assert "`--trainer` must be one of plain-amp, population-flow, population-descent, matrix-flow" in said


FLOW = ("trajectory", "--model", "quadratic", "--target", "power:1,20", "--steps", "4")


def test_flows_are_followed_by_their_names_and_numbers(tmp_path):
    place = tmp_path / "flow.png"
    arguments = (*FLOW, "--trainer", "population-flow:eps=1e-4,until=30")
    found = from_json(*arguments)
    problem = ps.quadratic_network(ps.PowerLaw(1.0, 20), alpha=0.5, weight_decay=0.01)
    own = ps.trajectory(problem, steps=4, trainer=ps.PopulationFlow(eps=1e-4, until=30.0))
    assert found["trainer"] == str(own.trainer)
    assert found["columns"]["time"] == pytest.approx(own.times.tolist())
    assert found["columns"]["local_exponent"] == pytest.approx(own.local_exponent.tolist())
    assert any("alpha and the weight decay play no part" in line for line in found["caveats"])
    words = " ".join(run(*arguments, "--plot", str(place)).stdout.split())
    assert "up to time 30 of PopulationFlow(eps=0.0001" in words
    picture(place)


def test_networks_flow_beside_it():
    arguments = ("trajectory", "--model", "unfactorized-linear", "--ridge", "0", "--noise", "0.5", "--steps", "3")
    found = from_json(*arguments, "--trainer", "matrix-flow:until=10", "--d", "12,24", "--seeds", "4", "--workers", "1")
    assert found["agrees"] is True
    assert set(found["columns"]) >= {"train_error_z", "test_error_z", "estimation_error_z"}
    found = from_json(
        "trajectory", "--model", "bilinear", "--steps", "3", "--trainer", "matrix-descent:rate=0.1,until=9"
    )
    assert found["columns"]["time"] == [0.0, 1.0, 3.0, 9.0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--trainer", "matrix-flow"), "must have a Frobenius penalty here"),
        (("--trainer", "population-flow:eps=0"), "`eps` must be a finite number > 0"),
        (("--trainer", "population-flow:eps=1,deviation=1"), "must be left out beside a deviation"),
        (("--trainer", "population-flow:until=1,first=2"), "must be before the last time"),
        (("--trainer", "population-descent:rate=5", "--steps", "60"), "Use a smaller rate, below 0.283"),
    ],
)
def test_mistakes_about_flows_are_told(arguments, sentence):
    code = 1 if "population-descent:rate=5" in arguments else 2
    flow = FLOW[:-2] if "--steps" in arguments else FLOW
    assert sentence in " ".join(run(*flow, *arguments, code=code).stderr.split())
