"""`presage page` as a program: where it is, how it ends, and what it says when it cannot begin."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import psutil
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from presage.page.serve import serve
from tests.cli.test_cli import run
from tests.cli.test_model_of_a_user import MODULE
from tests.page.conversation import FIELDS, Tab, of_kind

PROGRAM = [sys.executable, "-m", "presage", "page", "--no-browser"]
ADDRESS = re.compile(r"presage is at (http://\S+/) \(Ctrl-C ends it\)")


@contextmanager
def started(folder, *options, fresh=False):
    """The program, and the address that it prints; it is ended in any case. A `fresh` one has nothing compiled yet."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(folder / "compiled")} if fresh else {})}
    program = subprocess.Popen(
        [*PROGRAM, *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,  # a group of its own, which Ctrl-C of a terminal reaches as a whole
    )
    try:
        assert program.stdout is not None
        found = ADDRESS.search(program.stdout.readline())
        assert found is not None
        yield program, found[1]
    finally:
        program.kill()
        program.communicate()


@contextmanager
def connected(address):
    """An open page."""
    with connect(address.replace("http", "ws") + "ws", origin=Origin(address.rstrip("/"))) as line:
        yield Tab(line)


def processes_of(program):
    return psutil.Process(program.pid).children(recursive=True)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent in another way there")
def test_it_is_at_a_free_port_of_this_machine_and_ctrl_c_ends_all_of_it(tmp_path):
    with started(tmp_path) as (program, address), started(tmp_path) as (_, other):
        assert address.startswith("http://127.0.0.1:")
        assert other != address
        assert b"presage" in urllib.request.urlopen(address, timeout=20).read()
        interrupted(program)
    assert os.listdir(tmp_path) == []  # nothing is written


def interrupted(program):
    """Ctrl-C as a terminal sends it; nothing is said, and nothing is left."""
    children = processes_of(program)
    assert children
    os.killpg(program.pid, signal.SIGINT)
    said, wrong = program.communicate(timeout=20)
    assert (program.returncode, said, wrong) == (0, "", "")
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent in another way there")
@pytest.mark.parametrize("wait", [0.0, 0.3, 1.0])
def test_ctrl_c_ends_it_also_while_it_prepares_itself(tmp_path, wait):
    with started(tmp_path, fresh=True) as (program, address):
        assert b"presage" in urllib.request.urlopen(address, timeout=20).read()  # the page is there from the first
        time.sleep(wait)
        interrupted(program)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent in another way there")
def test_ctrl_c_ends_it_also_while_it_computes(tmp_path):
    with started(tmp_path) as (program, address), connected(address) as tab:
        tab.say("train", d=[300], seeds=64, trainer="adam")
        tab.say("curve", fields={**FIELDS, "n_tokens": "8"}, along="alpha", low=0.05, high=5.0, points=20)
        while tab.hear()["kind"] != "axis":
            pass
        interrupted(program)


def test_a_port_that_is_taken_is_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("page", "--no-browser", "--port", str(port), code=2)
    assert f"cannot be at --host 127.0.0.1 --port {port}" in done.stderr
    assert "Leave --port out" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--port", "70000"), "must be from 0 to 65535"),
        (("--port", "any"), "must be a whole number"),
        (("--model", "nothing:here"), "names the module nothing"),
        (("--host", "no.such.host.invalid"), "cannot be at --host no.such.host.invalid"),
    ],
)
def test_a_mistake_is_a_sentence(arguments, words):
    assert words in run("page", "--no-browser", *arguments, code=2).stderr


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "websockets"])
def test_without_its_packages_it_says_how_to_have_them(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    done = run("page", "--no-browser", code=1)
    assert f"The page needs the package {package}. Run: pip install fastapi uvicorn websockets" in done.stderr


def test_the_browser_is_opened_unless_one_says_no(monkeypatch):
    import uvicorn

    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: None)
    said: list[str] = []
    serve(said.append, browser=False)
    assert not opened
    serve(said.append)
    assert [f"presage is at {address} (Ctrl-C ends it)" for address in opened] == said[-1:]
    serve(said.append, host="0.0.0.0", browser=False)
    assert "Everybody who reaches this machine" in said[-1]


@pytest.mark.slow
def test_a_model_of_ones_own_is_on_the_page(tmp_path):
    (tmp_path / "shrink.py").write_text(MODULE, encoding="utf-8")
    with started(tmp_path, "--model", "shrink:Mean") as (_, address):
        menu = json.loads(urllib.request.urlopen(f"{address}models", timeout=20).read())
        assert menu["default"] == "shrink:Mean"
        own = menu["models"][-1]
        assert [field["name"] for field in own["fields"]] == ["alpha", "shrinkage"]
        assert (own["trainers"], own["untrainable"]) == ([], None)
        with connected(address) as tab:
            said = tab.ask("point", "shrink:Mean", {"alpha": "2", "shrinkage": "0.5"})
            (answer,) = of_kind(said, "point")
            assert [row["name"] for row in answer["rows"]] == ["estimation_error"]
            assert answer["spectrum"] is None
            assert of_kind(tab.ask("train", "shrink:Mean", {}, d=[30], seeds=4, trainer=None), "comparison")
            text = tab.ask("take", "shrink:Mean", {})[0]["texts"][0]
            assert "from shrink import Mean" in text["python"]
