"""The page in a real browser: sliders, numbers, curves, maps, training, links, files, and a server that goes away."""

from __future__ import annotations

import json
import signal
import time

import numpy as np
import pytest

import presage as ps
from tests.page import browser
from tests.page.test_serve import started

pytestmark = [pytest.mark.slow, pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))]

START = "model=attention&noise=0.5"
LAWS = "return [...document.querySelectorAll('[data-field=target] select option')].map(o => [o.value, o.textContent])"
PROBLEM = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as (_, found):
        yield found


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    one = browser.Browser(tmp_path_factory.mktemp("browser"))
    yield one
    one.end()


@pytest.fixture
def page(window, address):
    window.resize(1440, 900)
    window.prefer("light")
    window.open(f"{address}#{START}")
    yield window
    assert window.complaints() == []


def refined_number(problem, name="test_error"):
    from presage.protocol.numbers import MOST_DIGITS, Measured, cells

    solution = ps.solve(problem)
    value, bar = cells(Measured(getattr(solution, name), solution.error_bars[name]))
    return (value if isinstance(value, str) else value(MOST_DIGITS)), bar


def test_the_numbers_on_the_page_are_those_of_solve(page):
    for name in ("test_error", "train_loss", "rank"):
        value, bar = refined_number(PROBLEM, name)
        assert page.value(name) == value
        assert bar in page.text(f"[data-observable={name}] .bar")
    page.curve_done()
    page.shoot("page-light")


def test_a_slider_moves_the_numbers(page):
    page.slide("alpha", 0.7)
    shown = page.refined()
    alpha = float(shown["asked"]["fields"]["alpha"])
    assert alpha > 2.0
    assert page.value("test_error") == refined_number(PROBLEM.replace(alpha=alpha))[0]
    assert f"alpha={alpha:g}" in page.js("return location.hash")


def test_a_typed_value_is_taken_as_it_is_also_beyond_the_slider(page):
    page.field("alpha", "123.456")
    page.refined()
    assert page.value("rank") == refined_number(PROBLEM.replace(alpha=123.456), "rank")[0]
    slider = "return Number(document.querySelector('[data-field=alpha] input[type=range]').value)"
    assert page.js(slider) > 0


def test_while_a_slider_is_dragged_the_page_redraws_and_the_end_is_not_stale(page):
    before = page.js("return window.presage.redraws")
    for part in np.linspace(0.2, 0.8, 60):
        page.slide("alpha", float(part))
        time.sleep(0.02)
    shown = page.refined()
    assert page.js("return window.presage.redraws") - before >= 10
    text = page.js("return document.querySelector('[data-field=alpha] input[type=text]').value")
    assert shown["asked"]["fields"]["alpha"] == text
    assert page.value("test_error") == refined_number(PROBLEM.replace(alpha=float(text)))[0]


def test_two_atoms_are_chosen_and_a_wrong_weight_is_a_sentence(page):
    two = next(value for value, words in page.js(LAWS) if "two" in words)
    page.choose("[data-field=target] select", two)
    page.until(lambda: page.shown["asked"]["fields"]["target"].startswith("masses:"), "two atoms")
    boxes = page.js("return document.querySelectorAll('[data-field=target] input[type=text]').length")
    assert boxes >= 3
    page.js(
        """
        const box = [...document.querySelectorAll('[data-field=target] input[type=text]')].find(one =>
            one.closest('[data-number]')?.textContent.includes('weight'));
        box.value = 'abc';
        for (const kind of ['input', 'change']) box.dispatchEvent(new Event(kind, {bubbles: true}));
        """
    )
    page.until(lambda: "must be a number" in page.text("[data-field=target]"), "the sentence")
    assert "NaN" not in page.js("return location.hash")


def test_a_wrong_value_is_a_sentence_at_its_field_and_the_numbers_stay(page):
    before = page.value("test_error")
    page.field("alpha", "-3")
    page.until(lambda: "must be a finite number > 0" in page.text("[data-field=alpha]"), "the sentence")
    assert page.value("test_error") == before
    page.field("alpha", "0.5")
    page.until(lambda: "must be" not in page.text("[data-field=alpha]"), "that the sentence goes")


