"""Film a game in the browser: `python docs/assets/browser_film.py` writes docs/images/browser.gif.

`iglu-marl serve` runs the game and its scripted architect. A script in a headless Chromium is the builder: it reads
each request, asks once, looks at the cell, chooses the colour and places the block, by the page's own controls.
"""

from __future__ import annotations

import io
import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

from iglu_marl.language import parse
from iglu_marl.rendering import write_video

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from browser import Browser, browser  # noqa: E402

PORT = 8765
SIZE, FILM = (1280, 800), (576, 360)  # of the window and of the film
FPS = 6  # of the film, which is faster than the game was
STRUCTURE = {
    "colours": {"1": "blue", "2": "yellow", "6": "red"},
    "structures": {
        "gate": {"blocks": [[-1, -1, -2, 1], [0, -1, -2, 2], [1, -1, -2, 1], [-1, 0, -2, 6], [1, 0, -2, 6]]}
    },
}


class Film:
    """Frames of a window."""

    def __init__(self, window: Browser) -> None:
        self.window = window
        self.frames: list[Any] = []

    def show(self, seconds: float = 0.0) -> None:
        """Take the frames of a time, at least one."""
        end = time.monotonic() + seconds
        while True:
            picture = Image.open(io.BytesIO(self.window.picture())).convert("RGB")
            self.frames.append(np.asarray(picture.resize(FILM, Image.Resampling.LANCZOS)))
            if time.monotonic() >= end:
                return
            time.sleep(0.1)

    def say(self, text: str) -> None:
        """Type a message and send it."""
        for count in range(1, len(text) + 1):
            self.window.run("document.getElementById('words').value = arguments[0]", text[:count])
            if count % 3 == 0:
                self.show()
        self.window.run("document.getElementById('talk').requestSubmit()")

    def look(self, yaw: float, pitch: float) -> None:
        """Turn to a direction, evenly."""
        body = self.window.run("return play.world.body")
        turn = ((yaw - body["yaw"] + 180) % 360 - 180, pitch - body["pitch"])
        parts = max(2, round(max(map(abs, turn)) / 9))
        for _ in range(parts):
            self.window.run(f"play.hands.turn({turn[0] / parts}, {turn[1] / parts})")
            self.show()


def heard(window: Browser) -> list[str]:
    """The architect's messages so far."""
    script = (
        "return [...document.querySelectorAll('#lines li.architect span')].map((line) => line.textContent)"
    )
    return window.run(script)  # type: ignore[no-any-return]


def build(film: Film, text: str) -> None:
    """Do what a request says: one block, on the ground or on another one."""
    edit = parse(text)
    x, y, z = edit.cell  # type: ignore[union-attr]
    body = film.window.run("return play.world.body")
    right, up, ahead = x - body["x"], y - 0.5 - body["y"], body["z"] - z  # to the middle of the face below
    film.look(math.degrees(math.atan2(right, ahead)), math.degrees(math.atan2(up, math.hypot(right, ahead))))
    film.window.run(f"play.hands.choose({edit.color})")  # type: ignore[union-attr]
    film.show()
    film.window.run("play.hands.place()")
    film.window.wait(f"return play.world.grid[(({y} + 1) * 11 + {x} + 5) * 11 + {z} + 5] === {edit.color}")  # type: ignore[union-attr]
    film.show(0.3)


def play(film: Film) -> None:
    """One game, from the lobby to the end."""
    window = film.window
    window.open(f"http://127.0.0.1:{PORT}/")
    window.wait("return document.body.dataset.ready === 'yes'")
    window.run("document.querySelector('input[value=builder]').click()")
    window.run("document.getElementById('partner').value = 'scripted'")
    film.show(0.6)
    window.run("document.getElementById('start').click()")
    window.wait("return window.play !== undefined && play.state.joined && play.world.body !== null")
    window.run("document.getElementById('skip').click()")
    window.click("#view")
    window.run("play.hands.keys.add('KeyS')")  # some steps back, to see it all
    while window.run("return play.world.body.z") < 1.5:
        film.show()
    window.run("play.hands.keys.delete('KeyS')")
    done = 0
    while window.run("return play.state.status.state !== 'over'"):
        requests = [text for text in heard(window) if parse(text)]
        if len(requests) > done:
            film.show(0.6)
            build(film, requests[-1])
            done = len(requests)
            if done == 2:
                film.say("How many blocks in all?")
        film.show()
    film.show(2.0)


def main(path: Path = ROOT / "docs" / "images" / "browser.gif") -> None:
    """Serve, play, and write the film."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "gate.json").write_text(json.dumps(STRUCTURE))
        ask = [
            sys.executable,
            "-m",
            "iglu_marl",
            "serve",
            "--port",
            str(PORT),
            "--folder",
            str(folder / "games"),
        ]
        server = subprocess.Popen([*ask, "--task-source", str(folder / "gate.json")], stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            while b"http" not in server.stdout.readline():
                assert server.poll() is None
            time.sleep(1)
            with browser(folder, SIZE) as window:
                window.emulate(*SIZE)
                film = Film(window)
                play(film)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=20)
    print(write_video(path, film.frames, fps=FPS), len(film.frames), "frames", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
