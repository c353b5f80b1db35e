"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage import demo

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_block_of_code_is_run_below():
    assert len(re.findall(r"```python\n", README)) == 2


def test_the_three_lines_print_what_the_readme_shows(capsys):
    code = re.search(r"```python\n(import.*?)```", README, re.DOTALL)
    shown = re.search(r"```\n(test_error  .*?)```", README, re.DOTALL)
    assert code
    assert shown
    exec(code.group(1), {})
    printed = capsys.readouterr().out.split("\n")
    for ours, theirs in zip(printed, shown.group(1).split("\n"), strict=True):
        if not theirs:
            continue
        name, value, _, bar = ours.split()
        name_shown, value_shown, _, bar_shown = theirs.split()
        assert name == name_shown
        assert float(value) == pytest.approx(float(value_shown), abs=2 * float(bar_shown))
        assert float(bar) == pytest.approx(float(bar_shown), rel=0.5)


def test_every_file_that_the_readme_links_to_exists():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 10
    for link in links:
        assert (ROOT / link).is_file(), link


def test_the_demo_draws_and_prints(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "ALPHAS", np.geomspace(0.1, 10.0, 4))
    monkeypatch.setattr(demo, "TRAINED", dict.fromkeys(demo.SHOWN, 2))
    out = tmp_path / "picture.png"
    demo.main(["--out", str(out), "--d", "12"])
    assert out.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
    printed = capsys.readouterr().out
    assert "training 8 networks of d = 12" in printed
    assert re.search(r"0\.5 +0\.13599, 0\.\d{5} \+- 0\.\d{5}", printed)


NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"


def test_training_beside_it_agrees_as_the_readme_shows_line_by_line(capsys):
    first, second = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[:2]
    shown = re.search(r"```\n(test_error: .*?)\n```", README, re.DOTALL)
    assert shown
    names: dict = {}
    exec(first, names)
    capsys.readouterr()
    exec(second, names)
    printed, shown_lines = capsys.readouterr().out.splitlines(), shown.group(1).splitlines()
    # Nothing is left out: a line for each observable that is compared, and one for the spectrum of each size.
    solution = ps.solve(names["problem"])
    assert [line.split(":")[0] for line in shown_lines] == [
        *solution.compared,
        "spectrum at d = 40",
        "spectrum at d = 80",
    ]
    # Other libraries of linear algebra end the training at the same minimum, with other last digits: numbers are near,
    # error bars of the same size, and z, a small difference, may move a little.
    near: dict[str, dict[str, Any]] = {"": {"rel": 0.02}, "+- ": {"rel": 0.5}, "z = ": {"abs": 0.3}}
    for ours, theirs in zip(printed, shown_lines, strict=True):
        assert re.sub(NUMBER, "#", ours) == re.sub(NUMBER, "#", theirs)
        found = [re.findall(rf"(\+- |z = |)({NUMBER})", line) for line in (ours, theirs)]
        for (kind, mine), (same, written) in zip(*found, strict=True):
            assert kind == same
            assert float(mine) == pytest.approx(float(written), **near[kind]), theirs


def test_what_the_readme_compares_agrees_comfortably():
    shown = re.search(r"```\n(test_error: .*?)\n```", README, re.DOTALL)
    assert shown
    scores = [float(z) for z in re.findall(r"\(z = ([-+\d.]+)\)", shown.group(1))]
    assert len(scores) == 5
    assert max(map(abs, scores)) < 1.5
    assert shown.group(1).count("they agree.") == 5
    assert "caveat" not in shown.group(1)


@pytest.mark.slow
def test_the_first_point_of_the_readme_agrees_less_comfortably_as_it_says():
    said = re.search(r"each of d = 50 and 100 have a rank that is\s+([\d.]+) standard errors low", README)
    code = re.search(r"```python\n(import.*?)print", README, re.DOTALL)
    assert said
    assert code
    names: dict = {}
    exec(code.group(1), names)
    problem = names["problem"]
    compared = ps.compare(ps.solve(problem), *(ps.simulate(problem, d=d, seeds=8) for d in (50, 100)))
    assert -compared["rank"].z == pytest.approx(float(said.group(1)), abs=0.3)
    assert compared.agrees


def test_the_demo_refuses_a_dimension_that_takes_hours(tmp_path, capsys):
    with pytest.raises(SystemExit):
        demo.main(["--d", "5000"])
    assert "--d must be between 10 and 400" in capsys.readouterr().err


def test_the_demo_refuses_a_folder_that_does_not_exist(tmp_path, capsys):
    with pytest.raises(SystemExit):
        demo.main(["--out", str(tmp_path / "nowhere" / "x.png")])
    assert "in a folder that exists" in capsys.readouterr().err