def test_every_model_in_the_menu_is_shown(page):
    names = page.js("return [...document.querySelector('#model').options].map(option => option.value)")
    assert len(names) > 8
    for name in names:
        page.choose("#model", name)
        page.until(lambda name=name: page.shown.get("asked", {}).get("model") == name, name)
        page.refined()
        assert page.text("#model-words")
        assert page.js("return document.querySelectorAll('#observables tr').length") > 1, name


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        ("power", ps.PowerLaw(1.25, 400)),
        ("semicircle", ps.Semicircle(1.0, 3.0)),
        ("mp", ps.MarchenkoPastur(0.5)),
    ],
)
def test_the_law_of_the_target_is_chosen(page, kind, law):
    page.choose("[data-field=target] select", kind)
    page.until(lambda: page.shown["asked"]["fields"]["target"].startswith(kind), kind)
    page.refined()
    assert page.value("test_error") == refined_number(PROBLEM.replace(target=law))[0]


def test_a_list_is_pasted_and_a_file_dropped(page, tmp_path):
    a_list = next(value for value, words in page.js(LAWS) if "list" in words)
    page.choose("[data-field=target] select", a_list)
    page.type("#law-list", "0, 0, 1\n2", enter=False)
    page.js("document.querySelector('#law-list').dispatchEvent(new Event('change', {bubbles: true}))")
    page.until(lambda: page.shown["asked"]["fields"]["target"].startswith("masses:0,0,1,2"), "the pasted list")
    page.refined()
    expected = refined_number(PROBLEM.replace(target=ps.PointMasses([0.0, 0.0, 1.0, 2.0])))[0]
    assert page.value("test_error") == expected
    np.save(tmp_path / "values.npy", np.array([0.5, 1.5, 2.5]))
    page.one("#law-file").send_keys(str(tmp_path / "values.npy"))
    page.until(lambda: "0.5,1.5,2.5" in page.shown["asked"]["fields"]["target"], "the file")
    assert "3 eigenvalues from 0.5 to 2.5" in page.text("#law-message")
    page.choose("[data-field=target] select", "mp")
    page.until(lambda: page.shown["asked"]["fields"]["target"].startswith("mp"), "another law")
    page.choose("[data-field=target] select", a_list)  # what is in its box is asked for again
    page.until(lambda: page.shown["asked"]["fields"]["target"].startswith("masses"), "the list again")
    page.one("#law-file").send_keys(str(tmp_path / "values.npy"))
    page.until(lambda: "0.5,1.5,2.5" in page.shown["asked"]["fields"]["target"], "the file again")
    (tmp_path / "broken.npy").write_bytes(b"not an array")
    page.one("#law-file").send_keys(str(tmp_path / "broken.npy"))
    page.until(lambda: "broken.npy is not one" in page.text("#law-message"), "the sentence about a broken file")
    assert page.refined()["asked"]["fields"]["target"] == "masses:0.5,1.5,2.5"


def test_the_learning_curve_is_that_of_solve_with_its_thresholds(page):
    page.curve_done()
    curve = page.js("return window.presage.curve")
    x = np.array(curve["x"])
    assert x == pytest.approx(np.geomspace(0.02, 40.0, 40))
    for index in (0, 17, 39):
        solution = ps.solve(PROBLEM.replace(alpha=float(x[index])))
        assert curve["lines"]["here"][index]["test_error"][0] == pytest.approx(solution.test_error, rel=1e-8)
    assert "interpolation" in [mark["name"] for mark in curve["marks"]]


def test_a_curve_is_pinned_and_the_legend_says_what_differs(page):
    page.curve_done()
    page.click("#pin")
    page.field("noise", "0.1")
    page.refined()
    page.curve_done()
    assert "noise 0.5" in page.text("#curve-legend")
    assert "weight" not in page.text("#curve-legend")
    page.shoot("page-pinned", "#curve-panel")
    page.click("#clear-pins")
    assert "noise 0.5" not in page.text("#curve-legend")


def test_what_is_no_range_greys_the_curve_and_its_buttons(page):
    page.curve_done()
    page.type("#curve-low", "50")
    page.until(lambda: page.js("return document.querySelector('#curve').classList.contains('stale')"), "a grey curve")
    page.until(lambda: page.text("#curve-message"), "what is wrong")
    assert all(page.js("return document.querySelector(arguments[0]).disabled", one) for one in ("#pin", "#curve-png"))
    page.type("#curve-low", "0.05")
    page.curve_done()
    assert not page.js("return document.querySelector('#pin').disabled")


