"""A headless Chromium for tests, driven through chromedriver by plain HTTP (W3C WebDriver), without a library."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from requirements import require

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
KEYS = {
    "space": " ",
    "enter": "\ue007",
    "escape": "\ue00c",
    "home": "\ue011",
    "end": "\ue010",
    "left": "\ue012",
    "up": "\ue013",
    "right": "\ue014",
    "down": "\ue015",
    "shift": "\ue008",
}


class Browser:
    """One window. Everything raises `AssertionError` with the driver's words when it fails."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._session = ""

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self._address}{path}", data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode(errors="replace")[:2000]) from None

    def start(self, binary: str, profile: Path, size: tuple[int, int]) -> None:
        width, height = size
        options = {
            "binary": binary,
            "args": [*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"],
        }
        always = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": always}})
        self._session = f"/session/{made['sessionId']}"

    def stop(self) -> None:
        if self._session:
            self._ask("DELETE", self._session)
            self._session = ""

    def open(self, page: Path | str, part: str = "") -> None:
        """A file, or an address."""
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self._ask("POST", f"{self._session}/url", {"url": address + part})

    def back(self) -> None:
        """The page before this one."""
        self._ask("POST", f"{self._session}/back", {})

    def run(self, script: str, *arguments: Any) -> Any:
        """What `return ...` in a script gives. No script may leave the page: the driver would run it again there."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str, seconds: float = 20.0) -> None:
        """Until a script returns something true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"not within {seconds} s: {script}"
            time.sleep(0.02)

    def messages(self) -> list[str]:
        """What the page has written to its console since the last call, errors of loading and scripts included."""
        found = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return [f"{entry['level']}: {entry['message']}" for entry in found]

    def picture(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self._ask("GET", f"{self._session}/screenshot"))

    def resize(self, width: int, height: int) -> None:
        self._ask("POST", f"{self._session}/window/rect", {"width": width, "height": height})

    def emulate(self, width: int, height: int) -> None:
        """Lay pages out for a screen of this size, which may be narrower than a window can be."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._emulate("DeviceMetricsOverride", screen)

    def touch(self, on: bool) -> None:
        """Be a device with a touch screen and no mouse, or not."""
        self._emulate("TouchEmulationEnabled", {"enabled": on, "maxTouchPoints": 5 if on else 1})

    def _emulate(self, what: str, values: dict[str, Any]) -> None:
        body = {"cmd": f"Emulation.set{what}", "params": values}
        self._ask("POST", f"{self._session}/goog/cdp/execute", body)

    def press(self, *keys: str) -> None:
        """Press keys together, the first ones held: names of `KEYS`, or single letters."""
        values = [KEYS.get(key, key) for key in keys]
        acts = [{"type": "keyDown", "value": value} for value in values]
        acts += [{"type": "keyUp", "value": value} for value in reversed(values)]
        self._act({"type": "key", "id": "keyboard", "actions": acts})

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the mouse at a point of the window, move it to another, let go. The same point twice clicks."""
        acts: list[dict[str, Any]] = [self._to(start, 0), {"type": "pointerDown", "button": 0}]
        if end != start:
            acts.append(self._to(end, 50))
        acts.append({"type": "pointerUp", "button": 0})
        self._act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": acts})

    def wheel(self, at: tuple[float, float], pixels: int) -> None:
        act = {
            "type": "scroll",
            "x": round(at[0]),
            "y": round(at[1]),
            "deltaX": 0,
            "deltaY": pixels,
            "duration": 0,
        }
        self._act({"type": "wheel", "id": "wheel", "actions": [{**act, "origin": "viewport"}]})

    def click(self, selector: str) -> None:
        self.drag(self.middle(selector), self.middle(selector))

    def middle(self, selector: str) -> tuple[float, float]:
        """The middle of an element in the window."""
        left, top, width, height = self.box(selector)
        return left + width / 2, top + height / 2

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element in the window."""
        script = (
            "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [box.x, box.y, box.width, box.height];"
        )
        left, top, width, height = self.run(script, selector)
        return left, top, width, height

    @staticmethod
    def _to(at: tuple[float, float], duration: int) -> dict[str, Any]:
        return {"type": "pointerMove", "x": round(at[0]), "y": round(at[1]), "duration": duration}

    def _act(self, source: dict[str, Any]) -> None:
        self._ask("POST", f"{self._session}/actions", {"actions": [source]})


@contextmanager
def browser(folder: Path, size: tuple[int, int] = (1400, 900)) -> Iterator[Browser]:
    """A browser with a fresh profile in `folder`; the running test is skipped (or failed) where there is none."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    require("chromium", binary and driver, "chromium and chromedriver are not installed")
    assert binary is not None
    assert driver is not None
    log = folder / "chromedriver.log"
    with log.open("wb") as output:
        process = subprocess.Popen([driver, "--port=0"], stdout=output, stderr=subprocess.STDOUT)
        try:
            made = Browser(f"http://127.0.0.1:{_port(log, process)}")
            try:
                made.start(binary, folder / "profile", size)
                yield made
            finally:
                made.stop()
        finally:
            process.terminate()
            process.wait(timeout=20)


def _port(log: Path, process: subprocess.Popen[bytes]) -> int:
    """The port that chromedriver says it has chosen."""
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        text = log.read_text(errors="replace")
        if "started successfully on port " in text:
            return int(text.split("started successfully on port ")[1].split(".")[0])
        time.sleep(0.02)
    raise AssertionError(f"chromedriver did not start: {log.read_text(errors='replace')[:2000]}")
