"""A real browser at a real page: Chromium with its driver, and what one does with hands and eyes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
)
SCREENSHOTS = "PRESAGE_SCREENSHOTS"  # a folder: where tests put what they saw, for the documentation
PATIENCE = 60.0  # seconds; machines may be busy


def missing() -> str | None:
    """What is not installed, in a sentence; None where all is there."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return "Chromium and its driver are not installed: apt-get install chromium chromium-driver"
    return None


class Browser:
    """A window of Chromium."""

    def __init__(self, folder: Path, size: tuple[int, int] = (1440, 900)) -> None:
        from selenium.webdriver import Chrome, ChromeOptions
        from selenium.webdriver.chrome.service import Service

        options = ChromeOptions()
        options.binary_location = str(shutil.which("chromium"))
        downloads = folder / "downloads"
        downloads.mkdir(exist_ok=True)
        for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = Chrome(service=Service(str(shutil.which("chromedriver"))), options=options)
        self.downloads = downloads
        self.resize(*size)

    def end(self) -> None:
        self.driver.quit()

    def resize(self, width: int, height: int) -> None:
        """The page itself so wide and high."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, theme: str) -> None:
        """What the system says of dark and light."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, address: str) -> None:
        """Open an address, and wait for refined numbers; a new fragment alone would not load the page again."""
        self.driver.get("about:blank")
        self.driver.get(address)
        self.refined()

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, found: Callable[[], Any], words: str, patience: float = PATIENCE) -> Any:
        """Wait until something is there; what it is."""
        deadline = time.monotonic() + patience
        while not (value := found()):
            assert time.monotonic() < deadline, f"after {patience:g} s still not: {words}; {self.text('#banner')}"
            time.sleep(0.02)
        return value

    def text(self, selector: str) -> str:
        """What is written there; nothing where there is no such place."""
        return str(self.js("return document.querySelector(arguments[0])?.textContent.trim() ?? ''", selector))

    def one(self, selector: str) -> Any:
        from selenium.webdriver.common.by import By

        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector: str) -> None:
        element = self.one(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def type(self, selector: str, text: str, *, enter: bool = True) -> None:
        """Type over what is there."""
        from selenium.webdriver.common.keys import Keys

        element = self.one(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.send_keys(Keys.CONTROL, "a")
        element.send_keys(text)
        if enter:
            element.send_keys(Keys.ENTER)

    def field(self, name: str, text: str) -> None:
        """Type a value beside a slider."""
        self.type(f"[data-field={name}] input[type=text]", text)

    def slide(self, name: str, part: float) -> None:
        """Move a slider to a part of its length, as a hand does: the page hears of it by `input`."""
        script = """
        const slider = document.querySelector(`[data-field=${arguments[0]}] input[type=range]`);
        const low = Number(slider.min), high = Number(slider.max);
        slider.value = low + arguments[1] * (high - low);
        slider.dispatchEvent(new Event('input', {bubbles: true}));
        """
        self.js(script, name, part)

    def choose(self, selector: str, value: str) -> None:
        """Choose from a menu."""
        from selenium.webdriver.support.ui import Select

        element = self.one(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        Select(element).select_by_value(value)

    @property
    def shown(self) -> dict[str, Any]:
        """The answer that is on the screen."""
        return dict(self.js("return window.presage?.shown ?? {}"))

    def refined(self) -> dict[str, Any]:
        """Wait for the refined answer to the newest question."""
        script = "const p = window.presage; return p?.shown?.id === p?.asked && p?.shown?.stage === 'refined'"
        self.until(lambda: self.js(script), "a refined answer")
        return self.shown

    def curve_done(self) -> None:
        """Wait until all of the curve is refined."""
        script = "return window.presage.curve?.done && !document.querySelector('#curve').classList.contains('stale')"
        self.until(lambda: self.js(script), "the whole curve")

    def value(self, observable: str) -> str:
        return self.text(f"[data-observable={observable}] .value")

    def complaints(self) -> list[str]:
        """What the browser wrote to its console, but that a server is not there or refuses a file with a sentence."""
        entries = [entry["message"] for entry in self.driver.get_log("browser")]
        known = ("WebSocket connection", "ERR_CONNECTION", "status of 413", "status of 422")
        return [entry for entry in entries if not any(words in entry for words in known)]

    def shoot(self, name: str, selector: str | None = None) -> None:
        """Keep what is on the screen, where a folder for it is named; of the whole page or of a part of it."""
        folder = os.environ.get(SCREENSHOTS)
        if not folder:
            return
        path = str(Path(folder) / f"{name}.png")
        if selector is None:
            self.driver.save_screenshot(path)
        else:
            self.resize(1440, 1800)  # high enough for every part of the page
            time.sleep(0.5)
            self.one(selector).screenshot(path)
            self.resize(1440, 900)

    def downloaded(self, name: str) -> Path:
        """A file that the page handed over."""
        path = self.downloads / name
        self.until(lambda: path.is_file() and path.stat().st_size, f"the file {name}")
        return path