def test_a_whole_number_has_whole_places(page):
    page.choose("#curve-along", "n_tokens")
    page.type("#curve-low", "1.6")
    page.type("#curve-high", "2.4")
    page.until(lambda: page.js("return window.presage.curve?.along") == "n_tokens", "the curve along tokens")
    page.until(lambda: page.js("return window.presage.curve.x") == [2], "its only place")


def test_a_slider_returns_to_its_ends_after_a_value_beyond_them(page):
    part = "const s = document.querySelector('[data-field=noise] input[type=range]');"
    part += " return (s.value - s.min) / (s.max - s.min)"
    before = page.js(part)
    page.field("noise", "20")
    page.refined()
    page.field("noise", "0.5")
    page.refined()
    assert page.js(part) == pytest.approx(before)


def test_a_phase_diagram_fills_and_hands_its_place_over(page):
    page.choose("#model", "quadratic")
    page.until(lambda: page.shown.get("asked", {}).get("model") == "quadratic", "the model")
    page.click("#map-panel summary")
    page.until(lambda: page.js("return window.presage.map?.done"), "the whole map")
    found = page.js("return window.presage.map")
    assert all(cell["values"]["rank"] for row in found["cells"] for cell in row)
    page.shoot("page-map", "#map-panel")
    page.click("#map-canvas")
    page.until(lambda: page.shown["asked"]["fields"]["alpha"] != "0.5", "that the sliders follow")


def test_a_training_is_followed_step_by_step(page, address):
    page.click("#way-panel summary")
    page.type("#way-steps", "12")
    page.until(lambda: page.js("return window.presage.way?.times.length") == 13, "the steps")
    found = page.js("return window.presage.way")
    own = ps.trajectory(PROBLEM, steps=12)
    assert found["columns"]["test_error"][0] == pytest.approx(own.test_error.tolist(), rel=1e-8)
    page.until(lambda: "after 12 steps" in page.js("return document.querySelector('#way').ariaLabel"), "its words")
    page.shoot("page-way", "#way-panel")
    page.field("noise", "0.9")
    other = ps.trajectory(PROBLEM.replace(noise=0.9), steps=12).test_error[-1]
    last = "return window.presage.way.columns.test_error[0][12]"
    page.until(lambda: page.js(last) == pytest.approx(other, rel=1e-8), "that it follows the slider")
    link = page.js("return location.hash")
    assert "way.open=1" in link
    assert "way.steps=12" in link
    page.choose("#model", "quadratic")
    page.choose("#way-trainer", "population-flow")
    page.until(lambda: page.js("return window.presage.way?.clock") == "time of the flow, theta", "the flow")
    names = "return [...document.querySelector('#way-observable').options].map((one) => one.value)"
    assert page.js(names) == ["test_error", "estimation_error", "learned", "local_exponent"]
    page.type("#way-numbers", "eps=1e-4,until=10")
    page.until(lambda: page.js("return window.presage.way.times[12]") == 10, "its numbers")
    page.until(lambda: "after time 10" in page.js("return document.querySelector('#way').ariaLabel"), "its words")
    page.choose("#way-observable", "learned")
    assert "way.trainer=population-flow" in page.js("return location.hash")
    page.choose("#model", "pooling")
    page.until(lambda: page.js("return document.querySelector('#way-panel').hidden"), "that it is gone")


def test_networks_are_trained_beside_the_prediction_and_compared(page):
    page.type("#train-d", "30, 50", enter=False)
    page.type("#train-seeds", "4", enter=False)
    page.click("#train")
    page.until(lambda: "agree" in page.text("#verdict"), "the verdict")
    expected = ps.compare(ps.solve(PROBLEM), *(ps.simulate(PROBLEM, d=d, seeds=4) for d in (30, 50)))
    assert expected.rows[0].sentence in page.text("#verdict")
    assert "d = 50" in page.text("#spectrum-legend")
    page.curve_done()
    page.js("window.scrollTo(0, 0)")
    page.shoot("page-trained")


