"""A file of weights in a real browser: dropped, shown as a map, a head by a click, and what is missing asked for."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest

from tests.page import browser
from tests.page.test_serve import started

pytestmark = [pytest.mark.slow, pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as (_, address):
        window = browser.Browser(tmp_path_factory.mktemp("browser"))
        window.resize(1440, 1400)
        window.open(f"{address}#model=attention&noise=0.5")
        yield window
        assert window.complaints() == []
        window.end()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(0)
    names = [f"encoder.layer.{n}.attention.self.{one}.weight" for n in range(2) for one in ("query", "key")]
    arrays: dict[str, Any] = {name: rng.standard_normal((96, 120)) for name in names}
    np.savez(folder / "model.npz", **arrays)
    np.savez(folder / "another.npz", **arrays)
    config = {"model_type": "bert", "num_attention_heads": 4, "hidden_size": 120}
    (folder / "config.json").write_text(json.dumps(config))
    arrays = {name: W for name, W in arrays.items() if ".0." in name}
    arrays["encoder.layer.0.attention.self.query.weight"][:24] = 0.0
    np.savez(folder / "zeros.npz", **arrays)
    for name in ("tokenizer.json", "model.safetensors.index.json"):
        (folder / name).write_text("{}")
    return folder


def until(page, script, wanted):
    for _ in range(300):
        if page.js(script) == wanted:
            return
        time.sleep(0.1)
    assert page.js(script) == wanted


def test_a_file_becomes_a_map_of_heads(page, files):
    page.one("#to-weights").click()
    assert page.js("return document.getElementById('weights-panel').open")
    page.one("#weights-file").send_keys(str(files / "model.npz"))
    until(page, "return document.activeElement.id", "weights-heads")  # no configuration: it is asked for
    assert "heads" in page.text("#weights-message")
    page.one("#weights-file").send_keys(str(files / "config.json"))
    until(page, "return document.querySelectorAll('#weights-map .head').length", 8)
    page.js("document.querySelectorAll('#weights-map .head')[6].click()")
    assert page.text("#weights-head") == "layer 1 head 2: random"
    assert "nothing tells it from random factors" in page.text("#weights-sentence")
    assert page.js("return document.querySelectorAll('#weights-spectrum circle').length") == 24
    page.resize(400, 900)
    assert page.js("return document.documentElement.scrollWidth <= innerWidth + 1")
    page.resize(1440, 1400)


def test_another_file_has_a_configuration_of_its_own(page, files):
    page.one("#weights-file").send_keys(str(files / "another.npz"))
    until(page, "return document.getElementById('weights-name').textContent", "another.npz")
    until(page, "return document.getElementById('weights-state').textContent", "")
    assert "heads" in page.text("#weights-message")
    assert not page.one("#weights-found").is_displayed()  # the map of the file before is gone
    page.one("#weights-heads").send_keys("2")
    page.one("#weights-read").click()
    until(page, "return document.querySelectorAll('#weights-map .head').length", 4)


def test_a_head_of_zeros_is_not_coloured_as_random(page, files):
    """A head without a stable rank has no colour of the scale; its picture and its words say why."""
    page.js("document.getElementById('weights-heads').value = ''")
    page.one("#weights-file").send_keys(f"{files / 'zeros.npz'}\n{files / 'config.json'}")
    until(page, "return document.querySelectorAll('#weights-map .head.zero').length", 1)
    assert page.js(
        "return [...document.querySelectorAll('#weights-map .head')].map((one) => one.classList.contains('zero'))"
    ) == [True, False, False, False]
    assert page.js("return document.querySelector('#weights-map .head').style.background") == ""
    assert "all its values are zero" in page.js("return document.querySelector('#weights-map .head').title")
    page.js("document.querySelectorAll('#weights-map .head')[0].click()")
    assert page.js("return document.querySelectorAll('#weights-spectrum circle').length") == 0
    assert page.js("return document.querySelector('#weights-spectrum text').textContent") == "all its values are zero"


def test_no_other_json_is_a_configuration(page, files):
    for name, said in (("tokenizer.json", "must be called config.json"), ("model.safetensors.index.json", "several")):
        page.one("#weights-file").send_keys(f"{files / 'model.npz'}\n{files / name}")
        assert said in page.text("#weights-message")
        assert name in page.text("#weights-message")
        assert page.text("#weights-name") == "zeros.npz and config.json"  # what was there stays


def test_two_files_are_too_many(page, files):
    page.one("#weights-file").send_keys(f"{files / 'model.npz'}\n{files / 'another.npz'}")
    assert "Drop one file of weights" in page.text("#weights-message")


def test_reading_is_cancelled(page, files):
    page.js("window.answering = window.fetch")  # a server that never answers:
    page.js("window.fetch = (_, { signal }) => new Promise((_, no) => signal.addEventListener('abort', no))")
    page.one("#weights-read").click()
    page.one("#weights-cancel").click()
    until(page, "return document.getElementById('weights-message').textContent", "Cancelled.")
    assert page.text("#weights-state") == ""
    page.js("window.fetch = window.answering")