def test_networks_of_another_prediction_are_set_beside_that_one(page, address):
    page.open(f"{address}#model=quadratic&noise=0.5&weight_decay=0.1")
    page.choose("#train-trainer", "bayes-amp")
    page.type("#train-d", "30, 20, 30", enter=False)
    page.type("#train-seeds", "3", enter=False)
    page.click("#train")
    page.until(lambda: "agree" in page.text("#verdict"), "the verdict")
    assert page.text("#verdict").startswith("Beside the Bayes-optimal prediction")
    assert page.js("return window.presage.training.d") == [20, 30]
    assert "bayes-amp" in page.text("#curve-legend")
    assert "trained" not in page.text("#spectrum-legend")
    fits = "const box = document.querySelector('#comparison').parentElement; return box.scrollWidth - box.clientWidth"
    assert page.js(fits) <= 0
    verdict = page.text("#verdict")
    page.type("#train-d", "10, 11, 12, 13, 14", enter=False)
    page.click("#train")
    page.until(lambda: page.text("#train-message"), "what is wrong with five dimensions")
    assert page.text("#verdict") == verdict


def test_training_is_cancelled(page):
    page.type("#train-d", "400", enter=False)
    page.type("#train-seeds", "64", enter=False)
    page.click("#train")
    page.until(lambda: page.text("#train") == "Cancel", "that it trains")
    page.click("#train")
    page.until(lambda: page.text("#train") == "Train", "that it stops", 10.0)
    assert page.text("#verdict") == ""


def test_a_link_opens_the_same_again(page, address):
    page.open(f"{address}#{START}&curve.beside=")
    page.field("weight_decay", "0.07")
    page.choose("#curve-along", "noise")
    page.refined()
    page.until(lambda: "curve.along=noise" in page.js("return location.hash"), "the address")
    value, link = page.value("test_error"), page.js("return location.href")
    page.open(link)
    page.curve_done()
    assert page.value("test_error") == value == refined_number(PROBLEM.replace(weight_decay=0.07))[0]
    assert page.one("#curve-along").get_attribute("value") == "noise"


def test_python_and_command_are_handed_out(page):
    page.click("#take-panel summary")
    page.until(lambda: "presage solve --model attention" in page.text("#take-texts"), "the command")
    python = page.js(
        "return document.querySelector('#take-texts pre, #take-texts code, #take-texts textarea').textContent"
    )
    names: dict[str, object] = {}
    exec(python.replace("print(", "shown = ("), names)
    assert names["problem"] == PROBLEM


def test_files_are_handed_out(page):
    page.curve_done()
    for kind, begins in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        page.click(f"#curve-{kind}")
        files = page.until(lambda kind=kind: list(page.downloads.glob(f"*.{kind}")), kind)
        page.until(lambda files=files, begins=begins: files[0].read_bytes().startswith(begins), "the picture")
    page.click("#curve-csv")
    table = page.until(lambda: list(page.downloads.glob("*.csv")), "the table")[0]
    page.until(lambda: table.stat().st_size > 1000, "all of the table")
    head, first, *_ = table.read_text().splitlines()
    row = dict(zip(head.split(","), first.split(","), strict=True))
    assert float(row["alpha"]) == pytest.approx(0.02)
    name = next(
        column for column in row if column.endswith("test_error") and "bayes" not in column and "ridge" not in column
    )
    expected = ps.solve(PROBLEM.replace(alpha=float(row["alpha"]))).test_error
    assert float(row[name]) == pytest.approx(expected, rel=1e-8)  # in full, and not in the digits of the screen
    page.click("#take-panel summary")
    page.click("#take-json")
    whole = page.until(lambda: list(page.downloads.glob("*.json")), "the numbers")[0]
    page.until(lambda: whole.stat().st_size > 1000, "all of them")
    assert "attention" in json.dumps(json.loads(whole.read_text()))


def test_the_living_papers_hand_their_problems_to_the_sliders(page):
    page.click("#papers-panel summary")
    page.until(lambda: page.js("return document.querySelectorAll('#papers img').length") >= 18, "all figures")
    drawn = "const i = document.querySelector('#papers img'); return i.complete && i.naturalWidth > 200"
    page.js("document.querySelector('#papers img').scrollIntoView()")
    page.until(lambda: page.js(drawn), "the first picture")
    before = page.js("return location.hash")
    page.js("[...document.querySelectorAll('#papers button')].at(-1).click()")
    page.until(lambda: page.js("return location.hash") != before, "that the sliders follow")
    page.refined()


def test_a_lost_server_is_said_and_comes_back(window, tmp_path):
    with started(tmp_path, "--port", "0") as (program, address):
        port = address.rstrip("/").rpartition(":")[2]
        window.open(f"{address}#{START}")
        program.send_signal(signal.SIGINT)
        program.wait(20)
        window.until(lambda: "does not answer" in window.text("#banner"), "the banner")
        window.slide("alpha", 0.6)
        window.until(lambda: window.js("return document.querySelector('#content').classList.contains('stale')"), "grey")
        with started(tmp_path, "--port", port):
            window.until(lambda: not window.js("return document.querySelector('#banner').offsetParent"), "no banner")
            shown = window.refined()
            text = window.js("return document.querySelector('[data-field=alpha] input[type=text]').value")
            assert shown["asked"]["fields"]["alpha"] == text
    window.complaints()


def test_a_link_to_no_model_says_so(page, address):
    page.open(f"{address}#model=nonsense&alpha=3")
    assert "names no model of this page" in page.text("#link-note")
    page.field("alpha", "0.7")
    page.until(lambda: not page.text("#link-note"), "that the note goes")


def test_keys_alone_do_it(page):
    from selenium.webdriver.common.keys import Keys

    page.js("document.querySelector('[data-field=alpha] input[type=range]').focus()")
    before = page.js("return document.querySelector('[data-field=alpha] input[type=text]').value")
    for _ in range(3):
        page.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    shown = page.refined()
    assert float(shown["asked"]["fields"]["alpha"]) > float(before)
    seen = set()
    page.js("document.activeElement.blur()")
    for _ in range(100):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.add(
            page.js("return document.activeElement.closest('[data-field]')?.dataset.field ?? document.activeElement.id")
        )
    assert {"model", "target", "alpha", "copy-link"} <= seen


def test_everything_has_a_name_for_who_does_not_see(page):
    page.curve_done()
    nameless = """
    return [...document.querySelectorAll('input, select, textarea, button')].filter(one =>
        !one.labels?.length && !one.getAttribute('aria-label') && !one.getAttribute('aria-labelledby')
        && !one.textContent.trim() && !one.title).map(one => one.outerHTML.slice(0, 120))
    """
    assert page.js(nameless) == []
    assert page.text("#spoken")
    for plot in ("#curve", "#spectrum"):
        assert len(page.one(plot).get_attribute("aria-label")) > 20


@pytest.mark.parametrize(
    ("name", "size"), [("projector", (1920, 1080)), ("phone", (844, 390)), ("tablet", (1024, 768))]
)
def test_nothing_is_cut_off(page, name, size):
    page.resize(*size)
    page.curve_done()
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.js(wide) <= 0
    cut = """
    return [...document.querySelectorAll('.card, .card .value, .card h2, #controls label')].filter(one =>
        one.offsetParent && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0
        && getComputedStyle(one).overflowX === 'hidden').map(one => one.outerHTML.slice(0, 100))
    """
    assert page.js(cut) == []
    if name == "phone":
        page.shoot("page-phone")


def test_dark_is_dark(page):
    def luminance():
        channels = page.js("return getComputedStyle(document.body).backgroundColor").strip("rgba()").split(",")[:3]
        return sum(map(float, channels)) / (3 * 255)

    assert luminance() > 0.8
    page.prefer("dark")
    page.until(lambda: luminance() < 0.3, "a dark page")
    page.curve_done()
    page.click("#theme")
    page.prefer("light")
    page.choose("#model", "hardmax")  # which has no spectrum to draw in other colours
    page.until(lambda: page.shown.get("asked", {}).get("model") == "hardmax", "a model without a spectrum")
    page.click("#theme")


def test_nothing_is_loaded_from_elsewhere_and_the_page_is_small(page, address):
    script = "return performance.getEntriesByType('resource').map(one => [one.name, one.encodedBodySize])"
    loaded = page.js(script)
    assert all(name.startswith(address) for name, _ in loaded)
    assert sum(size for _, size in loaded) < 120_000  # bytes that are sent


def test_ten_pages_that_drag_at_once_all_end_at_the_right_numbers(window, address):
    import psutil

    first = window.driver.current_window_handle
    handles = [first]
    for _ in range(9):
        window.driver.switch_to.new_window("tab")
        handles.append(window.driver.current_window_handle)
    try:
        for handle in handles:
            window.driver.switch_to.window(handle)
            window.open(f"{address}#{START}")
        drag = """
        const slider = document.querySelector('[data-field=alpha] input[type=range]');
        const low = Number(slider.min), high = Number(slider.max), last = arguments[0];
        let count = 0;
        const timer = setInterval(() => {
            const part = count < 60 ? 0.2 + 0.01 * count : last;
            slider.value = low + part * (high - low);
            slider.dispatchEvent(new Event('input', {bubbles: true}));
            if (count++ >= 60) clearInterval(timer);
        }, 25);
        """
        for number, handle in enumerate(handles):
            window.driver.switch_to.window(handle)
            window.js(drag, 0.3 + 0.05 * number)
        seen = []
        for number, handle in enumerate(handles):
            window.driver.switch_to.window(handle)
            done = "const s = document.querySelector('[data-field=alpha] input[type=range]');"
            done += " return Math.abs((s.value - s.min) / (s.max - s.min) - arguments[0]) < 0.01"
            window.until(lambda part=0.3 + 0.05 * number, done=done: window.js(done, part), "the end of the drag")
            shown = window.refined()
            alpha = float(shown["asked"]["fields"]["alpha"])
            seen.append(alpha)
            assert window.value("test_error") == refined_number(PROBLEM.replace(alpha=alpha))[0]
        assert len(set(seen)) == 10
    finally:
        for handle in handles[1:]:
            window.driver.switch_to.window(handle)
            window.driver.close()
        window.driver.switch_to.window(first)
    served = [p for p in psutil.process_iter(["cmdline"]) if "page" in (p.info["cmdline"] or [])]
    assert sum(p.memory_info().rss for p in served) < 4e9


def test_parts_with_and_without_numbers_are_chosen_and_typed(window, address):
    """Pooling: weights by a word, by a word with a slider, and as a list that is typed."""
    window.resize(1440, 900)
    window.open(f"{address}#model=pooling")
    problem = ps.attention_pooling(
        ps.MeanPooling(), alpha=2.0, vocabulary=2.0, signal=1.0, classes=ps.AlignedTokens(0.5), n_tokens=8
    )
    assert window.value("alignment") == refined_number(problem, "alignment")[0]
    menu = "[data-field=pooling] select"
    window.choose(menu, "causal")
    window.refined()
    causal = problem.replace(pooling=ps.CausalPooling(1.0))
    assert window.value("alignment") == refined_number(causal, "alignment")[0]
    window.type("[data-field=pooling] [data-number=tau] input[type=text]", "2")
    window.refined()
    assert window.value("alignment") == refined_number(causal.replace(tau=2.0), "alignment")[0]
    window.choose(menu, "best")
    window.refined()
    assert window.value("alignment") == refined_number(problem.replace(pooling=ps.BestPooling()), "alignment")[0]
    window.until(lambda: "pooling=best" in window.js("return location.hash"), "the address of the best weights")
    window.curve_done()
    window.shoot("page-pooling")
    window.choose(menu, "text")
    window.type("[data-field=pooling] .law-text", "weights:8,7,6,5,4,3,2,1")
    window.refined()
    own = problem.replace(pooling=ps.GivenPooling(range(8, 0, -1)))
    assert window.value("alignment") == refined_number(own, "alignment")[0]
    window.until(lambda: "weights" in window.js("return location.hash"), "the address of given weights")
    window.open(window.driver.current_url)
    assert window.value("alignment") == refined_number(own, "alignment")[0]
    assert window.complaints() == []


def test_a_dimension_that_is_the_problems_own_cannot_be_typed(window, address):
    window.resize(1440, 900)
    window.open(f"{address}#model=random-hierarchy&depth=2")
    box = "return [document.querySelector('#train-d').value, document.querySelector('#train-d').readOnly]"
    assert window.js(box) == ["4", True]
    window.choose("#model", "attention")
    window.refined()
    assert window.js(box) == ["50, 100", False]
    # The d of an address is kept for a model that has none of its own.
    window.open(f"{address}#model=random-hierarchy&depth=2&train.d=30")
    assert window.js(box) == ["4", True]
    window.choose("#model", "attention")
    window.refined()
    assert window.js(box) == ["30", False]
    assert window.complaints() == []
